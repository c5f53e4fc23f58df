#ifndef SRC_LIB_DEVICE_DEVICE_DECODER_H
#define SRC_LIB_DEVICE_DEVICE_DECODER_H

#include "src/lib/device/device_coder.h"

/*
 * Decodes messages of any kind, one after the other: from host memory, on a device, to host memory. Device memory is
 * kept for the next message. The coder is made anew when the method, its parameters or the count change.
 * Not thread-safe.
 */
struct gcb_device_decoder;

/* `device` is borrowed. With `prefill`, out->data is uploaded first, so that an element which the decoder fails to write
 * keeps its value; otherwise such an element is undefined. */
int gcb_device_decoder_create(struct gcb_device_decoder **out, const struct gcb_device *device,
                              bool prefill, struct gcb_diag *diag);
void gcb_device_decoder_destroy(struct gcb_device_decoder *d); /* NULL is fine */

/*
 * As gcb_coder_create_decoder and gcb_coder_decode: takes any bytes and does not check the checksum. Waits. After a
 * failure out->data is unspecified.
 * GCB_E_CORRUPT: the message is damaged or promises more elements than out->count; GCB_E_MISMATCH: it has fewer;
 * GCB_E_UNSUPPORTED: the method or its parameters run on the CPU only; GCB_E_NOMEM; GCB_E_BACKEND: a library is
 * missing; GCB_E_DEVICE.
 */
int gcb_device_decoder_run(struct gcb_device_decoder *d, const void *message, size_t length,
                           const struct gcb_mview *out, struct gcb_diag *diag);

/* The tensor of the last run, on the device. The pointer is valid until the next run. */
const float *gcb_device_decoder_tensor(const struct gcb_device_decoder *d);

#endif
