#ifndef SRC_TOOL_RUN_TRIAL_H
#define SRC_TOOL_RUN_TRIAL_H

#include "src/lib/codec/probe.h"
#include "src/lib/coder/coder.h"
#include "src/lib/device/place.h"
#include "src/tool/measure/fidelity.h"
#include "src/tool/measure/measure.h"
#include "src/tool/read/layout.h"
#include "src/tool/rows/fields.h"
#include "src/tool/run/coders.h"
#include "src/tool/run/input.h"
#include "src/tool/run/sums.h"

/* What a trial times: encoding, decoding, adding one message to a sum, and whole sums of 16
 * messages. */
enum gcb_timed_work {
    GCB_TIMED_ENCODE,
    GCB_TIMED_DECODE,
    GCB_TIMED_SUM,
    GCB_TIMED_SUM16,
    GCB_TIMED
};

/* Times of encoding, of decoding or of sums, summed over messages. */
struct gcb_times {
    double seconds; /* medians */
    double min;     /* shortest times */
    /* Ends of the medians' 95 % intervals. The interval between the sums contains the sum of the
     * medians with at least the same confidence. NAN if a message has no interval. */
    double low, high;
    /* on a device: medians by the device's events, and the ends of their intervals */
    double kernel, kernel_low, kernel_high;
    double transfer;          /* on a device: copies between host and device */
    uint64_t measured;        /* messages that have these times */
    uint64_t single;          /* messages that were timed only once */
    uint64_t launches;        /* kernels and fills started on the device */
    uint64_t staged;          /* messages whose stages were timed */
    double stage[GCB_STAGES]; /* sums of the medians of the staged messages */
};

/* The results of a method on one or many messages, as sums over the messages. The figures are
 * computed from the sums at the end. Starts zeroed. */
struct gcb_tally {
    union {
        struct {
            uint64_t messages, elements;
            uint64_t input_bytes; /* size of the input in the source's types */
            uint64_t wire_bytes, header_bytes, scale_bytes, value_bytes, index_bytes;
            uint64_t stored;    /* messages that were sent raw */
            uint64_t varying;   /* messages whose length depends on the values */
            uint64_t dense;     /* messages sent as fp32 instead of by the method */
            uint64_t nonfinite; /* infinities and NaNs, before --nonfinite changes them */
            uint64_t kept, positions, clamped; /* as in struct gcb_parts and gcb_coder_clamped */
            uint64_t asked_of;  /* number of elements in `asked`; 0 without a sparsifier */
            uint64_t on_device; /* messages that a device encoded and decoded */
        };
        uint64_t counts[17]; /* the members above as an array; each is summed over messages */
    };
    /* number of different pairs of step and worker; only gcb_run_total_add counts them */
    uint64_t exchanges;
    /* error of all workers' mean (src/tool/replay/mean.h), if mean_known; only `sweep` sets both */
    double error_of_mean;
    bool mean_known;
    double nominal_bits, entropy0_bits; /* sums over all elements */
    double asked;                       /* sum over elements of the density asked for */
    union {
        struct {
            struct gcb_times encode, decode;
            /* summed only over messages that have them; see gcb_tally_sum */
            struct gcb_times sum, sum16;
        };
        struct gcb_times times[GCB_TIMED]; /* the four members above, by enum gcb_timed_work */
    };
    /* the worst reason why measuring encoding or decoding stopped, or an interruption of sums */
    enum gcb_stop stop;
    enum gcb_stop sum_stop; /* the worst reason why measuring sums stopped */
    uint64_t sum_messages;  /* least number of different messages in a sum; 0: no sums */
    uint64_t group;         /* largest number of messages that the same launches encoded */
    bool follows;           /* the launches count for an earlier message of the same group */
    uint64_t clock_mhz;     /* lowest clock of the device that was read; 0: not known */
    enum gcb_dtype dtype;
    bool mixed_dtypes;
    struct gcb_fidelity fidelity;
};

/* Adds the sums of `other` to t, except `exchanges`, and except `launches` if `other` follows.
 * Leaves error_of_mean, mean_known and `follows` alone. `dtype` becomes the type of the first
 * message. `stop`, `sum_stop`, `sum_messages`, `group` and `clock_mhz` become the worst, least,
 * largest or lowest of both values, as their comments say. */
