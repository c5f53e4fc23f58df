#ifndef SRC_LIB_CODER_SLOT_H
#define SRC_LIB_CODER_SLOT_H

#include "src/lib/coder/coder.h"
#include "src/lib/device/place.h"

/*
 * The encoder of src/gcbench.h whose messages stay on a device: struct gcb_device_encoder. A slot
 * is a head of 256 bytes and the payload of a message, padded to a multiple of 256 bytes. The head
 * begins with the result that the codec's kernels write: a struct gcb_device_result, which callers
 * read as struct gcb_slot_head.
 */
struct gcb_device_encoder;

/*
 * Makes an encoder. `device` is copied. config->place, config->nonfinite and config->source are not
 * used. The caller frees *out with gcb_slots_destroy; after an error *out is unchanged. Returns 0,
 * an error of gcb_coder_create, or GCB_E_UNSUPPORTED if the lengths of the method's messages vary,
 * the method has a transform, or slots do not support its memory, its collective or its sums.
 */
int gcb_slots_create(struct gcb_device_encoder **out, const struct gcb_device *device,
                     const struct gcb_method *method, const struct gcb_coder_config *config,
                     struct gcb_diag *diag);
void gcb_slots_destroy(struct gcb_device_encoder *e); /* NULL is fine */

#endif
