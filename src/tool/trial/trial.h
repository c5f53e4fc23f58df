#ifndef SRC_TOOL_TRIAL_TRIAL_H
#define SRC_TOOL_TRIAL_TRIAL_H

#include "src/lib/device/load.h"
#include "src/tool/dump/layout.h"
#include "src/tool/trial/coders.h"
#include "src/tool/trial/copy.h"
#include "src/tool/trial/stages.h"
#include "src/tool/trial/tally.h"

/*
 * One message under one method: encode, decode the bytes, compare with the input. Sizes are of the decoded bytes, and
 * errors of what was decoded.
 */
struct gcb_trial_config {
    const struct gcb_kernels *kernels;
    const struct gcb_queue *queue;
    uint64_t seed;
    enum gcb_fft_rigor fft_rigor;
    struct gcb_timing timing;
    const struct gcb_device *device; /* where messages are coded; NULL: the CPU */
    bool stages;                     /* time the stages of encode too, after it was timed */
    bool copy; /* time memcpy in turn with `identity`; its own trial (gcb_copy_method) comes next */
};

/* What is kept between trials: coders and buffers. Starts zeroed, then init; is not moved after. */
struct gcb_trial_bench {
    struct gcb_trial_config config;
    struct gcb_coders *coders;
    struct gcb_room room;
    struct gcb_wbuf message;    /* the last trial's message, in the room */
    float *decoded;             /* what it was decoded to */
    struct gcb_room check_room; /* with a device: what the CPU makes of the same */
    struct gcb_wbuf check;
    float *check_decoded;
    struct gcb_device_bench *on_device; /* what trials on a device keep there; NULL: nothing yet */
    size_t at;                          /* of a group: index of the message at hand */
    struct gcb_samples encode, decode;
    struct gcb_stages stages;
    struct gcb_copy copy; /* zeroed unless config.copy */
};

/* `largest`: elements of the largest message to come. */
int gcb_trial_bench_init(struct gcb_trial_bench *b, const struct gcb_trial_config *config,
                         uint64_t largest, struct gcb_diag *diag);
void gcb_trial_bench_fini(struct gcb_trial_bench *b); /* zeroed is fine */

struct gcb_trial_input {
    const struct gcb_message_plan *plan;
    const float *data;        /* plan->count of them */
    struct gcb_codec_env env; /* gcb_plan_env's part; a shape must stay valid as long as `b` */
    uint64_t nonfinite;       /* infinities and NaNs that were found in it */
    bool raw;                 /* some are still there */
};

/*
 * Fills *out, and message, decoded and samples of `b`, which hold until the next trial. The method's
 * address is its identity: kept coders belong to it. A dense message goes by `identity` instead.
 * gcb_copy_method is for a bench with config.copy alone.
 */
int gcb_trial_run(struct gcb_trial_bench *b, struct gcb_tally *out, const struct gcb_method *method,
                  const struct gcb_trial_input *in, struct gcb_diag *diag);

/* Most messages of a group. */
#define GCB_TRIAL_GROUP 256

/* How many of the first messages, all of one step and worker, a device encodes by one set of launches (docs/method.md,
 * "Groups"); 1 on the CPU. */
size_t gcb_trial_group(const struct gcb_trial_bench *b, const struct gcb_method *method,
                       const struct gcb_trial_input in[], size_t count);

/* Takes the tally of message i. What gcb_trial_run leaves in the bench holds until it returns. */
struct gcb_trial_taker {
    int (*take)(void *ctx, size_t i, const struct gcb_tally *tally, struct gcb_diag *diag);
    void *ctx;
};

/*
 * gcb_trial_run for a group of `count` messages, as many as gcb_trial_group found. They are timed together; each message
 * has a share of every time, by its input bytes. Otherwise each is treated as by itself. b->at says which message failed.
 */
int gcb_trial_run_group(struct gcb_trial_bench *b, const struct gcb_method *method,
                        const struct gcb_trial_input in[], size_t count,
                        const struct gcb_trial_taker *taker, struct gcb_diag *diag);

/* Parts of a trial: the method of a message (identity for a dense one), its coder's configuration, and its tally at the
 * beginning. */
const struct gcb_method *gcb_trial_method(const struct gcb_method *method,
                                          const struct gcb_message_plan *plan);
struct gcb_coder_config gcb_trial_coder_config(const struct gcb_trial_bench *b,
                                               const struct gcb_trial_input *in);
struct gcb_tally gcb_trial_tally(const struct gcb_trial_input *in);

#endif
