#include <immintrin.h>

#include "kernels/base/ahead.h"
#include "kernels/base/hd.h"
#include "kernels/convert/convert.h"
#include "kernels/convert/convert_elem.h"

static inline __m256i load_bits(const float *x)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)x);
}

static inline __m256i magnitudes(__m256i bits)
{
    return _mm256_and_si256(bits, _mm256_set1_epi32((int)GCB_MAGNITUDE_MASK));
}

/* Returns all ones in each lane with a finite magnitude of at least too_large. */
static inline __m256i saturates(__m256i m, uint32_t too_large)
{
    const __m256i large = _mm256_cmpgt_epi32(m, _mm256_set1_epi32((int)too_large - 1));

    return _mm256_andnot_si256(_mm256_cmpgt_epi32(m, _mm256_set1_epi32((int)GCB_MAX_FINITE_BITS)),
                               large);
}

static inline size_t count_lanes(__m256i mask)
{
    return (size_t)_mm_popcnt_u32((unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(mask)));
}

/* Writes 8 floats as fp16. The conversion instruction does not saturate, so values that are too
 * large are replaced by the largest fp16 first. Returns the number of values replaced. */
static inline size_t narrow_to_fp16(uint8_t *out, const float *x)
{
    const __m256i sign = _mm256_set1_epi32((int)~GCB_MAGNITUDE_MASK);
    const __m256i largest = _mm256_set1_epi32(0x477fe000); /* 65504, the largest fp16 */
    const __m256i bits = load_bits(x);
    const __m256i large = saturates(magnitudes(bits), GCB_FP16_TOO_LARGE);
    const __m256i limit = _mm256_or_si256(_mm256_and_si256(bits, sign), largest);
    const __m256 v = _mm256_castsi256_ps(_mm256_blendv_epi8(bits, limit, large));

    _mm_storeu_si128((__m128i *)(void *)out,
                     _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    return count_lanes(large);
}

size_t gcb_convert_to_fp16_avx2(uint8_t *out, const float *x, size_t n)
{
    size_t saturated = 0, i = 0;

    for (; i + 16 <= n; i += 16) {
        saturated += narrow_to_fp16(out + 2 * i, x + i);
        saturated += narrow_to_fp16(out + 2 * i + 16, x + i + 8);
        gcb_prefetch_next_tile(x + i);
    }
    if (i + 8 <= n) {
        saturated += narrow_to_fp16(out + 2 * i, x + i);
        i += 8;
    }
    return saturated + gcb_convert_to_fp16_c(out + 2 * i, x + i, n - i);
}

/* Returns eight bf16, each in the low half of its 32-bit lane. `large` has all ones in each lane
 * that saturates. Rounding covers the sign bit too, but only a NaN could carry into it, and the
 * result of a NaN is replaced. */
static inline __m256i narrow8(__m256i bits, __m256i large)
{
    const __m256i one = _mm256_set1_epi32(1),
                  odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), one);
    const __m256i below_half = _mm256_set1_epi32(0x7fff);
    const __m256i rounded = _mm256_add_epi32(bits, _mm256_add_epi32(below_half, odd));
    const __m256i is_nan =
        _mm256_cmpgt_epi32(magnitudes(bits), _mm256_set1_epi32((int)GCB_INF_BITS));
    const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32((int)GCB_FP32_QUIET));
    /* A value that is too large is truncated instead of rounded, which gives 0x7f7f. */
    const __m256i cut = _mm256_blendv_epi8(rounded, bits, large);

    return _mm256_srli_epi32(_mm256_blendv_epi8(cut, quiet, is_nan), 16);
}

size_t gcb_convert_to_bf16_avx2(uint8_t *out, const float *x, size_t n)
{
    size_t saturated = 0, i = 0;

    for (; i + 16 <= n; i += 16) {
        const __m256i a = load_bits(x + i), b = load_bits(x + i + 8);
        const __m256i large_a = saturates(magnitudes(a), GCB_BF16_TOO_LARGE);
        const __m256i large_b = saturates(magnitudes(b), GCB_BF16_TOO_LARGE);
        const __m256i both = _mm256_packus_epi32(narrow8(a, large_a), narrow8(b, large_b));

        _mm256_storeu_si256((__m256i *)(void *)(out + 2 * i),
                            _mm256_permute4x64_epi64(both, _MM_SHUFFLE(3, 1, 2, 0)));
        saturated += count_lanes(large_a) + count_lanes(large_b);
        gcb_prefetch_next_tile(x + i);
    }
    return saturated + gcb_convert_to_bf16_c(out + 2 * i, x + i, n - i);
}

void gcb_convert_from_fp16_avx2(float *out, const uint8_t *in, size_t n)
{
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        const __m128i h = _mm_loadu_si128((const __m128i *)(const void *)(in + 2 * i));

        _mm256_storeu_ps(out + i, _mm256_cvtph_ps(h));
    }
    gcb_convert_from_fp16_c(out + i, in + 2 * i, n - i);
}

void gcb_convert_from_bf16_avx2(float *out, const uint8_t *in, size_t n)
{
    const __m256i inf = _mm256_set1_epi32((int)GCB_INF_BITS);
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        const __m128i h = _mm_loadu_si128((const __m128i *)(const void *)(in + 2 * i));
        const __m256i bits = _mm256_slli_epi32(_mm256_cvtepu16_epi32(h), 16);
        const __m256i is_nan = _mm256_cmpgt_epi32(magnitudes(bits), inf);
        const __m256i quiet = _mm256_and_si256(is_nan, _mm256_set1_epi32((int)GCB_FP32_QUIET));

        _mm256_storeu_si256((__m256i *)(void *)(out + i), _mm256_or_si256(bits, quiet));
    }
    gcb_convert_from_bf16_c(out + i, in + 2 * i, n - i);
}
