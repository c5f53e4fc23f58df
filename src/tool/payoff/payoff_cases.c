#include "src/tool/payoff/payoff_cases.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/rows/results.h"

/* A case while its rows are read. */
struct builder {
    struct gcb_payoff_case c;
    struct gcb_payoff_sums summary;
    struct gcb_fit_sums fit[GCB_PAYOFF_QUANTITIES];
    struct exchange {
        uint64_t step, worker;
    } * exchanges; /* the steps and workers seen so far */
    size_t exchange_count, exchange_cap;
    size_t order; /* number of the case, in the order of the cases' first rows */
};

struct gcb_payoff_reader {
    struct builder *items;
    size_t count, cap;
    json_t *case_index;  /* maps the key of a case to its index in items */
    json_t *group_index; /* maps the key of a group to its number */
    uint64_t left_out;
    json_t *environment; /* the file's last environment row, or NULL */
};

/* The texts of a case, cut to `size` bytes. All cases of a group have the same texts, except the first text (the spec)
 * and the last text (the method). */
static const struct {
    enum gcb_field field;
    size_t offset, size;
} texts[] = {
    {GCB_FIELD_SPEC, offsetof(struct gcb_payoff_case, spec), 512},
    {GCB_FIELD_SCOPE, offsetof(struct gcb_payoff_case, scope), 32},
    {GCB_FIELD_DEVICE, offsetof(struct gcb_payoff_case, device), 64},
    {GCB_FIELD_ISA, offsetof(struct gcb_payoff_case, isa), 32},
    {GCB_FIELD_CACHE, offsetof(struct gcb_payoff_case, cache), 32},
    {GCB_FIELD_METHOD, offsetof(struct gcb_payoff_case, method), 64},
};
#define TEXTS (sizeof(texts) / sizeof(texts[0]))

static char **text_at(struct gcb_payoff_case *c, size_t i)
{
    return (char **)(void *)((char *)c + texts[i].offset);
}

static void case_fini(struct gcb_payoff_case *c)
{
    for (size_t i = 0; i < TEXTS; i++)
        gcb_free(*text_at(c, i));
    gcb_free(c->path);
}

int gcb_payoff_reader_create(struct gcb_payoff_reader **out, struct gcb_diag *diag)
{
    struct gcb_payoff_reader *r = gcb_alloc_zero(1, sizeof(*r));

    *out = r;
    if (r) {
        r->case_index = json_object();
        r->group_index = json_object();
    }
    if (r && r->case_index && r->group_index)
        return 0;
    gcb_payoff_reader_destroy(r);
    *out = NULL;
    return gcb_diag_nomem(diag, sizeof(*r), "a reader of results");
}

void gcb_payoff_reader_destroy(struct gcb_payoff_reader *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->count; i++) {
        case_fini(&r->items[i].c);
        gcb_free(r->items[i].exchanges);
    }
    gcb_free(r->items);
    json_decref(r->environment);
    json_decref(r->case_index);
    json_decref(r->group_index);
    gcb_free(r);
}

void gcb_payoff_cases_fini(struct gcb_payoff_cases *c)
{
    for (size_t i = 0; i < c->count; i++)
        case_fini(&c->items[i]);
    gcb_free(c->items);
    memset(c, 0, sizeof(*c));
}

/* ---- what identifies a case ---- */

/* Makes a key from the texts of a case from number `first` on, the threads and the path. The byte between them does
 * not occur in escaped texts. */
#define KEY_TEXT 8192
static void make_key(char out[KEY_TEXT], struct gcb_payoff_case *c, size_t first)
{
    out[0] = '\0';
    /* Leave out the method: the spec begins with it. */
    for (size_t i = first; texts[i].field != GCB_FIELD_METHOD; i++)
        gcb_append(out, KEY_TEXT, "%s\x1f", *text_at(c, i));
    gcb_append(out, KEY_TEXT, "%llu\x1f%s", (unsigned long long)c->threads, c->path);
}

/* Returns the number of a name. A new name is added with the number `fresh`. Returns SIZE_MAX if memory runs out. */
static size_t find_number(json_t *index, const char *name, size_t fresh)
{
    const json_t *known = json_object_get(index, name);

    if (known)
        return (size_t)json_integer_value(known);
    return json_object_set_new_nocheck(index, name, json_integer((json_int_t)fresh)) ? SIZE_MAX
                                                                                     : fresh;
}

