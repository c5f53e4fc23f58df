#ifndef KERNELS_SELECT_CHUNK_CUDA_H
#define KERNELS_SELECT_CHUNK_CUDA_H

#include "kernels/select/select_cuda.h"

/*
 * Chooses the same share of each chunk: the positions that src/lib/sparse/select_chunk.c chooses.
 * A call takes one launch. Chunks of up to 16384 positions are read once; only elements that may be
 * kept are read again. Longer chunks are read up to six times: up to three times for the digits of
 * the smallest magnitude to keep, once if only some of the elements with this magnitude are kept,
 * and twice to write. If error feedback must still be added, a further pass over a longer chunk
 * adds it first. Functions return 0, GCB_E_NOMEM or GCB_E_DEVICE.
 */
GCB_BEGIN_C

/* How positions are cut into chunks: `length` >= 1 positions each, k of them kept, 1 <= k <=
 * length. A shorter last chunk keeps rest_k. */
struct gcb_cuda_chunks {
    uint64_t length;
    uint32_t k, rest_k;
    uint64_t first; /* gcb_cuda_select_chunks handles the chunks from number `first` on */
};

/* Sets *chosen, except `residual` and `message`, to a list in the scratch with room for `most` of n
 * positions. Returns the number of bytes of the list. If scratch is NULL, only returns this. */
uint64_t gcb_cuda_chosen_lay_out(struct gcb_cuda_chosen *chosen, uint64_t n, uint64_t most,
                                 void *scratch);

/* Chooses from in->n floats, which begin with chunk cut->first. gcb_cuda_chosen_lay_out has set
 * *chosen; chosen->most is the number of positions that all chunks keep. */
int gcb_cuda_select_chunks(struct gcb_device_stream *s, const struct gcb_cuda_chosen *chosen,
                           const struct gcb_device_input *in, const struct gcb_cuda_chunks *cut);

/* Multiplies chosen->value by `factor`, from entry number `from` on. */
int gcb_cuda_scale_chosen(struct gcb_device_stream *s, const struct gcb_cuda_chosen *chosen,
                          uint64_t from, float factor);

GCB_END_C

#endif
