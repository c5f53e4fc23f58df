#include "src/tool/run/merge.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "src/lib/base/text.h"
#include "src/tool/base/memory.h"
#include "src/tool/base/strings.h"
#include "src/tool/plugin/plugin.h"
#include "src/tool/rows/results.h"
#include "src/tool/run/trial.h"

/* A `result` or `promise` row: where the files have it, and its place in the results of a run
 * without shards. */
struct item {
    uint32_t file;             /* index into files */
    uint32_t length;           /* bytes of the line */
    uint64_t offset, line;     /* byte offset and number of the line */
    uint32_t run_case, method; /* indices; set by assign_items */
    uint64_t message;          /* number of the message in the whole run, from 0 */
    const char *spec;          /* kept in `texts` */
    const char *promise;       /* kept in `texts`; NULL: a `result` row */
};

/* A shard of the run. Its results begin with an `environment` row. */
struct shard {
    uint32_t file;         /* index into files */
    uint32_t index, count; /* shard `index` of `count`; set by its `shard` rows */
    json_t *environment;
    size_t cases;      /* number of cases that have ended */
    size_t first_item; /* index of the first item of the current case */
};

/* The failure of a method in a case. */
struct failure {
    bool failed;
    uint64_t at;     /* number of the first message that failed in any shard */
    json_t *summary; /* the method's summary in that shard; NULL: unknown */
};

/* A case of the run, over all shards. */
struct common {
    json_t *row; /* the `shard` row of the first shard */
    size_t method_count;
    struct failure *failures;   /* one for each method */
    uint64_t messages, skipped; /* sums over the shards: messages, and messages that were skipped */
};

struct gcb_merge {
    const char *const *files;
    struct gcb_strings texts;
    struct item *items;
    size_t item_count, item_cap;
    struct shard *shards;
    size_t shard_count, shard_cap;
    struct common *cases;
    size_t case_count, case_cap;
    json_t *troubles; /* summaries of the current case whose status is not "ok" */
    uint32_t file;    /* index of the file that is being read */
};

#define NAME 160  /* room for a file's name in an error message, with its terminator */
#define VALUE 120 /* room for a JSON value in an error message, with its terminator */

static const char *name_of(char out[NAME], const struct gcb_merge *m, uint32_t file)
{
    return gcb_escape(out, NAME, m->files[file]);
}

/* Returns `err` with a message that begins with the name of the file. */
__attribute__((format(printf, 5, 6))) static int refuse(const struct gcb_merge *m, uint32_t file,
                                                        struct gcb_diag *diag, int err,
                                                        const char *format, ...)
{
    char name[NAME], text[400];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return gcb_diag_set(diag, err, "%s: %s", name_of(name, m, file), text);
}

/* Returns GCB_E_INVALID with a message that says `what` is wrong with the shard. */
static int refuse_shard(const struct gcb_merge *m, const struct shard *s, const char *what,
                        struct gcb_diag *diag)
{
    return refuse(m, s->file, diag, GCB_E_INVALID, "shard %" PRIu32 "/%" PRIu32 " %s", s->index,
                  s->count, what);
}

/* ---- what two shards must have in common ---- */

/* Writes a JSON value for an error message, or "nothing" if it is NULL. Cuts the text to VALUE
 * bytes. Returns out. */
static const char *value_text(char out[VALUE], const json_t *value)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY);

    snprintf(out, VALUE, "%s", text ? text : "nothing");
    free(text);
    return out;
}

/* If two different values are lists, replaces them by their first items that differ. An item that a
 * shorter list lacks becomes NULL. */
static void narrow(const json_t **a, const json_t **b)
{
    size_t i = 0;

    if (!json_is_array(*a) || !json_is_array(*b))
        return;
    while (json_equal(json_array_get(*a, i), json_array_get(*b, i)))
        i++;
    *a = json_array_get(*a, i);
    *b = json_array_get(*b, i);
}

/* Checks that the fields of `row` equal those of `first`, the first shard's row of the same kind.
 * `fields` ends with GCB_FIELD_NONE. */
