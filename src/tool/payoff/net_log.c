#include "src/tool/payoff/net_log.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/payoff/net_table.h"

#define LINE_MOST 4096
#define TOKENS 96 /* most words of a line that are looked at */
#define CELLS 32  /* most columns of a table that are looked at */
#define LINE "line"
#define MPI "with mpirun, the tests must be built with MPI=1"

/* The lines of a table of nccl-tests come in this order; some may be missing. */
enum stage { NOTHING, STARTED, THREADS, DEVICES, RANKS, ROWS, OVER };

/* One file while it is read. */
struct reading {
    struct gcb_net_log *out;
    unsigned workers;
    FILE *file;
    char block[LINE_MOST];
    size_t taken, held; /* of the block */
    char line[LINE_MOST];
    bool unended;       /* the line has no newline */
    size_t number;      /* of the line */
    size_t failed_line; /* where a test failed without a table; 0: nowhere */
    size_t unused_line; /* where the first table begins that was left out; 0: there is none */
    enum stage stage;
    struct gcb_net_draft draft;
    char prefix[256];        /* OSU: what stands before the title, and so before each row */
    size_t listed;           /* ranks, of all groups */
    uint64_t group;          /* of the first rank */
    int at[GCB_NET_COLUMNS]; /* place of each column in a row; -1: there is none */
    size_t columns;
    char cells[CELLS][GCB_NET_CELL];
    size_t cell_count; /* cells of a row that is not whole yet */
};

