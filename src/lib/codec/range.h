#ifndef SRC_LIB_CODEC_RANGE_H
#define SRC_LIB_CODEC_RANGE_H

#include "src/lib/codec/packed.h"

/*
 * Range floats (kernels/range/range_elem.h) in a payload, for the codec `range` and for the values
 * of the sparse codec. The scale of a payload is the value of the largest code (float32) and the
 * mantissa width (1 byte). The scale and `bits`, which is in the message's header, determine the
 * format. The decoder need not know how the encoder rounded.
 */
#define GCB_RANGE_SCALE_BYTES 5

struct gcb_range_params {
    uint64_t bits;     /* bits of a code, 2 to 16 */
    uint64_t mantissa; /* bits of the mantissa; 0: chosen from the data */
    double max;        /* larger magnitudes are clamped to it; 0: the data's largest magnitude */
    int rounding;      /* enum gcb_range_rounding */
};

/* The names by enum gcb_range_rounding, for parameter tables; NULL ends them. */
extern const char *const gcb_range_rounding_names[];

/* The beginning of a state of the codec `range`, on the CPU and on a device. */
struct gcb_range_state {
    struct gcb_codec_base base;
    struct gcb_range_params p;
};

/* Sets the base's fields that depend on the parameters. */
static inline void gcb_range_bind(struct gcb_range_state *s)
{
    s->base.max_payload =
        GCB_RANGE_SCALE_BYTES + gcb_packed_bytes(s->base.env.count, (unsigned)s->p.bits);
    s->base.nominal_bits = (double)s->p.bits;
}

/* Returns 0, or GCB_E_INVALID if no format has these bits and this mantissa width. Mantissa 0
 * (chosen from the data) is valid. */
int gcb_range_check(unsigned bits, unsigned mantissa, struct gcb_diag *diag);

/* What gcb_range_choose needs to know about the values. The caller zeroes the struct first. */
struct gcb_range_stats {
    /* number of values by exponent field; only if the parameter `mantissa` is 0 */
    uint64_t exponents[256];
    /* the largest magnitude, as the bits of a float; only if `max` or `mantissa` is 0 */
    uint32_t max_bits;
};
/* Adds n < 2^32 values to the stats. Does not read the values if the parameters fix the format. */
void gcb_range_measure(struct gcb_range_stats *stats, const struct gcb_range_params *p,
                       const struct gcb_kernels *kernels, const float *x, uint64_t n);

/* Makes the format of the parameters. A `mantissa` or `max` of 0 is replaced by a value that is
 * derived from the stats. */
void gcb_range_choose(struct gcb_range_format *format, const struct gcb_range_params *p,
                      const struct gcb_range_stats *stats);

/* Write and read the scale (GCB_RANGE_SCALE_BYTES bytes). Reading uses only p->bits, and returns 0
 * or GCB_E_CORRUPT. */
void gcb_range_put_scale(struct gcb_wbuf *out, const struct gcb_range_format *format);
int gcb_range_get_scale(struct gcb_range_format *format, const struct gcb_range_params *p,
                        struct gcb_rbuf *in);

/* Converts n values to gcb_packed_bytes(n, bits) bytes. Returns the number of clamped values. */
uint64_t gcb_range_put(uint8_t *out, const float *x, uint64_t n,
                       const struct gcb_range_format *format, const struct gcb_kernels *kernels);
/* Converts gcb_packed_bytes(n, bits) bytes to n values. */
void gcb_range_get(float *x, const uint8_t *in, uint64_t n, const struct gcb_range_format *format,
                   const struct gcb_kernels *kernels);

#endif
