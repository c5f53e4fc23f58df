#ifndef TESTS_SUPPORT_POSITIONS_H
#define TESTS_SUPPORT_POSITIONS_H

/*
 * Helpers for tests of index coders: sets of kept positions of many shapes, and round trips over
 * them. A failure fails the running cmocka test.
 */
#include "src/lib/sparse/index.h"

struct positions {
    uint32_t *pos; /* ascending, below n */
    uint64_t kept, n;
    uint64_t room; /* capacity of pos */
};

/* Each function replaces the positions of `p`. Start with a zeroed struct. */
void positions_random(struct positions *p, uint64_t n, double density, uint64_t seed);
/* Random clusters: `run` kept positions of `run * spread` on average. */
void positions_clustered(struct positions *p, uint64_t n, unsigned run, unsigned spread,
                         uint64_t seed);
/* first, first + step, ... */
void positions_every(struct positions *p, uint64_t n, uint64_t first, uint64_t step);
/* Gaps that double, 1, 2, 4, ..., and halve again, repeated until n. */
void positions_doubling(struct positions *p, uint64_t n);
/* `kept` positions drawn at random; fewer if two are the same. */
void positions_few(struct positions *p, uint64_t n, uint64_t kept, uint64_t seed);
/* The k largest of |x|; ties go to the lower index. */
void positions_largest(struct positions *p, const float *x, uint64_t n, uint64_t k);
/* SBC's selection: the k largest of x or of -x, whichever have the larger mean. */
void positions_one_sided(struct positions *p, const float *x, uint64_t n, uint64_t k);
void positions_fini(struct positions *p);

/* Encodes into memory of exactly the bound's size. Returns the bytes, *length of them, which the
 * caller frees. */
uint8_t *index_encode(const struct gcb_index *x, const struct positions *p, size_t *length);

/* Decodes all of `data`. Returns 0, or GCB_E_CORRUPT, also if bytes are left. Checks that each
 * position is below n and above the one before. */
int index_decode(const struct gcb_index *x, const uint8_t *data, size_t length, uint64_t kept,
                 uint64_t n, uint32_t *pos);

/* Round trip. Returns the number of bytes, with the length field and the directory. */
size_t index_trip(const struct gcb_index *x, const struct positions *p);

/* Round trips over all shapes: none, one, all, random at many densities, clusters, hostile gaps,
 * 2^31. */
void index_trip_all(const struct gcb_index *x);

/* Truncation at each byte fails. Changed bytes never crash and never give positions out of
 * order. */
void index_hostile(const struct gcb_index *x);

/* Bits per position of the blocks, without the length field and the directory. */
double index_bits(const struct gcb_index *x, const struct positions *p);

#endif
