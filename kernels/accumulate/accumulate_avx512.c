#include <immintrin.h>

#include "kernels/accumulate/accumulate.h"

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
