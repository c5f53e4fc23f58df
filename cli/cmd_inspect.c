#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/base/session.h"
#include "src/lib/base/text.h"
#include "src/lib/lowrank/blas.h"
#include "src/tool/measure/compaction.h"
#include "src/tool/measure/survey.h"
#include "src/tool/rows/number.h"

struct inspect_options {
    struct session_options common;
    bool histogram, spectrum, compaction;
};

/* clang-format off */
static const struct opt_row rows[] = {
    {OPT_ROW("histogram", FLAG, inspect_options, histogram),
     .help = "count values by magnitude; rows have four bins for each power of two"},
    {OPT_ROW("spectrum", FLAG, inspect_options, spectrum),
     .help = "show the energy of the Fourier transform by frequency and by magnitude"},
    {OPT_ROW("compaction", FLAG, inspect_options, compaction),
     .help = "show for each group of tensors the energy that few coefficients keep: of transforms, "
             "controls and singular values"},
    {.name = NULL},
};
/* clang-format on */

/* The state of the command. Starts zeroed. */
struct inspector {
    struct session s;
    const struct inspect_options *options;
    struct gcb_survey *survey;
    struct gcb_table *table, *spectra; /* a line for each tensor; NULL once they are printed */
    struct gcb_histogram all;          /* of the values of all tensors */
    uint64_t nonfinite;                /* infinities and NaNs in all tensors */
    uint64_t untransformed;            /* number of tensors whose transform needs FFTW */
    struct gcb_diag *diag;
};

/* shares of bins kept: the columns of the table of spectra */
static const double densities[] = {0.01, 0.05, 0.1, 0.15, 0.2, 0.5};
#define DENSITIES (sizeof(densities) / sizeof(densities[0]))

/* Sends the rows of a tensor, if rows are wanted. */
static int put_rows(struct inspector *p, const struct gcb_survey_item *item)
{
    const struct gcb_shape_rows to = {
        .tensor = item->first->path, .put = out_put_row, .ctx = &p->s.report};
    struct gcb_row row;
    int err;

    if (!out_wants_rows(&p->s.report))
        return 0;
    gcb_shape_rows_tensor(&row, item);
    err = out_put(&p->s.report, &row, p->diag);
    return err ? err : gcb_shape_rows_put(&to, item->histogram, item->spectrum, p->diag);
}

static void add_tensor_line(struct inspector *p, const struct gcb_survey_item *item)
{
    struct gcb_moments_figures f;
    char shape[GCB_SHAPE_TEXT], text[32];

    gcb_moments_figures(&f, &item->moments);
    if (item->uniform && item->first->rank)
        gcb_shape_text(shape, item->first->rank, item->first->dims);
    else
        snprintf(shape, sizeof(shape), "%s", item->uniform ? "scalar" : "varies");
    gcb_table_cell(p->table, gcb_show(item->first->path).text);
    gcb_table_cell(p->table, shape);
    gcb_table_cell(p->table, gcb_scientific(text, f.mean, 2));
    gcb_table_cell(p->table, gcb_scientific(text, f.deviation, 2));
    gcb_table_cell(p->table, gcb_scientific(text, f.max_abs, 2));
    gcb_table_cell(p->table, gcb_number(text, f.kurtosis, 3));
    gcb_table_cell(p->table, gcb_percent(text, f.zeros));
    gcb_table_cell(p->table, gcb_count(text, item->moments.nonfinite));
}

static void add_spectrum_line(struct inspector *p, const struct gcb_survey_item *item)
{
    char text[32];

    gcb_table_cell(p->spectra, gcb_show(item->first->path).text);
    for (size_t i = 0; i < DENSITIES; i++)
        gcb_table_cell(p->spectra,
                       gcb_percent(text, item->spectrum
                                             ? gcb_spectrum_kept(item->spectrum, densities[i])
                                             : NAN));
}

static int inspect_tensor(struct inspector *p, size_t i)
{
    struct gcb_survey_item item;
    int err = gcb_survey_read(p->survey, i, &item, p->diag);

    if (!err)
        err = put_rows(p, &item);
    if (!err && item.spectrum)
        p->untransformed += item.spectrum->bins == 0;
    if (err || !p->s.report.table)
        return err;
    p->nonfinite += item.moments.nonfinite;
    if (item.histogram)
        gcb_histogram_join(&p->all, item.histogram);
    add_tensor_line(p, &item);
    if (p->options->spectrum)
        add_spectrum_line(p, &item);
    return 0;
}

