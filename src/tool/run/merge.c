#include "src/tool/run/merge.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/run/copy.h"
#include "src/tool/run/merge_private.h"

#define NAME 160 /* bytes of a file's name in a message */

static const char *name_of(char out[NAME], const struct gcb_merge *m, uint32_t file)
{
    return gcb_escape(out, NAME, m->files[file]);
}

/* ---- what two shards must have in common ---- */

/* Writes a JSON value for a message. */
static const char *value_text(char out[120], const json_t *value)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY);

    snprintf(out, 120, "%s", text ? text : "nothing");
    free(text);
    return out;
}

/* Finds the first item that differs, if both values are lists. */
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

/* Checks that a field of shard `s` equals that of the first shard. */
static int check_field(const struct gcb_merge *m, const struct gcb_merge_shard *s,
                       const json_t *first, const json_t *row, enum gcb_field field,
                       struct gcb_diag *diag)
{
    const json_t *a = gcb_results_json(row, field), *b = gcb_results_json(first, field);
    char here[NAME], there[NAME], words[2][120];

    if (json_equal(a, b))
        return 0;
    narrow(&a, &b);
    return gcb_diag_set(diag, GCB_E_INVALID,
                        "%s is not a shard of the same run as %s: its field `%s` has %s, not %s",
                        name_of(here, m, s->file), name_of(there, m, m->shards[0].file),
                        gcb_field_name(field), value_text(words[0], a), value_text(words[1], b));
}

static int check_fields(const struct gcb_merge *m, const struct gcb_merge_shard *s,
                        const json_t *first, const json_t *row, const enum gcb_field *fields,
                        size_t count, struct gcb_diag *diag)
{
    int err = 0;

    for (size_t i = 0; !err && i < count; i++)
        err = check_field(m, s, first, row, fields[i], diag);
    return err;
}

static int check_environment(const struct gcb_merge *m, const struct gcb_merge_shard *s,
                             struct gcb_diag *diag)
{
    static const enum gcb_field fields[] = {
        GCB_FIELD_VERSION,    GCB_FIELD_GIT_REVISION, GCB_FIELD_GIT_DIRTY,     GCB_FIELD_BUILD_TYPE,
        GCB_FIELD_BUILD_ID,   GCB_FIELD_COMPILER,     GCB_FIELD_COMPILE_FLAGS, GCB_FIELD_SANITIZE,
        GCB_FIELD_INPUT_XXH3, GCB_FIELD_LIBRARIES,
    };

    return check_fields(m, s, m->shards[0].environment, s->environment, fields,
                        sizeof(fields) / sizeof(fields[0]), diag);
}

/* Is this the `shard` row of `verify`? */
static bool is_verify(const json_t *row)
{
    return json_is_array(gcb_results_json(row, GCB_FIELD_CHECKS));
}

static int check_case(const struct gcb_merge *m, const struct gcb_merge_shard *s, const json_t *row,
                      struct gcb_diag *diag)
{
    const json_t *first = m->cases[s->cases].row;
    char here[NAME], there[NAME];
    static const enum gcb_field fields[] = {
        GCB_FIELD_SHARDS, GCB_FIELD_FILE,  GCB_FIELD_METHODS, GCB_FIELD_OPTIONS,
        GCB_FIELD_SCOPE,  GCB_FIELD_ORDER, GCB_FIELD_DEVICE,  GCB_FIELD_THREADS,
        GCB_FIELD_ISA,    GCB_FIELD_CACHE, GCB_FIELD_SUITE,   GCB_FIELD_ALL_MESSAGES,
        GCB_FIELD_PLAN,
    };

    if (is_verify(row) != is_verify(first))
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "%s is not a shard of the same run as %s: only one of them is of "
                            "`verify`",
                            name_of(here, m, s->file), name_of(there, m, m->shards[0].file));
    return check_fields(m, s, first, row, fields, sizeof(fields) / sizeof(fields[0]), diag);
}

/* ---- the first reading ---- */

