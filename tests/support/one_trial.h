#ifndef TESTS_SUPPORT_ONE_TRIAL_H
#define TESTS_SUPPORT_ONE_TRIAL_H

#include "src/tool/run/trial.h"

static int take_tally(void *ctx, struct gcb_run_trial *trial, struct gcb_diag *diag)
{
    struct gcb_tally *out = ctx;

    *out = trial->tally;
    return 0;
}

/* Runs one trial. Message, decoded and samples of `b` stay valid until the next trial. */
static int run_one_trial(struct gcb_trial_bench *b, struct gcb_tally *out,
                         const struct gcb_method *method, const struct gcb_trial_input *in)
{
    b->config.take = take_tally;
    b->config.ctx = out;
    return gcb_trial_run_group(b, method, in, 1, NULL);
}

#endif
