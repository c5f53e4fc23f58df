#include "src/tool/payoff/net_log.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "src/lib/base/text.h"
#include "src/tool/base/filekind.h"

#define ROWS_MOST 4096                   /* of a table */
#define WORDS 64                         /* of a line that are looked at */
#define BETWEEN " \t\r\n]>|\xef\xbb\xbf" /* words; launchers end a prefix with some of these */

#define COLUMNS_READ "size, count, type, ..., time, algbw, busbw, #wrong"
#define FAILED "the test failed: values were wrong; find the cause, and run it again"
#define MPI "; with mpirun, the test must be built with MPI=1"

/* The columns of nccl-tests; OSU has a size and a time. If two have the same name, the first is the
 * out-of-place one. */
enum column { SIZE, COUNT, TYPE, REDOP, ROOT, TIME, ALGBW, BUSBW, WRONG, WRONG_AGAIN, COLUMNS };

struct reading {
    struct gcb_net_log *out;
    struct gcb_diag *diag;
    unsigned workers; /* of gcb_net_log_read */
    size_t number;    /* of lines that were read */
    size_t where;     /* the line that a message is about */
    bool found;       /* a table */
    struct draft {
        bool open; /* rows may follow */
        bool osu, named;
        enum gcb_net_test test; /* if it is named; GCB_NET_TESTS: one that is not read */
        size_t line;            /* where the rows begin */
        unsigned ranks;         /* 0: not said */
        size_t prefix;          /* OSU: words before each row */
        size_t at[COLUMNS];     /* words of a row; 0: there is no such column, except SIZE */
        bool gathers;           /* there is no operation */
        bool unchecked;         /* some results were not checked, or the test has a root */
        double algbw, busbw;    /* of the row with the largest, whose ratio is the most exact */
        size_t count;
    } table;
    struct gcb_net_size rows[ROWS_MOST];
};

static int refuse(const struct reading *r, const char *what)
{
    return gcb_diag_set(r->diag, GCB_E_CORRUPT, "%s", what);
}

