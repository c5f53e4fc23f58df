#ifndef KERNELS_SELECT_SELECT_CUDA_H
#define KERNELS_SELECT_SELECT_CUDA_H

#include <stddef.h>

#include "kernels/cuda/stream.h"

/*
 * Choosing positions on the device: what src/lib/sparse/select_*.c choose, position for position. The steps are
 *
 *   sample    one block, 2^15 elements: a magnitude that a few more than k are expected to reach
 *   collect   the one read of the tensor: each tile of 4096 positions puts those that reach it into slots of its
 *             own, in index order, and counts their leading digits
 *   judge     were there too few, collect runs again, from the lowest magnitude; else it returns at once
 *   digits    the exact k-th largest of what was collected, by radix
 *   compact   tiles count what they keep, the counts are summed, and each tile writes where its share begins
 *
 * No result depends on the sample, on the order of blocks or on that of atomics. 0 or GCB_E_DEVICE.
 */
#ifdef __cplusplus
extern "C" {
#endif

/* In device memory: how a choice came out. */
struct gcb_cuda_choice {
    uint64_t kept;
    uint64_t pad;
};

/* Chosen positions; the pointers are device memory and stand in a scratch. */
struct gcb_cuda_chosen {
    struct gcb_cuda_choice *choice;
    uint32_t *pos; /* ascending */
    float *value;  /* of what was ordered, at these positions */
    uint32_t
        *first; /* for each tile of 4096 positions the number of its first entry; one more behind */
    /* of all positions, where feedback is fused: where values go out it becomes, of what is kept, what the decoder
     * will not get. NULL: none */
    float *residual;
    uint64_t n;    /* positions to choose from, at most 2^31 */
    uint64_t most; /* entries there is room for */
};

/* Bytes that a choice of at most `most` of n positions needs. */
uint64_t gcb_cuda_select_scratch(uint64_t n, uint64_t most);

/*
 * Each lays out *chosen, whose n and most are given (most: no less than what can be chosen), in the scratch, and
 * queues the choice from in->n = n floats, all finite. The first read of them puts error feedback in, if there is;
 * the residual is what is not kept then, and is put right where values go out.
 */

/* The k largest, 1 <= k <= n (k = 0 for n = 0), ties to the lower index. */
int gcb_cuda_select_largest(struct gcb_device_stream *s, struct gcb_cuda_chosen *chosen,
                            const struct gcb_device_input *in, uint64_t k, void *scratch);

/* All whose sign-cleared pattern is at least `threshold`. */
int gcb_cuda_select_above(struct gcb_device_stream *s, struct gcb_cuda_chosen *chosen,
                          const struct gcb_device_input *in, uint32_t threshold, void *scratch);

/* As src/lib/sparse/select_sampled.c: about k, by a threshold from a sample. */
struct gcb_cuda_sample {
    uint64_t m, stride, offset, rank; /* struct gcb_sample_plan */
    uint64_t k;
};
int gcb_cuda_select_sampled(struct gcb_device_stream *s, struct gcb_cuda_chosen *chosen,
                            const struct gcb_device_input *in, const struct gcb_cuda_sample *how,
                            void *scratch);

/* As src/lib/sparse/select_one_sided.c: the k largest of the side with the larger sum, which makes the list of either and
 * so needs scratch of its own; and of one side (0: positive values, 1: negative ones) or, if it has nothing, the other.
 * k as for the largest. */
uint64_t gcb_cuda_select_one_sided_scratch(uint64_t n, uint64_t most);
int gcb_cuda_select_one_sided(struct gcb_device_stream *s, struct gcb_cuda_chosen *chosen,
                              const struct gcb_device_input *in, uint64_t k, void *scratch);
int gcb_cuda_select_side(struct gcb_device_stream *s, struct gcb_cuda_chosen *chosen,
                         const struct gcb_device_input *in, uint64_t k, unsigned side,
                         void *scratch);

/*
 * As src/lib/sparse/select_search.c: about k, by a threshold between mean and largest magnitude; `most` is n. With a
 * state, device memory that is all zero at first, the threshold serves `interval` steps of a worker: whether it does
 * is decided on the device, so nobody waits.
 */
#define GCB_CUDA_SEARCH_STATE 32
struct gcb_cuda_search {
    uint64_t k;
    void *state_dev; /* NULL: every call searches */
    uint64_t step, interval;
    uint32_t worker;
};
int gcb_cuda_select_search(struct gcb_device_stream *s, struct gcb_cuda_chosen *chosen,
                           const struct gcb_device_input *in, const struct gcb_cuda_search *how,
                           void *scratch);

#ifdef __cplusplus
}
#endif

#endif