static int check_fields(const struct gcb_merge *m, const struct shard *s, const json_t *first,
                        const json_t *row, const enum gcb_field *fields, struct gcb_diag *diag)
{
    char there[NAME], words[2][VALUE];

    for (; *fields; fields++) {
        const json_t *a = gcb_results_json(row, *fields), *b = gcb_results_json(first, *fields);

        if (json_equal(a, b))
            continue;
        narrow(&a, &b);
        return refuse(m, s->file, diag, GCB_E_INVALID,
                      "not a shard of the same run as %s: its field `%s` has %s, not %s",
                      name_of(there, m, m->shards[0].file), gcb_field_name(*fields),
                      value_text(words[0], a), value_text(words[1], b));
    }
    return 0;
}

/* True if this is a `shard` row of `verify`. */
static bool is_verify(const json_t *row)
{
    return json_is_array(gcb_results_json(row, GCB_FIELD_CHECKS));
}

/* Checks that a `shard` row has the same input, options, plan and number of shards as the first
 * shard's `shard` row of the same case, and that both or neither are of `verify`. */
static int check_case(const struct gcb_merge *m, const struct shard *s, const json_t *row,
                      struct gcb_diag *diag)
{
    static const enum gcb_field fields[] = {
        GCB_FIELD_SHARDS, GCB_FIELD_FILE,  GCB_FIELD_METHODS, GCB_FIELD_OPTIONS,
        GCB_FIELD_SCOPE,  GCB_FIELD_ORDER, GCB_FIELD_DEVICE,  GCB_FIELD_THREADS,
        GCB_FIELD_ISA,    GCB_FIELD_CACHE, GCB_FIELD_SUITE,   GCB_FIELD_ALL_MESSAGES,
        GCB_FIELD_PLAN,   GCB_FIELD_NONE,
    };
    const json_t *first = m->cases[s->cases].row;
    char there[NAME];

    if (is_verify(row) != is_verify(first))
        return refuse(m, s->file, diag, GCB_E_INVALID,
                      "not a shard of the same run as %s: only one of them is of `verify`",
                      name_of(there, m, m->shards[0].file));
    return check_fields(m, s, first, row, fields, diag);
}

/* ---- reading the files for the first time ---- */

static struct shard *last_shard(struct gcb_merge *m)
{
    return m->shard_count ? &m->shards[m->shard_count - 1] : NULL;
}

/* Refuses the last shard if it has no `shard` row, or if results or summaries of failures follow
 * its last `shard` row. Returns 0 if there is no shard yet. */
static int end_shard(struct gcb_merge *m, struct gcb_diag *diag)
{
    const struct shard *s = last_shard(m);
    bool more; /* results, or summaries of failures, follow the last `shard` row */

    if (!s)
        return 0;
    more = s->first_item < m->item_count || json_array_size(m->troubles);
    if (s->cases && !more)
        return 0;
    if (m->item_count == 0 && s->cases == 0)
        return refuse(m, s->file, diag, GCB_E_INVALID,
                      "no shard: run compress, bench or verify with --shard I/N");
    return refuse(m, s->file, diag, GCB_E_CORRUPT,
                  "the results end without their `shard` row: the run had no --shard, or was cut "
                  "short; run it again");
}

/* Begins a shard with its `environment` row. Checks that the shard before has ended, and that the
 * build and the input are those of the first shard. */
static int take_environment(struct gcb_merge *m, const struct gcb_results_row *row,
                            struct gcb_diag *diag)
{
    static const enum gcb_field fields[] = {
        GCB_FIELD_VERSION,    GCB_FIELD_GIT_REVISION, GCB_FIELD_GIT_DIRTY,     GCB_FIELD_BUILD_TYPE,
        GCB_FIELD_BUILD_ID,   GCB_FIELD_COMPILER,     GCB_FIELD_COMPILE_FLAGS, GCB_FIELD_SANITIZE,
        GCB_FIELD_INPUT_XXH3, GCB_FIELD_LIBRARIES,    GCB_FIELD_NONE,
    };
    struct shard *s;
    int err = end_shard(m, diag);

    if (err)
        return err;
    gcb_must_grow(&m->shards, &m->shard_cap, m->shard_count, sizeof(*m->shards));
    s = &m->shards[m->shard_count++];
    *s = (struct shard){
        .file = m->file,
        .environment = gcb_json_copy(row->json),
        .first_item = m->item_count,
    };
    return check_fields(m, s, m->shards[0].environment, s->environment, fields, diag);
}

