#ifndef TESTS_SUPPORT_PARTY_H
#define TESTS_SUPPORT_PARTY_H

/* Exchanges of several workers in one process. Everything that can fail fails the running cmocka
 * test. */
#include "src/lib/exchange/local.h"

#define PARTY_MOST 9
#define PARTY_ROUNDS 16

/* Zero-initialise: 2 workers, equal weights, seed 1, one thread, the shape unknown. */
struct party_options {
    unsigned workers;
    const float *weights;
    uint64_t seed;
    int threads;
    const uint64_t *shape;
    unsigned rank;
    enum gcb_nonfinite nonfinite;
    bool in_place; /* the update replaces the worker's tensor, if the collective allows it */
};

struct party {
    struct gcb_exchange *e[PARTY_MOST];
    float *x[PARTY_MOST];      /* the workers' tensors, which the test fills */
    float *update[PARTY_MOST]; /* what each worker got in the last step */
    float *own[PARTY_MOST];    /* what arrived of each worker's tensor */
    unsigned workers;
    uint64_t n;
    bool in_place;
    struct gcb_local local;
    /* of the last step */
    unsigned rounds;
    struct gcb_round round[PARTY_ROUNDS]; /* of worker 0, without data */
    uint64_t link_bytes[PARTY_ROUNDS];    /* of all workers */
};

void party_open(struct party *p, const char *spec, uint64_t n, const struct party_options *o);
/* The tensor of each worker: independent draws, plus `common` times draws that all share. */
void party_fill(struct party *p, uint64_t seed, float common);
/* Runs a step. All workers must get the same update, bit for bit. */
void party_step(struct party *p, uint64_t step);
void party_close(struct party *p);

/* The weighted sum of n elements of each worker's array, in double, rounded; the caller frees it.
 * Weights NULL: each is 1 / workers. */
float *party_sum(float *const *x, unsigned workers, uint64_t n, const float *weights);

/* ||a - b|| / ||b||; 0 if both are 0. */
double party_distance(const float *a, const float *b, uint64_t n);

#endif
