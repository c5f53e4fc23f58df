#include <immintrin.h>
#include <string.h>

#include "kernels/base/ahead.h"
#include "kernels/base/hd.h"
#include "kernels/reduce/reduce.h"
#include "kernels/reduce/reduce_elem.h"

/* For fewer elements than FEW_EXPONENTS, exponents are counted directly into the caller's table.
 * For more, there are several tables, so that an increment seldom waits for the one before;
 * clearing and joining them takes time. */
#define FEW_EXPONENTS 2048
#define TABLES 8

/* The terms of four elements, as doubles. */
typedef __m256d term4_fn(__m128 x);

static inline __m256i magnitudes(const float *x)
{
    const __m256i mask = _mm256_set1_epi32((int)GCB_MAGNITUDE_MASK);

    return _mm256_and_si256(_mm256_loadu_si256((const __m256i *)(const void *)x), mask);
}

static inline uint32_t max_lane(__m256i v)
{
    uint32_t lane[8], max = 0;

    _mm256_storeu_si256((__m256i *)(void *)lane, v);
    for (int j = 0; j < 8; j++)
        max = lane[j] > max ? lane[j] : max;
    return max;
}

uint32_t gcb_reduce_max_bits_avx2(const float *x, size_t n)
{
    __m256i a = _mm256_setzero_si256(), b = a, c = a, d = a;
    uint32_t most, tail;
    size_t i = 0;

    for (; i + 32 <= n; i += 32) {
        a = _mm256_max_epu32(a, magnitudes(x + i));
        b = _mm256_max_epu32(b, magnitudes(x + i + 8));
        c = _mm256_max_epu32(c, magnitudes(x + i + 16));
        d = _mm256_max_epu32(d, magnitudes(x + i + 24));
    }
    a = _mm256_max_epu32(_mm256_max_epu32(a, b), _mm256_max_epu32(c, d));
    most = max_lane(a);
    tail = gcb_reduce_max_bits(x + i, n - i);
    return tail > most ? tail : most;
}

static inline __m256d plain4(__m128 x)
{
    return _mm256_cvtps_pd(x);
}

static inline __m256d abs4(__m128 x)
{
    return _mm256_cvtps_pd(_mm_andnot_ps(_mm_set1_ps(-0.0f), x));
}

static inline __m256d square4(__m128 x)
{
    const __m256d v = _mm256_cvtps_pd(x);

    return _mm256_mul_pd(v, v);
}

/*
 * The sum of a block (kernels/reduce/reduce.h). Inlined, so that the compiler knows both terms. The
 * accumulators are separate variables, because gcc leaves an array of them in memory, which is five
 * times slower.
 */
static inline double block_sum(const float *x, size_t n, term4_fn *term4, gcb_reduce_term_fn *term)
{
    __m256d a = _mm256_setzero_pd(), b = a, c = a, d = a, e = a, f = a, g = a, h = a;
    double acc[GCB_SUM_LANES];
    size_t i = 0;

    for (; i + GCB_SUM_LANES <= n; i += GCB_SUM_LANES) {
        gcb_prefetch_next_tile(x + i);
        gcb_prefetch_next_tile(x + i + 16);
        a = _mm256_add_pd(a, term4(_mm_loadu_ps(x + i)));
        b = _mm256_add_pd(b, term4(_mm_loadu_ps(x + i + 4)));
        c = _mm256_add_pd(c, term4(_mm_loadu_ps(x + i + 8)));
        d = _mm256_add_pd(d, term4(_mm_loadu_ps(x + i + 12)));
        e = _mm256_add_pd(e, term4(_mm_loadu_ps(x + i + 16)));
        f = _mm256_add_pd(f, term4(_mm_loadu_ps(x + i + 20)));
        g = _mm256_add_pd(g, term4(_mm_loadu_ps(x + i + 24)));
        h = _mm256_add_pd(h, term4(_mm_loadu_ps(x + i + 28)));
    }
    _mm256_storeu_pd(acc, a);
    _mm256_storeu_pd(acc + 4, b);
    _mm256_storeu_pd(acc + 8, c);
    _mm256_storeu_pd(acc + 12, d);
    _mm256_storeu_pd(acc + 16, e);
    _mm256_storeu_pd(acc + 20, f);
    _mm256_storeu_pd(acc + 24, g);
    _mm256_storeu_pd(acc + 28, h);
    gcb_reduce_tail(acc, x + i, n - i, term);
    return gcb_reduce_join(acc);
}

double gcb_reduce_sum_avx2(const float *x, size_t n)
{
    return block_sum(x, n, plain4, gcb_reduce_plain);
}

double gcb_reduce_sum_abs_avx2(const float *x, size_t n)
{
    return block_sum(x, n, abs4, gcb_reduce_abs);
}

double gcb_reduce_sum_sq_avx2(const float *x, size_t n)
{
    return block_sum(x, n, square4, gcb_reduce_square);
}

/* The exponents of 32 magnitudes, as bytes. The packs change their order, which does not matter for
 * counts. */
static inline __m256i exponent_bytes(__m256i a, __m256i b, __m256i c, __m256i d)
{
    const __m256i ab = _mm256_packus_epi32(_mm256_srli_epi32(a, 23), _mm256_srli_epi32(b, 23));
    const __m256i cd = _mm256_packus_epi32(_mm256_srli_epi32(c, 23), _mm256_srli_epi32(d, 23));

    return _mm256_packus_epi16(ab, cd);
}

/* Counts eight exponents, each in a table of its own, so that equal neighbours do not wait for each
 * other's stores. */
static inline void count_bytes(uint32_t table[TABLES][256], uint64_t bytes)
{
    table[0][bytes & 0xff]++;
    table[1][bytes >> 8 & 0xff]++;
    table[2][bytes >> 16 & 0xff]++;
    table[3][bytes >> 24 & 0xff]++;
    table[4][bytes >> 32 & 0xff]++;
    table[5][bytes >> 40 & 0xff]++;
    table[6][bytes >> 48 & 0xff]++;
    table[7][bytes >> 56]++;
}

static void join_tables(uint32_t count[256], uint32_t table[TABLES][256])
{
    for (int t = 0; t < TABLES; t++)
        for (int e = 0; e < 256; e++)
            count[e] += table[t][e];
}

static inline void count_vector(uint32_t table[TABLES][256], __m256i bytes)
{
    uint64_t word[4];

    _mm256_storeu_si256((__m256i *)(void *)word, bytes);
    for (int w = 0; w < 4; w++)
        count_bytes(table, word[w]);
}

uint32_t gcb_reduce_exponents_avx2(uint32_t count[256], const float *x, size_t n)
{
    uint32_t table[TABLES][256];
    __m256i max = _mm256_setzero_si256();
    uint32_t tail;
    size_t i = 0;

    if (n < FEW_EXPONENTS)
        return gcb_reduce_exponents(count, x, n);
    memset(table, 0, sizeof(table));
    for (; i + 32 <= n; i += 32) {
        const __m256i a = magnitudes(x + i), b = magnitudes(x + i + 8);
        const __m256i c = magnitudes(x + i + 16), d = magnitudes(x + i + 24);

        max = _mm256_max_epu32(max, _mm256_max_epu32(a, b));
        max = _mm256_max_epu32(max, _mm256_max_epu32(c, d));
        count_vector(table, exponent_bytes(a, b, c, d));
    }
    join_tables(count, table);
    tail = gcb_reduce_exponents(count, x + i, n - i);
    return tail > max_lane(max) ? tail : max_lane(max);
}
