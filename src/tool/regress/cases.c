#include "src/tool/regress/cases.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/lib/codec/method.h"
#include "src/tool/rows/results.h"

/*
 * gcbench writes texts into rows escaped, but a result file may come from anywhere and must not steer a terminal. So
 * everything unsafe is escaped again, except backslashes, which the first escaping wrote.
 */
static char *escape_again(const char *text)
{
    const size_t size = 4 * strlen(text) + 1;
    char *out = gcb_alloc(size), *to = out;

    if (!out)
        return NULL;
    gcb_escape(out, size, text);
    for (const char *from = out; *from; from++) {
        *to++ = *from;
        if (strncmp(from, "\\x5c", 4) == 0)
            from += 3;
    }
    *to = '\0';
    return out;
}

int gcb_case_set(char **field, const char *text)
{
    char *copy = escape_again(text ? text : "");

    if (!copy)
        return GCB_E_NOMEM;
    gcb_free(*field);
    *field = copy;
    return 0;
}

void gcb_case_remove_folders(char *files)
{
    char *begin = files, *to = files;

    for (const char *from = files; *from; from++) {
        *to++ = *from;
        if (*from == '/' && from[1] && from[1] != ',')
            to = begin;
        else if (strncmp(from, ", ", 2) == 0)
            begin = to + 1;
    }
    *to = '\0';
}

static void append_word(char *out, size_t size, const char *text)
{
    if (text[0])
        gcb_append(out, size, "%s%s", out[0] ? " " : "", text);
}

int gcb_case_make_name(struct gcb_case *c)
{
    char count[40] = "", threads[40];
    size_t size = 80;

    if (c->kernel)
        snprintf(count, sizeof(count), "n=%" PRIu64, c->elements);
    snprintf(threads, sizeof(threads), "t%" PRIu64, c->threads);
    if (gcb_case_set(&c->text[GCB_CASE_SIZE], count) ||
        gcb_case_set(&c->text[GCB_CASE_THREADS], threads) ||
        gcb_case_set(&c->text[GCB_CASE_FILES], c->text[GCB_CASE_FILE]))
        return GCB_E_NOMEM;
    gcb_case_remove_folders(c->text[GCB_CASE_FILES]);
    for (size_t i = 0; i < GCB_CASE_TEXTS; i++)
        size += strlen(c->text[i]) + 1;
    gcb_free(c->name);
    c->name = gcb_alloc_zero(size, 1);
    if (!c->name)
        return GCB_E_NOMEM;
    append_word(c->name, size, c->text[GCB_CASE_FILES]);
    for (size_t i = GCB_CASE_SCOPE; i < GCB_CASE_FILES; i++)
        append_word(c->name, size, c->text[i]);
    return 0;
}

struct gcb_case *gcb_cases_add(struct gcb_cases *cases)
{
    struct gcb_case *c;

    if (gcb_grow(&cases->items, &cases->cap, cases->count, sizeof(*cases->items)))
        return NULL;
    c = &cases->items[cases->count++];
    memset(c, 0, sizeof(*c));
    for (size_t i = 0; i < GCB_CASE_ERRORS; i++)
        c->errors[i] = NAN;
    for (size_t i = 0; i < 2; i++)
        c->time[i] = (struct gcb_case_time){NAN, NAN, NAN, NAN};
    for (size_t i = 0; i < GCB_CASE_TEXTS; i++)
        if (gcb_case_set(&c->text[i], NULL))
            return NULL;
    return gcb_case_set(&c->method, NULL) ? NULL : c;
}

static enum gcb_case_status parse_status(const char *text)
{
    if (!text || strcmp(text, "ok") == 0)
        return GCB_CASE_OK;
    if (strcmp(text, "unsupported") == 0)
        return GCB_CASE_UNSUPPORTED;
    return strcmp(text, "interrupted") == 0 ? GCB_CASE_INTERRUPTED : GCB_CASE_FAILED;
}