/* Adds the item of a `result` or `promise` row. */
static int take_result(struct gcb_merge *m, const struct gcb_results_row *row,
                       struct gcb_diag *diag)
{
    const bool numbered = !isnan(gcb_results_real(row->json, GCB_FIELD_MESSAGE));
    const char *spec = gcb_results_text(row->json, GCB_FIELD_SPEC);
    const char *promise = gcb_results_text(row->json, GCB_FIELD_PROMISE);
    struct gcb_tally tally;
    int err = 0;

    if (!spec || !numbered)
        return refuse(m, m->file, diag, GCB_E_INVALID,
                      "line %" PRIu64 ": the row has no number of its message: it comes from "
                      "another version of gcbench",
                      row->line);
    if (!promise) /* refuses a row without sums before any row is written */
        err = gcb_rows_tally(&tally, row->json, diag);
    if (err)
        return gcb_diag_locate(diag, err, row->path, "line", row->line);
    gcb_must_grow(&m->items, &m->item_cap, m->item_count, sizeof(*m->items));
    m->items[m->item_count++] = (struct item){
        .file = m->file,
        .length = (uint32_t)row->length,
        .message = gcb_results_u64(row->json, GCB_FIELD_MESSAGE),
        .offset = row->offset,
        .line = row->line,
        .spec = gcb_strings_keep(&m->texts, spec),
        .promise = promise ? gcb_strings_keep(&m->texts, promise) : NULL,
    };
    return 0;
}

/* Keeps a `summary` row whose status is not "ok" until the case ends. */
static void take_summary(struct gcb_merge *m, const struct gcb_results_row *row)
{
    const char *status = gcb_results_text(row->json, GCB_FIELD_STATUS);

    if (status && strcmp(status, "ok") != 0)
        gcb_json_append(m->troubles, gcb_json_copy(row->json));
}

/* Adds a case, from a `shard` row of the first shard. */
static void add_case(struct gcb_merge *m, const json_t *row)
{
    const size_t methods = json_array_size(gcb_results_json(row, GCB_FIELD_METHODS));
    struct common *c;

    gcb_must_grow(&m->cases, &m->case_cap, m->case_count, sizeof(*m->cases));
    c = &m->cases[m->case_count++];
    *c = (struct common){
        .row = gcb_json_copy(row),
        .method_count = methods,
        .failures = gcb_must_zero(methods, sizeof(*c->failures)),
    };
}

/* Notes that a method failed in this shard at message `at`, unless it failed in another shard at
 * the same message number or an earlier one. */
static void note_failure(struct gcb_merge *m, struct failure *f, const char *spec, uint64_t at)
{
    json_t *summary;
    size_t i;

    if (f->failed && f->at <= at)
        return;
    json_decref(f->summary);
    *f = (struct failure){.failed = true, .at = at};
    json_array_foreach(m->troubles, i, summary)
    {
        const char *failed = gcb_results_text(summary, GCB_FIELD_SPEC);

        if (failed && strcmp(failed, spec) == 0 && !f->summary)
            f->summary = json_incref(summary);
    }
}

/* Returns how many rows of a method the shard must have. A method of `compress` or `bench` that
 * failed may have another number. `row`: the `shard` row. `checks`: the number of rows of the
 * method in a shard of `verify`; NULL: a shard of another command. */
static uint64_t expected_rows(const json_t *row, const char *spec, const json_t *checks)
{
    const char *device = gcb_results_text(row, GCB_FIELD_DEVICE);

    if (checks)
        return (uint64_t)json_integer_value(checks);
    if (strcmp(spec, gcb_copy_method.name) == 0 && device && strcmp(device, "cpu") != 0)
        return 0; /* copies are timed only on the CPU */
    return gcb_results_u64(row, GCB_FIELD_MESSAGES) -
           gcb_results_u64(row, GCB_FIELD_SKIPPED_MESSAGES);
}

/* Sets case and method of the current case's items with this spec. Returns their number. */
static uint64_t assign_items(struct gcb_merge *m, uint32_t method, const char *spec)
{
    const struct shard *s = last_shard(m);
    uint64_t count = 0;

    for (size_t i = s->first_item; i < m->item_count; i++)
        if (strcmp(m->items[i].spec, spec) == 0) {
            m->items[i].run_case = (uint32_t)s->cases;
            m->items[i].method = method;
            count++;
        }
    return count;
}

