#ifndef SRC_TOOL_RUN_TRIAL_H
#define SRC_TOOL_RUN_TRIAL_H

#include "src/lib/codec/probe.h"
#include "src/lib/device/place.h"
#include "src/tool/measure/fidelity.h"
#include "src/tool/measure/measure.h"
#include "src/tool/read/layout.h"
#include "src/tool/run/coders.h"
#include "src/tool/run/input.h"
#include "src/tool/run/sums.h"
#include "src/tool/run/tally.h"

/*
 * The lower bound for the time of any codec: memcpy of a message's float32 elements to a buffer and
 * back. It is timed in turn with the codec `identity`, which copies in the same way and writes a
 * message, so their difference is the overhead of messages and of measuring.
 *
 * Rows show "memcpy" as a method, but it cannot encode.
 */
extern const struct gcb_method gcb_copy_method;

/* Buffers of memcpy. */
struct gcb_copy {
    float *there, *back;
    const float *from; /* of the current copy, as the next two */
    float *to;
    uint64_t count;
    /* the last message that was copied in turn with identity */
    const struct gcb_message_plan *timed;
};

/*
 * Measures how long each stage of encoding or decoding takes, in separate runs, so that the timed
 * runs are not interrupted to read the clock (docs/method.md). The time of the first stage includes
 * writing the message's header; the work after the last stage is not counted.
 */
#define GCB_STAGE_RUNS 5 /* most runs */

struct gcb_stages {
    struct gcb_probe probe;     /* for the coder's gcb_codec_env; inactive between measurements */
    double seconds[GCB_STAGES]; /* medians; 0 for a stage that was not reached */
    bool staged;                /* the codec reported stages */
    /* in the current run: time of the last report, and seconds of each stage */
    double last, run[GCB_STAGES];
};

/* `s` must not move while a coder has its probe. */
void gcb_stages_init(struct gcb_stages *s);

/*
 * Runs the operation, an encoding or a decoding, `runs` times (at most GCB_STAGE_RUNS), fewer if
 * timing->stop says so, from cold caches with timing->evict, and sets seconds and staged. Its coder
 * was created with the probe. Nothing is allocated.
 */
int gcb_stages_measure(struct gcb_stages *s, const struct gcb_timing *timing, size_t runs,
                       const struct gcb_operation *op, struct gcb_diag *diag);

/*
 * The input of a large message whose memory the decoded tensor has taken. The input is read again,
 * a window at a time, to compare the decoded tensor with it. So input and decoded tensor are never
 * in memory together.
 */
struct gcb_original {
    struct gcb_source *source;
    const struct gcb_message_plan *plan;
    float *data;   /* plan->count elements: first the input, later the decoded tensor */
    bool zero;     /* infinities and NaNs of the input are set to 0 */
    float *window; /* room for `window_elements` */
    /* a multiple of GCB_SUM_BLOCK, so that sums are the same bits as without windows */
    uint64_t window_elements;
    const struct gcb_kernels *kernels;
    const struct gcb_queue *queue;
};

/* True if all tensors of the message can be read in parts. */
bool gcb_original_possible(const struct gcb_source *source, const struct gcb_message_plan *plan);

/* Reads the input into o->data. */
int gcb_original_load(const struct gcb_original *o, struct gcb_diag *diag);

/* Adds the error of `count` decoded elements, from element `from` on, to `f`, as gcb_fidelity_add
 * would. */
int gcb_original_compare(const struct gcb_original *o, struct gcb_fidelity *f, uint64_t from,
                         uint64_t count, struct gcb_diag *diag);

/* The result of one message with one method. Pointers are valid only during the call. */
struct gcb_run_trial {
    const struct gcb_message_plan *plan;
    const struct gcb_tensor *first; /* the message's first tensor; set by gcb_run, as `method` */
    const char *name;               /* gcb_plan_name */
    size_t method;                  /* index of the method */
    struct gcb_tally tally;
    const struct gcb_samples *samples; /* GCB_TIMED; without a count: not measured */
    const float *decoded;              /* plan->count elements */
    const float *input; /* plan->count elements; NULL if `decoded` took their memory */
    /* reads the input again if `input` is NULL; else NULL */
    const struct gcb_original *original;
};

/* A trial of one message with one method: encode, decode the message, and compare with the
 * input. */