/* Keeps a copy of the environment row instead of the last one. `row` may be NULL. */
static void keep_environment(struct gcb_payoff_reader *r, const json_t *row)
{
    json_decref(r->environment);
    r->environment = row ? json_deep_copy(row) : NULL;
}

/* Returns the bytes per second that `threads` threads copy. If this number of threads was not measured, returns the
 * bandwidth of the run's threads. */
static double find_copy(const json_t *environment, uint64_t threads)
{
    const json_t *list = gcb_results_json(environment, GCB_FIELD_BANDWIDTHS);

    for (size_t i = 0; i < json_array_size(list); i++)
        if (gcb_results_u64(json_array_get(list, i), GCB_FIELD_THREADS) == threads)
            return 1e9 * gcb_results_real(json_array_get(list, i), GCB_FIELD_COPY_GBPS);
    return 1e9 * gcb_results_real(environment, GCB_FIELD_COPY_GBPS);
}

/* Reads the fields that identify the row's case. Returns GCB_E_NOMEM if memory runs out. */
static int read_identity(struct gcb_payoff_case *c, const struct gcb_results_row *row)
{
    char buffer[512];

    memset(c, 0, sizeof(*c));
    c->threads = gcb_results_u64(row->json, GCB_FIELD_THREADS);
    c->path = gcb_strdup(row->path);
    for (size_t i = 0; i < TEXTS; i++) {
        const char *text = gcb_results_text(row->json, texts[i].field);

        *text_at(c, i) = gcb_strdup(gcb_escape(buffer, texts[i].size, text ? text : ""));
        if (!*text_at(c, i))
            return GCB_E_NOMEM;
    }
    return c->path ? 0 : GCB_E_NOMEM;
}

/* Adds a case and takes over its texts. Returns GCB_E_NOMEM if memory runs out. */
static int add_case(struct gcb_payoff_reader *r, const struct gcb_payoff_case *identity)
{
    char key[KEY_TEXT];
    struct gcb_method m;
    struct gcb_payoff_case *c;

    if (gcb_grow(&r->items, &r->cap, r->count, sizeof(*r->items)))
        return GCB_E_NOMEM;
    r->items[r->count] = (struct builder){.c = *identity, .order = r->count};
    c = &r->items[r->count++].c;
    make_key(key, c, 1);
    c->group = find_number(r->group_index, key, json_object_size(r->group_index));
    c->baseline = strcmp(c->method, "identity") == 0 || strcmp(c->method, "fp16") == 0;
    c->copy = find_copy(r->environment, c->threads);
    c->load1 = gcb_results_real(r->environment, GCB_FIELD_LOAD1);
    c->cpus = gcb_results_real(r->environment, GCB_FIELD_CPUS);
    gcb_method_label(c->label, sizeof(c->label), c->spec);
    if (!gcb_method_read(&m, c->spec, NULL))
        c->sums = gcb_method_caps(&m) & GCB_CAP_LINEAR;
    return c->group == SIZE_MAX ? GCB_E_NOMEM : 0;
}

/* Finds the row's case, or adds the case. Returns GCB_E_NOMEM if memory runs out. */
static int find_case(struct gcb_payoff_reader *r, struct builder **out,
                     const struct gcb_results_row *row)
{
    char key[KEY_TEXT];
    struct gcb_payoff_case identity;
    const size_t fresh = r->count;
    size_t at = SIZE_MAX;
    int err = read_identity(&identity, row);

    if (!err) {
        make_key(key, &identity, 0);
        at = find_number(r->case_index, key, fresh);
        err = at == SIZE_MAX ? GCB_E_NOMEM : 0;
    }
    if (!err && at == fresh)
        err = add_case(r, &identity);
    if (at != fresh || r->count == fresh)
        case_fini(&identity);
    *out = err ? NULL : &r->items[at];
    return err;
}

/* ---- rows ---- */