void gcb_tally_merge(struct gcb_tally *t, const struct gcb_tally *other);

/* Sets the times of a message, and why measuring stopped, from samples[0..GCB_TIMED). If the count
 * of samples[i] is 0, work i was not measured. */
void gcb_tally_times(struct gcb_tally *t, const struct gcb_samples *samples);

/* Sets what the encoder of a message knows: bits as the paper counts them, the density asked for,
 * and whether the length depends on the values. t->elements must be set. */
void gcb_tally_asked(struct gcb_tally *t, const struct gcb_coder *coder,
                     const struct gcb_codec *codec);

/* Sets `stored`, the bytes, `kept`, `positions` and the entropy from the parts of a message. `kept`
 * and `positions` of a dense message (t->dense) are 0. GCB_E_INTERNAL: the parts do not add up to
 * the message's size. */
int gcb_tally_parts(struct gcb_tally *t, const struct gcb_message_parts *parts,
                    struct gcb_diag *diag);

/* Figures of a tally; NAN if the tally has no such figure. */
double gcb_tally_ratio(const struct gcb_tally *t);
double gcb_tally_bits(const struct gcb_tally *t);         /* bits sent for each element */
double gcb_tally_header_share(const struct gcb_tally *t); /* header bytes / wire bytes */
double gcb_tally_density(const struct gcb_tally *t);
double gcb_tally_density_asked(const struct gcb_tally *t);
/* Returns the throughput in GB/s of input for one of the tally's times; NAN if there is no such
 * time, or if a message was timed only once. */
double gcb_tally_gbps(const struct gcb_tally *t, const struct gcb_times *times);
/* Returns the times of adding a message, or with GCB_TIMED_SUM16 of a whole sum of 16 messages.
 * Unless all messages have these times, `seconds`, `min`, `low` and `high` are NAN, and the rest is
 * 0. */
struct gcb_times gcb_tally_sum(const struct gcb_tally *t, enum gcb_timed_work work);
struct gcb_fidelity_figures gcb_tally_figures(const struct gcb_tally *t);

/* Returns the figure of a field, for sorting and searching; NAN if tallies do not have the
 * field. */
double gcb_tally_figure(const struct gcb_tally *t, enum gcb_field field);
/* True if tallies have the figure of this field. */
bool gcb_tally_has_figure(enum gcb_field field);

/*
 * Samples of the time of a whole sequence of messages. Sample r is the sum of sample r of each
 * message. The number of samples is that of the message with the fewest samples. Starts zeroed.
 */
struct gcb_sample_sums {
    double *seconds; /* `count` samples */
    size_t count;
};
/* Adds the samples of a message. */
void gcb_sample_sums_add(struct gcb_sample_sums *sums, const struct gcb_samples *samples);
/* Returns the median absolute deviation of the samples; NAN for fewer than two samples. */
double gcb_sample_sums_mad(const struct gcb_sample_sums *sums);
void gcb_sample_sums_fini(struct gcb_sample_sums *sums); /* zeroed is fine */

/*
 * memcpy of a message's float32 elements to a buffer and back: the lower bound for the time of any
 * codec. If the codec `identity` has encoded the same message before, memcpy was timed in turn with
 * it. `identity` makes the same copies and also writes a message, so the difference between their
 * times is the overhead of messages and of measuring.
 *
 * In rows, "memcpy" is a method, but this method cannot encode.
 */
extern const struct gcb_method gcb_copy_method;

/* The buffers of memcpy, and the current copy. */
struct gcb_copy {
    float *there, *back; /* the input is copied to `there`, and `there` to `back` */
    const float *from;   /* the current copy: source, destination and number of elements */
    float *to;
    uint64_t count;
    /* the last message that was copied in turn with identity */
    const struct gcb_message_plan *timed;
};

/*
 * Measures how long each stage of encoding or decoding takes (docs/method.md). This needs separate
 * runs, because reading the clock between stages would disturb the timed runs. The time of the
 * first stage includes writing or reading the message's header. The work after the last stage is
 * not counted.
 */