static int refuse(const struct reading *r, struct gcb_diag *diag, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int refuse(const struct reading *r, struct gcb_diag *diag, const char *format, ...)
{
    char words[512];
    va_list args;

    va_start(args, format);
    vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    gcb_diag_set(diag, GCB_E_CORRUPT, "%s", words);
    return gcb_net_locate(r->out, LINE, r->number, GCB_E_CORRUPT, diag);
}

/* Adds the place to the error of a row. Returns the error. */
static int add(const struct reading *r, int err, struct gcb_diag *diag)
{
    return err ? gcb_net_locate(r->out, LINE, r->number, err, diag) : 0;
}

/* ---- begin and end of a table ---- */

/* Ends the current table, if there is one. */
static int finish(struct reading *r, struct gcb_diag *diag)
{
    int err = 0;

    if (r->stage >= ROWS && *r->draft.other && r->unused_line == 0)
        r->unused_line = r->draft.line;
    if (r->stage >= ROWS)
        err = gcb_net_draft_finish(r->out, &r->draft, r->workers, LINE, diag);
    gcb_net_draft_clear(&r->draft);
    r->stage = NOTHING;
    r->listed = r->cell_count = 0;
    return err;
}

/* Goes to a stage of a table: of the next table, if this one is as far already. */
static int go_to(struct reading *r, enum stage stage, struct gcb_diag *diag)
{
    struct gcb_net_draft *d = &r->draft;
    const bool open = r->stage == ROWS && !d->osu && !*d->other;
    int err = 0;

    if (open && stage != OVER)
        return refuse(r, diag,
                      "a second table begins before the first one ends: give whole logs; " MPI);
    if (open && r->cell_count)
        return refuse(r, diag, "the last row of the table is not whole");
    if (stage < r->stage || (stage == r->stage && stage != RANKS))
        err = finish(r, diag);
    r->stage = stage;
    if (d->line == 0 || stage == ROWS)
        d->line = r->number;
    return err;
}

/* ---- lines ---- */

/* Fills the block. Returns false at the end of the file. */
static bool fill(struct reading *r)
{
    if (r->taken == r->held) {
        r->taken = 0;
        r->held = fread(r->block, 1, sizeof(r->block), r->file);
    }
    return r->held > 0;
}

/* Reads the next line, without its end; a line that is longer than any row is cut. Returns false at
 * the end of the file; *err: it is not a text. */
static bool next_line(struct reading *r, int *err, struct gcb_diag *diag)
{
    size_t n = 0;
    char c = '\0';

    if (!fill(r))
        return false;
    r->number++;
    while (fill(r) && (c = r->block[r->taken++]) != '\n') {
        if (c == '\0') {
            *err = refuse(r, diag, "a zero byte: this is not a log");
            return false;
        }
        if (n + 1 < sizeof(r->line))
            r->line[n++] = c;
    }
    r->unended = c != '\n';
    while (n && r->line[n - 1] == '\r')
        n--;
    r->line[n] = '\0';
    return true;
}

/* Cuts a line at blanks. Returns the number of tokens. */
static size_t cut(char *tokens[TOKENS], char *line)
{
    size_t n = 0;
    char *rest = line;

    for (char *token; n < TOKENS && (token = strsep(&rest, " \t")) != NULL;)
        if (*token)
            tokens[n++] = token;
    return n;
}

static bool begins(const char *line, const char *with)
{
    return strncmp(line, with, strlen(with)) == 0;
}

/* ---- OSU micro-benchmarks ---- */

/* "OSU MPI Latency Test v7.4", also "OSU MPI-CUDA ..." */
static int read_osu_title(struct reading *r, const char *words, size_t at, struct gcb_diag *diag)
{
    /* clang-format off */
    static const struct {
        const char *title, *program;
        enum gcb_net_test test;
    } tests[] = {
        {" Latency Test", "osu_latency", GCB_NET_LATENCY},
        {" Bandwidth Test", "osu_bw", GCB_NET_BANDWIDTH},
        {" Allreduce Latency Test", "osu_allreduce", GCB_NET_ALLREDUCE},
        {" Allgather Latency Test", "osu_allgather", GCB_NET_ALLGATHER},
    };
    /* clang-format on */
    struct gcb_net_draft *d = &r->draft;
    const char *library = strchr(words, ' '), *title = library ? strchr(library + 1, ' ') : NULL;
    int err = go_to(r, ROWS, diag);

    d->osu = true;
    snprintf(d->other, sizeof(d->other), "%.*s", (int)strcspn(words, ".0123456789"), words);
    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
        if (title && begins(title, tests[i].title)) { /* after "MPI" or "MPI-CUDA" */
            snprintf(d->name, sizeof(d->name), "%s", tests[i].program);
            *d->other = '\0';
            d->osu_test = tests[i].test;
        }
    snprintf(r->prefix, sizeof(r->prefix), "%.*s", (int)at, r->line);
    return err;
}

/* Returns what follows the prefix, in which numbers may differ and blanks may be more or fewer; the
 * line, if it has another. */
static const char *skip_prefix(const char *prefix, const char *line)
{
    const char *s = line;

    while (*prefix) {
        const char *set = isdigit((unsigned char)*prefix) ? "0123456789"
                          : *prefix == ' '                ? " "
                                                          : NULL;

        if (set ? !*s || !strchr(set, *s) : *s != *prefix)
            return line;
        prefix += set ? strspn(prefix, set) : 1;
        s += set ? strspn(s, set) : 1;
    }
    return s;
}

static int read_osu_line(struct reading *r, struct gcb_diag *diag)
{
    struct gcb_net_draft *d = &r->draft;
    char *tokens[TOKENS], *own = r->line + (skip_prefix(r->prefix, r->line) - r->line);
    const size_t n = cut(tokens, own);
    uint64_t bytes;
    double value;

    if (n == 0 && d->count)
        r->stage = OVER;
    if (n == 0 || !isdigit((unsigned char)*tokens[0])) /* another program's line */
        return 0;
    if (r->unended)
        return refuse(r, diag,
                      "the log is cut: this line has no end; if the log is whole, end it with a "
                      "newline");
    if (n < 2 || !gcb_parse_u64(tokens[0], &bytes) || !gcb_parse_real(tokens[1], &value) ||
        !(value > 0.0))
        return refuse(r, diag, "not a size and a positive number");
    if (strcasecmp(tokens[n - 1], "fail") == 0)
        return refuse(r, diag, "the test failed: its results were wrong");
    if (bytes == 0)
        return 0; /* osu_latency begins with it */
    if (d->osu_test == GCB_NET_BANDWIDTH)
        value = (double)bytes / value;
    return add(r, gcb_net_draft_size(d, (double)bytes, 1e-6 * value, false, diag), diag);
}

/* ---- text of nccl-tests ---- */

/* "Rank  3 Group  0 Pid ...": with NCCL_TESTS_SPLIT, ranks of one group work together. */
static int read_rank(struct reading *r, char *words, struct gcb_diag *diag)
{
    char *tokens[TOKENS];
    const size_t n = cut(tokens, words);
    uint64_t rank, group = 0;

    if (n < 2 || !gcb_parse_u64(tokens[1], &rank) || rank != r->listed ||
        (n > 3 && strcmp(tokens[2], "Group") == 0 && !gcb_parse_u64(tokens[3], &group)))
        return refuse(r, diag, "ranks must be numbered 0, 1, 2, ...; " MPI);
    if (r->listed++ == 0)
        r->group = group;
    r->draft.ranks += group == r->group;
    return 0;
}

/* "size  count  type  redop  root  time  algbw  busbw  #wrong  time ..." */
static int read_columns(struct reading *r, char *words, struct gcb_diag *diag)
{
    char *tokens[TOKENS];
    const size_t n = cut(tokens, words);

    r->columns = 0;
    for (size_t i = 0; i < GCB_NET_COLUMNS; i++)
        r->at[i] = -1;
    for (size_t i = 0; i < n && i < CELLS; i++) {
        enum gcb_net_column c = gcb_net_column_find(tokens[i]);

        if (strcmp(tokens[i], "cputime") == 0)
            return refuse(r, diag, "these are times of the CPU: run the test without `-C 1`");
        if (c == GCB_NET_WRONG && r->at[c] < 0)
            r->draft.counts_wrong = strcmp(tokens[i], "error") != 0;
        else if (c == GCB_NET_WRONG)
            c = GCB_NET_WRONG_IN_PLACE;
        if (c == GCB_NET_WRONG || c == GCB_NET_WRONG_IN_PLACE)
            r->columns = i + 1; /* the time of day and the algorithm may follow */
        if (c < GCB_NET_COLUMNS && r->at[c] < 0)
            r->at[c] = (int)i;
    }
    if (r->at[GCB_NET_SIZE] != 0 || r->at[GCB_NET_COUNT] != 1 || r->at[GCB_NET_TYPE] != 2 ||
        r->at[GCB_NET_TIME] < 0 || r->at[GCB_NET_ALGBW] < 0 || r->at[GCB_NET_BUSBW] < 0 ||
        r->columns == 0)
        return refuse(r, diag,
                      "not the columns of nccl-tests: size, count, type, ..., time, algbw, busbw, "
                      "#wrong");
    return 0;
}

static bool is_wrong_column(const struct reading *r, size_t column)
{
    return (int)column == r->at[GCB_NET_WRONG] || (int)column == r->at[GCB_NET_WRONG_IN_PLACE];
}

/*
 * The length of the cell at the begin of a token; 0: not a cell of this column. nccl-tests print a
 * row in three parts, each of which a message of the library may follow without a blank:
 * "-1node0:123:456 [0] NCCL INFO ...".
 */
static size_t cell_length(const struct reading *r, size_t column, const char *token)
{
    const size_t n = strlen(token);
    double value;

    if (n < GCB_NET_CELL &&
        ((int)column == r->at[GCB_NET_TYPE] || (int)column == r->at[GCB_NET_REDOP]))
        return isalpha((unsigned char)*token) ? n : 0;
    if (n < GCB_NET_CELL && (gcb_parse_real(token, &value) || strcmp(token, "N/A") == 0 ||
                             strcasecmp(token + (*token == '-'), "nan") == 0 ||
                             strcasecmp(token + (*token == '-'), "inf") == 0))
        return n;
    if ((int)column == r->at[GCB_NET_ROOT] && begins(token, "-1"))
        return 2;
    if (!is_wrong_column(r, column))
        return 0;
    return begins(token, "N/A") ? 3 : isdigit((unsigned char)*token) ? 1 : 0;
}

/* Finds a row behind any prefix: two whole numbers and the name of a type. Returns n if there is
 * none. */
static size_t find_row(char *const *tokens, size_t n)
{
    uint64_t size, count;

    for (size_t i = 0; i + 2 < n; i++)
        if (isalpha((unsigned char)*tokens[i + 2]) && gcb_parse_u64(tokens[i], &size) &&
            gcb_parse_u64(tokens[i + 1], &count))
            return i;
    return n;
}

/* Finds the next part of a row that was interrupted, behind any prefix: all cells up to #wrong.
 * Returns n if there is none. */
static size_t find_part(const struct reading *r, char *const *tokens, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t c = r->cell_count; c < r->columns && i + c - r->cell_count < n; c++) {
            if (!cell_length(r, c, tokens[i + c - r->cell_count]))
                break;
            if (is_wrong_column(r, c))
                return i;
        }
    return n;
}

