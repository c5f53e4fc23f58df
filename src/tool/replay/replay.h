#ifndef SRC_TOOL_REPLAY_REPLAY_H
#define SRC_TOOL_REPLAY_REPLAY_H

#include "src/lib/device/load.h"
#include "src/tool/read/source.h"
#include "src/tool/replay/replay_plan.h"
#include "src/tool/rows/sink.h"
#include "src/tool/run/rows.h"

/*
 * What changes from step to step of a replay. The first replayed step is step 0. Steps are counted
 * through all repetitions of the dump, whatever their numbers in the dump.
 */
#define GCB_MAX_POINTS 64

/* A step function: value[i] holds from step from[i] on. A zeroed struct has no points. */
struct gcb_points {
    double value[GCB_MAX_POINTS];
    uint64_t from[GCB_MAX_POINTS]; /* ascending */
    size_t count;
};

/*
 * Parses "V" or "V@STEP,V@STEP,..." with ascending steps. A first value without a step holds from
 * step 0. `option` is the option that messages name. Returns GCB_E_INVALID for any other text.
 */
int gcb_points_parse(struct gcb_points *out, const char *text, const char *option,
                     struct gcb_diag *diag);

enum gcb_schedule_kind {
    GCB_SCHEDULE_NONE,
    GCB_SCHEDULE_POINTS, /* theta as listed */
    /* theta = min(sqrt(L lr), 0.999999), from the FFT paper's theorem theta^2 = L eta */
    GCB_SCHEDULE_SQRT_LR,
    /* DGC's density of each epoch: 25 %, 6.25 %, 1.5625 %, 0.4 %, and 0.1 % in all later epochs */
    GCB_SCHEDULE_WARMUP,
};

struct gcb_schedule {
    enum gcb_schedule_kind kind;
    struct gcb_points theta;  /* for POINTS; before the first point the method's own theta holds */
    struct gcb_points lr;     /* for SQRT_LR; before the first point the dump's `lr` holds */
    double lipschitz;         /* for SQRT_LR: L, above 0 */
    uint64_t steps_per_epoch; /* for WARMUP; 0: the dump's `epoch`, counted from its first value */
};

/*
 * Parses a list of points such as "0.9@0,0.5@8", "sqrt-lr", "dgc-warmup" or
 * "dgc-warmup:STEPS_PER_EPOCH". Sets kind, theta and steps_per_epoch of *out, which starts zeroed.
 * Returns GCB_E_INVALID for any other text.
 */
int gcb_schedule_parse(struct gcb_schedule *out, const char *text, struct gcb_diag *diag);

/* A step of the replay. */
struct gcb_schedule_step {
    const struct gcb_source *source;
    uint64_t index;    /* steps replayed before */
    uint64_t recorded; /* number of the step in the dump */
    uint64_t first;    /* number of the dump's first step */
};

/*
 * Sets *theta for a step; `own` is the method's own theta. Sets *lr to the learning rate from which
 * theta is computed, or NAN. Returns GCB_E_INVALID if the dump lacks an attribute that the schedule
 * needs; the message names the option that replaces it.
 */
int gcb_schedule_theta(const struct gcb_schedule *s, const struct gcb_schedule_step *at, double own,
                       double *theta, double *lr, struct gcb_diag *diag);

/*
 * Replays the steps of a dump in order, as training would have sent them: each worker adds its
 * memory to its gradient, and all workers exchange the results (src/lib/exchange/exchange.h).
 * docs/replay.md says what each figure means.
 *
 * Methods are replayed one after the other. A replay needs, for each element,
 *   - of each worker: 4 bytes for the memory (8 with momentum), and 2 bytes for a counter;
 *   - of each message: 16 bytes for sums (20 if messages cover several steps);
 *   - of the largest message and each worker: 4 bytes for the gradient.
 * The space does not grow with the number of steps. Each tensor is read once a step.
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
    /* After this many steps, the `max` of range floats becomes the largest value so far. 0: `max`
     * stays as set. */
    uint64_t tune_steps;
};

#define GCB_REPLAY_ROUNDS 64 /* most rounds of an exchange */

/* What was sent in a step, or in all steps. What is owed for a step is what the workers together
 * should receive for it, such as the sum of their gradients (docs/replay.md). */
