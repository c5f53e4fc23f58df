#ifndef SRC_TOOL_TRIAL_DEVICE_CHECK_H
#define SRC_TOOL_TRIAL_DEVICE_CHECK_H

#include "src/tool/trial/trial.h"

/* How far apart two backends may be where a library does the arithmetic (GCB_CAP_LIBRARY_MATH): in what they decode one
 * message to, of its norm; in the errors of the messages that they make of one tensor, of its norm (rel_l2). */
#define GCB_DECODERS_APART 1e-6
#define GCB_MESSAGES_APART 1e-4
/* And in either case by this distance, over n elements: an inverse that is not scaled takes the rounding of the smallest
 * floats, 2^-149, up to sqrt(n) times; here 4 of them. */
double gcb_device_rounding(uint64_t n);

/*
 * What a device made, held against the CPU, untimed: GCB_E_UNVERIFIED, with words, where it is not what it should be
 * (docs/method.md, "On a device").
 */

/* Is b->message, sealed, what the CPU encodes: byte for byte, unless the method has GCB_CAP_LIBRARY_MATH? The tally
 * takes what the CPU's encoder knows. The CPU's message is in b->check then. */
int gcb_device_check_message(struct gcb_trial_bench *b, struct gcb_tally *out,
                             const struct gcb_method *method, const struct gcb_trial_input *in,
                             const struct gcb_coder_config *config, struct gcb_diag *diag);

/*
 * Are b->decoded the values that the CPU's decoder makes of b->message: bit for bit, or with GCB_CAP_LIBRARY_MATH within
 * 1e-6 of their norm, and within 1e-4 as far from the input as the CPU's own message? And is what the device measured of
 * them, out->fidelity, what the CPU measures, bit for bit? The tally takes the parts of the message. After
 * gcb_device_check_message.
 */
int gcb_device_check_values(struct gcb_trial_bench *b, struct gcb_tally *out,
                            const struct gcb_method *method, const struct gcb_trial_input *in,
                            const struct gcb_coder_config *config, struct gcb_diag *diag);

#endif