static int read_nccl_line(struct reading *r, struct gcb_diag *diag)
{
    const char *text[GCB_NET_COLUMNS] = {NULL};
    char *tokens[TOKENS];
    const size_t n = cut(tokens, r->line);
    size_t own = 0, i, length = 0, numbers = 0; /* own: tokens before "NCCL INFO ..." */
    double value;

    while (own < n && strcmp(tokens[own], "NCCL") != 0)
        numbers += gcb_parse_real(tokens[own++], &value);
    i = find_row(tokens, own);
    if (i < own && r->cell_count)
        return refuse(r, diag,
                      "the row before this one is not whole: run the test without NCCL_DEBUG, or "
                      "with NCCL_DEBUG_FILE");
    if (i == own && r->cell_count)
        i = find_part(r, tokens, own);
    if (i == own) /* another program's line, or a damaged row */
        return numbers >= 4 && own == n ? refuse(r, diag, "not a row of the table") : 0;
    for (; i < own && r->cell_count < r->columns; i++) {
        length = cell_length(r, r->cell_count, tokens[i]);
        if (length == 0)
            break;
        snprintf(r->cells[r->cell_count++], GCB_NET_CELL, "%.*s", (int)length, tokens[i]);
    }
    if ((int)r->cell_count == r->at[GCB_NET_REDOP] && i < own && !*r->draft.name) {
        snprintf(r->draft.other, sizeof(r->draft.other),
                 "hypercube_perf"); /* it has a blank there */
        return 0;
    }
    if (r->cell_count < r->columns && i < own && own == n)
        return refuse(r, diag, "not a row of the table: '%s'", tokens[i]);
    if (r->cell_count < r->columns) /* interrupted */
        return 0;
    r->cell_count = 0;
    for (size_t c = 0; c < GCB_NET_COLUMNS; c++)
        if (r->at[c] >= 0)
            text[c] = r->cells[r->at[c]];
    return add(r, gcb_net_draft_row(&r->draft, text, diag), diag);
}

