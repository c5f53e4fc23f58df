#include "cli/payoff/payoff.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "src/lib/base/text.h"
#include "src/tool/rows/number.h"

/* ---- numbers ---- */

/* Writes an error with two or three decimals; "0" if it is below 0.0005, "?" if it is not known.
 * Returns out. */
static char *error_text(char out[32], double error)
{
    if (isnan(error))
        strcpy(out, "?");
    else if (error < 0.0005)
        strcpy(out, "0");
    else
        snprintf(out, 32, error < 0.1 ? "%.3f" : "%.2f", error);
    return out;
}

/* Writes a bandwidth, which is in bytes per second, in bits: "10 Gb/s". Returns out. */
static char *rate_text(char out[32], double bandwidth)
{
    static const struct {
        double from;
        const char *name;
    } units[] = {{1e12, "Tb/s"}, {1e9, "Gb/s"}, {1e6, "Mb/s"}, {1e3, "kb/s"}, {0.0, "b/s"}};
    const double bits = 8.0 * bandwidth;
    size_t i = 0;

    while (bits < 0.9995 * units[i].from) /* so that no value is shown as 1000 of a unit */
        i++;
    snprintf(out, 32, "%.4g %s", units[i].from > 0.0 ? bits / units[i].from : bits, units[i].name);
    return out;
}

/* ---- headings ---- */

void payoff_show_origin(const struct out_report *report, const struct gcb_ways *ways,
                        const char *from, const char *coding)
{
    const struct gcb_gradients *dump = &ways->dump;
    char sample[160] = "", elements[32], sampled[32];

    if (dump->count)
        snprintf(sample, sizeof(sample),
                 ", %u worker%s, %zu step%s, %s of %s elements (%zu of %zu tensors)", dump->workers,
                 dump->workers == 1 ? "" : "s", dump->steps, dump->steps == 1 ? "" : "s",
                 gcb_number(sampled, (double)dump->count, 3),
                 gcb_number(elements, (double)dump->all, 3), dump->tensor_count, dump->all_tensors);
    opt_wrapf(report->out, 0, 2, "errors: of %s%s; times of coding: %s", from, sample, coding);
}

void payoff_show_setting(const struct out_report *report, const struct payoff_plan *plan,
                         const struct gcb_setting *s, bool several)
{
    const struct gcb_network *n = &s->network;
    char line[400] = "", bytes[32], rate[32], seconds[32], name[64];

    if (plan->cluster)
        gcb_append(line, sizeof(line), "%s: ", plan->cluster);
    if (several && n->per_node > 1)
        gcb_append(line, sizeof(line), "nodes of %u workers, %.6g GB/s inside, ", n->per_node,
                   1e-9 * n->intra);
    else if (n->per_node > 1)
        gcb_append(line, sizeof(line), "%u nodes of %u workers, %s a node, %.6g GB/s inside, ",
                   n->workers / n->per_node, n->per_node, rate_text(rate, n->bandwidth),
                   1e-9 * n->intra);
    else if (!several)
        gcb_append(line, sizeof(line), "%u workers, %s, ", n->workers,
                   rate_text(rate, n->bandwidth));
    gcb_append(line, sizeof(line), "latency %s", gcb_seconds(seconds, n->latency));
    if (n->curve)
        gcb_append(line, sizeof(line), " (%s)", gcb_escape(name, sizeof(name), n->curve->path));
    gcb_append(line, sizeof(line), "; gradient of %s as fp32", gcb_bytes(bytes, 4.0 * s->elements));
    if (s->inner_steps > 1.0)
        gcb_append(line, sizeof(line), ", sent once in %.6g steps", s->inner_steps);
    if (s->sharded)
        gcb_append(line, sizeof(line),
                   ", sharded: reduced and scattered as %s, while %s of weights are gathered twice",
                   gcb_shown_name(s->reduced), gcb_bytes(bytes, 2.0 * s->elements));
    opt_wrap(report->out, line, 0, 2);
}

/* ---- tables of ways and places, and notes ---- */

