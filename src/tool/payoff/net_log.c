#include "src/tool/payoff/curve.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "src/lib/base/text.h"
#include "src/tool/base/filekind.h"

#define ROWS_MOST 4096 /* most rows of a table */
#define WORDS 64       /* most words of a line that are read */
/* The characters between words. Launchers end their prefix with ], > or |; the last three bytes
 * are a byte order mark. */
#define BETWEEN " \t\r\n]>|\xef\xbb\xbf"

/* Parts of error messages. */
#define COLUMNS_READ "size, count, type, ..., time, algbw, busbw, #wrong"
#define FAILED "the test failed: values were wrong; find the cause, and run it again"
#define MPI "; with mpirun, the test must be built with MPI=1"

/* The columns of nccl-tests; OSU has only SIZE and TIME. WRONG_AGAIN is the in-place column; of the
 * other columns only the first, out-of-place one is read. */
enum column { SIZE, COUNT, TYPE, REDOP, ROOT, TIME, ALGBW, BUSBW, WRONG, WRONG_AGAIN, COLUMNS };

struct reading {
    struct gcb_net_log *out;
    struct gcb_diag *diag;
    unsigned workers; /* as in gcb_net_log_read */
    size_t number;    /* number of lines read so far */
    size_t where;     /* the line that a message is about */
    bool found;       /* a table was read */
    /* the table that is being read */
    struct draft {
        bool open;  /* rows may follow */
        bool osu;   /* a table of OSU, not of nccl-tests */
        bool named; /* a line before the table of nccl-tests named the test */
        /* the test of `named`; GCB_NET_TESTS: one that gcbench leaves out */
        enum gcb_net_test test;
        size_t line;         /* where the rows begin */
        unsigned ranks;      /* 0: not said */
        size_t prefix;       /* OSU: number of words before each row */
        size_t at[COLUMNS];  /* index of the word in a row; 0: no such column, except SIZE */
        bool gathers;        /* the rows name no reduction */
        bool unchecked;      /* some results were not checked, or the test has a root */
        double algbw, busbw; /* those of the row with the largest busbw, which is rounded least */
        size_t count;        /* number of rows */
    } table;
    struct gcb_net_size rows[ROWS_MOST]; /* rows of the table, from small to large */
};

static int refuse(const struct reading *r, const char *what)
{
    return gcb_diag_set(r->diag, GCB_E_CORRUPT, "%s", what);
}

static bool begins_with(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Divides a line into words, and writes into the line. Returns the number of words. */
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

/* Returns the largest error of a bandwidth that nccl-tests rounded to two decimals or five
 * digits. */
static double rounding_of(double bandwidth)
{
    return fmax(0.0051, 6e-5 * bandwidth);
}

/*
 * Finds the test of a table of nccl-tests. The ratio busbw / algbw depends on the test and on the
 * number of ranks, so it must fit a test that was named. Versions before 2.17 do not name the test.
 * Then the ratio tells it, because tests that are not used have another ratio, a root, or an
 * in-place column that is not checked. Returns GCB_NET_TESTS if no test fits.
 */
static enum gcb_net_test find_test(const struct draft *t)
{
    const bool sure = !t->unchecked && t->busbw >= 0.1; /* below, rounding is too large */
    enum gcb_net_test i = GCB_NET_ALLREDUCE;

    for (; i < GCB_NET_TESTS; i++) {
        const double ratio = (i == GCB_NET_ALLREDUCE ? 2.0 : 1.0) * (t->ranks - 1.0) / t->ranks;
        const double error = rounding_of(t->busbw) + ratio * rounding_of(t->algbw);
        const bool likely = sure && t->gathers == (i == GCB_NET_ALLGATHER);

        if (fabs(t->busbw - ratio * t->algbw) <= error && (t->named ? i == t->test : likely))
            break;
    }
    return i;
}

/* Copies the rows of a table to the result, at even distances if there are too many. */
static void keep_rows(struct gcb_net_table *out, const struct draft *t,
                      const struct gcb_net_size *rows)
{
    out->line = t->line;
    out->ranks = t->ranks;
    out->reduces = t->test == GCB_NET_ALLREDUCE || t->test == GCB_NET_REDUCESCATTER;
    out->count = t->count < GCB_NET_SIZES ? t->count : GCB_NET_SIZES;
    for (size_t i = 0; i < out->count; i++) {
        out->sizes[i] = rows[out->count < t->count ? i * (t->count - 1) / (out->count - 1) : i];
        if (t->osu && t->test == GCB_NET_ALLGATHER) /* the size is what one process gives */
            out->sizes[i].bytes *= t->ranks;
    }
}

/* Ends the table, if a table is open. `marked`: a line marks the end. A table of nccl-tests must
 * have the mark, a table of OSU has none. */
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
            return gcb_invalid(r->diag,
                               "the table does not say how many ranks took part: give --workers");
        t.test = t.osu ? t.test : find_test(&t);
        if (t.test == GCB_NET_TESTS || t.ranks < 2 || t.ranks > GCB_NETWORK_WORKERS)
            return refuse(r, "the ranks and bandwidths fit no test that is read: keep the lines `# "
                             "Collective test starting` and `# Rank`" MPI);
    }
    out = &r->out->tables[t.test];
    if (out->count || t.count == 0)
        return refuse(r, "expected one table of this test, with sizes above 0");
    keep_rows(out, &t, r->rows);
    r->found = true;
    return 0;
}

