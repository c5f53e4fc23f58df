#ifndef SRC_LIB_WIRE_MESSAGE_H
#define SRC_LIB_WIRE_MESSAGE_H

#include "src/lib/base/diag.h"
#include "src/lib/wire/buf.h"

/*
 * The frame of a message (docs/format.md):
 *
 *   0   3   magic "GCB"
 *   3   1   version, 1
 *   4   1   wire id of the codec
 *   5   1   flags: 1 stored, 2 checksum, 4 wide
 *   6   1   source element type (enum gcb_dtype)
 *   7   1   bytes of parameters, P
 *   8   4   element count
 *   12  4   payload bytes
 *   16  P   parameters of the codec, in the order of its table
 *       ..  payload
 *       8   XXH3-64 of all bytes before it, if flag 2 is set
 *
 * If flag 4 is set, the element count and the payload bytes take 8 bytes each, so the parameters
 * begin at byte 24. Nothing may follow a frame.
 */
#define GCB_WIRE_VERSION 1
#define GCB_WIRE_MAX_PARAMS 64 /* most bytes of parameters */
#define GCB_CHECKSUM_BYTES 8

/* STORED: the payload is the raw tensor. CHECKSUM: a checksum follows the payload. WIDE: lengths
 * have 8 bytes. */
enum gcb_wire_flags { GCB_WIRE_STORED = 1, GCB_WIRE_CHECKSUM = 2, GCB_WIRE_WIDE = 4 };

struct gcb_frame {
    uint8_t codec;          /* wire id */
    uint8_t flags;          /* enum gcb_wire_flags */
    enum gcb_dtype source;  /* element type of the tensor before encoding */
    uint64_t count;         /* elements of the tensor */
    uint64_t payload_bytes; /* without the checksum */
    uint8_t param_bytes;    /* number of bytes in `params` that are used */
    uint8_t params[GCB_WIRE_MAX_PARAMS];
};

/* Return the number of bytes of a frame before the payload, and after it. They depend only on
 * `flags` and `param_bytes`. */
size_t gcb_frame_head(const struct gcb_frame *f);
size_t gcb_frame_tail(const struct gcb_frame *f);

/* Appends the bytes before the payload. gcb_frame_patch can fill in the payload's length later.
 * Sets out->failed if they do not fit, or if the count or the payload's length does not fit in 32
 * bits and *f is not wide. */
void gcb_frame_write(const struct gcb_frame *f, struct gcb_wbuf *out);
/* Rewrites the fields before the parameters, such as the lengths, of the frame that begins at
 * `head`. Both *f and that frame must have the flag GCB_WIRE_WIDE, or neither. */
void gcb_frame_patch(const struct gcb_frame *f, uint8_t *head);

/*
 * Parses and validates a message of `length` bytes, which may be hostile. Sets *payload to the
 * message's payload, borrowed. Does not check the checksum. Returns 0 or:
 *   GCB_E_CORRUPT      not a message, or cut, or a field is out of range, or the lengths
 *                      contradict each other
 *   GCB_E_UNSUPPORTED  a newer version, or unknown flags
 *   GCB_E_INVALID      `message` is NULL, but `length` is not 0
 * After an error *f and *payload are unchanged.
 */
int gcb_frame_parse(struct gcb_frame *f, struct gcb_rbuf *payload, const void *message,
                    size_t length, struct gcb_diag *diag);

/* Fills the checksum field of a message, if it has one. `salt` is the seed of the checksum: a
 * container passes a hash of what it stores besides the message, others pass 0. */
void gcb_message_seal(uint8_t *message, size_t length, uint64_t salt);
/* Checks the checksum of a message; without a checksum, checks only that gcb_frame_parse accepts
 * the message. A caller that requires a checksum must look at the frame's flags. Returns 0,
 * GCB_E_CORRUPT or an error of gcb_frame_parse. */
int gcb_message_check(const uint8_t *message, size_t length, uint64_t salt, struct gcb_diag *diag);

#endif
