#include <immintrin.h>

#include "kernels/base/hd.h"
#include "kernels/select/select.h"
#include "kernels/select/select_elem.h"

/* Compresses entries in a register and stores the whole register. Compressing directly to memory is
 * microcoded on some CPUs, and many times slower. have <= i, so the stores end before entry i + 16
 * and overwrite nothing unread. */
size_t gcb_select_collect_avx512(uint32_t *pos, float *value, const uint32_t *from, const float *x,
                                 size_t n, uint32_t first, uint32_t threshold)
{
    const __m512i magnitude = _mm512_set1_epi32((int)GCB_MAGNITUDE_MASK);
    const __m512i least = _mm512_set1_epi32((int)threshold);
    const __m512i iota = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    size_t have = 0, i = 0;

    for (; i + 16 <= n; i += 16) {
        const __m512i bits = _mm512_loadu_si512(x + i);
        const __mmask16 mask = _mm512_cmpge_epu32_mask(_mm512_and_si512(bits, magnitude), least);
        const __m512i index =
            from ? _mm512_loadu_si512(from + i)
                 : _mm512_add_epi32(_mm512_set1_epi32((int)(first + (uint32_t)i)), iota);

        _mm512_storeu_si512(pos + have, _mm512_maskz_compress_epi32(mask, index));
        _mm512_storeu_si512(value + have, _mm512_maskz_compress_epi32(mask, bits));
        have += (size_t)_mm_popcnt_u32(mask);
    }
    for (; i < n; i++)
        have = gcb_select_append(pos, value, have, x[i], from ? from[i] : first + (uint32_t)i,
                                 threshold);
    return have;
}
