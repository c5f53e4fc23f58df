#include <jansson.h>
#include <stdint.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/payoff/net_table.h"
#include "src/tool/payoff/payoff.h"
#include "src/tool/rows/results.h"

#define MIB_MOST 8 /* of a file; in memory, JSON takes many times as much */
#define CELLS 32   /* most columns of a CSV */
#define BLANKS " \t\r\n"

/* Begins a table, and ends the one before. */
static int begin_table(struct gcb_net_reading *r, const char *name, uint64_t ranks,
                       struct gcb_diag *diag)
{
    struct gcb_net_draft *d = &r->draft;
    const int err = d->line ? gcb_net_draft_finish(r, diag) : 0;

    d->line = r->number + (r->number == 0);
    d->counts_wrong = true;
    d->ranks = ranks > UINT32_MAX ? UINT32_MAX : (unsigned)ranks;
    gcb_net_draft_name(d, name);
    return err;
}

/* A number of processes or of their GPUs; 0: it cannot be one. */
static uint64_t parse_count(const char *text)
{
    uint64_t n;

    return text && gcb_parse_u64(text, &n) && n <= GCB_PAYOFF_WORKERS ? n : 0;
}

/* A row of rccl-tests: it has the name of its collective, and the processes and their GPUs. */
static int add_rccl_row(struct gcb_net_reading *r, const char *const text[GCB_NET_COLUMNS],
                        struct gcb_diag *diag)
{
    const char *name = text[GCB_NET_NAME], *ranks = text[GCB_NET_RANKS];
    int err = 0;

    if (!name || !*name || !text[GCB_NET_SIZE] || !text[GCB_NET_TIME])
        return gcb_diag_set(diag, GCB_E_CORRUPT,
                            "a row without the name of its collective, size and time");
    if (strncmp(r->draft.name, name, GCB_NET_NAME_MOST - 1) != 0)
        err = begin_table(r, name,
                          (ranks ? parse_count(ranks) : 1) * parse_count(text[GCB_NET_GPUS]), diag);
    return err ? err : gcb_net_draft_row(&r->draft, text, diag);
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
    return threads > 0 && threads <= GCB_PAYOFF_WORKERS && gpus > 0 && gpus <= GCB_PAYOFF_WORKERS
               ? n * (uint64_t)threads * (uint64_t)gpus
               : 0;
}

static int add_nccl_result(struct gcb_net_reading *r, json_t *result, struct gcb_diag *diag)
{
    char cells[GCB_NET_COLUMNS][GCB_NET_CELL], again[GCB_NET_COLUMNS][GCB_NET_CELL];
    const char *text[GCB_NET_COLUMNS] = {NULL}, *other[GCB_NET_COLUMNS] = {NULL};
    json_t *place = json_object_get(result, "out_of_place");
    json_t *in_place = json_object_get(result, "in_place");

    r->number++;
    take_members(text, cells, result);
    if (!json_is_object(place))
        place = in_place;
    if (json_object_get(place, "cpu_time"))
        return gcb_diag_set(diag, GCB_E_CORRUPT,
                            "these are times of the CPU: run the test without `-C 1`");
    take_members(text, cells, place);
    take_members(other, again, in_place);
    text[GCB_NET_WRONG_IN_PLACE] = other[GCB_NET_WRONG];
    return gcb_net_draft_row(&r->draft, text, diag);
}

/* The whole file of nccl-tests is one object. */
static int read_nccl(struct gcb_net_reading *r, const json_t *file, struct gcb_diag *diag)
{
    const json_t *results = json_object_get(file, "results");
    const json_t *bounds = json_object_get(file, "out_of_bounds");
    const char *program = json_string_value(json_array_get(json_object_get(file, "args"), 0));
    int err = 0;

    r->number = 0;
    if (!json_is_object(bounds))
        return gcb_diag_set(
            diag, GCB_E_CORRUPT,
            "the test did not end: there is no \"out_of_bounds\"; run it to its end");
    if (json_integer_value(json_object_get(bounds, "count")) != 0)
        return gcb_diag_set(
            diag, GCB_E_CORRUPT,
            "the test failed: results were wrong (\"out_of_bounds\"), so its times mean "
            "nothing; find the cause, and run it again");
    err =
        begin_table(r, program ? program : "", count_ranks(json_object_get(file, "config")), diag);
    for (size_t i = 0; !err && i < json_array_size(results); i++)
        err = add_nccl_result(r, json_array_get(results, i), diag);
    return err;
}

