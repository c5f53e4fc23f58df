#include "cli/replay/replay_table.h"
#include "src/tool/print/number.h"

#include <inttypes.h>
#include <math.h>

#define FIGURES 9

static const struct gcb_table_column step_columns[1 + FIGURES] = {
    {.title = "step"},    {.title = "wire"},   {.title = "ratio"},  {.title = "alpha"},
    {.title = "cum err"}, {.title = "resid"},  {.title = "kept %"}, {.title = "any %"},
    {.title = "stale"},   {.title = "cosine"},
};

/* With a schedule, the last column is theta instead of the cosine. */
static const struct gcb_table_column scheduled_columns[1 + FIGURES] = {
    {.title = "step"},    {.title = "wire"},  {.title = "ratio"},  {.title = "alpha"},
    {.title = "cum err"}, {.title = "resid"}, {.title = "kept %"}, {.title = "any %"},
    {.title = "stale"},   {.title = "theta"},
};

/* Method names with parameters are long, so densities are printed below the table. */
#define TOTALS 8
static const struct gcb_table_column total_columns[TOTALS] = {
    {.title = "method", .elastic = true},
    {.title = "wire"},
    {.title = "ratio"},
    {.title = "alpha"},
    {.title = "cum err"},
    {.title = "resid"},
    {.title = "stale"},
    {.title = "cosine"},
};

static void print_range(FILE *out, uint32_t from, uint32_t to)
{
    if (to - from == 1)
        fprintf(out, "worker %" PRIu32, from);
    else
        fprintf(out, "workers %" PRIu32 "..%" PRIu32, from, to - 1);
}

void replay_show_workers(FILE *out, const struct gcb_replay_plan *plan)
{
    const size_t used = plan->step_count * plan->merged;

    if (plan->merged > 1) {
        fprintf(out, "%" PRIu32 " workers: each step is made of %" PRIu32 " steps of the dump",
                plan->workers, plan->merged);
        if (used < plan->recorded_count)
            fprintf(out, "; %zu left out at its end", plan->recorded_count - used);
    } else if (plan->workers > plan->sources) {
        print_range(out, plan->sources, plan->workers);
        fputs(plan->workers - plan->sources == 1 ? " repeats " : " repeat ", out);
        print_range(out, 0, plan->sources);
    } else if (plan->workers < plan->recorded_workers) {
        print_range(out, 0, plan->workers);
        fprintf(out, " of %" PRIu32, plan->recorded_workers);
    } else {
        return;
    }
    fputc('\n', out);
}

/* Adds the cells of `wire` to `resid`. */
static void add_errors(struct gcb_table *table, const struct gcb_replay_figures *f)
{
    out_cell(table, GCB_FIELD_WIRE_BYTES, (double)f->tally.wire_bytes, 0);
    out_cell(table, GCB_FIELD_RATIO, f->ratio, 0);
    out_cell(table, GCB_FIELD_ALPHA, f->alpha, 0);
    out_cell(table, GCB_FIELD_CUMULATIVE_ERROR, f->cumulative_error, 0);
    out_cell(table, GCB_FIELD_RESIDUAL_NORM, f->residual_norm, 0);
}

static void add_staleness(struct gcb_table *table, const struct gcb_replay_figures *f)
{
    char text[48];

    snprintf(text, sizeof(text), "%" PRIu64 "/%" PRIu64, f->staleness_median, f->staleness_p99);
    gcb_table_cell(table, text);
}

struct gcb_table *replay_steps_create(bool scheduled)
{
    return gcb_table_create(scheduled ? scheduled_columns : step_columns, 1 + FIGURES);
}

void replay_steps_add(struct gcb_table *table, const struct gcb_replay_step *s, bool scheduled)
{
    const struct gcb_replay_figures *f = &s->figures;
    char text[32];

    snprintf(text, sizeof(text), "%" PRIu64, s->step);
    gcb_table_cell(table, text);
    add_errors(table, f);
    gcb_table_cell(table, gcb_number(text, 100.0 * f->density, 3));
    gcb_table_cell(table, gcb_number(text, 100.0 * f->union_density, 3));
    add_staleness(table, f);
    out_cell(table, GCB_FIELD_COSINE, scheduled ? s->theta : f->cosine, 0);
}

