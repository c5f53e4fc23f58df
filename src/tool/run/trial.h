#ifndef SRC_TOOL_TRIAL_TRIAL_H
#define SRC_TOOL_TRIAL_TRIAL_H

#include "src/lib/device/place.h"
#include "src/tool/read/layout.h"
#include "src/tool/run/coders.h"
#include "src/tool/run/copy.h"
#include "src/tool/run/original.h"
#include "src/tool/run/stages.h"
#include "src/tool/run/sums.h"
#include "src/tool/run/tally.h"

/* A trial of one message with one method: encode, decode the message, and compare with the input. */
struct gcb_trial_config {
    const struct gcb_kernels *kernels;
    const struct gcb_queue *queue;
    uint64_t seed;
    enum gcb_fft_rigor fft_rigor;
    struct gcb_timing timing;
    const struct gcb_device *device; /* where messages are coded; NULL: the CPU */
    bool stages;                     /* also time the stages of encoding, in separate runs */
    /* also time sums of messages; only on the CPU. Includes check_sums, for messages of any size */
    bool sums;
    /* on the CPU: check the sums of messages of at most GCB_TRIAL_SUM_MOST elements (gcb_sums_check) */
    bool check_sums;
    /* time memcpy in turn with `identity`; the trial of gcb_copy_method must come next */
    bool copy;
};

/* 16 MiB. For larger messages the check would take a fifth of the time of `compress`, and another tensor in memory. */
#define GCB_TRIAL_SUM_MOST (UINT64_C(1) << 22)

/* Coders and buffers, kept between trials. Zero it before gcb_trial_bench_init, and do not move it after. */
struct gcb_trial_bench {
    struct gcb_trial_config config;
    struct gcb_place place; /* of config.device */
    struct gcb_coders *coders;
    struct gcb_trial_batch *batch; /* the messages that are coded together */
    struct gcb_wbuf message;       /* the last trial's message */
    float *decoded; /* the tensor decoded from it, unless it took the input's memory */
    float *summed;  /* the accumulator of sums of at most `most_summed` elements, or NULL */
    uint64_t most_summed;
    struct gcb_room check_room; /* with a device: message and tensor of the CPU, for comparison */
    struct gcb_wbuf check;
    float *check_decoded;
    size_t at; /* index of the current message in its group */
    struct gcb_samples encode, decode;
    struct gcb_samples sum,
        sum16; /* no samples if the last trial timed no sum (gcb_sums_measure) */
    struct gcb_sums_messages messages; /* what was added in the last trial */
    double began;                      /* start of the trial, by gcb_clock */
    struct gcb_stages stages;
    struct gcb_copy copy; /* zeroed unless config.copy */
};

/* `largest`: elements of the largest message to come, except messages with gcb_trial_input.original. */
int gcb_trial_bench_init(struct gcb_trial_bench *b, const struct gcb_trial_config *config,
                         uint64_t largest, struct gcb_diag *diag);
void gcb_trial_bench_fini(struct gcb_trial_bench *b); /* zeroed is fine */

struct gcb_trial_input {
    const struct gcb_message_plan *plan;
    const float *data; /* plan->count elements */
    /* If not NULL, the message is decoded into original->data, which equals `data`, so the input is lost. Only on the CPU
     * and without config.copy. */
    const struct gcb_original *original;
    /* as gcb_plan_env sets it; its shape must stay valid as long as the bench */
    struct gcb_codec_env env;
    uint64_t nonfinite; /* infinities and NaNs that were found in the message */
    bool raw;           /* the message is sent raw, because `data` has infinities or NaNs */
};

/* The largest number of messages in a group. */
#define GCB_TRIAL_GROUP 256

/* How many of these messages, from the first on, a device encodes in one set of launches (docs/method.md, "Groups"). All
 * must be of one step and worker. 1 on the CPU. */
size_t gcb_trial_group(struct gcb_trial_bench *b, const struct gcb_method *method,
                       const struct gcb_trial_input in[], size_t count);

/* Receives the tally of message i. During the call the bench has the results of that trial. */
struct gcb_trial_taker {
    int (*take)(void *ctx, size_t i, const struct gcb_tally *tally, struct gcb_diag *diag);
    void *ctx;
};

/*
 * Runs trials of a group of `count` messages, a number that gcb_trial_group returned. They are timed together, and each
 * message gets a share of the times by its input bytes. Coders are kept for the method's address. A dense message is encoded
 * by `identity` instead. gcb_copy_method needs config.copy. On failure b->at is the index of the message.
 *
 * On a device, tensors are uploaded once, and one call encodes all messages. The call is timed twice: by the clock, from
 * the first queued work until the host knows all lengths; and by the device's events around the queued work. (If a tensor
 * must be sent raw after all, the events include the wait before that.) Decoding is timed in the same way, and copies
 * between host and device separately (docs/method.md). With config.timing.evict the device's caches are flushed before
 * each timed call. The error is measured on the device. Messages, values and errors from the device are compared with the
 * CPU's, untimed (src/tool/run/device_check.h). GCB_E_UNVERIFIED: they differ; GCB_E_UNSUPPORTED: the method does not run
 * on a device; GCB_E_BACKEND: a library that the method needs on the device is missing.
 */
int gcb_trial_run_group(struct gcb_trial_bench *b, const struct gcb_method *method,
                        const struct gcb_trial_input in[], size_t count,
                        const struct gcb_trial_taker *taker, struct gcb_diag *diag);

#endif