/* Adds the cells of a way. `bar`: x is the way with which all ways are compared. */
static void add_way(struct gcb_table *table, const struct gcb_judged *x, bool bar,
                    const struct gcb_setting *s)
{
    const struct gcb_exchange_times *t = &x->times;
    char text[200], low[32], high[32];

    snprintf(text, sizeof(text), "%s reduce-scatter", gcb_shown_name(x->way->method.name));
    gcb_table_cell(table, s->sharded && x->way->baseline ? text : x->way->label);
    gcb_table_cell(table, error_text(text, x->item.error));
    gcb_table_cell(table, error_text(text, x->item.lasting));
    gcb_number_within(text, 1e-6 * t->link_bytes, 3, 7);
    gcb_table_cell(table, text);
    gcb_table_cell(table, gcb_seconds(text, t->seconds));
    gcb_factor(text, x->item.gain);
    /* show the interval instead of the gain if it contains both a clear loss and a clear gain */
    if (!bar && !isnan(x->item.low) && x->item.low < 0.9 && x->item.high > 1.1)
        snprintf(text, sizeof(text), "%s-%s", gcb_factor(low, x->item.low),
                 gcb_factor(high, x->item.high));
    gcb_table_cell(table, text);
    if (!isnan(s->compute))
        gcb_table_cell(table, gcb_factor(text, x->item.step));
    gcb_table_cell(table, gcb_factor(text, x->limit));
    snprintf(text, sizeof(text), "%.0f/%.0f/%.0f", 100.0 * t->coding / t->seconds,
             100.0 * t->network / t->seconds, 100.0 * t->adding / t->seconds);
    gcb_table_cell(table, text);
}

void payoff_show_ways(const struct out_report *report, const struct gcb_judgement *j)
{
    const bool steps = !isnan(j->setting.compute);
    char faster[32]; /* a title: "x fp16" */
    /* without --compute, the column "x step" is left out */
    const struct gcb_table_column columns[] = {
        {.title = "way", .elastic = true, .text = true},
        {.title = "error"},
        {.title = "lasting"},
        {.title = "MB sent"},
        {.title = "time"},
        {.title = faster},
        {.title = steps ? "x step" : "limit"},
        {.title = steps ? "limit" : "code/net/add"},
        {.title = "code/net/add"},
    };
    static const char *const titles[GCB_ERROR_KINDS] = {
        "nearly exact:", "noise, right on average:",
        "lasting, even with a memory: train to confirm", "noise above the limit:"};
    struct gcb_table *table;
    int kind = -1;

    snprintf(faster, sizeof(faster), "x %s", j->answer.bar);
    table = gcb_table_create(columns, sizeof(columns) / sizeof(columns[0]) - !steps);
    for (size_t i = 0; i < j->count; i++) {
        const struct gcb_judged *x = &j->items[i];

        if (!x->shown && !report->verbose)
            continue;
        if (!x->way->baseline && kind != (int)x->kind)
            gcb_table_title(table, titles[x->kind]);
        kind = x->way->baseline ? -1 : (int)x->kind;
        add_way(table, x, i == j->bar, &j->setting);
    }
    out_table(report, table);
}

void payoff_show_notes(const struct out_report *report, const struct gcb_ways *ways,
                       const struct gcb_judgement *j)
{
    const struct gcb_setting *s = &j->setting;
    const double n = s->network.workers;
    bool fixed = false;   /* the error of a shown way is that of fewer than n workers */
    unsigned workers = 1; /* most workers with which an error was measured */

    for (size_t i = 0; i < j->count; i++) {
        const struct gcb_way *way = j->items[i].way;
        const bool shown = j->items[i].shown || report->verbose;

        fixed |= shown && !way->baseline && way->workers > 1 && way->workers < n &&
                 (!ways->dump.count || !gcb_mean_averages(&way->method));
        workers = way->workers > workers ? way->workers : workers;
    }
    if (*ways->left_out)
        opt_note(report->out, "left out: %s", ways->left_out);
    if (ways->dump.nonfinite)
        opt_note(report->out, "%" PRIu64 " infinities or NaNs of the dump count as 0",
                 ways->dump.nonfinite);
    if (ways->dump.count)
        out_note_values(report->out, ways->dump.signal + ways->dump.noise);
    if (workers == 1)
        opt_note(report->out,
                 "errors are those of one worker: noise is assumed not to average out");
    if (workers > 1 && ways->dump.count && workers < n)
        opt_note(report->out, "errors of roundings: computed for %u workers from those of %u",
                 s->network.workers, workers);
    if (fixed)
        opt_note(report->out, "errors%s are those of %u workers",
                 ways->dump.count ? " of ways that drop values" : "", workers);
    if (s->inner_steps > 1.0)
        opt_note(report->out, "errors are those of the dump: record changes of %.6g steps",
                 s->inner_steps);
}

