#ifndef SRC_TOOL_REPLAY_REPLAY_H
#define SRC_TOOL_REPLAY_REPLAY_H

#include "src/lib/device/load.h"
#include "src/tool/dump/layout.h"
#include "src/tool/replay/schedule.h"
#include "src/tool/rows/sink.h"
#include "src/tool/trial/nonfinite.h"
#include "src/tool/trial/plan.h"
#include "src/tool/trial/rows.h"

/*
 * Replays the steps of a dump in order, as training would have sent them: each worker adds its memory to its gradient,
 * encodes and sends; the receiver decodes and averages. docs/replay.md says what each figure means.
 *
 * Methods are replayed one after the other. A method keeps per worker and message: its memory (4 bytes an element, 8
 * with momentum), its encoder, and a counter of 2 bytes an element; per message: 16 bytes an element of sums, and 4 more
 * if messages cover several steps. Nothing grows with the number of steps. Each tensor is read once a step.
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
    const struct gcb_nonfinite_watch *watch; /* of the scan for infinities and NaNs; may be NULL */
    uint64_t loops;                          /* times the recorded steps are replayed; 0: once */
    bool allow_gaps;                         /* between step numbers */
    struct gcb_schedule schedule;
    uint64_t
        tune_steps; /* range floats: max becomes the largest value of the first tune_steps steps; 0: max stays as set */
};

/* Figures of a step, or of all steps together. NAN: the figure has no meaning, as most figures of a step without a
 * message. In the figures of all steps, members marked "last" are those of the last step. */
struct gcb_replay_figures {
    struct gcb_tally tally; /* of the messages; its fidelity compares with what was encoded */
    uint64_t
        input_bytes; /* of the gradients; tally.input_bytes: of the steps that messages cover */
    double ratio;    /* tally.input_bytes over tally.wire_bytes */
    double density, union_density; /* union of all steps: mean over steps with messages */
    double alpha, cosine;          /* averaged update against what was owed since the one before */
    double cumulative_error;       /* last: sums of both, from the start */
    double gradient_norm, residual_norm; /* last: root of the mean over workers of squared norms */
    uint64_t staleness_median, staleness_p99, staleness_max; /* last */
    double clamped_share; /* of the values of tuned range floats */
};

struct gcb_replay_step {
    uint64_t index, loop, step; /* replayed, from 0; repetition, from 0; number in the dump */
    double theta, lr;           /* in force; NAN: none */
    struct gcb_replay_figures figures;
    double contraction; /* 1 - ||p - C(p)||^2 / ||p||^2, the least of the workers */
};

struct gcb_replay_total {
    uint64_t steps;        /* replayed */
    uint64_t silent_steps; /* without a message */
    uint64_t unsent_steps; /* silent steps after the last message: the ratio leaves them out */
    struct gcb_replay_figures figures;
    double alpha_max, residual_max;           /* the largest of a step */
    double contraction_min, contraction_mean; /* over steps with messages (and, least, workers) */
    bool feedback;      /* the memory is plain feedback, for which the bound is promised */
    double bound_ratio; /* largest ||e||^2 over 4 (1 - d) / d^2 max ||g||^2; NAN: no bound */
    bool interrupted;
};

/*
 * The order of a replay. All steps have the same workers, and all workers the same messages. Message j of the w-th
 * worker of a step is layout->messages[first + w * messages + j].
 */
struct gcb_replay_plan {
    struct gcb_replay_plan_step {
        uint64_t number; /* in the dump */
        size_t first;
    } * steps;
    size_t step_count;
    uint32_t workers;
    size_t messages; /* of one worker */
};

struct gcb_replay_observer {
    int (*step)(void *ctx, const struct gcb_replay_step *step, struct gcb_diag *diag);
    void (*progress)(void *ctx, double done); /* share of one run; may be NULL */
    bool (*stop)(void *ctx);                  /* asked often; may be NULL */
    void *ctx;
};

struct gcb_replay;

/*
 * Checks that the dump can be replayed and scans it for infinities and NaNs. `config` is copied, what it points to is
 * borrowed. If the watch ends the scan, the replay knows only what was scanned, and must not be run.
 * GCB_E_INVALID: steps differ in what they hold, or step numbers have gaps and allow_gaps is false; GCB_E_NONFINITE.
 */
int gcb_replay_open(struct gcb_replay **out, const struct gcb_replay_config *config,
                    struct gcb_diag *diag);
void gcb_replay_close(struct gcb_replay *r); /* NULL is fine */

const struct gcb_replay_plan *gcb_replay_plan_of(const struct gcb_replay *r);
uint64_t gcb_replay_skipped_steps(const struct gcb_replay *r); /* under GCB_POLICY_SKIP */

/* Does the schedule change this method? Does tuning? */
bool gcb_replay_schedules(const struct gcb_replay_config *config, const struct gcb_method *method);
bool gcb_replay_tunes(const struct gcb_replay_config *config, const struct gcb_method *method);

/* One method from the first step to the last. */
int gcb_replay_run(struct gcb_replay *r, const struct gcb_method *method,
                   const struct gcb_replay_observer *observer, struct gcb_replay_total *out,
                   struct gcb_diag *diag);

/* Rows of a replay (docs/rows.md). Release each with gcb_row_fini. */
void gcb_rows_replay_step(struct gcb_row *row, const struct gcb_rows_setting *setting,
                          const struct gcb_method *method, const struct gcb_replay_step *step);

/* `file` names what was read. */
void gcb_rows_replay(struct gcb_row *row, const struct gcb_rows_setting *setting,
                     const struct gcb_method *method, const struct gcb_replay_total *total,
                     const char *file);

/* The records of `replay`. */
#define GCB_REPLAY_RECORDS \
    (GCB_RECORD_BIT(GCB_RECORD_REPLAY_STEP) | GCB_RECORD_BIT(GCB_RECORD_REPLAY))

#endif