#define SUBNORMAL (-127) /* the exponent under which gcb_histogram_octave counts subnormal values */

/* Prints a line for the zeros, and for the subnormal values and each power of two that occur: the
 * share of values of this magnitude, of both signs, and (except for the zeros) a bar that has 40
 * columns at 100 %. */
static void print_histogram(const struct inspector *p)
{
    static const char bar[] = "  ########################################";
    FILE *out = p->s.report.out;
    char share[32];

    fprintf(out, "\nmagnitudes of all tensors\n");
    fprintf(out, "  %-22s %7s\n", "0",
            gcb_percent(share, gcb_histogram_share(&p->all, p->all.bins[GCB_HISTOGRAM_BINS])));
    for (int e = SUBNORMAL; e <= 127; e++) {
        const uint64_t count = gcb_histogram_octave(&p->all, e);
        const double part = gcb_histogram_share(&p->all, count);
        char range[32];
        int marks;

        if (count == 0)
            continue;
        if (e == SUBNORMAL)
            snprintf(range, sizeof(range), "below 2^-126");
        else
            snprintf(range, sizeof(range), "2^%-4d %.1e", e, ldexp(1.0, e));
        marks = (int)(part * 40.0 + 0.5);
        fprintf(out, "  %-22s %7s%.*s\n", range, gcb_percent(share, part), marks ? marks + 2 : 0,
                bar);
    }
}

/* Prints the table, the histogram and the spectra, as far as they are asked for. */
static void print_tables(struct inspector *p)
{
    FILE *out = p->s.report.out;

    out_table(&p->s.report, p->table);
    p->table = NULL;

    if (p->nonfinite && !p->s.report.quiet)
        opt_note(out, "infinities and NaNs are counted under \"bad\" and left out of all other "
                      "figures");
    if (p->options->histogram)
        print_histogram(p);
    if (!p->options->spectrum)
        return;
    fprintf(out, "\nenergy in the largest Fourier bins, by the share of bins kept\n");
    out_table(&p->s.report, p->spectra);
    p->spectra = NULL;
}

/* ---- compaction ---- */

/* Adds a group's line to the table. The second cell of the DCT, cells[2], is that of shuffled
 * tensors. */
static void add_group(struct gcb_table *table, const struct gcb_compaction *c)
{
    static const int cells[] = {GCB_TRANSFORM_NONE, GCB_TRANSFORM_DCT,    GCB_TRANSFORM_DCT,
                                GCB_TRANSFORM_MEAN, GCB_TRANSFORM_RANDOM, GCB_COMPACTION_SVD};
    char text[32];

    gcb_table_cell(table, gcb_tensor_group_names[c->group]);
    gcb_table_cell(table, gcb_percent(text, (double)c->untouched / (double)c->rows));
    for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++)
        gcb_table_cell(table,
                       gcb_number(text, 100.0 * gcb_compaction_best(c, cells[i], i == 2), 3));
    gcb_table_cell(table, gcb_compaction_verdict(c));
}

/* Measures the groups, sends their rows and prints their table. */
static int inspect_groups(struct inspector *p)
{
    static const char *const titles[] = {"group", "zero rows", "none", "dct",    "shuffled",
                                         "mean",  "random",    "svd",  "verdict"};
    enum { COUNT = sizeof(titles) / sizeof(titles[0]) };
    struct gcb_table_column columns[COUNT];
    struct gcb_table *table;
    int err = gcb_blas_open(p->s.backend.queue.threads, p->diag);

    /* the first and the last column are text */
    for (size_t i = 0; i < COUNT; i++)
        columns[i] = (struct gcb_table_column){.title = titles[i], .text = i % (COUNT - 1) == 0};
    table = gcb_table_create(columns, COUNT);
    for (int g = 0; !err && g < GCB_TENSOR_GROUPS; g++) {
        struct gcb_compaction c = {.group = (enum gcb_tensor_group)g};

        err = gcb_compaction_measure(&c, p->s.source, &p->s.backend.kernels, &p->s.backend.queue,
                                     p->diag);
        if (err || c.tensors == 0)
            continue;
        add_group(table, &c);
        if (out_wants_rows(&p->s.report))
            err = gcb_compaction_rows(&c, out_put_row, &p->s.report, p->diag);
    }
    if (!err && p->s.report.table) {
        fprintf(p->s.report.out,
                "\n%% of the energy in %g %% of the coefficients, by the best tiles\n",
                100.0 * gcb_compaction_densities[GCB_COMPACTION_VERDICT]);
        out_table(&p->s.report, table);
    } else {
        gcb_table_destroy(table);
    }
    return err;
}

