#ifndef SRC_TOOL_REPLAY_REPLAY_H
#define SRC_TOOL_REPLAY_REPLAY_H

#include "src/lib/device/load.h"
#include "src/tool/read/layout.h"
#include "src/tool/replay/schedule.h"
#include "src/tool/rows/sink.h"
#include "src/tool/run/input.h"
#include "src/tool/run/rows.h"

/*
 * Replays the steps of a dump in order, as training would have sent them: each worker adds its
 * memory to its gradient, and all workers exchange the results (src/lib/exchange/exchange.h).
 * docs/replay.md says what each figure means.
 *
 * Methods are replayed one after the other. For each worker and message a method keeps its part of
 * the exchange, with its memory (4 bytes an element, 8 with momentum), and a counter of 2 bytes an
 * element. For each message it also keeps sums of 16 bytes an element, 20 if messages cover several
 * steps. All workers' gradients of the largest message are in memory at once. The space does not
 * grow with the number of steps. Each tensor is read once a step.
 */
struct gcb_replay_config {
    struct gcb_source *source;
    const struct gcb_layout *layout;
    const struct gcb_kernels *kernels;
    const struct gcb_queue *queue;
    const struct gcb_device *device; /* where messages are coded; NULL: the CPU */
    uint64_t seed;
    enum gcb_fft_rigor fft_rigor;
    enum gcb_nonfinite_policy nonfinite; /* not RAW: a residual would keep the NaN */
    struct gcb_output_layers output_layers;
    const struct gcb_nonfinite_watch *watch; /* called by the scan for NaNs; may be NULL */
    uint64_t loops;                          /* times the recorded steps are replayed; 0: once */
    /* Workers of a replayed step; 0: those of the dump. Fewer: the first ones. More, a multiple
     * of the dump's if split_steps: consecutive steps of the dump become workers of one step;
     * otherwise the dump's workers are repeated. */
    uint32_t workers;
    bool split_steps;
    bool allow_gaps; /* step numbers may have gaps */
    struct gcb_schedule schedule;
    /* range floats: `max` becomes the largest value of the first tune_steps steps; 0: `max`
     * stays as set */
    uint64_t tune_steps;
};

#define GCB_REPLAY_ROUNDS 64 /* most rounds of an exchange */

/* Figures of a step, or of all steps together. NAN: the figure has no meaning, as most figures
 * of a step without a message. In the figures of all steps, members marked "last" are those of
 * the last step. */
struct gcb_replay_figures {
    struct gcb_tally tally; /* of all messages; its error compares decoded with encoded values */
    uint64_t input_bytes; /* bytes of all gradients; tally.input_bytes: of gradients in messages */
    unsigned rounds;      /* the most rounds that a message took */
    /* bytes that all workers together put on their links in each round, and in all rounds */
    uint64_t round_bytes[GCB_REPLAY_ROUNDS], link_bytes;
    double ratio;                  /* tally.input_bytes over tally.wire_bytes */
    double density, union_density; /* union_density of all steps: mean over steps with messages */
    double alpha, cosine; /* averaged update against what was owed since the update before */
    double second_error;  /* of sums that were encoded again; NAN: none were */
    double dropped;       /* share of energy that a sparse all-reduce drops; NAN: there is none */
    double cumulative_error; /* last: sum of all updates against the sum of all that was owed */
    double gradient_norm, residual_norm; /* last: root of the mean of the workers' squared norms */
    uint64_t staleness_median, staleness_p99, staleness_max; /* last */
    double clamped_share; /* share of values that were clamped to a tuned `max` */
};

struct gcb_replay_step {
    uint64_t index;   /* steps replayed before */
    uint64_t loop;    /* repetition, from 0 */
    uint64_t step;    /* step number in the dump */
    double theta, lr; /* used in this step; NAN: none */
    struct gcb_replay_figures figures;
    double contraction; /* least of the workers: 1 - ||p - s||^2 / ||p||^2, p encoded, s decoded */
};

struct gcb_replay_total {
    uint64_t steps;        /* steps replayed */
    uint64_t silent_steps; /* steps without a message */
    uint64_t unsent_steps; /* silent steps after the last message: the ratio leaves them out */
    struct gcb_replay_figures figures;
    double alpha_max, residual_max;           /* largest value of any step */
    double contraction_min, contraction_mean; /* over the contraction of steps with messages */
    bool feedback;      /* the memory is plain feedback, which bounds the residual */
    double bound_ratio; /* largest squared residual / its bound (docs/replay.md); NAN: no bound */
    bool interrupted;
};

