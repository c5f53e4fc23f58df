#ifndef SRC_TOOL_RUN_DEVICE_CHECK_H
#define SRC_TOOL_RUN_DEVICE_CHECK_H

#include "src/tool/measure/fidelity.h"
#include "src/tool/run/coders.h"

/*
 * Tolerances for methods whose transform comes from a library (GCB_CAP_DEVICE_MATH).
 * GCB_DECODERS_APART is the largest L2 distance, relative to the norm, between the tensors that two
 * backends decode from one message. GCB_MESSAGES_APART is the largest difference between the errors
 * (rel_l2) of the two backends' messages for one tensor.
 */
#define GCB_DECODERS_APART 1e-6
#define GCB_MESSAGES_APART 1e-4
/* The L2 distance over n elements that is allowed in addition to these tolerances. An unscaled
 * inverse transform multiplies the rounding of the smallest floats, 2^-149, by up to sqrt(n); the
 * limit is 4 times that in each element. */
double gcb_device_rounding(uint64_t n);
/* The L2 distance of two tensors of n elements as a share of their norm, after the distance that
 * rounding allows. */
double gcb_device_share(double distance, double norm, uint64_t n);

/* Compares a message from a device with the CPU's, untimed (docs/method.md, "On a device"). The
 * checks return GCB_E_UNVERIFIED if they differ. */
struct gcb_device_check {
    const struct gcb_method *method;
    struct gcb_view in;              /* the input */
    const struct gcb_wbuf *message;  /* the device's, sealed */
    const struct gcb_wbuf *expected; /* the CPU's, sealed */
    const float *decoded;            /* the tensor that the device decoded from `message` */
    float *scratch;                  /* in.count floats */
    struct gcb_coders *coders;       /* for the CPU's decoders */
    const struct gcb_kernels *kernels;
    const struct gcb_queue *queue;
};

/* Returns `err`, the outcome of decoding a message on the device that encoded it; GCB_E_CORRUPT
 * means that they differ. */
int gcb_device_check_decoded(int err, struct gcb_diag *diag);

/* Checks that both messages have the same bytes, except with GCB_CAP_DEVICE_MATH. */
int gcb_device_check_message(const struct gcb_device_check *c, struct gcb_diag *diag);

/*
 * Checks that the CPU decodes the device's message to the bits of c->decoded. With
 * GCB_CAP_DEVICE_MATH the values may differ by GCB_DECODERS_APART, and the error of the CPU's
 * message by GCB_MESSAGES_APART from `error`, which is the error of c->decoded. Stores the byte
 * counts of the message's parts in *parts.
 */
int gcb_device_check_values(const struct gcb_device_check *c, const struct gcb_fidelity *error,
                            struct gcb_message_parts *parts, struct gcb_diag *diag);

/* Checks that `error`, which the device measured, equals what the CPU measures, bit for bit. */
int gcb_device_check_fidelity(const struct gcb_device_check *c, const struct gcb_fidelity *error,
                              struct gcb_diag *diag);

#endif
