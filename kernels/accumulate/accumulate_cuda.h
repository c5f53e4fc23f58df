#ifndef KERNELS_ACCUMULATE_ACCUMULATE_CUDA_H
#define KERNELS_ACCUMULATE_ACCUMULATE_CUDA_H

#include "kernels/select/values_cuda.h"

/*
 * Sums of messages on the device. The arithmetic is the CPU's
 * (kernels/base/accumulate_elem.h), so a sum has the same bits on both. The kernels that add
 * do nothing if result->status is not 0, because then the message was found to be damaged. Arrays
 * are device memory, aligned to 16 bytes. Functions return 0 or GCB_E_DEVICE.
 */
GCB_BEGIN_C

/* acc[i] += weight * x[i] for n floats. Moves 12 bytes per element. */
int gcb_cuda_accumulate_add(struct gcb_device_stream *s, float *acc, const float *x, uint64_t n,
                            float weight, const struct gcb_device_result *result);

/* Adds the entries of a payload, each times the weight. acc has how.width floats for each position;
 * only the floats of kept positions are read and written. */
int gcb_cuda_accumulate_entries(struct gcb_device_stream *s, float *acc,
                                const struct gcb_cuda_entries *kept, float weight,
                                const struct gcb_device_result *result);

/*
 * A canvas: the sum of messages, as coefficients of a transform. It is laid out like the payload of
 * a message with values=fp32 that keeps every position, so the decoder's kernels can transform it.
 * The bytes that come before the coefficients in such a payload end at GCB_CUDA_CANVAS_HEAD.
 */
#define GCB_CUDA_CANVAS_HEAD 256

static inline uint64_t gcb_cuda_canvas_bytes(uint64_t positions, uint32_t width)
{
    return GCB_CUDA_CANVAS_HEAD + positions * width * sizeof(float);
}

static inline float *gcb_cuda_canvas_coefficients(void *canvas)
{
    return (float *)canvas + GCB_CUDA_CANVAS_HEAD / sizeof(float);
}

/* Sets entries->p and entries->how for a canvas of n positions. Before the entries are used, the
 * caller sets entries->f and calls gcb_cuda_keep_all. */
void gcb_cuda_canvas_entries(struct gcb_cuda_entries *entries, void *canvas, uint64_t n,
                             const struct gcb_cuda_values *how);

/* Fills the decoding state of a payload that keeps all n positions. */
int gcb_cuda_keep_all(struct gcb_device_stream *s, const struct gcb_cuda_decoding *f, uint64_t n);

/* Copies the how.side bytes of a payload into the canvas, for its first message. For another
 * message (`joins`), compares them instead, and sets result->status to GCB_E_MISMATCH if they
 * differ. */
int gcb_cuda_canvas_side(struct gcb_device_stream *s, void *canvas,
                         const struct gcb_cuda_payload *p, const struct gcb_cuda_values *how,
                         int joins, struct gcb_device_result *result);

GCB_END_C

#endif
