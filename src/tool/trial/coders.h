#ifndef SRC_TOOL_TRIAL_CODERS_H
#define SRC_TOOL_TRIAL_CODERS_H

#include "src/lib/codec/coder.h"

/*
 * Coders kept between messages, because creating one may cost more than encoding a small tensor (an
 * FFT plan, scratch that has to be mapped). What is kept is limited by the elements they are for; the
 * largest go first, whose creation matters least beside their work.
 *
 * A coder that is handed out is borrowed until the next call of either function: that call may
 * destroy it. So a large message's encoder and decoder never stand in memory together.
 */
struct gcb_coders;

/* `budget`: elements that all kept coders together may be for; a single one may be for more. */
int gcb_coders_create(struct gcb_coders **out, uint64_t budget, struct gcb_diag *diag);
void gcb_coders_destroy(struct gcb_coders *c); /* NULL is fine */

/*
 * An encoder for `method` (the pointer is its identity) under `config`: a kept one if method, path,
 * shape, count, source type and role are the same, else a new one. config's shape must stay valid as
 * long as `c`.
 *
 * Always a new one for a method whose messages depend on earlier ones (GCB_CAP_STATEFUL): what it
 * remembers would last until room is needed, and so depend on whatever else is run. Here every message stands
 * alone; src/tool/replay/replay.h has the place where they follow each other.
 */
int gcb_coders_encoder(struct gcb_coders *c, struct gcb_coder **out,
                       const struct gcb_method *method, const struct gcb_coder_config *config,
                       struct gcb_diag *diag);

/*
 * A decoder for this message, chosen or built from its header alone. `config` gives kernels, queue and
 * limits.
 */
int gcb_coders_decoder(struct gcb_coders *c, struct gcb_coder **out, const void *message,
                       size_t length, const struct gcb_coder_config *config, struct gcb_diag *diag);

/*
 * Memory for messages, taken as they need it. A message is placed so that its payload begins on a cache line: a
 * header in front would otherwise shift every store of the payload, which alone costs a copy 3 to 5 %. Starts
 * zeroed.
 */
struct gcb_room {
    uint8_t *block;
    size_t size;
};
void gcb_room_fini(struct gcb_room *room); /* zeroed is fine */

/* Points the empty `message` into the room, where the coder's longest message fits; what was there is lost. */
int gcb_coders_room(struct gcb_room *room, struct gcb_wbuf *message, const struct gcb_coder *coder,
                    struct gcb_diag *diag);

#endif
