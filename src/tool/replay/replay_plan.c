#include "src/tool/replay/replay_plan.h"

#include <inttypes.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"

/* Returns the index after the last message of the step whose first message is `from`. */
static size_t step_end(const struct gcb_layout *layout, size_t from)
{
    size_t to = from;

    while (to < layout->count && layout->messages[to].step == layout->messages[from].step)
        to++;
    return to;
}

static bool same_message(const struct gcb_source *source, const struct gcb_message_plan *a,
                         const struct gcb_message_plan *b)
{
    return a->count == b->count && a->dense == b->dense && a->dtype == b->dtype &&
           strcmp(gcb_plan_name(a, source), gcb_plan_name(b, source)) == 0;
}

/* Checks that a step has the workers of the first step, and that each of them has the messages of
 * the first step's first worker. The step's messages are those from `first` to before `end`. */
static int check_step(const struct gcb_replay_plan *plan, size_t first, size_t end,
                      struct gcb_diag *diag)
{
    const struct gcb_message_plan *m = plan->layout->messages, *here = &m[first];
    const size_t per_worker = plan->messages, in_step = per_worker * plan->recorded_workers;
    bool same = true;

    for (size_t i = 0; same && i < end - first; i++) {
        here = &m[first + i];
        /* Message i must be of the worker of message i in the first step, in which the worker
         * changes only after the last of its messages. */
        same = i < in_step && here->worker == m[i].worker &&
               here->worker == m[i / per_worker * per_worker].worker &&
               same_message(plan->source, here, &m[i % per_worker]);
    }
    if (same && end - first == in_step)
        return 0;
    return gcb_invalid(diag,
                       "step %" PRIu64 " worker %" PRIu32
                       " %s: all workers of all steps need the same tensors, of the same sizes; "
                       "select them with --step, --worker, --dataset",
                       here->step, here->worker, gcb_show(gcb_plan_name(here, plan->source)).text);
}

/* Refuses a step whose number does not follow that of the step before. */
static int check_gap(const struct gcb_message_plan *m, size_t first, struct gcb_diag *diag)
{
    const uint64_t before = first ? m[first - 1].step : 0, here = m[first].step;

    if (first == 0 || here - before == 1)
        return 0;
    return gcb_invalid(diag,
                       "step %" PRIu64 " follows step %" PRIu64 ": %" PRIu64
                       " between them %s missing; --allow-gaps replays without them",
                       here, before, here - before - 1, here - before == 2 ? "is" : "are");
}

/* Decides whose gradients the workers of a replayed step have. */
static int assign_workers(struct gcb_replay_plan *plan, const struct gcb_replay_order *order,
                          struct gcb_diag *diag)
{
    const uint32_t recorded = plan->recorded_workers;

    plan->workers = order->workers ? (uint32_t)order->workers : recorded;
    plan->merged = order->split_steps ? plan->workers / recorded : 1;
    plan->sources = plan->workers < recorded || order->split_steps ? plan->workers : recorded;
    if (order->split_steps && plan->workers % recorded)
        return gcb_invalid(diag,
                           "--split-steps: each step of the dump has %" PRIu32
                           " workers, so --workers must be a multiple of %" PRIu32,
                           recorded, recorded);
    plan->step_count = plan->recorded_count / plan->merged;
    if (plan->step_count == 0)
        return gcb_invalid(diag,
                           "--split-steps: %" PRIu32 " workers need %" PRIu32
                           " steps of the dump, which has %zu; give fewer --workers",
                           plan->workers, plan->merged, plan->recorded_count);
    return 0;
}

const struct gcb_message_plan *gcb_replay_message_at(const struct gcb_replay_plan *plan,
                                                     size_t step, uint32_t w, size_t j)
{
    const uint32_t recorded = plan->recorded_workers, source = w % plan->sources;
    const size_t first = plan->recorded[step * plan->merged + source / recorded].first;

    return &plan->layout->messages[first + source % recorded * plan->messages + j];
}

const char *gcb_replay_origin(const struct gcb_replay_plan *plan)
{
    if (plan->merged > 1)
        return "steps";
    return plan->workers > plan->sources ? "repeated" : "recorded";
}

int gcb_replay_plan_init(struct gcb_replay_plan *out, const struct gcb_source *source,
                         const struct gcb_layout *layout, const struct gcb_replay_order *order,
                         const struct gcb_nonfinite_scan *scan, struct gcb_diag *diag)
{
    const struct gcb_message_plan *m = layout->messages;
    size_t end = step_end(layout, 0);
    int err = 0;

    *out = (struct gcb_replay_plan){.source = source, .layout = layout};
    while (out->messages < end && m[out->messages].worker == m[0].worker)
        out->messages++;
    out->recorded_workers = out->messages ? (uint32_t)(end / out->messages) : 0;
    out->recorded = gcb_alloc_array(layout->count, sizeof(*out->recorded));
    if (!out->recorded)
        return gcb_diag_nomem(diag, 0, "a list of steps");
    for (size_t first = 0; !err && first < layout->count; first = end) {
        end = step_end(layout, first);
        err = check_step(out, first, end, diag);
        if (!err && !order->allow_gaps)
            err = check_gap(m, first, diag);
        if (!err && !(scan && gcb_nonfinite_has_step(scan, m[first].step)))
            out->recorded[out->recorded_count++] =
                (struct gcb_replay_plan_step){m[first].step, first};
    }
    if (!err && out->recorded_count == 0)
        return gcb_diag_set(diag, GCB_E_NONFINITE, "every step holds infinities or NaNs%s%s",
                            scan ? ": " : "", scan ? scan->text : "");
    return err ? err : assign_workers(out, order, diag);
}
