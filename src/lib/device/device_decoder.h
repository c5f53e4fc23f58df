#ifndef SRC_LIB_DEVICE_DEVICE_DECODER_H
#define SRC_LIB_DEVICE_DEVICE_DECODER_H

#include "src/lib/device/device_coder.h"

/*
 * Messages of any kind, one after the other, from host memory to host memory through a device. What one message took on
 * the device serves the next one, if that is not larger; a coder is made anew where method, parameters or count change.
 * Not thread-safe.
 */
struct gcb_device_decoder;

/* `device` is borrowed as long as it. `prefill`: elements that decoding were to leave out keep what out->data holds, for
 * one upload more; without it they hold anything. */
int gcb_device_decoder_create(struct gcb_device_decoder **out, const struct gcb_device *device,
                              bool prefill, struct gcb_diag *diag);
void gcb_device_decoder_destroy(struct gcb_device_decoder *d); /* NULL is fine */

/*
 * As gcb_coder_create_decoder and gcb_coder_decode: of any bytes, and the checksum is not checked. Waits. After a
 * failure out->data is unspecified.
 * GCB_E_CORRUPT, also where the message promises more than out->count; GCB_E_MISMATCH: where it has fewer;
 * GCB_E_UNSUPPORTED: the method, or what its parameters ask for, runs on the CPU only; GCB_E_NOMEM; GCB_E_BACKEND: a
 * library is missing; GCB_E_DEVICE.
 */
int gcb_device_decoder_run(struct gcb_device_decoder *d, const void *message, size_t length,
                           const struct gcb_mview *out, struct gcb_diag *diag);

#endif