static const enum gcb_field values[GCB_PAYOFF_QUANTITIES] = {
    GCB_FIELD_WIRE_BYTES, GCB_FIELD_ENCODE_SECONDS, GCB_FIELD_DECODE_SECONDS};

static void add_row(struct gcb_payoff_sums *s, const json_t *row)
{
    static const enum gcb_field stages[] = {GCB_FIELD_TRANSFORM_SECONDS, GCB_FIELD_SELECT_SECONDS,
                                            GCB_FIELD_QUANTISE_SECONDS, GCB_FIELD_INDEX_SECONDS};
    const double messages = gcb_results_real(row, GCB_FIELD_MESSAGES);
    const double elements = gcb_results_real(row, GCB_FIELD_ELEMENTS);
    const double error = gcb_results_real(row, GCB_FIELD_REL_L2);

    s->rows += 1.0;
    s->messages += isnan(messages) ? 1.0 : messages;
    s->elements += elements;
    s->error += error * error * elements;
    for (size_t i = 0; i < GCB_PAYOFF_QUANTITIES; i++)
        s->value[i] += gcb_results_real(row, values[i]);
    for (size_t i = 0; i < 4; i++)
        s->stage[i] += gcb_results_real(row, stages[i]);
}

/* Counts each step and worker once. Rows come step by step, so the search begins at the last exchange, which nearly
 * always matches. */
static int add_exchange(struct builder *b, const json_t *row)
{
    const struct exchange e = {gcb_results_u64(row, GCB_FIELD_STEP),
                               gcb_results_u64(row, GCB_FIELD_WORKER)};

    for (size_t i = b->exchange_count; i-- > 0;)
        if (b->exchanges[i].step == e.step && b->exchanges[i].worker == e.worker)
            return 0;
    if (gcb_grow(&b->exchanges, &b->exchange_cap, b->exchange_count, sizeof(*b->exchanges)))
        return GCB_E_NOMEM;
    b->exchanges[b->exchange_count++] = e;
    return 0;
}

static bool is_usable(const json_t *row)
{
    const char *status = gcb_results_text(row, GCB_FIELD_STATUS);

    return status && strcmp(status, "ok") == 0 &&
           gcb_results_real(row, GCB_FIELD_ENCODE_SECONDS) >= 0.0 &&
           gcb_results_real(row, GCB_FIELD_DECODE_SECONDS) >= 0.0 &&
           gcb_results_real(row, GCB_FIELD_ELEMENTS) > 0.0 &&
           gcb_results_real(row, GCB_FIELD_WIRE_BYTES) > 0.0;
}

/* Is the decoded gradient sparse? Sparsifiers have a density below 1. But if they keep elements of a transform, the
 * inverse transform makes nearly all decoded elements nonzero. */
static bool is_sparse(const json_t *row)
{
    const char *transform =
        json_string_value(json_object_get(gcb_results_json(row, GCB_FIELD_PARAMS), "transform"));

    return gcb_results_real(row, GCB_FIELD_DENSITY) < 1.0 &&
           (!transform || strcmp(transform, "none") == 0);
}

static int add_result(struct builder *b, const json_t *row)
{
    const double bytes = 4.0 * gcb_results_real(row, GCB_FIELD_ELEMENTS);

    add_row(&b->c.total, row);
    for (size_t i = 0; i < GCB_PAYOFF_QUANTITIES; i++)
        gcb_fit_add(&b->fit[i], bytes, gcb_results_real(row, values[i]));
    return add_exchange(b, row);
}

