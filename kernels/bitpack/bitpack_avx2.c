#include <immintrin.h>
#include <string.h>

#include "kernels/bitpack/bitpack.h"

/*
 * Eight codes of w bits fill exactly w bytes. So a 128-bit lane handles eight codes, and one step
 * of two lanes handles 16. Each load or store of packed bytes moves 16 bytes, whatever w is. Steps
 * that would access bytes past the end work on a padded copy, which also serves the tail.
 */
#define STEP 16
/* Size of the padded copy. Fewer than 16 + width bytes remain after the safe steps. They hold at
 * most 128 codes (of 1 bit). The steps over them access at most 55 bytes: 17 codes of 13 bits take
 * two steps. */
#define REST_CODES (8 * STEP)
#define REST_BYTES 64

/* Number of steps over n codes whose 16-byte accesses of packed bytes stay within `bytes`. The last
 * access of k steps ends at byte (2 * k - 1) * width + 16. */
static size_t safe_steps(size_t n, size_t bytes, unsigned width)
{
    const size_t steps = n / STEP, room = bytes + width;
    const size_t fitting = room < 16 ? 0 : (room - 16) / (2 * width);

    return fitting < steps ? fitting : steps;
}

/* Joins neighbouring codes, then pairs of codes, then groups of four, so that the codes of a lane
 * become one string of bits. */
static inline void pack_steps(uint8_t *out, const uint16_t *code, size_t steps, unsigned width)
{
    enum { ODD = 0xAA, SWAP_HALVES = 0x4E };
    const __m256i zero = _mm256_setzero_si256();
    const __m128i w = _mm_cvtsi32_si128((int)width), w2 = _mm_cvtsi32_si128((int)(2 * width));
    /* Shifts that join two 64-bit halves of 4 w bits each (w is `width`). A shift by 64 or more
     * gives 0. */
    const __m256i up = _mm256_set_epi64x(64, 4 * width, 64, 4 * width);
    const __m256i down = _mm256_set_epi64x(64 - 4 * width, 0, 64 - 4 * width, 0);

    for (size_t i = 0; i < steps; i++, code += STEP, out += 2 * width) {
        __m256i v = _mm256_loadu_si256((const __m256i *)code), swapped;

        v = _mm256_or_si256(_mm256_blend_epi16(v, zero, ODD),
                            _mm256_sll_epi32(_mm256_srli_epi32(v, 16), w));
        v = _mm256_or_si256(_mm256_blend_epi32(v, zero, ODD),
                            _mm256_sll_epi64(_mm256_srli_epi64(v, 32), w2));
        swapped = _mm256_shuffle_epi32(v, SWAP_HALVES);
        v = _mm256_or_si256(_mm256_srlv_epi64(v, down), _mm256_sllv_epi64(swapped, up));
        _mm_storeu_si128((__m128i *)out, _mm256_castsi256_si128(v));
        _mm_storeu_si128((__m128i *)(out + width), _mm256_extracti128_si256(v, 1));
    }
}

static void pack_any(uint8_t *out, const uint16_t *code, size_t n, unsigned width)
{
    const size_t bytes = (n * width + 7) / 8, steps = safe_steps(n, bytes, width);
    const size_t left = n - steps * STEP, left_bytes = bytes - steps * 2 * width;
    uint16_t rest[REST_CODES];
    uint8_t packed[REST_BYTES];

    pack_steps(out, code, steps, width);
    if (left > 0) {
        const size_t rest_steps = (left + STEP - 1) / STEP;

        memset(rest, 0, rest_steps * sizeof(*rest) * STEP);
        memcpy(rest, code + steps * STEP, left * sizeof(*rest));
        pack_steps(packed, rest, rest_steps, width);
        memcpy(out + steps * 2 * width, packed, left_bytes);
    }
}

/* Returns 32 codes of up to 8 bits, as bytes. The pack instruction works within 128-bit lanes; 0xD8
 * puts the quarters in order. */
static inline __m256i bytes_of_32(const uint16_t *code)
{
    return _mm256_permute4x64_epi64(
        _mm256_packus_epi16(_mm256_loadu_si256((const __m256i *)code),
                            _mm256_loadu_si256((const __m256i *)(code + 16))),
        0xD8);
}

