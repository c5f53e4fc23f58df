#include "cli/compress/compress_table.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/base/heading.h"
#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/base/columns.h"
#include "src/tool/payoff/payoff_cases.h"
#include "src/tool/print/number.h"

#define WIDTH 80
#define DEFAULT_TOP 5
#define MAX_TOP 64
#define FIGURES 6

static const struct gcb_table_column figure_columns[FIGURES] = {
    {.title = "ratio"},  {.title = "bits/el"},  {.title = "rel L2"},
    {.title = "cosine"}, {.title = "enc GB/s"}, {.title = "dec GB/s"},
};

/* Which figures a table shows, one bit each. */
enum { ALL_FIGURES = 0x3f, WITHOUT_BITS = 0x3d, WITHOUT_COSINE = 0x35, WITHOUT_SPEEDS = 0x0f };

static const char *method_label(char *out, size_t size, const struct compress_view *v,
                                size_t method)
{
    gcb_method_spec(out, size, &v->methods[method], GCB_SPEC_LABEL);
    return gcb_append(out, size, method >= v->given ? " (baseline)" : "");
}

/* The methods that the user named: those of the policy's rules, or those of --method. */
static size_t named_count(const struct compress_view *v)
{
    return v->policy ? v->policy->count : v->given;
}

static const struct gcb_method *named_method(const struct compress_view *v, size_t i)
{
    return v->policy ? &v->policy->rules[i].method : &v->methods[i];
}

/* Has another named method of this name another value of the parameter? */
static bool tells_apart(const struct compress_view *v, const struct gcb_method *m,
                        const char *piece, size_t length)
{
    char spec[512];

    for (size_t i = 0; i < named_count(v); i++)
        if (strcmp(named_method(v, i)->name, m->name) == 0 &&
            !gcb_payoff_has_parameter(
                gcb_method_spec(spec, sizeof(spec), named_method(v, i), GCB_SPEC_FULL), piece,
                length))
            return true;
    return false;
}

/* Writes the method's name, and the parameters in which it differs from other named methods of this name. A long label
 * would lose its middle in a narrow column, and with it the difference. */
static const char *short_label(char *out, size_t size, const struct compress_view *v,
                               const struct gcb_method *m)
{
    char spec[512];
    const char *at = strchr(gcb_method_spec(spec, sizeof(spec), m, GCB_SPEC_FULL), ':');

    snprintf(out, size, "%s", m->name);
    while (at && *at) {
        const size_t length = strcspn(++at, ",");

        if (tells_apart(v, m, at, length))
            gcb_append(out, size, "%c%.*s", strchr(out, ':') ? ',' : ':', (int)length, at);
        at += length;
    }
    return out;
}

static size_t add_columns(struct gcb_table_column *columns, size_t n, unsigned which)
{
    for (size_t i = 0; i < FIGURES; i++)
        if (which >> i & 1)
            columns[n++] = figure_columns[i];
    return n;
}

static void add_figures(struct gcb_table *table, unsigned which, const struct gcb_tally *tally)
{
    static const enum gcb_field fields[FIGURES] = {
        GCB_FIELD_RATIO,  GCB_FIELD_BITS_PER_ELEMENT, GCB_FIELD_REL_L2,
        GCB_FIELD_COSINE, GCB_FIELD_ENCODE_GBPS,      GCB_FIELD_DECODE_GBPS};

    for (size_t i = 0; i < FIGURES; i++)
        if (which >> i & 1)
            out_cell(table, fields[i], gcb_tally_figure(tally, fields[i]), 0);
}

/* Adds the speed with its spread: half of the median's 95 % interval, or of the range of fewer runs than an interval takes. */
static void add_speed(struct gcb_table *table, const struct gcb_tally *t,
                      const struct gcb_times *times, const struct gcb_sample_sums *runs)
{
    struct gcb_times spread = *times;
    struct gcb_stats stats;

    if (isnan(spread.low) && runs->count > 1) {
        stats = gcb_stats_make(runs->seconds, runs->count);
        spread.low = stats.min;
        spread.high = stats.max;
    }
    out_speed(table, gcb_tally_gbps(t, times), &spread);
}

static int show_totals(const struct compress_view *v, const struct out_report *report,
                       struct gcb_diag *diag)
{
    const size_t count = v->result->method_count;
    size_t *order = gcb_alloc_array(count, sizeof(*order));
    struct gcb_table_column columns[1 + FIGURES] = {{.title = "method", .elastic = true}};
    const struct gcb_run_total *total;
    struct gcb_table *table;
    char name[256];

