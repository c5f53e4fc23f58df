/*
 * The kernels of block.h. Each file that includes this one compiles it with the flags of an
 * instruction set, and NAME is its table. Loops run over groups of elements that share a scale. The
 * compiler knows the number of iterations, so it can vectorise them.
 */
#include "kernels/base/ahead.h"
#include "kernels/block/block.h"

#define INLINE static inline __attribute__((always_inline))

/* Evaluates the expression `group` for each group of `length` elements. The expression uses i, the
 * first element of the group, and m, the number of its elements, which is a constant except in a
 * shorter last group. */
#define EACH_GROUP(n, length, group) \
    for (size_t i = 0; i < (n); i += (length)) { \
        if ((n)-i >= (length)) { \
            const size_t m = (length); \
            group; \
        } else { \
            const size_t m = (n)-i; \
            group; \
        } \
    }
/* EACH_GROUP with groups of 16, 32 or 64 elements: as long as a block of 2^log2 elements allows,
 * because long groups cost less. */
#define EACH(n, log2, group) \
    do { \
        if ((log2) == 4) \
            EACH_GROUP(n, 16, group) \
        else if ((log2) == 5) \
            EACH_GROUP(n, 32, group) \
        else \
            EACH_GROUP(n, 64, group) \
    } while (0)

INLINE uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* The largest magnitude of n elements, as a bit pattern. */
INLINE uint32_t most_of(const float *x, size_t n)
{
    uint32_t most = 0;

    for (size_t i = 0; i < n; i++)
        most = larger(most, gcb_magnitude(x[i]));
    return most;
}

INLINE void most_blocks(uint32_t *out, const float *x, size_t n, size_t length)
{
    for (size_t i = 0; i < n; i += length)
        *out++ = most_of(x + i, n - i < length ? n - i : length);
}

/* The loop over blocks of 32 is fastest if the compiler knows their length. */
static void most(uint32_t *out, const float *x, size_t n, unsigned log2)
{
    if (log2 == 5)
        most_blocks(out, x, n, 32);
    else
        most_blocks(out, x, n, (size_t)1 << log2);
}

/* ---- small floats ---- */

INLINE void scales_by(uint32_t *scale, float *factor, const uint32_t *most, size_t n,
                      struct gcb_scaling s)
{
    for (size_t b = 0; b < n; b++) {
        scale[b] = gcb_scale_code(most[b], &s);
        factor[b] = gcb_scale_factor(scale[b], &s);
    }
}

/* Calls scales_by with a constant format, and for e4m3 a constant rule, so that its loop has no
 * branches. */
static void scales(uint32_t *scale, float *factor, const uint32_t *most, size_t n,
                   const struct gcb_scaling *scaling)
{
    struct gcb_scaling s = *scaling;

    if (s.format == GCB_SCALE_E4M3 && s.rule == GCB_SCALE_TE) {
        s.format = GCB_SCALE_E4M3;
        s.rule = GCB_SCALE_TE;
        scales_by(scale, factor, most, n, s);
    } else if (s.format == GCB_SCALE_E4M3) {
        s.format = GCB_SCALE_E4M3;
        s.rule = GCB_SCALE_AMAX;
        scales_by(scale, factor, most, n, s);
    } else if (s.format == GCB_SCALE_FP32) {
        s.format = GCB_SCALE_FP32;
        scales_by(scale, factor, most, n, s);
    } else {
        s.format = GCB_SCALE_E8M0;
        scales_by(scale, factor, most, n, s);
    }
}

INLINE uint32_t floats_group(uint16_t *code, const float *x, size_t m, float factor,
                             const struct gcb_small_float *f)
{
    uint32_t over = 0;

    for (size_t j = 0; j < m; j++) {
        const uint32_t u = gcb_bits_of(x[j] * factor);
        const uint32_t c = gcb_small_nearest(u & GCB_MAGNITUDE_MASK, f);

        over += c > f->top;
        code[j] = (uint16_t)gcb_small_signed(c, u, f);
    }
    return over;
}

static size_t floats(uint16_t *code, const float *x, size_t n, unsigned log2, const float *factor,
                     const struct gcb_small_float *format)
{
    const struct gcb_small_float f = *format;
    size_t over = 0;

    EACH(n, log2, over += floats_group(code + i, x + i, m, factor[i >> log2], &f));
    return over;
}

INLINE uint32_t draw_floats_group(uint16_t *code, const float *x, size_t m, float factor,
                                  const struct gcb_small_float *f, struct gcb_tile_draw draw)
{
    uint32_t over = 0;

    for (size_t j = 0; j < m; j++) {
        const uint32_t u = gcb_bits_of(x[j] * factor), a = u & GCB_MAGNITUDE_MASK;
        const uint32_t number = gcb_tile_number(&draw, (uint32_t)j);

        over += a > gcb_bits_of(f->largest);
        code[j] = (uint16_t)gcb_small_signed(gcb_small_drawn(a, number, f), u, f);
    }
    return over;
}