struct gcb_replay_traffic {
    struct gcb_tally tally; /* of all messages; its error compares decoded with encoded values */
    struct gcb_fidelity updates; /* x: owed since the message before; y: arrived */
    uint64_t tuned_values;       /* values coded with a tuned `max` */
    uint64_t tuned_clamped;      /* of tuned_values, the values that were clamped */
    uint64_t input_bytes; /* bytes of all gradients; tally.input_bytes: of gradients in messages */
    unsigned rounds;      /* the most rounds of a message */
    uint64_t round_bytes[GCB_REPLAY_ROUNDS]; /* bytes on the links of all workers in each round */
    uint64_t link_bytes;                     /* bytes on these links in all rounds together */
    uint64_t between_bytes;       /* hierarchical: the part of link_bytes between nodes */
    bool again;                   /* sums were encoded again, and the next two members are set: */
    double again_sum, again_lost; /* squared norms of the sums, and of what encoding them lost */
    bool sparse;                  /* a sparse all-reduce ran, and the next member is set: */
    struct gcb_fidelity selected; /* x: sum of what workers selected; y: arrived */
};

/* Figures of a step, or of all steps together. A figure without a meaning is NAN, as most figures
 * of a step without a message. Figures marked "last" are those of the last step, even among the
 * figures of all steps. */
struct gcb_replay_figures {
    struct gcb_replay_traffic sent;
    double ratio;            /* input bytes over bytes of the messages */
    double density;          /* share of the positions that were sent */
    double union_density;    /* share of elements that any worker sent; of all steps: the mean */
    double alpha, cosine;    /* error and cosine of the update against what was owed for it */
    double second_error;     /* of sums that were encoded again; NAN: none were */
    double dropped;          /* share of energy that a sparse all-reduce drops; NAN: none ran */
    double cumulative_error; /* last: sum of all updates against the sum of all that was owed */
    double gradient_norm, residual_norm; /* last: root of the mean of the workers' squared norms */
    uint64_t staleness_median, staleness_p99, staleness_max; /* last; in steps */
    double clamped_share; /* share of values that were clamped to a tuned `max` */
};

struct gcb_replay_step {
    uint64_t index;   /* steps replayed before */
    uint64_t loop;    /* repetition, from 0 */
    uint64_t step;    /* step number in the dump */
    double theta, lr; /* used in this step; NAN: none */
    struct gcb_replay_figures figures;
    /* 1 - ||p - s||^2 / ||p||^2 for encoded values p and decoded values s; the least of all
     * workers */
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
    struct gcb_diag failure; /* status 0, or the error of a plug-in that ended the replay */
};

struct gcb_replay_observer {
    /* Called after each step. A result other than 0 ends the replay with that result. */
    int (*step)(void *ctx, const struct gcb_replay_step *step, struct gcb_diag *diag);
    void *ctx;              /* of `step` */
    struct gcb_watch watch; /* of gcb_replay_run */
};

struct gcb_replay {
    struct gcb_replay_config config;
    struct gcb_nonfinite_scan scan; /* scan.step_count: steps that GCB_POLICY_SKIP leaves out */
    struct gcb_replay_plan plan;
};

/*
 * Checks that the dump can be replayed, and scans it for infinities and NaNs. `config` is copied,
 * and the data that it points to is borrowed. If the watch ends the scan, the replay must not be
 * run. Errors are those of gcb_replay_plan_init, of reading, GCB_E_INVALID for GCB_POLICY_RAW, and
 * GCB_E_NONFINITE for values that the policy refuses. Release *out with gcb_replay_close, also
 * after a failure.
 */
int gcb_replay_open(struct gcb_replay *out, const struct gcb_replay_config *config,
                    struct gcb_diag *diag);
void gcb_replay_close(struct gcb_replay *r); /* a zeroed struct is allowed */

/* True if the schedule changes the theta of this method. */
bool gcb_replay_schedules(const struct gcb_replay_config *config, const struct gcb_method *method);
/* True if tuning changes the `max` of this method. */
bool gcb_replay_tunes(const struct gcb_replay_config *config, const struct gcb_method *method);

/* Replays all steps with one method, and fills *out. Returns 0, the result with which the observer
 * ended the replay, or an error. After a stop it returns 0, sets out->interrupted, and *out has the
 * figures of the steps before. */
int gcb_replay_run(const struct gcb_replay *r, const struct gcb_method *method,
                   const struct gcb_replay_observer *observer, struct gcb_replay_total *out,
                   struct gcb_diag *diag);

/* Make the row of a step and the row of all steps (docs/rows.md). The caller releases each row with
 * gcb_row_fini. */
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