/* Packs 32 codes of two bits: multiplications add up pairs of codes, then pairs of pairs. */
static inline void pack_32_of_2(uint8_t *out, const uint16_t *code)
{
    const __m256i low_bytes = _mm256_set1_epi32(0x0C080400); /* bytes 0, 4, 8 and 12 */
    const __m256i pairs = _mm256_maddubs_epi16(bytes_of_32(code), _mm256_set1_epi16(0x0401));
    const __m256i fours = _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x00100001));
    const __m256i packed = _mm256_shuffle_epi8(fours, low_bytes);

    _mm_storel_epi64((__m128i *)out, _mm_unpacklo_epi32(_mm256_castsi256_si128(packed),
                                                        _mm256_extracti128_si256(packed, 1)));
}

void gcb_bitpack_pack_avx2(uint8_t *out, const uint16_t *code, size_t n, unsigned width)
{
    for (; width == 2 && n >= 32; n -= 32, code += 32, out += 8)
        pack_32_of_2(out, code);
    for (; width == 8 && n >= 32; n -= 32, code += 32, out += 32)
        _mm256_storeu_si256((__m256i *)out, bytes_of_32(code));
    pack_any(out, code, n, width);
}

/* Returns a byte shuffle. In each 128-bit lane of packed bytes, it gives 32-bit element i the three
 * bytes that hold code `first` + i, and a zero byte (index 0x80) above them. */
static __m256i bytes_of_codes(unsigned first, unsigned width)
{
    uint8_t index[16];

    for (unsigned i = 0; i < 16; i++) {
        const unsigned at = (first + i / 4) * width / 8 + i % 4;

        index[i] = (uint8_t)(i % 4 < 3 && at < 16 ? at : 0x80);
    }
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)index));
}

/* Returns the bit at which code `first` + i begins in 32-bit element i, after the shuffle of
 * bytes_of_codes. */
static __m256i shifts_of_codes(unsigned first, unsigned width)
{
    const __m128i at = _mm_set_epi32((int)((first + 3) * width % 8), (int)((first + 2) * width % 8),
                                     (int)((first + 1) * width % 8), (int)(first * width % 8));

    return _mm256_broadcastsi128_si256(at);
}

static inline void unpack_steps(uint16_t *code, const uint8_t *in, size_t steps, unsigned width)
{
    const __m256i low = bytes_of_codes(0, width), high = bytes_of_codes(4, width);
    const __m256i low_shift = shifts_of_codes(0, width), high_shift = shifts_of_codes(4, width);
    const __m256i mask = _mm256_set1_epi32((1 << width) - 1);

    for (size_t i = 0; i < steps; i++, code += STEP, in += 2 * width) {
        const __m256i v =
            _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)in)),
                                    _mm_loadu_si128((const __m128i *)(in + width)), 1);
        const __m256i a = _mm256_srlv_epi32(_mm256_shuffle_epi8(v, low), low_shift);
        const __m256i b = _mm256_srlv_epi32(_mm256_shuffle_epi8(v, high), high_shift);

        _mm256_storeu_si256((__m256i *)code, _mm256_packus_epi32(_mm256_and_si256(a, mask),
                                                                 _mm256_and_si256(b, mask)));
    }
}

void gcb_bitpack_unpack_avx2(uint16_t *code, const uint8_t *in, size_t n, unsigned width)
{
    const size_t bytes = (n * width + 7) / 8, steps = safe_steps(n, bytes, width);
    const size_t left = n - steps * STEP, left_bytes = bytes - steps * 2 * width;
    uint16_t rest[REST_CODES];
    uint8_t packed[REST_BYTES] = {0};

    unpack_steps(code, in, steps, width);
    if (left > 0) {
        memcpy(packed, in + steps * 2 * width, left_bytes);
        unpack_steps(rest, packed, (left + STEP - 1) / STEP, width);
        memcpy(code + steps * STEP, rest, left * sizeof(*rest));
    }
}

/* Multiplies five codes from each of the two addresses by 1, 3, 9, 27, 81. Each 128-bit lane gets
 * four partial sums. */
static inline __m256i weigh(const uint16_t *low, const uint16_t *high)
{
    const __m256i weights = _mm256_set_epi16(0, 0, 0, 81, 27, 9, 3, 1, 0, 0, 0, 81, 27, 9, 3, 1);
    const __m256i v =
        _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)low)),
                                _mm_loadu_si128((const __m128i *)high), 1);

    return _mm256_madd_epi16(v, weights);
}

