#include "cli/compress/compress_table.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/base/heading.h"
#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/base/columns.h"
#include "src/tool/rows/labels.h"
#include "src/tool/rows/number.h"

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

/* The labels of the methods, and of the policy's rules. */
struct labels {
    struct gcb_label *methods, *rules;
};

static int make_labels(struct labels *out, const struct compress_view *v, struct gcb_diag *diag)
{
    const struct gcb_policy *p = v->policy;

    out->methods = gcb_label_methods(v->methods, sizeof(*v->methods), v->result->method_count);
    if (p)
        out->rules = gcb_label_methods(&p->rules[0].method, sizeof(p->rules[0]), p->count);
    return out->methods && (!p || out->rules) ? 0 : gcb_diag_nomem(diag, 0, "labels");
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

static int show_totals(const struct compress_view *v, const struct labels *labels,
                       const struct out_report *report, struct gcb_diag *diag)
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
        snprintf(name, sizeof(name), "%s%s", labels->methods[order[i]].text,
                 order[i] >= v->given ? " (baseline)" : "");
        gcb_table_cell(table, name);
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
                      const struct labels *labels, const struct gcb_group *g, size_t method)
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
        gcb_table_cell(table,
                       labels->rules[gcb_policy_rule(v->policy, g->name) - v->policy->rules].text);
    else if (v->given > 1)
        gcb_table_cell(table, labels->methods[method].text);
}

/* Prints a table with a line for each group and each method that the user named. */
static int show_groups(const struct compress_view *v, const struct labels *labels,
                       const struct out_report *report, struct gcb_diag *diag)
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
            add_group(table, v, labels, &v->groups->items[i], m);
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
static void print_loss(const struct compress_view *v, const char *label, size_t method, FILE *out)
{
    const size_t wanted = v->top ? v->top : DEFAULT_TOP;
    struct gcb_loss top[MAX_TOP];
    char item[WIDTH + 1], name[48];
    const size_t count =
        gcb_losses_top(v->losses, method, top, wanted < MAX_TOP ? wanted : MAX_TOP);
    int used;

    if (count == 0)
        return;
    if (v->given > 1 && strlen(label) > WIDTH / 2) {
        opt_wrapf(out, 0, 2, "%s loses most:", label);
        used = fprintf(out, " ");
    } else
        used = fprintf(out, "%s%sloses most:", v->given > 1 ? label : "", v->given > 1 ? " " : "");
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
    struct labels labels = {NULL, NULL};
    int err = make_labels(&labels, v, diag);

    if (!err && v->groups)
        err = show_groups(v, &labels, report, diag);
    if (!err)
        err = show_totals(v, &labels, report, diag);
    if (!err && v->policy)
        opt_wrap(report->out, v->policy->text, fprintf(report->out, "policy:"), 2);
    for (size_t m = 0; !err && v->losses && m < v->given; m++)
        print_loss(v, labels.methods[m].text, m, report->out);
    if (!err)
        err = out_nearer(report, v->methods, v->given, v->result, diag);
    if (!err && !report->quiet)
        print_notes(v, report->out);
    gcb_free(labels.methods);
    gcb_free(labels.rules);
    return err;
}
