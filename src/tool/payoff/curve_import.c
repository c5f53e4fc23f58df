#include "src/tool/payoff/curve_import.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"

enum test { LATENCY, BANDWIDTH, ALLREDUCE, ALLGATHER };

#define CELLS 16 /* most cells of a row that are looked at */
#define LINE_MOST 4096
#define OSU "# OSU "

/* One file while it is read. */
struct log {
    const char *path;
    FILE *file;
    char line[LINE_MOST];
    size_t number;      /* of the line */
    bool ended;         /* the last line of the file was read */
    bool found;         /* the table's title was read */
    bool nccl, reduces; /* a table of nccl-tests; it has an operation */
    enum test test;
    unsigned ranks; /* of nccl-tests */
    /* of nccl-tests: indices of `root` (0: none) and the first `time`, and the number of columns */
    size_t root_at, time_at, columns;
    double factor; /* bus bandwidth / algorithm bandwidth of the last row */
    size_t count;
    struct row {
        double bytes, seconds;
    } rows[GCB_CURVE_POINTS];
};

static int refuse(const struct log *log, struct gcb_diag *diag, const char *what)
{
    char shown[256];

    return gcb_diag_set(diag, GCB_E_CORRUPT, "%s: line %zu: %s",
                        gcb_escape(shown, sizeof(shown), log->path), log->number, what);
}

/* ---- lines ---- */

/* Reads the next line, without its end. Returns false at the end of the file; *err: the line is too long, or is cut. */
static bool next_line(struct log *log, int *err, struct gcb_diag *diag)
{
    size_t length;

    if (log->ended || !fgets(log->line, sizeof(log->line), log->file))
        return false;
    log->number++;
    length = strlen(log->line);
    if (length && log->line[length - 1] == '\n') {
        log->line[strcspn(log->line, "\r\n")] = '\0';
        return true;
    }
    log->ended = feof(log->file);
    *err = log->ended ? refuse(log, diag, "the log is cut: this line has no end")
                      : refuse(log, diag, "this line is too long, or has a zero byte");
    return false;
}

/* Cuts a line at blanks. Returns the number of cells. */
static size_t cut(char *cells[CELLS], char *line)
{
    size_t n = 0;
    char *rest = line;

    for (char *cell; n < CELLS && (cell = strsep(&rest, " \t")) != NULL;)
        if (*cell)
            cells[n++] = cell;
    return n;
}

static bool is_positive(const char *text, double *out)
{
    return gcb_parse_real(text, out) && *out > 0.0 && !isinf(*out);
}

static int add_row(struct log *log, double bytes, double seconds, struct gcb_diag *diag)
{
    if (log->count == GCB_CURVE_POINTS)
        return refuse(log, diag, "too many sizes");
    if (log->count && !(bytes > log->rows[log->count - 1].bytes))
        return refuse(log, diag, "sizes must rise: give the table of one test");
    log->rows[log->count++] = (struct row){bytes, seconds};
    return 0;
}

/* ---- OSU micro-benchmarks ---- */

/* "# OSU MPI Latency Test v7.4", also "# OSU MPI-CUDA ..." */
static int read_osu_title(struct log *log, struct gcb_diag *diag)
{
    /* clang-format off */
    static const struct {
        const char *words;
        enum test test;
    } tests[] = {
        {" Latency Test", LATENCY},
        {" Bandwidth Test", BANDWIDTH},
        {" Allreduce Latency Test", ALLREDUCE},
        {" Allgather Latency Test", ALLGATHER},
    };
    /* clang-format on */
    const char *title = log->line + strlen(OSU);

    if (log->found)
        return refuse(log, diag, "a second table: give one file for each");
    title += strcspn(title, " "); /* "MPI", "MPI-CUDA" */
    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
        if (strncmp(title, tests[i].words, strlen(tests[i].words)) == 0) {
            log->test = tests[i].test;
            log->found = true;
            return 0;
        }
    return refuse(log, diag,
                  "the table of a test that payoff does not read; it reads osu_latency, osu_bw, "
                  "osu_allreduce and osu_allgather");
}

static int read_osu_row(struct log *log, struct gcb_diag *diag)
{
    char *cells[CELLS];
    const size_t n = cut(cells, log->line);
    uint64_t bytes;
    double value;

    if (n < 2 || !gcb_parse_u64(cells[0], &bytes) || !is_positive(cells[1], &value))
        return refuse(log, diag, "not a size and a positive number");
    if (bytes == 0)
        return 0; /* osu_latency begins with it */
    return add_row(log, (double)bytes,
                   log->test == BANDWIDTH ? (double)bytes / (1e6 * value) : 1e-6 * value, diag);
}

/* ---- nccl-tests ---- */

/* "#  Rank  3 Group  0 Pid ..." */
static int read_rank(struct log *log, struct gcb_diag *diag)
{
    char *cells[CELLS];
    uint64_t rank;

    if (cut(cells, log->line) < 3 || !gcb_parse_u64(cells[2], &rank) || rank != log->ranks ||
        rank >= 65536)
        return refuse(log, diag,
                      "ranks must be numbered 0, 1, 2, ...: were the tests built without MPI?");
    log->ranks++;
    return 0;
}