struct gcb_trial_config {
    const struct gcb_kernels *kernels;
    const struct gcb_queue *queue;
    uint64_t seed;
    enum gcb_fft_engine fft_engine;
    struct gcb_timing timing;
    const struct gcb_device *device; /* where messages are coded; NULL: the CPU */
    bool stages;                     /* also time the stages of encoding, in separate runs */
    /* also time sums of messages; only on the CPU. Includes check_sums, for messages of any size */
    bool sums;
    /* on the CPU: check the sums of messages of at most GCB_TRIAL_SUM_MOST elements
     * (gcb_sums_check) */
    bool check_sums;
    /* time memcpy in turn with `identity`; the trial of gcb_copy_method must come next */
    bool copy;
    /* Receives the result of each message, in order. During the call the bench has the message. */
    int (*take)(void *ctx, struct gcb_run_trial *trial, struct gcb_diag *diag);
    void *ctx;
};

/* 16 MiB. For larger messages the check would take a fifth of the time of `compress`, and another
 * tensor in memory. */
#define GCB_TRIAL_SUM_MOST (UINT64_C(1) << 22)

/* Coders and buffers, kept between trials. Zero it before gcb_trial_bench_init, and do not move it
 * after. */
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
    /* of the last message, as in gcb_run_trial, and for src/tool/run/trial.c */
    struct gcb_samples samples[GCB_TIMED + 5];
    struct gcb_sums_messages messages; /* what was added in the last trial */
    double began;                      /* start of the trial, by gcb_clock */
    struct gcb_stages stages;
    struct gcb_copy copy; /* zeroed unless config.copy */
};

/* `largest`: elements of the largest message to come, except messages with
 * gcb_trial_input.original. */
int gcb_trial_bench_init(struct gcb_trial_bench *b, const struct gcb_trial_config *config,
                         uint64_t largest, struct gcb_diag *diag);
void gcb_trial_bench_fini(struct gcb_trial_bench *b); /* zeroed is fine */

struct gcb_trial_input {
    const struct gcb_message_plan *plan;
    const float *data; /* plan->count elements */
    /* If not NULL, the message is decoded into original->data, which equals `data`, so the input is
     * lost. Only on the CPU and without config.copy. */
    const struct gcb_original *original;
    /* as gcb_plan_env sets it; its shape must stay valid as long as the bench */
    struct gcb_codec_env env;
    uint64_t nonfinite; /* infinities and NaNs that were found in the message */
    bool raw;           /* the message is sent raw, because `data` has infinities or NaNs */
};

/* The largest number of messages in a group. */
#define GCB_TRIAL_GROUP 256

/* Returns how many of the `count` messages, from the first on, a device encodes in one set of
 * launches (docs/method.md, "Groups"). All must be of one step and worker. 1 on the CPU. The next
 * gcb_trial_run_group has to run this group, because the bench keeps its encoders. */
size_t gcb_trial_group(struct gcb_trial_bench *b, const struct gcb_method *method,
                       const struct gcb_trial_input in[], size_t count);

/*
 * Runs trials of a group of `count` messages, a number that gcb_trial_group returned. They are
 * timed together, and each message gets a share of the times by its input bytes. Coders are kept
 * for the method's address. A dense message is encoded by `identity` instead. gcb_copy_method needs
 * config.copy. On failure b->at is the index of the message.
 *
 * On a device, tensors are uploaded once, and one call encodes all messages. The call is timed
 * twice: by the clock, from the first queued work until the host knows all lengths; and by the
 * device's events around the queued work. (If a tensor must be sent raw after all, the events
 * include the wait before that.) Decoding is timed in the same way, and copies between host and
 * device separately (docs/method.md). With config.timing.evict the device's caches are flushed
 * before each timed call. The error is measured on the device. Messages, values and errors from the
 * device are compared with the CPU's, untimed (src/tool/run/device_check.h). GCB_E_UNVERIFIED: they
 * differ; GCB_E_UNSUPPORTED: the method does not run on a device; GCB_E_BACKEND: a library that the
 * method needs on the device is missing.
 */
int gcb_trial_run_group(struct gcb_trial_bench *b, const struct gcb_method *method,
                        const struct gcb_trial_input in[], size_t count, struct gcb_diag *diag);

#endif
