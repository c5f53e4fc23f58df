#include <immintrin.h>

#include "kernels/base/ahead.h"
#include "kernels/range/range.h"

/* The fields of struct gcb_range_format that the encoder needs: in every lane, except the shift
 * count. */
struct encoder {
    __m512i half, base, top, negative, floor, clamp;
    __m128i shift;
};

static struct encoder encoder_of(const struct gcb_range_format *f)
{
    return (struct encoder){
        .half = _mm512_set1_epi32((int)f->half),
        .base = _mm512_set1_epi32((int)f->base),
        .top = _mm512_set1_epi32((int)f->top),
        .negative = _mm512_set1_epi32((int)f->negative),
        .floor = _mm512_set1_epi32((int)f->floor),
        .clamp = _mm512_set1_epi32((int)f->clamp),
        .shift = _mm_cvtsi32_si128((int)f->shift),
    };
}

/* The codes of sixteen values, given as bit patterns u. Adds the number of values above the maximum
 * to *clamped. */
static inline __m256i encode_16(__m512i u, const struct encoder *f, size_t *clamped)
{
    const __m512i a = _mm512_and_si512(u, _mm512_set1_epi32(GCB_MAGNITUDE_MASK));
    const __mmask16 above = _mm512_cmpge_epu32_mask(a, f->floor);
    __m512i c = _mm512_srl_epi32(_mm512_add_epi32(a, f->half), f->shift);
    __mmask16 minus;

    c = _mm512_sub_epi32(_mm512_max_epu32(c, f->base), f->base);
    c = _mm512_sub_epi32(c, _mm512_set1_epi32(-1)); /* eps has the code 1 */
    c = _mm512_maskz_min_epu32(above, c, f->top);
    minus = _mm512_mask_test_epi32_mask(_mm512_movepi32_mask(u), c, c);
    *clamped += (size_t)_mm_popcnt_u32(_mm512_cmpgt_epu32_mask(a, f->clamp));
    return _mm512_cvtepi32_epi16(_mm512_mask_add_epi32(c, minus, c, f->negative));
}

size_t gcb_range_encode_avx512(uint16_t *code, const float *x, size_t n,
                               const struct gcb_range_format *f)
{
    const struct encoder e = encoder_of(f);
    size_t clamped = 0, i;

    for (i = 0; i + 16 <= n; i += 16) {
        gcb_prefetch_next_tile(x + i);
        _mm256_storeu_si256((__m256i *)(code + i),
                            encode_16(_mm512_loadu_si512(x + i), &e, &clamped));
    }
    if (i < n) {
        const __mmask16 rest = (__mmask16)((1u << (n - i)) - 1);

        _mm256_mask_storeu_epi16(code + i, rest,
                                 encode_16(_mm512_maskz_loadu_epi32(rest, x + i), &e, &clamped));
    }
    return clamped;
}

/* What the decoder needs of struct gcb_range_format: in every lane, except the shift count.
 * `before` is base - 1, and `sign` is the sign bit. */
struct decoder {
    __m512i before, top, negative, sign;
    __m128i shift;
};

static struct decoder decoder_of(const struct gcb_range_format *f)
{
    return (struct decoder){
        .before = _mm512_set1_epi32((int)(f->base - 1)),
        .top = _mm512_set1_epi32((int)f->top),
        .negative = _mm512_set1_epi32((int)f->negative),
        .sign = _mm512_set1_epi32((int)0x80000000u),
        .shift = _mm_cvtsi32_si128((int)f->shift),
    };
}

static inline __m512i decode_16(__m256i code, const struct decoder *f)
{
    const __m512i u = _mm512_cvtepu16_epi32(code);
    const __mmask16 minus = _mm512_cmpgt_epu32_mask(u, f->negative);
    const __m512i c = _mm512_mask_sub_epi32(u, minus, u, f->negative);
    const __mmask16 valid = _mm512_mask_cmple_epu32_mask(_mm512_test_epi32_mask(c, c), c, f->top);
    __m512i v = _mm512_maskz_sll_epi32(valid, _mm512_add_epi32(c, f->before), f->shift);

    v = _mm512_mask_or_epi32(v, minus & valid, v, f->sign);
    return v;
}

void gcb_range_decode_avx512(float *x, const uint16_t *code, size_t n,
                             const struct gcb_range_format *f)
{
    const struct decoder d = decoder_of(f);
    size_t i;

    for (i = 0; i + 16 <= n; i += 16)
        _mm512_storeu_si512(x + i, decode_16(_mm256_loadu_si256((const __m256i *)(code + i)), &d));
    if (i < n) {
        const __mmask16 rest = (__mmask16)((1u << (n - i)) - 1);

        _mm512_mask_storeu_epi32(x + i, rest,
                                 decode_16(_mm256_maskz_loadu_epi16(rest, code + i), &d));
    }
}

void gcb_range_add_avx512(float *acc, const uint16_t *code, size_t n,
                          const struct gcb_range_format *f, float weight)
{
    const struct decoder d = decoder_of(f);
    const __m512 w = _mm512_set1_ps(weight);
    size_t i;

    for (i = 0; i + 16 <= n; i += 16) {
        const __m512i v = decode_16(_mm256_loadu_si256((const __m256i *)(code + i)), &d);
        const __m512 product = _mm512_mul_ps(w, _mm512_castsi512_ps(v));

        _mm512_storeu_ps(acc + i, _mm512_add_ps(_mm512_loadu_ps(acc + i), product));
    }
    for (; i < n; i++)
        acc[i] += weight * gcb_range_decode(code[i], f);
}