static int read_row(void *ctx, const struct gcb_results_row *row, struct gcb_diag *diag)
{
    struct gcb_payoff_reader *r = ctx;
    const bool result = row->kind == GCB_RECORD_RESULT;
    const char *method = gcb_results_text(row->json, GCB_FIELD_METHOD);
    struct builder *b;
    char path[256];

    if (row->kind == GCB_RECORD_ENVIRONMENT)
        keep_environment(r, row->json);
    if (!result && row->kind != GCB_RECORD_SUMMARY)
        return 0;
    if (!method || !gcb_results_text(row->json, GCB_FIELD_SPEC))
        return gcb_diag_set(diag, GCB_E_CORRUPT, "%s: line %llu: a %s without method and spec",
                            gcb_escape(path, sizeof(path), row->path),
                            (unsigned long long)row->line, row->record);
    if (strcmp(method, "memcpy") == 0)
        return 0; /* memcpy rows measure the machine, not a method */
    if (!is_usable(row->json)) {
        r->left_out++;
        return 0;
    }
    if (find_case(r, &b, row))
        return gcb_diag_nomem(diag, 0, "cases");
    b->c.sparse = is_sparse(row->json);
    b->c.searched = gcb_results_text(row->json, GCB_FIELD_MATCH_FIELD) != NULL;
    b->c.missed = b->c.searched && !gcb_results_bool(row->json, GCB_FIELD_MATCH_REACHED);
    /* the deviation of times is null if there was only one run */
    b->c.single_run |= json_is_null(gcb_results_json(row->json, GCB_FIELD_ENCODE_SECONDS_MAD));
    if (result && add_result(b, row->json))
        return gcb_diag_nomem(diag, 0, "steps and workers");
    if (!result)
        add_row(&b->summary, row->json);
    return 0;
}

int gcb_payoff_reader_file(struct gcb_payoff_reader *r, const char *path, struct gcb_diag *diag)
{
    keep_environment(r, NULL);
    return gcb_results_read(path, GCB_RESULTS_ALL, read_row, r, diag);
}

int gcb_payoff_reader_row(struct gcb_payoff_reader *r, const char *path, const json_t *row,
                          struct gcb_diag *diag)
{
    const char *record = gcb_results_text(row, GCB_FIELD_RECORD);

    return read_row(r,
                    &(struct gcb_results_row){.json = row,
                                              .record = record ? record : "",
                                              .kind = gcb_record_find(record),
                                              .path = path,
                                              .line = 1},
                    diag);
}

/* Completes a case and moves it, with its texts, to *out. */
static void finish_case(struct gcb_payoff_case *out, struct builder *b)
{
    const struct gcb_payoff_sums *errors = b->summary.rows > 0.0 ? &b->summary : &b->c.total;

    b->c.rel_l2 = sqrt(errors->error / errors->elements);
    *out = b->c;
    memset(&b->c, 0, sizeof(b->c));
    out->exchanges = (double)b->exchange_count;
    out->summary_only = out->total.rows == 0.0;
    if (out->summary_only) {
        out->total = b->summary;
        out->exchanges = 1.0;
    }
    for (size_t i = 0; i < GCB_PAYOFF_QUANTITIES; i++) {
        if (out->summary_only)
            gcb_fit_add(&b->fit[i], 4.0 * out->total.elements, out->total.value[i]);
        gcb_fit_line(&out->fit[i], &b->fit[i]);
    }
}

static int compare_cases(const void *a, const void *b)
{
    const struct builder *x = a, *y = b;

    if (x->c.group != y->c.group)
        return x->c.group < y->c.group ? -1 : 1;
    if (x->c.baseline != y->c.baseline)
        return x->c.baseline ? 1 : -1;
    return (x->order > y->order) - (x->order < y->order);
}

int gcb_payoff_reader_finish(struct gcb_payoff_reader *r, struct gcb_payoff_cases *out,
                             struct gcb_diag *diag)
{
    memset(out, 0, sizeof(*out));
    if (r->count == 0)
        return gcb_diag_set(diag, GCB_E_CORRUPT,
                            "the results have no method with times; `bench --results` and "
                            "`compress --results` write them");
    out->items = gcb_alloc_zero(r->count, sizeof(*out->items));
    if (!out->items)
        return gcb_diag_nomem(diag, 0, "cases");
    qsort(r->items, r->count, sizeof(*r->items), compare_cases);
    for (size_t i = 0; i < r->count; i++)
        finish_case(&out->items[out->count++], &r->items[i]);
    out->left_out = r->left_out;
    return 0;
}

/* ---- selection ---- */

/* Is `piece`, which has `length` characters, one of the parameters of the spec? */
static bool has_parameter(const char *spec, const char *piece, size_t length)
{
    const char *at = strchr(spec, ':');

    while (at) {
        at++;
        if (strcspn(at, ",") == length && strncmp(at, piece, length) == 0)
            return true;
        at = strchr(at, ',');
    }
    return false;
}

