#ifndef SRC_TOOL_RUN_DEVICE_CHECK_H
#define SRC_TOOL_RUN_DEVICE_CHECK_H

#include "src/tool/measure/fidelity.h"
#include "src/tool/run/coders.h"

/*
 * Tolerances for methods that a device computes with a library (GCB_CAP_DEVICE_MATH), such as an
 * FFT. GCB_DECODERS_APART: the largest L2 distance, relative to the norm, between the tensors that
 * the CPU and a device decode from one message. GCB_MESSAGES_APART: the largest difference between
 * the errors (rel_l2) of the messages that the CPU and a device encode from one tensor.
 */
#define GCB_DECODERS_APART 1e-6
#define GCB_MESSAGES_APART 1e-4
/* Returns `distance`, the L2 distance of two tensors of n elements, as a share of `norm`. First
 * subtracts the distance that may come from rounding to multiples of the smallest float. */
double gcb_device_share(double distance, double norm, uint64_t n);

/* A message that a device encoded, with everything needed to compare it with the CPU's message,
 * untimed (docs/method.md, "On a device"). The checks return GCB_E_UNVERIFIED if device and CPU
 * differ. All pointers are borrowed. */
struct gcb_device_check {
    const struct gcb_method *method;
    struct gcb_view in;              /* the input */
    const struct gcb_wbuf *message;  /* the device's message, with its checksum */
    const struct gcb_wbuf *expected; /* the CPU's message, with its checksum */
    const float *decoded;            /* the tensor that the device decoded from `message` */
    float *scratch;                  /* in.count floats */
    struct gcb_coders *coders;       /* for the CPU's decoders */
    const struct gcb_kernels *kernels;
    const struct gcb_queue *queue;
};

/* Takes the result of decoding a message on the device that encoded it. Returns GCB_E_UNVERIFIED
 * instead of GCB_E_CORRUPT, because the message is the device's own, and any other result as it
 * is. */
int gcb_device_check_decoded(int err, struct gcb_diag *diag);

/* Checks that both messages have the same bytes. Accepts any message of a method with
 * GCB_CAP_DEVICE_MATH. */
int gcb_device_check_message(const struct gcb_device_check *c, struct gcb_diag *diag);

/*
 * Checks that the CPU decodes the device's message to the bits of c->decoded. With
 * GCB_CAP_DEVICE_MATH the decoded values may differ by GCB_DECODERS_APART, and the error of the
 * CPU's message must be within GCB_MESSAGES_APART of `error`, which is the error of c->decoded.
 * Both limits allow for the rounding that gcb_device_share subtracts. Overwrites c->scratch. Stores
 * the sizes of the message's parts in *parts.
 */
int gcb_device_check_values(const struct gcb_device_check *c, const struct gcb_fidelity *error,
                            struct gcb_message_parts *parts, struct gcb_diag *diag);

/* Checks that each member of `error`, which the device measured, equals the member that the CPU
 * measures, or that both are NaNs. */
int gcb_device_check_fidelity(const struct gcb_device_check *c, const struct gcb_fidelity *error,
                              struct gcb_diag *diag);

#endif