/* A time above zero, or NAN. */
static double positive(const struct gcb_results_row *row, enum gcb_field field)
{
    const double value = gcb_results_row_real(row, field);

    return value > 0.0 ? value : NAN;
}

static struct gcb_case_time read_time(const struct gcb_results_row *row,
                                      const struct gcb_times_fields *fields)
{
    return (struct gcb_case_time){positive(row, fields->seconds), positive(row, fields->min),
                                  positive(row, fields->low), positive(row, fields->high)};
}

const enum gcb_field gcb_case_fields[GCB_CASE_SIZE] = {GCB_FIELD_FILE, GCB_FIELD_SCOPE,
                                                       GCB_FIELD_SPEC, GCB_FIELD_DEVICE,
                                                       GCB_FIELD_ISA,  GCB_FIELD_CACHE};

static int read_texts(struct gcb_case *c, const struct gcb_results_row *row)
{
    const char *family = gcb_results_row_text(row, GCB_FIELD_FAMILY),
               *kernel = gcb_results_row_text(row, GCB_FIELD_KERNEL);
    char spec[256];
    int err = 0;

    for (size_t i = 0; !err && i < GCB_CASE_SIZE; i++)
        err = gcb_case_set(&c->text[i], gcb_results_row_text(row, gcb_case_fields[i]));
    if (!err && c->kernel) {
        snprintf(spec, sizeof(spec), "%s/%s", family ? family : "", kernel ? kernel : "");
        err = gcb_case_set(&c->text[GCB_CASE_SPEC], spec);
    }
    if (!err)
        err = gcb_case_set(&c->method, gcb_results_row_text(row, GCB_FIELD_METHOD));
    if (!err && gcb_results_row_text(row, GCB_FIELD_REASON))
        err = gcb_case_set(&c->reason, gcb_results_row_text(row, GCB_FIELD_REASON));
    return err;
}

static int read_case(struct gcb_cases *cases, const struct gcb_results_row *row, bool kernel)
{
    struct gcb_case *c = gcb_cases_add(cases);
    enum gcb_field errors[GCB_FIELDS];
    size_t count;

    if (!c)
        return GCB_E_NOMEM;
    c->kernel = kernel;
    c->line = row->line;
    c->threads = gcb_results_row_u64(row, GCB_FIELD_THREADS);
    c->elements = gcb_results_row_u64(row, GCB_FIELD_ELEMENTS);
    c->messages = gcb_results_row_u64(row, GCB_FIELD_MESSAGES);
    c->input_bytes = gcb_results_row_u64(row, GCB_FIELD_INPUT_BYTES);
    c->wire_bytes = gcb_results_row_u64(row, GCB_FIELD_WIRE_BYTES);
    c->header_bytes = gcb_results_row_u64(row, GCB_FIELD_HEADER_BYTES);
    count = gcb_field_gated(errors, GCB_GATE_ERROR);
    for (size_t i = 0; i < count && i < GCB_CASE_ERRORS; i++)
        c->errors[i] = gcb_results_row_real(row, errors[i]);
    c->status = parse_status(gcb_results_row_text(row, GCB_FIELD_STATUS));
    c->time[0] = read_time(row, kernel ? &gcb_kernel_fields : &gcb_encode_fields);
    if (!kernel)
        c->time[1] = read_time(row, &gcb_decode_fields);
    return read_texts(c, row) || gcb_case_make_name(c) ? GCB_E_NOMEM : 0;
}

/* Writes the fields of a summary or kernel row that a case needs. Returns how many. */
static size_t list_fields(enum gcb_field out[GCB_FIELDS])
{
    static const enum gcb_field own[] = {
        GCB_FIELD_FAMILY,     GCB_FIELD_KERNEL,       GCB_FIELD_METHOD,   GCB_FIELD_REASON,
        GCB_FIELD_THREADS,    GCB_FIELD_ELEMENTS,     GCB_FIELD_MESSAGES, GCB_FIELD_INPUT_BYTES,
        GCB_FIELD_WIRE_BYTES, GCB_FIELD_HEADER_BYTES, GCB_FIELD_STATUS};
    static const struct gcb_times_fields *const times[] = {&gcb_encode_fields, &gcb_decode_fields,
                                                           &gcb_kernel_fields};
    size_t n = gcb_field_gated(out, GCB_GATE_ERROR);

    for (size_t i = 0; i < GCB_CASE_SIZE; i++)
        out[n++] = gcb_case_fields[i];
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        out[n++] = own[i];
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        out[n++] = times[i]->seconds;
        out[n++] = times[i]->min;
        out[n++] = times[i]->low;
        out[n++] = times[i]->high;
    }
    return n;
}

