#include <immintrin.h>

#include "kernels/dither/dither.h"

#define STEP 16

/* The parameters of struct gcb_dither, in every lane; `top` is levels. */
struct rounder {
    __m512 factor, inv, top;
};

static struct rounder rounder_of(const struct gcb_dither *d)
{
    return (struct rounder){
        .factor = _mm512_set1_ps(d->factor),
        .inv = _mm512_set1_ps(d->inv),
        .top = _mm512_set1_ps((float)d->levels),
    };
}

/* The levels of 16 elements, decided by the byte only. *unsure gets a bit for each element that the
 * byte does not decide. */
static inline __m512i levels_16(__m512 x, const uint8_t *byte, const struct rounder *r,
                                __mmask16 *unsure)
{
    const __m512i drawn = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)byte));
    const __m512 a = _mm512_andnot_ps(_mm512_set1_ps(-0.0f), x);
    /* If the first operand is a NaN, the result is the second operand, as in gcb_lesser. */
    const __m512 t = _mm512_min_ps(_mm512_mul_ps(_mm512_mul_ps(a, r->factor), r->inv), r->top);
    const __m512i level = _mm512_cvttps_epi32(t);
    const __m512 rest = _mm512_sub_ps(t, _mm512_cvtepi32_ps(level));
    const __m512i p = _mm512_cvttps_epi32(_mm512_mul_ps(rest, _mm512_set1_ps(256.0f)));

    *unsure = _mm512_cmpeq_epi32_mask(p, drawn);
    return _mm512_mask_sub_epi32(level, _mm512_cmpgt_epi32_mask(p, drawn), level,
                                 _mm512_set1_epi32(-1));
}

void gcb_dither_signed_levels_avx512(uint16_t *code, const float *x, size_t n, const uint8_t *byte,
                                     uint64_t index, const struct gcb_dither *d, unsigned sign_bit)
{
    const struct rounder r = rounder_of(d);
    const __m512i sign = _mm512_set1_epi32(1 << sign_bit);
    size_t i;

    for (i = 0; i + STEP <= n; i += STEP) {
        const __m512 v = _mm512_loadu_ps(x + i);
        __mmask16 unsure;
        const __m512i level = levels_16(v, byte + i, &r, &unsure);
        const __mmask16 minus =
            _mm512_mask_test_epi32_mask(_mm512_movepi32_mask(_mm512_castps_si512(v)), level, level);

        _mm256_storeu_si256((__m256i *)(code + i),
                            _mm512_cvtepi32_epi16(_mm512_mask_or_epi32(level, minus, level, sign)));
        for (unsigned rest = unsure; rest; rest &= rest - 1) {
            const size_t j = i + _tzcnt_u32(rest);

            code[j] = (uint16_t)gcb_dither_signed(x[j], byte[j], index + j, d, sign_bit);
        }
    }
    for (; i < n; i++)
        code[i] = (uint16_t)gcb_dither_signed(x[i], byte[i], index + i, d, sign_bit);
}

enum output { STORE, ADD };

/* Stores decoded values, or adds them after multiplying by the weight. */
static inline void put(float *x, __m512 v, __m512 weight, enum output output)
{
    if (output == ADD)
        v = _mm512_add_ps(_mm512_loadu_ps(x), _mm512_mul_ps(weight, v));
    _mm512_storeu_ps(x, v);
}

/* Constants that turn a code and its step into a value, in every lane. */
struct placer {
    __m512 scale, weight;
    __m512i mask;
    __m128i up; /* shift that moves a code's sign to the sign of a float */
};

static struct placer placer_of(float scale, unsigned sign_bit, float weight)
{
    return (struct placer){
        .scale = _mm512_set1_ps(scale),
        .weight = _mm512_set1_ps(weight),
        .mask = _mm512_set1_epi32((1 << sign_bit) - 1),
        .up = _mm_cvtsi32_si128((int)(31 - sign_bit)),
    };
}

