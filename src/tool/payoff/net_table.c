#include "src/tool/payoff/net_table.h"

#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/payoff/payoff.h"

#define ROWS_MOST 65536

/* ---- names ---- */

/* nccl-tests have a program for each collective. Their JSON and the files of rccl-tests name the
 * collective. OSU benchmarks print a title, such as "OSU MPI Allreduce Latency Test". */
static const struct {
    const char *program, *collective, *title;
} names[GCB_NET_TESTS] = {
    [GCB_NET_LATENCY] = {NULL, NULL, "Latency"},
    [GCB_NET_BANDWIDTH] = {NULL, NULL, "Bandwidth"},
    [GCB_NET_ALLREDUCE] = {"all_reduce_perf", "AllReduce", "Allreduce"},
    [GCB_NET_ALLGATHER] = {"all_gather_perf", "AllGather", "Allgather"},
    [GCB_NET_REDUCESCATTER] = {"reduce_scatter_perf", "ReduceScatter", NULL},
};

/* Returns GCB_NET_TESTS if it is not read. "./build/all_reduce_perf_mpi" is all_reduce_perf. */
static enum gcb_net_test find_test(const char *name)
{
    for (const char *s = name; *s; s++)
        if (*s == '/' || *s == '\\')
            name = s + 1;
    for (enum gcb_net_test i = GCB_NET_ALLREDUCE; i < GCB_NET_TESTS; i++) {
        const size_t n = strlen(names[i].program);

        if (strcmp(name, names[i].collective) == 0 ||
            (strncmp(name, names[i].program, n) == 0 && !isalnum((unsigned char)name[n])))
            return i;
    }
    return GCB_NET_TESTS;
}

void gcb_net_draft_name(struct gcb_net_draft *d, const char *name)
{
    snprintf(d->name, sizeof(d->name), "%s", name);
    if (*d->name && find_test(d->name) == GCB_NET_TESTS)
        snprintf(d->other, sizeof(d->other), "%s", d->name);
}

void gcb_net_draft_title(struct gcb_net_draft *d, const char *title)
{
    char kind[32] = "";

    d->osu = true;
    snprintf(d->other, sizeof(d->other), "%.*s", (int)strcspn(title, ".0123456789"), title);
    if (sscanf(title, "OSU %*[^ _] %31s", kind) != 1) /* after "MPI" or "MPI-CUDA"; not "MPI_Put" */
        return;
    for (enum gcb_net_test i = 0; i < GCB_NET_TESTS; i++)
        if (names[i].title && strcmp(kind, names[i].title) == 0) {
            *d->other = '\0';
            d->osu_test = i;
        }
}

enum gcb_net_column gcb_net_column_find(const char *name)
{
    static const struct {
        const char *name;
        enum gcb_net_column column;
    } columns[] = {
        {"size", GCB_NET_SIZE},        {"count", GCB_NET_COUNT},      {"type", GCB_NET_TYPE},
        {"redop", GCB_NET_REDOP},      {"root", GCB_NET_ROOT},        {"time", GCB_NET_TIME},
        {"algbw", GCB_NET_ALGBW},      {"alg_bw", GCB_NET_ALGBW},     {"busbw", GCB_NET_BUSBW},
        {"bus_bw", GCB_NET_BUSBW},     {"#wrong", GCB_NET_WRONG},     {"wrong", GCB_NET_WRONG},
        {"nwrong", GCB_NET_WRONG},     {"error", GCB_NET_WRONG},      {"collective", GCB_NET_NAME},
        {"name", GCB_NET_NAME},        {"ranks", GCB_NET_RANKS},      {"gpus", GCB_NET_GPUS},
        {"gpusperrank", GCB_NET_GPUS}, {"inplace", GCB_NET_IN_PLACE},
    };

    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
        if (strcasecmp(name, columns[i].name) == 0)
            return columns[i].column;
    return GCB_NET_COLUMNS;
}

/* ---- rows ---- */

size_t gcb_net_cut(char *cells[], size_t most, char *line, const char *at, bool empty)
{
    size_t n = 0;

    for (char *cell; n < most && (cell = strsep(&line, at)) != NULL;)
        if (*cell || empty)
            cells[n++] = cell;
    return n;
}