static int read_row(void *ctx, const struct gcb_results_row *row, struct gcb_diag *diag)
{
    struct gcb_cases *cases = ctx;
    const bool kernel = row->kind == GCB_RECORD_KERNEL;
    const char *method = gcb_results_row_text(row, GCB_FIELD_METHOD);
    char shown[256];

    if (row->kind == GCB_RECORD_ENVIRONMENT) {
        if (cases->environment)
            return gcb_diag_set(diag, GCB_E_CORRUPT,
                                "%s: line %" PRIu64
                                ": a second environment row; give the results of one run per file",
                                gcb_escape(shown, sizeof(shown), row->path), row->line);
        cases->environment = json_deep_copy(row->json);
        return cases->environment ? 0 : gcb_diag_nomem(diag, 0, "the environment row");
    }
    if (!kernel && row->kind != GCB_RECORD_SUMMARY)
        return 0;
    if (method && strcmp(method, "memcpy") == 0) /* memcpy measures the machine, not the build */
        return 0;
    return read_case(cases, row, kernel) ? gcb_diag_nomem(diag, 0, "a case") : 0;
}

/* Makes "FILE NAME", which identifies a case in its file; the caller frees the text. NULL: no memory. */
static char *make_full_name(const struct gcb_case *c)
{
    const size_t size = strlen(c->text[GCB_CASE_FILE]) + strlen(c->name) + 2;
    char *name = gcb_alloc(size);

    if (name)
        snprintf(name, size, "%s %s", c->text[GCB_CASE_FILE], c->name);
    return name;
}

/* Fails if a case appears twice, because such a case cannot be paired. */
static int check_duplicates(const struct gcb_cases *cases, const char *path, struct gcb_diag *diag)
{
    json_t *lines = json_object(); /* line number of each name seen so far */
    char shown[200], name[200];
    int err = lines ? 0 : GCB_E_NOMEM;

    for (size_t i = 0; !err && i < cases->count; i++) {
        const struct gcb_case *c = &cases->items[i];
        char *key = make_full_name(c);
        const json_t *line = key ? json_object_get(lines, key) : NULL;

        if (line)
            err = gcb_diag_set(diag, GCB_E_CORRUPT,
                               "%s: lines %" JSON_INTEGER_FORMAT " and %" PRIu64
                               " are the same case, %.150s",
                               gcb_escape(shown, sizeof(shown), path), json_integer_value(line),
                               c->line, gcb_escape(name, sizeof(name), c->name));
        else if (!key || json_object_set_new_nocheck(lines, key, json_integer((json_int_t)c->line)))
            err = GCB_E_NOMEM;
        gcb_free(key);
    }
    json_decref(lines);
    return err == GCB_E_NOMEM ? gcb_diag_nomem(diag, 0, "cases") : err;
}

int gcb_cases_read(struct gcb_cases *out, const char *path, FILE *file, struct gcb_diag *diag)
{
    const unsigned rows = GCB_RECORD_BIT(GCB_RECORD_SUMMARY) | GCB_RECORD_BIT(GCB_RECORD_KERNEL);
    enum gcb_field fields[GCB_FIELDS];
    const struct gcb_results_needs needs = {
        .records = rows | GCB_RECORD_BIT(GCB_RECORD_ENVIRONMENT),
        .field_records = rows,
        .fields = fields,
        .field_count = list_fields(fields),
    };
    char shown[256];
    int err;

    memset(out, 0, sizeof(*out));
    err = gcb_results_read_fields(file, path, &needs, read_row, out, diag);
    if (!err && out->count == 0)
        err =
            gcb_diag_set(diag, GCB_E_CORRUPT,
                         "%s: there are no `summary` or `kernel` rows in this file; `gcbench bench "
                         "--results FILE` writes them",
                         gcb_escape(shown, sizeof(shown), path));
    return err ? err : check_duplicates(out, path, diag);
}

