#ifndef SRC_TOOL_TRIAL_DEVICE_CHECK_H
#define SRC_TOOL_TRIAL_DEVICE_CHECK_H

#include "src/tool/metric/fidelity.h"
#include "src/tool/trial/coders.h"

/* Tolerances for methods with a library's transform (GCB_CAP_LIBRARY_MATH): how far apart two backends may be in what
 * they decode one message to, relative to its norm; and in the errors (rel_l2) of their messages of one tensor. */
#define GCB_DECODERS_APART 1e-6
#define GCB_MESSAGES_APART 1e-4
/* And both may differ by this distance over n elements: an unscaled inverse takes the rounding of the smallest floats,
 * 2^-149, up to sqrt(n) times; here 4 of them are allowed. */
double gcb_device_rounding(uint64_t n);

/*
 * One message that a device made, compared with what the CPU makes. Never timed. The checks return GCB_E_UNVERIFIED,
 * with words, if the device is wrong (docs/method.md, "On a device").
 */
struct gcb_device_check {
    const struct gcb_method *method;
    struct gcb_view in;              /* what was encoded */
    const struct gcb_wbuf *message;  /* the device's, sealed */
    const struct gcb_wbuf *expected; /* the CPU's, sealed */
    const float *decoded;            /* what the device decoded `message` to */
    float *scratch;                  /* in.count floats */
    struct gcb_coders *coders;       /* for the CPU's decoders */
    const struct gcb_kernels *kernels;
    const struct gcb_queue *queue;
};

/* Are both messages the same bytes? With GCB_CAP_LIBRARY_MATH they may differ. */
int gcb_device_check_message(const struct gcb_device_check *c, struct gcb_diag *diag);

/*
 * Does the CPU decode the message to the same values: bit for bit, or with GCB_CAP_LIBRARY_MATH within the tolerances?
 * `error` compares c->in with c->decoded. Fills the parts of the message.
 */
int gcb_device_check_values(const struct gcb_device_check *c, const struct gcb_fidelity *error,
                            struct gcb_message_parts *parts, struct gcb_diag *diag);

/* Is `error`, which the device measured, what the CPU measures, bit for bit? */
int gcb_device_check_fidelity(const struct gcb_device_check *c, const struct gcb_fidelity *error,
                              struct gcb_diag *diag);

#endif