static int check_wrong(struct gcb_net_draft *d, const char *text, struct gcb_diag *diag)
{
    double wrong;

    if (!text || !d->counts_wrong || strcmp(text, "N/A") == 0)
        return 0;
    d->checked = true;
    if (!gcb_parse_real(text, &wrong))
        return gcb_diag_set(diag, GCB_E_CORRUPT, "not a row of the table: #wrong is '%s'", text);
    if (wrong > 0.0 || wrong < 0.0)
        return gcb_diag_set(diag, GCB_E_CORRUPT,
                            "the test failed: %s values were wrong, so its times mean nothing; "
                            "find the cause, and run it again",
                            text);
    return 0;
}

/* Rows of several types or operations would mix different tests. */
static int check_kind(char kept[GCB_NET_CELL], const char *text, struct gcb_diag *diag)
{
    if (!text)
        return 0;
    if (!*kept)
        snprintf(kept, GCB_NET_CELL, "%s", text);
    if (strncmp(kept, text, GCB_NET_CELL - 1) == 0)
        return 0;
    return gcb_diag_set(diag, GCB_E_CORRUPT,
                        "rows of %s after rows of %s: run the test with one type and one "
                        "operation, such as `-d float -o sum`",
                        text, kept);
}

int gcb_net_draft_size(struct gcb_net_draft *d, double bytes, double seconds, bool in_place,
                       struct gcb_diag *diag)
{
    if (d->count == ROWS_MOST)
        return gcb_diag_set(diag, GCB_E_CORRUPT,
                            "more than %d rows: run the test with larger steps, such as `-f 2`",
                            ROWS_MOST);
    if (gcb_grow(&d->rows, &d->cap, d->count, sizeof(*d->rows)))
        return gcb_diag_nomem(diag, 0, "rows of a log");
    d->rows[d->count++] = (struct gcb_net_row){bytes, seconds, in_place};
    return 0;
}

/* Recognises tests without a name whose columns or values differ from those that are read. */
static void find_other(struct gcb_net_draft *d, const char *const text[GCB_NET_COLUMNS])
{
    const char *wrong = text[GCB_NET_WRONG], *again = text[GCB_NET_WRONG_IN_PLACE];

    if (text[GCB_NET_ROOT] && strcmp(text[GCB_NET_ROOT], "-1") != 0)
        snprintf(d->other, sizeof(d->other), "a test with a root, such as broadcast_perf");
    else if (wrong && again && strcmp(wrong, "N/A") != 0 && strcmp(again, "N/A") == 0)
        snprintf(d->other, sizeof(d->other), "alltoall_perf or sendrecv_perf");
}

int gcb_net_draft_row(struct gcb_net_draft *d, const char *const text[GCB_NET_COLUMNS],
                      struct gcb_diag *diag)
{
    const char *size = text[GCB_NET_SIZE], *time = text[GCB_NET_TIME];
    const char *alg = text[GCB_NET_ALGBW], *bus = text[GCB_NET_BUSBW];
    const char *in_place = text[GCB_NET_IN_PLACE];
    double seconds, algbw, busbw;
    uint64_t bytes;
    int err;

    if (!*d->name)
        find_other(d, text);
    if (*d->other)
        return 0;
    err = check_wrong(d, text[GCB_NET_WRONG], diag);
    if (!err)
        err = check_wrong(d, text[GCB_NET_WRONG_IN_PLACE], diag);
    if (err)
        return err;
    if (!size || !gcb_parse_u64(size, &bytes))
        return gcb_diag_set(diag, GCB_E_CORRUPT, "not a row of the table: no size");
    if (bytes == 0)
        return 0;
    if (!time || !gcb_parse_real(time, &seconds) || !(seconds > 0.0))
        return gcb_diag_set(diag, GCB_E_CORRUPT,
                            "not a row of the table: the time is not a positive number, but %s",
                            time ? time : "missing");
    if (!alg || !gcb_parse_real(alg, &algbw) || !bus || !gcb_parse_real(bus, &busbw))
        return gcb_diag_set(diag, GCB_E_CORRUPT, "not a row of the table: no bandwidths");
    err = check_kind(d->type, text[GCB_NET_TYPE], diag);
    if (!err)
        err = check_kind(d->redop, text[GCB_NET_REDOP], diag);
    if (err)
        return err;
    if (busbw > d->busbw) {
        d->algbw = algbw;
        d->busbw = busbw;
    }
    return gcb_net_draft_size(d, (double)bytes, 1e-6 * seconds,
                              in_place && strcmp(in_place, "0") != 0, diag);
}

