#ifndef SRC_TOOL_REPLAY_REPLAY_H
#define SRC_TOOL_REPLAY_REPLAY_H

#include "src/lib/device/load.h"
#include "src/tool/read/source.h"
#include "src/tool/replay/replay_plan.h"
#include "src/tool/rows/sink.h"
#include "src/tool/run/rows.h"

#define GCB_MAX_POINTS 64

/* The theta of each step: theta[i] holds from step from[i] on. Before from[0], the method's own
 * theta holds. The first replayed step is step 0. Steps are counted through all repetitions of the
 * dump, whatever their numbers in the dump. */
struct gcb_schedule {
    double theta[GCB_MAX_POINTS];
    uint64_t from[GCB_MAX_POINTS]; /* ascending */
    size_t count;                  /* 0: there is no schedule */
};

/* Parses "V" or "V@STEP,V@STEP,..." with ascending steps, values in [0, 1), and at most
 * GCB_MAX_POINTS values. A first value without a step holds from step 0. Returns GCB_E_INVALID for
 * any other text. */
int gcb_schedule_parse(struct gcb_schedule *out, const char *text, struct gcb_diag *diag);

/* Returns the theta of a step; `own` is the method's own theta. */
double gcb_schedule_theta(const struct gcb_schedule *s, uint64_t index, double own);

/*
 * Replays the steps of a dump in order, as training would have sent them: each worker adds its
 * memory to its gradient, and all workers exchange the results (src/lib/exchange/exchange.h).
 * docs/replay.md says what each figure means.
 *
 * Methods are replayed one after the other. A replay needs, for each element,
 *   - of each worker: 4 bytes for the memory (8 with momentum), and 2 bytes for a counter;
 *   - of each message: 16 bytes for sums (20 if messages cover several steps);
 *   - of the largest message: 4 bytes for the gradient of each worker, and 17 for what arrives.
 * The space does not grow with the number of steps. Each tensor is read once a step, or twice if
 * the memory clips gradients; and once before the first step, unless `nonfinite` is ZERO.
 */
struct gcb_replay_config {
    struct gcb_source *source;
    const struct gcb_layout *layout;
    struct gcb_compute compute;
    enum gcb_nonfinite_policy nonfinite; /* not RAW, because a residual would keep the NaN */
    struct gcb_output_layers output_layers;
    struct gcb_watch watch; /* of the scan for infinities and NaNs */
    uint64_t loops;         /* times the recorded steps are replayed; 0: once */
    struct gcb_replay_order order;
    struct gcb_schedule schedule;
};

#define GCB_REPLAY_ROUNDS 64 /* most rounds of an exchange */

/* What was sent in a step, or in all steps. What is owed for a step is what the workers together
 * should receive for it, such as the sum of their gradients (docs/replay.md). */
struct gcb_replay_traffic {
    struct gcb_tally tally; /* of all messages; its error compares decoded with encoded values */
    struct gcb_fidelity updates; /* x: owed since the message before; y: arrived */
    uint64_t input_bytes; /* bytes of all gradients; tally.input_bytes: of gradients in messages */
    unsigned rounds;      /* the most rounds of a message */
    uint64_t round_bytes[GCB_REPLAY_ROUNDS]; /* bytes on the links of all workers in each round */
    uint64_t link_bytes;                     /* bytes on these links in all rounds together */
    uint64_t between_bytes;       /* hierarchical: the part of link_bytes between nodes */
    bool again;                   /* sums were encoded again, and the next two members are set: */
    double again_sum, again_lost; /* squared norms of the sums, and of what encoding them lost */
    /* all-reduce of a sparsifier: elements that top-k would send, and how many of them arrived */
    uint64_t largest, largest_arrived;
    bool sparse;                  /* a sparse all-reduce ran, and the next member is set: */
    struct gcb_fidelity selected; /* x: sum of what workers selected; y: arrived */
};

/* Figures of a step, or of all steps together. A figure without a meaning is NAN, such as most
 * figures of a step without a message. Figures marked "last" are those of the last step, even among
 * the figures of all steps. */
