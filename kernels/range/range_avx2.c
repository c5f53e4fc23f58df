#include <immintrin.h>
#include <string.h>

#include "kernels/base/ahead.h"
#include "kernels/range/range.h"

#define STEP 16 /* values of an encoder's step; the tail goes through a padded copy */

/* The fields of struct gcb_range_format that the encoder needs: in every lane, except the shift
 * count. */
struct encoder {
    __m256i half, base, top, negative, floor, clamp;
    __m128i shift;
};

static struct encoder encoder_of(const struct gcb_range_format *f)
{
    return (struct encoder){
        .half = _mm256_set1_epi32((int)f->half),
        .base = _mm256_set1_epi32((int)f->base),
        .top = _mm256_set1_epi32((int)f->top),
        .negative = _mm256_set1_epi32((int)f->negative),
        .floor = _mm256_set1_epi32((int)f->floor),
        .clamp = _mm256_set1_epi32((int)f->clamp),
        .shift = _mm_cvtsi32_si128((int)f->shift),
    };
}

/* The codes of eight values. *over gets all ones in the lanes of values above the maximum. */
static inline __m256i encode_8(const float *x, const struct encoder *f, __m256i *over)
{
    const __m256i u = _mm256_loadu_si256((const __m256i *)x);
    const __m256i a = _mm256_and_si256(u, _mm256_set1_epi32(GCB_MAGNITUDE_MASK));
    __m256i c = _mm256_srl_epi32(_mm256_add_epi32(a, f->half), f->shift);
    __m256i sign;

    /* Subtracting -1 after the base gives eps the code 1. The comparisons below are signed, but all
     * patterns are below 2^31. */
    c = _mm256_sub_epi32(_mm256_max_epu32(c, f->base), f->base);
    c = _mm256_min_epu32(_mm256_sub_epi32(c, _mm256_set1_epi32(-1)), f->top);
    c = _mm256_andnot_si256(_mm256_cmpgt_epi32(f->floor, a), c);
    sign =
        _mm256_and_si256(_mm256_srai_epi32(u, 31), _mm256_cmpgt_epi32(c, _mm256_setzero_si256()));
    *over = _mm256_cmpgt_epi32(a, f->clamp);
    return _mm256_add_epi32(c, _mm256_and_si256(sign, f->negative));
}

/* Encodes 16 values. Returns how many of them were above the maximum. */
static inline size_t encode_step(uint16_t *code, const float *x, const struct encoder *f)
{
    __m256i over0, over1;
    const __m256i c0 = encode_8(x, f, &over0), c1 = encode_8(x + 8, f, &over1);
    const __m256i over = _mm256_packs_epi32(over0, over1);

    /* Packing works within 128-bit lanes; 0xD8 puts the quarters in order. */
    _mm256_storeu_si256((__m256i *)code,
                        _mm256_permute4x64_epi64(_mm256_packus_epi32(c0, c1), 0xD8));
    return (size_t)_mm_popcnt_u32((unsigned)_mm256_movemask_epi8(over)) / 2;
}

size_t gcb_range_encode_avx2(uint16_t *code, const float *x, size_t n,
                             const struct gcb_range_format *f)
{
    const struct encoder e = encoder_of(f);
    float rest[STEP] = {0};
    uint16_t rest_code[STEP];
    size_t clamped = 0, i;

    for (i = 0; i + STEP <= n; i += STEP) {
        gcb_prefetch_next_tile(x + i);
        clamped += encode_step(code + i, x + i, &e);
    }
    if (i < n) {
        memcpy(rest, x + i, (n - i) * sizeof(*x));
        clamped += encode_step(rest_code, rest, &e);
        memcpy(code + i, rest_code, (n - i) * sizeof(*code));
    }
    return clamped;
}

/* What the decoder needs of struct gcb_range_format: in every lane, except the shift count.
 * `before` is base - 1. */
struct decoder {
    __m256i before, top, negative;
    __m128i shift;
};

static struct decoder decoder_of(const struct gcb_range_format *f)
{
    return (struct decoder){
        .before = _mm256_set1_epi32((int)(f->base - 1)),
        .top = _mm256_set1_epi32((int)f->top),
        .negative = _mm256_set1_epi32((int)f->negative),
        .shift = _mm_cvtsi32_si128((int)f->shift),
    };
}

static inline __m256 decode_8(const uint16_t *code, const struct decoder *f)
{
    const __m256i u = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)code));
    const __m256i minus = _mm256_cmpgt_epi32(u, f->negative);
    const __m256i c = _mm256_sub_epi32(u, _mm256_and_si256(minus, f->negative));
    const __m256i zero = _mm256_or_si256(_mm256_cmpeq_epi32(c, _mm256_setzero_si256()),
                                         _mm256_cmpgt_epi32(c, f->top));
    const __m256i a = _mm256_sll_epi32(_mm256_add_epi32(c, f->before), f->shift);
    const __m256i v = _mm256_or_si256(_mm256_slli_epi32(minus, 31), a);

    return _mm256_castsi256_ps(_mm256_andnot_si256(zero, v));
}

void gcb_range_decode_avx2(float *x, const uint16_t *code, size_t n,
                           const struct gcb_range_format *f)
{
    const struct decoder d = decoder_of(f);
    size_t i;

    for (i = 0; i + 8 <= n; i += 8)
        _mm256_storeu_ps(x + i, decode_8(code + i, &d));
    for (; i < n; i++)
        x[i] = gcb_range_decode(code[i], f);
}

void gcb_range_add_avx2(float *acc, const uint16_t *code, size_t n,
                        const struct gcb_range_format *f, float weight)
{
    const struct decoder d = decoder_of(f);
    const __m256 w = _mm256_set1_ps(weight);
    size_t i;

    for (i = 0; i + 8 <= n; i += 8) {
        const __m256 product = _mm256_mul_ps(w, decode_8(code + i, &d));

        _mm256_storeu_ps(acc + i, _mm256_add_ps(_mm256_loadu_ps(acc + i), product));
    }
    for (; i < n; i++)
        acc[i] += weight * gcb_range_decode(code[i], f);
}