/* Finds the items of a method, adds their number to *known, notes a failure of the method, and
 * checks that no row is missing or repeated. A method of `compress` or `bench` that failed may have
 * any number of rows. */
static int check_method(struct gcb_merge *m, const json_t *row, uint32_t method, size_t *known,
                        struct gcb_diag *diag)
{
    const struct shard *s = last_shard(m);
    struct common *c = &m->cases[s->cases];
    const json_t *name = json_array_get(gcb_results_json(row, GCB_FIELD_METHODS), method);
    const json_t *failed = json_array_get(gcb_results_json(row, GCB_FIELD_FAILED_AT), method);
    const json_t *checks = json_array_get(gcb_results_json(row, GCB_FIELD_CHECKS), method);
    const char *spec = json_is_string(name) ? json_string_value(name) : "";
    const uint64_t rows = expected_rows(row, spec, checks);
    const uint64_t count = assign_items(m, method, spec);

    *known += count;
    if (json_is_integer(failed))
        note_failure(m, &c->failures[method], spec, (uint64_t)json_integer_value(failed));
    if (count == rows || (json_is_integer(failed) && !checks))
        return 0;
    return refuse(m, s->file, diag, GCB_E_CORRUPT,
                  "%" PRIu64 " rows of %s, not %" PRIu64 ": rows were lost or repeated%s", count,
                  gcb_show(spec).text, rows, checks ? "" : ", or left out by --per none");
}

/* Returns the first shard with this index, or NULL. */
static const struct shard *find_shard(const struct gcb_merge *m, uint32_t index)
{
    for (size_t i = 0; i < m->shard_count; i++)
        if (m->shards[i].index == index)
            return &m->shards[i];
    return NULL;
}

/* Refuses the last shard if an earlier shard has the same index. */
static int check_index(const struct gcb_merge *m, struct gcb_diag *diag)
{
    const struct shard *s = &m->shards[m->shard_count - 1], *first = find_shard(m, s->index);
    char text[NAME + 40] = "is there twice, first in ";

    if (first == s)
        return 0;
    name_of(text + strlen(text), m, first->file);
    return refuse_shard(m, s, text, diag);
}

/* Refuses a `shard` row of a case that did not reach its end, or with an invalid index. */
static int check_status(const struct gcb_merge *m, const struct shard *s, const json_t *row,
                        struct gcb_diag *diag)
{
    const char *status = gcb_results_text(row, GCB_FIELD_STATUS);

    if (status && strcmp(status, "budget") == 0)
        return refuse_shard(
            m, s, "stopped before its last check: run it again with a larger --budget", diag);
    if (!status || strcmp(status, "ok") != 0)
        return refuse_shard(m, s, "was interrupted: run it again", diag);
    if (s->index >= s->count)
        return refuse_shard(m, s, "does not exist: the file was changed", diag);
    return 0;
}

/* Takes a `shard` row, which ends a case of the last shard. The first shard's row adds the case;
 * another shard's row is compared with it. Checks the rows of the case. */
static int take_shard(struct gcb_merge *m, const struct gcb_results_row *row, struct gcb_diag *diag)
{
    struct shard *s = last_shard(m);
    struct common *c;
    size_t known = 0;
    int err;

    s->index = (uint32_t)gcb_results_u64(row->json, GCB_FIELD_SHARD_INDEX);
    s->count = (uint32_t)gcb_results_u64(row->json, GCB_FIELD_SHARDS);
    err = check_status(m, s, row->json, diag);
    if (err)
        return err;
    if (m->shard_count == 1)
        add_case(m, row->json);
    else if (s->cases == m->case_count)
        err = refuse_shard(m, s, "has more cases than the first file", diag);
    else
        err = check_case(m, s, row->json, diag);
    if (!err)
        err = check_index(m, diag);
    if (err)
        return err;
    c = &m->cases[s->cases];
    for (uint32_t i = 0; !err && i < c->method_count; i++)
        err = check_method(m, row->json, i, &known, diag);
    if (!err && known != m->item_count - s->first_item)
        err = refuse_shard(m, s, "has rows of a method that its run does not have", diag);
    c->messages += gcb_results_u64(row->json, GCB_FIELD_MESSAGES);
    c->skipped += gcb_results_u64(row->json, GCB_FIELD_SKIPPED_MESSAGES);
    s->cases++;
    s->first_item = m->item_count;
    json_array_clear(m->troubles);
    return err;
}