void gcb_net_draft_clear(struct gcb_net_draft *d)
{
    gcb_free(d->rows);
    *d = (struct gcb_net_draft){.rows = NULL};
}

/* ---- which test it is ---- */

/* Half of the last digit of a bandwidth that is printed. */
static double print_error(double bandwidth)
{
    return fmax(0.0051, 6e-5 * bandwidth);
}

/*
 * The ratio of the two bandwidths depends on the test and on the number of ranks. Does it fit?
 * `error` is how far it may be off because bandwidths are rounded; INFINITY: they are 0.
 */
static bool ratio_fits(const struct gcb_net_draft *d, double ratio, double *error)
{
    *error = d->algbw > 0.0 && d->busbw > 0.0
                 ? print_error(d->algbw) / d->algbw + print_error(d->busbw) / d->busbw
                 : INFINITY;
    return isinf(*error) || fabs(d->busbw / d->algbw / ratio - 1.0) <= *error;
}

/* Finds the test of a table without a name. */
static int guess_test(const struct gcb_net_draft *d, unsigned n, enum gcb_net_test *test,
                      struct gcb_diag *diag)
{
    const bool reduces = *d->redop && strcmp(d->redop, "none") != 0;
    const double share = (n - 1.0) / n;
    double error;

    *test = GCB_NET_TESTS;
    if (ratio_fits(d, share, &error))
        *test = reduces ? GCB_NET_REDUCESCATTER : GCB_NET_ALLGATHER;
    if (reduces && ratio_fits(d, 2.0 * share, &error))
        *test = GCB_NET_ALLREDUCE;
    if (error > 0.3)
        return gcb_diag_set(diag, GCB_E_CORRUPT,
                            "the table does not name its test, and its bandwidths have too few "
                            "digits to tell which it is: keep the line `# Collective test "
                            "starting`, or run the test up to larger sizes");
    if (*test == GCB_NET_TESTS)
        return gcb_diag_set(diag, GCB_E_CORRUPT,
                            "busbw / algbw is %.4g, which is that of neither all_reduce_perf nor "
                            "all_gather_perf nor reduce_scatter_perf with %u ranks: payoff reads "
                            "only these; keep all lines `# Rank` of the log",
                            d->busbw / d->algbw, n);
    /* tests that differ only in what they check */
    if (d->counts_wrong && !d->checked &&
        (*test == GCB_NET_ALLGATHER || (*test == GCB_NET_ALLREDUCE && n == 2)))
        return gcb_diag_set(diag, GCB_E_CORRUPT,
                            "this may be %s or %s: the table does not name its test, and its "
                            "results were not checked; keep the line `# Collective test "
                            "starting`, or run the test without `-c 0`",
                            names[*test].program, reduces ? "sendrecv_perf" : "alltoall_perf");
    return 0;
}

static int find_nccl_test(const struct gcb_net_draft *d, unsigned n, enum gcb_net_test *test,
                          struct gcb_diag *diag)
{
    double error, ratio = (n - 1.0) / n;

    if (!*d->name)
        return guess_test(d, n, test, diag);
    *test = find_test(d->name);
    if (*test == GCB_NET_ALLREDUCE)
        ratio *= 2.0;
    if (!ratio_fits(d, ratio, &error))
        return gcb_diag_set(diag, GCB_E_CORRUPT,
                            "busbw / algbw is %.4g, but that of %s with %u ranks is %.4g: keep "
                            "all lines `# Rank` of the log",
                            d->busbw / d->algbw, names[*test].program, n, ratio);
    return 0;
}

/* ---- times of sizes ---- */

