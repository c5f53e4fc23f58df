#ifndef KERNELS_PHILOX_PHILOX_ELEM_H
#define KERNELS_PHILOX_PHILOX_ELEM_H

#include "kernels/base/hd.h"

/*
 * Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3",
 * SC'11): a counter of four words and a key of two words give four random words. There is no state.
 *
 * Here the key is a number of 64 bits (low word first), such as the seed, and the counter is
 *   { block low, block high, stream low, stream high },
 * where `stream` says what the draw is for (see kernels/philox/philox.h).
 */
struct gcb_philox_block {
    uint32_t word[4];
};

#define GCB_PHILOX_ROUNDS 10

/* The multipliers of a round, and what each round adds to the two words of the key. */
#define GCB_PHILOX_M0 0xD2511F53u
#define GCB_PHILOX_M1 0xCD9E8D57u
#define GCB_PHILOX_W0 0x9E3779B9u
#define GCB_PHILOX_W1 0xBB67AE85u

/* The keys of all rounds. */
struct gcb_philox_keys {
    uint32_t low[GCB_PHILOX_ROUNDS], high[GCB_PHILOX_ROUNDS];
};

GCB_HD void gcb_philox_round(struct gcb_philox_block *c, uint32_t low, uint32_t high)
{
    const uint64_t p0 = (uint64_t)GCB_PHILOX_M0 * c->word[0];
    const uint64_t p1 = (uint64_t)GCB_PHILOX_M1 * c->word[2];

    c->word[0] = (uint32_t)(p1 >> 32) ^ c->word[1] ^ low;
    c->word[1] = (uint32_t)p1;
    c->word[2] = (uint32_t)(p0 >> 32) ^ c->word[3] ^ high;
    c->word[3] = (uint32_t)p0;
}

GCB_HD struct gcb_philox_block gcb_philox_counter(uint64_t block, uint64_t stream)
{
    const struct gcb_philox_block c = {
        {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)stream, (uint32_t)(stream >> 32)}};

    return c;
}

/* The random words of a block of a stream. */
GCB_HD struct gcb_philox_block gcb_philox(uint64_t key, uint64_t block, uint64_t stream)
{
    struct gcb_philox_block c = gcb_philox_counter(block, stream);
    uint32_t low = (uint32_t)key, high = (uint32_t)(key >> 32);

    for (int round = 0; round < GCB_PHILOX_ROUNDS; round++) {
        gcb_philox_round(&c, low, high);
        low += GCB_PHILOX_W0;
        high += GCB_PHILOX_W1;
    }
    return c;
}

/* The keys of all rounds, of which `key` is the first. */
GCB_HD struct gcb_philox_keys gcb_philox_keys_of(uint64_t key)
{
    struct gcb_philox_keys k;

    for (uint32_t round = 0; round < GCB_PHILOX_ROUNDS; round++) {
        k.low[round] = (uint32_t)key + round * GCB_PHILOX_W0;
        k.high[round] = (uint32_t)(key >> 32) + round * GCB_PHILOX_W1;
    }
    return k;
}

/* As gcb_philox, from keys that gcb_philox_keys_of has made. */
GCB_HD struct gcb_philox_block gcb_philox_by(const struct gcb_philox_keys *k, uint64_t block,
                                             uint64_t stream)
{
    struct gcb_philox_block c = gcb_philox_counter(block, stream);

    for (int round = 0; round < GCB_PHILOX_ROUNDS; round++)
        gcb_philox_round(&c, k->low[round], k->high[round]);
    return c;
}

/* The byte that element i of a stream draws: 16 elements share a block, low bytes first. */
GCB_HD uint32_t gcb_philox_byte(uint64_t key, uint64_t i, uint64_t stream)
{
    const struct gcb_philox_block b = gcb_philox(key, i / 16, stream);

    return b.word[(i % 16) / 4] >> (8 * (i % 4)) & 0xffu;
}

/* The 24 bits that element i of a stream draws: 4 elements share a block, and each uses the top
 * bits of one word. */
GCB_HD uint32_t gcb_philox_24(uint64_t key, uint64_t i, uint64_t stream)
{
    return gcb_philox(key, i / 4, stream).word[i % 4] >> 8;
}

/* As gcb_philox_24, from keys that gcb_philox_keys_of has made. */
GCB_HD uint32_t gcb_philox_24_by(const struct gcb_philox_keys *k, uint64_t i, uint64_t stream)
{
    const struct gcb_philox_block b = gcb_philox_by(k, i / 4, stream);
    const uint32_t even = i & 2 ? b.word[2] : b.word[0], odd = i & 2 ? b.word[3] : b.word[1];

    return (i & 1 ? odd : even) >> 8; /* conditions, because registers have no index */
}

#endif
