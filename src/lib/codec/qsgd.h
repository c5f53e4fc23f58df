#ifndef SRC_LIB_CODEC_QSGD_H
#define SRC_LIB_CODEC_QSGD_H

#include <stdint.h>

/* What QSGD on the CPU (src/lib/codec/qsgd.c) and on a device share. */

enum gcb_qsgd_norm { GCB_QSGD_MAX, GCB_QSGD_L2 };
enum gcb_qsgd_rounding { GCB_QSGD_STOCHASTIC, GCB_QSGD_NEAREST };
enum gcb_qsgd_coding { GCB_QSGD_FIXED, GCB_QSGD_DENSE, GCB_QSGD_SPARSE };

/* The parameters, as the parameter table stores them. The codec's state begins with this struct, on a device too. */
struct gcb_qsgd_params {
    uint64_t bits, levels, bucket;
    int norm, coding, rounding;
};

/* What follows from the parameters and the element count. */
struct gcb_qsgd_layout {
    uint32_t s;           /* levels above zero */
    unsigned sign_bit;    /* 2^sign_bit > s */
    unsigned width;       /* bits of a code with coding=fixed */
    uint64_t bucket;      /* elements per bucket, at most the tensor's number of elements */
    uint64_t buckets;     /* number of buckets */
    uint64_t max_payload; /* bytes */
};

/* Also sets p->bucket to out->bucket, because a message's header carries p->bucket. */
void gcb_qsgd_lay_out(struct gcb_qsgd_layout *out, struct gcb_qsgd_params *p, uint64_t count);

#endif
