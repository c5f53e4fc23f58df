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
        check_that(gcb_small_drawn(a, 0x7fffffffu, &f) == c, "format %d: %x is not exact", format,
                   c);
        if (c == f.top)
            check_that(v == f.largest, "format %d: the largest value is another", format);
        else if (format != GCB_SMALL_BF16)
            check_that(gcb_small_nearest(middle, &f) == c + (c & 1) &&
                           gcb_small_nearest(middle + 1, &f) == c + 1 &&
                           gcb_small_drawn(middle, 0x3fffffffu, &f) +
                                   gcb_small_drawn(middle, 0x40000000u, &f) ==
                               2 * c + 1,
                       "format %d: the middle after %x is wrong", format, c);
    }
}

/* What one variant makes of an input. */
struct results {
    uint16_t code[8][MOST];
    float back[8][MOST], lo[MOST], hi[MOST], factor[3][MOST];
    uint32_t most[MOST], scale[3][MOST], largest;
    size_t over[8];
    uint16_t book[2][MOST];
    int64_t parts[GCB_BOOK];
    uint64_t count[GCB_BOOK];
};

static void fill_results(struct results *r, const struct gcb_block_fns *k, const float *x, size_t n,
                         unsigned log2)
{
    const struct gcb_tile_draw draw = {(uint32_t)n, 5};
    static struct gcb_affine a[MOST];
    const size_t blocks = n ? ((n - 1) >> log2) + 1 : 0;

    static uint32_t cells[2 * GCB_CELLS];
    static float divisor[MOST];
    const struct gcb_bins bins = gcb_bins_of(0.0, 2000.0 * (double)n, n, 256);

    memset(r, 0, sizeof(*r));
    k->most(r->most, x, n, log2);
    gcb_book_cells(cells);
    for (size_t b = 0; b < blocks; b++)
        divisor[b] = gcb_dynamic_divisor(gcb_float_of(r->most[b]));
    k->nearest(r->book[0], x, n, log2, divisor, cells);
    for (size_t i = 0; i < n; i += 4096)
        k->bins(r->book[1] + i, r->parts, r->count, x + i, n - i < 4096 ? n - i : 4096, &bins);
    r->largest = k->ends(r->lo, r->hi, x, n, log2);
    for (int c = 0; c < 3; c++) {
        const struct gcb_scaling s = {gcb_small_float_of((enum gcb_small_format)c),
                                      gcb_small_float_of(GCB_E4M3),
                                      (enum gcb_scale_format)c,
                                      (enum gcb_scale_rule)(n % 5),
                                      0.125f,
                                      8.0f,
                                      (int)(n & 1)};

        k->scales(r->scale[c], r->factor[c], r->most, blocks, &s);
        r->over[c] = k->floats(r->code[c], x, n, log2, r->factor[c], &s.f);
        r->over[c + 3] = k->draw_floats(r->code[c + 3], x, n, log2, r->factor[c], &s.f, &draw);
        k->from_floats(r->back[c], r->code[c], n, log2, r->factor[c], c == 0, &s.f);
    }
    for (int minimum = 0; minimum < 2; minimum++) {
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
    struct gcb_block_fns k;

    for (size_t i = 0; i < CHECK_SIZES; i++)
        for (enum check_fill fill = 0; fill < FILL_NONFINITE; fill++) {
            const size_t n = check_size(i);

            check_fill(x, n, fill, i);
            for (size_t j = 0; j < n; j++)
                x[j] *= 0x1p-3f;
            gcb_block_init(&k, 0);
            fill_results(&want, &k, x, n, 4 + i % 9);
            for (const struct check_isa *isa = check_isas(); isa->name; isa++) {
                gcb_block_init(&k, isa->flags);
                fill_results(&got, &k, x, n, 4 + i % 9);
                check_equal("all", isa->name, n, fill, &want, &got, sizeof(want));
            }
        }
}

/* The numbers of neighbours, of the same element in other tiles, and of two streams look
 * independent, and their upper bits uniform. */
static void check_numbers(void)
{
    enum { TILES = 64, N = TILES * GCB_DRAW_TILE };
    static float x[2 * N];
    static const size_t lags[] = {1, 2, 3, 16, 256, GCB_DRAW_TILE, N};
    unsigned bins[256] = {0};
    double chi2 = 0.0;

    for (size_t i = 0; i < 2 * N; i++) {
        const struct gcb_tile_draw d =
            gcb_tile_draw_of(gcb_philox(7, i % N / GCB_DRAW_TILE, i / N));
        const uint32_t number = gcb_tile_number(&d, i % GCB_DRAW_TILE);

        bins[number >> 23]++;
        x[i] = (float)number * 0x1p-31f - 0.5f;
    }
    for (size_t b = 0; b < 256; b++)
        chi2 += ((double)bins[b] - N / 128.0) * ((double)bins[b] - N / 128.0) / (N / 128.0);
    check_that(chi2 > 160 && chi2 < 370, "chi-square of the upper bytes is %g", chi2);
    for (size_t k = 0; k < sizeof(lags) / sizeof(*lags); k++) {
        double sum = 0.0;

        for (size_t i = 0; i < N; i++)
            sum += (double)x[i] * (double)x[i + lags[k]];
        check_that(sum * sum < 25.0 * N / 144.0, "numbers %zu apart correlate: %g", lags[k],
                   12.0 * sum / N);
    }
}

/* Each value of the dynamic book has its code, and so has all that is nearer to it than to others. */
static void check_book(void)
{
    static uint32_t cells[2 * GCB_CELLS];
    const float one = 1.0f;
    struct gcb_block_fns k;

    gcb_book_cells(cells);
    gcb_block_init(&k, 0);
    for (uint32_t c = 0; c + 1 < GCB_BOOK; c++) {
        const float v = gcb_dynamic_value(c), next = gcb_dynamic_value(c + 1),
                    half = (next - v) / 2;
        const float x[4] = {v, v + half * 0.999f, v + half * 1.001f, next};
        uint16_t code[4];

        k.nearest(code, x, 4, 4, &one, cells);
        check_that(next > v && code[0] == c && code[1] == c && code[2] == c + 1 && code[3] == c + 1,
                   "book: code %u is not the nearest", c);
    }
}

static void body(void)
{
    check_numbers();
    check_book();
    for (int format = GCB_E4M3; format <= GCB_SMALL_BF16; format++)
        check_format((enum gcb_small_format)format);
    check_variants();
}

int main(void)
{
    return check_main("block", body);
}
