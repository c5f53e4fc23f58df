#ifndef KERNELS_SELECT_SELECT_CUDA_H
#define KERNELS_SELECT_SELECT_CUDA_H

#include <stddef.h>

#include "kernels/cuda/stream.h"

/*
 * Chooses positions on the device: the same positions as src/lib/sparse/select_*.c choose. The
 * steps are
 *
 *   sample    one block reads up to 2^15 elements, and finds a magnitude that a few more than k
 *             elements should reach
 *   collect   the one read of the tensor: each tile of 4096 positions stores the elements that reach
 *             that magnitude in slots of its own, in index order, and counts their leading digits
 *   judge     if there were too few, collect runs again, from the lowest magnitude; otherwise its
 *             second launch returns at once
 *   digits    finds the exact k-th largest of the collected elements by radix
 *   compact   tiles count what they keep, the counts are summed, and each tile writes its entries
 *
 * No result depends on the sample, the order of blocks or the order of atomics. Functions return 0
 * or GCB_E_DEVICE.
 */
GCB_BEGIN_C

/* The result of a choice, in device memory. */
struct gcb_cuda_choice {
    uint64_t kept;
    uint64_t pad;
};

/* Chosen positions. The pointers are device memory in a scratch. */
struct gcb_cuda_chosen {
    struct gcb_cuda_choice *choice;
    uint32_t *pos; /* ascending */
    float *value;  /* the elements or coefficients at these positions */
    /* entry number of the first position of each tile of 4096 positions, and the end */
    uint32_t *first;
    /* the residual of all positions, if error feedback is fused: when values are written, it is set
     * for the kept positions to what the decoder will not get. NULL: no feedback */
    float *residual;
    uint64_t n;    /* positions to choose from, at most 2^31 */
    uint64_t most; /* most entries that may be kept */
};

/* Bytes of scratch that a choice of at most `most` of n positions needs. */
uint64_t gcb_cuda_select_scratch(uint64_t n, uint64_t most);

/*
 * Each function lays out *chosen in the scratch, and queues the choice from in->n = n floats, all
 * finite. The caller sets chosen->n and chosen->most, which is at least the number that can be
 * chosen. If there is error feedback, the first read adds it and sets the residual as if nothing
 * were kept. The residual is corrected when values are written.
 */

/* The k largest, 1 <= k <= n (k = 0 for n = 0); ties go to the lower index. */
int gcb_cuda_select_largest(struct gcb_device_stream *s, struct gcb_cuda_chosen *chosen,
                            const struct gcb_device_input *in, uint64_t k, void *scratch);

/* All elements whose sign-cleared pattern is at least `threshold`. */
int gcb_cuda_select_above(struct gcb_device_stream *s, struct gcb_cuda_chosen *chosen,
                          const struct gcb_device_input *in, uint32_t threshold, void *scratch);

/* About k elements, by a threshold from a sample (src/lib/sparse/select_sampled.c). */
struct gcb_cuda_sample {
    uint64_t m, stride, offset, rank; /* struct gcb_sample_plan */
    uint64_t k;
};
int gcb_cuda_select_sampled(struct gcb_device_stream *s, struct gcb_cuda_chosen *chosen,
                            const struct gcb_device_input *in, const struct gcb_cuda_sample *how,
                            void *scratch);

/* The selections of src/lib/sparse/select_one_sided.c. gcb_cuda_select_one_sided: the k largest of
 * the side with the larger sum. It makes lists of both sides, so it needs more scratch.
 * gcb_cuda_select_side: the k largest of `side` (0: positive values, 1: negative ones), or of the
 * other side if `side` is empty. k as above. */
uint64_t gcb_cuda_select_one_sided_scratch(uint64_t n, uint64_t most);
int gcb_cuda_select_one_sided(struct gcb_device_stream *s, struct gcb_cuda_chosen *chosen,
                              const struct gcb_device_input *in, uint64_t k, void *scratch);
int gcb_cuda_select_side(struct gcb_device_stream *s, struct gcb_cuda_chosen *chosen,
                         const struct gcb_device_input *in, uint64_t k, unsigned side,
                         void *scratch);

/*
 * About k elements, by a threshold between the mean and the largest magnitude
 * (src/lib/sparse/select_redsync.c); `most` is n. With a state (device memory, all zero at first) a
 * threshold is used for `interval` steps of a worker. The device decides whether the threshold
 * still applies, so the host does not wait.
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

GCB_END_C

#endif
