#include <immintrin.h>
#include <string.h>

#include "kernels/philox/philox.h"
#include "kernels/philox/philox_elem.h"

/* Like the AVX2 variant (philox_avx2.c), with eight blocks at a time, and with one instruction for
 * two xors (0x96 is the truth table of a ^ b ^ c). */

/* The keys of all rounds, in every lane. */
struct keys {
    __m512i k0[GCB_PHILOX_ROUNDS], k1[GCB_PHILOX_ROUNDS];
};

/* The counters of the next blocks. */
struct counter {
    __m512i block; /* 64 bits per lane */
    __m512i c2, c3;
};

static struct keys round_keys(uint64_t key)
{
    const struct gcb_philox_keys from = gcb_philox_keys_of(key);
    struct keys k;

    for (int round = 0; round < GCB_PHILOX_ROUNDS; round++) {
        k.k0[round] = _mm512_set1_epi64(from.low[round]);
        k.k1[round] = _mm512_set1_epi64(from.high[round]);
    }
    return k;
}

/* Lanes hold blocks 0 4 1 5 2 6 3 7, so that the two unpacks at the end give the blocks in
 * order. */
static struct counter counter_at(uint64_t block, uint64_t stream)
{
    const __m512i lane = _mm512_set_epi64(7, 3, 6, 2, 5, 1, 4, 0);

    return (struct counter){
        .block = _mm512_add_epi64(_mm512_set1_epi64((long long)block), lane),
        .c2 = _mm512_set1_epi64((long long)stream),
        .c3 = _mm512_set1_epi64((long long)(stream >> 32)),
    };
}

/* Writes the 128 bytes of eight blocks. */
static inline void eight_blocks(uint8_t *out, const struct counter *at, const struct keys *k)
{
    const __m512i m0 = _mm512_set1_epi64(GCB_PHILOX_M0), m1 = _mm512_set1_epi64(GCB_PHILOX_M1);
    __m512i c0 = at->block, c1 = _mm512_srli_epi64(at->block, 32), c2 = at->c2, c3 = at->c3;
    __m512i low, high;

    for (int round = 0; round < GCB_PHILOX_ROUNDS; round++) {
        const __m512i p0 = _mm512_mul_epu32(m0, c0), p1 = _mm512_mul_epu32(m1, c2);

        c0 = _mm512_ternarylogic_epi64(_mm512_srli_epi64(p1, 32), c1, k->k0[round], 0x96);
        c2 = _mm512_ternarylogic_epi64(_mm512_srli_epi64(p0, 32), c3, k->k1[round], 0x96);
        c1 = p1;
        c3 = p0;
    }
    low = _mm512_mask_mov_epi32(c0, 0xAAAA, _mm512_slli_epi64(c1, 32));
    high = _mm512_mask_mov_epi32(c2, 0xAAAA, _mm512_slli_epi64(c3, 32));
    _mm512_storeu_si512(out, _mm512_unpacklo_epi64(low, high));
    _mm512_storeu_si512(out + 64, _mm512_unpackhi_epi64(low, high));
}

void gcb_philox_bytes_avx512(uint8_t *out, size_t n, uint64_t key, uint64_t first, uint64_t stream)
{
    const __m512i eight = _mm512_set1_epi64(8);
    const struct keys k = round_keys(key);
    struct counter at = counter_at(first / 16, stream);
    uint8_t rest[128];
    size_t j;

    for (j = 0; j + 128 <= n; j += 128) {
        eight_blocks(out + j, &at, &k);
        at.block = _mm512_add_epi64(at.block, eight);
    }
    if (j < n) {
        eight_blocks(rest, &at, &k);
        memcpy(out + j, rest, n - j);
    }
}
