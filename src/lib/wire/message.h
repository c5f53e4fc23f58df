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
 *   8   4   element count         (8 bytes each when wide)
 *   12  4   payload bytes
 *   16  P   parameters of the codec, in the order of its table
 *       ..  payload
 *       8   XXH3-64 of everything before it, when flagged
 *
 * A frame is as long as its bytes: nothing may follow it.
 */
#define GCB_WIRE_VERSION 1
#define GCB_WIRE_MAX_PARAMS 64
#define GCB_CHECKSUM_BYTES 8

enum gcb_wire_flags { GCB_WIRE_STORED = 1, GCB_WIRE_CHECKSUM = 2, GCB_WIRE_WIDE = 4 };

struct gcb_frame {
    uint8_t codec;
    uint8_t flags;
    enum gcb_dtype source;
    uint64_t count;
    uint64_t payload_bytes;
    uint8_t param_bytes;
    uint8_t params[GCB_WIRE_MAX_PARAMS];
};

/* Bytes of the frame in front of the payload, and behind it. */
size_t gcb_frame_head(const struct gcb_frame *f);
size_t gcb_frame_tail(const struct gcb_frame *f);

/* Writes the head at the buffer's end. The payload length may be filled in later: */
void gcb_frame_write(const struct gcb_frame *f, struct gcb_wbuf *out);
/* rewrites flags, parameter count and lengths of a head that begins at `head`. */
void gcb_frame_patch(const struct gcb_frame *f, uint8_t *head);

/*
 * Parses and validates a whole message; *payload is set to its payload. Lengths are checked against
 * `length` before they are used; the checksum is not checked here. GCB_E_CORRUPT (not a message, cut,
 * contradictory), GCB_E_UNSUPPORTED (newer version or unknown flags).
 */
int gcb_frame_parse(struct gcb_frame *f, struct gcb_rbuf *payload, const void *message,
                    size_t length, struct gcb_diag *diag);

/*
 * Fills or checks the checksum field of a message that has one; of one that has none, nothing is done
 * and nothing is wrong (who needs one asks the frame's flags). `salt` is mixed in (0 for none): the
 * container passes the hash of what it keeps beside the message.
 */
void gcb_message_seal(uint8_t *message, size_t length, uint64_t salt);
int gcb_message_check(const uint8_t *message, size_t length, uint64_t salt, struct gcb_diag *diag);

#endif