static struct gcb_merge_shard *last_shard(struct gcb_merge *m)
{
    return m->shard_count ? &m->shards[m->shard_count - 1] : NULL;
}

/* The rows of a shard have ended: its last row must be a `shard` row. */
static int end_shard(struct gcb_merge *m, struct gcb_diag *diag)
{
    const struct gcb_merge_shard *s = last_shard(m);
    char name[NAME];

    if (!s || (s->cases && s->first_item == m->item_count && !m->trouble_count))
        return 0;
    if (m->item_count == 0 && s->cases == 0)
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "%s has no shard: run compress, bench or verify with --shard I/N",
                            name_of(name, m, s->file));
    return gcb_diag_set(diag, GCB_E_CORRUPT,
                        "%s: the results end without their `shard` row: the run had no --shard, "
                        "or was cut short; run it again",
                        name_of(name, m, s->file));
}

static int take_environment(struct gcb_merge *m, const struct gcb_results_row *row,
                            struct gcb_diag *diag)
{
    struct gcb_merge_shard *s;
    int err = end_shard(m, diag);

    if (err)
        return err;
    if (gcb_grow(&m->shards, &m->shard_cap, m->shard_count, sizeof(*m->shards)))
        return gcb_diag_nomem(diag, 0, "the shards");
    s = &m->shards[m->shard_count++];
    *s = (struct gcb_merge_shard){
        .file = m->file,
        .environment = json_deep_copy(row->json),
        .first_item = m->item_count,
    };
    if (!s->environment)
        return gcb_diag_nomem(diag, 0, "a row");
    return check_environment(m, s, diag);
}

static int take_result(struct gcb_merge *m, const struct gcb_results_row *row,
                       struct gcb_diag *diag)
{
    const bool numbered = !isnan(gcb_results_real(row->json, GCB_FIELD_MESSAGE));
    const char *spec = gcb_results_text(row->json, GCB_FIELD_SPEC);
    const char *promise = gcb_results_text(row->json, GCB_FIELD_PROMISE);
    struct gcb_merge_item *item;
    char name[NAME];

    if (!spec || !numbered || row->length > UINT32_MAX)
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "%s: line %" PRIu64 ": the row has no number of its message: it comes "
                            "from another version of gcbench",
                            name_of(name, m, m->file), row->line);
    if (gcb_grow(&m->items, &m->item_cap, m->item_count, sizeof(*m->items)))
        return gcb_diag_nomem(diag, 0, "the rows");
    item = &m->items[m->item_count++];
    *item = (struct gcb_merge_item){
        .file = m->file,
        .length = (uint32_t)row->length,
        .message = gcb_results_u64(row->json, GCB_FIELD_MESSAGE),
        .offset = row->offset,
        .line = row->line,
        .spec = gcb_strings_keep(&m->texts, spec),
        .promise = promise ? gcb_strings_keep(&m->texts, promise) : NULL,
    };
    return item->spec && (item->promise || !promise) ? 0 : gcb_diag_nomem(diag, 0, "a method");
}

static int take_summary(struct gcb_merge *m, const struct gcb_results_row *row,
                        struct gcb_diag *diag)
{
    const char *status = gcb_results_text(row->json, GCB_FIELD_STATUS);
    const char *spec = gcb_results_text(row->json, GCB_FIELD_SPEC);
    const char *reason = gcb_results_text(row->json, GCB_FIELD_REASON);
    struct gcb_merge_trouble *t;

    if (!status || !spec || strcmp(status, "ok") == 0)
        return 0;
    if (gcb_grow(&m->troubles, &m->trouble_cap, m->trouble_count, sizeof(*m->troubles)))
        return gcb_diag_nomem(diag, 0, "the summaries");
    t = &m->troubles[m->trouble_count++];
    *t = (struct gcb_merge_trouble){gcb_strings_keep(&m->texts, spec),
                                    gcb_strings_keep(&m->texts, status),
                                    reason ? gcb_strings_keep(&m->texts, reason) : NULL};
    return t->spec && t->status ? 0 : gcb_diag_nomem(diag, 0, "the summaries");
}

