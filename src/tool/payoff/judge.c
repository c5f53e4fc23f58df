#include "src/tool/payoff/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/tool/base/memory.h"
#include "src/tool/measure/stats.h"

/* ---- ways that can be used, and their times ---- */

/* Returns the number of transfers of a gradient. */
static double transfers_of(const struct gcb_setting *s)
{
    return fmax(1.0, ceil(4.0 * s->elements / s->bucket));
}

/* Returns the times of a way. `cost`: seconds for each element; NULL: coding, copying and adding
 * take no time, and the time of computing is unknown. */
static struct gcb_exchange_times time_way(const struct gcb_ways *ways, const struct gcb_way *way,
                                          const struct gcb_setting *s, const struct gcb_cost *cost)
{
    const double gradient = 4.0 * s->elements, cores = s->cores > 0.0 ? s->cores : 1.0;
    struct gcb_exchange_times t;
    struct gcb_exchange_load load = {
        .collective = way->collective,
        .half = s->sharded,
        .gathered = s->sharded ? gradient : 0.0, /* weights of 2 bytes, twice */
        .bytes = gcb_way_bytes(ways, way, s->network.workers) * s->elements,
        .reductions = way->mean.reductions,
        .sizes = way->mean.varies,
        .gradient = gradient,
        .add_gradient = cost ? ways->add_fp32 * s->elements / cores : 0.0,
        .copy = cost && !way->baseline && s->host_copy > 0.0 ? 2.0 * gradient / s->host_copy : 0.0,
        .transfers = transfers_of(s),
        .compute = cost ? s->compute : (double)NAN,
        .inner_steps = s->inner_steps,
    };

    if (cost)
        load.cost = gcb_cost_scale(*cost, s->elements / cores);
    gcb_exchange_model(&t, &s->network, &load);
    return t;
}

/* True if the way has times, if s->network.workers workers can use it, and if it has an error or is
 * a baseline. In a sharded training (FSDP), gradients are only reduced and scattered: then only
 * ways that send shares of sums can compress them, and s->reduced is the only baseline. */
static bool can_use(const struct gcb_ways *ways, const struct gcb_way *way,
                    const struct gcb_setting *s)
{
    if (way->cost.code < 0.0 || (isnan(way->mean.error) && !way->baseline) ||
        isnan(gcb_way_bytes(ways, way, s->network.workers)))
        return false;
    if (!s->sharded)
        return true;
    if (way->baseline)
        return strcmp(way->method.name, s->reduced) == 0;
    return gcb_collectives[way->collective].sends == GCB_SENDS_SHARES;
}

/* Sets the gain of a way and the gain's interval from the rounds of timing, if there are any. Each
 * round gives a sample of the gain: the bar's time over the way's time. */
static void set_gain_from_rounds(struct gcb_judged *x, const struct gcb_judgement *j,
                                 const struct gcb_ways *ways)
{
    const struct gcb_way *bar = j->items[j->bar].way;
    const size_t count = ways->round_count;
    double values[GCB_WAY_ROUNDS];
    struct gcb_stats stats;

    for (size_t r = 0; r < count; r++) {
        const double base = time_way(ways, bar, &j->setting, &bar->rounds[r]).seconds;

        values[r] = base / time_way(ways, x->way, &j->setting, &x->way->rounds[r]).seconds;
    }
    if (count) {
        stats = gcb_stats_make(values, count);
        x->item.gain = stats.median;
        x->item.low = stats.low;
        x->item.high = stats.high;
    }
}

/* ---- order of the table ---- */

/* Orders the table: baselines first, then by kind; within those by error, then by cost. */
static int by_table_order(const void *a, const void *b)
{
    const struct gcb_judged *x = a, *y = b;

    if (x->way->baseline != y->way->baseline)
        return x->way->baseline ? -1 : 1;
    if (!x->way->baseline && x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->item.error < y->item.error || x->item.error > y->item.error)
        return x->item.error < y->item.error ? -1 : 1;
    return (x->times.cost > y->times.cost) - (x->times.cost < y->times.cost);
}

/* ---- lines of the table ---- */

/* The error of sending zeros. choose_lines leaves out ways with a larger error that the answer does
 * not name. */
#define USELESS 1.0

/* Marks the way j->items[i] to be shown, and counts the way in *shown unless it is a baseline. Does
 * nothing if the way is marked already, or if i is SIZE_MAX. */
static void mark_shown(struct gcb_judgement *j, size_t i, size_t *shown)
{
    if (i == SIZE_MAX || j->items[i].shown)
        return;
    j->items[i].shown = true;
    *shown += !j->items[i].way->baseline;
}

/*
 * Marks the lines of the table: the bar, fp32, the ways that the answer names, and the best way of
 * each kind that may be recommended (gcb_answer_best). While fewer than GCB_WAY_SHOWN ways
 * besides baselines are marked, adds ways that are worth their larger error: in each kind, in the
 * order of errors, a way that is worth at least GCB_ANSWER_GAIN times as much as the last such way.
 * The first such way of a kind is compared with the bar.
 */
