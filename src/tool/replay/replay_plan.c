#include "src/tool/replay/replay_plan.h"

#include <inttypes.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/trial/run.h"

struct planner {
    struct gcb_replay_plan *plan;
    const struct gcb_source *source;
    const struct gcb_layout *layout;
    size_t in_step; /* messages of each step */
};

/* First message of the step behind the one that begins at `from`. */
static size_t step_end(const struct gcb_layout *layout, size_t from)
{
    size_t to = from;

    while (to < layout->count && layout->messages[to].step == layout->messages[from].step)
        to++;
    return to;
}

/* Workers and messages of the first step. */
static void measure_first(struct planner *p)
{
    const struct gcb_message_plan *m = p->layout->messages;
    size_t n = 0;

    p->in_step = step_end(p->layout, 0);
    while (n < p->in_step && m[n].worker == m[0].worker)
        n++;
    p->plan->messages = n;
    p->plan->workers = n ? (uint32_t)(p->in_step / n) : 0;
}

static bool same_message(const struct planner *p, const struct gcb_message_plan *a,
                         const struct gcb_message_plan *b)
{
    char name[2][40];

    return a->count == b->count && a->dense == b->dense && a->dtype == b->dtype &&
           strcmp(gcb_plan_name(name[0], a, p->source), gcb_plan_name(name[1], b, p->source)) == 0;
}

static int differs(const struct planner *p, const struct gcb_message_plan *m, struct gcb_diag *diag)
{
    char name[40], shown[96];

    return gcb_diag_set(
        diag, GCB_E_INVALID,
        "step %" PRIu64 " worker %" PRIu32 " %s: a replay needs the same workers and "
        "tensors, of the same sizes, in every step",
        m->step, m->worker, gcb_escape(shown, sizeof(shown), gcb_plan_name(name, m, p->source)));
}

/* Every worker of a step has what the first worker of the first step has. */
static int check_step(const struct planner *p, size_t first, size_t end, struct gcb_diag *diag)
{
    const struct gcb_message_plan *m = p->layout->messages;
    const size_t per_worker = p->plan->messages;

    for (size_t i = 0; i < end - first; i++) {
        const struct gcb_message_plan *here = &m[first + i];

        if (i >= p->in_step || here->worker != m[i].worker ||
            here->worker != m[i / per_worker * per_worker].worker ||
            !same_message(p, here, &m[i % per_worker]))
            return differs(p, here, diag);
    }
    if (end - first != p->in_step || p->in_step % per_worker)
        return differs(p, &m[end - 1], diag);
    return 0;
}

static int check_gap(const struct planner *p, size_t first, struct gcb_diag *diag)
{
    const struct gcb_message_plan *m = p->layout->messages;
    const uint64_t before = first ? m[first - 1].step : 0, here = m[first].step;

    if (first == 0 || here - before == 1)
        return 0;
    return gcb_diag_set(diag, GCB_E_INVALID,
                        "step %" PRIu64 " follows step %" PRIu64 ": %" PRIu64 " between them %s "
                        "missing; --allow-gaps replays what is there",
                        here, before, here - before - 1, here - before == 2 ? "is" : "are");
}

static int add_step(struct gcb_replay_plan *plan, size_t *cap, uint64_t number, size_t first,
                    struct gcb_diag *diag)
{
    if (gcb_grow(&plan->steps, cap, plan->step_count, sizeof(*plan->steps)))
        return gcb_diag_nomem(diag, 0, "a list of steps");
    plan->steps[plan->step_count++] = (struct gcb_replay_plan_step){number, first};
    return 0;
}

int gcb_replay_plan_init(struct gcb_replay_plan *out, const struct gcb_source *source,
                         const struct gcb_layout *layout, const struct gcb_nonfinite_scan *scan,
                         bool allow_gaps, struct gcb_diag *diag)
{
    struct planner p = {.plan = out, .source = source, .layout = layout};
    size_t cap = 0, end;
    int err = 0;

    memset(out, 0, sizeof(*out));
    measure_first(&p);
    for (size_t first = 0; !err && first < layout->count; first = end) {
        const uint64_t number = layout->messages[first].step;

        end = step_end(layout, first);
        err = check_step(&p, first, end, diag);
        if (!err && !allow_gaps)
            err = check_gap(&p, first, diag);
        if (!err && !(scan && gcb_nonfinite_has_step(scan, number)))
            err = add_step(out, &cap, number, first, diag);
    }
    if (!err && out->step_count == 0)
        err = gcb_diag_set(diag, GCB_E_NONFINITE, "every step holds infinities or NaNs%s%s",
                           scan ? ": " : "", scan ? scan->text : "");
    return err;
}

void gcb_replay_plan_fini(struct gcb_replay_plan *plan)
{
    gcb_free(plan->steps);
    memset(plan, 0, sizeof(*plan));
}
