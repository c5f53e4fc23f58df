#include "cli/replay/replay_table.h"
#include "src/tool/print/number.h"

#include <inttypes.h>
#include <math.h>

#define FIGURES 9

static const struct gcb_table_column step_columns[1 + FIGURES] = {
    {"step", true, false},   {"wire", true, false},    {"ratio", true, false},
    {"alpha", true, false},  {"cum err", true, false}, {"resid", true, false},
    {"kept %", true, false}, {"any %", true, false},   {"stale", true, false},
    {"cosine", true, false},
};

/* Theta in the place of the cosine. */
static const struct gcb_table_column scheduled_columns[1 + FIGURES] = {
    {"step", true, false},   {"wire", true, false},    {"ratio", true, false},
    {"alpha", true, false},  {"cum err", true, false}, {"resid", true, false},
    {"kept %", true, false}, {"any %", true, false},   {"stale", true, false},
    {"theta", true, false},
};

/* Without densities, which stand below: specs are long. */
#define TOTALS 8
static const struct gcb_table_column total_columns[TOTALS] = {
    {"method", false, true}, {"wire", true, false},    {"ratio", true, false},
    {"alpha", true, false},  {"cum err", true, false}, {"resid", true, false},
    {"stale", true, false},  {"cosine", true, false},
};

/* Adds the cells of `wire` to `resid`. */
static void add_errors(struct gcb_table *table, const struct gcb_tally *t, const double figures[4])
{
    static const enum gcb_field fields[] = {GCB_FIELD_RATIO, GCB_FIELD_ALPHA,
                                            GCB_FIELD_CUMULATIVE_ERROR, GCB_FIELD_RESIDUAL_NORM};

    out_cell(table, GCB_FIELD_WIRE_BYTES, (double)t->wire_bytes, 0);
    for (size_t i = 0; i < 4; i++)
        out_cell(table, fields[i], figures[i], 0);
}

static void add_staleness(struct gcb_table *table, uint64_t median, uint64_t p99)
{
    char text[48];

    snprintf(text, sizeof(text), "%" PRIu64 "/%" PRIu64, median, p99);
    gcb_table_cell(table, text);
}

struct gcb_table *replay_steps_create(bool scheduled)
{
    return gcb_table_create(scheduled ? scheduled_columns : step_columns, 1 + FIGURES);
}

void replay_steps_add(struct gcb_table *table, const struct gcb_replay_step *s, bool scheduled)
{
    char text[32];

    snprintf(text, sizeof(text), "%" PRIu64, s->step);
    gcb_table_cell(table, text);
    add_errors(table, &s->tally,
               (const double[]){s->ratio, s->alpha, s->cumulative_error, s->residual_norm});
    gcb_table_cell(table, gcb_number(text, 100.0 * s->density, 3));
    gcb_table_cell(table, gcb_number(text, 100.0 * s->union_density, 3));
    add_staleness(table, s->staleness_median, s->staleness_p99);
    out_cell(table, GCB_FIELD_COSINE, scheduled ? s->theta : s->cosine, 0);
}

int replay_show_totals(const struct out_report *report, const struct gcb_method *methods,
                       const struct gcb_replay_total *totals, size_t count, struct gcb_diag *diag)
{
    struct gcb_table *table = gcb_table_create(total_columns, TOTALS);
    char name[256];

    for (size_t i = 0; i < count; i++) {
        const struct gcb_replay_total *t = &totals[i];

        gcb_table_cell(table, gcb_method_spec(name, sizeof(name), &methods[i], GCB_SPEC_LABEL));
        add_errors(table, &t->tally,
                   (const double[]){t->ratio, t->alpha, t->cumulative_error, t->residual_norm});
        add_staleness(table, t->staleness_median, t->staleness_p99);
        out_cell(table, GCB_FIELD_COSINE, t->cosine, 0);
    }
    return out_table(report, table, diag);
}

/* "residual: at most 3.2 % of what feedback allows at contraction 0.12 (mean 0.2)" */
static void show_bound(FILE *out, const struct gcb_replay_total *t, int at)
{
    char least[32], mean[32], share[32], line[200];
    size_t n;

    gcb_number(least, t->contraction_min, 3);
    gcb_number(mean, t->contraction_mean, 3);
    n = (size_t)snprintf(line, sizeof(line), "contraction %s at least, %s on average", least, mean);
    if (t->feedback && isnan(t->bound_ratio))
        snprintf(line + n, sizeof(line) - n, "; none, so the residual has no bound");
    opt_wrap(out, line, at, 2);
    if (t->feedback && !isnan(t->bound_ratio))
        fprintf(out, "residual^2 at %s of its bound%s\n", gcb_percent(share, t->bound_ratio),
                t->bound_ratio <= 1.0 ? "" : ": BROKEN");
}

static void show_sent(FILE *out, const struct gcb_method *method, const struct gcb_replay_total *t,
                      bool named)
{
    const bool kept = !isnan(t->density), sent = !isnan(t->union_density);
    const int at = named ? fprintf(out, "%s:", method->name) : 0;
    char share[32];

    if (kept)
        fprintf(out, "%skept %s of positions%s", named ? " " : "", gcb_percent(share, t->density),
                sent ? "; " : "\n");
    if (sent)
        fprintf(out, "%s of elements sent by some worker\n", gcb_percent(share, t->union_density));
    show_bound(out, t, kept || sent ? 0 : at);
    if (!isnan(t->clamped_share))
        fprintf(out, "%s of the values were clamped after tuning\n",
                gcb_percent(share, t->clamped_share));
    if (t->unsent_steps)
        fprintf(out, "note: the last %" PRIu64 " step%s not sent any more\n", t->unsent_steps,
                t->unsent_steps == 1 ? " was" : "s were");
}

/* Rows of dashes, and what to do about them. */
static void show_nothing_sent(FILE *out, const struct gcb_method *method,
                              const struct gcb_replay_total *t)
{
    char line[240];
    double delay;

    if (gcb_method_value(method, "delay", &delay) && delay > (double)t->steps)
        snprintf(line, sizeof(line),
                 "note: %s sent nothing: delay=%.0f is a message for every %.0f steps, and %" PRIu64
                 " %s replayed; --loop N goes through them N times",
                 method->name, delay, delay, t->steps, t->steps == 1 ? "was" : "were");
    else
        snprintf(line, sizeof(line), "note: %s sent nothing", method->name);
    opt_wrap(out, line, 0, 0);
}

void replay_show_notes(FILE *out, const struct gcb_method *method, const struct gcb_replay_total *t,
                       bool named)
{
    if (t->tally.messages)
        show_sent(out, method, t, named);
    else if (!t->interrupted)
        show_nothing_sent(out, method, t);
}