int replay_show_totals(const struct out_report *report, const struct gcb_method *methods,
                       const struct gcb_replay_total *totals, size_t count, struct gcb_diag *diag)
{
    struct gcb_table *table = gcb_table_create(total_columns, TOTALS);
    char name[256];

    for (size_t i = 0; i < count; i++) {
        gcb_table_cell(table, gcb_method_spec(name, sizeof(name), &methods[i], GCB_SPEC_LABEL));
        add_errors(table, &totals[i].figures);
        add_staleness(table, &totals[i].figures);
        out_cell(table, GCB_FIELD_COSINE, totals[i].figures.cosine, 0);
    }
    return out_table(report, table, diag);
}

/* Prints, for example, "contraction 0.401 at least, 0.485 on average" and "residual^2 at 12.7 % of its bound". */
static void show_bound(FILE *out, const struct gcb_replay_total *t, int at)
{
    char least[32], mean[32], share[32], line[200];
    size_t n;

    gcb_number(least, t->contraction_min, 3);
    gcb_number(mean, t->contraction_mean, 3);
    n = (size_t)snprintf(line, sizeof(line), "contraction %s at least, %s on average", least, mean);
    if (t->feedback && isnan(t->bound_ratio))
        snprintf(line + n, sizeof(line) - n, "; not above 0, so the residual has no bound");
    opt_wrap(out, line, at, 2);
    if (t->feedback && !isnan(t->bound_ratio))
        fprintf(out, "residual^2 at %s of its bound%s\n", gcb_percent(share, t->bound_ratio),
                t->bound_ratio <= 1.0 ? "" : ": BROKEN");
}

static void show_sent(FILE *out, const struct gcb_method *method, const struct gcb_replay_total *t,
                      bool named)
{
    const bool kept = !isnan(t->figures.density), sent = !isnan(t->figures.union_density);
    const int at = named ? fprintf(out, "%s:", method->name) : 0;
    char share[32];

    if (kept)
        fprintf(out, "%skept %s of positions%s", named ? " " : "",
                gcb_percent(share, t->figures.density), sent ? "; " : "\n");
    if (sent)
        fprintf(out, "%s%s of elements sent by some worker\n", named && !kept ? " " : "",
                gcb_percent(share, t->figures.union_density));
    show_bound(out, t, kept || sent ? 0 : at);
    if (!isnan(t->figures.clamped_share))
        fprintf(out, "%s of the values were clamped after tuning\n",
                gcb_percent(share, t->figures.clamped_share));
    if (t->unsent_steps)
        fprintf(out, "note: the last %" PRIu64 " step%s not sent, because no message followed\n",
                t->unsent_steps, t->unsent_steps == 1 ? " was" : "s were");
}

/* Explains a row of dashes, and says what to do. */
static void show_nothing_sent(FILE *out, const struct gcb_method *method,
                              const struct gcb_replay_total *t)
{
    double delay;

    if (gcb_method_value(method, "delay", &delay) && delay > (double)t->steps)
        opt_wrapf(
            out, 0, 0,
            "note: %s sent nothing: delay=%.0f is a message for every %.0f steps, and %" PRIu64
            " %s replayed; --loop N goes through them N times",
            method->name, delay, delay, t->steps, t->steps == 1 ? "was" : "were");
    else
        opt_wrapf(out, 0, 0, "note: %s sent nothing", method->name);
}

void replay_show_notes(FILE *out, const struct gcb_method *method, const struct gcb_replay_total *t,
                       bool named)
{
    if (t->figures.tally.messages)
        show_sent(out, method, t, named);
    else if (!t->interrupted)
        show_nothing_sent(out, method, t);
}
