#include "src/tool/payoff/net_log.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/base/filekind.h"
#include "src/tool/payoff/net_table.h"

#define MIB_MOST 256 /* of a log */
#define TOKENS 96    /* most words of a line that are looked at */
#define CELLS 32     /* most columns of a table that are looked at */
#define BLANKS " \r" /* and tabs, which read_text makes blanks */
#define MPI "with mpirun, the tests must be built with MPI=1"

/* The lines of a table of nccl-tests come in this order; some may be missing. */
enum stage { NOTHING, STARTED, THREADS, DEVICES, RANKS, ROWS, OVER };

/* A text while it is read. */
struct printed {
    struct gcb_net_reading *r;
    char *line;
    bool unended; /* the line has no newline */
    enum stage stage;
    char prefix[256]; /* OSU: what stands before the title, and so before each row */
    size_t listed;    /* ranks, of all groups */
    uint64_t group;   /* of the first rank */
    enum gcb_net_column column[CELLS]; /* of a row */
    size_t columns;                    /* up to the last #wrong */
    char cells[CELLS][GCB_NET_CELL];
    size_t cell_count; /* cells of a row that is not whole yet */
};

/* ---- begin and end of a table ---- */

/* Ends the current table, if there is one. */
static int end_table(struct printed *p, struct gcb_diag *diag)
{
    const int err = p->stage >= ROWS ? gcb_net_draft_finish(p->r, diag) : 0;

    gcb_net_draft_clear(&p->r->draft);
    p->stage = NOTHING;
    p->listed = p->cell_count = 0;
    return err;
}

/* Is a table of nccl-tests being read that has not ended? */
static bool is_open(const struct printed *p)
{
    return p->stage == ROWS && !p->r->draft.osu && !*p->r->draft.other;
}

/* Goes to a stage of a table: of the next table, if this one is as far already. */
static int go_to(struct printed *p, enum stage stage, struct gcb_diag *diag)
{
    int err = 0;

    if (is_open(p) && stage != OVER)
        return gcb_diag_set(
            diag, GCB_E_CORRUPT,
            "a second table begins before the first one ends: give whole logs; " MPI);
    if (is_open(p) && p->cell_count)
        return gcb_diag_set(diag, GCB_E_CORRUPT, "the last row of the table is not whole");
    if (stage < p->stage || (stage == p->stage && stage != RANKS))
        err = end_table(p, diag);
    p->stage = stage;
    if (p->r->draft.line == 0 || stage == ROWS)
        p->r->draft.line = p->r->number;
    return err;
}

static bool begins_with(const char *line, const char *with)
{
    return strncmp(line, with, strlen(with)) == 0;
}

/* ---- OSU micro-benchmarks ---- */

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

static int read_osu_line(struct printed *p, struct gcb_diag *diag)
{
    struct gcb_net_draft *d = &p->r->draft;
    char *tokens[TOKENS], *own = p->line + (skip_prefix(p->prefix, p->line) - p->line);
    const size_t n = gcb_net_cut(tokens, TOKENS, own, BLANKS, false);
    uint64_t bytes;
    double value;

    if (n == 0 && d->count)
        p->stage = OVER;
    if (n == 0 || !isdigit((unsigned char)*tokens[0])) /* another program's line */
        return 0;
    if (p->unended)
        return gcb_diag_set(
            diag, GCB_E_CORRUPT,
            "the log is cut: the last line has no newline; if the log is whole, add one");
    if (n < 2 || !gcb_parse_u64(tokens[0], &bytes) || !gcb_parse_real(tokens[1], &value) ||
        !(value > 0.0))
        return gcb_diag_set(diag, GCB_E_CORRUPT, "expected a size and a positive number");
    if (strcasecmp(tokens[n - 1], "fail") == 0)
        return gcb_diag_set(diag, GCB_E_CORRUPT, "the test failed: its results were wrong");
    if (bytes == 0)
        return 0; /* osu_latency begins with it */
    if (d->osu_test == GCB_NET_BANDWIDTH)
        value = (double)bytes / value;
    return gcb_net_draft_size(d, (double)bytes, 1e-6 * value, false, diag);
}

/* ---- text of nccl-tests ---- */

