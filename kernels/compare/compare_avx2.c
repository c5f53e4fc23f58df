#include <immintrin.h>

#include "kernels/compare/compare.h"
#include "kernels/compare/compare_elem.h"

/*
 * The five sums and the maximum have 32 lanes each. These 192 doubles do not fit the 16 vector
 * registers of four doubles. So a block is read in tiles that fit the first-level cache, and each
 * tile is read once per strip of four lanes, with the accumulators of the strip in registers.
 */
#define TILE 1024 /* pairs: 8 KiB */
#define STRIP 4   /* lanes */

/* The accumulators of a strip, as in struct gcb_compare_lanes. */
struct strip {
    __m256d xx, yy, xy, dd, d, max_abs;
};

/* Counts of eight pairs side by side, one per lane. */
struct classes {
    __m256i same_sign, zeros, zeros_kept;
};

/* Adds four pairs to the four lanes of a strip. */
static inline void add_four(struct strip *s, const float *x, const float *y)
{
    const __m256d a = _mm256_cvtps_pd(_mm_loadu_ps(x)), b = _mm256_cvtps_pd(_mm_loadu_ps(y));
    const __m256d d = _mm256_sub_pd(a, b);

    s->xx = _mm256_add_pd(s->xx, _mm256_mul_pd(a, a));
    s->yy = _mm256_add_pd(s->yy, _mm256_mul_pd(b, b));
    s->xy = _mm256_add_pd(s->xy, _mm256_mul_pd(a, b));
    s->dd = _mm256_add_pd(s->dd, _mm256_mul_pd(d, d));
    s->d = _mm256_add_pd(s->d, d);
    s->max_abs = _mm256_max_pd(s->max_abs, _mm256_andnot_pd(_mm256_set1_pd(-0.0), d));
}

/* Adds the pairs of a tile that belong to lanes `lane` to `lane` + 3. n is a multiple of
 * GCB_SUM_LANES. */
static inline void add_strip(struct gcb_compare_lanes *lanes, size_t lane, const float *x,
                             const float *y, size_t n)
{
    struct strip s = {
        .xx = _mm256_loadu_pd(lanes->xx + lane),
        .yy = _mm256_loadu_pd(lanes->yy + lane),
        .xy = _mm256_loadu_pd(lanes->xy + lane),
        .dd = _mm256_loadu_pd(lanes->dd + lane),
        .d = _mm256_loadu_pd(lanes->d + lane),
        .max_abs = _mm256_loadu_pd(lanes->max_abs + lane),
    };

    for (size_t i = lane; i < n; i += GCB_SUM_LANES)
        add_four(&s, x + i, y + i);
    _mm256_storeu_pd(lanes->xx + lane, s.xx);
    _mm256_storeu_pd(lanes->yy + lane, s.yy);
    _mm256_storeu_pd(lanes->xy + lane, s.xy);
    _mm256_storeu_pd(lanes->dd + lane, s.dd);
    _mm256_storeu_pd(lanes->d + lane, s.d);
    _mm256_storeu_pd(lanes->max_abs + lane, s.max_abs);
}

/* Counts the classes of eight pairs. A comparison gives -1 in its lane, so a count grows by
 * subtraction. Two numbers have the same sign if both are zero, or if neither is zero and their
 * sign bits agree. */
static inline void add_classes(struct classes *c, const float *x, const float *y)
{
    const __m256 a = _mm256_loadu_ps(x), b = _mm256_loadu_ps(y), zero = _mm256_setzero_ps();
    const __m256i a0 = _mm256_castps_si256(_mm256_cmp_ps(a, zero, _CMP_EQ_OQ));
    const __m256i b0 = _mm256_castps_si256(_mm256_cmp_ps(b, zero, _CMP_EQ_OQ));
    const __m256i differ = _mm256_srai_epi32(_mm256_castps_si256(_mm256_xor_ps(a, b)), 31);
    const __m256i both = _mm256_and_si256(a0, b0);
    const __m256i apart = _mm256_or_si256(_mm256_or_si256(a0, b0), differ);

    c->zeros = _mm256_sub_epi32(c->zeros, a0);
    c->zeros_kept = _mm256_sub_epi32(c->zeros_kept, both);
    /* `apart` is -1 if a number is zero or the signs differ, `both` is -1 if both numbers are zero.
     * So 1 + apart - both is 1 if the pair has the same sign, else 0. This code adds apart - both;
     * add_tiles adds the ones, n in all. */
    c->same_sign = _mm256_add_epi32(c->same_sign, _mm256_sub_epi32(apart, both));
}

static inline uint32_t add_lanes(__m256i v)
{
    uint32_t lane[8], total = 0;

    _mm256_storeu_si256((__m256i *)(void *)lane, v);
    for (int j = 0; j < 8; j++)
        total += lane[j];
    return total;
}

/* Adds n pairs to *lanes, which starts zeroed; n is a multiple of GCB_SUM_LANES and at most
 * GCB_SUM_BLOCK. */
static void add_tiles(struct gcb_compare_lanes *lanes, const float *x, const float *y, size_t n)
{
    const __m256i zero = _mm256_setzero_si256();
    struct classes c = {zero, zero, zero};

    for (size_t at = 0; at < n; at += TILE) {
        const size_t len = n - at < TILE ? n - at : TILE;

        for (size_t i = at; i < at + len; i += 8)
            add_classes(&c, x + i, y + i);
        for (size_t lane = 0; lane < GCB_SUM_LANES; lane += STRIP)
            add_strip(lanes, lane, x + at, y + at, len);
    }
    lanes->same_sign = (uint32_t)n + add_lanes(c.same_sign);
    lanes->zeros = add_lanes(c.zeros);
    lanes->zeros_kept = add_lanes(c.zeros_kept);
}

void gcb_compare_block_avx2(struct gcb_compare *out, const float *x, const float *y, size_t n)
{
    struct gcb_compare_lanes lanes = {.xx = {0}};
    const size_t whole = n - n % GCB_SUM_LANES;

    add_tiles(&lanes, x, y, whole);
    gcb_compare_tail(&lanes, x + whole, y + whole, n - whole);
    gcb_compare_join(out, &lanes);
}