void payoff_show_places(const struct out_report *report, const struct gcb_judgement *places,
                        size_t count)
{
    static const struct gcb_table_column columns[] = {
        {.title = "workers"},
        {.title = "network", .text = true},
        {.title = "without", .text = true},
        {.title = "recommended way", .text = true, .elastic = true},
        {.title = "error"},
        {.title = "x"},
    };
    struct gcb_table *table = gcb_table_create(columns, sizeof(columns) / sizeof(columns[0]));
    char text[64], bar[96], way[GCB_WAY_LABEL + 8];
    bool noise = false;

    for (size_t i = 0; i < count; i++) {
        const struct gcb_judgement *j = &places[i];
        const struct gcb_network *n = &j->setting.network;
        const size_t best = j->answer.noisy != SIZE_MAX ? j->answer.noisy : j->answer.best;

        snprintf(text, sizeof(text), "%u", n->workers);
        gcb_table_cell(table, text);
        gcb_table_cell(table, rate_text(text, n->bandwidth));
        snprintf(bar, sizeof(bar), "%s %s", j->answer.bar,
                 gcb_seconds(text, j->items[j->bar].times.seconds));
        gcb_table_cell(table, bar);
        if (best == SIZE_MAX) {
            for (int k = 0; k < 3; k++)
                gcb_table_cell(table, k ? "" : "-");
            continue;
        }
        noise |= best == j->answer.noisy;
        snprintf(way, sizeof(way), "%s%s", j->items[best].way->label,
                 best == j->answer.noisy ? " (noise)" : "");
        gcb_table_cell(table, way);
        gcb_table_cell(table, error_text(text, j->items[best].item.error));
        gcb_table_cell(table, gcb_factor(text, j->items[best].item.gain));
    }
    out_table(report, table);
    if (noise && !report->quiet)
        opt_note(report->out, "noise: right on average, like the error of a smaller batch; "
                              "compare a first training with fp16");
}

/* ---- measured exchanges ---- */

/* A prediction is good if it differs from the measured value by at most this share of it. */
#define NEAR 0.2

void payoff_show_measured(const struct out_report *report, const struct gcb_measureds *all,
                          const struct gcb_network *network)
{
    static const struct gcb_table_column columns[] = {
        {.title = "way", .text = true, .elastic = true},
        {.title = "workers"},
        {.title = "measured"},
        {.title = "predicted"},
        {.title = "ratio"},
        {.title = "x"},
        {.title = "predicted x"}};
    struct gcb_table *table = gcb_table_create(columns, sizeof(columns) / sizeof(columns[0]));
    size_t near = 0, ways = 0;
    char text[64];

    for (size_t i = 0; i < all->count; i++) {
        const struct gcb_measured *x = &all->items[i];

        if (i && x->group != x[-1].group)
            gcb_table_title(table, "");
        gcb_table_cell(table, x->label);
        snprintf(text, sizeof(text), "%u", x->workers);
        gcb_table_cell(table, text);
        gcb_table_cell(table, gcb_seconds(text, x->seconds));
        gcb_table_cell(table, gcb_seconds(text, x->predicted));
        gcb_table_cell(table, gcb_factor(text, x->seconds / x->predicted));
        gcb_table_cell(table, gcb_factor(text, x->speedup));
        gcb_table_cell(table, gcb_factor(text, x->predicted_speedup));
        ways += !x->baseline && !isnan(x->speedup);
        near += !x->baseline && fabs(x->predicted_speedup / x->speedup - 1.0) <= NEAR;
    }
    out_table(report, table);
    if (!report->quiet)
        opt_note(report->out,
                 "only the network is predicted (%s); coding and adding are as the ranks measured",
                 rate_text(text, network->bandwidth));
    if (!report->quiet && ways)
        opt_note(report->out,
                 "the predicted x of %zu of %zu ways is within %.0f %% of the measured x", near,
                 ways, 100.0 * NEAR);
}

/* ---- the answer ---- */

char *payoff_answer(char out[PAYOFF_ANSWER], const struct gcb_judgement *j, bool on_cpu)
{
    const struct gcb_setting *s = &j->setting;
    const struct gcb_answer *a = &j->answer;
    const size_t named[] = {a->best, a->noisy};
    char text[32];

    gcb_answer_text(out, PAYOFF_ANSWER, a);
    if (a->best == SIZE_MAX && a->noisy == SIZE_MAX && on_cpu)
        gcb_append(out, PAYOFF_ANSWER,
                   ". That is with coding on the CPU; for gradients on GPUs add --coding h200");
    /* for example "A training step gets at most 3 ms or 5 ms shorter" */
    for (size_t i = 0; i < 2 && isnan(s->compute); i++)
        if (named[i] != SIZE_MAX)
            gcb_append(
                out, PAYOFF_ANSWER, "%s%s%s",
                i && named[0] != SIZE_MAX ? " or " : ". A training step gets at most ",
                gcb_seconds(text, j->items[j->bar].times.cost - j->items[named[i]].times.cost),
                i || named[1] == SIZE_MAX ? " shorter" : "");
    if (s->sharded && j->bar != SIZE_MAX)
        gcb_append(out, PAYOFF_ANSWER,
                   ". Compression can shorten only %s of the exchange: the rest gathers weights",
                   gcb_percent(text, 1.0 - j->untouched));
    if (a->best != SIZE_MAX || a->noisy != SIZE_MAX || a->trained != SIZE_MAX)
        gcb_append(out, PAYOFF_ANSWER,
                   ". What counts as small comes from trainings of small networks");
    return out;
}
