/*
 * The kernels of block.h. Each file that includes this one compiles it with the flags of an
 * instruction set, and NAME is its table. Loops run over groups of 16 elements, whose number of
 * iterations the compiler knows, so that it can vectorise them.
 */
#include "kernels/base/ahead.h"
#include "kernels/block/block.h"

#define GROUP 16
#define INLINE static inline __attribute__((always_inline))

/* Calls `group` with a constant number of elements where it can. */
#define EACH_GROUP(n, group) \
    for (size_t i = 0; i < (n); i += GROUP) { \
        if ((n)-i >= GROUP) { \
            const size_t m = GROUP; \
            group; \
        } else { \
            const size_t m = (n)-i; \
            group; \
        } \
    }

INLINE uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* The elements of the block that begins at element i of n. */
INLINE size_t block_length(size_t n, size_t i, unsigned log2)
{
    return (n - i) >> log2 ? (size_t)1 << log2 : n - i;
}

INLINE uint32_t largest_of(const uint32_t *lane)
{
    uint32_t most = 0;

    for (size_t j = 0; j < GROUP; j++)
        most = larger(most, lane[j]);
    return most;
}

INLINE void raise_lanes(uint32_t *lane, const float *x, size_t m)
{
    for (size_t j = 0; j < m; j++)
        lane[j] = larger(lane[j], gcb_magnitude(x[j]));
}

/* The largest magnitude of n elements. */
INLINE uint32_t most_of(const float *x, size_t n)
{
    uint32_t most = 0;

    for (size_t i = 0; i < n; i++)
        most = larger(most, gcb_magnitude(x[i]));
    return most;
}

/* `length` is 2^log2, as a constant. */
INLINE void most_blocks(uint32_t *out, const float *x, size_t n, size_t length)
{
    size_t b = 0;

    for (; (b + 1) * length <= n; b++)
        out[b] = most_of(x + b * length, length);
    if (b * length < n)
        out[b] = most_of(x + b * length, n - b * length);
}

static void most(uint32_t *out, const float *x, size_t n, unsigned log2)
{
    if (log2 == 4)
        most_blocks(out, x, n, 16);
    else if (log2 == 5)
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

/* Each call has a constant format, so that its loop has no branches. */
static void scales(uint32_t *scale, float *factor, const uint32_t *most, size_t n,
                   const struct gcb_scaling *scaling)
{
    struct gcb_scaling s = *scaling;

    if (s.format == GCB_SCALE_E4M3) {
        s.format = GCB_SCALE_E4M3;
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

    EACH_GROUP(n, over += floats_group(code + i, x + i, m, factor[i >> log2], &f))
    return over;
}

INLINE uint32_t draw_floats_group(uint16_t *code, uint8_t *even, const float *x,
                                  const uint8_t *byte, size_t m, float factor,
                                  const struct gcb_small_float *f)
{
    uint32_t over = 0;

    for (size_t j = 0; j < m; j++) {
        const uint32_t u = gcb_bits_of(x[j] * factor);
        const uint32_t a = gcb_small_cut(u & GCB_MAGNITUDE_MASK, f);
        const uint32_t part = gcb_small_256ths(a, f), draw = byte[j];

        over += (u & GCB_MAGNITUDE_MASK) > a;
        even[j] = draw == part;
        code[j] = (uint16_t)gcb_small_signed(gcb_small_below(a, f) + (draw < part), u, f);
    }
    return over;
}

static size_t draw_floats(uint16_t *code, const float *x, size_t n, unsigned log2,
                          const float *factor, const struct gcb_small_float *format,
                          const struct gcb_block_draw *draw)
{
    const struct gcb_small_float f = *format;
    size_t over = 0;

    EACH_GROUP(n, over += draw_floats_group(code + i, draw->even + i, x + i, draw->byte + i, m,
                                            factor[i >> log2], &f))
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
        EACH_GROUP(n, values_group(x + i, code + i, m, scale[i >> log2], 1, &f))
    else
        EACH_GROUP(n, values_group(x + i, code + i, m, scale[i >> log2], 0, &f))
}

/* ---- integers with an offset ---- */

/* The extremes of each sixteenth element. */
struct lanes {
    float lo[GROUP], hi[GROUP];
    uint32_t most[GROUP];
};

INLINE void widen_lanes(struct lanes *l, const float *x, size_t m)
{
    for (size_t j = 0; j < m; j++) {
        l->lo[j] = x[j] < l->lo[j] ? x[j] : l->lo[j];
        l->hi[j] = x[j] > l->hi[j] ? x[j] : l->hi[j];
    }
    raise_lanes(l->most, x, m);
}

static uint32_t ends(float *lo, float *hi, const float *x, size_t n, unsigned log2)
{
    struct lanes l = {.most = {0}};

    for (size_t at = 0; at < n; at += block_length(n, at, log2)) {
        const size_t length = block_length(n, at, log2);
        float least = x[at], greatest = x[at];

        for (size_t j = 0; j < GROUP; j++)
            l.lo[j] = l.hi[j] = x[at];
        EACH_GROUP(length, widen_lanes(&l, x + at + i, m))
        gcb_ask_ahead(x + at);
        for (size_t j = 0; j < GROUP; j++) {
            least = l.lo[j] < least ? l.lo[j] : least;
            greatest = l.hi[j] > greatest ? l.hi[j] : greatest;
        }
        lo[at >> log2] = least;
        hi[at >> log2] = greatest;
    }
    return largest_of(l.most);
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
        EACH_GROUP(n, integers_group(code + i, x + i, m, a + (i >> log2), top, 1))
    else
        EACH_GROUP(n, integers_group(code + i, x + i, m, a + (i >> log2), top, 0))
}

INLINE void draw_integers_group(uint16_t *code, uint8_t *even, const float *x, const uint8_t *byte,
                                size_t m, const struct gcb_affine *a, float top, int minimum)
{
    for (size_t j = 0; j < m; j++) {
        const float t = gcb_affine_t(x[j], a, top, minimum);
        const int32_t below = (int32_t)t, part = (int32_t)((t - (float)below) * 256.0f);

        even[j] = byte[j] == part;
        code[j] = (uint16_t)(below + (byte[j] < part));
    }
}

static void draw_integers(uint16_t *code, const float *x, size_t n, unsigned log2,
                          const struct gcb_affine *a, float top, int minimum,
                          const struct gcb_block_draw *draw)
{
    EACH_GROUP(n, draw_integers_group(code + i, draw->even + i, x + i, draw->byte + i, m,
                                      a + (i >> log2), top, minimum));
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
        EACH_GROUP(n, from_integers_group(x + i, code + i, m, a + (i >> log2), 1))
    else
        EACH_GROUP(n, from_integers_group(x + i, code + i, m, a + (i >> log2), 0))
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
};
