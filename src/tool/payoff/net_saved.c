#include <jansson.h>
#include <stdint.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/payoff/net_table.h"
#include "src/tool/rows/results.h"

#define FILE_MOST ((size_t)8 << 20)
#define CELLS 32 /* most columns of a CSV */
#define BLANKS " \t\r\n"

/* One file while it is read. */
struct saved {
    struct gcb_net_log *log;
    unsigned workers;
    const char *unit; /* "line" or "result" */
    size_t number;    /* of the row */
    struct gcb_net_draft draft;
    bool begun; /* the draft has a table */
};

static int fail(const struct saved *s, struct gcb_diag *diag, const char *words)
{
    gcb_diag_set(diag, GCB_E_CORRUPT, "%s", words);
    return gcb_net_locate(s->log, s->unit, s->number, GCB_E_CORRUPT, diag);
}

static int end_table(struct saved *s, struct gcb_diag *diag)
{
    const bool begun = s->begun;

    s->begun = false;
    return begun ? gcb_net_draft_finish(s->log, &s->draft, s->workers, s->unit, diag) : 0;
}

static void begin_table(struct saved *s, const char *name, uint64_t ranks)
{
    s->begun = true;
    s->draft.line = s->number;
    s->draft.counts_wrong = true;
    s->draft.ranks = ranks > UINT32_MAX ? UINT32_MAX : (unsigned)ranks;
    gcb_net_draft_name(&s->draft, name);
}

static int add_row(struct saved *s, const char *const text[GCB_NET_COLUMNS], struct gcb_diag *diag)
{
    const int err = gcb_net_draft_row(&s->draft, text, diag);

    return err ? gcb_net_locate(s->log, s->unit, s->number, err, diag) : 0;
}

/* A row of rccl-tests: it has the name of its collective, and the processes and their GPUs. */
static int add_rccl_row(struct saved *s, const char *const text[GCB_NET_COLUMNS],
                        struct gcb_diag *diag)
{
    const char *name = text[GCB_NET_NAME];
    uint64_t ranks = 1, gpus = 0;
    int err = 0;

    if (!name || !*name || !text[GCB_NET_SIZE] || !text[GCB_NET_TIME])
        return fail(s, diag, "a row without the name of its collective, size and time");
    if (!s->begun || strcmp(s->draft.name, name) != 0) {
        err = end_table(s, diag);
        if (!text[GCB_NET_GPUS] || !gcb_parse_u64(text[GCB_NET_GPUS], &gpus) || gpus > 65536 ||
            (text[GCB_NET_RANKS] && (!gcb_parse_u64(text[GCB_NET_RANKS], &ranks) || ranks > 65536)))
            gpus = 0;
        begin_table(s, name, ranks * gpus);
    }
    return err ? err : add_row(s, text, diag);
}

/* ---- JSON ---- */

/* Copies the members of an object that are columns. Others stay as they are. */
static void take_members(const char *text[GCB_NET_COLUMNS],
                         char cells[GCB_NET_COLUMNS][GCB_NET_CELL], json_t *object)
{
    const char *key, *string;
    json_t *value;

    json_object_foreach(object, key, value)
    {
        const enum gcb_net_column c = gcb_net_column_find(key);

        if (c == GCB_NET_COLUMNS)
            continue;
        text[c] = cells[c];
        string = json_string_value(value);
        if (string)
            snprintf(cells[c], GCB_NET_CELL, "%s", string + strspn(string, BLANKS));
        else if (json_is_integer(value))
            snprintf(cells[c], GCB_NET_CELL, "%lld", (long long)json_integer_value(value));
        else if (json_is_real(value))
            gcb_real_text(cells[c], json_real_value(value));
        else if (json_is_null(value))
            snprintf(cells[c], GCB_NET_CELL, "N/A");
        else
            text[c] = NULL;
    }
}

/* The number of ranks: those of a group, if NCCL_TESTS_SPLIT made several. There is one device for
 * each process. */