static int take_row(void *ctx, const struct gcb_results_row *row, struct gcb_diag *diag)
{
    struct gcb_merge *m = ctx;
    const struct shard *s = last_shard(m);

    if (row->kind == GCB_RECORD_ENVIRONMENT)
        return take_environment(m, row, diag);
    if (!s || s->file != m->file)
        return refuse(m, m->file, diag, GCB_E_CORRUPT,
                      "no `environment` row in front of line %" PRIu64
                      ": the beginning of the results is missing",
                      row->line);
    switch (row->kind) {
    case GCB_RECORD_RESULT:
    case GCB_RECORD_PROMISE:
        return take_result(m, row, diag);
    case GCB_RECORD_SUMMARY:
        take_summary(m, row);
        return 0;
    case GCB_RECORD_SHARD:
        return take_shard(m, row, diag);
    case GCB_RECORD_ANSWER: /* only a run without --shard has answers, and end_shard refuses it */
        return 0;
    default:
        return refuse(m, m->file, diag, GCB_E_INVALID,
                      "line %" PRIu64 ": a row of record `%s`, which merge cannot join: it joins "
                      "results of compress, bench and verify",
                      row->line, row->record);
    }
}

static int read_file(struct gcb_merge *m, uint32_t file, struct gcb_diag *diag)
{
    struct stat s;
    int err;

    m->file = file;
    if (strcmp(m->files[file], "-") == 0 || (stat(m->files[file], &s) == 0 && !S_ISREG(s.st_mode)))
        return refuse(m, file, diag, GCB_E_INVALID,
                      "not a regular file: merge reads its files twice");
    err = gcb_results_read(NULL, m->files[file], GCB_RESULTS_ALL, take_row, m, diag);
    return err ? err : end_shard(m, diag);
}

/* ---- all files together ---- */

#define NAMED 8 /* most missing shards that an error message names */

/* Checks that there is a shard for each index below the number of shards. */
static int check_missing(const struct gcb_merge *m, struct gcb_diag *diag)
{
    const uint32_t count = m->shards[0].count;
    char list[160] = "";
    uint32_t missing = 0;

    for (uint32_t i = 0; i < count && missing <= NAMED; i++) {
        if (find_shard(m, i))
            continue;
        missing++;
        if (missing <= NAMED)
            gcb_append(list, sizeof(list), "%s%" PRIu32, missing > 1 ? ", " : "", i);
    }
    if (missing == 0)
        return 0;
    return gcb_invalid(
        diag, "missing: shard%s %s%s of %" PRIu32 ", numbered from 0: give their results too",
        missing > 1 ? "s" : "", list, missing > NAMED ? ", ..." : "", count);
}

static int compare_places(const struct item *x, const struct item *y)
{
    if (x->run_case != y->run_case)
        return x->run_case < y->run_case ? -1 : 1;
    if (x->message != y->message)
        return x->message < y->message ? -1 : 1;
    return (x->method > y->method) - (x->method < y->method);
}

/* Compares two items by case, message and method. The promises of a method on a message stay in the
 * order of their file. */
static int by_place(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    const int order = compare_places(x, y);

    return order ? order : (x->offset > y->offset) - (x->offset < y->offset);
}

/* Refuses a row if an earlier row is of the same message, method and promise. The items must be
 * sorted. */
static int check_repeated(const struct gcb_merge *m, const struct item *x, struct gcb_diag *diag)
{
    char here[NAME], there[NAME];

    /* walks back over the rows of the same message and method, which stand in front of x */
    for (const struct item *y = x; y > m->items && compare_places(--y, x) == 0;)
        if (y->promise == x->promise) /* a text is kept once, so equal texts have equal addresses */
            return gcb_diag_set(diag, GCB_E_CORRUPT,
                                "message %" PRIu64 " of %s is there twice: in %s, line %" PRIu64
                                ", and in %s, line %" PRIu64,
                                x->message, x->spec, name_of(there, m, y->file), y->line,
                                name_of(here, m, x->file), x->line);
    return 0;
}