/* The values that sixteen codes c decode to. The caller has looked up their steps. */
static inline __m512 place(__m512i c, __m512i level, __m512 step, const struct placer *p)
{
    const __m512i sign = _mm512_set1_epi32((int)0x80000000u);
    const __mmask16 some = _mm512_test_epi32_mask(level, level);
    const __m512i minus = _mm512_and_si512(_mm512_sll_epi32(c, p->up), sign);
    const __m512i v = _mm512_castps_si512(_mm512_mul_ps(p->scale, step));

    return _mm512_castsi512_ps(_mm512_maskz_xor_epi32(some, v, minus));
}

/* The table of steps fits two registers if a level has at most this many bits. */
#define FEW_BITS 5
enum levels { FEW, MANY };

/* Decodes as many of the n codes as fill whole vectors. Returns the number of codes decoded.
 * `levels` and `output` are constants in each call. */
static inline size_t from_codes(float *x, const uint16_t *code, size_t n, const float *step,
                                const struct placer *p, unsigned sign_bit, enum levels levels,
                                enum output output)
{
    float entry[32] = {0};
    __m512 low, high;
    size_t i;

    for (size_t k = 0; levels == FEW && k < (size_t)1 << sign_bit; k++)
        entry[k] = step[k];
    low = _mm512_loadu_ps(entry);
    high = _mm512_loadu_ps(entry + 16);
    for (i = 0; i + STEP <= n; i += STEP) {
        const __m512i c = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(code + i)));
        const __m512i level = _mm512_and_si512(c, p->mask);
        const __m512 found = levels == FEW ? _mm512_permutex2var_ps(low, level, high)
                                           : _mm512_i32gather_ps(level, step, 4);

        put(x + i, place(c, level, found, p), p->weight, output);
    }
    return i;
}

void gcb_dither_from_levels_avx512(float *x, const uint16_t *code, size_t n, const float *step,
                                   float scale, unsigned sign_bit)
{
    const struct placer p = placer_of(scale, sign_bit, 1.0f);
    size_t i = sign_bit <= FEW_BITS ? from_codes(x, code, n, step, &p, sign_bit, FEW, STORE)
                                    : from_codes(x, code, n, step, &p, sign_bit, MANY, STORE);

    for (; i < n; i++)
        x[i] = gcb_dither_value(code[i], step, scale, sign_bit);
}

void gcb_dither_add_levels_avx512(float *acc, const uint16_t *code, size_t n, const float *step,
                                  float scale, unsigned sign_bit, float weight)
{
    const struct placer p = placer_of(scale, sign_bit, weight);
    size_t i = sign_bit <= FEW_BITS ? from_codes(acc, code, n, step, &p, sign_bit, FEW, ADD)
                                    : from_codes(acc, code, n, step, &p, sign_bit, MANY, ADD);

    for (; i < n; i++)
        acc[i] += weight * gcb_dither_value(code[i], step, scale, sign_bit);
}

/* Decodes as many of the n trits as fill whole vectors. Returns the number of trits decoded.
 * `output` is a constant in each call. */
static inline size_t place_trits(float *x, const uint16_t *code, size_t n, float scale,
                                 float weight, enum output output)
{
    const __m512i two = _mm512_set1_epi32(2);
    const __m512 plus = _mm512_set1_ps(scale), minus = _mm512_set1_ps(-scale);
    const __m512 w = _mm512_set1_ps(weight);
    size_t i;

    for (i = 0; i + STEP <= n; i += STEP) {
        const __m512i c = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(code + i)));
        const __m512 v = _mm512_maskz_mov_ps(_mm512_cmpeq_epi32_mask(c, two), plus);

        put(x + i, _mm512_mask_mov_ps(v, _mm512_testn_epi32_mask(c, c), minus), w, output);
    }
    return i;
}

void gcb_dither_from_trits_avx512(float *x, const uint16_t *code, size_t n, float scale)
{
    for (size_t i = place_trits(x, code, n, scale, 1.0f, STORE); i < n; i++)
        x[i] = gcb_dither_trit_value(code[i], scale);
}

void gcb_dither_add_trits_avx512(float *acc, const uint16_t *code, size_t n, float scale,
                                 float weight)
{
    for (size_t i = place_trits(acc, code, n, scale, weight, ADD); i < n; i++)
        acc[i] += weight * gcb_dither_trit_value(code[i], scale);
}
