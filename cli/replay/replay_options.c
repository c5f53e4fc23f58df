#include "cli/replay/replay_options.h"

#include <string.h>

static const char *const pers[] = {"step", "none", NULL};

const struct opt_row replay_own_rows[] = {
    {"loop", 0, "N", "replay the recorded steps N times over (default 1)", OPT_U64,
     offsetof(struct replay_own, loops), 1, 1e9, NULL},
    {"allow-gaps", 0, NULL, "replay what is there although steps are missing in between", OPT_FLAG,
     offsetof(struct replay_own, allow_gaps), 0, 0, NULL},
    {"theta-schedule", 0, "SCHEDULE",
     "0.9@0,0.5@8 (from these steps on, counted from 0), sqrt-lr (theta^2 = L lr) or "
     "dgc-warmup[:STEPS_PER_EPOCH]",
     OPT_TEXT, offsetof(struct replay_own, schedule), 0, 0, NULL},
    {"lr", 0, "RATE", "learning rate of sqrt-lr, V or V@STEP,... (default: the dump's lr)",
     OPT_TEXT, offsetof(struct replay_own, lr), 0, 0, NULL},
    {"lipschitz", 0, "L", "of sqrt-lr: the gradient's Lipschitz constant", OPT_REAL,
     offsetof(struct replay_own, lipschitz), 1e-300, 1e300, NULL},
    {"tune-steps", 0, "N", "fix each range float's max at the largest value of the first N steps",
     OPT_U64, offsetof(struct replay_own, tune_steps), 1, 1e9, NULL},
    {.name = NULL},
};

const struct opt_row replay_show_rows[] = {
    {"per", 0, "WHAT",
     "step: a line for each step of each method; none: totals alone, in every format "
     "(default: steps of a single method, up to 40)",
     OPT_CHOICE, offsetof(struct replay_own, per), 0, 0, pers},
    {.name = NULL},
};

int replay_schedule(struct gcb_schedule *out, const struct replay_own *own, struct gcb_diag *diag)
{
    int err = 0;

    memset(out, 0, sizeof(*out));
    if (own->schedule)
        err = gcb_schedule_parse(out, own->schedule, diag);
    if (err)
        return err;
    if (out->kind != GCB_SCHEDULE_SQRT_LR && (own->lr || own->lipschitz > 0.0))
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "--lr and --lipschitz have a meaning only with --theta-schedule "
                            "sqrt-lr");
    if (out->kind == GCB_SCHEDULE_SQRT_LR && !(own->lipschitz > 0.0))
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "--theta-schedule sqrt-lr needs the gradient's Lipschitz constant: "
                            "--lipschitz");
    out->lipschitz = own->lipschitz;
    return own->lr ? gcb_curve_parse(&out->lr, own->lr, "--lr", diag) : 0;
}

int replay_check(const struct gcb_replay_config *config, const struct gcb_method *methods,
                 size_t count, struct gcb_diag *diag)
{
    size_t scheduled = 0, tuned = 0;

    for (size_t i = 0; i < count; i++) {
        scheduled += gcb_replay_schedules(config, &methods[i]);
        tuned += gcb_replay_tunes(config, &methods[i]);
    }
    if (config->schedule.kind != GCB_SCHEDULE_NONE && !scheduled)
        return gcb_diag_set(diag, GCB_E_INVALID, "--theta-schedule: no method given has a theta");
    if (config->tune_steps && !tuned)
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "--tune-steps: no method given has a range that is left open (fft and "
                            "range have, unless max is given)");
    return 0;
}
