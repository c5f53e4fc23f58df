#ifndef SRC_TOOL_REPLAY_SCHEDULE_H
#define SRC_TOOL_REPLAY_SCHEDULE_H

#include "src/tool/read/source.h"

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

#endif
