#ifndef KERNELS_SLOT_SLOT_CUDA_H
#define KERNELS_SLOT_SLOT_CUDA_H

#include "kernels/cuda/stream.h"

/*
 * What slots (src/lib/coder/slot.h) need around a codec's kernels, so that the host decides nothing
 * that depends on the data. Arrays are device memory, aligned to 16 bytes. Functions return 0,
 * GCB_E_NOMEM or GCB_E_DEVICE.
 */
GCB_BEGIN_C

/* Before encoding: adds in->carry * in->residual to in->x if there is a residual, and raises
 * result->max_bits to the largest sign-cleared bit pattern that in->x then has. Moves 4 bytes per
 * element, 12 with a residual. */
int gcb_cuda_slot_begin(struct gcb_device_stream *s, const struct gcb_device_input *in,
                        struct gcb_device_result *result);

/* Called after gcb_cuda_slot_begin if in->residual is not NULL. If in->x has an infinity or NaN,
 * copies the residual over it. So the encoder reads finite values, and in->x keeps the residual
 * until gcb_cuda_slot_end. Otherwise does nothing. */
int gcb_cuda_slot_spare(struct gcb_device_stream *s, const struct gcb_device_input *in,
                        const struct gcb_device_result *result);

/* The bytes of a slot after its payload, at most 256. */
struct gcb_cuda_slot_rest {
    uint8_t *first;
    unsigned bytes;
};

/* After encoding: sets the rest of the slot to 0, and sets result->status to GCB_E_NONFINITE if the
 * tensor plus its residual has an infinity or NaN. If the status is not 0, nothing counts as sent:
 * in->x is copied to in->residual, if that is not NULL. */
int gcb_cuda_slot_end(struct gcb_device_stream *s, const struct gcb_device_input *in,
                      struct gcb_device_result *result, const struct gcb_cuda_slot_rest *rest);

/* The slots that were added to a sum. */
struct gcb_cuda_slots {
    const uint8_t *first; /* each slot begins with the struct gcb_device_result of its encoder */
    uint64_t apart;       /* bytes from a slot to the next */
    unsigned count;
    const struct gcb_device_result *decoded; /* the result of decoding each slot */
};

/* Fills out[0..n) with NaN if a slot could not be encoded or decoded. Otherwise does nothing. */
int gcb_cuda_slot_poison(struct gcb_device_stream *s, float *out, uint64_t n,
                         const struct gcb_cuda_slots *slots);

/*
 * Messages that one launch adds up, without decoding them to tensors first: a codec's function
 * gcb_cuda_<codec>_sum(s, out, n, ..., p) writes the sum of weight[i] times message i. Moves the
 * messages' bytes, and 4 bytes per element (8 if `joins`).
 */
#define GCB_CUDA_PAYLOADS 32 /* most messages of a launch */
struct gcb_cuda_payloads {
    const uint8_t *first;             /* payload of message 0 */
    uint64_t apart;                   /* bytes from a payload to the next; a multiple of 16 */
    struct gcb_device_result *result; /* one for each message; a damaged one gets GCB_E_CORRUPT */
    unsigned count;
    int joins; /* not 0: the sum is added to what `out` holds */
    float weight[GCB_CUDA_PAYLOADS];
};

GCB_END_C

#endif
