#ifndef SRC_LIB_CODEC_QSGD_H
#define SRC_LIB_CODEC_QSGD_H

#include "src/lib/codec/shared_scale.h"

/* What QSGD on the CPU (src/lib/codec/qsgd.c) and on a device share. */

enum gcb_qsgd_norm { GCB_QSGD_MAX, GCB_QSGD_L2 };
enum gcb_qsgd_rounding { GCB_QSGD_STOCHASTIC, GCB_QSGD_NEAREST };
enum gcb_qsgd_coding { GCB_QSGD_FIXED, GCB_QSGD_DENSE, GCB_QSGD_SPARSE };

/* The beginning of a state, on the CPU and on a device. */
struct gcb_qsgd_layout {
    struct gcb_quantiser q;
    /* Parameters. If `bucket` exceeds the number of elements, gcb_qsgd_lay_out lowers it to this
     * number, or to 1 if there are no elements. */
    uint64_t bits, levels, bucket;
    int norm, coding, rounding; /* enum gcb_qsgd_... */
    /* Derived by gcb_qsgd_lay_out. */
    uint32_t s;        /* number of levels above zero */
    unsigned sign_bit; /* 2^sign_bit > s */
    unsigned width;    /* bits of a code with coding=fixed */
    uint64_t buckets;  /* number of buckets; the last may have fewer elements */
};

/* Derives the fields that depend on parameters and element count, here and in the base. */
void gcb_qsgd_lay_out(struct gcb_qsgd_layout *l);

#endif