/* The draws from element i of the tile on. */
INLINE struct gcb_tile_draw draw_from(const struct gcb_tile_draw *draw, size_t i)
{
    return (struct gcb_tile_draw){draw->first + (uint32_t)i, draw->key};
}

static size_t draw_floats(uint16_t *code, const float *x, size_t n, unsigned log2,
                          const float *factor, const struct gcb_small_float *format,
                          const struct gcb_tile_draw *draw)
{
    const struct gcb_small_float f = *format, bf16 = gcb_small_float_of(GCB_SMALL_BF16);
    size_t over = 0;

    if (f.normal == 0) /* bf16 as a constant, without subnormal values, takes half of the time */
        EACH(n, log2,
             over +=
             draw_floats_group(code + i, x + i, m, factor[i >> log2], &bf16, draw_from(draw, i)));
    else
        EACH(n, log2,
             over +=
             draw_floats_group(code + i, x + i, m, factor[i >> log2], &f, draw_from(draw, i)));
    return over;
}

INLINE void values_group(float *x, const uint16_t *code, size_t m, float scale, int divides,
                         const struct gcb_small_float *f)
{
    for (size_t j = 0; j < m; j++) {
        const float v = gcb_small_value(code[j], f);

        x[j] = divides ? v / scale : v * scale;
    }
}

static void from_floats(float *x, const uint16_t *code, size_t n, unsigned log2, const float *scale,
                        int divides, const struct gcb_small_float *format)
{
    const struct gcb_small_float f = *format;

    if (divides)
        EACH(n, log2, values_group(x + i, code + i, m, scale[i >> log2], 1, &f));
    else
        EACH(n, log2, values_group(x + i, code + i, m, scale[i >> log2], 0, &f));
}

/* ---- integers with an offset ---- */

/* Maps the pattern of a float to an integer that grows with the float, and such an integer back to
 * the pattern. */
INLINE int32_t rank_of(uint32_t u)
{
    return (int32_t)(u ^ ((0u - (u >> 31)) & GCB_MAGNITUDE_MASK));
}

static uint32_t ends(float *lo, float *hi, const float *x, size_t n, unsigned log2)
{
    uint32_t most = 0;

    for (size_t at = 0; at < n; at += (size_t)1 << log2) {
        const size_t length = (n - at) >> log2 ? (size_t)1 << log2 : n - at;
        int32_t least = INT32_MAX, greatest = INT32_MIN;

        for (size_t j = 0; j < length; j++) {
            const int32_t rank = rank_of(gcb_bits_of(x[at + j]));

            least = rank < least ? rank : least;
            greatest = rank > greatest ? rank : greatest;
        }
        gcb_prefetch_next_tile(x + at);
        lo[at >> log2] = gcb_float_of((uint32_t)rank_of((uint32_t)least));
        hi[at >> log2] = gcb_float_of((uint32_t)rank_of((uint32_t)greatest));
        most = larger(most, larger(gcb_magnitude(lo[at >> log2]), gcb_magnitude(hi[at >> log2])));
    }
    return most;
}

INLINE void integers_group(uint16_t *code, const float *x, size_t m, const struct gcb_affine *a,
                           float top, int minimum)
{
    for (size_t j = 0; j < m; j++)
        code[j] = (uint16_t)gcb_affine_nearest(x[j], a, top, minimum);
}

static void integers(uint16_t *code, const float *x, size_t n, unsigned log2,
                     const struct gcb_affine *a, float top, int minimum)
{
    if (minimum)
        EACH(n, log2, integers_group(code + i, x + i, m, a + (i >> log2), top, 1));
    else
        EACH(n, log2, integers_group(code + i, x + i, m, a + (i >> log2), top, 0));
}

INLINE void draw_integers_group(uint16_t *code, const float *x, size_t m,
                                const struct gcb_affine *a, float top, int minimum,
                                struct gcb_tile_draw draw)
{
    for (size_t j = 0; j < m; j++)
        code[j] = (uint16_t)gcb_draw_integer(gcb_affine_place(x[j], a, top, minimum),
                                             gcb_tile_number(&draw, (uint32_t)j));
}

static void draw_integers(uint16_t *code, const float *x, size_t n, unsigned log2,
                          const struct gcb_affine *a, float top, int minimum,
                          const struct gcb_tile_draw *draw)
{
    if (minimum)
        EACH(n, log2,
             draw_integers_group(code + i, x + i, m, a + (i >> log2), top, 1, draw_from(draw, i)));
    else
        EACH(n, log2,
             draw_integers_group(code + i, x + i, m, a + (i >> log2), top, 0, draw_from(draw, i)));
}

