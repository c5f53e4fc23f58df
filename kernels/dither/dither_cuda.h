#ifndef KERNELS_DITHER_DITHER_CUDA_H
#define KERNELS_DITHER_DITHER_CUDA_H

#include "kernels/cuda/group.h"
#include "kernels/philox/philox_elem.h"

/*
 * Stochastic rounding on the device (kernels/dither/dither_elem.h): the payloads of `qsgd` at a fixed width and of
 * `terngrad`. 0 or GCB_E_DEVICE; all pointers but `how` are device memory, x aligned to 16.
 */
#ifdef __cplusplus
extern "C" {
#endif

struct gcb_cuda_draw {
    struct gcb_philox_keys keys; /* of the seed */
    uint64_t coarse, fine;       /* as in struct gcb_dither */
};

enum gcb_cuda_coding { GCB_CUDA_FIXED, GCB_CUDA_ELIAS, GCB_CUDA_ELIAS_SPARSE };

struct gcb_cuda_qsgd {
    struct gcb_cuda_draw draw;
    uint64_t bucket;   /* elements that share a norm, at least 1 */
    uint32_t levels;   /* above zero, 1..32767 */
    uint32_t sign_bit; /* 2^sign_bit > levels; a code has sign_bit + 1 bits */
    int l2;            /* the norm is the L2 norm; else the largest magnitude */
    enum gcb_cuda_coding coding;
};

uint64_t gcb_cuda_qsgd_scratch(const struct gcb_cuda_qsgd *how, uint64_t n);

/*
 * Norms (float32, one a bucket), then codes; sets result->length. One launch and one read of each element where a
 * tile of 4096 elements holds whole buckets or the whole tensor, three launches and two reads otherwise.
 */
int gcb_cuda_qsgd_encode(struct gcb_device_stream *s, uint8_t *out,
                         const struct gcb_device_input *in, const struct gcb_cuda_qsgd *how,
                         void *scratch, struct gcb_device_result *result);
/* A norm that no encoder writes makes result->status GCB_E_CORRUPT, and `out` unspecified. */
int gcb_cuda_qsgd_decode(struct gcb_device_stream *s, float *out, const uint8_t *in, uint64_t n,
                         const struct gcb_cuda_qsgd *how, struct gcb_device_result *result);

/* The same with Elias codes: three launches more, and a payload of fixed width in the scratch, to encode and to decode.
 * A payload that is decoded has at least norms and a directory. */
uint64_t gcb_cuda_elias_scratch(const struct gcb_cuda_qsgd *how, uint64_t n);
int gcb_cuda_elias_encode(struct gcb_device_stream *s, uint8_t *out,
                          const struct gcb_device_input *in, const struct gcb_cuda_qsgd *how,
                          void *scratch, struct gcb_device_result *result);
int gcb_cuda_elias_decode(struct gcb_device_stream *s, float *out, const uint8_t *in,
                          uint64_t length, uint64_t n, const struct gcb_cuda_qsgd *how,
                          void *scratch, struct gcb_device_result *result);

struct gcb_cuda_terngrad {
    struct gcb_cuda_draw draw;
    double clip; /* in standard deviations; 0: never */
    int base3;   /* five codes to a byte; else two bits a code */
};

uint64_t gcb_cuda_terngrad_scratch(const struct gcb_cuda_terngrad *how, uint64_t n);

/* The scaler (float32), then codes; sets result->length, adds to clamped. Two reads; three launches, and one more for each 2^25
 * elements behind the first, where it clips. */
int gcb_cuda_terngrad_encode(struct gcb_device_stream *s, uint8_t *out,
                             const struct gcb_device_input *in, const struct gcb_cuda_terngrad *how,
                             void *scratch, struct gcb_device_result *result);
int gcb_cuda_terngrad_decode(struct gcb_device_stream *s, float *out, const uint8_t *in, uint64_t n,
                             const struct gcb_cuda_terngrad *how, struct gcb_device_result *result);

/*
 * The same of a group, as many launches as one of its messages takes, behind the copy of its table; terngrad's sums of a
 * long message are all added up behind its reading. Of `how`, bucket and the streams of draws are each message's own.
 */
int gcb_cuda_qsgd_encode_group(struct gcb_device_stream *s, const struct gcb_device_group *g,
                               const struct gcb_cuda_qsgd *how);
int gcb_cuda_qsgd_decode_group(struct gcb_device_stream *s, const struct gcb_device_group *g,
                               const struct gcb_cuda_qsgd *how);
int gcb_cuda_terngrad_encode_group(struct gcb_device_stream *s, const struct gcb_device_group *g,
                                   const struct gcb_cuda_terngrad *how);
int gcb_cuda_terngrad_decode_group(struct gcb_device_stream *s, const struct gcb_device_group *g,
                                   const struct gcb_cuda_terngrad *how);

#ifdef __cplusplus
}
#endif

#endif
