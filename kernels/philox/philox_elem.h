#ifndef KERNELS_PHILOX_PHILOX_ELEM_H
#define KERNELS_PHILOX_PHILOX_ELEM_H

#include "kernels/hd.h"

/*
 * Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC'11):
 * a counter of four words and a key of two give four random words; no state is carried.
 *
 * Here the key is the seed (low word first) and the counter is
 *   { block low, block high, stream low, stream high },
 * where `stream` names what the draw is for (see kernels/philox/philox.h).
 */
struct gcb_philox_block {
    uint32_t word[4];
};

GCB_HD struct gcb_philox_block gcb_philox(uint64_t key, uint64_t block, uint64_t stream)
{
    uint32_t c0 = (uint32_t)block, c1 = (uint32_t)(block >> 32);
    uint32_t c2 = (uint32_t)stream, c3 = (uint32_t)(stream >> 32);
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    struct gcb_philox_block out;

    for (int round = 0; round < 10; round++) {
        const uint64_t p0 = (uint64_t)0xD2511F53u * c0;
        const uint64_t p1 = (uint64_t)0xCD9E8D57u * c2;

        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out.word[0] = c0;
    out.word[1] = c1;
    out.word[2] = c2;
    out.word[3] = c3;
    return out;
}

/* The byte that element `i` of a stream draws: 16 elements share a block, low bytes first. */
GCB_HD uint32_t gcb_philox_byte(uint64_t key, uint64_t i, uint64_t stream)
{
    const struct gcb_philox_block b = gcb_philox(key, i / 16, stream);

    return b.word[(i % 16) / 4] >> (8 * (i % 4)) & 0xffu;
}

/* The 24 bits that element `i` of a stream draws: 4 elements share a block, the top bits are used. */
GCB_HD uint32_t gcb_philox_24(uint64_t key, uint64_t i, uint64_t stream)
{
    return gcb_philox(key, i / 4, stream).word[i % 4] >> 8;
}

#endif
