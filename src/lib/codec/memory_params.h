#ifndef SRC_LIB_CODEC_MEMORY_PARAMS_H
#define SRC_LIB_CODEC_MEMORY_PARAMS_H

#include "src/lib/codec/param.h"

/* The memory that may stand around a coder (src/lib/memory/memory.h), as far as a method names it. */
enum gcb_memory_kind {
    GCB_MEMORY_NONE,
    GCB_MEMORY_EF,
    GCB_MEMORY_DGC,
    GCB_MEMORY_DELAY,
    GCB_MEMORY_DEMO,
};

/* Values of the parameter table below. Plain data. */
struct gcb_memory_params {
    int kind;
    double decay;    /* ef: share of the residual carried on */
    double momentum; /* m of dgc, delay, demo */
    int nesterov;    /* dgc */
    int masking;     /* dgc, delay: momentum is zeroed where something was sent */
    double clip;     /* dgc: gradients are scaled to this norm (0: not), times workers^-1/2 */
    uint64_t delay;  /* delay: steps summed before one message */
};

/* Rows over struct gcb_memory_params; every method accepts them beside its codec's own. */
extern const struct gcb_param gcb_memory_table[];

#endif
