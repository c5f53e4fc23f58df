#ifndef SRC_TOOL_RUN_CODERS_H
#define SRC_TOOL_RUN_CODERS_H

#include "src/lib/coder/coder.h"
#include "src/lib/sum/sum.h"

/*
 * A cache of coders and sums, because creating a coder may take longer than encoding a small tensor
 * (an FFT plan, scratch memory). It is limited by the number of elements that the coders are for.
 * The largest coders are dropped first: creating them costs least compared with their work.
 *
 * The returned coder or sum is borrowed until the next call that gets one, which may destroy it. So
 * the encoder and the decoder of a large message are never in memory together.
 */
struct gcb_coders;

/* `budget`: elements of all coders in the cache together; a single coder may have more. */
int gcb_coders_create(struct gcb_coders **out, uint64_t budget, struct gcb_diag *diag);
void gcb_coders_destroy(struct gcb_coders *c); /* NULL is fine */

/*
 * An encoder for `method` (compared by address) under `config`: from the cache if method, path,
 * shape, count, source type and role are the same, otherwise a new one. config's shape must stay
 * valid as long as `c`.
 *
 * A method whose messages depend on earlier ones (GCB_CAP_STATEFUL) always gets a new encoder, so
 * that each message is encoded as if it were the first; src/tool/replay is for sequences of
 * messages.
 */
int gcb_coders_encoder(struct gcb_coders *c, struct gcb_coder **out,
                       const struct gcb_method *method, const struct gcb_coder_config *config,
                       struct gcb_diag *diag);

/* A decoder for this message, from the cache or new, as its header demands. `config` gives kernels,
 * queue and limits. */
int gcb_coders_decoder(struct gcb_coders *c, struct gcb_coder **out, const void *message,
                       size_t length, const struct gcb_coder_config *config, struct gcb_diag *diag);

/*
 * A sum that begins at zero, for messages of `method` (compared by address) with as many elements
 * as this message: from the cache or new. Its accumulator is `into`, which must be the same array
 * in all calls with the same `c`. Before the next call the caller finishes the sum.
 */
int gcb_coders_sum(struct gcb_coders *c, struct gcb_sum **out, const struct gcb_method *method,
                   const struct gcb_wbuf *message, float *into,
                   const struct gcb_coder_config *config, struct gcb_diag *diag);

/* Memory for one message, which grows as needed. The payload begins on a cache line: otherwise its
 * stores would not be aligned, which makes a copy 3 to 5 % slower. Starts zeroed. */
struct gcb_room {
    uint8_t *block;
    size_t size;
};
void gcb_room_fini(struct gcb_room *room); /* zeroed is fine */

/* Sets `message` to an empty buffer in `room` that fits the coder's longest message; with `raw`,
 * also a message with the raw tensor. Earlier contents are lost. */
int gcb_coders_room(struct gcb_room *room, struct gcb_wbuf *message, const struct gcb_coder *coder,
                    bool raw, struct gcb_diag *diag);

#endif