static int read_object(struct gcb_net_reading *r, json_t *object, struct gcb_diag *diag)
{
    char cells[GCB_NET_COLUMNS][GCB_NET_CELL];
    const char *text[GCB_NET_COLUMNS] = {NULL};

    if (json_object_get(object, "results"))
        return read_nccl(r, object, diag);
    r->number++;
    if (gcb_results_json(object, GCB_FIELD_RECORD))
        return gcb_diag_set(
            diag, GCB_E_CORRUPT,
            "rows of gcbench: give them as RESULTS, or those of `gcbench-mpi --calibrate` "
            "as --link");
    take_members(text, cells, object);
    return add_rccl_row(r, text, diag);
}

/* rccl-tests wrote an object a line before they wrote a list. */
static int read_json(struct gcb_net_reading *r, const char *text, struct gcb_diag *diag)
{
    json_error_t why;
    int err = 0;

    r->unit = "result";
    for (text += strspn(text, BLANKS); !err && *text; text += strspn(text, BLANKS)) {
        json_t *value = json_loads(text, JSON_DISABLE_EOF_CHECK, &why);

        if (!value) {
            r->number = 0;
            return gcb_diag_set(diag, GCB_E_CORRUPT, "the JSON is cut or damaged: %s", why.text);
        }
        text += why.position;
        for (size_t i = 0; !err && i < json_array_size(value); i++)
            err = read_object(r, json_array_get(value, i), diag);
        if (!json_is_array(value))
            err = read_object(r, value, diag);
        json_decref(value);
    }
    return err;
}

/* ---- CSV ---- */

/* Cuts a line into cells, without blanks and quotes around them. Returns their number. */
static size_t cut_cells(char *cells[CELLS], char *line)
{
    const size_t n = gcb_net_cut(cells, CELLS, line, ",;", true);

    for (size_t i = 0; i < n; i++) {
        size_t length;

        cells[i] += strspn(cells[i], BLANKS "\"");
        length = strlen(cells[i]);
        while (length && strchr(BLANKS "\"", cells[i][length - 1]))
            cells[i][--length] = '\0';
    }
    return n;
}

/* "numCycle,collective,ranks,rankspernode,gpusperrank,size,type,redop,inplace,time,algbw,..." */
static size_t cut_title(enum gcb_net_column columns[CELLS], char *line)
{
    char *cells[CELLS];
    const size_t n = cut_cells(cells, line);

    for (size_t i = 0; i < n; i++)
        columns[i] = gcb_net_column_find(cells[i]);
    return n;
}

static int read_csv(struct gcb_net_reading *r, char *rest, struct gcb_diag *diag)
{
    enum gcb_net_column columns[CELLS];
    const size_t titles = cut_title(columns, strsep(&rest, "\n"));
    char *cells[CELLS], *line;
    int err = 0;

    r->number = 1;
    while (!err && (line = strsep(&rest, "\n")) != NULL) {
        const char *text[GCB_NET_COLUMNS] = {NULL};
        const size_t n = cut_cells(cells, line);
        /* with MPI, rccl-tests forgot the title of the third cell, the number of nodes */
        const size_t more = n == titles + 1;

        r->number++;
        if (n == 1 && !*cells[0])
            continue;
        if (n != titles + more)
            return gcb_diag_set(diag, GCB_E_CORRUPT,
                                "not a row of the table: it has not as many cells as the title");
        for (size_t i = 0; i < n; i++) {
            const enum gcb_net_column c = columns[i - (more && i > 1)];

            if (c < GCB_NET_COLUMNS && !(more && i == 2))
                text[c] = cells[i];
        }
        err = add_rccl_row(r, text, diag);
    }
    return err;
}

/* ---- a file ---- */

static bool is_csv(const char *text)
{
    enum gcb_net_column columns[CELLS];
    bool has[GCB_NET_COLUMNS + 1] = {false};
    char line[512];
    size_t n;

    snprintf(line, sizeof(line), "%.*s", (int)strcspn(text, "\n"), text);
    n = cut_title(columns, line);
    for (size_t i = 0; i < n; i++)
        has[columns[i]] = true;
    return has[GCB_NET_NAME] && has[GCB_NET_SIZE] && has[GCB_NET_TIME];
}

/* "[" also begins a prefix, such as "[1,0]<stdout>:". */
static bool is_json(const char *text)
{
    text += strspn(text, BLANKS);
    if (*text == '[')
        text += 1 + strspn(text + 1, BLANKS);
    return *text == '{';
}

bool gcb_net_is_saved(const char *text)
{
    return is_json(text) || is_csv(text);
}

int gcb_net_saved_read(struct gcb_net_reading *r, char *text, struct gcb_diag *diag)
{
    int err;

    if (strlen(text) > (size_t)MIB_MOST << 20)
        return gcb_diag_set(diag, GCB_E_CORRUPT,
                            "over %d MiB: run the test without `-I 1` and with larger steps",
                            MIB_MOST);
    err = is_json(text) ? read_json(r, text, diag) : read_csv(r, text, diag);
    return err || r->draft.line == 0 ? err : gcb_net_draft_finish(r, diag);
}
