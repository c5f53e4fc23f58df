#ifndef SRC_LIB_CODEC_RANGE_CODES_H
#define SRC_LIB_CODEC_RANGE_CODES_H

#include "src/lib/codec/packed.h"

/*
 * Range floats in a payload, for the `range` codec and for the sparse codec's values: what is measured,
 * chosen and written. The scale is the value of the topmost code (float32) and the mantissa width
 * (1 byte); with `bits` from the header they fix the format, whatever rounding the encoder used.
 */
#define GCB_RANGE_SCALE_BYTES 5

struct gcb_range_params {
    uint64_t bits;     /* 2..16 */
    uint64_t mantissa; /* 0: from the data */
    double max;        /* 0: from the data */
    int rounding;      /* enum gcb_range_rounding */
};

/* Names of enum gcb_range_rounding, for parameter tables. */
extern const char *const gcb_range_rounding_names[];

/* For a parameter table's check: GCB_E_INVALID if bits and mantissa (0: any) do not go together. */
int gcb_range_check(unsigned bits, unsigned mantissa, struct gcb_diag *diag);

/* What the choice needs of the data: nothing, the maximum, or counts of exponents too. Starts zeroed. */
struct gcb_range_stats {
    uint64_t exponents[256];
    uint32_t max_bits;
};
/* Adds n values; reads them at most once, and not at all if the parameters leave nothing open. */
void gcb_range_measure(struct gcb_range_stats *stats, const struct gcb_range_params *p,
                       const struct gcb_kernels *kernels, const float *x, uint64_t n);
/* Adds `from`; threads may join into the same stats at once. */
void gcb_range_join(struct gcb_range_stats *stats, const struct gcb_range_stats *from);

void gcb_range_choose(struct gcb_range_format *format, const struct gcb_range_params *p,
                      const struct gcb_range_stats *stats);

void gcb_range_put_scale(struct gcb_wbuf *out, const struct gcb_range_format *format);
int gcb_range_get_scale(struct gcb_range_format *format, const struct gcb_range_params *p,
                        struct gcb_rbuf *in); /* 0 or GCB_E_CORRUPT */

/* n values to gcb_packed_bytes(n, bits) bytes and back; put returns how many were clamped. */
uint64_t gcb_range_put(uint8_t *out, const float *x, uint64_t n,
                       const struct gcb_range_format *format, const struct gcb_kernels *kernels);
void gcb_range_get(float *x, const uint8_t *in, uint64_t n, const struct gcb_range_format *format,
                   const struct gcb_kernels *kernels);

#endif