/* "#       size         count      type   redop    root     time   algbw   busbw #wrong     time ..." */
static int read_nccl_columns(struct log *log, struct gcb_diag *diag)
{
    char *cells[CELLS];
    const size_t n = cut(cells, log->line);

    if (log->found)
        return refuse(log, diag, "a second table: give one file for each");
    for (size_t i = 1; i < n && log->time_at == 0; i++) { /* rows have no "#" */
        if (strcmp(cells[i], "root") == 0)
            log->root_at = i - 1;
        if (strcmp(cells[i], "time") == 0)
            log->time_at = i - 1;
    }
    if (log->time_at < 3 || n < log->time_at + 4)
        return refuse(log, diag, "not the columns of nccl-tests: size, count, type, ..., time");
    log->columns = n - 1;
    log->found = log->nccl = true;
    return 0;
}

/* Is the row of a test with a root, such as broadcast_perf, or of alltoall_perf, which cannot check results in place? */
static bool is_other_test(const struct log *log, char *const cells[CELLS])
{
    const size_t wrong = log->time_at + 3, in_place = log->time_at + 7;

    if (log->root_at && strcmp(cells[log->root_at], "-1") != 0)
        return true;
    return log->columns == in_place + 1 && strcmp(cells[wrong], "N/A") != 0 &&
           strcmp(cells[in_place], "N/A") == 0;
}

static int read_nccl_row(struct log *log, struct gcb_diag *diag)
{
    char *cells[CELLS];
    const size_t n = cut(cells, log->line);
    double seconds, algbw, busbw;
    uint64_t bytes;

    if (n < log->columns || !gcb_parse_u64(cells[0], &bytes) ||
        !gcb_parse_real(cells[log->time_at], &seconds) || !(seconds > 0.0) || isinf(seconds) ||
        !gcb_parse_real(cells[log->time_at + 1], &algbw) ||
        !gcb_parse_real(cells[log->time_at + 2], &busbw))
        return refuse(log, diag, "not a row of the table");
    if (is_other_test(log, cells))
        return refuse(log, diag,
                      "a row of another test of nccl-tests; payoff reads all_reduce_perf and "
                      "all_gather_perf");
    if (bytes == 0)
        return 0;
    log->reduces = log->time_at > 3 && strcmp(cells[3], "none") != 0;
    log->factor = busbw / algbw; /* the last row counts, whose bandwidths have the most digits */
    return add_row(log, (double)bytes, 1e-6 * seconds, diag);
}

/* Which test of nccl-tests was it? The tests differ in the factor between their two bandwidths. */
static int find_nccl_test(struct log *log, struct gcb_diag *diag)
{
    const double n = log->ranks, wanted = (log->reduces ? 2.0 : 1.0) * (n - 1.0) / n;

    if (log->ranks < 2)
        return refuse(log, diag, "needs 2 or more ranks, listed above the table as `# Rank 0 ...`");
    if (!(fabs(log->factor / wanted - 1.0) < 0.05))
        return refuse(log, diag,
                      "busbw / algbw is neither that of all_reduce_perf nor that of "
                      "all_gather_perf, which payoff reads");
    log->test = log->reduces ? ALLREDUCE : ALLGATHER;
    return 0;
}

/* ---- a file ---- */

static bool begins(const char *line, const char *with)
{
    return strncmp(line, with, strlen(with)) == 0;
}

static int read_line(struct log *log, bool *over, struct gcb_diag *diag)
{
    const char *first = log->line + strspn(log->line, "# \t");
    const bool comment = log->line[0] == '#';

    if (begins(log->line, OSU))
        return read_osu_title(log, diag);
    if (comment && !log->found && begins(first, "Rank "))
        return read_rank(log, diag);
    if (comment && begins(first, "size ") && !(log->found && !log->nccl))
        return read_nccl_columns(log, diag);
    if (log->nccl && comment && begins(first, "Avg "))
        *over = log->count > 0;
    if (!log->found || comment || *over)
        return 0;
    if (!*first) { /* a blank line ends a table of OSU */
        *over = !log->nccl && log->count > 0;
        return 0;
    }
    return log->nccl ? read_nccl_row(log, diag) : read_osu_row(log, diag);
}

static int read_log(struct log *log, const char *path, struct gcb_diag *diag)
{
    bool over = false;
    char shown[256];
    int err = 0;

    *log = (struct log){.path = path, .file = fopen(path, "r")};
    if (!log->file)
        return gcb_diag_set(diag, GCB_E_IO, "--import: cannot open '%s'",
                            gcb_escape(shown, sizeof(shown), path));
    while (!err && next_line(log, &err, diag))
        if (!over || begins(log->line, OSU))
            err = read_line(log, &over, diag);
    if (!err && ferror(log->file))
        err = gcb_diag_set(diag, GCB_E_IO, "--import: cannot read '%s': %s",
                           gcb_escape(shown, sizeof(shown), path), strerror(errno));
    fclose(log->file);
    if (!err && log->nccl && !over)
        err = refuse(log, diag, "the log is cut: nccl-tests end with `# Avg bus bandwidth`");
    if (!err && log->count == 0)
        err = refuse(log, diag,
                     "the file ends without a table of osu_latency, osu_bw, osu_allreduce, "
                     "osu_allgather, all_reduce_perf or all_gather_perf");
    return !err && log->nccl ? find_nccl_test(log, diag) : err;
}

