/* Plots measured exchanges: the time of each method, and how it divides into encoding, wire and sum. */
#include <math.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/plot/plot_labels.h"
#include "src/tool/plot/plots.h"
#include "src/tool/print/number.h"
#include "src/tool/rows/labels.h"

#define LONGEST 1e6 /* seconds; gnuplot fails for very large numbers */

static bool is_time(double seconds)
{
    return seconds >= 0.0 && seconds < LONGEST;
}

static bool is_wanted(const struct gcb_plot_record *x)
{
    return strcmp(x->status, "ok") == 0 && x->seconds > 0.0 && is_time(x->seconds) &&
           is_time(x->encode_seconds) && is_time(x->wire_seconds) && is_time(x->sizes_seconds) &&
           is_time(x->sum_seconds) && x->workers > 0.0;
}

/* There is a page for each run, number of ranks, size and algorithm. */
static bool same_page(const struct gcb_plot_record *a, const struct gcb_plot_record *b)
{
    return a->env == b->env && a->file == b->file && a->scope == b->scope && a->mpi == b->mpi &&
           a->device == b->device && a->isa == b->isa && a->algorithm == b->algorithm &&
           gcb_plot_equal(a->threads, b->threads) && a->workers == b->workers &&
           gcb_plot_equal(a->elements, b->elements) && gcb_plot_equal(a->messages, b->messages);
}

static const struct gcb_plot_split split = {GCB_RECORD_RACE, is_wanted, same_page, NULL};

static bool is_baseline(const struct gcb_plot_record *x)
{
    return gcb_plot_baseline(x->method) != 0 && strcmp(x->collective, "allreduce") == 0;
}

static int faster(const void *a, const void *b)
{
    const double x = ((const struct gcb_plot_bar *)a)->item->seconds,
                 y = ((const struct gcb_plot_bar *)b)->item->seconds;

    return (x > y) - (x < y);
}

/* Skips the key `collective` at `at` in a spec. */
static const char *skip_collective(const char *at)
{
    const size_t n = strncmp(at, "collective=", strlen("collective=")) == 0 ? strcspn(at, ",") : 0;

    return at + n + (n > 0 && at[n] == ',');
}

/* Are the specs the same, except for their collectives? */
static bool same_setting(const char *a, const char *b)
{
    bool start = true; /* of a key */

    for (;;) {
        a = start ? skip_collective(a) : a;
        b = start ? skip_collective(b) : b;
        /* a collective may be the last key of one of them */
        if (!*a || !*b)
            return (!*a && !*b) || strncmp(*a ? a : b, ",collective=", strlen(",collective=")) == 0;
        if (*a != *b)
            return false;
        start = *a == ':' || *a == ',';
        a++;
        b++;
    }
}

/* Finds the row of `payoff` with the error that the way makes among as many workers; NULL: none was read. */
static const struct gcb_plot_record *find_error(const struct gcb_plot_data *data,
                                                const struct gcb_plot_record *x)
{
    const struct gcb_plot_records *rows = &data->kinds[GCB_RECORD_PAYOFF];

    for (size_t i = 0; i < rows->count; i++) {
        const struct gcb_plot_record *p = &rows->items[i];

        if (strcmp(p->model, "exchange") == 0 && p->method == x->method &&
            p->collective == x->collective && p->workers == x->workers &&
            same_setting(p->setting, x->setting))
            return p;
    }
    return NULL;
}

/* Labels with the collective, as `payoff` names a way; baselines have only one. */
static void put_labels(struct gcb_plot_page *out, const struct gcb_plot_bar *bars, size_t count)
{
    gcb_plot_array_begin(out, "label", count);
    for (size_t i = 0; i < count; i++) {
        char text[GCB_PLOT_LABEL + 32], label[GCB_PLOT_LABEL];

        snprintf(label, sizeof(label), "%s", bars[i].label);
        gcb_spec_drop(label, "collective");
        snprintf(text, sizeof(text), "%s%s%.24s", label, is_baseline(bars[i].item) ? "" : " ",
                 is_baseline(bars[i].item) ? "" : bars[i].item->collective);
        gcb_plot_array_text(out, text, 60);
    }
}