/* Sorts the items. Refuses a message that is there twice, or that the run does not have. */
static int sort_items(struct gcb_merge *m, struct gcb_diag *diag)
{
    int err = 0;

    if (m->item_count)
        qsort(m->items, m->item_count, sizeof(*m->items), by_place);
    for (size_t i = 0; !err && i < m->item_count; i++) {
        const struct item *x = &m->items[i];

        err = check_repeated(m, x, diag);
        if (!err &&
            x->message >= gcb_results_u64(m->cases[x->run_case].row, GCB_FIELD_ALL_MESSAGES))
            err = refuse(m, x->file, diag, GCB_E_CORRUPT,
                         "line %" PRIu64 ": the run has no message %" PRIu64, x->line, x->message);
    }
    return err;
}

/* Checks that the shards together are the whole run, and sorts their items. */
static int check_all(struct gcb_merge *m, struct gcb_diag *diag)
{
    int err = check_missing(m, diag);

    for (size_t i = 0; !err && i < m->shard_count; i++)
        if (m->shards[i].cases != m->case_count)
            err = refuse_shard(m, &m->shards[i],
                               "lacks cases that other shards have: it was cut "
                               "short; run it again",
                               diag);
    for (size_t i = 0; !err && i < m->case_count; i++)
        if (m->cases[i].messages != gcb_results_u64(m->cases[i].row, GCB_FIELD_ALL_MESSAGES))
            err = gcb_diag_set(diag, GCB_E_CORRUPT,
                               "all shards together have %" PRIu64 " messages, not %" PRIu64
                               ": a file was changed",
                               m->cases[i].messages,
                               gcb_results_u64(m->cases[i].row, GCB_FIELD_ALL_MESSAGES));
    return err ? err : sort_items(m, diag);
}

int gcb_merge_open(struct gcb_merge **out, const char *const *files, size_t count,
                   struct gcb_diag *diag)
{
    struct gcb_merge *m = gcb_must_zero(1, sizeof(*m));
    int err = 0;

    m->files = files;
    m->troubles = json_array();
    for (uint32_t i = 0; !err && i < count; i++)
        err = read_file(m, i, diag);
    if (!err)
        err = check_all(m, diag);
    if (err)
        gcb_merge_close(m);
    else
        *out = m;
    return err;
}

void gcb_merge_close(struct gcb_merge *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->shard_count; i++)
        json_decref(m->shards[i].environment);
    for (size_t i = 0; i < m->case_count; i++) {
        json_decref(m->cases[i].row);
        for (size_t k = 0; m->cases[i].failures && k < m->cases[i].method_count; k++)
            json_decref(m->cases[i].failures[k].summary);
        gcb_free(m->cases[i].failures);
    }
    gcb_free(m->shards);
    gcb_free(m->cases);
    json_decref(m->troubles);
    gcb_free(m->items);
    gcb_strings_fini(&m->texts);
    gcb_free(m);
}

uint32_t gcb_merge_shard_count(const struct gcb_merge *m)
{
    return m->shards[0].count;
}

bool gcb_merge_of_verify(const struct gcb_merge *m)
{
    return is_verify(m->cases[0].row);
}

/* The state of gcb_merge_run. */
struct joining {
    struct gcb_merge *m;
    const struct gcb_merge_observer *observer;
    struct gcb_room line;                  /* text of the row that is read again */
    struct gcb_samples samples[GCB_TIMED]; /* only seconds, count and cap are used */
    struct gcb_method *methods;            /* of the current case */
    struct gcb_merge_case at;              /* the current case */
};

/* ---- reading rows ---- */

/* Reads the row of an item again. *out starts as NULL; the caller releases it. */
static int load(json_t **out, struct joining *j, const struct item *item, struct gcb_diag *diag)
{
    FILE *file;
    int err = gcb_room_reserve(&j->line, item->length, "a row", diag);

    if (err)
        return err;
    file = fopen(j->m->files[item->file], "re");
    if (file && !fseeko(file, (off_t)item->offset, SEEK_SET) &&
        fread(j->line.block, 1, item->length, file) == item->length)
        *out = json_loadb((const char *)j->line.block, item->length, 0, NULL);
    if (file)
        fclose(file);
    if (*out)
        return 0;
    return refuse(j->m, item->file, diag, GCB_E_IO,
                  "line %" PRIu64 " cannot be read again: the file changed", item->line);
}