/* Does the spec name the method of the case? */
static bool has_method(const struct gcb_payoff_case *c, const char *spec)
{
    const size_t name = strcspn(spec, ":");

    return strlen(c->method) == name && strncmp(c->method, spec, name) == 0;
}

static bool is_named(const char *wanted, const struct gcb_payoff_case *c)
{
    const char *at = wanted + strcspn(wanted, ":");

    if (strcmp(wanted, c->label) == 0 || strcmp(wanted, c->spec) == 0)
        return true;
    if (!has_method(c, wanted))
        return false;
    while (*at) {
        const size_t length = strcspn(++at, ",");

        if (length > 0 && !has_parameter(c->spec, at, length))
            return false;
        at += length;
    }
    return true;
}

/* Lists the measured settings of the wanted method, "a:x=1, a:x=2", as far as there is room, and returns true. If the
 * method was not measured, lists all measured methods and returns false. */
static bool list_settings(char *out, size_t size, const struct gcb_payoff_cases *c,
                          const char *wanted)
{
    bool known = false;

    for (size_t i = 0; i < c->count; i++)
        known |= has_method(&c->items[i], wanted);
    out[0] = '\0';
    for (size_t i = 0; i < c->count; i++) {
        const struct gcb_payoff_case *at = &c->items[i];
        const char *text = known ? at->label : at->method;

        if (known && !has_method(at, wanted))
            continue;
        if (i > 0 && strcmp(text, known ? at[-1].label : at[-1].method) == 0)
            continue;
        if (strlen(out) + strlen(text) + sizeof(", , ...") > size) {
            gcb_append(out, size, out[0] ? ", ..." : "...");
            break;
        }
        gcb_append(out, size, "%s%s", out[0] ? ", " : "", text);
    }
    return known;
}

/* Marks the cases that `wanted` names. Fails if it names no case. */
static int mark_wanted(bool *keep, const struct gcb_payoff_cases *c, const char *wanted,
                       struct gcb_diag *diag)
{
    char shown[128], settings[200];
    bool found = false, known;

    for (size_t i = 0; i < c->count; i++)
        if (is_named(wanted, &c->items[i]))
            keep[i] = found = true;
    if (found)
        return 0;
    known = list_settings(settings, sizeof(settings), c, wanted);
    return gcb_diag_set(
        diag, GCB_E_INVALID, "--method %s: not in the results, which have times of %s%s",
        gcb_escape(shown, sizeof(shown), wanted), known ? "" : "these methods: ", settings);
}

/* Marks the baselines of groups with marked cases. */
static void mark_baselines(bool *keep, const struct gcb_payoff_cases *c)
{
    for (size_t i = 0; i < c->count; i++)
        for (size_t k = 0; k < c->count && c->items[i].baseline; k++)
            keep[i] |= keep[k] && c->items[k].group == c->items[i].group;
}

int gcb_payoff_select(struct gcb_payoff_cases *c, const char *const *specs, size_t count,
                      struct gcb_diag *diag)
{
    bool *keep = gcb_alloc_zero(c->count, sizeof(*keep));
    size_t kept = 0;
    int err = keep ? 0 : gcb_diag_nomem(diag, c->count, "cases");

    for (size_t i = 0; !err && i < count; i++)
        err = mark_wanted(keep, c, specs[i], diag);
    if (err)
        goto out;
    mark_baselines(keep, c);
    for (size_t i = 0; i < c->count; i++) {
        if (keep[i])
            c->items[kept++] = c->items[i];
        else
            case_fini(&c->items[i]);
    }
    c->count = kept;
out:
    gcb_free(keep);
    return err;
}

const struct gcb_payoff_case *gcb_payoff_find_fp16(const struct gcb_payoff_cases *cases,
                                                   size_t group)
{
    const struct gcb_payoff_case *found = NULL;

    /* the baselines of a group are its last cases, and there may be many cases before them */
    for (size_t i = cases->count; i-- > 0;) {
        const struct gcb_payoff_case *c = &cases->items[i];

        if (c->group == group && !c->baseline)
            break;
        if (c->group == group && strcmp(c->method, "fp16") == 0)
            found = c;
    }
    return found;
}
