#ifndef CLI_REPLAY_REPLAY_OPTIONS_H
#define CLI_REPLAY_REPLAY_OPTIONS_H

#include "cli/base/session.h"
#include "src/tool/replay/replay.h"

/* The options of `replay`, and the checks before a file is opened. */
enum replay_per { REPLAY_PER_DEFAULT = -1, REPLAY_PER_STEP, REPLAY_PER_NONE };

struct replay_own {
    uint64_t loops, tune_steps, workers;
    bool allow_gaps, split_steps;
    const char *suite, *schedule, *lr;
    double lipschitz;
    int per;
};

struct replay_options {
    struct opt_methods methods;
    struct session_options common;
    struct replay_own own;
};

extern const struct opt_row replay_own_rows[];
extern const struct opt_row replay_show_rows[];

/* Makes the schedule that the options describe. GCB_E_INVALID: the options do not go together. */
int replay_schedule(struct gcb_schedule *out, const struct replay_own *own, struct gcb_diag *diag);

/* GCB_E_INVALID: a schedule is asked for and no method has a theta, or tuning and no method has a range to tune. */
int replay_check(const struct gcb_replay_config *config, const struct gcb_method *methods,
                 size_t count, struct gcb_diag *diag);

#endif