static void choose_lines(struct gcb_judgement *j)
{
    const struct gcb_answer *a = &j->answer;
    size_t shown = 0;
    double most = 1.0; /* worth of the last such way of this kind; before the first, the bar's */

    for (size_t i = 0; i < j->count; i++) /* fp32 is the default of frameworks */
        if (i == j->bar || gcb_way_is_fp32(j->items[i].way))
            mark_shown(j, i, &shown);
    mark_shown(j, a->best, &shown);
    mark_shown(j, a->noisy, &shown);
    mark_shown(j, a->trained, &shown);
    for (enum gcb_error_kind kind = 0; kind < GCB_ERROR_LOUD; kind++)
        mark_shown(j, gcb_answer_best(a, kind, USELESS), &shown);
    for (size_t i = 0; i < j->count && shown < GCB_WAY_SHOWN; i++) {
        const double worth = gcb_answer_worth(&j->advised[i]);

        if (i && j->items[i].kind != j->items[i - 1].kind)
            most = 1.0;
        if (!gcb_answer_usable(a, &j->advised[i]) || j->items[i].kind >= GCB_ERROR_LOUD ||
            j->items[i].item.error > USELESS || !(worth >= GCB_ANSWER_GAIN * most))
            continue;
        most = worth;
        mark_shown(j, i, &shown);
    }
}

/* ---- the judgement ---- */

/* Finds the baseline with the fastest exchange, and names it in the answer, which names fp16 if
 * there is no baseline. */
static void find_bar(struct gcb_judgement *j)
{
    j->bar = SIZE_MAX;
    for (size_t i = 0; i < j->count; i++)
        if (j->items[i].way->baseline &&
            (j->bar == SIZE_MAX || j->items[i].times.seconds < j->items[j->bar].times.seconds))
            j->bar = i;
    j->answer.bar = j->bar == SIZE_MAX ? "fp16" : gcb_shown_name(j->items[j->bar].way->method.name);
}

/* Sets `gain` with its interval, `limit` and `step` of all ways, and j->untouched. Each of the
 * three compares with the baseline that is fastest by that measure, so the three baselines may
 * differ. Does nothing without a baseline. */
static void compare_with_baselines(struct gcb_judgement *j, const struct gcb_ways *ways)
{
    double least = INFINITY; /* seconds of the fastest baseline if coding and adding took no time */
    double step = INFINITY;  /* seconds of the shortest training step with a baseline */
    const struct gcb_exchange_times *bar;

    if (j->bar == SIZE_MAX)
        return;
    bar = &j->items[j->bar].times;
    j->untouched = bar->gathered / bar->seconds;
    for (size_t i = 0; i < j->count; i++)
        if (j->items[i].way->baseline) {
            least = fmin(least, time_way(ways, j->items[i].way, &j->setting, NULL).seconds);
            step = fmin(step, j->items[i].times.step);
        }
    for (size_t i = 0; i < j->count; i++) {
        struct gcb_judged *x = &j->items[i];

        x->item.gain = bar->seconds / x->times.seconds;
        set_gain_from_rounds(x, j, ways);
        x->limit = least / time_way(ways, x->way, &j->setting, NULL).seconds;
        x->item.step = isnan(x->times.step) ? (double)NAN : step / x->times.step;
    }
}

/* Fills in the error, the times and the kind of a way. */
static void judge_way(struct gcb_judged *x, const struct gcb_way *way, const struct gcb_ways *ways,
                      const struct gcb_judgement *j)
{
    const struct gcb_setting *s = &j->setting;

    *x = (struct gcb_judged){.way = way, .item = gcb_answer_item_of(&way->method)};
    x->item.name = way->label;
    x->item.baseline = way->baseline;
    x->item.error = gcb_way_error(ways, way, s->network.workers, s->network.per_node, s->sharded);
    x->item.lasting = way->mean.lasting;
    if (way->mean.error > 0.0) /* the lasting part grows in proportion to the error */
        x->item.lasting = x->item.lasting * x->item.error / way->mean.error;
    x->times = time_way(ways, way, s, &way->cost);
    x->kind = gcb_answer_kind(&j->answer, &x->item);
}

void gcb_judge(struct gcb_judgement *out, const struct gcb_ways *ways, const struct gcb_setting *s)
{
    *out = (struct gcb_judgement){.setting = *s,
                                  .items = gcb_must_zero(ways->count + 1, sizeof(*out->items)),
                                  .advised = gcb_must_zero(ways->count + 1, sizeof(*out->advised)),
                                  .answer = {.times = true, .exact = s->exact, .noise = s->noise}};
    out->answer.items = out->advised;
    for (size_t i = 0; i < ways->count; i++)
        if (can_use(ways, &ways->items[i], s))
            judge_way(&out->items[out->count++], &ways->items[i], ways, out);
    if (out->count)
        qsort(out->items, out->count, sizeof(*out->items), by_table_order);
    out->answer.count = out->count;
    find_bar(out);
    compare_with_baselines(out, ways);
    for (size_t i = 0; i < out->count; i++)
        out->advised[i] = out->items[i].item;
    gcb_answer_choose(&out->answer);
    choose_lines(out);
}

