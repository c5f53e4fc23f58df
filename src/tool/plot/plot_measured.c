/* Plots measured exchanges: the time of each method, and how it divides into encoding, wire and sum. */
#include <math.h>
#include <string.h>

#include "src/tool/plot/plots.h"

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

/* Labels with the collective, unless it is the usual one or the label has it. */
static void put_labels(struct gcb_plot_page *out, const struct gcb_plot_bar *bars, size_t count)
{
    gcb_plot_array_begin(out, "label", count);
    for (size_t i = 0; i < count; i++) {
        const struct gcb_plot_record *x = bars[i].item;
        const bool shown = is_baseline(x) || strcmp(x->collective, "allgather") == 0 ||
                           strstr(bars[i].label, "collective=");
        char text[GCB_PLOT_LABEL + 32];

        snprintf(text, sizeof(text), "%s%s%.24s", bars[i].label, shown ? "" : " ",
                 shown ? "" : x->collective);
        gcb_plot_array_text(out, text, 60);
    }
}

static void put_bars(struct gcb_plot_page *out, const struct gcb_plot_bar *bars, size_t count)
{
    double best = NAN, longest = 0.0;

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

        longest = fmax(longest, fmax(x->seconds, wire + x->sum_seconds));
        longest = fmax(longest, x->seconds_high); /* fmax leaves out a NAN */
        GCB_PLOT_ROW(out, x->spec, (double)i + 1, encode, wire, wire + x->sum_seconds, x->seconds,
                     x->seconds_low, x->seconds_high, is_baseline(x), best / x->seconds);
    }
    gcb_plot_var_real(out, "best", best);
    gcb_plot_var_real(out, "longest", longest);
}

static int fill(const struct gcb_plot_data *data, const struct gcb_plot_record *first,
                struct gcb_plot_page *out, struct gcb_diag *diag)
{
    char title[160];

    snprintf(title, sizeof(title), "Measured exchange: %.0f workers, %.4g MB each, %s, %.60s",
             first->workers, 4e-6 * first->elements, first->algorithm, first->mpi);
    gcb_plot_heading(out, title, data, first, GCB_PLOT_BY_TIME);
    return gcb_plot_bar_rows(out, 190.0, 27.0, faster, put_bars, diag);
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
