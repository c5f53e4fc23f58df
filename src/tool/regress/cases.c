#include "src/tool/regress/cases.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/rows/results.h"

/*
 * Texts of rows stand escaped in them. A file that somebody else wrote may break that, and must not steer a
 * terminal: whatever is not plain is escaped now, backslashes are left as they are.
 */
static char *clean(const char *text)
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
    char *copy = clean(text ? text : "");

    if (!copy)
        return GCB_E_NOMEM;
    gcb_free(*field);
    *field = copy;
    return 0;
}

char *gcb_case_basename(char *out, const char *files)
{
    char *begin = out, *to = out;

    for (const char *from = files; *from; from++) {
        *to++ = *from;
        if (*from == '/' && from[1] && from[1] != ',')
            to = begin;
        else if (strncmp(from, ", ", 2) == 0)
            begin = to + 1;
    }
    *to = '\0';
    return out;
}

int gcb_case_make_name(struct gcb_case *c)
{
    size_t size = 80, used = 0;

    for (size_t i = 0; i < GCB_CASE_TEXTS; i++)
        size += strlen(c->text[i]) + 1;
    gcb_free(c->name);
    c->name = gcb_alloc_zero(size, 1);
    if (!c->name)
        return GCB_E_NOMEM;
    used = strlen(gcb_case_basename(c->name, c->text[GCB_CASE_FILE]));
    for (size_t i = GCB_CASE_SCOPE; i < GCB_CASE_TEXTS; i++)
        if (c->text[i][0])
            used +=
                (size_t)snprintf(c->name + used, size - used, "%s%s", used ? " " : "", c->text[i]);
    if (c->kernel)
        used += (size_t)snprintf(c->name + used, size - used, " n=%" PRIu64, c->elements);
    snprintf(c->name + used, size - used, " t%" PRIu64, c->threads);
    return 0;
}

struct gcb_case *gcb_cases_add(struct gcb_cases *cases)
{
    struct gcb_case *c;

    if (gcb_grow(&cases->items, &cases->cap, cases->count, sizeof(*cases->items)))
        return NULL;
    c = &cases->items[cases->count++];
    memset(c, 0, sizeof(*c));
    c->rel_l2 = c->cosine = c->max_abs_error = NAN;
    for (size_t i = 0; i < 2; i++)
        c->time[i] = (struct gcb_case_time){NAN, NAN, NAN, NAN};
    for (size_t i = 0; i < GCB_CASE_TEXTS; i++)
        if (gcb_case_set(&c->text[i], NULL))
            return NULL;
    return gcb_case_set(&c->method, NULL) ? NULL : c;
}

static enum gcb_case_status status_of(const char *text)
{
    if (!text || strcmp(text, "ok") == 0)
        return GCB_CASE_OK;
    if (strcmp(text, "unsupported") == 0)
        return GCB_CASE_UNSUPPORTED;
    return strcmp(text, "interrupted") == 0 ? GCB_CASE_INTERRUPTED : GCB_CASE_FAILED;
}

/* Seconds under "NAME", "NAME_min", "NAME_low", "NAME_high". */
static struct gcb_case_time time_of(const json_t *row, const char *name)
{
    static const char *const ends[] = {"", "_min", "_low", "_high"};
    double value[4];
    char key[40];

    for (size_t i = 0; i < 4; i++) {
        snprintf(key, sizeof(key), "%s%s", name, ends[i]);
        value[i] = gcb_results_real(row, key);
        if (!(value[i] > 0.0)) /* no time, whatever was written there */
            value[i] = NAN;
    }
    return (struct gcb_case_time){value[0], value[1], value[2], value[3]};
}

static int take_texts(struct gcb_case *c, const json_t *row)
{
    static const char *const keys[GCB_CASE_TEXTS] = {"file",   "scope", "spec",
                                                     "device", "isa",   "cache"};
    const char *family = gcb_results_text(row, "family"), *kernel = gcb_results_text(row, "kernel");
    char spec[256];
    int err = 0;

    for (size_t i = 0; !err && i < GCB_CASE_TEXTS; i++)
        err = gcb_case_set(&c->text[i], gcb_results_text(row, keys[i]));
    if (!err && c->kernel) {
        snprintf(spec, sizeof(spec), "%s/%s", family ? family : "", kernel ? kernel : "");
        err = gcb_case_set(&c->text[GCB_CASE_SPEC], spec);
    }
    if (!err)
        err = gcb_case_set(&c->method, gcb_results_text(row, "method"));
    if (!err && gcb_results_text(row, "reason"))
        err = gcb_case_set(&c->reason, gcb_results_text(row, "reason"));
    return err;
}