/* "Rank  3 Group  0 Pid ...": with NCCL_TESTS_SPLIT, ranks of one group work together. */
static int read_rank(struct printed *p, char *words, struct gcb_diag *diag)
{
    char *tokens[TOKENS];
    const size_t n = gcb_net_cut(tokens, TOKENS, words, BLANKS, false);
    uint64_t rank, group = 0;

    if (n < 2 || !gcb_parse_u64(tokens[1], &rank) || rank != p->listed ||
        (n > 3 && strcmp(tokens[2], "Group") == 0 && !gcb_parse_u64(tokens[3], &group)))
        return gcb_diag_set(diag, GCB_E_CORRUPT, "ranks must be numbered 0, 1, 2, ...; " MPI);
    if (p->listed++ == 0)
        p->group = group;
    p->r->draft.ranks += group == p->group;
    return 0;
}

static bool is_wrong(enum gcb_net_column c)
{
    return c == GCB_NET_WRONG || c == GCB_NET_WRONG_IN_PLACE;
}

/* "size  count  type  redop  root  time  algbw  busbw  #wrong  time ..." */
static int read_columns(struct printed *p, char *words, struct gcb_diag *diag)
{
    bool has[GCB_NET_COLUMNS + 1] = {false};
    char *tokens[TOKENS];
    const size_t n = gcb_net_cut(tokens, TOKENS, words, BLANKS, false);

    p->columns = 0;
    for (size_t i = 0; i < n && i < CELLS; i++) {
        enum gcb_net_column c = gcb_net_column_find(tokens[i]);

        if (strcmp(tokens[i], "cputime") == 0)
            return gcb_diag_set(diag, GCB_E_CORRUPT,
                                "these are times of the CPU: run the test without `-C 1`");
        if (c == GCB_NET_WRONG && has[c])
            c = GCB_NET_WRONG_IN_PLACE;
        else if (c == GCB_NET_WRONG)
            p->r->draft.counts_wrong = strcmp(tokens[i], "error") != 0;
        else if (has[c]) /* in place */
            c = GCB_NET_COLUMNS;
        p->column[i] = c;
        has[c] = true;
        if (is_wrong(c))
            p->columns = i + 1; /* the time of day and the algorithm may follow */
    }
    if (n < 3 || p->column[0] != GCB_NET_SIZE || p->column[1] != GCB_NET_COUNT ||
        p->column[2] != GCB_NET_TYPE || !has[GCB_NET_TIME] || !has[GCB_NET_ALGBW] ||
        !has[GCB_NET_BUSBW] || p->columns == 0)
        return gcb_diag_set(diag, GCB_E_CORRUPT,
                            "not the columns of nccl-tests: size, count, type, ..., time, algbw, "
                            "busbw, #wrong");
    return 0;
}

/*
 * The length of the cell at the begin of a token; 0: not a cell of this column. nccl-tests print a
 * row in three parts, each of which a message of the library may follow without a blank:
 * "-1node0:123:456 [0] NCCL INFO ...".
 */
static size_t cell_length(enum gcb_net_column column, const char *token)
{
    const size_t n = strlen(token);
    double value;

    if (n < GCB_NET_CELL && (column == GCB_NET_TYPE || column == GCB_NET_REDOP))
        return isalpha((unsigned char)*token) ? n : 0;
    if (n < GCB_NET_CELL && (gcb_parse_real(token, &value) || strcmp(token, "N/A") == 0 ||
                             strcasecmp(token + (*token == '-'), "nan") == 0 ||
                             strcasecmp(token + (*token == '-'), "inf") == 0))
        return n;
    if (column == GCB_NET_ROOT && begins_with(token, "-1"))
        return 2;
    if (!is_wrong(column))
        return 0;
    return begins_with(token, "N/A") ? 3 : isdigit((unsigned char)*token) ? 1 : 0;
}

/* Finds a row after any prefix: two whole numbers and the name of a type. Returns n if there is
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

/* Finds the next part of a row that was interrupted, after any prefix: all cells up to #wrong.
 * Returns n if there is none. */
static size_t find_part(const struct printed *p, char *const *tokens, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t c = p->cell_count; c < p->columns && i + c - p->cell_count < n; c++) {
            if (!cell_length(p->column[c], tokens[i + c - p->cell_count]))
                break;
            if (is_wrong(p->column[c]))
                return i;
        }
    return n;
}

