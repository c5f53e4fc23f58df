#ifndef SRC_LIB_CODEC_QSGD_PRIVATE_H
#define SRC_LIB_CODEC_QSGD_PRIVATE_H

#include "src/lib/codec/elias.h"
#include "src/lib/codec/qsgd.h"
#include "src/lib/codec/shared_scale.h"

/* QSGD's state on the CPU. Only qsgd.c (messages) and qsgd_reduce.c (all-reduce) use this header. */
struct gcb_qsgd {
    struct gcb_qsgd_params p;
    struct gcb_codec_env env;
    struct gcb_qsgd_layout l;
    bool nonfinite;                 /* in the last tensor, with norm=max */
    uint64_t unit;                  /* elements that a thread takes at a time */
    float *step;                    /* step[l] is l / s for a level l up to s, then 0 */
    struct gcb_elias elias;         /* for coding=elias and elias-sparse */
    struct gcb_shared_scale shared; /* in an all-reduce */
};

/* The number of elements in run i, if the tensor is cut into runs of `length` elements. The last run may be shorter. */
static inline uint64_t gcb_qsgd_run(const struct gcb_qsgd *s, uint64_t i, uint64_t length)
{
    const uint64_t left = s->env.count - i * length;

    return left < length ? left : length;
}

static inline uint64_t gcb_qsgd_units(const struct gcb_qsgd *s)
{
    return (s->env.count + s->unit - 1) / s->unit;
}

/* The data of a call. When encoding, the fields for decoding are NULL, and the reverse. */
struct gcb_qsgd_job {
    const struct gcb_qsgd *s;
    struct gcb_rounding_draw draw;
    const float *from;
    float weight; /* of `from` */
    float *to;
    const struct gcb_addition *add; /* NULL: decode to `to` */
    uint8_t *norms_out, *out;
    const uint8_t *norms, *in;
};

/* Writes the norms of buckets [from, to), times the weight. */
void gcb_qsgd_put_norms(const struct gcb_qsgd_job *job, uint64_t from, uint64_t to);
/* Computes the codes of x[0..n), the tensor's elements from number `first` on; n <= GCB_TILE. The
 * norms of their buckets must have been written. */
void gcb_qsgd_quantise(const struct gcb_qsgd_job *job, const float *x, uint64_t first, size_t n,
                       uint16_t *code);

extern const struct gcb_reduce_ops gcb_qsgd_reduce;

#endif