    if (!order)
        return gcb_diag_nomem(diag, 0, "an order of methods");
    table = gcb_table_create(columns, add_columns(columns, 1, ALL_FIGURES));
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    if (v->sort)
        gcb_totals_order(order, v->result, v->sort);
    for (size_t i = 0; i < count; i++) {
        gcb_table_cell(table, method_label(name, sizeof(name), v, order[i]));
        total = &v->result->totals[order[i]];
        add_figures(table, WITHOUT_SPEEDS, &total->tally);
        add_speed(table, &total->tally, &total->tally.encode, &total->encode);
        add_speed(table, &total->tally, &total->tally.decode, &total->decode);
    }
    gcb_free(order);
    return out_table(report, table, diag);
}

/* Does each line name the method that a policy has for its tensor? */
static bool names_rules(const struct compress_view *v)
{
    return v->policy && (v->groups->per == GCB_PER_TENSOR || v->groups->per == GCB_PER_MESSAGE);
}

/* Adds the columns that identify a line's group; returns how many. */
static size_t group_columns(struct gcb_table_column *columns, const struct compress_view *v)
{
    const enum gcb_per per = v->groups->per;
    size_t n = 0;

    if (per == GCB_PER_STEP || per == GCB_PER_MESSAGE)
        columns[n++] = (struct gcb_table_column){.title = "step"};
    if (per == GCB_PER_WORKER || per == GCB_PER_MESSAGE)
        columns[n++] = (struct gcb_table_column){.title = "worker"};
    if (per == GCB_PER_TENSOR || per == GCB_PER_MESSAGE)
        columns[n++] = (struct gcb_table_column){.title = "tensor", .elastic = true};
    if (v->given > 1 || names_rules(v))
        columns[n++] = (struct gcb_table_column){.title = "method", .elastic = true};
    return n;
}

static void add_group(struct gcb_table *table, const struct compress_view *v,
                      const struct gcb_group *g, size_t method)
{
    const enum gcb_per per = v->groups->per;
    char text[256];

    snprintf(text, sizeof(text), "%" PRIu64, g->step);
    if (per == GCB_PER_STEP || per == GCB_PER_MESSAGE)
        gcb_table_cell(table, text);
    snprintf(text, sizeof(text), "%" PRIu32, g->worker);
    if (per == GCB_PER_WORKER || per == GCB_PER_MESSAGE)
        gcb_table_cell(table, text);
    if (per == GCB_PER_TENSOR || per == GCB_PER_MESSAGE)
        gcb_table_cell(table, gcb_escape(text, sizeof(text), g->name));
    if (names_rules(v))
        gcb_table_cell(table, short_label(text, sizeof(text), v,
                                          &gcb_policy_rule(v->policy, g->name)->method));
    else if (v->given > 1)
        gcb_table_cell(table, short_label(text, sizeof(text), v, &v->methods[method]));
}

/* Prints a table with a line for each group and each method that the user named. */
static int show_groups(const struct compress_view *v, const struct out_report *report,
                       struct gcb_diag *diag)
{
    struct gcb_table_column columns[4 + FIGURES];
    const unsigned which = v->groups->per == GCB_PER_MESSAGE  ? WITHOUT_COSINE
                           : v->groups->per == GCB_PER_TENSOR ? WITHOUT_BITS
                                                              : ALL_FIGURES;
    const size_t own = group_columns(columns, v);
    const size_t shown = v->top && v->top < v->groups->count ? v->top : v->groups->count;
    struct gcb_table *table = gcb_table_create(columns, add_columns(columns, own, which));
    int err;

    for (size_t i = 0; i < shown; i++)
        for (size_t m = 0; m < v->given; m++) {
            add_group(table, v, &v->groups->items[i], m);
            add_figures(table, which, &v->groups->items[i].tallies[m]);
        }
    err = out_table(report, table, diag);
    if (err)
        return err;
    if (shown < v->groups->count)
        fprintf(report->out, "(%zu of %zu are shown)\n", shown, v->groups->count);
    fputc('\n', report->out);
    return 0;
}

/* Prints "loses most: a 41 %, b 20 %", on several lines if needed. With several methods, each has only one line, unless
 * --top is given. */
