#include <immintrin.h>

#include "kernels/accumulate/accumulate.h"
#include "kernels/base/hd.h"

void gcb_accumulate_add_avx512(float *acc, const float *x, size_t n, float weight)
{
    const __m512 w = _mm512_set1_ps(weight);

    for (size_t i = 0; i < n; i += 16) {
        const __mmask16 mask = (__mmask16)(n - i < 16 ? (1u << (n - i)) - 1 : 0xffff);
        const __m512 product = _mm512_mul_ps(w, _mm512_maskz_loadu_ps(mask, x + i));

        _mm512_mask_storeu_ps(acc + i, mask,
                              _mm512_add_ps(_mm512_maskz_loadu_ps(mask, acc + i), product));
    }
}

void gcb_accumulate_exponents_avx512(float *acc, const uint16_t *code, size_t n, float weight)
{
    const __m512 w = _mm512_set1_ps(weight);
    size_t i;

    for (i = 0; i + 16 <= n; i += 16) {
        const __m512i c = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(code + i)));
        const __m512 v = _mm512_castsi512_ps(_mm512_slli_epi32(c, GCB_EXPONENT_SHIFT));

        _mm512_storeu_ps(acc + i, _mm512_add_ps(_mm512_loadu_ps(acc + i), _mm512_mul_ps(w, v)));
    }
    for (; i < n; i++)
        acc[i] += weight * gcb_float_of((uint32_t)code[i] << GCB_EXPONENT_SHIFT);
}