static uint64_t count_ranks(const json_t *config)
{
    const json_int_t threads = json_integer_value(json_object_get(config, "nthreads"));
    const json_int_t gpus = json_integer_value(json_object_get(config, "ngpus"));
    const json_t *devices = json_object_get(config, "devices");
    const json_t *first = json_object_get(json_array_get(devices, 0), "group");
    uint64_t n = 0;

    for (size_t i = 0; i < json_array_size(devices); i++)
        n += json_integer_value(json_object_get(json_array_get(devices, i), "group")) ==
             json_integer_value(first);
    return threads > 0 && threads <= 65536 && gpus > 0 && gpus <= 65536
               ? n * (uint64_t)threads * (uint64_t)gpus
               : 0;
}

static int add_nccl_result(struct saved *s, json_t *result, struct gcb_diag *diag)
{
    char cells[GCB_NET_COLUMNS][GCB_NET_CELL], again[GCB_NET_COLUMNS][GCB_NET_CELL];
    const char *text[GCB_NET_COLUMNS] = {NULL}, *other[GCB_NET_COLUMNS] = {NULL};
    json_t *place = json_object_get(result, "out_of_place");
    json_t *in_place = json_object_get(result, "in_place");

    s->number++;
    take_members(text, cells, result);
    if (!json_is_object(place))
        place = in_place;
    if (json_object_get(place, "cpu_time"))
        return fail(s, diag, "these are times of the CPU: run the test without `-C 1`");
    take_members(text, cells, place);
    take_members(other, again, in_place);
    text[GCB_NET_WRONG_IN_PLACE] = other[GCB_NET_WRONG];
    return add_row(s, text, diag);
}

/* The whole file of nccl-tests is one object. */
static int read_nccl(struct saved *s, const json_t *file, struct gcb_diag *diag)
{
    const json_t *results = json_object_get(file, "results");
    const json_t *bounds = json_object_get(file, "out_of_bounds");
    const char *program = json_string_value(json_array_get(json_object_get(file, "args"), 0));
    int err = 0;

    s->number = 0;
    if (!json_is_object(bounds))
        return fail(s, diag,
                    "the test did not end: there is no \"out_of_bounds\"; run it to its end");
    if (json_integer_value(json_object_get(bounds, "count")) != 0)
        return fail(s, diag,
                    "the test failed: results were wrong (\"out_of_bounds\"), so its times mean "
                    "nothing; find the cause, and run it again");
    err = end_table(s, diag);
    begin_table(s, program ? program : "", count_ranks(json_object_get(file, "config")));
    for (size_t i = 0; !err && i < json_array_size(results); i++)
        err = add_nccl_result(s, json_array_get(results, i), diag);
    return err ? err : end_table(s, diag);
}

static int read_object(struct saved *s, json_t *object, struct gcb_diag *diag)
{
    char cells[GCB_NET_COLUMNS][GCB_NET_CELL];
    const char *text[GCB_NET_COLUMNS] = {NULL};

    if (json_object_get(object, "results"))
        return read_nccl(s, object, diag);
    s->number++;
    if (gcb_results_json(object, GCB_FIELD_RECORD))
        return fail(s, diag,
                    "rows of gcbench: give them as RESULTS, or those of `gcbench-mpi --calibrate` "
                    "as --link");
    take_members(text, cells, object);
    return add_rccl_row(s, text, diag);
}

/* rccl-tests wrote an object a line before they wrote a list. */
static int read_json(struct saved *s, const char *text, size_t size, struct gcb_diag *diag)
{
    json_error_t why;
    int err = 0;

    s->unit = "result";
    for (size_t at = strspn(text, BLANKS); !err && at < size; at += strspn(text + at, BLANKS)) {
        json_t *value = json_loadb(text + at, size - at, JSON_DISABLE_EOF_CHECK, &why);

        if (!value) {
            s->number = 0;
            gcb_diag_set(diag, GCB_E_CORRUPT, "the JSON is cut or damaged: %s", why.text);
            return gcb_net_locate(s->log, s->unit, 0, GCB_E_CORRUPT, diag);
        }
        at += (size_t)why.position;
        for (size_t i = 0; !err && i < json_array_size(value); i++)
            err = read_object(s, json_array_get(value, i), diag);
        if (!json_is_array(value))
            err = read_object(s, value, diag);
        json_decref(value);
    }
    return err;
}

/* ---- CSV ---- */

/* Cuts a line into cells, without blanks and quotes around them. Returns their number, at most
 * CELLS. */