void gcb_cases_fini(struct gcb_cases *cases)
{
    for (size_t i = 0; i < cases->count; i++) {
        struct gcb_case *c = &cases->items[i];

        for (size_t t = 0; t < GCB_CASE_TEXTS; t++)
            gcb_free(c->text[t]);
        gcb_free(c->name);
        gcb_free(c->label);
        gcb_free(c->method);
        gcb_free(c->reason);
    }
    gcb_free(cases->items);
    json_decref(cases->environment);
    memset(cases, 0, sizeof(*cases));
}

/* Which texts differ between cases, and so belong into their labels. */
struct label_parts {
    const struct gcb_case *first;
    bool text[GCB_CASE_TEXTS];
};

static void find_differences(struct label_parts *v, const struct gcb_cases *cases)
{
    for (size_t i = 0; i < cases->count; i++) {
        const struct gcb_case *c = &cases->items[i];

        v->first = v->first ? v->first : c;
        for (size_t t = 0; t < GCB_CASE_TEXTS; t++)
            v->text[t] |= strcmp(c->text[t], v->first->text[t]) != 0;
    }
}

static int make_label(struct gcb_case *c, const struct label_parts *v)
{
    static const enum gcb_case_text order[] = {GCB_CASE_FILES, GCB_CASE_SCOPE, GCB_CASE_DEVICE,
                                               GCB_CASE_ISA,   GCB_CASE_CACHE, GCB_CASE_THREADS};
    char out[1024];

    if (c->kernel)
        snprintf(out, sizeof(out), "%s", c->text[GCB_CASE_SPEC]);
    else
        gcb_method_label(out, sizeof(out), c->text[GCB_CASE_SPEC]);
    append_word(out, sizeof(out), c->text[GCB_CASE_SIZE]);
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
        if (v->text[order[i]])
            append_word(out, sizeof(out), c->text[order[i]]);
    return gcb_case_set(&c->label, out);
}

/* Cases of one run with equal labels get their full names as labels. */
static int resolve_equal_labels(struct gcb_cases *cases)
{
    json_t *counts = json_object(); /* how many cases have each label */
    int err = counts ? 0 : GCB_E_NOMEM;

    for (size_t i = 0; !err && i < cases->count; i++) {
        const char *label = cases->items[i].label;
        const json_int_t count = json_integer_value(json_object_get(counts, label));

        if (json_object_set_new_nocheck(counts, label, json_integer(count + 1)))
            err = GCB_E_NOMEM;
    }
    for (size_t i = 0; !err && i < cases->count; i++) {
        struct gcb_case *c = &cases->items[i];

        if (json_integer_value(json_object_get(counts, c->label)) < 2)
            continue;
        gcb_free(c->label);
        c->label = make_full_name(c);
        err = c->label ? 0 : GCB_E_NOMEM;
    }
    json_decref(counts);
    return err;
}

int gcb_cases_label(struct gcb_cases *base, struct gcb_cases *next, struct gcb_diag *diag)
{
    struct gcb_cases *const both[] = {base, next};
    struct label_parts v = {.first = NULL};
    int err = 0;

    for (size_t b = 0; b < 2; b++)
        find_differences(&v, both[b]);
    for (size_t b = 0; b < 2; b++) {
        for (size_t i = 0; !err && i < both[b]->count; i++)
            err = make_label(&both[b]->items[i], &v);
        if (!err)
            err = resolve_equal_labels(both[b]);
    }
    return err ? gcb_diag_nomem(diag, 0, "labels") : 0;
}
