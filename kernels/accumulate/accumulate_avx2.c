#include <immintrin.h>

#include "kernels/accumulate/accumulate.h"
#include "kernels/base/hd.h"

void gcb_accumulate_add_avx2(float *acc, const float *x, size_t n, float weight)
{
    const __m256 w = _mm256_set1_ps(weight);
    size_t i;

    for (i = 0; i + 8 <= n; i += 8) {
        const __m256 product = _mm256_mul_ps(w, _mm256_loadu_ps(x + i));

        _mm256_storeu_ps(acc + i, _mm256_add_ps(_mm256_loadu_ps(acc + i), product));
    }
    for (; i < n; i++)
        acc[i] += weight * x[i];
}

void gcb_accumulate_exponents_avx2(float *acc, const uint16_t *code, size_t n, float weight)
{
    const __m256 w = _mm256_set1_ps(weight);
    size_t i;

    for (i = 0; i + 8 <= n; i += 8) {
        const __m256i c = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(code + i)));
        const __m256 v = _mm256_castsi256_ps(_mm256_slli_epi32(c, GCB_EXPONENT_SHIFT));

        _mm256_storeu_ps(acc + i, _mm256_add_ps(_mm256_loadu_ps(acc + i), _mm256_mul_ps(w, v)));
    }
    for (; i < n; i++)
        acc[i] += weight * gcb_float_of((uint32_t)code[i] << GCB_EXPONENT_SHIFT);
}