/* ---- points of the curve ---- */

static int add_point(struct gcb_curve *out, enum gcb_pattern pattern, const struct log *log,
                     double bytes, double seconds, struct gcb_diag *diag)
{
    const struct gcb_curve_point point = {
        bytes, {seconds, seconds, seconds}, {seconds, seconds, seconds}}; /* a log is exact */
    struct gcb_diag why;

    return gcb_curve_add(out, pattern, &point, &why) ? refuse(log, diag, why.text) : 0;
}

static int add_transfers(struct gcb_curve *out, const struct log *log, struct gcb_diag *diag)
{
    const struct gcb_curve_line *line = &out->lines[GCB_PATTERN_SHIFT];
    const double most = line->count ? line->points[line->count - 1].bytes : 0.0;
    int err = 0;

    for (size_t i = 0; !err && i < log->count; i++)
        if (log->test == LATENCY || log->rows[i].bytes > most)
            err = add_point(out, GCB_PATTERN_SHIFT, log, log->rows[i].bytes, log->rows[i].seconds,
                            diag);
    return err;
}

/*
 * All-reduces: the model takes doubling (lg n steps with all bytes, and one more without a power of two workers) for small
 * sizes and halving (2 lg n steps, which share 2 (n - 1)/n of the bytes) for large ones. The latency of the smallest and the
 * bandwidth of the largest say where it changes.
 */
static int add_allreduces(struct gcb_curve *out, const struct log *log, double n,
                          struct gcb_diag *diag)
{
    const double lg = ceil(log2(n)), doubled = exp2(lg) > n ? lg + 1.0 : lg;
    const double part = 2.0 * (n - 1.0) / n;
    const struct row *first = &log->rows[0], *last = &log->rows[log->count - 1];
    const double latency = first->seconds / doubled, rate = part * last->bytes / last->seconds;
    const double change =
        doubled > part ? (2.0 * lg - doubled) * latency * rate / (doubled - part) : INFINITY;
    double most = 0.0;
    int err = 0;

    for (size_t i = 0; !err && i < log->count; i++) {
        const struct row *r = &log->rows[i];
        const bool doubling = r->bytes <= change || i == 0;
        const double steps = doubling ? doubled : 2.0 * lg;
        const double bytes = doubling ? r->bytes : part * r->bytes / steps;

        if (bytes > most)
            err = add_point(out, GCB_PATTERN_PAIR, log, bytes, r->seconds / steps, diag);
        most = fmax(most, bytes);
    }
    return err;
}

/* All-gathers by doubling: lg n steps. The size in a table of OSU is what one worker gives, in one of nccl-tests what it gets. */
static int add_allgathers(struct gcb_curve *out, const struct log *log, double n,
                          struct gcb_diag *diag)
{
    const double lg = ceil(log2(n)), share = log->nccl ? (n - 1.0) / n : n - 1.0;
    int err = 0;

    for (size_t i = 0; !err && i < log->count; i++)
        err = add_point(out, GCB_PATTERN_SHIFT, log, share * log->rows[i].bytes / lg,
                        log->rows[i].seconds / lg, diag);
    return err;
}

static int add_log(struct gcb_curve *out, const struct log *log, unsigned workers,
                   struct gcb_diag *diag)
{
    const unsigned n = log->nccl ? log->ranks : workers;
    char shown[256];

    if (log->test == LATENCY || log->test == BANDWIDTH)
        return add_transfers(out, log, diag);
    if (n < 2)
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "%s: the table does not say how many processes took part: give this "
                            "number as --workers",
                            gcb_escape(shown, sizeof(shown), log->path));
    if (out->workers && out->workers != n)
        return refuse(log, diag, "another number of workers than in the files before");
    out->workers = n;
    return log->test == ALLREDUCE ? add_allreduces(out, log, n, diag)
                                  : add_allgathers(out, log, n, diag);
}

int gcb_curve_import(struct gcb_curve *out, const char *const *paths, size_t count,
                     unsigned workers, struct gcb_diag *diag)
{
    static const enum test order[] = {LATENCY, BANDWIDTH, ALLREDUCE, ALLGATHER};
    struct log *log = gcb_alloc_zero(count, sizeof(*log));
    int err = log ? 0 : gcb_diag_nomem(diag, count * sizeof(*log), "logs");

    *out = (struct gcb_curve){.path = paths[0]};
    for (size_t i = 0; !err && i < count; i++)
        err = read_log(&log[i], paths[i], diag);
    for (size_t t = 0; !err && t < sizeof(order) / sizeof(order[0]); t++)
        for (size_t i = 0; !err && i < count; i++)
            if (log[i].test == order[t])
                err = add_log(out, &log[i], workers, diag);
    if (!err)
        gcb_curve_finish(out);
    gcb_free(log);
    return err;
}