static int compare_rows(const void *a, const void *b)
{
    const struct gcb_net_row *x = a, *y = b;

    if (x->bytes < y->bytes || x->bytes > y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return (x->seconds > y->seconds) - (x->seconds < y->seconds);
}

/* Leaves a row for each size, sorted, with its median. In-place rows count only if there are no
 * others. */
static void take_medians(struct gcb_net_draft *d)
{
    const struct gcb_net_row *r = d->rows;
    bool both = false;
    size_t n = 0, end;

    for (size_t i = 0; i < d->count; i++)
        both |= !r[i].in_place;
    for (size_t i = 0; i < d->count; i++)
        if (!both || !r[i].in_place)
            d->rows[n++] = r[i];
    qsort(d->rows, n, sizeof(*d->rows), compare_rows);
    d->count = 0;
    for (size_t i = 0; i < n; i = end) {
        for (end = i; end < n && !(r[end].bytes > r[i].bytes);)
            end++;
        d->rows[d->count++] = (struct gcb_net_row){
            r[i].bytes, 0.5 * (r[(i + end - 1) / 2].seconds + r[(i + end) / 2].seconds), false};
    }
}

/* Takes the sizes, and if there are too many, some in even ratios with the first and the last. If
 * huge sizes are close together, the ratio rounds to almost 1 and does not limit their number. */
static void take_sizes(struct gcb_net_table *out, const struct gcb_net_draft *d, double scale)
{
    const struct gcb_net_row *r = d->rows;
    const size_t last = d->count - 1;
    double ratio = 0.0, before = 0.0;

    if (d->count > GCB_NET_SIZES)
        ratio = pow(r[last].bytes / r[0].bytes, 1.0 / (GCB_NET_SIZES - 2.0));
    for (size_t i = 0; i < d->count; i++) {
        if (i > 0 && i < last && (r[i].bytes < ratio * before || out->count + 1 == GCB_NET_SIZES))
            continue;
        out->sizes[out->count++] = (struct gcb_net_size){scale * r[i].bytes, r[i].seconds};
        before = r[i].bytes;
    }
}

/* Finds the test, and computes the times of its sizes. */
static int make_table(struct gcb_net_table *out, enum gcb_net_test *test, struct gcb_net_draft *d,
                      unsigned workers, struct gcb_diag *diag)
{
    const bool transfers = d->osu && d->osu_test <= GCB_NET_BANDWIDTH;
    const unsigned n = transfers ? 0 : d->ranks ? d->ranks : workers;
    int err = 0;

    *test = d->osu_test;
    if (d->count == 0)
        err = gcb_diag_set(diag, GCB_E_CORRUPT, "the table has no row with a size above 0");
    else if (!transfers && n == 0)
        err = gcb_diag_set(diag, GCB_E_INVALID,
                           "the table does not say how many processes took part: give this "
                           "number as --workers");
    else if (!transfers && (n < 2 || n > GCB_PAYOFF_WORKERS))
        err = gcb_diag_set(diag, GCB_E_CORRUPT,
                           "the table is of %u ranks, and needs 2 to %d; with mpirun, the tests "
                           "must be built with MPI=1",
                           n, GCB_PAYOFF_WORKERS);
    else if (!d->osu)
        err = find_nccl_test(d, n, test, diag);
    if (err)
        return err;
    *out = (struct gcb_net_table){.line = d->line,
                                  .ranks = n,
                                  .reduces =
                                      *test == GCB_NET_ALLREDUCE || *test == GCB_NET_REDUCESCATTER};
    take_medians(d);
    /* in a table of OSU, the size is what one process gives */
    take_sizes(out, d, d->osu && *test == GCB_NET_ALLGATHER ? n : 1.0);
    return 0;
}

int gcb_net_draft_finish(struct gcb_net_reading *r, struct gcb_diag *diag)
{
    struct gcb_net_draft *d = &r->draft;
    struct gcb_net_log *log = r->out;
    struct gcb_net_table table;
    enum gcb_net_test test;
    int err = 0;

    if (*d->other) {
        r->unused = r->unused ? r->unused : d->line;
        if (!gcb_lists(log->unused, d->other))
            gcb_append(log->unused, sizeof(log->unused), "%s%s", *log->unused ? ", " : "",
                       d->other);
    } else {
        err = make_table(&table, &test, d, r->workers, diag);
        if (!err && log->tables[test].count)
            err = gcb_diag_set(diag, GCB_E_CORRUPT,
                               "a second table of this test, after that of %s %zu: give a file "
                               "with only one of them",
                               r->unit, log->tables[test].line);
        if (!err)
            log->tables[test] = table;
    }
    if (err)
        r->number = d->line;
    gcb_net_draft_clear(d);
    return err;
}
