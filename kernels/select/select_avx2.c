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

static inline __m256i load(const void *x)
{
    return _mm256_loadu_si256((const __m256i *)x);
}

/* Returns all ones in each lane of x whose magnitude is at least the threshold. `below` is
 * threshold - 1 (one_below). The comparison is magnitude > below, because both operands of that fit
 * signed integers. */
static inline __m256i passes(__m256i x, __m256i below)
{
    const __m256i mask = _mm256_set1_epi32((int)GCB_MAGNITUDE_MASK);

    return _mm256_cmpgt_epi32(_mm256_and_si256(x, mask), below);
}

/* Returns threshold - 1 in every lane. A threshold above 2^31 becomes 2^31, which no magnitude
 * reaches either. */
static inline __m256i one_below(uint32_t threshold)
{
    const uint32_t top = GCB_MAGNITUDE_MASK;

    return _mm256_set1_epi32((int)((threshold > top ? top + 1 : threshold) - 1));
}

/* Stores the lanes of `index` and `bits` whose bits are set in `nibble` at pos and value. Always
 * writes four entries of both; those after the lanes are arbitrary. */
static inline void store_front(uint32_t *pos, float *value, __m128i index, __m128i bits,
                               unsigned nibble)
{
    const __m128i order = _mm_loadu_si128((const __m128i *)(const void *)to_front[nibble]);

    _mm_storeu_si128((__m128i *)(void *)pos, _mm_shuffle_epi8(index, order));
    _mm_storeu_si128((__m128i *)(void *)value, _mm_shuffle_epi8(bits, order));
}

/* True if one of x[0] to x[31] passes. */
static inline int any_passes(const float *x, __m256i below)
{
    const __m256i ab = _mm256_or_si256(passes(load(x), below), passes(load(x + 8), below));
    const __m256i cd = _mm256_or_si256(passes(load(x + 16), below), passes(load(x + 24), below));

    return !_mm256_testz_si256(_mm256_or_si256(ab, cd), _mm256_set1_epi32(-1));
}

/* Appends those of x[i] to x[i + 7] that pass to the `have` <= i entries of pos and value. Returns
 * the new number of entries. The stores end before entry i + 8, so they overwrite nothing
 * unread. */
static inline size_t append_8(uint32_t *pos, float *value, size_t have, const uint32_t *from,
                              const float *x, size_t i, uint32_t first, __m256i below)
{
    const __m256i iota = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), bits = load(x + i);
    const __m256i index =
        from ? load(from + i)
             : _mm256_add_epi32(_mm256_set1_epi32((int)(first + (uint32_t)i)), iota);
    const unsigned mask = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(passes(bits, below)));

    store_front(pos + have, value + have, _mm256_castsi256_si128(index),
                _mm256_castsi256_si128(bits), mask & 15);
    have += (size_t)_mm_popcnt_u32(mask & 15);
    store_front(pos + have, value + have, _mm256_extracti128_si256(index, 1),
                _mm256_extracti128_si256(bits, 1), mask >> 4);
    return have + (size_t)_mm_popcnt_u32(mask >> 4);
}

static inline size_t collect(uint32_t *pos, float *value, const uint32_t *from, const float *x,
                             size_t n, uint32_t first, uint32_t threshold)
{
    const __m256i below = one_below(threshold);
    size_t have = 0, i = 0;

    for (; i + 32 <= n; i += 32) {
        if (!any_passes(x + i, below))
            continue;
        for (size_t j = i; j < i + 32; j += 8)
            have = append_8(pos, value, have, from, x, j, first, below);
    }
    for (; i + 8 <= n; i += 8)
        have = append_8(pos, value, have, from, x, i, first, below);
    for (; i < n; i++)
        have = gcb_select_append(pos, value, have, x[i], from ? from[i] : first + (uint32_t)i,
                                 threshold);
    return have;
}

size_t gcb_select_collect_avx2(uint32_t *pos, float *value, const uint32_t *from, const float *x,
                               size_t n, uint32_t first, uint32_t threshold)
{
    /* two copies of the loop, without a branch on `from` */
    return from ? collect(pos, value, from, x, n, first, threshold)
                : collect(pos, value, NULL, x, n, first, threshold);
}

size_t gcb_select_count_avx2(const float *x, size_t n, uint32_t threshold)
{
    const __m256i below = one_below(threshold);
    size_t count = 0, i = 0;

    for (; i + 32 <= n; i += 32) {
        const __m256i ab =
            _mm256_packs_epi32(passes(load(x + i), below), passes(load(x + i + 8), below));
        const __m256i cd =
            _mm256_packs_epi32(passes(load(x + i + 16), below), passes(load(x + i + 24), below));
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