INLINE void from_integers_group(float *x, const uint16_t *code, size_t m,
                                const struct gcb_affine *a, int minimum)
{
    for (size_t j = 0; j < m; j++)
        x[j] = gcb_affine_value(code[j], a, minimum);
}

static void from_integers(float *x, const uint16_t *code, size_t n, unsigned log2,
                          const struct gcb_affine *a, int minimum)
{
    if (minimum)
        EACH(n, log2, from_integers_group(x + i, code + i, m, a + (i >> log2), 1));
    else
        EACH(n, log2, from_integers_group(x + i, code + i, m, a + (i >> log2), 0));
}

/* ---- code books ---- */

enum { FEW = 16 }; /* elements of a group: the smallest block */

/* The empty assembly keeps compilers from vectorising the loop: gathering is slower than loading
 * words one by one. */
__attribute__((noinline)) static void look_up(uint32_t *word, const uint32_t *cells,
                                              const uint32_t *cell, size_t n)
{
    for (size_t j = 0; j < n; j++) {
        uint32_t found = cells[cell[j]];

        __asm__("" : "+r"(found));
        word[j] = found;
    }
}

INLINE void nearest_group(uint16_t *code, const float *x, size_t m, float divisor,
                          const uint32_t *cells)
{
    uint32_t u[FEW], cell[FEW], word[FEW];

    for (size_t j = 0; j < m; j++) {
        const uint32_t a = (u[j] = gcb_bits_of(x[j] / divisor)) & GCB_MAGNITUDE_MASK;
        const uint32_t cut = gcb_lower(a, 0x3f800000u) >> GCB_CELL_BITS;

        cell[j] = (cut > GCB_CELL_FIRST ? cut - GCB_CELL_FIRST : 0) + (u[j] >> 31) * GCB_CELLS;
    }
    look_up(word, cells, cell, m);
    for (size_t j = 0; j < m; j++) {
        const uint32_t beyond = (u[j] & ((1u << GCB_CELL_BITS) - 1)) >= word[j] >> 8;

        code[j] = (uint16_t)((word[j] & 0xffu) + beyond - 2 * beyond * (u[j] >> 31));
    }
}

static void nearest(uint16_t *code, const float *x, size_t n, unsigned log2, const float *divisor,
                    const uint32_t *cells)
{
    EACH_GROUP(n, FEW, nearest_group(code + i, x + i, m, divisor[i >> log2], cells));
}

/* The four tables of `sum` take turns, because an addition waits for the one before it in the same
 * place. Parts of elements beyond all bins are added to `parts`. */
INLINE void bins_group(uint16_t *code, uint64_t (*sum)[GCB_BOOK], int64_t *parts, const float *x,
                       size_t m, struct gcb_bins b)
{
    float away[FEW];
    int32_t part[FEW];
    uint32_t beyond = 0;

    for (size_t j = 0; j < m; j++) {
        const float w = (x[j] - b.mean) * b.per, bin = gcb_bin_of(w, b.low, b.high);

        code[j] = (uint16_t)(int32_t)(bin - b.low);
        part[j] = gcb_bin_within(w - bin);
        beyond |= gcb_magnitude(w - bin) > 0x3f000000u;
        away[j] = w - bin;
    }
    for (size_t j = 0; j < m; j++)
        sum[j % 4][code[j]] += GCB_BIN_ONE + (uint64_t)(int64_t)part[j];
    for (size_t j = 0; beyond && j < m; j++)
        if (gcb_magnitude(away[j]) > 0x3f000000u)
            parts[code[j]] += gcb_bin_beyond(away[j]);
}

static void bins(uint16_t *code, int64_t *parts, uint64_t *count, const float *x, size_t n,
                 const struct gcb_bins *bins)
{
    const struct gcb_bins b = *bins;
    uint64_t sum[4][GCB_BOOK] = {{0}};

    EACH_GROUP(n, FEW, bins_group(code + i, sum, parts, x + i, m, b));
    for (size_t c = 0; c < GCB_BOOK; c++) {
        const uint64_t all = sum[0][c] + sum[1][c] + sum[2][c] + sum[3][c];

        count[c] += all >> 32;
        parts[c] += gcb_bin_parts(all);
    }
}

const struct gcb_block_fns NAME = {
    .most = most,
    .scales = scales,
    .floats = floats,
    .draw_floats = draw_floats,
    .from_floats = from_floats,
    .ends = ends,
    .integers = integers,
    .draw_integers = draw_integers,
    .from_integers = from_integers,
    .nearest = nearest,
    .bins = bins,
};