void gcb_judgement_fini(struct gcb_judgement *j)
{
    gcb_free(j->items);
    gcb_free(j->advised);
    memset(j, 0, sizeof(*j));
}

/* ---- payoff rows ---- */

/* Returns how the answer names a way, for the field `advice`. NULL: it does not name the way. */
static const char *advice_of(const struct gcb_answer *a, size_t i)
{
    if (i == a->best)
        return "best";
    if (i == a->noisy)
        return "noise";
    return i == a->trained ? "train" : NULL;
}

void gcb_payoff_row(struct gcb_row *row, const struct gcb_judgement *j, size_t i, const char *from,
                    const char *coding)
{
    const struct gcb_judged *x = &j->items[i];
    const struct gcb_setting *s = &j->setting;
    const struct gcb_network *n = &s->network;
    const struct gcb_exchange_times *t = &x->times;
    char spec[1024];

    gcb_row_init(row, GCB_RECORD_PAYOFF);
    gcb_row_text(row, GCB_FIELD_MODEL, "exchange");
    gcb_row_text(row, GCB_FIELD_RESULTS, from);
    gcb_row_text(row, GCB_FIELD_METHOD, x->way->method.name);
    gcb_row_text(row, GCB_FIELD_SPEC,
                 gcb_method_spec(spec, sizeof(spec), &x->way->method, GCB_SPEC_FULL));
    gcb_row_text(row, GCB_FIELD_LABEL, x->way->label);
    gcb_row_bool(row, GCB_FIELD_BASELINE, x->way->baseline);
    gcb_row_text(row, GCB_FIELD_COLLECTIVE, gcb_collective_names[x->way->collective]);
    gcb_row_text(row, GCB_FIELD_ALGORITHM, t->algorithm);
    gcb_row_text(row, GCB_FIELD_KIND, x->way->baseline ? NULL : gcb_error_kinds[x->kind]);
    gcb_row_real(row, GCB_FIELD_ERROR_OF_MEAN, x->item.error);
    gcb_row_real(row, GCB_FIELD_LASTING, x->item.lasting);
    gcb_row_u64(row, GCB_FIELD_MEAN_WORKERS, x->way->workers);
    gcb_row_u64(row, GCB_FIELD_WORKERS, n->workers);
    gcb_row_text(row, GCB_FIELD_LINK_FILE, n->curve ? n->curve->path : NULL);
    gcb_row_real(row, GCB_FIELD_BANDWIDTH_GBIT, 8e-9 * n->bandwidth);
    gcb_row_real(row, GCB_FIELD_LATENCY_SECONDS, n->latency);
    gcb_row_u64(row, GCB_FIELD_WORKERS_PER_NODE, n->per_node);
    gcb_row_real(row, GCB_FIELD_INTRA_GBIT, n->per_node > 1 ? 8e-9 * n->intra : (double)NAN);
    gcb_row_real(row, GCB_FIELD_INNER_STEPS, s->inner_steps);
    gcb_row_bool(row, GCB_FIELD_SHARDED, s->sharded);
    gcb_row_real(row, GCB_FIELD_GRADIENT_BYTES, 4.0 * s->elements);
    gcb_row_real(row, GCB_FIELD_TRANSFERS, transfers_of(s));
    gcb_row_real(row, GCB_FIELD_LINK_BYTES, t->link_bytes);
    gcb_row_text(row, GCB_FIELD_CODING, coding);
    gcb_row_real(row, GCB_FIELD_CODING_SECONDS, t->coding);
    gcb_row_real(row, GCB_FIELD_NETWORK_SECONDS, t->network);
    gcb_row_real(row, GCB_FIELD_ADDING_SECONDS, t->adding);
    gcb_row_real(row, GCB_FIELD_SECONDS, t->seconds);
    gcb_row_real(row, GCB_FIELD_COMPUTE_SECONDS, s->compute);
    gcb_row_real(row, GCB_FIELD_STEP_SECONDS, t->step);
    gcb_row_text(row, GCB_FIELD_BAR, j->answer.bar);
    gcb_row_real(row, GCB_FIELD_SPEEDUP_BAR, x->item.gain);
    gcb_row_real(row, GCB_FIELD_SPEEDUP_BAR_LOW, x->item.low);
    gcb_row_real(row, GCB_FIELD_SPEEDUP_BAR_HIGH, x->item.high);
    gcb_row_real(row, GCB_FIELD_SPEEDUP_LIMIT, x->limit);
    gcb_row_real(row, GCB_FIELD_SPEEDUP_STEP, x->item.step);
    gcb_row_text(row, GCB_FIELD_ADVICE, advice_of(&j->answer, i));
    gcb_row_real(row, GCB_FIELD_INSIDE_BYTES, t->inside_bytes);
}
