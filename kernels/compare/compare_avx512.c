#include <immintrin.h>

#include "kernels/compare/compare.h"
#include "kernels/compare/compare_elem.h"

/* Eight lanes of the five sums and of the maximum: six registers. A block has 32 lanes, so four of
 * these structs hold its accumulators, in 24 of the 32 registers. */
struct octet {
    __m512d xx, yy, xy, dd, d, max_abs;
};

static inline void add_eight(struct octet *s, const float *x, const float *y)
{
    const __m512d a = _mm512_cvtps_pd(_mm256_loadu_ps(x)), b = _mm512_cvtps_pd(_mm256_loadu_ps(y));
    const __m512d d = _mm512_sub_pd(a, b);

    s->xx = _mm512_add_pd(s->xx, _mm512_mul_pd(a, a));
    s->yy = _mm512_add_pd(s->yy, _mm512_mul_pd(b, b));
    s->xy = _mm512_add_pd(s->xy, _mm512_mul_pd(a, b));
    s->dd = _mm512_add_pd(s->dd, _mm512_mul_pd(d, d));
    s->d = _mm512_add_pd(s->d, d);
    s->max_abs = _mm512_max_pd(s->max_abs, _mm512_abs_pd(d));
}

/* Counts the classes of 16 pairs, as gcb_compare_classes does for one pair. */
static inline void add_classes(struct gcb_compare_lanes *lanes, const float *x, const float *y)
{
    const __m512 a = _mm512_loadu_ps(x), b = _mm512_loadu_ps(y), zero = _mm512_setzero_ps();
    const unsigned a0 = _mm512_cmp_ps_mask(a, zero, _CMP_EQ_OQ);
    const unsigned b0 = _mm512_cmp_ps_mask(b, zero, _CMP_EQ_OQ);
    const unsigned differ =
        _mm512_movepi32_mask(_mm512_xor_si512(_mm512_castps_si512(a), _mm512_castps_si512(b)));
    const unsigned agree = ~(a0 | b0 | differ) & 0xffff;

    lanes->zeros += (uint32_t)_mm_popcnt_u32(a0);
    lanes->zeros_kept += (uint32_t)_mm_popcnt_u32(a0 & b0);
    lanes->same_sign += (uint32_t)_mm_popcnt_u32(agree | (a0 & b0));
}

static inline void store_octet(struct gcb_compare_lanes *lanes, size_t lane, const struct octet *s)
{
    _mm512_storeu_pd(lanes->xx + lane, s->xx);
    _mm512_storeu_pd(lanes->yy + lane, s->yy);
    _mm512_storeu_pd(lanes->xy + lane, s->xy);
    _mm512_storeu_pd(lanes->dd + lane, s->dd);
    _mm512_storeu_pd(lanes->d + lane, s->d);
    _mm512_storeu_pd(lanes->max_abs + lane, s->max_abs);
}

void gcb_compare_block_avx512(struct gcb_compare *out, const float *x, const float *y, size_t n)
{
    const __m512d zero = _mm512_setzero_pd();
    struct octet s0 = {zero, zero, zero, zero, zero, zero}, s1 = s0, s2 = s0, s3 = s0;
    struct gcb_compare_lanes lanes;
    size_t i = 0;

    lanes.same_sign = lanes.zeros = lanes.zeros_kept = 0;
    for (; i + GCB_SUM_LANES <= n; i += GCB_SUM_LANES) {
        add_eight(&s0, x + i, y + i);
        add_eight(&s1, x + i + 8, y + i + 8);
        add_eight(&s2, x + i + 16, y + i + 16);
        add_eight(&s3, x + i + 24, y + i + 24);
        add_classes(&lanes, x + i, y + i);
        add_classes(&lanes, x + i + 16, y + i + 16);
    }
    store_octet(&lanes, 0, &s0);
    store_octet(&lanes, 8, &s1);
    store_octet(&lanes, 16, &s2);
    store_octet(&lanes, 24, &s3);
    gcb_compare_tail(&lanes, x + i, y + i, n - i);
    gcb_compare_join(out, &lanes);
}