/* Reads a comment: what follows "#". */
static int read_comment(struct reading *r, char *words, size_t at, struct gcb_diag *diag)
{
    /* clang-format off */
    static const struct {
        const char *begin;
        enum stage stage;
    } lines[] = {
        {"Collective test starting:", STARTED}, {"nThread ", THREADS}, {"Using devices", DEVICES},
        {"Rank ", RANKS}, {"size ", ROWS}, {"Avg bus bandwidth", OVER},
    };
    static const char bounds[] = "Out of bounds values";
    /* clang-format on */
    struct gcb_net_draft *d = &r->draft;
    int err;

    if (begins(words, "OSU "))
        return read_osu_title(r, words, at, diag);
    if (r->stage == ROWS && !*d->other && begins(words, bounds) && strstr(words, "FAILED"))
        return refuse(r, diag,
                      "the test failed: results were wrong, so its times mean nothing; find the "
                      "cause, and run it again");
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        const enum stage stage = lines[i].stage;

        if (!begins(words, lines[i].begin) || (stage == OVER && (r->stage != ROWS || d->osu)))
            continue;
        err = go_to(r, stage, diag);
        words += strlen(lines[i].begin);
        if (!err && stage == STARTED) {
            words += strspn(words, " \t");
            words[strcspn(words, " \t")] = '\0';
            gcb_net_draft_name(d, words);
        } else if (!err && (stage == RANKS || stage == ROWS)) {
            words -= strlen(lines[i].begin);
            err = stage == RANKS ? read_rank(r, words, diag) : read_columns(r, words, diag);
        }
        return err;
    }
    return 0;
}

/* ---- a file ---- */

static int read_line(struct reading *r, struct gcb_diag *diag)
{
    /* clang-format off */
    static const char *const failures[] = {"Test NCCL failure", "Test CUDA failure", "Test failure ", "Test timeout "};
    /* clang-format on */
    char *hash = strchr(r->line, '#');

    for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++)
        if (strstr(r->line, failures[i])) {
            if (r->stage == ROWS && !*r->draft.other)
                return refuse(r, diag, "the test failed here, so the table is not whole");
            r->failed_line = r->number;
        }
    if (hash)
        return read_comment(r, hash + strspn(hash, "# \t"), (size_t)(hash - r->line), diag);
    if (r->stage != ROWS || *r->draft.other)
        return 0;
    return r->draft.osu ? read_osu_line(r, diag) : read_nccl_line(r, diag);
}

