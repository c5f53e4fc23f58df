#include <immintrin.h>

#include "kernels/base/hd.h"
#include "kernels/select/select.h"
#include "kernels/select/select_elem.h"

/* Row m moves the 32-bit lanes whose bits are set in m to the front; the lanes after them are
 * arbitrary. */
static const uint8_t to_front[16][16] = {
    {0},
    {0, 1, 2, 3},
    {4, 5, 6, 7},
    {0, 1, 2, 3, 4, 5, 6, 7},
    {8, 9, 10, 11},
    {0, 1, 2, 3, 8, 9, 10, 11},
    {4, 5, 6, 7, 8, 9, 10, 11},
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11},
    {12, 13, 14, 15},
    {0, 1, 2, 3, 12, 13, 14, 15},
    {4, 5, 6, 7, 12, 13, 14, 15},
    {0, 1, 2, 3, 4, 5, 6, 7, 12, 13, 14, 15},
    {8, 9, 10, 11, 12, 13, 14, 15},
    {0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15},
    {4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
};

/* Returns all ones in each lane with magnitude(x) >= threshold. `below` is threshold - 1
 * (one_below). The comparison is magnitude > below, because both operands of that fit signed
 * integers. */
static inline __m256i passes(const float *x, __m256i below)
{
    const __m256i mask = _mm256_set1_epi32((int)GCB_MAGNITUDE_MASK);
    const __m256i bits = _mm256_loadu_si256((const __m256i *)(const void *)x);

    return _mm256_cmpgt_epi32(_mm256_and_si256(bits, mask), below);
}

/* Returns threshold - 1 in every lane. A threshold above 2^31 becomes 2^31, which no magnitude
 * reaches either. */
static inline __m256i one_below(uint32_t threshold)
{
    const uint32_t top = GCB_MAGNITUDE_MASK;

    return _mm256_set1_epi32((int)((threshold > top ? top + 1 : threshold) - 1));
}

/* Stores the lanes of `index` whose bits are set in `nibble` at pos. Always writes four entries;
 * those after the lanes are arbitrary. */
static inline void store_front(uint32_t *pos, __m128i index, unsigned nibble)
{
    const __m128i order = _mm_loadu_si128((const __m128i *)(const void *)to_front[nibble]);

    _mm_storeu_si128((__m128i *)(void *)pos, _mm_shuffle_epi8(index, order));
}

size_t gcb_select_collect_avx2(uint32_t *pos, const float *x, size_t n, uint32_t first,
                               uint32_t threshold)
{
    const __m256i below = one_below(threshold);
    const __m128i four = _mm_set1_epi32(4);
    __m128i index = _mm_add_epi32(_mm_set1_epi32((int)first), _mm_setr_epi32(0, 1, 2, 3));
    size_t have = 0, i = 0;

    /* have <= i, so a whole store ends within the n entries. */
    for (; i + 8 <= n; i += 8) {
        const unsigned mask =
            (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(passes(x + i, below)));

        store_front(pos + have, index, mask & 15);
        index = _mm_add_epi32(index, four);
        store_front(pos + have + _mm_popcnt_u32(mask & 15), index, mask >> 4);
        index = _mm_add_epi32(index, four);
        have += (size_t)_mm_popcnt_u32(mask);
    }
    for (; i < n; i++)
        have = gcb_select_append(pos, have, x[i], first + (uint32_t)i, threshold);
    return have;
}

size_t gcb_select_count_avx2(const float *x, size_t n, uint32_t threshold)
{
    const __m256i below = one_below(threshold);
    size_t count = 0, i = 0;

    for (; i + 32 <= n; i += 32) {
        const __m256i ab = _mm256_packs_epi32(passes(x + i, below), passes(x + i + 8, below));
        const __m256i cd = _mm256_packs_epi32(passes(x + i + 16, below), passes(x + i + 24, below));
        const int mask = _mm256_movemask_epi8(_mm256_packs_epi16(ab, cd));

        count += (size_t)_mm_popcnt_u32((unsigned)mask);
    }
    for (; i < n; i++)
        count += gcb_magnitude(x[i]) >= threshold;
    return count;
}

/* Squares of the scaled parts, re^2 and im^2, of four complex numbers. */
static inline __m256 squares(const float *z, __m256 scale)
{
    const __m256 v = _mm256_mul_ps(_mm256_loadu_ps(z), scale);

    return _mm256_mul_ps(v, v);
}

void gcb_select_power_avx2(float *out, const float *z, size_t n, float scale, float weight)
{
    const __m256 s = _mm256_set1_ps(scale), w = _mm256_set1_ps(weight);
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        const __m256 a = squares(z + 2 * i, s), b = squares(z + 2 * i + 8, s);
        /* hadd gives the sums in the order 0 1 4 5 | 2 3 6 7. */
        const __m256 sum = _mm256_mul_ps(_mm256_hadd_ps(a, b), w);
        const __m256d pairs = _mm256_permute4x64_pd(_mm256_castps_pd(sum), _MM_SHUFFLE(3, 1, 2, 0));

        _mm256_storeu_ps(out + i, _mm256_castpd_ps(pairs));
    }
    for (; i < n; i++)
        out[i] = gcb_select_power(z[2 * i], z[2 * i + 1], scale, weight);
}