#define GCB_STAGE_RUNS 5 /* most runs */

struct gcb_stages {
    /* for the coder's gcb_codec_env, with this struct as its ctx; inactive between measurements */
    struct gcb_probe probe;
    double seconds[GCB_STAGES]; /* medians; 0 for a stage that was not reached */
    bool staged;                /* the codec reported stages */
    double last;                /* time of the last report in the current run, by gcb_clock */
    double run[GCB_STAGES];     /* seconds of each stage in the current run */
};

/*
 * Runs an encoding or a decoding `runs` times, at most GCB_STAGE_RUNS, and sets s->seconds and
 * s->staged. The coder was created with s->probe. There are fewer runs if timing->stop returns
 * true, and only one if the codec reports no stages. With timing->evict the caches are emptied
 * before each run. Allocates nothing. Returns the first error of a run.
 */
int gcb_stages_measure(struct gcb_stages *s, const struct gcb_timing *timing, size_t runs,
                       const struct gcb_operation *op, struct gcb_diag *diag);

/*
 * The input of a large message that is decoded into the memory of its input. For the comparison,
 * the input is read again, a window at a time. So input and decoded tensor are never in memory
 * together. All pointers are borrowed.
 */
struct gcb_original {
    struct gcb_source *source;
    const struct gcb_message_plan *plan;
    float *data;   /* plan->count elements: first the input, later the decoded tensor */
    bool zero;     /* infinities and NaNs of the input are set to 0 */
    float *window; /* room for `window_elements` */
    /* a multiple of GCB_SUM_BLOCK, so that sums have the same bits as without windows */
    uint64_t window_elements;
    const struct gcb_kernels *kernels;
    const struct gcb_queue *queue;
};

/* True if all tensors of the message can be read in parts. */
bool gcb_original_possible(const struct gcb_source *source, const struct gcb_message_plan *plan);

/* Reads the input into o->data. Returns errors of reading. */
int gcb_original_load(const struct gcb_original *o, struct gcb_diag *diag);

/* Adds the error of `count` decoded elements, from element `from` on, to `f`. The sums have the
 * same bits as those of gcb_fidelity_add. Returns errors of reading. */
int gcb_original_compare(const struct gcb_original *o, struct gcb_fidelity *f, uint64_t from,
                         uint64_t count, struct gcb_diag *diag);

/* The result of one message with one method. Pointers are valid only during the call that passes
 * the result on, such as gcb_trial_config.take. */
struct gcb_run_trial {
    const struct gcb_message_plan *plan;
    const struct gcb_tensor *first; /* the message's first tensor; set by gcb_run */
    const char *name;               /* from gcb_plan_name */
    size_t method;                  /* index of the method; set by gcb_run */
    struct gcb_tally tally;
    const struct gcb_samples *samples;   /* one for each gcb_timed_work; count 0: not measured */
    const float *decoded;                /* plan->count elements */
    const float *input;                  /* plan->count elements; NULL with `original` */
    const struct gcb_original *original; /* set if `decoded` took the memory of the input */
};

/* How to run trials. A trial encodes one message with one method, decodes it, and compares the
 * decoded tensor with the input. */
struct gcb_trial_config {
    struct gcb_compute compute;
    struct gcb_timing timing;
    bool stages; /* on the CPU: also time the stages, in separate runs */
    bool sums;   /* on the CPU: check and time sums of messages that have no `original` */
    /* on the CPU: check sums of messages of at most GCB_TRIAL_SUM_MOST elements (gcb_sums_check)
     * that have no `original` */
    bool check_sums;
    /* time memcpy in turn with `identity`, for the trial of gcb_copy_method that follows */
    bool copy;
    /* receives the result of each message, in order; during the call gcb_trial_bench.message is
     * this message, except in a trial of memcpy */
    int (*take)(void *ctx, struct gcb_run_trial *trial, struct gcb_diag *diag);
    void *ctx;
};

/* Most elements of a message whose sum is checked by `check_sums`: 16 MiB. For larger messages, the
 * check would take a fifth of the time of `compress`, and memory for another tensor. */
#define GCB_TRIAL_SUM_MOST (UINT64_C(1) << 22)