static bool begins_with(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static size_t cut_words(char *words[WORDS], char *line)
{
    size_t n = 0;

    for (char *word; n < WORDS && (word = strtok_r(line, BETWEEN, &line)) != NULL;) {
        word += *word == ':'; /* "[1,0]<stdout>:" */
        if (*word)
            words[n++] = word;
    }
    return n;
}

/* ---- the end of a table ---- */

/*
 * Finds the test of a table of nccl-tests by busbw / algbw, which depends on it and on the number
 * of ranks. Both are rounded. Versions before 2.17 do not name the test; then tests that are not
 * read have a root, an in-place column that is not checked, or another ratio.
 */
static enum gcb_net_test find_test(const struct draft *t)
{
    const bool sure = !t->unchecked && t->busbw >= 0.1;
    enum gcb_net_test i = GCB_NET_ALLREDUCE;

    for (; i < GCB_NET_TESTS; i++) {
        const double ratio = (i == GCB_NET_ALLREDUCE ? 2.0 : 1.0) * (t->ranks - 1.0) / t->ranks;
        const double error = fmax(0.0051, 6e-5 * t->busbw) + ratio * fmax(0.0051, 6e-5 * t->algbw);

        if (fabs(t->busbw - ratio * t->algbw) <= error &&
            (t->named ? i == t->test : sure && t->gathers == (i == GCB_NET_ALLGATHER)))
            break;
    }
    return i;
}

/* Ends the table, if there is one. OSU does not mark the end; nccl-tests do (`marked`). */
static int end_table(struct reading *r, bool marked)
{
    struct draft t = r->table;
    struct gcb_net_table *out;

    if (!t.open)
        return 0;
    r->table = (struct draft){.open = false};
    if (t.osu && t.test == GCB_NET_TESTS)
        return 0;
    r->where = t.line;
    if (!marked && !t.osu)
        return refuse(r, "expected `# Avg bus bandwidth` after the table: run the test to its end");
    if (!t.osu || t.test > GCB_NET_BANDWIDTH) {
        t.ranks = t.ranks ? t.ranks : r->workers;
        if (t.ranks == 0)
            return gcb_diag_set(r->diag, GCB_E_INVALID,
                                "the table does not say how many ranks took part: give --workers");
        t.test = t.osu ? t.test : find_test(&t);
        if (t.test == GCB_NET_TESTS || t.ranks < 2 || t.ranks > GCB_NETWORK_WORKERS)
            return refuse(r, "the ranks and bandwidths fit no test that is read: keep the lines `# "
                             "Collective test starting` and `# Rank`" MPI);
    }
    out = &r->out->tables[t.test];
    if (out->count || t.count == 0)
        return refuse(r, "expected one table of this test, with sizes above 0");
    out->line = t.line;
    out->ranks = t.ranks;
    out->reduces = t.test == GCB_NET_ALLREDUCE || t.test == GCB_NET_REDUCESCATTER;
    out->count = t.count < GCB_NET_SIZES ? t.count : GCB_NET_SIZES;
    for (size_t i = 0; i < out->count; i++) {
        out->sizes[i] = r->rows[out->count < t.count ? i * (t.count - 1) / (out->count - 1) : i];
        if (t.osu && t.test == GCB_NET_ALLGATHER) /* the size is what one process gives */
            out->sizes[i].bytes *= t.ranks;
    }
    r->found = true;
    return 0;
}

/* ---- rows ---- */

/* Keeps the rows sorted. A row replaces one of the same size (`-N`). */
static int add_row(struct reading *r, double bytes, double seconds)
{
    size_t *count = &r->table.count, i = *count;

    while (i > 0 && !(r->rows[i - 1].bytes < bytes))
        i--;
    if (i == *count || r->rows[i].bytes > bytes) {
        if (*count == ROWS_MOST)
            return refuse(r, "too many sizes: run the test with larger steps, such as `-f 2`");
        memmove(&r->rows[i + 1], &r->rows[i], ((*count)++ - i) * sizeof(*r->rows));
    }
    r->rows[i] = (struct gcb_net_size){bytes, seconds};
    return 0;
}

/* Finds the columns: "size  count  type  redop  root  time  algbw  busbw  #wrong  time ..." */
static int read_columns(struct reading *r, char *line)
{
    static const char *const names[COLUMNS] = {"size", "count", "type",  "redop",  "root",
                                               "time", "algbw", "busbw", "#wrong", "#wrong"};
    size_t *at = r->table.at;
    char *words[WORDS];
    const size_t n = cut_words(words, line);

    for (size_t i = 0; i < n; i++) {
        /* nccl-tests before 2.13 */
        const char *name = strcmp(words[i], "error") == 0 ? "#wrong" : words[i];
        enum column c = SIZE;

        while (c < COLUMNS && (at[c] || strcmp(name, names[c]) != 0))
            c++;
        if (c < COLUMNS)
            at[c] = i;
    }
    r->table.line = r->number;
    r->table.open = true;
    if (at[TYPE] != 2 || at[TIME] <= at[TYPE] || at[TIME] < at[REDOP] || at[TIME] < at[ROOT] ||
        !at[ALGBW] || !at[BUSBW] || !at[WRONG])
        return refuse(r, "expected the columns " COLUMNS_READ ": run the test without `-C 1`");
    return 0;
}

/* True if a row begins here. nccl-tests begin it with a size, a count and the name of a type,
 * OSU with a size. */
static bool begins_row(char *const *row, char *const *end, bool osu)
{
    uint64_t number;

    if (osu)
        return row < end && gcb_parse_u64(row[SIZE], &number);
    return row + TYPE < end && gcb_parse_u64(row[SIZE], &number) &&
           gcb_parse_u64(row[COUNT], &number) && isalpha((unsigned char)*row[TYPE]);
}

/* Reads the cells from TIME on. N/A is 0. */
static bool read_cells(struct draft *t, char **row, char **end, double cell[COLUMNS])
{
    for (enum column c = TIME; c < COLUMNS; c++) {
        const char *text = !t->at[c] ? "N/A" : row + t->at[c] < end ? row[t->at[c]] : "";
        const bool none = strcmp(text, "N/A") == 0;

        t->unchecked |= none;
        cell[c] = 0.0;
        if (!none && !gcb_parse_real(text, &cell[c]))
            return false;
    }
    return true;
}

/* Reads a row after any prefix. */
static int read_row(struct reading *r, char *line)
{
    struct draft *t = &r->table;
    char *words[WORDS], **const end = words + cut_words(words, line), **row = words + t->prefix;
    double cell[COLUMNS];
    size_t numbers = 0;
    uint64_t bytes;

    for (char **word = words; word < end; word++)
        numbers += gcb_parse_real(*word, cell);
    while (!t->osu && row < end && !begins_row(row, end, false))
        row++;
    if (!begins_row(row, end, t->osu) && (t->osu || numbers < 5)) /* another program's line */
        return 0;
    if (row == end || !gcb_parse_u64(row[SIZE], &bytes) || !read_cells(t, row, end, cell) ||
        (bytes && !(cell[TIME] > 0.0)))
        return refuse(r, "expected a row: " COLUMNS_READ
                         " (OSU: size, time); run the test without NCCL_DEBUG");
    /* in versions before 2.13 it is the largest error, below 1 */
    if (!(cell[WRONG] < 1.0) || !(cell[WRONG_AGAIN] < 1.0) || strcmp(end[-1], "Fail") == 0)
        return refuse(r, FAILED);
    t->gathers = !t->at[REDOP] || strcmp(row[t->at[REDOP]], "none") == 0;
    t->unchecked |= t->at[ROOT] && strcmp(row[t->at[ROOT]], "-1") != 0;
    if (cell[BUSBW] > t->busbw) {
        t->algbw = cell[ALGBW];
        t->busbw = cell[BUSBW];
    }
    if (t->osu && t->test == GCB_NET_BANDWIDTH)
        cell[TIME] = (double)bytes / cell[TIME];
    /* the size is 0 in osu_latency and in small reduce-scatters */
    return bytes ? add_row(r, (double)bytes, 1e-6 * cell[TIME]) : 0;
}

/* ---- text ---- */

/* Begins a table: of nccl-tests, with the path of a program, or of OSU, with a title. */
static void name_table(struct reading *r, const char *text)
{
    /* clang-format off */
    static const char *const names[GCB_NET_TESTS] = {"Latency", "Bandwidth", "all_reduce_perf, Allreduce",
                                                     "all_gather_perf, Allgather", "reduce_scatter_perf"};
    /* clang-format on */
    char word[64] = "", *unused = r->out->unused;
    /* after "OSU MPI" or "OSU MPI-CUDA", but not "OSU MPI_Put" */
    const bool osu = sscanf(text, "OSU %*[^ _] %63s", word) == 1;
    const char *name = word;
    enum gcb_net_test i = 0;

    if (!osu && sscanf(text, "%63s", word) == 1 && strrchr(word, '/'))
        name = strrchr(word, '/') + 1;
    if (strstr(word, "_perf")) /* "all_reduce_perf_mpi" */
        strstr(word, "_perf")[5] = '\0';
    while (i < GCB_NET_TESTS && !gcb_lists(names[i], name))
        i++;
    if (i == GCB_NET_TESTS && !gcb_lists(unused, name))
        gcb_append(unused, sizeof(r->out->unused), "%s%s", *unused ? ", " : "", name);
    r->table = (struct draft){.named = !osu, .test = i, .line = r->number, .at[TIME] = osu};
    r->table.open = r->table.osu = osu;
}

/* Reads a comment: what follows "#" in the line. */
static int read_comment(struct reading *r, char *words, char *line)
{
    /* clang-format off */
    static const char starting[] = "Collective test starting: ";
    /* clang-format on */
    struct draft *t = &r->table;
    const bool rows = t->open && !t->osu, osu = begins_with(words, "OSU ");
    const bool starts = begins_with(words, starting), columns = begins_with(words, "size ");
    unsigned rank, group = 0;
    const bool ranks = sscanf(words, "Rank %9u Group %9u", &rank, &group) > 0;
    char *cells[WORDS];
    int err;

    if (rows && begins_with(words, "Avg bus bandwidth"))
        return end_table(r, true);
    if (rows && begins_with(words, "Out of bounds values") && strstr(words, "FAILED"))
        return refuse(r, FAILED);
    if (!osu && !starts && !columns && !ranks)
        return t->open ? read_row(r, line) : 0;
    err = end_table(r, false);
    if (!err && (osu || starts))
        name_table(r, osu ? words : words + strlen(starting));
    if (!err && osu) {
        *strchr(line, '#') = '\0';
        t->prefix = cut_words(cells, line);
    }
    if (!err && columns && (!t->named || t->test < GCB_NET_TESTS))
        err = read_columns(r, words);
    if (!err && ranks && (rank != t->ranks++ || group > 0)) /* groups: NCCL_TESTS_SPLIT */
        err = refuse(r, "expected ranks 0, 1, 2, ... of one group" MPI);
    return err;
}

/* Reads the lines of a text. */
static int read_lines(struct reading *r, FILE *file)
{
    char line[65536];
    int err = 0;

    while (!err && fgets(line, sizeof(line), file)) {
        char *hash = strchr(line, '#');

        r->where = ++r->number;
        if (!strchr(line, '\n') && (r->table.osu || !feof(file)))
            err = refuse(r, "expected whole lines of text: give all that the test printed");
        else if (hash)
            err = read_comment(r, hash + strspn(hash, "# \t"), line);
        else if (r->table.open)
            err = read_row(r, line);
    }
    return err ? err : end_table(r, false);
}

/* ---- a file ---- */

int gcb_net_log_read(struct gcb_net_log *out, const char *path, unsigned workers,
                     struct gcb_diag *diag)
{
    struct reading r = {.out = out, .diag = diag, .workers = workers};
    struct gcb_filekind kind = {.name = NULL};
    FILE *file = fopen(path, "re");
    int err = 0;

    *out = (struct gcb_net_log){.path = path};
    if (file)
        kind = gcb_filekind_find(fileno(file));
    if (kind.name)
        err = gcb_diag_set(diag, GCB_E_CORRUPT, "%s, not a log; %s", kind.name, kind.advice);
    else if (file)
        err = read_lines(&r, file);
    if (!err && (!file || ferror(file)))
        err = gcb_diag_set(diag, GCB_E_IO, "cannot read: %s", strerror(errno));
    else if (!err && !r.found)
        err = refuse(&r, "the file ends without a table that is read: run `all_reduce_perf -b 8 -e "
                         "8G -f 2`, for example");
    if (file)
        fclose(file);
    return err ? gcb_diag_locate(diag, err, path, "line", r.where) : 0;
}