/* The most workers of a replay. */
#define GCB_REPLAY_WORKERS 4096

/*
 * The order of a replay. All steps of the dump have the same workers, and all workers the same
 * messages: message j of the w-th worker of a recorded step is layout->messages[first + w *
 * messages + j]. A replayed step uses `merged` recorded steps, and worker w of it has the gradients
 * of worker w modulo `sources`.
 */
struct gcb_replay_plan {
    struct gcb_replay_plan_step {
        uint64_t number; /* step number in the dump */
        size_t first;
    } * recorded;
    size_t recorded_count;
    uint32_t recorded_workers;
    size_t messages; /* messages of one worker in a step */
    size_t step_count;
    uint32_t workers, merged;
    uint32_t sources; /* workers with gradients of their own */
};

/* Makes the plan of a replay of all steps but those of `scan`, which may be NULL. Release
 * plan->recorded with gcb_free, also on failure. Errors are those of gcb_replay_open. */
int gcb_replay_plan_init(struct gcb_replay_plan *out, const struct gcb_replay_config *config,
                         const struct gcb_nonfinite_scan *scan, struct gcb_diag *diag);

/* Message j of worker w < plan->sources in a step of the replay, from 0 to plan->step_count - 1. */
const struct gcb_message_plan *gcb_replay_message_at(const struct gcb_replay_plan *plan,
                                                     const struct gcb_layout *layout, size_t step,
                                                     uint32_t w, size_t j);
/* Where the workers' gradients come from: "recorded", "repeated" or "steps". */
const char *gcb_replay_origin(const struct gcb_replay_plan *plan);

struct gcb_replay_observer {
    int (*step)(void *ctx, const struct gcb_replay_step *step, struct gcb_diag *diag);
    void (*progress)(void *ctx, double done); /* share of gcb_replay_run done; may be NULL */
    bool (*stop)(void *ctx);                  /* called often; true ends the replay; may be NULL */
    void *ctx;
};

struct gcb_replay;

/*
 * Checks that the dump can be replayed and scans it for infinities and NaNs. `config` is copied,
 * what it points to is borrowed. If the watch ends the scan, the replay knows only what was
 * scanned, and must not be run. GCB_E_INVALID: steps have different messages, step numbers have
 * gaps and allow_gaps is false, or the number of workers is impossible; GCB_E_NONFINITE.
 */
int gcb_replay_open(struct gcb_replay **out, const struct gcb_replay_config *config,
                    struct gcb_diag *diag);
void gcb_replay_close(struct gcb_replay *r); /* NULL is fine */

const struct gcb_replay_plan *gcb_replay_plan_of(const struct gcb_replay *r);
/* Number of steps that GCB_POLICY_SKIP leaves out. */
uint64_t gcb_replay_skipped_steps(const struct gcb_replay *r);

/* True if the schedule, or tuning, changes parameters of this method. */
bool gcb_replay_schedules(const struct gcb_replay_config *config, const struct gcb_method *method);
bool gcb_replay_tunes(const struct gcb_replay_config *config, const struct gcb_method *method);

/* Replays all steps with one method. */
int gcb_replay_run(struct gcb_replay *r, const struct gcb_method *method,
                   const struct gcb_replay_observer *observer, struct gcb_replay_total *out,
                   struct gcb_diag *diag);

/* Rows of a replay (docs/rows.md). Release each with gcb_row_fini. */
void gcb_rows_replay_step(struct gcb_row *row, const struct gcb_rows_setting *setting,
                          const struct gcb_method *method, const struct gcb_replay_plan *plan,
                          const struct gcb_replay_step *step);

/* `file` is the name of the input file. */
void gcb_rows_replay(struct gcb_row *row, const struct gcb_rows_setting *setting,
                     const struct gcb_method *method, const struct gcb_replay_plan *plan,
                     const struct gcb_replay_total *total, const char *file);

/* The records of `replay`. */
#define GCB_REPLAY_RECORDS \
    (GCB_RECORD_BIT(GCB_RECORD_REPLAY_STEP) | GCB_RECORD_BIT(GCB_RECORD_REPLAY))

#endif