/* Reads the samples of a field. There are none if the field is null. */
static void take_samples(struct gcb_samples *s, const json_t *row, enum gcb_field field)
{
    const json_t *values = gcb_results_json(row, field);

    for (s->count = 0; s->count < json_array_size(values); s->count++) {
        gcb_must_grow(&s->seconds, &s->cap, s->count, sizeof(*s->seconds));
        s->seconds[s->count] = json_number_value(json_array_get(values, s->count));
    }
}

/* ---- a case ---- */

/* Adds a `result` row to the total of its method. */
static int add_row(struct joining *j, const struct item *item, const json_t *row,
                   struct gcb_diag *diag)
{
    const struct gcb_message_plan plan = {
        .step = gcb_results_u64(row, GCB_FIELD_STEP),
        .worker = (uint32_t)gcb_results_u64(row, GCB_FIELD_WORKER),
    };
    struct gcb_run_trial trial = {.plan = &plan, .samples = j->samples};
    const int err = gcb_rows_tally(&trial.tally, row, diag);

    if (err)
        return err;
    for (int i = 0; i < GCB_TIMED; i++)
        take_samples(&j->samples[i], row, gcb_rows_times[i]->samples);
    gcb_run_total_add(&j->at.result.totals[item->method], &trial);
    return 0;
}

/* Passes a row to the observer, and adds a result to the total of its method. Leaves out a method's
 * results on the message at which it first failed and on later messages. */
static int join_row(struct joining *j, const struct item *item, struct gcb_diag *diag)
{
    const struct failure *f = &j->m->cases[item->run_case].failures[item->method];
    struct gcb_row row = {.json = NULL};
    int err;

    /* without shards, `compress` or `bench` would have ended the method at message f->at */
    if (f->failed && item->message >= f->at && !item->promise)
        return 0;
    err = load(&row.json, j, item, diag);
    if (!err && !item->promise)
        err = add_row(j, item, row.json, diag);
    if (!err)
        return j->observer->row(j->observer->ctx, item->method, &row, diag);
    gcb_row_fini(&row);
    return err;
}

/* Reads a method from its spec in a `shard` row. */
static int read_method(struct gcb_method *out, const json_t *text, struct gcb_diag *diag)
{
    const char *spec = json_is_string(text) ? json_string_value(text) : "";
    int err;

    *out = gcb_copy_method;
    if (strcmp(spec, gcb_copy_method.name) == 0)
        return 0;
    err = gcb_plugin_read(out, spec, diag);
    if (!err) /* some names, such as sbc, imply a memory, which these runs do not have */
        gcb_method_forget(out);
    return err;
}

/* If a method failed, sets the failure in its total, which says why rows are missing. */
static void explain_failure(struct joining *j, const struct common *c, size_t method,
                            const char *name)
{
    const struct failure *f = &c->failures[method];
    struct gcb_diag *why = &j->at.result.totals[method].failure;
    const char *device = gcb_results_text(c->row, GCB_FIELD_DEVICE);
    const char *status = gcb_results_text(f->summary, GCB_FIELD_STATUS);
    const char *reason = gcb_results_text(f->summary, GCB_FIELD_REASON);
    const bool unsupported = status && strcmp(status, "unsupported") == 0;

    if (f->failed && gcb_merge_of_verify(j->m))
        gcb_diag_set(why, GCB_E_UNSUPPORTED,
                     "%s was not checked on all messages: it does not run on %s",
                     gcb_show(name).text, device ? device : "the device");
    else if (f->failed)
        gcb_diag_set(why, unsupported ? GCB_E_UNSUPPORTED : GCB_E_UNVERIFIED, "%s",
                     reason ? reason : "");
}

