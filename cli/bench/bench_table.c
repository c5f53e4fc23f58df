#include "cli/bench/bench_table.h"

#include <math.h>
#include <string.h>

#include "cli/base/heading.h"
#include "src/lib/base/text.h"
#include "src/tool/base/host.h"
#include "src/tool/print/number.h"
#include "src/tool/trial/copy.h"

static const struct gcb_table_column columns[] = {
    {"method", false, true},   {"ratio", true, false},    {"bits/el", true, false},
    {"rel L2", true, false},   {"enc GB/s", true, false}, {"dec GB/s", true, false},
    {"% of mem", true, false}, {"end", false, false},
};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

struct cells {
    char text[COLUMNS][64];
};

static void label(char *out, size_t size, const struct gcb_method *m)
{
    const bool baseline = m->codec == gcb_copy_method.codec || strcmp(m->name, "identity") == 0;

    gcb_method_spec(out, size, m, GCB_SPEC_LABEL);
    if (baseline)
        snprintf(out + strlen(out), size - strlen(out), " *");
}

/* "1.23 ±2%": the half of the median's 95 % interval, of its size; nothing where there is none, "±?" where the
 * median might as well be another. At most 11 columns. */
static void speed(char out[64], struct bench_marks *marks, double gbps, double seconds, double low,
                  double high)
{
    const double half = 50.0 * (high - low) / seconds;
    char number[32];

    gcb_number_within(number, gbps, 3, 6);
    if (!isfinite(half))
        snprintf(out, 64, "%s", number);
    else if (half <= 99.0)
        snprintf(out, 64, "%s ±%.0f%%", number, fmax(1.0, ceil(half - 1e-6)));
    else
        snprintf(out, 64, "%s ±?", number);
    marks->unknown |= half > 99.0;
}

/* In percent; "?" where it takes more than three digits. */
static const char *percent(char out[32], double share)
{
    if (isfinite(share) && share < 9.995)
        snprintf(out, 32, "%.0f", 100.0 * share);
    else
        snprintf(out, 32, isfinite(share) ? "?" : "-");
    return out;
}

static bool precise(double seconds, double low, double high, double precision)
{
    return high - low <= 2.0 * precision * seconds;
}

/* Why it is not known better; nothing where it is known as well as was asked for. */
static const char *end_of(const struct gcb_tally *t, double precision)
{
    if (t->stop == GCB_STOP_INTERRUPTED)
        return "cut";
    if (t->stop == GCB_STOP_REPEAT ||
        (precise(t->encode.seconds, t->encode.low, t->encode.high, precision) &&
         precise(t->decode.seconds, t->decode.low, t->decode.high, precision)))
        return "";
    return t->stop == GCB_STOP_SAMPLES ? "max" : "time";
}

/* "45/70": shares of the bandwidth of reading and filling; "cache" where they would mean nothing. */
static void memory(char out[64], const struct bench_view *v, const struct gcb_tally *t)
{
    const struct gcb_bandwidth *b = v->bandwidth;
    char to[32], from[32];

    if (!b->bytes || t->on_device) {
        snprintf(out, 64, "-");
    } else if (v->in_cache) {
        snprintf(out, 64, "cache");
        v->marks->cached = true;
    } else {
        snprintf(out, 64, "%s/%s", percent(to, gcb_tally_gbps(t, &t->encode) / b->read_gbps),
                 percent(from, gcb_tally_gbps(t, &t->decode) / b->fill_gbps));
    }
}

static void fill(struct cells *c, const struct bench_view *v, size_t method)
{
    const struct gcb_method *m = &v->methods[method];
    const struct gcb_tally *t = &v->result->totals[method].tally;
    static const enum gcb_field fields[] = {GCB_FIELD_RATIO, GCB_FIELD_BITS_PER_ELEMENT,
                                            GCB_FIELD_REL_L2};

    v->marks->grouped |= t->group > 1;
    label(c->text[0], sizeof(c->text[0]), m);
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        gcb_field_number(c->text[1 + i], fields[i], gcb_tally_figure(t, fields[i]), 7);
    speed(c->text[4], v->marks, gcb_tally_gbps(t, &t->encode), t->encode.seconds, t->encode.low,
          t->encode.high);
    speed(c->text[5], v->marks, gcb_tally_gbps(t, &t->decode), t->decode.seconds, t->decode.low,
          t->decode.high);
    memory(c->text[6], v, t);
    snprintf(c->text[7], sizeof(c->text[7]), "%s", end_of(t, v->precision));
}

static void print_head(const struct bench_view *v, FILE *out)
{
    const struct gcb_bandwidth *b = v->bandwidth;
    char number[4][32], line[160];

    fprintf(out, "\n%s\n", v->settings);
    if (!b->bytes) /* not measured */
        return;
    snprintf(line, sizeof(line), "memory: reads %s, fills %s, copies %s GB/s over %s MB%s",
             gcb_number(number[0], b->read_gbps, 3), gcb_number(number[1], b->fill_gbps, 3),
             gcb_number(number[2], b->copy_gbps, 3),
             gcb_number(number[3], (double)b->bytes * 1e-6, 3),
             b->bytes <= gcb_host_cache() ? ", in the caches" : "");
    opt_wrap(out, line, 0, 0);
}

static void note_failures(const struct bench_view *v, FILE *out)
{
    char line[sizeof(v->result->totals->failure.text) + 16];

    for (size_t i = 0; i < v->result->method_count; i++) {
        const struct gcb_run_total *total = &v->result->totals[i];

        if (!total->failure.status)
            continue;
        snprintf(line, sizeof(line), "%s: %s",
                 gcb_run_unsupported(total) ? "unsupported" : "failed", total->failure.text);
        opt_wrap(out, line, 0, 2);
    }
}

int bench_show(const struct bench_view *v, const struct out_report *report, struct gcb_diag *diag)
{
    struct gcb_table *table = NULL;
    struct cells cells;
    const char *row[COLUMNS];
    int err = gcb_table_create(&table, columns, COLUMNS, diag);

    for (size_t i = 0; i < COLUMNS; i++)
        row[i] = cells.text[i];
    for (size_t i = 0; !err && i < v->result->method_count; i++) {
        if (v->result->totals[i].tally.messages == 0)
            continue;
        fill(&cells, v, i);
        err = gcb_table_add(table, row, diag);
    }
    if (!err) {
        print_head(v, report->out);
        out_table(report, table);
        note_failures(v, report->out);
    }
    gcb_table_destroy(table);
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
                         "%% of mem: encoding of reading it, decoding of filling it\n"
                         "end: why the median is not known better, time or most samples\n");
    if (marks->cached)
        fprintf(report->out, "cache: it holds every message, so memory has no part in the times\n");
    if (marks->grouped)
        fprintf(report->out,
                "neighbours of at most %d elements are encoded in groups on a device; the times\n"
                "of a group are shared among its messages by their input bytes\n",
                (int)GCB_RUN_SMALL);
    if (marks->unknown)
        fprintf(report->out, "±?: more than the median itself, which is not known then\n");
    heading_note_load(report->out, 0);
}
