#include "cli/bench/bench_table.h"

#include <math.h>
#include <string.h>

#include "cli/base/heading.h"
#include "src/lib/base/text.h"
#include "src/tool/base/host.h"
#include "src/tool/rows/number.h"

static const struct gcb_table_column columns[] = {
    {.title = "method", .elastic = true},
    {.title = "ratio", .field = GCB_FIELD_RATIO},
    {.title = "rel L2", .field = GCB_FIELD_REL_L2},
    {.title = "enc GB/s"},
    {.title = "dec GB/s"},
    {.title = "sum GB/s"},
    {.title = "% of mem"},
    {.title = "end", .text = true},
};

static void add_label(struct gcb_table *table, const struct gcb_method *m)
{
    char text[256];

    gcb_method_spec(text, sizeof(text), m, GCB_SPEC_LABEL);
    gcb_table_cell(table, gcb_append(text, sizeof(text), m->codec->baseline ? " *" : ""));
}

/* Writes a share in percent, or "?" if it has more than three digits. */
static const char *percent(char out[32], double share)
{
    if (isfinite(share) && share < 9.995)
        snprintf(out, 32, "%.0f", 100.0 * share);
    else
        snprintf(out, 32, isfinite(share) ? "?" : "-");
    return out;
}

static bool is_precise(const struct gcb_times *t, double precision)
{
    return t->high - t->low <= 2.0 * precision * t->seconds;
}

/* Returns why measuring stopped before the precision asked for was reached, or "" if it was reached. */
static const char *end_of(const struct gcb_tally *t, double precision)
{
    if (t->stop == GCB_STOP_INTERRUPTED)
        return "cut";
    if (t->stop == GCB_STOP_REPEAT ||
        (is_precise(&t->encode, precision) && is_precise(&t->decode, precision)))
        return "";
    return t->stop == GCB_STOP_SAMPLES ? "max" : "time";
}

/* Writes "45/70", the shares of the read and fill bandwidth, or "cache" if memory bandwidth does not apply. */
static const char *memory_text(char out[64], const struct bench_view *v, const struct gcb_tally *t)
{
    const struct gcb_bandwidth *b = v->bandwidth;
    char to[32], from[32];

    if (!b->bytes || t->on_device)
        return "-";
    if (v->in_cache) {
        v->marks->cached = true;
        return "cache";
    }
    snprintf(out, 64, "%s/%s", percent(to, gcb_tally_gbps(t, &t->encode) / b->read_gbps),
             percent(from, gcb_tally_gbps(t, &t->decode) / b->fill_gbps));
    return out;
}

static void add_line(struct gcb_table *table, const struct bench_view *v, size_t method)
{
    const struct gcb_tally *t = &v->result->totals[method].tally;
    const struct gcb_times sum = gcb_tally_sum(t);
    char text[64];

    v->marks->grouped |= t->group > 1;
    add_label(table, &v->methods[method]);
    out_figures(table, columns, sizeof(columns) / sizeof(columns[0]), t, 7);
    v->marks->unknown |= !out_speed(table, gcb_tally_gbps(t, &t->encode), &t->encode);
    v->marks->unknown |= !out_speed(table, gcb_tally_gbps(t, &t->decode), &t->decode);
    gcb_table_cell(table, gcb_number_within(text, gcb_tally_gbps(t, &sum), 3, 6));
    gcb_table_cell(table, memory_text(text, v, t));
    gcb_table_cell(table, end_of(t, v->precision));
}

static void print_head(const struct bench_view *v, FILE *out)
{
    const struct gcb_bandwidth *b = v->bandwidth;
    char number[4][32];

    fprintf(out, "\n%s\n", v->settings);
    if (!b->bytes) /* the bandwidth was not measured */
        return;
    opt_wrapf(out, 0, 0, "memory: reads %s, fills %s, copies %s GB/s over %s MB%s",
              gcb_number(number[0], b->read_gbps, 3), gcb_number(number[1], b->fill_gbps, 3),
              gcb_number(number[2], b->copy_gbps, 3),
              gcb_number(number[3], (double)b->bytes * 1e-6, 3),
              b->bytes <= gcb_host_cache() ? ", in the caches" : "");
}

int bench_show(const struct bench_view *v, const struct out_report *report, struct gcb_diag *diag)
{
    struct gcb_table *table = gcb_table_create(columns, sizeof(columns) / sizeof(columns[0]));
    int err;

    for (size_t i = 0; i < v->result->method_count; i++)
        if (v->result->totals[i].tally.messages)
            add_line(table, v, i);
    print_head(v, report->out);
    err = out_table(report, table, diag);
    if (!err)
        err = out_nearer(report, v->methods, v->result->method_count, v->result, diag);
    if (!err && !report->quiet)
        out_note_dense(report->out, v->methods, v->result->method_count, v->result);
    if (!err)
        out_failures(report->out, NULL, v->result);
    return err;
}

void bench_show_unsupported(const char *settings, const char *reason, FILE *out)
{
    fprintf(out, "\n%s\nunsupported: %s\n", settings, reason);
}

void bench_show_notes(const struct out_report *report, const struct bench_marks *marks)
{
    if (report->quiet)
        return;
    fprintf(report->out, "\n* baseline   ±: half of the median's 95 %% interval\n"
                         "sum: adding a message to a sum of messages, without finishing the sum\n"
                         "%% of mem: encode/decode as a share of memory's read/fill bandwidth\n"
                         "end: why measuring stopped early: time limit or sample limit (max)\n");
    if (marks->cached)
        fprintf(report->out,
                "cache: all messages fit in the cache, so memory bandwidth does not apply\n");
    if (marks->grouped)
        fprintf(report->out,
                "messages of at most %d elements are encoded in groups on a device; the time of\n"
                "a group is divided among its messages by their input bytes\n",
                (int)GCB_RUN_SMALL);
    if (marks->unknown)
        fprintf(report->out,
                "±?: the interval is wider than the median, so the speed is not known\n");
    heading_note_load(report->out, 0);
}
