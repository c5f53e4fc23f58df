#ifndef KERNELS_STRATA_STRATA_ELEM_H
#define KERNELS_STRATA_STRATA_ELEM_H

#include "kernels/philox/philox_elem.h"

/*
 * k <= n random places of n elements. The tensor is seen as a ring that begins at a random element.
 * The ring is cut into k strata whose lengths differ by at most 1, and one element of each stratum
 * is drawn. Each draw takes 8 random bytes: stream 0 of the key has a draw for each stratum, and
 * stream 1 has the draw of the ring's beginning.
 */
struct gcb_strata {
    uint64_t n, k;
    /* The first `longer` strata have `length` + 1 elements, the others `length`. */
    uint64_t length, longer;
    uint64_t key, offset; /* offset: the element at which stratum 0 begins */
};

/* Maps 64 random bits to a number below n, floor(draw * n / 2^64); to 0 if n is 0. */
GCB_HD uint64_t gcb_strata_uniform(uint64_t draw, uint64_t n)
{
#ifdef __CUDA_ARCH__
    return __umul64hi(draw, n);
#else
    __extension__ typedef unsigned __int128 wide;

    return (uint64_t)((wide)draw * n >> 64);
#endif
}

/* Cuts n elements into k strata. The caller sets the key (gcb_strata_set_key). */
GCB_HD struct gcb_strata gcb_strata_of(uint64_t n, uint64_t k)
{
    const struct gcb_strata s = {n, k, k ? n / k : 0, k ? n % k : 0, 0, 0};

    return s;
}

/* Sets the key, and draws the ring's beginning. */
GCB_HD void gcb_strata_set_key(struct gcb_strata *s, uint64_t key)
{
    const struct gcb_philox_block b = gcb_philox(key, 0, 1);

    s->key = key;
    s->offset = gcb_strata_uniform((uint64_t)b.word[1] << 32 | b.word[0], s->n);
}

/* The element of stratum j that `draw` chooses. */
GCB_HD uint64_t gcb_strata_place(const struct gcb_strata *s, uint64_t j, uint64_t draw)
{
    const uint64_t longer = j < s->longer ? j : s->longer;
    const uint64_t begin = s->offset + j * s->length + longer;
    const uint64_t at = begin + gcb_strata_uniform(draw, s->length + (j < s->longer));

    return at < s->n ? at : at - s->n;
}

#endif
