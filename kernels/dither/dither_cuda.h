#ifndef KERNELS_DITHER_DITHER_CUDA_H
#define KERNELS_DITHER_DITHER_CUDA_H

#include "kernels/cuda/group.h"
#include "kernels/philox/philox_elem.h"
#include "kernels/slot/slot_cuda.h"

/*
 * Stochastic rounding on the device (kernels/dither/dither_elem.h): the payloads of `qsgd`,
 * `terngrad` and `natural`. Launchers return 0, GCB_E_DEVICE or GCB_E_NOMEM. Payloads, arrays,
 * scratch and results are device memory; x and scratch are aligned to 16 bytes, payloads to 4.
 */
GCB_BEGIN_C

/* The random streams of an encoder. */
struct gcb_cuda_draw {
    struct gcb_philox_keys keys; /* made from the seed */
    uint64_t coarse, fine;       /* as in struct gcb_dither */
};

/* How qsgd codes levels: at a fixed width, or by one of its two Elias codings. */
enum gcb_cuda_coding { GCB_CUDA_FIXED, GCB_CUDA_ELIAS, GCB_CUDA_ELIAS_SPARSE };

struct gcb_cuda_qsgd {
    struct gcb_cuda_draw draw;
    uint64_t bucket;   /* elements that share a norm: 1..n, or 1 if n is 0; below 2^32 */
    uint32_t levels;   /* number of levels above zero, 1..32767 */
    uint32_t sign_bit; /* 2^sign_bit > levels; a code has sign_bit + 1 bits */
    int l2;            /* 1: the norm is the L2 norm; 0: the largest magnitude */
    int nearest;       /* 1: round to the nearest level, without draws */
    enum gcb_cuda_coding coding;
};

/* Bytes of scratch to encode n elements. */
uint64_t gcb_cuda_qsgd_scratch(const struct gcb_cuda_qsgd *how, uint64_t n);

/*
 * Writes the norms (float32, one per bucket), then codes of fixed width, and sets result->length.
 * Takes one launch if a tile of 4096 elements holds whole buckets or the whole tensor. Otherwise it
 * takes three launches and reads in->x once more, for the norms.
 */
int gcb_cuda_qsgd_encode(struct gcb_device_stream *s, uint8_t *out,
                         const struct gcb_device_input *in, const struct gcb_cuda_qsgd *how,
                         void *scratch, struct gcb_device_result *result);
/* The inverse of gcb_cuda_qsgd_encode, in one launch. If a norm is negative, infinite or NaN, sets
 * result->status to GCB_E_CORRUPT and leaves `out` unspecified. */
int gcb_cuda_qsgd_decode(struct gcb_device_stream *s, float *out, const uint8_t *in, uint64_t n,
                         const struct gcb_cuda_qsgd *how, struct gcb_device_result *result);

/* Like gcb_cuda_qsgd_encode and gcb_cuda_qsgd_decode, but with Elias codes. Both functions first
 * write a payload of fixed width to the scratch, which has gcb_cuda_elias_scratch bytes. Encoding
 * takes three more launches, decoding two. The payload to decode has `length` bytes: at least the
 * norms and the directory. If its codes are damaged, result->status becomes GCB_E_CORRUPT. */
uint64_t gcb_cuda_elias_scratch(const struct gcb_cuda_qsgd *how, uint64_t n);
int gcb_cuda_elias_encode(struct gcb_device_stream *s, uint8_t *out,
                          const struct gcb_device_input *in, const struct gcb_cuda_qsgd *how,
                          void *scratch, struct gcb_device_result *result);
int gcb_cuda_elias_decode(struct gcb_device_stream *s, float *out, const uint8_t *in,
                          uint64_t length, uint64_t n, const struct gcb_cuda_qsgd *how,
                          void *scratch, struct gcb_device_result *result);

struct gcb_cuda_terngrad {
    struct gcb_cuda_draw draw;
    double clip; /* clip at this many standard deviations; 0: no clipping */
    int base3;   /* 1: five codes to a byte; 0: two bits per code */
};

/* Bytes of scratch to encode n elements. */
uint64_t gcb_cuda_terngrad_scratch(const struct gcb_cuda_terngrad *how, uint64_t n);

/* Writes the scaler (float32), then the codes; sets result->length and adds to result->clamped.
 * Reads x twice, in three launches. */
int gcb_cuda_terngrad_encode(struct gcb_device_stream *s, uint8_t *out,
                             const struct gcb_device_input *in, const struct gcb_cuda_terngrad *how,
                             void *scratch, struct gcb_device_result *result);
/* The inverse of gcb_cuda_terngrad_encode, in one launch. If the scaler is negative, infinite or
 * NaN, sets result->status to GCB_E_CORRUPT and leaves `out` as it was. */
int gcb_cuda_terngrad_decode(struct gcb_device_stream *s, float *out, const uint8_t *in, uint64_t n,
                             const struct gcb_cuda_terngrad *how, struct gcb_device_result *result);

/*
 * Like the functions above, for a group of messages. The codes of qsgd have a fixed width. Each
 * call takes one copy of the group's table, then one launch to decode, or at most three launches to
 * encode. `bucket` and the random streams come from each message, not from `how`.
 */
int gcb_cuda_qsgd_encode_group(struct gcb_device_stream *s, const struct gcb_device_group *g,
                               const struct gcb_cuda_qsgd *how);
int gcb_cuda_qsgd_decode_group(struct gcb_device_stream *s, const struct gcb_device_group *g,
                               const struct gcb_cuda_qsgd *how);
int gcb_cuda_terngrad_encode_group(struct gcb_device_stream *s, const struct gcb_device_group *g,
                                   const struct gcb_cuda_terngrad *how);
int gcb_cuda_terngrad_decode_group(struct gcb_device_stream *s, const struct gcb_device_group *g,
                                   const struct gcb_cuda_terngrad *how);

/*
 * Natural compression (kernels/dither/natural_elem.h): writes or reads the codes, in one launch.
 * The encoder sets result->length, and sets result->status to GCB_E_SEND_RAW if an element is too
 * large. The decoder sets the status to GCB_E_CORRUPT if a code is not finite. In a group, each
 * message has its own random streams.
 */
int gcb_cuda_natural_encode(struct gcb_device_stream *s, uint8_t *out,
                            const struct gcb_device_input *in, const struct gcb_cuda_draw *draw,
                            struct gcb_device_result *result);
int gcb_cuda_natural_decode(struct gcb_device_stream *s, float *out, const uint8_t *in, uint64_t n,
                            struct gcb_device_result *result);
int gcb_cuda_natural_encode_group(struct gcb_device_stream *s, const struct gcb_device_group *g,
                                  const struct gcb_cuda_draw *draw);
int gcb_cuda_natural_decode_group(struct gcb_device_stream *s, const struct gcb_device_group *g);

/* Sums of messages of n elements (kernels/slot/slot_cuda.h), in one launch. The codes of qsgd have
 * a fixed width. */
int gcb_cuda_qsgd_sum(struct gcb_device_stream *s, float *out, uint64_t n,
                      const struct gcb_cuda_qsgd *how, const struct gcb_cuda_payloads *p);
int gcb_cuda_terngrad_sum(struct gcb_device_stream *s, float *out, uint64_t n,
                          const struct gcb_cuda_terngrad *how, const struct gcb_cuda_payloads *p);
int gcb_cuda_natural_sum(struct gcb_device_stream *s, float *out, uint64_t n,
                         const struct gcb_cuda_payloads *p);

GCB_END_C

#endif
