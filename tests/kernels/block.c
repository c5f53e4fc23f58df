#include <string.h>

#include "kernels/block/block.h"
#include "tests/kernels/check.h"

#define MOST (3 * 4096 + 16)

/* The code of each value is that value, and a value between two codes becomes the nearest. */
static void check_format(enum gcb_small_format format)
{
    const struct gcb_small_float f = gcb_small_float_of(format);

    for (uint32_t c = 0; c <= f.top; c++) {
        const float v = gcb_small_value(c, &f), next = gcb_small_value(c + 1, &f);
        const uint32_t a = gcb_bits_of(v), middle = gcb_bits_of(v + (next - v) / 2.0f);

        check_that(gcb_small_nearest(a, &f) == c, "format %d: %x is another code", format, c);
        check_that(gcb_small_below(a, &f) == c || format == GCB_SMALL_BF16,
                   "format %d: the code below %x is another", format, c);
        check_that(gcb_small_chance(a, &f) == 0, "format %d: %x is not exact", format, c);
        if (c == f.top)
            check_that(v == f.largest, "format %d: the largest value is another", format);
        else if (format != GCB_SMALL_BF16)
            check_that(gcb_small_nearest(middle, &f) == c + (c & 1) &&
                           gcb_small_nearest(middle + 1, &f) == c + 1 &&
                           gcb_small_chance(middle, &f) == 0x80000000u,
                       "format %d: the middle after %x is wrong", format, c);
    }
}

/* What one variant makes of an input. */
struct results {
    uint16_t code[8][MOST];
    uint8_t even[4][MOST];
    float back[8][MOST], lo[MOST], hi[MOST], factor[3][MOST];
    uint32_t most[MOST], scale[3][MOST], largest;
    size_t over[8];
};

static void fill_results(struct results *r, const struct gcb_block_fns *k, const float *x,
                         const uint8_t *byte, size_t n, unsigned log2)
{
    static struct gcb_affine a[MOST];
    const size_t blocks = n ? ((n - 1) >> log2) + 1 : 0;

    memset(r, 0, sizeof(*r));
    k->most(r->most, x, n, log2);
    r->largest = k->ends(r->lo, r->hi, x, n, log2);
    for (int c = 0; c < 3; c++) {
        const struct gcb_scaling s = {gcb_small_float_of((enum gcb_small_format)c),
                                      gcb_small_float_of(GCB_E4M3),
                                      (enum gcb_scale_format)c,
                                      (enum gcb_scale_rule)(n % 4),
                                      0.125f,
                                      (int)(n & 1)};
        const struct gcb_block_draw draw = {byte, r->even[c]};

        k->scales(r->scale[c], r->factor[c], r->most, blocks, &s);
        r->over[c] = k->floats(r->code[c], x, n, log2, r->factor[c], &s.f);
        r->over[c + 3] = k->draw_floats(r->code[c + 3], x, n, log2, r->factor[c], &s.f, &draw);
        k->from_floats(r->back[c], r->code[c], n, log2, r->factor[c], c == 0, &s.f);
    }
    for (int minimum = 0; minimum < 2; minimum++) {
        const struct gcb_block_draw draw = {byte, r->even[3]};

        for (size_t b = 0; b < blocks; b++)
            a[b] = gcb_affine_of(r->lo[b], r->hi[b], 15.0f, minimum);
        k->integers(r->code[6], x, n, log2, a, 15.0f, minimum);
        k->from_integers(r->back[6 + minimum], r->code[6], n, log2, a, minimum);
        k->draw_integers(r->code[7], x, n, log2, a, 15.0f, minimum, &draw);
    }
}

static void check_variants(void)
{
    static struct results want, got;
    static float x[MOST];
    static uint8_t byte[MOST];
    struct gcb_block_fns k;
    uint64_t state = 1;

    for (size_t i = 0; i < MOST; i++)
        byte[i] = (uint8_t)(check_random(&state) % 7 * 40);
    for (size_t i = 0; i < CHECK_SIZES; i++)
        for (enum check_fill fill = 0; fill < FILL_NONFINITE; fill++) {
            const size_t n = check_size(i);

            check_fill(x, n, fill, i);
            for (size_t j = 0; j < n; j++)
                x[j] *= 0x1p-3f;
            gcb_block_init(&k, 0);
            fill_results(&want, &k, x, byte, n, 4 + i % 9);
            for (const struct check_isa *isa = check_isas(); isa->name; isa++) {
                gcb_block_init(&k, isa->flags);
                fill_results(&got, &k, x, byte, n, 4 + i % 9);
                check_equal("all", isa->name, n, fill, &want, &got, sizeof(want));
            }
        }
}

static void body(void)
{
    for (int format = GCB_E4M3; format <= GCB_SMALL_BF16; format++)
        check_format((enum gcb_small_format)format);
    check_variants();
}

int main(void)
{
    return check_main("block", body);
}
