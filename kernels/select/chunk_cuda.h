#ifndef KERNELS_SELECT_CHUNK_CUDA_H
#define KERNELS_SELECT_CHUNK_CUDA_H

#include "kernels/select/select_cuda.h"

/*
 * The same share of each chunk, position for position as src/lib/sparse/select_chunk.c: one launch, and one read for chunks
 * of up to 16384 positions. Longer ones are read four to six times: two or three for the digits of the least that is kept,
 * one where only some of its equals are, and two to write. 0 or GCB_E_DEVICE.
 */
#ifdef __cplusplus
extern "C" {
#endif

/* How positions are cut: chunks of `length` >= 1, of which k are kept each, 1 <= k <= length; of a shorter last one
 * rest_k. */
struct gcb_cuda_chunks {
    uint64_t length;
    uint32_t k, rest_k;
    uint64_t first; /* chunks in front of this one are somebody else's */
};

/* Lays out a list of `most` of n positions in the scratch, which may be NULL to ask for its size: returns that. */
uint64_t gcb_cuda_chosen_lay_out(struct gcb_cuda_chosen *chosen, uint64_t n, uint64_t most,
                                 void *scratch);

/* Queues the choice from in->n floats, all that stand from chunk cut->first on; chosen is laid out, and its `most` is what
 * all chunks keep. */
int gcb_cuda_select_chunks(struct gcb_device_stream *s, const struct gcb_cuda_chosen *chosen,
                           const struct gcb_device_input *in, const struct gcb_cuda_chunks *cut);

/* The values of the entries from `from` on times `factor`. */
int gcb_cuda_scale_chosen(struct gcb_device_stream *s, const struct gcb_cuda_chosen *chosen,
                          uint64_t from, float factor);

#ifdef __cplusplus
}
#endif

#endif
