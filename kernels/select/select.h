#ifndef KERNELS_SELECT_SELECT_H
#define KERNELS_SELECT_SELECT_H

#include <stddef.h>
#include <stdint.h>

/*
 * Family `select`: finds and gathers the largest magnitudes. A magnitude is the sign-cleared bit
 * pattern as an unsigned integer. Every variant is bit-exact.
 *
 * collect:   for each i < n with magnitude(x[i]) >= threshold, in ascending order: writes a
 *            position to pos, and x[i] to value. Returns the number of entries written. The
 *            position is from[i], or first + i if `from` is NULL; then first + n <= 2^32. pos and
 *            value have room for n entries; a variant may overwrite the entries after those it
 *            returns. pos may begin at or before `from` in the same array; then value begins as far
 *            before x.
 * count:     returns the number of magnitudes >= threshold.
 * gather2:   out[2j] = x[2 pos[j]] and out[2j+1] = x[2 pos[j] + 1] for 0 <= j < n. pos is
 *            ascending. Bits are copied, NaNs included. `out` may be x.
 * power:     out[i] = ((re*scale)^2 + (im*scale)^2) * weight for n complex numbers; re is z[2i]
 *            and im is z[2i+1]. Each operation is rounded to float, in this order. `scale` is a
 *            power of two that brings the largest part near 1, so nothing overflows. If z is not
 *            finite, the result is an infinity or a NaN; which NaN is not promised.
 */
typedef size_t gcb_select_collect_fn(uint32_t *pos, float *value, const uint32_t *from,
                                     const float *x, size_t n, uint32_t first, uint32_t threshold);
typedef size_t gcb_select_count_fn(const float *x, size_t n, uint32_t threshold);
typedef void gcb_select_gather2_fn(float *out, const float *x, const uint32_t *pos, size_t n);
typedef void gcb_select_power_fn(float *out, const float *z, size_t n, float scale, float weight);

struct gcb_select_fns {
    gcb_select_collect_fn *collect;
    gcb_select_count_fn *count;
    gcb_select_gather2_fn *gather2;
    gcb_select_power_fn *power;
};

void gcb_select_init(struct gcb_select_fns *fns, unsigned cpu_flags);

/* The variants of these functions. Only the files of this family use these names. */
gcb_select_collect_fn gcb_select_collect_avx2, gcb_select_collect_avx512;
gcb_select_count_fn gcb_select_count_avx2;
gcb_select_power_fn gcb_select_power_avx2;

#endif
