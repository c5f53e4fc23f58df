#include "src/tool/run/stages.h"

#include <string.h>

#include "src/tool/base/clock.h"

static void mark(void *ctx, enum gcb_stage stage)
{
    struct gcb_stages *s = ctx;
    const double now = gcb_clock();

    s->run[stage] += now - s->last;
    s->last = now;
    s->staged = true;
}

void gcb_stages_init(struct gcb_stages *s)
{
    memset(s, 0, sizeof(*s));
    s->probe.ctx = s;
}

static int run_once(struct gcb_stages *s, const struct gcb_timing *timing,
                    const struct gcb_operation *op, struct gcb_diag *diag)
{
    int err = timing->evict ? gcb_evict_run(timing->evict, diag) : 0;

    memset(s->run, 0, sizeof(s->run));
    if (err)
        return err;
    s->probe.mark = mark;
    s->last = gcb_clock();
    err = op->run(op->job, diag);
    s->probe.mark = NULL;
    return err;
}

int gcb_stages_measure(struct gcb_stages *s, const struct gcb_timing *timing, size_t runs,
                       const struct gcb_operation *op, struct gcb_diag *diag)
{
    double seconds[GCB_STAGES][GCB_STAGE_RUNS], scratch[GCB_STAGE_RUNS];
    size_t count = 0;
    int err = 0;

    s->staged = false;
    while (!err && count < runs && count < GCB_STAGE_RUNS) {
        err = run_once(s, timing, op, diag);
        for (int i = 0; i < GCB_STAGES; i++)
            seconds[i][count] = s->run[i];
        count++;
        if (!s->staged || (timing->stop && timing->stop(timing->stop_ctx)))
            break;
    }
    for (int i = 0; i < GCB_STAGES; i++) {
        struct gcb_stats stats;

        gcb_stats_of(&stats, seconds[i], count, scratch);
        s->seconds[i] = stats.median;
    }
    return err;
}
