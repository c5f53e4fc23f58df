#ifndef KERNELS_SELECT_VALUES_CUDA_H
#define KERNELS_SELECT_VALUES_CUDA_H

#include "kernels/range/range_choose.h"
#include "kernels/select/select_cuda.h"

/*
 * Payloads of the sparse codec on the device (src/lib/sparse/sparse.h), for one segment. A payload
 * has the number of kept positions (uint32; absent if n is 0), the transform's side bytes, scales,
 * values in the order of positions, and the positions (kernels/index/index_cuda.h). Values are
 * those of src/lib/sparse/values.c, bit for bit. Functions return 0, GCB_E_NOMEM or GCB_E_DEVICE.
 */
GCB_BEGIN_C

/* The choices of `values` that the device has, with the numbers of enum gcb_values_id
 * (src/lib/sparse/stages.h). */
enum gcb_cuda_value_kind {
    GCB_CUDA_FP32,
    GCB_CUDA_FP16,
    GCB_CUDA_RANGE,
    GCB_CUDA_UNIFORM,
    GCB_CUDA_MEAN,
    GCB_CUDA_SIGN_MEAN,
    GCB_CUDA_MEANS,
};

struct gcb_cuda_values {
    enum gcb_cuda_value_kind kind;
    uint32_t bits;  /* bits per value */
    uint32_t scale; /* bytes of scales before the values */
    uint32_t side;  /* side bytes, before the scales: the transform writes and reads them */
    uint32_t width; /* floats per position: 1, or 2 for a complex bin */
    /* For range and uniform; uniform uses only the maximum. */
    uint32_t mantissa; /* bits of the mantissa; 0: chosen from the data */
    int max_given;     /* 0: the maximum is taken from the data; 1: the maximum is `max` */
    float max;
    enum gcb_range_rounding rounding;
};

/* The scales of the values, in device memory. */
struct gcb_cuda_scale {
    /* For means, the means of positive and of other values; for sign-mean, plus and minus the mean
     * magnitude. For mean, `up` is the mean of all values; for range and uniform, the maximum. */
    float up, down;
    struct gcb_range_format format;
};

/* Bytes of the number of kept positions at the beginning of a payload. */
#define GCB_CUDA_KEPT_BYTES 4

/* Bytes of scratch for gcb_cuda_put_values; at most `most` positions are kept. */
uint64_t gcb_cuda_values_scratch(const struct gcb_cuda_values *how, uint64_t most);

/* Writes everything before the positions except the side bytes. Adds to result->clamped. If
 * chosen->residual is not NULL, sets the residuals of the kept positions; how->width is 1 then.
 * chosen->value has how->width floats per kept position. */
int gcb_cuda_put_values(struct gcb_device_stream *s, uint8_t *out,
                        const struct gcb_cuda_chosen *chosen, const struct gcb_cuda_values *how,
                        void *scratch, struct gcb_device_result *result);

/* ---- decoding ---- */

/* A payload to decode, of n positions. */
struct gcb_cuda_payload {
    const uint8_t *in;
    uint64_t length;
    uint64_t n;
};

/* The least length of the positions' part of a payload: kept_bytes for each kept position and, if
 * any position is kept, flag_bits for each of the n positions. */
struct gcb_cuda_index_length {
    uint32_t kept_bytes, flag_bits;
    int any; /* 1: the part may be longer; the index's reader checks its length */
};

/* What the head of a payload says. If the head is damaged, kept is 0 and nothing else is used. If
 * the positions are found to be damaged later, either kept becomes 0 or `damaged` is set. */
struct gcb_cuda_payload_head {
    uint64_t kept;
    uint64_t index; /* offset of the positions in the payload */
    struct gcb_cuda_scale scale;
    int32_t damaged; /* not 0: some positions are wrong or missing; none is used */
};

/* The state of decoding, in device memory. */
struct gcb_cuda_decoding {
    struct gcb_cuda_payload_head *head;
    uint32_t *first; /* as in struct gcb_cuda_chosen */
    uint32_t *pos;   /* kept positions, at most n; of a damaged payload they may be wrong */
    void *scratch;   /* for the index's reader */
};

/* Sets *f to the state of decoding n positions in a scratch. Returns the number of bytes of the
 * state; the scratch of the index's reader follows the state. If only the number is wanted,
 * `scratch` may be NULL. */
uint64_t gcb_cuda_decoding_lay_out(struct gcb_cuda_decoding *f, uint64_t n, void *scratch);

/* Reads the head of the payload. If the payload's length, the number of kept positions or a scale
 * is wrong, sets result->status to GCB_E_CORRUPT; the positions are not checked. */
int gcb_cuda_open_payload(struct gcb_device_stream *s, const struct gcb_cuda_payload *p,
                          const struct gcb_cuda_values *how,
                          const struct gcb_cuda_index_length *length,
                          const struct gcb_cuda_decoding *f, struct gcb_device_result *result);

/* Like gcb_cuda_open_payload, for a payload whose values have just been written. Reads only the
 * scales from the payload, because the chosen positions are known. `scratch` is that of
 * gcb_cuda_put_values; *f is set to use it and the arrays of *chosen. */
int gcb_cuda_reopen_payload(struct gcb_device_stream *s, const struct gcb_cuda_payload *p,
                            const struct gcb_cuda_values *how, const struct gcb_cuda_chosen *chosen,
                            void *scratch, struct gcb_cuda_decoding *f);

/* The entries of a payload: its positions, which have been read, with their values. */
struct gcb_cuda_entries {
    struct gcb_cuda_payload p;
    struct gcb_cuda_values how;
    struct gcb_cuda_decoding f;
};

/* Writes how.width floats for each position from 4096 * first_tile on; 0 for positions that were
 * not kept. `out` begins with that position, and is aligned to 16 bytes. */
int gcb_cuda_fill(struct gcb_device_stream *s, float *out, const struct gcb_cuda_entries *kept,
                  uint64_t first_tile);

GCB_END_C

#endif