/* Coders and buffers that are kept between trials. Must not move after gcb_trial_bench_init. */
struct gcb_trial_bench {
    struct gcb_trial_config config;
    struct gcb_place place; /* place on config.compute.device; not used on the CPU */
    struct gcb_coders *coders;
    struct gcb_trial_batch *batch; /* the messages that are coded together */
    struct gcb_wbuf message;       /* the last trial's message */
    float *decoded; /* the tensor decoded from `message`, unless it took the input's memory */
    float *summed;  /* accumulator of sums, of `most_summed` elements; NULL: no sums */
    uint64_t most_summed;
    /* with a device: the CPU's message and decoded tensor, for comparison */
    struct gcb_room check_room;
    struct gcb_wbuf check;
    float *check_decoded;
    size_t at;                             /* index of the current message in its group */
    struct gcb_samples samples[GCB_TIMED]; /* of the last message, as in gcb_run_trial */
    struct gcb_sums_messages messages;     /* the messages that the last trial added */
    double began;                          /* start of the trial, by gcb_clock */
    struct gcb_stages stages;
    struct gcb_copy copy; /* zeroed unless config.copy */
};

/* `largest`: elements of the largest message to come, except messages with
 * gcb_trial_input.original. Returns GCB_E_NOMEM or a device's error. Call gcb_trial_bench_fini
 * afterwards, even after a failure. */
int gcb_trial_bench_init(struct gcb_trial_bench *b, const struct gcb_trial_config *config,
                         uint64_t largest, struct gcb_diag *diag);
void gcb_trial_bench_fini(struct gcb_trial_bench *b); /* zeroed is fine */

/* A message to encode. */
struct gcb_trial_input {
    const struct gcb_message_plan *plan;
    const float *data; /* plan->count elements */
    /* If not NULL, the message is decoded into original->data, which is `data`. So the input is
     * lost. Only on the CPU and without config.copy. */
    const struct gcb_original *original;
    /* from gcb_plan_env; the shapes must stay valid as long as the bench */
    struct gcb_codec_env env;
    uint64_t nonfinite; /* number of infinities and NaNs, before --nonfinite changes them */
    bool raw;           /* the message is sent raw, because `data` has infinities or NaNs */
};

/* The largest number of messages in a group. */
#define GCB_TRIAL_GROUP 256

/* Returns how many of the `count` messages, from the first on, a device encodes in one set of
 * launches (docs/method.md, "Groups"); 1 on the CPU. All messages must be of one step and worker.
 * The next call of gcb_trial_run_group must run this group, because the bench keeps the group's
 * encoders. */
size_t gcb_trial_group(struct gcb_trial_bench *b, const struct gcb_method *method,
                       const struct gcb_trial_input in[], size_t count);

/*
 * Runs the trials of a group. `count` is a number that gcb_trial_group returned. The messages are
 * timed together, and each message's share of the times is its share of the input bytes. Coders are
 * cached by the method's address. A dense message is encoded by `identity` instead. gcb_copy_method
 * needs config.copy. On failure b->at is the index of the message that failed.
 *
 * On a device, tensors are uploaded once, and one call encodes all messages. The call is timed
 * twice: by the clock, from the first queued work until the host knows all lengths; and by the
 * device's events around the queued work. (If a tensor must be sent raw after all, the events
 * include the wait before sending.) Decoding is timed in the same way. Copies between host and
 * device are timed separately (docs/method.md). With config.timing.evict the device's caches are
 * flushed before each timed call. The error is measured on the device.
 *
 * Messages, values and errors from the device are compared with the CPU's, untimed
 * (src/tool/run/device_check.h). GCB_E_UNVERIFIED: they differ, or on the CPU the sum of a message
 * differs from the decoded tensor. GCB_E_UNSUPPORTED: the method does not run on a device.
 * GCB_E_BACKEND: a library that the method needs is missing. Also returns other errors of coding,
 * and those of config.take.
 */
int gcb_trial_run_group(struct gcb_trial_bench *b, const struct gcb_method *method,
                        const struct gcb_trial_input in[], size_t count, struct gcb_diag *diag);

#endif
