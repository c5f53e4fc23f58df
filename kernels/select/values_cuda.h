#ifndef KERNELS_SELECT_VALUES_CUDA_H
#define KERNELS_SELECT_VALUES_CUDA_H

#include "kernels/range/range_choose.h"
#include "kernels/select/select_cuda.h"

/*
 * Payloads of the sparse codec on the device (src/lib/sparse/sparse.h), of one segment: how many positions are kept
 * (uint32; nothing where there are none to choose from), scales, values in the order of positions, and the positions
 * (kernels/select/index_cuda.h).
 * Values are those of src/lib/sparse/values_*.c, bit for bit. 0 or GCB_E_DEVICE.
 */
#ifdef __cplusplus
extern "C" {
#endif

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
    uint32_t bits;  /* of a value */
    uint32_t scale; /* bytes in front of the values */
    uint32_t
        side; /* and in front of those, a transform's own; whoever transforms reads and writes them */
    uint32_t width; /* floats of a position: 1, or 2 of a complex bin */
    /* range and uniform; the latter has a maximum alone */
    uint32_t mantissa; /* 0: from the data */
    int max_given;
    float max;
    enum gcb_range_rounding rounding;
};

/* What values stand for: in device memory, in a scratch. */
struct gcb_cuda_scale {
    float up, down; /* means; the first is the maximum of range and uniform too */
    struct gcb_range_format format;
};

/* Where the parts of a payload stand. */
#define GCB_CUDA_KEPT_BYTES 4

uint64_t gcb_cuda_values_scratch(const struct gcb_cuda_values *how, uint64_t most);

/* Writes everything up to the positions but a transform's own; adds to result->clamped. chosen->value has how->width floats
 * of each entry. */
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

/* How long its positions are, where that follows from the counts: bytes for each kept, and bits for each of n if
 * any is kept. */
struct gcb_cuda_index_length {
    uint32_t kept_bytes, flag_bits;
    int any; /* it does not: the coder finds out */
};

/* What a payload's head says. Nothing of a damaged one is used: kept is 0 then. */
struct gcb_cuda_opened {
    uint64_t kept;
    uint64_t index; /* where the positions begin */
    struct gcb_cuda_scale scale;
};

/* What decoding knows, in a scratch. */
struct gcb_cuda_filling {
    struct gcb_cuda_opened *head;
    uint32_t *first; /* for each tile of 4096 positions the first of its entries; one more behind */
    uint32_t *pos;   /* positions, n at most; any may be wrong */
    void *scratch;   /* the index coder's own */
};

/* Where they stand in a scratch, all but the coder's own, which begins at the size returned. */
uint64_t gcb_cuda_fill_scratch(struct gcb_cuda_filling *f, uint64_t n, void *scratch);

/* Opens the payload. Damage makes result->status GCB_E_CORRUPT, here and below, and the rest unspecified. */
int gcb_cuda_open(struct gcb_device_stream *s, const struct gcb_cuda_payload *p,
                  const struct gcb_cuda_values *how, const struct gcb_cuda_index_length *length,
                  const struct gcb_cuda_filling *f, struct gcb_device_result *result);

/* The same of a message whose values were put just now, with its scratch: of the payload only scales are read, what was
 * chosen is known. */
int gcb_cuda_reopen(struct gcb_device_stream *s, const struct gcb_cuda_payload *p,
                    const struct gcb_cuda_values *how, const struct gcb_cuda_chosen *chosen,
                    void *scratch, struct gcb_cuda_filling *f);

/* What a payload keeps, once the positions are there. */
struct gcb_cuda_entries {
    struct gcb_cuda_payload p;
    struct gcb_cuda_values how;
    struct gcb_cuda_filling f;
};

/* how.width floats for each of the positions from 4096 * first_tile on, 0 where none was kept. */
int gcb_cuda_fill(struct gcb_device_stream *s, float *out, const struct gcb_cuda_entries *kept,
                  uint64_t first_tile);

#ifdef __cplusplus
}
#endif

#endif