static int read_nccl_line(struct printed *p, struct gcb_diag *diag)
{
    const char *text[GCB_NET_COLUMNS + 1] = {NULL};
    char *tokens[TOKENS];
    const size_t n = gcb_net_cut(tokens, TOKENS, p->line, BLANKS, false);
    size_t own = 0, i, length = 0, numbers = 0; /* own: tokens before "NCCL INFO ..." */
    double value;

    while (own < n && strcmp(tokens[own], "NCCL") != 0)
        numbers += gcb_parse_real(tokens[own++], &value);
    i = find_row(tokens, own);
    if (i < own && p->cell_count)
        return gcb_diag_set(
            diag, GCB_E_CORRUPT,
            "the row before this one is not whole: run the test without NCCL_DEBUG, or "
            "with NCCL_DEBUG_FILE");
    if (i == own && p->cell_count)
        i = find_part(p, tokens, own);
    if (i == own) /* another program's line, or a damaged row */
        return numbers >= 4 && own == n
                   ? gcb_diag_set(diag, GCB_E_CORRUPT, "not a row of the table")
                   : 0;
    for (; i < own && p->cell_count < p->columns; i++) {
        length = cell_length(p->column[p->cell_count], tokens[i]);
        if (length == 0)
            break;
        snprintf(p->cells[p->cell_count++], GCB_NET_CELL, "%.*s", (int)length, tokens[i]);
    }
    if (p->cell_count < p->columns && p->column[p->cell_count] == GCB_NET_REDOP && i < own &&
        !*p->r->draft.name) {
        snprintf(p->r->draft.other, sizeof(p->r->draft.other),
                 "hypercube_perf"); /* it has a blank there */
        return 0;
    }
    if (p->cell_count < p->columns && i < own && own == n)
        return gcb_diag_set(diag, GCB_E_CORRUPT, "not a row of the table: '%s'", tokens[i]);
    if (p->cell_count < p->columns) /* interrupted */
        return 0;
    for (size_t c = 0; c < p->columns; c++)
        text[p->column[c]] = p->cells[c];
    p->cell_count = 0;
    return gcb_net_draft_row(&p->r->draft, text, diag);
}

/* Reads a comment: what follows "#". */
static int read_comment(struct printed *p, char *words, size_t at, struct gcb_diag *diag)
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
    struct gcb_net_draft *d = &p->r->draft;
    int err;

    if (begins_with(words, "OSU ")) {
        err = go_to(p, ROWS, diag);
        gcb_net_draft_title(d, words);
        snprintf(p->prefix, sizeof(p->prefix), "%.*s", (int)at, p->line);
        return err;
    }
    if (p->stage == ROWS && !*d->other && begins_with(words, bounds) && strstr(words, "FAILED"))
        return gcb_diag_set(
            diag, GCB_E_CORRUPT,
            "the test failed: results were wrong, so its times mean nothing; find the "
            "cause, and run it again");
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        const enum stage stage = lines[i].stage;

        if (!begins_with(words, lines[i].begin) || (stage == OVER && (p->stage != ROWS || d->osu)))
            continue;
        err = go_to(p, stage, diag);
        words += strlen(lines[i].begin);
        if (!err && stage == STARTED) {
            words += strspn(words, BLANKS);
            words[strcspn(words, BLANKS)] = '\0';
            gcb_net_draft_name(d, words);
        } else if (!err && (stage == RANKS || stage == ROWS)) {
            words -= strlen(lines[i].begin);
            err = stage == RANKS ? read_rank(p, words, diag) : read_columns(p, words, diag);
        }
        return err;
    }
    return 0;
}

/* ---- a file ---- */

static int read_line(struct printed *p, struct gcb_diag *diag)
{
    /* clang-format off */
    static const char *const failures[] = {"Test NCCL failure", "Test CUDA failure", "Test failure ", "Test timeout "};
    /* clang-format on */
    char *hash = strchr(p->line, '#');

    for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++)
        if (strstr(p->line, failures[i])) {
            if (p->stage == ROWS && !*p->r->draft.other)
                return gcb_diag_set(diag, GCB_E_CORRUPT,
                                    "the test failed here, so the table is not whole");
            p->r->failed = p->r->number;
        }
    if (hash)
        return read_comment(p, hash + strspn(hash, "# "), (size_t)(hash - p->line), diag);
    if (p->stage != ROWS || *p->r->draft.other)
        return 0;
    return p->r->draft.osu ? read_osu_line(p, diag) : read_nccl_line(p, diag);
}

static int read_text(struct gcb_net_reading *r, char *text, struct gcb_diag *diag)
{
    struct printed p = {.r = r};
    int err = 0;

    while (!err && text && *text) {
        p.line = strsep(&text, "\n");
        p.unended = !text;
        r->number++;
        for (char *tab = p.line; (tab = strchr(tab, '\t')) != NULL;)
            *tab = ' ';
        err = read_line(&p, diag);
    }
    if (!err && is_open(&p))
        return gcb_diag_set(diag, GCB_E_CORRUPT,
                            "the log is cut: nccl-tests end with `# Avg bus bandwidth`; run the "
                            "test to its end");
    return err ? err : end_table(&p, diag);
}

