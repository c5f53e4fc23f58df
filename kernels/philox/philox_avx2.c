#include <immintrin.h>
#include <string.h>

#include "kernels/philox/philox.h"
#include "kernels/philox/philox_elem.h"

/*
 * Computes four blocks at a time, one in each 64-bit lane. Every word is in the low half of its
 * lane; the high half holds the rest of the last product. The multiplication reads low halves only,
 * so nothing has to be masked until the words are combined.
 */

/* The keys of all rounds, in every lane. */
struct keys {
    __m256i k0[GCB_PHILOX_ROUNDS], k1[GCB_PHILOX_ROUNDS];
};

/* The counters of the next blocks. */
struct counter {
    __m256i block; /* 64 bits per lane */
    __m256i c2, c3;
};

static struct keys round_keys(uint64_t key)
{
    const struct gcb_philox_keys from = gcb_philox_keys_of(key);
    struct keys k;

    for (int round = 0; round < GCB_PHILOX_ROUNDS; round++) {
        k.k0[round] = _mm256_set1_epi64x(from.low[round]);
        k.k1[round] = _mm256_set1_epi64x(from.high[round]);
    }
    return k;
}

/* Lanes hold blocks 0 2 1 3, so that the two unpacks at the end give the blocks in order. */
static struct counter counter_at(uint64_t block, uint64_t stream)
{
    return (struct counter){
        .block =
            _mm256_add_epi64(_mm256_set1_epi64x((long long)block), _mm256_set_epi64x(3, 1, 2, 0)),
        .c2 = _mm256_set1_epi64x((long long)stream),
        .c3 = _mm256_set1_epi64x((long long)(stream >> 32)),
    };
}

/* Writes the 64 bytes of four blocks. */
static inline void four_blocks(uint8_t *out, const struct counter *at, const struct keys *k)
{
    const __m256i m0 = _mm256_set1_epi64x(GCB_PHILOX_M0), m1 = _mm256_set1_epi64x(GCB_PHILOX_M1);
    __m256i c0 = at->block, c1 = _mm256_srli_epi64(at->block, 32), c2 = at->c2, c3 = at->c3;
    __m256i low, high;

    for (int round = 0; round < GCB_PHILOX_ROUNDS; round++) {
        const __m256i p0 = _mm256_mul_epu32(m0, c0), p1 = _mm256_mul_epu32(m1, c2);

        c0 = _mm256_xor_si256(_mm256_srli_epi64(p1, 32), _mm256_xor_si256(c1, k->k0[round]));
        c2 = _mm256_xor_si256(_mm256_srli_epi64(p0, 32), _mm256_xor_si256(c3, k->k1[round]));
        c1 = p1;
        c3 = p0;
    }
    low = _mm256_blend_epi32(c0, _mm256_slli_epi64(c1, 32), 0xAA);
    high = _mm256_blend_epi32(c2, _mm256_slli_epi64(c3, 32), 0xAA);
    _mm256_storeu_si256((__m256i *)out, _mm256_unpacklo_epi64(low, high));
    _mm256_storeu_si256((__m256i *)(out + 32), _mm256_unpackhi_epi64(low, high));
}

void gcb_philox_bytes_avx2(uint8_t *out, size_t n, uint64_t key, uint64_t first, uint64_t stream)
{
    const __m256i four = _mm256_set1_epi64x(4);
    const struct keys k = round_keys(key);
    struct counter at = counter_at(first / 16, stream);
    uint8_t rest[64];
    size_t j;

    for (j = 0; j + 64 <= n; j += 64) {
        four_blocks(out + j, &at, &k);
        at.block = _mm256_add_epi64(at.block, four);
    }
    if (j < n) {
        four_blocks(rest, &at, &k);
        memcpy(out + j, rest, n - j);
    }
}
