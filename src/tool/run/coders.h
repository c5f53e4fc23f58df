#ifndef SRC_TOOL_RUN_CODERS_H
#define SRC_TOOL_RUN_CODERS_H

#include "src/lib/coder/coder.h"
#include "src/lib/sum/sum.h"
#include "src/tool/base/memory.h"

/*
 * A cache of coders and sums, because creating a coder (an FFT plan, scratch memory) may take
 * longer than encoding a small tensor. The cache is limited by the total number of elements of its
 * coders. The largest coders are dropped first, because creating them costs least compared with
 * their work.
 *
 * The returned coder or sum is borrowed until the next call that returns a coder or sum: that call
 * may destroy it. So the encoder and the decoder of a message are not in memory together if the
 * message has more than half of the allowed elements.
 */
struct gcb_coders;

/* `budget`: most elements of all coders in the cache together; a single coder may have
 * more. */
struct gcb_coders *gcb_coders_create(uint64_t budget);
void gcb_coders_destroy(struct gcb_coders *c); /* NULL is fine */

/*
 * Sets *out to an encoder for `method` with `config`: one from the cache if method (compared by
 * address), path, shapes, count, source type and role are the same, otherwise a new one. All else
 * in `config`, such as the seed, must be the same in all calls with this method. The shapes must
 * stay valid as long as `c`.
 *
 * A method whose messages depend on earlier calls (GCB_CAP_STATEFUL) always gets a new encoder, so
 * that no message depends on another message. Repeated encodings of one message, as for timing,
 * still depend on each other. src/tool/replay is for sequences of messages.
 */
int gcb_coders_encoder(struct gcb_coders *c, struct gcb_coder **out,
                       const struct gcb_method *method, const struct gcb_coder_config *config,
                       struct gcb_diag *diag);

/* Sets *out to a decoder for this message, from the cache or new. `config` gives kernels, queue,
 * FFT engine, probe and limits of a new decoder; its place must be NULL, so the decoder runs on the
 * CPU. Everything else comes from the message's header. */
int gcb_coders_decoder(struct gcb_coders *c, struct gcb_coder **out, const void *message,
                       size_t length, const struct gcb_coder_config *config, struct gcb_diag *diag);

/*
 * Sets *out to a sum without messages, from the cache or new. The sum takes messages of `method`
 * (compared by address) with as many elements as `message`. The sum's accumulator is `into`, which
 * must be the same array in all calls with the same `c`. The caller finishes the sum before the
 * next call.
 */
int gcb_coders_sum(struct gcb_coders *c, struct gcb_sum **out, const struct gcb_method *method,
                   const struct gcb_wbuf *message, float *into,
                   const struct gcb_coder_config *config, struct gcb_diag *diag);

/* Sets `message` to an empty buffer in `room` with space for the coder's longest message, and with
 * `raw` also for a message with the raw tensor. The payload begins on a cache line, because stores
 * that are not aligned make a copy 3 to 5 % slower. Earlier contents are lost. Returns 0 or
 * GCB_E_NOMEM. */
int gcb_coders_room(struct gcb_room *room, struct gcb_wbuf *message, const struct gcb_coder *coder,
                    bool raw, struct gcb_diag *diag);

#endif