/* Writes what stands beside each bar: the time, how many times as fast as the best baseline, and the error. */
static void put_remarks(struct gcb_plot_page *out, const struct gcb_plot_data *data,
                        const struct gcb_plot_bar *bars, size_t count, double best)
{
    double width = 0.0;

    gcb_plot_array_begin(out, "remark", count);
    for (size_t i = 0; i < count; i++) {
        const struct gcb_plot_record *x = bars[i].item, *error = find_error(data, x);
        char text[160], number[32];

        snprintf(text, sizeof(text), "%s", gcb_seconds(number, x->seconds));
        if (best > 0.0)
            gcb_append(text, sizeof(text), ", %.3gx", best / x->seconds);
        if (error)
            gcb_append(text, sizeof(text), ", error %s%s%.20s",
                       gcb_plot_error(number, error->error_of_mean), *error->kind ? " " : "",
                       gcb_plot_kind(error->kind));
        gcb_plot_array_text(out, text, 60);
        width = fmax(width, gcb_plot_text_width(text));
    }
    gcb_plot_var_real(out, "remark_width", width);
}

static void put_bars(struct gcb_plot_page *out, const struct gcb_plot_data *data,
                     const struct gcb_plot_bar *bars, size_t count)
{
    struct gcb_plot_range time = {0.0, 0.0};
    double best = NAN;

    for (size_t i = 0; i < count; i++)
        if (is_baseline(bars[i].item))
            best = fmin(best, bars[i].item->seconds);
    put_labels(out, bars, count);
    GCB_PLOT_BLOCK(out, "row", "encode", "wire", "sum", GCB_PLOT_FIELD(SECONDS),
                   GCB_PLOT_FIELD(SECONDS_LOW), GCB_PLOT_FIELD(SECONDS_HIGH),
                   GCB_PLOT_FIELD(BASELINE), "speedup", GCB_PLOT_FIELD(SPEC));
    for (size_t i = 0; i < count; i++) {
        const struct gcb_plot_record *x = bars[i].item;
        const double encode = x->encode_seconds, wire = encode + x->wire_seconds + x->sizes_seconds;

        gcb_plot_range_add(&time, x->seconds);
        gcb_plot_range_add(&time, x->seconds_high);
        gcb_plot_range_add(&time, wire + x->sum_seconds);
        GCB_PLOT_ROW(out, x->spec, (double)i + 1, encode, wire, wire + x->sum_seconds, x->seconds,
                     x->seconds_low, x->seconds_high, is_baseline(x), best / x->seconds);
    }
    gcb_plot_var_real(out, "best", best);
    put_remarks(out, data, bars, count, best);
    gcb_plot_var_units(out, "time", &time, gcb_plot_seconds, 5);
}

static int fill(const struct gcb_plot_data *data, const struct gcb_plot_record *first,
                struct gcb_plot_page *out, struct gcb_diag *diag)
{
    struct gcb_plot_bar *bars;
    char title[160], number[32];
    size_t shown;
    const int err = gcb_plot_bars(&bars, &shown, out, faster, diag);

    if (err)
        return err;
    snprintf(title, sizeof(title), "Measured exchange: %.0f workers, %s each, %s, %.60s",
             first->workers, gcb_bytes(number, 4.0 * first->elements), first->algorithm,
             first->mpi);
    gcb_plot_heading(out, title, data, first, GCB_PLOT_BY_TIME);
    put_bars(out, data, bars, shown);
    gcb_plot_var_real(out, "plot_height", 214.0 + 27.0 * (double)shown);
    gcb_free(bars);
    return 0;
}

const struct gcb_plot gcb_plot_exchange = {
    .name = "exchange",
    .title = "time of measured exchanges, split into encoding, wire and sum",
    .needs = "exchange rows: `mpirun -n 4 gcbench-mpi --results FILE`",
    .from = "gcbench-mpi",
    .split = &split,
    .series = GCB_PLOT_APART,
    .fill = fill,
};
