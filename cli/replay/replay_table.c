#include "cli/replay/replay.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/base/output.h"
#include "src/lib/base/text.h"
#include "src/tool/base/memory.h"
#include "src/tool/rows/number.h"

#define FIGURES 9 /* columns after the step's number */

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

/* Names of methods with their parameters are long and leave room for few columns, so rounds,
 * densities, residuals and staleness are printed below the table. */
#define TOTALS 7
static const struct gcb_table_column total_columns[TOTALS] = {
    {.title = "method", .elastic = true},
    {.title = "sent by", .text = true},
    {.title = "per step"},
    {.title = "ratio"},
    {.title = "alpha"},
    {.title = "cum err"},
    {.title = "cosine"},
};

/* Prints "worker 3" or "workers 3..5": those from `from` on and below `to`. */
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

/* Adds the cells of the columns ratio, alpha and cum err. */
static void add_errors(struct gcb_table *table, const struct gcb_replay_figures *f)
{
    out_cell(table, GCB_FIELD_RATIO, f->ratio, 0);
    out_cell(table, GCB_FIELD_ALPHA, f->alpha, 0);
    out_cell(table, GCB_FIELD_CUMULATIVE_ERROR, f->cumulative_error, 0);
}

struct gcb_table *replay_steps_create(bool scheduled)
{
    return gcb_table_create(scheduled ? scheduled_columns : step_columns, 1 + FIGURES);
}

void replay_steps_add(struct gcb_table *table, const struct gcb_replay_step *s, bool scheduled)
{
    const struct gcb_replay_figures *f = &s->figures;
    char text[48];

    snprintf(text, sizeof(text), "%" PRIu64, s->step);
    gcb_table_cell(table, text);
    out_cell(table, GCB_FIELD_WIRE_BYTES, (double)f->sent.tally.wire_bytes, 0);
    add_errors(table, f);
    out_cell(table, GCB_FIELD_RESIDUAL_NORM, f->residual_norm, 0);
    gcb_table_cell(table, gcb_number(text, 100.0 * f->density, 3));
    gcb_table_cell(table, gcb_number(text, 100.0 * f->union_density, 3));
    snprintf(text, sizeof(text), "%" PRIu64 "/%" PRIu64, f->staleness_median, f->staleness_p99);
    gcb_table_cell(table, text);
    /* theta is shown with as many digits as the cosine */
    out_cell(table, GCB_FIELD_COSINE, scheduled ? s->theta : f->cosine, 0);
}

/* Adds the line of a method. Its name leaves out the collective, which has a column. */
static void add_total(struct gcb_table *table, const struct gcb_method *method, const char *label,
                      const struct gcb_replay_plan *plan, const struct gcb_replay_total *t)
{
    const double sends = (double)t->steps * plan->workers;
    char text[GCB_LABEL];

    snprintf(text, sizeof(text), "%s", label);
    gcb_table_cell(table, gcb_spec_drop(text, "collective"));
    gcb_table_cell(table, gcb_collective_names[gcb_method_collective(method)]);
    out_cell(table, GCB_FIELD_REPLAY_LINK_BYTES, (double)t->figures.sent.link_bytes / sends, 0);
    add_errors(table, &t->figures);
    out_cell(table, GCB_FIELD_COSINE, t->figures.cosine, 0);
}

void replay_show_totals(const struct out_report *report, const struct gcb_method *methods,
                        const struct gcb_label *labels, const struct gcb_replay_plan *plan,
                        const struct gcb_replay_total *totals, size_t count)
{
    struct gcb_table *table = gcb_table_create(total_columns, TOTALS);

    for (size_t i = 0; i < count; i++)
        add_total(table, &methods[i], labels[i].text, plan, &totals[i]);
    out_table(report, table);
}

#define NOTE 600 /* size of the buffer of a method's notes */

/* Appends, for example, "contraction 0.401 at worst, 0.485 on average; residual^2 at 12.7 % of its
 * bound". docs/replay.md defines both. */
static void add_bound(char *note, const struct gcb_replay_total *t)
{
    char least[32], mean[32];

    gcb_append(note, NOTE, "contraction %s at worst, %s on average",
               gcb_number(least, t->contraction_min, 3), gcb_number(mean, t->contraction_mean, 3));
    if (t->feedback && isnan(t->bound_ratio))
        gcb_append(note, NOTE, "; not above 0, so the residual has no bound");
    else if (t->feedback)
        gcb_append(note, NOTE, "; residual^2 at %s of its bound%s",
                   gcb_percent(least, t->bound_ratio), t->bound_ratio <= 1.0 ? "" : ": BROKEN");
}

/* Appends `before`, the share in percent and `after`; nothing if the share is NAN. */
static void add_share(char *note, const char *before, double share, const char *after)
{
    char text[32];

    if (!isnan(share))
        gcb_append(note, NOTE, "%s%s%s; ", before, gcb_percent(text, share), after);
}

