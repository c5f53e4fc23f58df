#ifndef SRC_LIB_CODEC_FRAMING_H
#define SRC_LIB_CODEC_FRAMING_H

#include "src/lib/codec/method.h"
#include "src/lib/wire/message.h"

/* Between a method and the heads of its messages: what coders on the CPU and on a device share. */

/* More elements than any machine holds; below it, sizes in bits and bytes cannot overflow. */
#define GCB_MAX_ELEMENTS (UINT64_C(1) << 56)

/* Bytes of an element in a stored message: no wider than the float32 that codecs see. */
size_t gcb_framing_raw_size(enum gcb_dtype source);

/* The longest payload: the codec's own max_payload, or the raw tensor if that is longer. */
uint64_t gcb_framing_max_payload(uint64_t count, enum gcb_dtype source, uint64_t own);

/*
 * The head of a coder's messages; everything in it but the payload's length and the stored flag is known before
 * encoding. source, count and the checksum flag are the caller's; `state` holds the parameters (gcb_param_store)
 * and `max_payload` is its longest payload in bytes. 0 or GCB_E_INTERNAL.
 */
int gcb_framing_prepare(struct gcb_frame *f, const struct gcb_codec *codec, const void *state,
                        uint64_t max_payload, struct gcb_diag *diag);

/* The method a frame names, at the frame's parameters. GCB_E_UNSUPPORTED, GCB_E_CORRUPT. */
int gcb_framing_method(struct gcb_method *m, const struct gcb_frame *f, struct gcb_diag *diag);

/* Of a decoder's creation: parameters that make no sense are ones no encoder would have written, so
 * GCB_E_INVALID becomes GCB_E_CORRUPT, in `diag` too. Other codes are returned as they are. */
int gcb_framing_verdict(int err, struct gcb_diag *diag);

#endif