/* ---- rows ---- */

/* Adds a row, and keeps the rows sorted. Replaces an earlier row of the same size, because
 * nccl-tests repeats each size with the option -N. */
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

/* Finds the columns in the header "size  count  type  redop  root  time  algbw  busbw  #wrong
 * time ...". */
static int read_columns(struct reading *r, char *line)
{
    static const char *const names[COLUMNS] = {"size", "count", "type",  "redop",  "root",
                                               "time", "algbw", "busbw", "#wrong", "#wrong"};
    size_t *at = r->table.at;
    char *words[WORDS];
    const size_t n = cut_words(words, line);

    for (size_t i = 0; i < n; i++) {
        /* the name in nccl-tests before 2.13 */
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

/* True if a row begins at this word. A row of nccl-tests begins with a size, a count and the name
 * of a type; a row of OSU begins with a size. */
static bool begins_row(char *const *row, char *const *end, bool osu)
{
    uint64_t number;

    if (osu)
        return row < end && gcb_parse_u64(row[SIZE], &number);
    return row + TYPE < end && gcb_parse_u64(row[SIZE], &number) &&
           gcb_parse_u64(row[COUNT], &number) && isalpha((unsigned char)*row[TYPE]);
}

/* Reads the cells from TIME on. If a cell is "N/A" or its column is missing, it becomes 0, and the
 * table becomes unchecked. Returns false if the row is too short, or a cell is not a number. */
static bool read_cells(struct draft *t, char **row, char **end, double cell[COLUMNS])
{
    for (enum column c = TIME; c < COLUMNS; c++) {
        char **const word = row + t->at[c];

        cell[c] = 0.0;
        if (!t->at[c] || (word < end && strcmp(*word, "N/A") == 0))
            t->unchecked = true;
        else if (word >= end || !gcb_parse_real(*word, &cell[c]))
            return false;
    }
    return true;
}

/* Reads a row, which may follow a prefix. Skips lines of other programs. In a table of OSU, these
 * are all lines that begin no row; in a table of nccl-tests, only lines that also have fewer than
 * five numbers. */
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
    if (!begins_row(row, end, t->osu) && (t->osu || numbers < 5))
        return 0;
    if (row == end || !gcb_parse_u64(row[SIZE], &bytes) || !read_cells(t, row, end, cell) ||
        (bytes && !(cell[TIME] > 0.0)))
        return refuse(r, "expected a row: " COLUMNS_READ
                         " (OSU: size, time); run the test without NCCL_DEBUG");
    /* before version 2.13, the column has the largest error, which is below 1 */
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
    /* osu_latency and small reduce-scatters have a size of 0, which is left out */
    return bytes ? add_row(r, (double)bytes, 1e-6 * cell[TIME]) : 0;
}

/* ---- text ---- */

/* Begins a table. `text` is the title of an OSU test, or the path of a program of nccl-tests. Adds
 * the name of a test that is not used to r->out->unused. */
static void name_table(struct reading *r, const char *text)
{
    /* clang-format off */
    static const char *const names[GCB_NET_TESTS] = {"Latency", "Bandwidth", "all_reduce_perf, Allreduce",
                                                     "all_gather_perf, Allgather", "reduce_scatter_perf"};
    /* clang-format on */
    char word[64] = "", *unused = r->out->unused;
    /* the word after "OSU MPI" or "OSU MPI-CUDA"; none after "OSU MPI_Put" */
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

/* Reads a comment. `words` is the part of the line after '#'. */
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

static int read_lines(struct reading *r, FILE *file)
{
    char line[65536];
    int err = 0;

    while (!err && fgets(line, sizeof(line), file)) {
        char *hash = strchr(line, '#');

        r->where = ++r->number;
        /* a table of OSU has no end mark, so only whole lines show that its last row is not cut */
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
