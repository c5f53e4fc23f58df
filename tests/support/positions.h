#ifndef TESTS_SUPPORT_POSITIONS_H
#define TESTS_SUPPORT_POSITIONS_H

/*
 * What the tests of index coders share: sets of kept positions of many shapes, and a coder's round trip over
 * them. Everything that can fail fails the running cmocka test.
 */
#include "src/lib/sparse/index.h"

struct positions {
    uint32_t *pos; /* ascending, below n */
    uint64_t kept, n;
    uint64_t room; /* of pos */
};

/* Each replaces what `p` held; start from a zeroed one. */
void positions_random(struct positions *p, uint64_t n, double density, uint64_t seed);
/* Clusters of `run` kept of every `run * spread` on average, at random. */
void positions_clustered(struct positions *p, uint64_t n, unsigned run, unsigned spread,
                         uint64_t seed);
/* first, first + step, ... */
void positions_every(struct positions *p, uint64_t n, uint64_t first, uint64_t step);
/* Gaps that double: 1, 2, 4, ... and back, over and over until n. */
void positions_doubling(struct positions *p, uint64_t n);
/* Exactly `kept` positions drawn at random (fewer where two fall together). */
void positions_few(struct positions *p, uint64_t n, uint64_t kept, uint64_t seed);
/* The k largest of |x|; ties go to the lower index. */
void positions_largest(struct positions *p, const float *x, uint64_t n, uint64_t k);
/* SBC's choice: the k largest of x or of -x, whichever have the larger mean. */
void positions_one_sided(struct positions *p, const float *x, uint64_t n, uint64_t k);
void positions_fini(struct positions *p);

/* Encodes into memory of exactly the bound's size and returns the bytes, *length of them; the caller frees. */
uint8_t *index_encode(const struct gcb_index *x, const struct positions *p, size_t *length);

/* Decodes all of data; 0, or GCB_E_CORRUPT, also if bytes are left over. Every position that comes out is
 * checked against n and the one before. */
int index_decode(const struct gcb_index *x, const uint8_t *data, size_t length, uint64_t kept,
                 uint64_t n, uint32_t *pos);

/* Round trip; returns the bytes, directory and length in front included. */
size_t index_trip(const struct gcb_index *x, const struct positions *p);

/* The above over all shapes: none, one, all, random at many densities, clusters, hostile gaps, 2^31. */
void index_trip_all(const struct gcb_index *x);

/* Truncation at every byte fails; changed bytes never crash and never give a wrong order. */
void index_hostile(const struct gcb_index *x);

/* Bits a position of the blocks alone: without the length in front and the directory. */
double index_bits(const struct gcb_index *x, const struct positions *p);

#endif