/* Adds the case of the first shard. */
static int add_case(struct gcb_merge *m, const json_t *row, struct gcb_diag *diag)
{
    const size_t methods = json_array_size(gcb_results_json(row, GCB_FIELD_METHODS));
    struct gcb_merge_common *c;

    if (gcb_grow(&m->cases, &m->case_cap, m->case_count, sizeof(*m->cases)))
        return gcb_diag_nomem(diag, 0, "the cases");
    c = &m->cases[m->case_count++];
    *c = (struct gcb_merge_common){
        .row = json_deep_copy(row),
        .method_count = methods,
        .failures = gcb_alloc_zero(methods, sizeof(*c->failures)),
    };
    return c->row && c->failures ? 0 : gcb_diag_nomem(diag, 0, "the cases");
}

/* Notes that a method failed in this shard. The first message that failed in any shard counts. */
static void note_failure(struct gcb_merge *m, struct gcb_merge_failure *f, const char *spec,
                         uint64_t at)
{
    if (f->failed && f->at <= at)
        return;
    *f = (struct gcb_merge_failure){.failed = true, .at = at};
    for (size_t i = 0; i < m->trouble_count; i++)
        if (strcmp(m->troubles[i].spec, spec) == 0) {
            f->unsupported = strcmp(m->troubles[i].status, "unsupported") == 0;
            f->reason = m->troubles[i].reason;
        }
}

/* Gives the items of a shard's case their method, adds their number to *known, and checks that no row is missing. A method
 * of `compress` or `bench` that failed has fewer rows. */
static int check_method(struct gcb_merge *m, const json_t *row, uint32_t method, size_t *known,
                        struct gcb_diag *diag)
{
    const struct gcb_merge_shard *s = last_shard(m);
    struct gcb_merge_common *c = &m->cases[s->cases];
    const char *spec =
        json_string_value(json_array_get(gcb_results_json(row, GCB_FIELD_METHODS), method));
    const json_t *failed = json_array_get(gcb_results_json(row, GCB_FIELD_FAILED_AT), method);
    const json_t *checks = json_array_get(gcb_results_json(row, GCB_FIELD_CHECKS), method);
    const char *device = gcb_results_text(row, GCB_FIELD_DEVICE);
    uint64_t rows =
        gcb_results_u64(row, GCB_FIELD_MESSAGES) - gcb_results_u64(row, GCB_FIELD_SKIPPED_MESSAGES);
    uint64_t count = 0;
    char name[NAME], shown[128];

    spec = spec ? spec : "";
    if (strcmp(spec, gcb_copy_method.name) == 0 && device && strcmp(device, "cpu") != 0)
        rows = 0; /* copies are timed only on the CPU */
    if (checks)
        rows = (uint64_t)json_integer_value(checks);
    for (size_t i = s->first_item; i < m->item_count; i++)
        if (strcmp(m->items[i].spec, spec) == 0) {
            m->items[i].run_case = (uint32_t)s->cases;
            m->items[i].method = method;
            count++;
        }
    *known += count;
    if (json_is_integer(failed))
        note_failure(m, &c->failures[method], spec, (uint64_t)json_integer_value(failed));
    if (count == rows || (json_is_integer(failed) && !checks))
        return 0;
    return gcb_diag_set(diag, GCB_E_CORRUPT,
                        "%s: %" PRIu64 " rows of %s, not %" PRIu64 ": rows were lost or repeated%s",
                        name_of(name, m, s->file), count, gcb_escape(shown, sizeof(shown), spec),
                        rows, checks ? "" : ", or left out by --per none");
}

static int refuse_shard(const struct gcb_merge *m, const struct gcb_merge_shard *s,
                        const char *what, struct gcb_diag *diag)
{
    char name[NAME];

    return gcb_diag_set(diag, GCB_E_INVALID, "%s: shard %" PRIu32 "/%" PRIu32 " %s",
                        name_of(name, m, s->file), s->index, s->count, what);
}

