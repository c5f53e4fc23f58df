#include <immintrin.h>

#include "kernels/dither/dither.h"

#define STEP 16

/* The parameters of struct gcb_dither, in every lane; `top` is levels. */
struct rounder {
    __m256 factor, inv, top;
};

static struct rounder rounder_of(const struct gcb_dither *d)
{
    return (struct rounder){
        .factor = _mm256_set1_ps(d->factor),
        .inv = _mm256_set1_ps(d->inv),
        .top = _mm256_set1_ps((float)d->levels),
    };
}

/*
 * The levels of eight elements, decided by the byte only. *unsure gets a bit for each element that
 * the byte does not decide. Only the top byte of the probability is computed, because AVX2 cannot
 * convert all 32 bits to an unsigned integer.
 */
static inline __m256i levels_8(__m256 x, const uint8_t *byte, const struct rounder *r,
                               unsigned *unsure)
{
    const __m256i drawn = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)byte));
    const __m256 a = _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x);
    /* If the first operand is a NaN, the result is the second operand, as in gcb_lesser. */
    const __m256 t = _mm256_min_ps(_mm256_mul_ps(_mm256_mul_ps(a, r->factor), r->inv), r->top);
    const __m256i level = _mm256_cvttps_epi32(t);
    const __m256 rest = _mm256_sub_ps(t, _mm256_cvtepi32_ps(level));
    const __m256i p = _mm256_cvttps_epi32(_mm256_mul_ps(rest, _mm256_set1_ps(256.0f)));

    *unsure = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(p, drawn)));
    return _mm256_sub_epi32(level, _mm256_cmpgt_epi32(p, drawn));
}

/* Stores 16 codes of 16 bits. packus works within 128-bit lanes; 0xD8 puts the quarters in
 * order. */
static inline void store_16(uint16_t *code, __m256i low, __m256i high)
{
    _mm256_storeu_si256((__m256i *)code,
                        _mm256_permute4x64_epi64(_mm256_packus_epi32(low, high), 0xD8));
}

/* As gcb_dither_with_sign. */
static inline __m256i with_sign(__m256i level, __m256 x, __m128i sign_bit)
{
    const __m256i sign = _mm256_sll_epi32(_mm256_srli_epi32(_mm256_castps_si256(x), 31), sign_bit);
    const __m256i none = _mm256_cmpeq_epi32(level, _mm256_setzero_si256());

    return _mm256_or_si256(level, _mm256_andnot_si256(none, sign));
}

void gcb_dither_signed_levels_avx2(uint16_t *code, const float *x, size_t n, const uint8_t *byte,
                                   uint64_t index, const struct gcb_dither *d, unsigned sign_bit)
{
    const struct rounder r = rounder_of(d);
    const __m128i at = _mm_cvtsi32_si128((int)sign_bit);
    size_t i;

    for (i = 0; i + STEP <= n; i += STEP) {
        const __m256 x0 = _mm256_loadu_ps(x + i), x1 = _mm256_loadu_ps(x + i + 8);
        unsigned unsure0, unsure1, unsure;
        const __m256i level0 = levels_8(x0, byte + i, &r, &unsure0);
        const __m256i level1 = levels_8(x1, byte + i + 8, &r, &unsure1);

        store_16(code + i, with_sign(level0, x0, at), with_sign(level1, x1, at));
        for (unsure = unsure0 | unsure1 << 8; unsure; unsure &= unsure - 1) {
            const size_t j = i + _tzcnt_u32(unsure);

            code[j] = (uint16_t)gcb_dither_signed(x[j], byte[j], index + j, d, sign_bit);
        }
    }
    for (; i < n; i++)
        code[i] = (uint16_t)gcb_dither_signed(x[i], byte[i], index + i, d, sign_bit);
}

/* The nearest levels of eight elements, with their signs. */
static inline __m256i nearest_8(__m256 x, const struct rounder *r, __m128i sign_bit)
{
    const __m256 a = _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x);
    const __m256 t = _mm256_min_ps(_mm256_mul_ps(_mm256_mul_ps(a, r->factor), r->inv), r->top);
    const __m256 level = _mm256_round_ps(t, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);

    return with_sign(_mm256_cvttps_epi32(level), x, sign_bit);
}

void gcb_dither_nearest_levels_avx2(uint16_t *code, const float *x, size_t n,
                                    const struct gcb_dither *d, unsigned sign_bit)
{
    const struct rounder r = rounder_of(d);
    const __m128i at = _mm_cvtsi32_si128((int)sign_bit);
    size_t i;

    for (i = 0; i + STEP <= n; i += STEP)
        store_16(code + i, nearest_8(_mm256_loadu_ps(x + i), &r, at),
                 nearest_8(_mm256_loadu_ps(x + i + 8), &r, at));
    for (; i < n; i++)
        code[i] = (uint16_t)gcb_dither_nearest(x[i], d, sign_bit);
}

/* 1 + level, or 1 - level if x is negative. */
static inline __m256i trits_of(__m256i level, __m256 x)
{
    const __m256i minus = _mm256_srai_epi32(_mm256_castps_si256(x), 31);

    return _mm256_sub_epi32(_mm256_xor_si256(level, minus),
                            _mm256_sub_epi32(minus, _mm256_set1_epi32(1)));
}

