#include "cli/replay/replay.h"

#include <string.h>

static const char *const pers[] = {"step", "none", NULL};

/* clang-format off */
const struct opt_row replay_own_rows[] = {
    {OPT_ROW("suite", TEXT, replay_own, suite), .metavar = "NAME|FILE",
     .help = "replay the methods of a suite, such as paper-sbc or FILE.json; its other fields "
             "are for `gcbench bench`"},
    {OPT_ROW("loop", U64, replay_own, loops), .min = 1, .max = 1e9,
     .help = "replay the recorded steps N times over (default 1)"},
    {OPT_ROW("allow-gaps", FLAG, replay_own, order.allow_gaps),
     .help = "replay even if steps are missing between the recorded ones"},
    {OPT_ROW("workers", U64, replay_own, order.workers), .min = 1, .max = GCB_REPLAY_WORKERS,
     .help = "replay with N workers: the dump's first N, or all of them repeated"},
    {OPT_ROW("split-steps", FLAG, replay_own, order.split_steps),
     .help = "with --workers: consecutive steps of the dump become workers of one step"},
    {OPT_ROW("theta-schedule", TEXT, replay_own, schedule), .metavar = "SCHEDULE",
     .help = "theta by step: 0.9@0,0.5@8 (0.9 from step 0 on, 0.5 from step 8 on), sqrt-lr "
             "(theta^2 = L lr, L from --lipschitz) or dgc-warmup[:STEPS_PER_EPOCH]"},
    {OPT_ROW("lr", TEXT, replay_own, lr), .metavar = "RATE",
     .help = "learning rate for sqrt-lr: V or V@STEP,... (default: the dump's lr)"},
    {OPT_ROW("lipschitz", REAL, replay_own, lipschitz), .metavar = "L", .min = 1e-300, .max = 1e300,
     .help = "for sqrt-lr: L, the Lipschitz constant of the gradient"},
    {OPT_ROW("tune-steps", U64, replay_own, tune_steps), .min = 1, .max = 1e9,
     .help = "after N steps, fix the max of each range float at the largest value so far"},
    {.name = NULL},
};

const struct opt_row replay_show_rows[] = {
    {OPT_ROW("per", CHOICE, replay_own, per), .metavar = "WHAT", .choices = pers,
     .initial = REPLAY_PER_DEFAULT,
     .help = "step: a line for each step of each method; none: only totals, in every format "
             "(default: steps if there are at most 40, of one method)"},
    {.name = NULL},
};
/* clang-format on */

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
    return own->lr ? gcb_points_parse(&out->lr, own->lr, "--lr", diag) : 0;
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
                            "--tune-steps: no method given has a range whose maximum can be tuned "
                            "(fft and range have one, unless max is given)");
    return 0;
}