struct gcb_replay_figures {
    struct gcb_replay_traffic sent;
    double ratio;   /* input bytes over bytes of the messages */
    double density; /* share of the positions that were sent */
    /* share of elements that any worker sent; of all steps: the mean over those with messages */
    double union_density;
    double alpha, cosine;    /* error and cosine of the update against what was owed for it */
    double second_error;     /* of sums that were encoded again; NAN: none were */
    double overlap;          /* share of what top-k would send that an all-reduce sent */
    double dropped;          /* share of energy that a sparse all-reduce drops; NAN: none ran */
    double cumulative_error; /* last: sum of all updates against the sum of all that was owed */
    double gradient_norm, residual_norm; /* last: root of the mean of the workers' squared norms */
    uint64_t staleness_median, staleness_p99, staleness_max; /* last; in steps */
};

struct gcb_replay_step {
    uint64_t index; /* steps replayed before */
    uint64_t loop;  /* repetition, from 0 */
    uint64_t step;  /* step number in the dump; with split_steps: of the first of its steps */
    double theta;   /* used in this step; NAN: none */
    struct gcb_replay_figures figures;
    /* 1 - ||p - s||^2 / ||p||^2 for encoded values p and decoded values s; the least of all
     * workers; NAN without a message */
    double contraction;
};

struct gcb_replay_total {
    uint64_t steps;        /* steps replayed */
    uint64_t silent_steps; /* steps without a message */
    uint64_t unsent_steps; /* silent steps after the last message, which the ratio leaves out */
    struct gcb_replay_figures figures;
    double alpha_max, residual_max;           /* largest value of any step */
    double contraction_min, contraction_mean; /* over the steps with messages */
    bool feedback;      /* the memory is plain error feedback, which bounds the residual */
    double bound_ratio; /* largest squared residual / its bound (docs/replay.md); NAN: no bound */
    bool interrupted;   /* the watch ended the replay */
    /* the caller's, for gcb_rows_replay: status 0, or the error of a plug-in that ended the
     * replay */
    struct gcb_diag failure;
};

struct gcb_replay_observer {
    /* Called after each step. A result other than 0 ends the replay with that result. */
    int (*step)(void *ctx, const struct gcb_replay_step *step, struct gcb_diag *diag);
    void *ctx;              /* passed to `step` */
    struct gcb_watch watch; /* shows the progress of gcb_replay_run, and may stop it */
};

struct gcb_replay {
    struct gcb_replay_config config;
    struct gcb_nonfinite_scan scan; /* scan.step_count: steps that GCB_POLICY_SKIP leaves out */
    struct gcb_replay_plan plan;
};

/*
 * Checks that the dump can be replayed, and scans it for infinities and NaNs. `config` is copied,
 * and the data that it points to is borrowed. If the watch ends the scan, out->scan.stopped is set,
 * and the replay must not be run. Errors are those of gcb_replay_plan_init, of reading,
 * GCB_E_INVALID for GCB_POLICY_RAW, and GCB_E_NONFINITE for values that the policy refuses. Release
 * *out with gcb_replay_close, also after a failure.
 */
int gcb_replay_open(struct gcb_replay *out, const struct gcb_replay_config *config,
                    struct gcb_diag *diag);
void gcb_replay_close(struct gcb_replay *r); /* a zeroed struct is allowed */

/* True if the schedule changes the theta of this method. */
bool gcb_replay_schedules(const struct gcb_replay_config *config, const struct gcb_method *method);

/* Replays all steps with one method, and fills *out. Returns 0, the result with which the observer
 * ended the replay, or an error. After a stop it returns 0, sets out->interrupted, and *out has the
 * figures of the steps before. */
int gcb_replay_run(const struct gcb_replay *r, const struct gcb_method *method,
                   const struct gcb_replay_observer *observer, struct gcb_replay_total *out,
                   struct gcb_diag *diag);

/* Makes the row of a step (docs/rows.md). The caller releases it with gcb_row_fini. */
void gcb_rows_replay_step(struct gcb_row *row, const struct gcb_rows_setting *setting,
                          const struct gcb_method *method, const struct gcb_replay_plan *plan,
                          const struct gcb_replay_step *step);

/* Makes the row of all steps, or of the failure if total->failure has a status other than 0. `file`
 * is the name of the input file. The caller releases the row with gcb_row_fini. */
void gcb_rows_replay(struct gcb_row *row, const struct gcb_rows_setting *setting,
                     const struct gcb_method *method, const struct gcb_replay_plan *plan,
                     const struct gcb_replay_total *total, const char *file);

/* The kinds of rows that `gcbench replay` writes. */
#define GCB_REPLAY_RECORDS \
    (GCB_RECORD_BIT(GCB_RECORD_REPLAY_STEP) | GCB_RECORD_BIT(GCB_RECORD_REPLAY))

#endif
