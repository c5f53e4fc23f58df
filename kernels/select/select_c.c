#include <string.h>

#include "kernels/base/hd.h"
#include "kernels/select/select.h"
#include "kernels/select/select_elem.h"
#include "src/lib/base/cpu_flags.h"

static size_t collect_c(uint32_t *pos, float *value, const uint32_t *from, const float *x, size_t n,
                        uint32_t first, uint32_t threshold)
{
    size_t have = 0;

    for (size_t i = 0; i < n; i++)
        have = gcb_select_append(pos, value, have, x[i], from ? from[i] : first + (uint32_t)i,
                                 threshold);
    return have;
}

static size_t count_c(const float *x, size_t n, uint32_t threshold)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        count += gcb_magnitude(x[i]) >= threshold;
    return count;
}

static void gather2_c(float *out, const float *x, const uint32_t *pos, size_t n)
{
    for (size_t j = 0; j < n; j++)
        memcpy(out + 2 * j, x + 2 * (size_t)pos[j], 2 * sizeof(*out));
}

static void power_c(float *out, const float *z, size_t n, float scale, float weight)
{
    for (size_t i = 0; i < n; i++)
        out[i] = gcb_select_power(z[2 * i], z[2 * i + 1], scale, weight);
}

void gcb_select_init(struct gcb_select_fns *fns, unsigned cpu_flags)
{
    fns->collect = collect_c;
    fns->count = count_c;
    fns->gather2 = gather2_c;
    fns->power = power_c;
#if defined(__x86_64__)
    if (cpu_flags & GCB_CPU_AVX2) {
        fns->collect = gcb_select_collect_avx2;
        fns->count = gcb_select_count_avx2;
        fns->power = gcb_select_power_avx2;
    }
    if (cpu_flags & GCB_CPU_AVX512)
        fns->collect = gcb_select_collect_avx512;
#endif
}