/* Prepares the methods, totals and setting of a case. */
static int begin_case(struct joining *j, const struct common *c, struct gcb_diag *diag)
{
    const size_t count = c->method_count;
    struct gcb_run_result *result = &j->at.result;
    int err = 0;

    j->methods = gcb_must_zero(count, sizeof(*j->methods));
    result->totals = gcb_must_zero(count, sizeof(*result->totals));
    result->method_count = count;
    result->skipped_messages = c->skipped;
    for (size_t i = 0; !err && i < count; i++) {
        const json_t *spec = json_array_get(gcb_results_json(c->row, GCB_FIELD_METHODS), i);

        err = read_method(&j->methods[i], spec, diag);
        if (!err)
            explain_failure(j, c, i, j->methods[i].name);
    }
    j->at.file = gcb_results_text(c->row, GCB_FIELD_FILE);
    j->at.methods = j->methods;
    j->at.all_messages = gcb_results_u64(c->row, GCB_FIELD_ALL_MESSAGES);
    j->at.setting = (struct gcb_rows_setting){
        .scope = gcb_results_text(c->row, GCB_FIELD_SCOPE),
        .order = gcb_results_text(c->row, GCB_FIELD_ORDER),
        .device = gcb_results_text(c->row, GCB_FIELD_DEVICE),
        .isa = gcb_results_text(c->row, GCB_FIELD_ISA),
        .threads = (int)gcb_results_u64(c->row, GCB_FIELD_THREADS),
        .read_gbps = NAN,
        .fill_gbps = NAN,
        .device_copy_gbps = NAN,
        .suite = gcb_results_text(c->row, GCB_FIELD_SUITE),
        .shuffle = gcb_results_text(c->row, GCB_FIELD_SHUFFLE),
        .cache = gcb_results_text(c->row, GCB_FIELD_CACHE),
    };
    return err;
}

/* Joins the rows of a case, from item *next on. Moves *next past them. */
static int join_case(struct joining *j, size_t number, size_t *next, struct gcb_diag *diag)
{
    const struct gcb_merge *m = j->m;
    const struct common *c = &m->cases[number];
    int err = begin_case(j, c, diag);

    if (!err)
        err = j->observer->begin(j->observer->ctx, &j->at, diag);
    for (; !err && *next < m->item_count && m->items[*next].run_case == number; ++*next)
        err = join_row(j, &m->items[*next], diag);
    if (!err && c->messages && c->skipped == c->messages)
        err = gcb_diag_set(diag, GCB_E_NONFINITE, "every %s holds infinities or NaNs",
                           gcb_merge_of_verify(m) ? "message" : "step");
    if (!err)
        err = j->observer->end(j->observer->ctx, &j->at, diag);
    gcb_run_result_fini(&j->at.result);
    gcb_free(j->methods);
    return err;
}

int gcb_merge_run(struct gcb_merge *m, const struct gcb_merge_observer *observer,
                  struct gcb_diag *diag)
{
    struct joining j = {.m = m, .observer = observer};
    size_t next = 0;
    int err = 0;

    for (size_t i = 0; !err && i < m->case_count; i++)
        err = join_case(&j, i, &next, diag);
    gcb_room_fini(&j.line);
    for (int i = 0; i < GCB_TIMED; i++)
        gcb_samples_fini(&j.samples[i]);
    return err;
}

/* ---- the environment ---- */

/* Returns `first`, the value of a field in the first shard, if the field has this value in all
 * shards; otherwise NULL. */
static json_t *common_value(const struct gcb_merge *m, const char *key, json_t *first)
{
    for (size_t i = 1; i < m->shard_count; i++)
        if (!json_equal(json_object_get(m->shards[i].environment, key), first))
            return NULL;
    return first;
}

/* Returns the earliest date of the shards; NULL if none has a date. Dates are in a format that
 * sorts as text. */
static const char *first_date(const struct gcb_merge *m)
{
    const char *first = NULL;

    for (size_t i = 0; i < m->shard_count; i++) {
        const char *date = gcb_results_text(m->shards[i].environment, GCB_FIELD_DATE);

        if (date && (!first || strcmp(date, first) < 0))
            first = date;
    }
    return first;
}

void gcb_merge_environment(struct gcb_row *row, const struct gcb_merge *m, int argc,
                           char *const *argv)
{
    json_t *value;
    const char *key;

    gcb_row_init(row, GCB_RECORD_ENVIRONMENT);
    json_object_foreach(m->shards[0].environment, key, value)
    {
        json_t *same = common_value(m, key, value);

        gcb_json_set(row->json, key, same ? json_incref(same) : json_null());
    }
    gcb_row_texts(row, GCB_FIELD_COMMAND, argv, argc);
    gcb_row_text(row, GCB_FIELD_DATE, first_date(m));
}