/* Refuses a shard that an earlier file has too. */
static int check_double(const struct gcb_merge *m, struct gcb_diag *diag)
{
    const struct gcb_merge_shard *s = &m->shards[m->shard_count - 1];
    char text[NAME + 40] = "is there twice, first in ";

    for (size_t i = 0; i + 1 < m->shard_count; i++)
        if (m->shards[i].index == s->index) {
            name_of(text + strlen(text), m, m->shards[i].file);
            return refuse_shard(m, s, text, diag);
        }
    return 0;
}

/* The `shard` row ends a case of a shard. */
static int take_shard(struct gcb_merge *m, const struct gcb_results_row *row, struct gcb_diag *diag)
{
    struct gcb_merge_shard *s = last_shard(m);
    const char *status = gcb_results_text(row->json, GCB_FIELD_STATUS);
    struct gcb_merge_common *c;
    size_t known = 0;
    int err = 0;

    s->index = (uint32_t)gcb_results_u64(row->json, GCB_FIELD_SHARD_INDEX);
    s->count = (uint32_t)gcb_results_u64(row->json, GCB_FIELD_SHARDS);
    if (status && strcmp(status, "budget") == 0)
        return refuse_shard(
            m, s, "stopped before its last check: run it again with a larger --budget", diag);
    if (!status || strcmp(status, "ok") != 0)
        return refuse_shard(m, s, "was interrupted: run it again", diag);
    if (s->index >= s->count)
        return refuse_shard(m, s, "does not exist: the file was changed", diag);
    if (m->shard_count == 1)
        err = add_case(m, row->json, diag);
    else if (s->cases == m->case_count)
        err = refuse_shard(m, s, "has more cases than the first file", diag);
    else
        err = check_case(m, s, row->json, diag);
    if (!err && s->cases == 0)
        err = check_double(m, diag);
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
    m->trouble_count = 0;
    return err;
}

static int take_row(void *ctx, const struct gcb_results_row *row, struct gcb_diag *diag)
{
    struct gcb_merge *m = ctx;
    const struct gcb_merge_shard *s = last_shard(m);
    char name[NAME];

    if (row->kind == GCB_RECORD_ENVIRONMENT)
        return take_environment(m, row, diag);
    if (!s || s->file != m->file)
        return gcb_diag_set(diag, GCB_E_CORRUPT,
                            "%s: no `environment` row in front of line %" PRIu64
                            ": the beginning of the results is missing",
                            name_of(name, m, m->file), row->line);
    switch (row->kind) {
    case GCB_RECORD_RESULT:
    case GCB_RECORD_PROMISE:
        return take_result(m, row, diag);
    case GCB_RECORD_SUMMARY:
        return take_summary(m, row, diag);
    case GCB_RECORD_SHARD:
        return take_shard(m, row, diag);
    case GCB_RECORD_ANSWER: /* of a run without --shard, which end_shard refuses */
        return 0;
    default:
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "%s: line %" PRIu64
                            ": a row of record `%s`, which merge cannot join: it joins results of "
                            "compress, bench and verify",
                            name_of(name, m, m->file), row->line, row->record);
    }
}

static int read_file(struct gcb_merge *m, uint32_t file, struct gcb_diag *diag)
{
    struct stat s;
    char name[NAME];
    int err;

    m->file = file;
    if (strcmp(m->files[file], "-") == 0 || (stat(m->files[file], &s) == 0 && !S_ISREG(s.st_mode)))
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "%s is not a regular file: merge reads its files twice",
                            name_of(name, m, file));
    err = gcb_results_read(NULL, m->files[file], GCB_RESULTS_ALL, take_row, m, diag);
    return err ? err : end_shard(m, diag);
}

/* ---- all files together ---- */