void gcb_dither_trits_avx2(uint16_t *code, const float *x, size_t n, const uint8_t *byte,
                           uint64_t index, const struct gcb_dither *d)
{
    const struct rounder r = rounder_of(d);
    size_t i;

    for (i = 0; i + STEP <= n; i += STEP) {
        const __m256 x0 = _mm256_loadu_ps(x + i), x1 = _mm256_loadu_ps(x + i + 8);
        unsigned unsure0, unsure1, unsure;
        const __m256i level0 = levels_8(x0, byte + i, &r, &unsure0);
        const __m256i level1 = levels_8(x1, byte + i + 8, &r, &unsure1);

        store_16(code + i, trits_of(level0, x0), trits_of(level1, x1));
        for (unsure = unsure0 | unsure1 << 8; unsure; unsure &= unsure - 1) {
            const size_t j = i + _tzcnt_u32(unsure);

            code[j] = (uint16_t)gcb_dither_trit(x[j], byte[j], index + j, d);
        }
    }
    for (; i < n; i++)
        code[i] = (uint16_t)gcb_dither_trit(x[i], byte[i], index + i, d);
}

enum output { STORE, ADD };

/* Stores decoded values, or adds them after multiplying by the weight. */
static inline void put(float *x, __m256 v, __m256 weight, enum output output)
{
    if (output == ADD)
        v = _mm256_add_ps(_mm256_loadu_ps(x), _mm256_mul_ps(weight, v));
    _mm256_storeu_ps(x, v);
}

/* What turns a code and its step into a value. */
struct placer {
    __m256 scale, weight;
    __m256i mask;
    __m128i up; /* bits from a code's sign to the sign of a float */
};

static struct placer placer_of(float scale, unsigned sign_bit, float weight)
{
    return (struct placer){
        .scale = _mm256_set1_ps(scale),
        .weight = _mm256_set1_ps(weight),
        .mask = _mm256_set1_epi32((1 << sign_bit) - 1),
        .up = _mm_cvtsi32_si128((int)(31 - sign_bit)),
    };
}

/* The values that eight codes c decode to. The caller has looked up their steps. */
static inline __m256 place(__m256i c, __m256i level, __m256 step, const struct placer *p)
{
    const __m256i moved = _mm256_sll_epi32(c, p->up);
    const __m256 minus = _mm256_and_ps(_mm256_castsi256_ps(moved), _mm256_set1_ps(-0.0f));
    const __m256i none = _mm256_cmpeq_epi32(level, _mm256_setzero_si256());
    const __m256 v = _mm256_xor_ps(_mm256_mul_ps(p->scale, step), minus);

    return _mm256_andnot_ps(_mm256_castsi256_ps(none), v);
}

/* Up to this many bits of level, the table of steps fits one register. */
#define FEW_BITS 3
enum levels { FEW, MANY };

/* Decodes as many of the n codes as fill whole vectors. Returns the number of codes decoded.
 * `levels` and `output` are constants in each call. */
static inline size_t from_codes(float *x, const uint16_t *code, size_t n, const float *step,
                                const struct placer *p, unsigned sign_bit, enum levels levels,
                                enum output output)
{
    float entry[8] = {0};
    __m256 steps;
    size_t i;

    for (size_t k = 0; levels == FEW && k < (size_t)1 << sign_bit; k++)
        entry[k] = step[k];
    steps = _mm256_loadu_ps(entry);
    for (i = 0; i + 8 <= n; i += 8) {
        const __m256i c = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(code + i)));
        const __m256i level = _mm256_and_si256(c, p->mask);
        const __m256 found = levels == FEW ? _mm256_permutevar8x32_ps(steps, level)
                                           : _mm256_i32gather_ps(step, level, 4);

        put(x + i, place(c, level, found, p), p->weight, output);
    }
    return i;
}

void gcb_dither_from_levels_avx2(float *x, const uint16_t *code, size_t n, const float *step,
                                 float scale, unsigned sign_bit)
{
    const struct placer p = placer_of(scale, sign_bit, 1.0f);
    size_t i = sign_bit <= FEW_BITS ? from_codes(x, code, n, step, &p, sign_bit, FEW, STORE)
                                    : from_codes(x, code, n, step, &p, sign_bit, MANY, STORE);

    for (; i < n; i++)
        x[i] = gcb_dither_value(code[i], step, scale, sign_bit);
}

void gcb_dither_add_levels_avx2(float *acc, const uint16_t *code, size_t n, const float *step,
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
    const __m256i two = _mm256_set1_epi32(2);
    const __m256 plus = _mm256_set1_ps(scale), minus = _mm256_set1_ps(-scale);
    const __m256 w = _mm256_set1_ps(weight);
    size_t i;

    for (i = 0; i + 8 <= n; i += 8) {
        const __m256i c = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(code + i)));
        const __m256i is0 = _mm256_cmpeq_epi32(c, _mm256_setzero_si256());
        const __m256i is2 = _mm256_cmpeq_epi32(c, two);

        put(x + i,
            _mm256_or_ps(_mm256_and_ps(_mm256_castsi256_ps(is0), minus),
                         _mm256_and_ps(_mm256_castsi256_ps(is2), plus)),
            w, output);
    }
    return i;
}

void gcb_dither_from_trits_avx2(float *x, const uint16_t *code, size_t n, float scale)
{
    for (size_t i = place_trits(x, code, n, scale, 1.0f, STORE); i < n; i++)
        x[i] = gcb_dither_trit_value(code[i], scale);
}

void gcb_dither_add_trits_avx2(float *acc, const uint16_t *code, size_t n, float scale,
                               float weight)
{
    for (size_t i = place_trits(acc, code, n, scale, weight, ADD); i < n; i++)
        acc[i] += weight * gcb_dither_trit_value(code[i], scale);
}