/* The notes on a method that sent something. */
static void show_sent(FILE *out, const struct gcb_replay_total *t, const char *name)
{
    const struct gcb_replay_figures *f = &t->figures;
    const int at = name ? fprintf(out, "%s:", name) : 0;
    char note[NOTE] = "", norm[32];

    if (f->alpha > 10.0) /* more than any method loses */
        gcb_append(note, NOTE,
                   "the update has another scale than the gradients, so only its "
                   "cosine says something; ");
    if (f->sent.rounds > 1)
        gcb_append(note, NOTE, "up to %u rounds; ", f->sent.rounds);
    add_share(note, "kept ", f->density, " of positions");
    if (f->union_density < 1.0)
        add_share(note, "", f->union_density, " of elements sent by some worker");
    add_share(note, "the all-reduce dropped ", f->dropped, " of the energy selected");
    add_share(note, "encoding the sums again adds an error of ", f->second_error, "");
    if (!isnan(f->residual_norm))
        gcb_append(note, NOTE, "residual %s; ", gcb_number(norm, f->residual_norm, 3));
    if (f->staleness_p99)
        gcb_append(note, NOTE,
                   "steps since an element was sent: %" PRIu64 " (median), %" PRIu64 " (99 %%); ",
                   f->staleness_median, f->staleness_p99);
    add_share(note, "", f->clamped_share, " of the values clamped after tuning");
    add_bound(note, t);
    opt_wrap(out, note, at, name ? 2 : 0);
    if (t->unsent_steps)
        opt_note(out, "the last %" PRIu64 " step%s not sent, because no message followed",
                 t->unsent_steps, t->unsent_steps == 1 ? " was" : "s were");
}

/* The notes on a method that sent nothing, so that its line of the table has only dashes. */
static void show_nothing_sent(FILE *out, const struct gcb_method *method,
                              const struct gcb_replay_total *t)
{
    double delay;

    if (gcb_method_value(method, "delay", &delay) && delay > (double)t->steps)
        opt_note(out,
                 "%s sent nothing: delay=%.0f is a message for every %.0f steps, and %" PRIu64
                 " %s replayed; --loop N goes through them N times",
                 method->name, delay, delay, t->steps, t->steps == 1 ? "was" : "were");
    else
        opt_note(out, "%s sent nothing", method->name);
}

void replay_show_notes(FILE *out, const struct gcb_method *method, const struct gcb_replay_total *t,
                       const char *name)
{
    if (t->figures.sent.tally.messages)
        show_sent(out, t, name);
    else if (!t->interrupted)
        show_nothing_sent(out, method, t);
}

/* Returns the bytes that each worker puts on its link in a step, on average; with one worker, which
 * has no link, the bytes of its messages. */
static double bytes_per_step(const struct gcb_replay_plan *plan, const struct gcb_replay_total *t)
{
    const struct gcb_replay_figures *f = &t->figures;
    const uint64_t bytes = plan->workers > 1 ? f->sent.link_bytes : f->sent.tally.wire_bytes;

    return (double)bytes / ((double)t->steps * plan->workers);
}

/* Returns the bytes that each worker would put on its link in a step with fp16, which has 2 bytes
 * an element, and a ring all-reduce, in which each worker sends 2 (n - 1) / n times its gradient.
 * The elements of a gradient follow from the average message and the number of messages in a step.
 */
static double fp16_bytes(const struct gcb_replay_plan *plan, const struct gcb_tally *t)
{
    const double n = plan->workers, sent = n > 1.0 ? 2.0 * (n - 1.0) / n : 1.0;
    const double elements = (double)t->elements / (double)t->messages * (double)plan->messages;

    return 2.0 * elements * sent;
}

int replay_answer(struct out_report *report, const struct gcb_method *methods,
                  const struct gcb_label *labels, const struct gcb_replay_plan *plan,
                  const struct gcb_replay_total *totals, size_t count, struct gcb_diag *diag)
{
    struct gcb_answer_item *items = gcb_must_zero(count, sizeof(*items));
    struct gcb_answer answer = {.items = items, .count = count, .bar = "fp16"};
    char text[4000], words[2000];
    struct gcb_row row;
    int err;

    for (size_t i = 0; i < count; i++) {
        const struct gcb_replay_total *t = &totals[i];

        items[i] = gcb_answer_item_of(&methods[i]);
        items[i].name = labels[i].text;
        if (!t->figures.sent.tally.messages)
            continue;
        /* what a memory keeps back in one step comes in later ones, so only the sum says what is
         * lost */
        items[i].error = items[i].memory ? t->figures.cumulative_error : t->figures.alpha;
        items[i].gain = fp16_bytes(plan, &t->figures.sent.tally) / bytes_per_step(plan, t);
    }
    gcb_answer_choose(&answer);
    snprintf(text, sizeof(text),
             "by the error of the mean (with a memory, of the sum) over %" PRIu64
             " step%s of %" PRIu32 " worker%s, %s; training was not tested",
             totals[0].steps, totals[0].steps == 1 ? "" : "s", plan->workers,
             plan->workers == 1 ? "" : "s", gcb_answer_text(words, sizeof(words), &answer));
    gcb_answer_row(&row, text, &answer);
    err = out_answer(report, &row, diag);
    gcb_free(items);
    return err;
}