/* Names the shards that are missing, at most eight of them. */
static int check_missing(const struct gcb_merge *m, struct gcb_diag *diag)
{
    const uint32_t count = m->shards[0].count;
    char list[160] = "";
    uint32_t missing = 0;

    for (uint32_t i = 0; m->shard_count < count && i < count; i++) {
        size_t k = 0;

        while (k < m->shard_count && m->shards[k].index != i)
            k++;
        if (k < m->shard_count)
            continue;
        if (missing++ < 8)
            gcb_append(list, sizeof(list), "%s%" PRIu32, missing > 1 ? ", " : "", i);
        else
            break;
    }
    if (missing == 0)
        return 0;
    return gcb_diag_set(diag, GCB_E_INVALID,
                        "missing: shard%s %s%s of %" PRIu32
                        ", numbered from 0: give their results too",
                        missing > 1 ? "s" : "", list, missing > 8 ? ", ..." : "", count);
}

static int compare_places(const struct gcb_merge_item *x, const struct gcb_merge_item *y)
{
    if (x->run_case != y->run_case)
        return x->run_case < y->run_case ? -1 : 1;
    if (x->message != y->message)
        return x->message < y->message ? -1 : 1;
    return (x->method > y->method) - (x->method < y->method);
}

/* The promises of a method on a message stay in the order of their shard. */
static int by_place(const void *a, const void *b)
{
    const struct gcb_merge_item *x = a, *y = b;
    const int order = compare_places(x, y);

    return order ? order : (x->offset > y->offset) - (x->offset < y->offset);
}

/* Rows with the same promise become neighbours. A text is stored once, so its address tells promises apart. */
static int by_promise(const void *a, const void *b)
{
    const struct gcb_merge_item *x = a, *y = b;
    const int order = compare_places(x, y);
    const uintptr_t p = (uintptr_t)x->promise, q = (uintptr_t)y->promise;

    return order ? order : p != q ? (p > q) - (p < q) : by_place(a, b);
}

/* Sorts the rows, and refuses a message that is there twice or that the plan does not have. */
static int sort_items(struct gcb_merge *m, struct gcb_diag *diag)
{
    char here[NAME], there[NAME];

    if (m->item_count)
        qsort(m->items, m->item_count, sizeof(*m->items), by_promise);
    for (size_t i = 0; i < m->item_count; i++) {
        const struct gcb_merge_item *x = &m->items[i], *twin = i > 0 ? x - 1 : NULL;

        if (twin && compare_places(twin, x) == 0 && twin->promise == x->promise)
            return gcb_diag_set(diag, GCB_E_CORRUPT,
                                "message %" PRIu64 " of %s is there twice: in %s, line %" PRIu64
                                ", and in %s, line %" PRIu64,
                                x->message, x->spec, name_of(there, m, twin->file), twin->line,
                                name_of(here, m, x->file), x->line);
        if (x->message >= gcb_results_u64(m->cases[x->run_case].row, GCB_FIELD_ALL_MESSAGES))
            return gcb_diag_set(diag, GCB_E_CORRUPT,
                                "%s: line %" PRIu64 ": the run has no message %" PRIu64,
                                name_of(here, m, x->file), x->line, x->message);
    }
    if (m->item_count && gcb_merge_of_verify(m))
        qsort(m->items, m->item_count, sizeof(*m->items), by_place);
    return 0;
}

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
    struct gcb_merge *m = gcb_alloc_zero(1, sizeof(*m));
    int err = 0;

    if (!m)
        return gcb_diag_nomem(diag, sizeof(*m), "the shards");
    m->files = files;
    m->file_count = count;
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
        gcb_free(m->cases[i].failures);
    }
    gcb_free(m->shards);
    gcb_free(m->cases);
    gcb_free(m->troubles);
    gcb_free(m->items);
    gcb_strings_fini(&m->texts);
    gcb_free(m);
}

uint32_t gcb_merge_shards(const struct gcb_merge *m)
{
    return m->shards[0].count;
}

bool gcb_merge_of_verify(const struct gcb_merge *m)
{
    return is_verify(m->cases[0].row);
}