/* Refuses files that are no text, by what they begin with. Skips the mark of UTF-8. */
static int check_begin(struct reading *r, struct gcb_diag *diag)
{
    /* clang-format off */
    static const struct {
        const char *begin, *what, *tool;
    } kinds[] = {
        {"\x1f\x8b", "compressed", "gunzip"}, {"\x28\xb5\x2f\xfd", "compressed", "unzstd"},
        {"\xfd\x37zXZ", "compressed", "unxz"}, {"BZh", "compressed", "bunzip2"},
        {"\xff\xfe", "UTF-16", "iconv -f UTF-16 -t UTF-8"},
        {"\xfe\xff", "UTF-16", "iconv -f UTF-16 -t UTF-8"},
    };
    /* clang-format on */
    char shown[256];

    fill(r);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const size_t n = strlen(kinds[i].begin);

        if (r->held >= n && memcmp(r->block, kinds[i].begin, n) == 0)
            return gcb_diag_set(
                diag, GCB_E_CORRUPT, "%s: the log is %s: give what `%s` makes of it",
                gcb_escape(shown, sizeof(shown), r->out->path), kinds[i].what, kinds[i].tool);
    }
    if (r->held >= 3 && memcmp(r->block, "\xef\xbb\xbf", 3) == 0)
        r->taken = 3;
    return 0;
}

static int read_lines(struct reading *r, struct gcb_diag *diag)
{
    int err = 0;

    while (!err && next_line(r, &err, diag))
        err = read_line(r, diag);
    if (!err && r->stage == ROWS && !r->draft.osu && !*r->draft.other)
        return refuse(r, diag,
                      "the log is cut: nccl-tests end with `# Avg bus bandwidth`; run the test to "
                      "its end");
    return err ? err : finish(r, diag);
}

/* Refuses a log without a table that is read, and says what it has instead. */
static int check_tables(const struct reading *r, struct gcb_diag *diag)
{
    struct gcb_net_log *out = r->out;
    char words[160] = "the file ends without a table";
    size_t count = 0;

    for (size_t i = 0; i < GCB_NET_TESTS; i++)
        count += out->tables[i].count;
    if (count)
        return 0;
    if (*out->unused)
        snprintf(words, sizeof(words), "a table of %s", out->unused);
    else if (r->failed_line)
        snprintf(words, sizeof(words), "the test failed, and printed no table");
    gcb_diag_set(diag, GCB_E_CORRUPT,
                 "%s: payoff reads all_reduce_perf, all_gather_perf, reduce_scatter_perf, "
                 "osu_latency, osu_bw, osu_allreduce and osu_allgather; "
                 "run `all_reduce_perf -b 8 -e 8G -f 2`, for example",
                 words);
    return gcb_net_locate(out, LINE,
                          r->unused_line   ? r->unused_line
                          : r->failed_line ? r->failed_line
                                           : r->number,
                          GCB_E_CORRUPT, diag);
}

int gcb_net_log_read(struct gcb_net_log *out, const char *path, unsigned workers,
                     struct gcb_diag *diag)
{
    struct reading *r = gcb_alloc_zero(1, sizeof(*r));
    char shown[256];
    int err;

    *out = (struct gcb_net_log){.path = path};
    if (!r)
        return gcb_diag_nomem(diag, sizeof(*r), "a log");
    r->out = out;
    r->workers = workers;
    r->file = fopen(path, "r");
    if (!r->file) {
        gcb_free(r);
        return gcb_diag_set(diag, GCB_E_IO, "--import: cannot open '%s'",
                            gcb_escape(shown, sizeof(shown), path));
    }
    err = check_begin(r, diag);
    if (!err && gcb_net_is_saved(r->block + r->taken, r->held - r->taken))
        err = gcb_net_saved_read(out, r->file, r->block + r->taken, r->held - r->taken, workers,
                                 diag);
    else if (!err)
        err = read_lines(r, diag);
    if (ferror(r->file))
        err = gcb_diag_set(diag, GCB_E_IO, "--import: cannot read '%s': %s",
                           gcb_escape(shown, sizeof(shown), path), strerror(errno));
    if (!err)
        err = check_tables(r, diag);
    gcb_net_draft_clear(&r->draft);
    fclose(r->file);
    gcb_free(r);
    return err;
}
