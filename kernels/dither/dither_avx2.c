#include <immintrin.h>

#include "kernels/base/ahead.h"
#include "kernels/dither/dither.h"

#define STEP 16

/* The parameters of struct gcb_dither, in every lane. A level is cut into `parts`: inv and levels
 * (`top`) are multiplied by 256 to draw levels, by 1 to round to the nearest. */
struct rounder {
    __m256 factor, inv, top;
};

static struct rounder rounder_of(const struct gcb_dither *d, float parts)
{
    return (struct rounder){
        .factor = _mm256_set1_ps(d->factor),
        .inv = _mm256_set1_ps(d->inv * parts),
        .top = _mm256_set1_ps((float)d->levels * parts),
    };
}

/* t of eight elements (struct gcb_dither), in the parts that rounder_of was given. If the first
 * operand of the minimum is a NaN, the result is the second operand, as in gcb_lesser. */
static inline __m256 scaled(__m256 x, const struct rounder *r)
{
    const __m256 a = _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x);

    return _mm256_min_ps(_mm256_mul_ps(_mm256_mul_ps(a, r->factor), r->inv), r->top);
}

/* gcb_dither_256ths of eight elements. The rounder was made for 256 parts. */
static inline __m256i in_256ths(__m256 x, const struct rounder *r)
{
    return _mm256_cvttps_epi32(scaled(x, r));
}

/* 255 - byte, for 16 bytes. */
static inline __m128i from_255(const uint8_t *byte)
{
    return _mm_andnot_si128(_mm_loadu_si128((const __m128i *)byte), _mm_set1_epi8(-1));
}

/* A bit for each element that its byte does not decide, because its sum ends in 8 ones. */
static inline unsigned ends_in_255(__m256i sum)
{
    const __m256i ones = _mm256_set1_epi32(255);
    const __m256i equal = _mm256_cmpeq_epi32(_mm256_and_si256(sum, ones), ones);

    return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(equal));
}

/* Orders the quarters of a vector that was packed from two vectors: a pack works within 128-bit
 * lanes. */
static inline __m256i in_order(__m256i packed)
{
    return _mm256_permute4x64_epi64(packed, 0xD8);
}

static inline void store_16(uint16_t *code, __m256i low, __m256i high)
{
    _mm256_storeu_si256((__m256i *)code, in_order(_mm256_packus_epi32(low, high)));
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
    const struct rounder r = rounder_of(d, 256.0f);
    const __m128i at = _mm_cvtsi32_si128((int)sign_bit);
    size_t i;

    for (i = 0; i + STEP <= n; i += STEP) {
        const __m256 x0 = _mm256_loadu_ps(x + i), x1 = _mm256_loadu_ps(x + i + 8);
        const __m128i rest = from_255(byte + i);
        const __m256i rest0 = _mm256_cvtepu8_epi32(rest);
        const __m256i rest1 = _mm256_cvtepu8_epi32(_mm_srli_si128(rest, 8));
        const __m256i sum0 = _mm256_add_epi32(in_256ths(x0, &r), rest0);
        const __m256i sum1 = _mm256_add_epi32(in_256ths(x1, &r), rest1);
        unsigned unsure = ends_in_255(sum0) | ends_in_255(sum1) << 8;

        store_16(code + i, with_sign(_mm256_srli_epi32(sum0, 8), x0, at),
                 with_sign(_mm256_srli_epi32(sum1, 8), x1, at));
        for (; unsure; unsure &= unsure - 1) {
            const size_t j = i + _tzcnt_u32(unsure);

            code[j] = (uint16_t)gcb_dither_signed(x[j], byte[j], index + j, d, sign_bit);
        }
    }
    for (; i < n; i++)
        code[i] = (uint16_t)gcb_dither_signed(x[i], byte[i], index + i, d, sign_bit);
}

/* The nearest levels of eight elements, with their signs. The rounder was made for 1 part. */
static inline __m256i nearest_8(__m256 x, const struct rounder *r, __m128i sign_bit)
{
    const __m256 level =
        _mm256_round_ps(scaled(x, r), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);

    return with_sign(_mm256_cvttps_epi32(level), x, sign_bit);
}

void gcb_dither_nearest_levels_avx2(uint16_t *code, const float *x, size_t n,
                                    const struct gcb_dither *d, unsigned sign_bit)
{
    const struct rounder r = rounder_of(d, 1.0f);
    const __m128i at = _mm_cvtsi32_si128((int)sign_bit);
    size_t i;

    for (i = 0; i + STEP <= n; i += STEP)
        store_16(code + i, nearest_8(_mm256_loadu_ps(x + i), &r, at),
                 nearest_8(_mm256_loadu_ps(x + i + 8), &r, at));
    for (; i < n; i++)
        code[i] = (uint16_t)gcb_dither_nearest(x[i], d, sign_bit);
}

void gcb_dither_trits_avx2(uint16_t *code, const float *x, size_t n, const uint8_t *byte,
                           uint64_t index, const struct gcb_dither *d)
{
    const struct rounder r = rounder_of(d, 256.0f);
    const __m256i one = _mm256_set1_epi16(1);
    size_t i;

    for (i = 0; i + STEP <= n; i += STEP) {
        gcb_prefetch_next_tile(x + i);
        const __m256 x0 = _mm256_loadu_ps(x + i), x1 = _mm256_loadu_ps(x + i + 8);
        const __m256i t = in_order(_mm256_packs_epi32(in_256ths(x0, &r), in_256ths(x1, &r)));
        const __m256i sum = _mm256_add_epi16(t, _mm256_cvtepu8_epi16(from_255(byte + i)));
        /* This pack saturates, so the signs stay. A sign of 0 would clear the level, so the bit of
         * `one` is set in it. */
        const __m256i sign =
            in_order(_mm256_packs_epi32(_mm256_castps_si256(x0), _mm256_castps_si256(x1)));
        const __m256i level =
            _mm256_sign_epi16(_mm256_srli_epi16(sum, 8), _mm256_or_si256(sign, one));
        const __m256i equal = _mm256_cmpeq_epi16(sum, _mm256_set1_epi16(255));
        unsigned unsure = (unsigned)_mm256_movemask_epi8(equal) & 0x55555555;

        _mm256_storeu_si256((__m256i *)(code + i), _mm256_add_epi16(level, one));
        for (; unsure; unsure &= unsure - 1) {
            const size_t j = i + _tzcnt_u32(unsure) / 2;

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

/* Constants that turn a code and its step into a value, in every lane. */
struct placer {
    __m256 scale, weight;
    __m256i mask;
    __m128i up; /* shift that moves a code's sign to the sign of a float */
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

/* The table of steps fits one register if a level has at most this many bits. */
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
