#ifndef SRC_LIB_CODEC_RANGE_H
#define SRC_LIB_CODEC_RANGE_H

#include "src/lib/codec/packed.h"

/*
 * Range floats in a payload, for the codec `range` and for the values of the sparse codec. The
 * scale of a payload is the value of the largest code (float32) and the mantissa width (1 byte).
 * The scale and `bits`, which is in the message's header, determine the format. The decoder need
 * not know how the encoder rounded.
 */
#define GCB_RANGE_SCALE_BYTES 5

struct gcb_range_params {
    uint64_t bits;     /* 2..16 */
    uint64_t mantissa; /* 0: chosen from the data */
    double max;        /* 0: taken from the data */
    int rounding;      /* enum gcb_range_rounding */
};

/* Names of enum gcb_range_rounding, for parameter tables. */
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

/* GCB_E_INVALID if there is no format with these bits and this mantissa width. Mantissa 0 (from the
 * data) is valid. */
int gcb_range_check(unsigned bits, unsigned mantissa, struct gcb_diag *diag);

/* What gcb_range_choose needs to know about the values. The caller zeroes it first. */
struct gcb_range_stats {
    uint64_t exponents[256]; /* number of values by exponent; only if the mantissa is chosen */
    uint32_t max_bits;       /* largest magnitude; only if max or the mantissa is chosen */
};
/* Adds n values to the stats. If the parameters fix the format, it does not read the values. */
void gcb_range_measure(struct gcb_range_stats *stats, const struct gcb_range_params *p,
                       const struct gcb_kernels *kernels, const float *x, uint64_t n);

/* Chooses the format from the parameters; a parameter that is 0 is replaced by a value from the
 * data. */
void gcb_range_choose(struct gcb_range_format *format, const struct gcb_range_params *p,
                      const struct gcb_range_stats *stats);

/* Write and read the scale, GCB_RANGE_SCALE_BYTES. Reading returns 0 or GCB_E_CORRUPT. */
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
