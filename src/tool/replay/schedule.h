#ifndef SRC_TOOL_REPLAY_SCHEDULE_H
#define SRC_TOOL_REPLAY_SCHEDULE_H

#include "src/tool/read/source.h"

/*
 * What changes from step to step of a replay. Steps are counted from 0 in the order of the replay,
 * through all its repetitions, whatever their numbers in the dump.
 */
#define GCB_MAX_POINTS 64

/* A step function: value[i] holds from step from[i] on. Plain data; zeroed: no points. */
struct gcb_points {
    double value[GCB_MAX_POINTS];
    uint64_t from[GCB_MAX_POINTS]; /* ascending */
    size_t count;
};

/*
 * Parses "V" or "V@STEP,V@STEP,...", steps ascending; a value without a step holds from step 0.
 * `option` is the option that messages name. GCB_E_INVALID.
 */
int gcb_points_parse(struct gcb_points *out, const char *text, const char *option,
                     struct gcb_diag *diag);

enum gcb_schedule_kind {
    GCB_SCHEDULE_NONE,
    GCB_SCHEDULE_POINTS, /* theta as listed */
    /* theta = min(sqrt(L lr), 0.999999), from the FFT paper's theorem theta^2 = L eta */
    GCB_SCHEDULE_SQRT_LR,
    /* DGC's densities by epoch: 25, 6.25, 1.5625, 0.4 and, from then on, 0.1 % */
    GCB_SCHEDULE_WARMUP,
};

struct gcb_schedule {
    enum gcb_schedule_kind kind;
    struct gcb_points theta;  /* for POINTS; before its first point the method's own theta holds */
    struct gcb_points lr;     /* for SQRT_LR; before its first point the dump's `lr` holds */
    double lipschitz;         /* for SQRT_LR: L, above 0 */
    uint64_t steps_per_epoch; /* for WARMUP; 0: the dump's `epoch`, counted from its first value */
};

/*
 * Parses "0.9@0,0.5@8", "sqrt-lr", "dgc-warmup" or "dgc-warmup:STEPS_PER_EPOCH" into a zeroed
 * schedule: sets kind, theta and steps_per_epoch. GCB_E_INVALID with a message.
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
 * theta is computed, or NAN. GCB_E_INVALID: the dump lacks what the schedule needs; the message
 * names the option to give.
 */
int gcb_schedule_theta(const struct gcb_schedule *s, const struct gcb_schedule_step *at, double own,
                       double *theta, double *lr, struct gcb_diag *diag);

#endif
