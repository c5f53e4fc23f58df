#ifndef KERNELS_SELECT_SELECT_CUDA_H
#define KERNELS_SELECT_SELECT_CUDA_H

#include "kernels/cuda/stream.h"

/*
 * Chooses positions on the device: the same positions as src/lib/sparse/select_*.c choose. The
 * steps of gcb_cuda_select_largest are below. The other functions use some of these steps, with
 * steps of their own between them:
 *
 *   sample    copies up to 2^15 elements; one block finds a magnitude that a few more than k
 *             elements should reach
 *   collect   reads the tensor: stores the elements of each tile of 4096 positions that reach that
 *             magnitude in the tile's slots, in index order, and counts their leading digits
 *   judge     if too few elements were collected, collects all elements; otherwise the second
 *             launch of `collect` returns at once
 *   digits    finds the exact k-th largest of the collected elements, digit by digit
 *   compact   counts what each tile keeps; adds up the counts and writes the kept entries
 *
 * No result depends on this sample (that of gcb_cuda_select_sampled is another, which the method
 * prescribes), the order of blocks or the order of atomic operations. Functions return 0,
 * GCB_E_NOMEM or GCB_E_DEVICE.
 */
GCB_BEGIN_C

/* The result of a choice, in device memory. */
struct gcb_cuda_choice {
    uint64_t kept; /* number of positions */
    uint64_t pad;
};

/* A message of values=fp32 and index=u32 without side bytes, which a selector can write itself. */
struct gcb_cuda_message {
    uint8_t *payload; /* aligned to 4; NULL: the selector makes a list only */
    struct gcb_device_result *result;
};

/* Chosen positions. `choice`, `pos`, `value` and `first` are device memory in a scratch. */
struct gcb_cuda_chosen {
    struct gcb_cuda_choice *choice;
    uint32_t *pos; /* ascending */
    float *value;  /* the elements or coefficients at these positions */
    /* For each tile of 4096 positions, the number of kept positions before it; then the number of
     * all kept positions. */
    uint32_t *first;
    /* The residual of all n positions, or NULL if error feedback is not fused; the caller's memory.
     * When values are written, the residuals of the kept positions are set to what the decoder will
     * not get. */
    float *residual;
    /* The caller sets this. If there is a message, the arrays `pos` and `value` are not written:
     * the selector writes all of the payload, and the residuals. gcb_cuda_select_one_sided and the
     * selectors of other headers ignore a message and make a list. */
    struct gcb_cuda_message message;
    uint64_t n;    /* positions to choose from, at most 2^31 */
    uint64_t most; /* most entries that may be kept */
};

/* Bytes of scratch to choose at most `most` of n positions. */
uint64_t gcb_cuda_select_scratch(uint64_t n, uint64_t most);

/*
 * Each function lays out *chosen in the scratch, and queues the choice from in->n = n floats, all
 * finite. The caller has set chosen->n, and chosen->most to at least the number of positions that
 * can be chosen. If error feedback must still be added, the first read adds it and sets the
 * residual as if nothing were kept; otherwise the caller has set the residual so. The residual is
 * corrected when values are written.
 */

/* Chooses the k largest, 1 <= k <= n (k = 0 for n = 0); ties go to the lower index. */
int gcb_cuda_select_largest(struct gcb_device_stream *s, struct gcb_cuda_chosen *chosen,
                            const struct gcb_device_input *in, uint64_t k, void *scratch);

/* Chooses all elements whose sign-cleared pattern is at least `threshold`. */
int gcb_cuda_select_above(struct gcb_device_stream *s, struct gcb_cuda_chosen *chosen,
                          const struct gcb_device_input *in, uint32_t threshold, void *scratch);

struct gcb_cuda_sample {
    uint64_t m, stride, offset, rank; /* as in struct gcb_sample_plan (src/lib/sparse/select.h) */
    uint64_t k;
};

/* Chooses about k elements, at most 1.3 k, by a threshold from a sample
 * (src/lib/sparse/select_sampled.c). */
int gcb_cuda_select_sampled(struct gcb_device_stream *s, struct gcb_cuda_chosen *chosen,
                            const struct gcb_device_input *in, const struct gcb_cuda_sample *how,
                            void *scratch);

/* Chooses the k largest of the side (positive or negative values) with the larger sum
 * (src/lib/sparse/select_one_sided.c). If all values are 0, chooses the first k positions. Makes
 * lists of both sides, so it needs gcb_cuda_select_one_sided_scratch bytes. */
uint64_t gcb_cuda_select_one_sided_scratch(uint64_t n, uint64_t most);
int gcb_cuda_select_one_sided(struct gcb_device_stream *s, struct gcb_cuda_chosen *chosen,
                              const struct gcb_device_input *in, uint64_t k, void *scratch);

/* Chooses the k largest of `side` (0: positive values, 1: negative values), or of the other side if
 * `side` is empty, or the first k positions if all values are 0. */
int gcb_cuda_select_side(struct gcb_device_stream *s, struct gcb_cuda_chosen *chosen,
                         const struct gcb_device_input *in, uint64_t k, unsigned side,
                         void *scratch);

#define GCB_CUDA_SEARCH_STATE 32 /* bytes of a search's state */
struct gcb_cuda_search {
    uint64_t k;
    void *state_dev; /* GCB_CUDA_SEARCH_STATE bytes, or NULL: every call searches */
    uint64_t step, interval;
    uint32_t worker;
};

/* Chooses about k elements, by a threshold between the mean and the largest magnitude
 * (src/lib/sparse/select_redsync.c); chosen->most is n. If there is a state (device memory, all
 * zero at first), a threshold is used for `interval` steps of a worker. The device decides whether
 * the threshold still applies, so the host does not wait. */
int gcb_cuda_select_search(struct gcb_device_stream *s, struct gcb_cuda_chosen *chosen,
                           const struct gcb_device_input *in, const struct gcb_cuda_search *how,
                           void *scratch);

GCB_END_C

#endif