/* Reads a file, and adds a zero byte. The caller frees *text with gcb_free. */
static int read_file(char **text, size_t *size, const char *path, struct gcb_diag *diag)
{
    const size_t most = (size_t)MIB_MOST << 20;
    FILE *file = fopen(path, "re");
    size_t cap = 0, got;
    char shown[256];
    int err = 0;

    gcb_escape(shown, sizeof(shown), path);
    if (!file)
        return gcb_diag_set(diag, GCB_E_IO, "--import: cannot open '%s': %s", shown,
                            strerror(errno));
    while (!err && *size <= most) {
        if (gcb_grow(text, &cap, *size, 1)) {
            err = gcb_diag_nomem(diag, cap, "a log");
            break;
        }
        (*text)[*size] = '\0';
        got = fread(*text + *size, 1, cap - *size, file);
        if (got == 0) {
            if (ferror(file))
                err = gcb_diag_set(diag, GCB_E_IO, "--import: cannot read '%s': %s", shown,
                                   strerror(errno));
            break;
        }
        *size += got;
    }
    fclose(file);
    if (!err && *size > most)
        err = gcb_diag_set(diag, GCB_E_CORRUPT,
                           "over %d MiB: give only the tables, or run the test without NCCL_DEBUG",
                           MIB_MOST);
    return err;
}

/* Refuses a file in which there is no table that is read: says what it is or has, and what to
 * do. */
static int refuse_file(struct gcb_net_reading *r, const struct gcb_filekind *kind, const char *text,
                       bool plain, struct gcb_diag *diag)
{
    char unused[160];

    if (kind->name && !r->unused && !r->failed) {
        r->number = 0;
        return gcb_diag_set(diag, GCB_E_CORRUPT, "%s, not a log%s%s", kind->name,
                            kind->makes_hdf5 ? "" : "; ", kind->makes_hdf5 ? "" : kind->advice);
    }
    if (!plain) {
        for (r->number = 1; (text = strchr(text, '\n')) != NULL; text++)
            r->number++;
        return gcb_diag_set(diag, GCB_E_CORRUPT,
                            "a zero byte: give the text that the test printed");
    }
    r->number = r->unused ? r->unused : r->failed ? r->failed : r->number;
    return gcb_diag_set(
        diag, GCB_E_CORRUPT,
        "%s%s: payoff reads all_reduce_perf, all_gather_perf, reduce_scatter_perf, osu_latency, "
        "osu_bw, osu_allreduce and osu_allgather; run `all_reduce_perf -b 8 -e 8G -f 2`, for "
        "example",
        *r->out->unused ? "a table of "
        : r->failed     ? "the test failed, and printed no table"
                        : "the file ends without a table",
        gcb_escape(unused, sizeof(unused), r->out->unused));
}

int gcb_net_log_read(struct gcb_net_log *out, const char *path, unsigned workers,
                     struct gcb_diag *diag)
{
    struct gcb_net_reading r = {.out = out, .workers = workers, .unit = "line"};
    struct gcb_filekind kind = {.name = NULL};
    char *held = NULL, *text, shown[GCB_DIAG_TEXT];
    size_t size = 0, count = 0;
    bool plain = false;
    int err;

    *out = (struct gcb_net_log){.path = path};
    err = read_file(&held, &size, path, diag);
    text = held;
    if (!err) {
        gcb_filekind_of(&kind, text, size, path); /* before the text is cut into lines */
        plain = !memchr(text, '\0', size);
        if (begins_with(text, "\xef\xbb\xbf"))
            text += 3;
        if (plain)
            err = gcb_net_is_saved(text) ? gcb_net_saved_read(&r, text, diag)
                                         : read_text(&r, text, diag);
        if (err) /* it has words of the log */
            gcb_diag_set(diag, err, "%s", gcb_escape(shown, sizeof(shown), diag->text));
    }
    for (size_t i = 0; i < GCB_NET_TESTS; i++)
        count += out->tables[i].count;
    if (!err && count == 0)
        err = refuse_file(&r, &kind, held, plain, diag);
    gcb_net_draft_clear(&r.draft);
    gcb_free(held);
    return !err || err == GCB_E_NOMEM || err == GCB_E_IO
               ? err
               : gcb_diag_locate(diag, err, path, r.unit, r.number);
}
