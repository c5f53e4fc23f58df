#ifndef KERNELS_SELECT_VALUES_CUDA_H
#define KERNELS_SELECT_VALUES_CUDA_H

#include "kernels/range/range_choose.h"
#include "kernels/select/select_cuda.h"

/*
 * Payloads of the sparse codec on the device (src/sparse/sparse.h), of one segment: how many positions are kept
 * (uint32; nothing where there are none to choose from), scales, values in the order of positions, and the positions.
 * Values are those of src/sparse/values_*.c, bit for bit. 0 or GCB_E_BACKEND.
 */
#ifdef __cplusplus
extern "C" {
#endif

enum gcb_cuda_value_kind {
    GCB_CUDA_FP32,
    GCB_CUDA_FP16,
    GCB_CUDA_RANGE,
    GCB_CUDA_UNIFORM, /* not done */
    GCB_CUDA_MEAN,
    GCB_CUDA_SIGN_MEAN,
    GCB_CUDA_MEANS,
};

struct gcb_cuda_values {
    enum gcb_cuda_value_kind kind;
    uint32_t bits;  /* of a value */
    uint32_t scale; /* bytes in front of the values */
    /* range */
    uint32_t mantissa; /* 0: from the data */
    int max_given;
    float max;
    enum gcb_range_rounding rounding;
};

/* What values stand for: in device memory, in a scratch. */
struct gcb_cuda_scale {
    float up, down; /* means; the first is range's maximum too */
    struct gcb_range_format format;
};

/* Where the parts of a payload stand. */
#define GCB_CUDA_KEPT_BYTES 4

uint64_t gcb_cuda_values_scratch(const struct gcb_cuda_values *how, uint64_t most);

/* Writes everything up to the positions; adds to result->clamped. */
int gcb_cuda_put_values(struct gcb_device_stream *s, uint8_t *out,
                        const struct gcb_cuda_chosen *chosen, const struct gcb_cuda_values *how,
                        void *scratch, struct gcb_device_result *result);

/* Positions behind them, as src/sparse/index_*.c write them; sets result->length. */
int gcb_cuda_put_u32(struct gcb_device_stream *s, uint8_t *out,
                     const struct gcb_cuda_chosen *chosen, const struct gcb_cuda_values *how,
                     struct gcb_device_result *result);
int gcb_cuda_put_bitmap(struct gcb_device_stream *s, uint8_t *out,
                        const struct gcb_cuda_chosen *chosen, const struct gcb_cuda_values *how,
                        struct gcb_device_result *result);

/* ---- decoding ---- */

enum gcb_cuda_index_kind { GCB_CUDA_U32, GCB_CUDA_BITMAP };

uint64_t gcb_cuda_fill_scratch(uint64_t n);

/* Decodes a payload of `length` bytes to n floats, 0 where none was kept. Damage makes result->status GCB_E_CORRUPT,
 * and `out` unspecified. */
int gcb_cuda_fill(struct gcb_device_stream *s, float *out, uint64_t n, const uint8_t *in,
                  uint64_t length, const struct gcb_cuda_values *how,
                  enum gcb_cuda_index_kind index, void *scratch, struct gcb_device_result *result);

#ifdef __cplusplus
}
#endif

#endif