static size_t cut(char *cells[CELLS], char *line)
{
    size_t n = 0, length;

    for (char *cell; n < CELLS && (cell = strsep(&line, ",")) != NULL; n++) {
        cells[n] = cell + strspn(cell, BLANKS "\"");
        length = strlen(cells[n]);
        while (length && strchr(BLANKS "\"", cells[n][length - 1]))
            cells[n][--length] = '\0';
    }
    return n;
}

/* "numCycle,collective,ranks,rankspernode,gpusperrank,size,type,redop,inplace,time,algbw,..." */
static size_t cut_title(enum gcb_net_column columns[CELLS], char *line)
{
    char *cells[CELLS];
    const size_t n = cut(cells, line);

    for (size_t i = 0; i < n; i++)
        columns[i] = gcb_net_column_find(cells[i]);
    return n;
}

static int read_csv(struct saved *s, char *rest, struct gcb_diag *diag)
{
    enum gcb_net_column columns[CELLS];
    const size_t titles = cut_title(columns, strsep(&rest, "\n"));
    char *cells[CELLS], *line;
    int err = 0;

    s->unit = "line";
    s->number = 1;
    while (!err && (line = strsep(&rest, "\n")) != NULL) {
        const char *text[GCB_NET_COLUMNS] = {NULL};
        const size_t n = cut(cells, line);
        /* with MPI, rccl-tests forgot the title of the third cell, the number of nodes */
        const size_t more = n == titles + 1;

        s->number++;
        if (n == 1 && !*cells[0])
            continue;
        if (n != titles + more)
            return fail(s, diag, "not a row of the table: it has not as many cells as the title");
        for (size_t i = 0; i < n; i++) {
            const enum gcb_net_column c = columns[i - (more && i > 1)];

            if (c < GCB_NET_COLUMNS && !(more && i == 2))
                text[c] = cells[i];
        }
        err = add_rccl_row(s, text, diag);
    }
    return err;
}

/* ---- a file ---- */

static bool is_csv(const char *begin, size_t held)
{
    enum gcb_net_column columns[CELLS];
    bool has[GCB_NET_COLUMNS + 1] = {false};
    char line[512];
    size_t n = 0;

    while (n + 1 < sizeof(line) && n < held && begin[n] != '\n' && begin[n] != '\0')
        n++;
    memcpy(line, begin, n);
    line[n] = '\0';
    n = cut_title(columns, line);
    for (size_t i = 0; i < n; i++)
        has[columns[i]] = true;
    return has[GCB_NET_NAME] && has[GCB_NET_SIZE] && has[GCB_NET_TIME];
}

/* "[" also begins a prefix, such as "[1,0]<stdout>:". */
static bool is_json(const char *begin, size_t held)
{
    bool list = false;

    for (size_t i = 0; i < held; i++)
        if (begin[i] == '[' && !list)
            list = true;
        else if (begin[i] == '\0' || !strchr(BLANKS, begin[i]))
            return begin[i] == '{';
    return false;
}

bool gcb_net_is_saved(const char *begin, size_t held)
{
    return is_json(begin, held) || is_csv(begin, held);
}

int gcb_net_saved_read(struct gcb_net_log *log, FILE *file, const char *begin, size_t held,
                       unsigned workers, struct gcb_diag *diag)
{
    struct saved s = {.log = log, .workers = workers, .unit = "line"}; /* no number: the file */
    char *text = gcb_alloc(FILE_MOST + 2);
    size_t size = held;
    int err;

    if (!text)
        return gcb_diag_nomem(diag, FILE_MOST, "a log");
    memcpy(text, begin, held);
    size += fread(text + held, 1, FILE_MOST + 1 - held, file);
    text[size] = '\0';
    if (size > FILE_MOST)
        err = fail(&s, diag, "over 8 MiB: run the test without `-I 1` and with larger steps");
    else if (memchr(text, '\0', size))
        err = fail(&s, diag, "a zero byte: this is not a log");
    else if (is_json(begin, held))
        err = read_json(&s, text, size, diag);
    else
        err = read_csv(&s, text, diag);
    if (!err)
        err = end_table(&s, diag);
    gcb_net_draft_clear(&s.draft);
    gcb_free(text);
    return err;
}