/* ---- the command ---- */

static int open_report(struct inspector *p)
{
    static const struct gcb_table_column columns[] = {
        {.title = "tensor", .elastic = true},
        {.title = "shape", .elastic = true},
        {.title = "mean"},
        {.title = "dev"},
        {.title = "max"},
        {.title = "kurtosis"},
        {.title = "zeros"},
        {.title = "bad"},
    };
    static const struct gcb_table_column spectrum_columns[DENSITIES + 1] = {
        {.title = "tensor", .elastic = true},
        {.title = "1 %"},
        {.title = "5 %"},
        {.title = "10 %"},
        {.title = "15 %"},
        {.title = "20 %"},
        {.title = "50 %"},
    };

    p->table = gcb_table_create(columns, sizeof(columns) / sizeof(columns[0]));
    p->spectra = gcb_table_create(spectrum_columns, DENSITIES + 1);
    return session_start_report(
        &p->s,
        GCB_RECORD_BIT(GCB_RECORD_TENSOR) | GCB_RECORD_BIT(GCB_RECORD_HISTOGRAM) |
            GCB_RECORD_BIT(GCB_RECORD_SPECTRUM) | GCB_RECORD_BIT(GCB_RECORD_COMPACTION),
        false);
}

static int inspect_run(const void *options, const struct opt_list *operands,
                       struct cmd_context *ctx)
{
    const struct inspect_options *o = options;
    struct inspector p = {
        .s = {.o = o->common, .files = operands, .ctx = ctx}, .options = o, .diag = ctx->diag};
    const struct gcb_survey_config config = {o->histogram, o->spectrum, &p.s.backend.kernels,
                                             &p.s.backend.queue};
    struct gcb_extent extent;
    int err = session_resolve(&p.s);

    if (!err)
        err = session_open_input(&p.s);
    if (!err)
        err = open_report(&p);
    if (!err)
        err = gcb_survey_create(&p.survey, p.s.source, &config, ctx->diag);
    if (!err && p.s.report.table) {
        gcb_extent_of(&extent, p.s.source);
        heading_print(p.s.report.out, operands, &extent, "");
    }
    for (size_t i = 0; !err && i < gcb_survey_count(p.survey); i++)
        err = inspect_tensor(&p, i);
    if (!err && p.s.report.table)
        print_tables(&p);
    if (!err && o->compaction)
        err = inspect_groups(&p);
    if (p.untransformed && !o->common.show.quiet)
        fprintf(ctx->err,
                "gcbench: note: no spectrum of %" PRIu64 " tensor%s: lengths that are odd or have "
                "other factors than 2, 3, 5 and 7 need FFTW, which this build does not have\n",
                p.untransformed, p.untransformed == 1 ? "" : "s");
    if (!err)
        err = out_commit(&p.s.report, ctx->diag);
    gcb_survey_destroy(p.survey);
    gcb_table_destroy(p.table);
    gcb_table_destroy(p.spectra);
    session_close(&p.s);
    return err;
}

static const struct opt_group groups[] = {
    {.title = "What to show", .rows = rows},
    OPT_GROUP("What to show", opt_threads_rows, struct inspect_options, common.exec),
    OPT_GROUP("Which tensors", opt_input_rows, struct inspect_options, common.input),
    OPT_GROUP("Output", opt_show_rows, struct inspect_options, common.show),
    OPT_GROUP("Output", opt_save_rows, struct inspect_options, common.save),
    OPT_GROUP("Output", opt_hash_rows, struct inspect_options, common.save),
    OPT_GROUP("Output", opt_force_rows, struct inspect_options, common.save),
    {.rows = NULL},
};

const struct cmd cmd_inspect = {
    .name = "inspect",
    .summary = "show what is in a file: steps, workers, tensors, statistics",
    .usage = "inspect [options] FILE...",
    .examples = "  gcbench inspect grads.h5\n"
                "  gcbench inspect --step last --dataset '*conv*' --histogram grads.h5\n"
                "  gcbench inspect --spectrum --format csv grads.h5 > spectrum.csv\n",
    .details =
        "Each line is one tensor, over all steps and workers selected. docs/rows.md explains the "
        "rows of json and csv.\n",
    .spec = {.groups = groups},
    .size = sizeof(struct inspect_options),
    .run = inspect_run,
};
