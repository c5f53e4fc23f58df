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

struct figures {
    double wire, ratio, alpha, cumulative, residual, density, union_density, cosine;
    uint64_t median, p99;
};

struct cells {
    char text[FIGURES][32];
    const char *cell[1 + FIGURES];
};

static void fill(struct cells *c, const char *first, const struct figures *f)
{
    gcb_field_number(c->text[0], GCB_FIELD_WIRE_BYTES, f->wire, 0);
    gcb_field_number(c->text[1], GCB_FIELD_RATIO, f->ratio, 0);
    gcb_field_number(c->text[2], GCB_FIELD_ALPHA, f->alpha, 0);
    gcb_field_number(c->text[3], GCB_FIELD_CUMULATIVE_ERROR, f->cumulative, 0);
    gcb_field_number(c->text[4], GCB_FIELD_RESIDUAL_NORM, f->residual, 0);
    gcb_number(c->text[5], 100.0 * f->density, 3);
    gcb_number(c->text[6], 100.0 * f->union_density, 3);
    snprintf(c->text[7], sizeof(c->text[7]), "%" PRIu64 "/%" PRIu64, f->median, f->p99);
    gcb_field_number(c->text[8], GCB_FIELD_COSINE, f->cosine, 0);
    c->cell[0] = first;
    for (size_t i = 0; i < FIGURES; i++)
        c->cell[1 + i] = c->text[i];
}

int replay_steps_create(struct gcb_table **out, bool scheduled, struct gcb_diag *diag)
{
    return gcb_table_create(out, scheduled ? scheduled_columns : step_columns, 1 + FIGURES, diag);
}

int replay_steps_add(struct gcb_table *table, const struct gcb_replay_step *s, bool scheduled,
                     struct gcb_diag *diag)
{
    const struct figures f = {
        .wire = (double)s->tally.wire_bytes,
        .ratio = s->ratio,
        .alpha = s->alpha,
        .cumulative = s->cumulative_error,
        .residual = s->residual_norm,
        .density = s->density,
        .union_density = s->union_density,
        .cosine = scheduled ? s->theta : s->cosine,
        .median = s->staleness_median,
        .p99 = s->staleness_p99,
    };
    struct cells cells;
    char step[24];

    snprintf(step, sizeof(step), "%" PRIu64, s->step);
    fill(&cells, step, &f);
    return gcb_table_add(table, cells.cell, diag);
}

static int add_total(struct gcb_table *table, const struct gcb_method *method,
                     const struct gcb_replay_total *t, struct gcb_diag *diag)
{
    const struct figures f = {
        .wire = (double)t->tally.wire_bytes,
        .ratio = t->ratio,
        .alpha = t->alpha,
        .cumulative = t->cumulative_error,
        .residual = t->residual_norm,
        .cosine = t->cosine,
        .median = t->staleness_median,
        .p99 = t->staleness_p99,
    };
    struct cells c;
    char name[256];

    fill(&c, gcb_method_spec(name, sizeof(name), method, GCB_SPEC_LABEL), &f);
    return gcb_table_add(table,
                         (const char *[]){c.cell[0], c.cell[1], c.cell[2], c.cell[3], c.cell[4],
                                          c.cell[5], c.cell[8], c.cell[9]},
                         diag);
}

int replay_show_totals(const struct out_report *report, const struct gcb_method *methods,
                       const struct gcb_replay_total *totals, size_t count, struct gcb_diag *diag)
{
    struct gcb_table *table = NULL;
    int err = gcb_table_create(&table, total_columns, TOTALS, diag);

    for (size_t i = 0; !err && i < count; i++)
        err = add_total(table, &methods[i], &totals[i], diag);
    if (!err)
        out_table(report, table);
    gcb_table_destroy(table);
    return err;
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