static int take_case(struct gcb_cases *cases, const struct gcb_results_row *row, bool kernel)
{
    struct gcb_case *c = gcb_cases_add(cases);

    if (!c)
        return GCB_E_NOMEM;
    c->kernel = kernel;
    c->line = row->line;
    c->threads = gcb_results_u64(row->json, "threads");
    c->elements = gcb_results_u64(row->json, "elements");
    c->messages = gcb_results_u64(row->json, "messages");
    c->input_bytes = gcb_results_u64(row->json, "input_bytes");
    c->wire_bytes = gcb_results_u64(row->json, "wire_bytes");
    c->header_bytes = gcb_results_u64(row->json, "header_bytes");
    c->rel_l2 = gcb_results_real(row->json, "rel_l2");
    c->cosine = gcb_results_real(row->json, "cosine");
    c->max_abs_error = gcb_results_real(row->json, "max_abs_error");
    c->status = status_of(gcb_results_text(row->json, "status"));
    c->time[0] = time_of(row->json, kernel ? "seconds" : "encode_seconds");
    c->time[1] = time_of(row->json, kernel ? "-" : "decode_seconds");
    return take_texts(c, row->json) || gcb_case_make_name(c) ? GCB_E_NOMEM : 0;
}

static int visit(void *ctx, const struct gcb_results_row *row, struct gcb_diag *diag)
{
    struct gcb_cases *cases = ctx;
    const bool kernel = strcmp(row->record, "kernel") == 0;
    const char *method = gcb_results_text(row->json, "method");
    char shown[256];

    if (strcmp(row->record, "environment") == 0) {
        if (cases->environment)
            return gcb_diag_set(diag, GCB_E_CORRUPT,
                                "%s: line %" PRIu64
                                ": a second environment row: give one run alone",
                                gcb_escape(shown, sizeof(shown), row->path), row->line);
        cases->environment = json_deep_copy(row->json);
        return cases->environment ? 0 : gcb_diag_nomem(diag, 0, "the environment row");
    }
    if (!kernel && strcmp(row->record, "summary") != 0)
        return 0;
    if (method && strcmp(method, "memcpy") == 0) /* the machine's, no part of any build */
        return 0;
    return take_case(cases, row, kernel) ? gcb_diag_nomem(diag, 0, "a case") : 0;
}

static int by_identity(const void *a, const void *b)
{
    const struct gcb_case *x = *(const struct gcb_case *const *)a,
                          *y = *(const struct gcb_case *const *)b;
    const int by_file = strcmp(x->text[GCB_CASE_FILE], y->text[GCB_CASE_FILE]);
    const int by_name = by_file ? by_file : strcmp(x->name, y->name);

    return by_name ? by_name : (x->line > y->line) - (x->line < y->line);
}

/* A case that is there twice cannot be paired. */
static int check_twice(const struct gcb_cases *cases, const char *path, struct gcb_diag *diag)
{
    const struct gcb_case **order = gcb_alloc_array(cases->count, sizeof(*order));
    char shown[200], name[200];
    int err = 0;

    if (!order)
        return gcb_diag_nomem(diag, cases->count * sizeof(*order), "cases");
    for (size_t i = 0; i < cases->count; i++)
        order[i] = &cases->items[i];
    qsort(order, cases->count, sizeof(const struct gcb_case *), by_identity);
    for (size_t i = 1; !err && i < cases->count; i++)
        if (strcmp(order[i - 1]->text[GCB_CASE_FILE], order[i]->text[GCB_CASE_FILE]) == 0 &&
            strcmp(order[i - 1]->name, order[i]->name) == 0)
            err = gcb_diag_set(diag, GCB_E_CORRUPT,
                               "%s: lines %" PRIu64 " and %" PRIu64 " are the same case, %.150s",
                               gcb_escape(shown, sizeof(shown), path), order[i - 1]->line,
                               order[i]->line, gcb_escape(name, sizeof(name), order[i]->name));
    gcb_free(order);
    return err;
}

int gcb_cases_read(struct gcb_cases *out, const char *path, FILE *file, struct gcb_diag *diag)
{
    char shown[256];
    int err;

    memset(out, 0, sizeof(*out));
    err = file ? gcb_results_read_stream(file, path, visit, out, diag)
               : gcb_results_read(path, visit, out, diag);
    if (!err && out->count == 0)
        err = gcb_diag_set(diag, GCB_E_CORRUPT,
                           "%s: no case in it: neither a `summary` nor a `kernel` row (`gcbench "
                           "bench --results FILE` writes them)",
                           gcb_escape(shown, sizeof(shown), path));
    return err ? err : check_twice(out, path, diag);
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
