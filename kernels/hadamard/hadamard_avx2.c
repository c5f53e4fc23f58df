#include <immintrin.h>

#include "kernels/hadamard/hadamard.h"

#define BASE ((size_t)4096) /* this many floats fit the first-level cache */

/* The three stages within eight values: distances 1, 2 and 4. */
static __m256 within(__m256 v)
{
    const __m256 minus1 = _mm256_setr_ps(0.0f, -0.0f, 0.0f, -0.0f, 0.0f, -0.0f, 0.0f, -0.0f);
    const __m256 minus2 = _mm256_setr_ps(0.0f, 0.0f, -0.0f, -0.0f, 0.0f, 0.0f, -0.0f, -0.0f);
    const __m256 minus4 = _mm256_setr_ps(0.0f, 0.0f, 0.0f, 0.0f, -0.0f, -0.0f, -0.0f, -0.0f);

    /* Each lane adds its partner's value. The upper lane of a pair changes its own sign first: then
     * the sum is a - b. The permutations exchange neighbours, pairs and halves. */
    v = _mm256_add_ps(_mm256_permute_ps(v, _MM_SHUFFLE(2, 3, 0, 1)), _mm256_xor_ps(v, minus1));
    v = _mm256_add_ps(_mm256_permute_ps(v, _MM_SHUFFLE(1, 0, 3, 2)), _mm256_xor_ps(v, minus2));
    return _mm256_add_ps(_mm256_permute2f128_ps(v, v, 1), _mm256_xor_ps(v, minus4));
}

/* Does the stages of distances `half` and 2 * half of x[0..n), in one pass. */
static void two_stages(float *x, size_t n, size_t half)
{
    for (size_t from = 0; from < n; from += 4 * half) {
        for (size_t i = from; i < from + half; i += 8) {
            const __m256 a = _mm256_loadu_ps(x + i), b = _mm256_loadu_ps(x + i + half);
            const __m256 c = _mm256_loadu_ps(x + i + 2 * half);
            const __m256 d = _mm256_loadu_ps(x + i + 3 * half);
            const __m256 s = _mm256_add_ps(a, b), t = _mm256_sub_ps(a, b);
            const __m256 u = _mm256_add_ps(c, d), v = _mm256_sub_ps(c, d);

            _mm256_storeu_ps(x + i, _mm256_add_ps(s, u));
            _mm256_storeu_ps(x + i + half, _mm256_add_ps(t, v));
            _mm256_storeu_ps(x + i + 2 * half, _mm256_sub_ps(s, u));
            _mm256_storeu_ps(x + i + 3 * half, _mm256_sub_ps(t, v));
        }
    }
}

/* Does the stages of distances `half`, 2 * half and 4 * half of x[0..8 * half), in one pass. */
static void three_stages(float *x, size_t half)
{
    for (size_t i = 0; i < half; i += 8) {
        __m256 v[8], w[8];

        for (size_t k = 0; k < 8; k++)
            v[k] = _mm256_loadu_ps(x + i + k * half);
        for (size_t k = 0; k < 8; k += 2) {
            w[k] = _mm256_add_ps(v[k], v[k + 1]);
            w[k + 1] = _mm256_sub_ps(v[k], v[k + 1]);
        }
        for (size_t k = 0; k < 8; k += k % 4 == 1 ? 3 : 1) { /* 0, 1, 4 and 5 */
            v[k] = _mm256_add_ps(w[k], w[k + 2]);
            v[k + 2] = _mm256_sub_ps(w[k], w[k + 2]);
        }
        for (size_t k = 0; k < 4; k++) {
            _mm256_storeu_ps(x + i + k * half, _mm256_add_ps(v[k], v[k + 4]));
            _mm256_storeu_ps(x + i + (k + 4) * half, _mm256_sub_ps(v[k], v[k + 4]));
        }
    }
}

/* Does the stage of distance `half` of x[0..2 * half). */
static void last_stage(float *x, size_t half)
{
    for (size_t i = 0; i < half; i += 8) {
        const __m256 a = _mm256_loadu_ps(x + i), b = _mm256_loadu_ps(x + i + half);

        _mm256_storeu_ps(x + i, _mm256_add_ps(a, b));
        _mm256_storeu_ps(x + i + half, _mm256_sub_ps(a, b));
    }
}

/* Transforms 8 to BASE values. */
static void base_transform(float *x, size_t n)
{
    size_t half = 8;

    for (size_t i = 0; i < n; i += 8)
        _mm256_storeu_ps(x + i, within(_mm256_loadu_ps(x + i)));
    for (; 2 * half < n; half *= 4)
        two_stages(x, n, half);
    if (half < n)
        last_stage(x, half);
}

/*
 * A transform longer than BASE is cut into 8 parts, or into 4 or 2 parts of BASE elements. Each
 * part is transformed completely before the next part, so that its values stay in the smallest
 * cache that holds them. Then one pass joins all parts. Each value goes through the same additions,
 * in the same order, as if the stages were done one after the other.
 */
void gcb_hadamard_transform_avx2(float *x, size_t n)
{
    const size_t parts = n >= 8 * BASE ? 8 : n / BASE, part = parts > 1 ? n / parts : 0;

    for (size_t i = 0; part && i < parts; i++)
        gcb_hadamard_transform_avx2(x + i * part, part);
    if (n < 8)
        gcb_hadamard_transform_c(x, n);
    else if (n <= BASE)
        base_transform(x, n);
    else if (parts == 8)
        three_stages(x, part);
    else if (parts == 4)
        two_stages(x, n, part);
    else
        last_stage(x, part);
}

void gcb_hadamard_flip_avx2(float *x, const uint8_t *sign, size_t n)
{
    const __m256i top = _mm256_set1_epi32((int)0x80000000u);
    /* bit j of the byte becomes the sign of lane j */
    const __m256i shifts = _mm256_setr_epi32(31, 30, 29, 28, 27, 26, 25, 24);
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        const __m256i signs =
            _mm256_and_si256(_mm256_sllv_epi32(_mm256_set1_epi32(sign[i / 8]), shifts), top);

        _mm256_storeu_ps(x + i, _mm256_xor_ps(_mm256_loadu_ps(x + i), _mm256_castsi256_ps(signs)));
    }
    gcb_hadamard_flip_c(x + i, sign + i / 8, n - i);
}