static void print_loss(const struct compress_view *v, size_t method, FILE *out)
{
    const size_t wanted = v->top ? v->top : DEFAULT_TOP;
    struct gcb_loss top[MAX_TOP];
    char item[WIDTH + 1], name[48], label_text[256];
    const size_t count =
        gcb_losses_top(v->losses, method, top, wanted < MAX_TOP ? wanted : MAX_TOP);
    int used;

    if (count == 0)
        return;
    used = fprintf(
        out, "%s%sloses most:",
        v->given > 1 ? short_label(label_text, sizeof(label_text), v, &v->methods[method]) : "",
        v->given > 1 ? " " : "");
    for (size_t i = 0; i < count; i++) {
        bool full;
        int width;

        snprintf(item, sizeof(item), " %s %.0f %%", gcb_escape(name, sizeof(name), top[i].path),
                 100.0 * top[i].share);
        width = (int)gcb_text_columns(item);
        full = i && used + width + 2 > WIDTH; /* 2: the commas before and after the item */
        if (full && v->given > 1 && !v->top)
            break;
        fputs(i ? "," : "", out);
        if (full)
            used = fprintf(out, "\n ") - 1;
        fputs(item, out);
        used += width + 1;
    }
    fputc('\n', out);
}

static void note_headers(const struct compress_view *v, size_t method, FILE *out)
{
    const double share = gcb_tally_header_share(&v->result->totals[method].tally);

    if (!(share > 0.05))
        return;
    opt_note(out, "headers are %.0f %% of the bytes%s%s%s", 100.0 * share,
             v->given > 1 ? " of " : "", v->given > 1 ? v->methods[method].name : "",
             v->whole_model ? "" : "; --scope bucket sends fewer messages");
}

static void note_exceptions(const struct compress_view *v, size_t method, FILE *out)
{
    const struct gcb_tally *t = &v->result->totals[method].tally;

    if (t->stored > 0 && gcb_method_caps(&v->methods[method]) & GCB_CAP_LOSSLESS)
        return; /* a lossless method sends raw tensors anyway */
    if (t->stored > t->dense)
        opt_note(out,
                 "%s: %" PRIu64 " of %" PRIu64
                 " messages were sent raw: coding made them larger, the method "
                 "overflowed, or they hold infinities or NaNs",
                 v->methods[method].name, t->stored, t->messages);
}

static void print_notes(const struct compress_view *v, FILE *out)
{
    const struct gcb_run_result *r = v->result;
    const struct gcb_tally *first = &r->totals[0].tally;

    for (size_t m = 0; m < v->given; m++) {
        note_headers(v, m, out);
        note_exceptions(v, m, out);
    }
    out_note_dense(out, v->methods, v->given, r);
    if (first->dense)
        opt_note(out, "%" PRIu64 " of %" PRIu64 " messages were sent as fp32, as the options ask",
                 first->dense, first->messages);
    if (r->skipped_steps)
        opt_note(out,
                 "%" PRIu64 " step%s with infinities or NaNs left out, as --nonfinite skip asks",
                 r->skipped_steps, r->skipped_steps == 1 ? "" : "s");
    if (r->zeroed)
        opt_note(out, "%" PRIu64 " infinities and NaNs were set to 0, as --nonfinite zero asks",
                 r->zeroed);
    if (first->encode.single)
        opt_note(out,
                 "%" PRIu64 " of %" PRIu64
                 " messages were timed only once, so no speed is shown: leave --repeat out",
                 first->encode.single, first->messages);
    else
        fputs("±: half of the median's 95 % interval; of fewer than 6 runs, half their range\n",
              out);
    heading_note_load(out, v->repeat);
    if (r->interrupted)
        fprintf(out, "interrupted: these are the results so far\n");
}

int compress_show(const struct compress_view *v, const struct out_report *report,
                  struct gcb_diag *diag)
{
    int err = 0;

    if (v->groups)
        err = show_groups(v, report, diag);
    if (!err)
        err = show_totals(v, report, diag);
    if (err)
        return err;
    if (v->policy)
        opt_wrap(report->out, v->policy->text, fprintf(report->out, "policy:"), 2);
    for (size_t m = 0; v->losses && m < v->given; m++)
        print_loss(v, m, report->out);
    err = out_nearer(report, v->methods, v->given, v->result, diag);
    if (!err && !report->quiet)
        print_notes(v, report->out);
    return err;
}