/* Packs 40 codes into 8 bytes. Also reads the three codes after them, with weight 0. */
static inline void trits_8(uint8_t *out, const uint16_t *code)
{
    const __m256i low_bytes = _mm256_set1_epi32(0x0C080400); /* bytes 0, 4, 8 and 12 */
    const __m256i s01 = _mm256_hadd_epi32(weigh(code, code + 20), weigh(code + 5, code + 25));
    const __m256i s23 = _mm256_hadd_epi32(weigh(code + 10, code + 30), weigh(code + 15, code + 35));
    const __m256i sums = _mm256_shuffle_epi8(_mm256_hadd_epi32(s01, s23), low_bytes);

    _mm_storel_epi64((__m128i *)out, _mm_unpacklo_epi32(_mm256_castsi256_si128(sums),
                                                        _mm256_extracti128_si256(sums, 1)));
}

void gcb_bitpack_trits_avx2(uint8_t *out, const uint16_t *code, size_t n)
{
    uint16_t rest[43]; /* trits_8 reads 43 codes */
    uint8_t packed[8];
    size_t i;

    for (i = 0; i + 43 <= n; i += 40)
        trits_8(out + i / 5, code + i);
    while (i < n) {
        const size_t left = n - i < 40 ? n - i : 40;

        memset(rest, 0, sizeof(rest));
        memcpy(rest, code + i, left * sizeof(*code));
        trits_8(packed, rest);
        memcpy(out + i / 5, packed, (left + 4) / 5);
        i += left;
    }
}

/*
 * Code j of a byte b is floor(b / 3^j) - 3 floor(b / 3^(j+1)). A quotient is the high 16 bits of 2
 * b * ceil(2^15 / 3^j), which is exact for any b below 256. These are the factors for j = 0 to 5.
 */
static const uint16_t reciprocal[6] = {32768, 10923, 3641, 1214, 405, 135};

/* What decodes 80 codes from 16 bytes: a shuffle that gives each code its byte, and for code j of a
 * byte the reciprocals of 3^j and 3^(j+1). Entry k of an array serves codes 16 k to 16 k + 15. */
struct divisors {
    __m256i byte[5], here[5], next[5];
};

static void set_divisors(struct divisors *d)
{
    uint8_t byte[160];
    uint16_t here[80], next[80];

    for (unsigned i = 0; i < 80; i++) {
        byte[2 * i] = (uint8_t)(i / 5);
        byte[2 * i + 1] = 0x80;
        here[i] = reciprocal[i % 5];
        next[i] = reciprocal[i % 5 + 1];
    }
    for (unsigned k = 0; k < 5; k++) {
        d->byte[k] = _mm256_loadu_si256((const __m256i *)(byte + 32 * k));
        d->here[k] = _mm256_loadu_si256((const __m256i *)(here + 16 * k));
        d->next[k] = _mm256_loadu_si256((const __m256i *)(next + 16 * k));
    }
}

static inline void untrits_16(uint16_t *code, const uint8_t *in, const struct divisors *d)
{
    const __m256i bytes = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)in));

    for (unsigned k = 0; k < 5; k++) {
        const __m256i b = _mm256_shuffle_epi8(bytes, d->byte[k]);
        const __m256i b2 = _mm256_add_epi16(b, b);
        const __m256i q = _mm256_mulhi_epu16(b2, d->here[k]);
        const __m256i r = _mm256_mulhi_epu16(b2, d->next[k]);
        const __m256i c = _mm256_sub_epi16(q, _mm256_add_epi16(r, _mm256_add_epi16(r, r)));

        _mm256_storeu_si256((__m256i *)(code + 16 * k), c);
    }
}

void gcb_bitpack_untrits_avx2(uint16_t *code, const uint8_t *in, size_t n)
{
    struct divisors d;
    uint8_t rest_in[16] = {0};
    uint16_t rest[80];
    size_t i;

    set_divisors(&d);
    for (i = 0; i + 80 <= n; i += 80)
        untrits_16(code + i, in + i / 5, &d);
    if (i < n) {
        memcpy(rest_in, in + i / 5, (n - i + 4) / 5);
        untrits_16(rest, rest_in, &d);
        memcpy(code + i, rest, (n - i) * sizeof(*code));
    }
}
