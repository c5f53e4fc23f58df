#include "src/tool/regress/verdict.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "src/lib/base/text.h"
#include "src/lib/codec/method.h"
#include "src/tool/base/columns.h"
#include "src/tool/base/memory.h"
#include "src/tool/rows/results.h"
#include "src/tool/rows/row.h"

void gcb_case_set(struct gcb_cases *cases, const char **field, const char *text)
{
    const size_t size = 4 * strlen(text ? text : "") + 1; /* every byte may become \xNN */
    char *escaped = gcb_must_array(size, 1);

    /* gcbench escapes the texts that it writes into rows. But a result file may come from anywhere
     * and must not steer a terminal. */
    gcb_escape_again(escaped, size, text ? text : "");
    *field = gcb_strings_keep(&cases->strings, escaped);
    gcb_free(escaped);
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

/* Appends a word to a line, after a space unless the line is empty. Skips an empty word. */
static void append_word(char *out, size_t size, const char *text)
{
    if (text[0])
        gcb_append(out, size, "%s%s", out[0] ? " " : "", text);
}

void gcb_case_finish(struct gcb_cases *cases, struct gcb_case *c)
{
    size_t size = 1 + 2 * strlen(c->text[GCB_CASE_FILE]);
    char threads[40], *words;

    snprintf(threads, sizeof(threads), "t%" PRIu64, c->threads);
    gcb_case_set(cases, &c->text[GCB_CASE_THREADS], threads);
    for (size_t t = GCB_CASE_SCOPE; t < GCB_CASE_TEXTS; t++)
        size += strlen(c->text[t]) + 2;
    words = gcb_must_array(size, 1);
    strcpy(words, c->text[GCB_CASE_FILE]);
    gcb_case_remove_folders(words);
    gcb_case_set(cases, &c->text[GCB_CASE_FILES], words);
    for (int n = 0; n < GCB_CASE_NAMES; n++) {
        words[0] = '\0';
        if (n == GCB_CASE_NAME_FULL)
            append_word(words, size, c->text[GCB_CASE_FILE]);
        append_word(words, size, c->text[GCB_CASE_FILES]);
        for (size_t t = GCB_CASE_SCOPE; t < GCB_CASE_FILES; t++)
            if (t != GCB_CASE_ISA || n != GCB_CASE_NAME_WITHOUT_ISA)
                append_word(words, size, c->text[t]);
        gcb_case_set(cases, &c->name[n], words);
    }
    gcb_free(words);
}

struct gcb_case *gcb_cases_add(struct gcb_cases *cases)
{
    struct gcb_case *c;

    gcb_must_grow(&cases->items, &cases->cap, cases->count, sizeof(*cases->items));
    c = &cases->items[cases->count++];
    memset(c, 0, sizeof(*c));
    for (size_t i = 0; i < GCB_CASE_ERRORS; i++)
        c->errors[i] = NAN;
    for (size_t i = 0; i < 2; i++)
        c->time[i] = (struct gcb_case_time){NAN, NAN, NAN, NAN};
    for (size_t i = 0; i < GCB_CASE_TEXTS; i++)
        c->text[i] = "";
    for (size_t i = 0; i < GCB_CASE_NAMES; i++)
        c->name[i] = "";
    c->method = "";
    c->operations = 2;
    return c;
}

/* A row without a status ran. A status of an unknown name counts as failed. */
static enum gcb_case_status parse_status(const char *text)
{
    if (!text || strcmp(text, "ok") == 0)
        return GCB_CASE_OK;
    if (strcmp(text, "unsupported") == 0)
        return GCB_CASE_UNSUPPORTED;
    return strcmp(text, "interrupted") == 0 ? GCB_CASE_INTERRUPTED : GCB_CASE_FAILED;
}

/* Returns a field of a row with a time if it is a number above zero, else NAN. */
static double seconds_of(const struct gcb_results_row *row, enum gcb_field field)
{
    const double value = gcb_results_real(row->json, field);

    return value > 0.0 ? value : NAN;
}

static struct gcb_case_time read_time(const struct gcb_results_row *row,
                                      const struct gcb_times_fields *fields)
{
    return (struct gcb_case_time){seconds_of(row, fields->seconds), seconds_of(row, fields->min),
                                  seconds_of(row, fields->low), seconds_of(row, fields->high)};
}

const enum gcb_field gcb_case_fields[GCB_CASE_SIZE] = {
    GCB_FIELD_FILE, GCB_FIELD_SCOPE, GCB_FIELD_SPEC,   GCB_FIELD_DEVICE,
    GCB_FIELD_ISA,  GCB_FIELD_CACHE, GCB_FIELD_SHUFFLE};

/* Sets the texts, the method, the reason and the names of a case from its row. */
static void read_texts(struct gcb_cases *cases, struct gcb_case *c,
                       const struct gcb_results_row *row)
{
    const char *family = gcb_results_text(row->json, GCB_FIELD_FAMILY),
               *kernel = gcb_results_text(row->json, GCB_FIELD_KERNEL),
               *algorithm = gcb_results_text(row->json, GCB_FIELD_ALGORITHM);
    char spec[1024], size[100] = "";

    for (size_t i = 0; i < GCB_CASE_SIZE; i++)
        gcb_case_set(cases, &c->text[i], gcb_results_text(row->json, gcb_case_fields[i]));
    if (c->kernel)
        snprintf(spec, sizeof(spec), "%s/%s", family ? family : "", kernel ? kernel : "");
    gcb_case_set(cases, &c->text[GCB_CASE_SPEC],
                 c->kernel ? spec
                           : gcb_method_complete(spec, sizeof(spec), c->text[GCB_CASE_SPEC]));
    if (c->kernel || c->exchange)
        snprintf(size, sizeof(size), "n=%" PRIu64, c->elements);
    if (c->exchange)
        gcb_append(size, sizeof(size), " workers=%" PRIu64 " %.20s",
                   gcb_results_u64(row->json, GCB_FIELD_WORKERS), algorithm ? algorithm : "");
    gcb_case_set(cases, &c->text[GCB_CASE_SIZE], size);
    gcb_case_set(cases, &c->method, gcb_results_text(row->json, GCB_FIELD_METHOD));
    if (gcb_results_text(row->json, GCB_FIELD_REASON))
        gcb_case_set(cases, &c->reason, gcb_results_text(row->json, GCB_FIELD_REASON));
    gcb_case_finish(cases, c);
}

/* Adds the case of a row. */
static void read_case(struct gcb_cases *cases, const struct gcb_results_row *row)
{
    const bool kernel = row->kind == GCB_RECORD_KERNEL, exchange = row->kind == GCB_RECORD_EXCHANGE;
    struct gcb_case *c = gcb_cases_add(cases);
    enum gcb_field errors[GCB_FIELDS];
    size_t count;

    c->kernel = kernel;
    c->exchange = exchange;
    c->line = row->line;
    c->threads = gcb_results_u64(row->json, GCB_FIELD_THREADS);
    c->elements = gcb_results_u64(row->json, GCB_FIELD_ELEMENTS);
    c->messages = gcb_results_u64(row->json, GCB_FIELD_MESSAGES);
    c->input_bytes = gcb_results_u64(row->json, GCB_FIELD_INPUT_BYTES);
    c->wire_bytes = gcb_results_u64(row->json, GCB_FIELD_WIRE_BYTES);
    c->header_bytes = gcb_results_u64(row->json, GCB_FIELD_HEADER_BYTES);
    count = gcb_field_gated(errors, GCB_GATE_ERROR);
    for (size_t i = 0; i < count && i < GCB_CASE_ERRORS; i++)
        c->errors[i] = gcb_results_real(row->json, errors[i]);
    c->status = parse_status(gcb_results_text(row->json, GCB_FIELD_STATUS));
    /* the time of a kernel and the time of a whole exchange are in the same fields */
    c->operations = kernel || exchange ? 1 : 2;
    c->time[0] = read_time(row, c->operations == 1 ? &gcb_kernel_fields : &gcb_encode_fields);
    if (c->operations == 2)
        c->time[1] = read_time(row, &gcb_decode_fields);
    read_texts(cases, c, row);
}

/* Takes a row of the file: adds a case, keeps the environment, or ignores the row. A second
 * environment row is an error. */
static int read_row(void *ctx, const struct gcb_results_row *row, struct gcb_diag *diag)
{
    struct gcb_cases *cases = ctx;
    const char *method = gcb_results_text(row->json, GCB_FIELD_METHOD);

    if (row->kind == GCB_RECORD_ENVIRONMENT) {
        if (cases->environment)
            return gcb_diag_set(diag, GCB_E_CORRUPT,
                                "%s: line %" PRIu64
                                ": a second environment row; give the results of one run per file",
                                gcb_show(row->path).text, row->line);
        cases->environment = gcb_json_copy(row->json);
        return 0;
    }
    if (row->kind != GCB_RECORD_KERNEL && row->kind != GCB_RECORD_SUMMARY &&
        row->kind != GCB_RECORD_EXCHANGE)
        return 0;
    if (method && strcmp(method, "memcpy") == 0) /* memcpy measures the machine, not the build */
        return 0;
    read_case(cases, row);
    return 0;
}

/* ---- reading cases, and labels ---- */

#define SEVERAL (-1) /* more than one case has this key */

/* Adds case i to a map from keys to the indices of cases. The value of a key that several cases
 * have is SEVERAL. */
static void add_key(json_t *map, const char *key, size_t i)
{
    const json_int_t number = json_object_get(map, key) ? SEVERAL : (json_int_t)i;

    if (json_object_set_new_nocheck(map, key, json_integer(number)))
        gcb_no_memory();
}

/* Fails if a case appears twice, because such a case cannot be paired. */
static int check_duplicates(const struct gcb_cases *cases, const char *path, struct gcb_diag *diag)
{
    json_t *map = json_object();
    char name[160];
    int err = 0;

    for (size_t i = 0; !err && i < cases->count; i++) {
        const struct gcb_case *c = &cases->items[i];
        const json_t *first = json_object_get(map, c->name[GCB_CASE_NAME_FULL]);

        if (first)
            err = gcb_diag_set(
                diag, GCB_E_CORRUPT, "%s: lines %" PRIu64 " and %" PRIu64 " are the same case, %s",
                gcb_show(path).text, cases->items[json_integer_value(first)].line, c->line,
                gcb_text_shorten(name, sizeof(name), c->name[GCB_CASE_NAME], 150));
        else
            add_key(map, c->name[GCB_CASE_NAME_FULL], i);
    }
    json_decref(map);
    return err;
}

int gcb_cases_read(struct gcb_cases *out, const char *path, FILE *file, struct gcb_diag *diag)
{
    const unsigned records =
        GCB_RECORD_BIT(GCB_RECORD_ENVIRONMENT) | GCB_RECORD_BIT(GCB_RECORD_SUMMARY) |
        GCB_RECORD_BIT(GCB_RECORD_KERNEL) | GCB_RECORD_BIT(GCB_RECORD_EXCHANGE);
    int err;

    *out = (struct gcb_cases){.path = path};
    err = gcb_results_read(file, path, records, read_row, out, diag);
    if (!err && out->count == 0)
        err = gcb_diag_set(diag, GCB_E_CORRUPT,
                           "%s: there are no `summary`, `kernel` or `exchange` rows in this file; "
                           "`gcbench bench --results FILE` writes them",
                           gcb_show(path).text);
    return err ? err : check_duplicates(out, path, diag);
}

void gcb_cases_fini(struct gcb_cases *cases)
{
    gcb_strings_fini(&cases->strings);
    gcb_free(cases->items);
    json_decref(cases->environment);
    memset(cases, 0, sizeof(*cases));
}

/* Sets the label of a case. differs[t] is true if text t differs between cases. The label has the
 * method or kernel, the size, and those texts of `order` that differ. */
static void make_label(struct gcb_cases *cases, struct gcb_case *c,
                       const bool differs[GCB_CASE_TEXTS])
{
    static const enum gcb_case_text order[] = {GCB_CASE_FILES,  GCB_CASE_SCOPE, GCB_CASE_DEVICE,
                                               GCB_CASE_ISA,    GCB_CASE_CACHE, GCB_CASE_SHUFFLE,
                                               GCB_CASE_THREADS};
    char out[1024];

    if (c->kernel)
        snprintf(out, sizeof(out), "%s", c->text[GCB_CASE_SPEC]);
    else
        gcb_method_label(out, sizeof(out), c->text[GCB_CASE_SPEC]);
    append_word(out, sizeof(out), c->text[GCB_CASE_SIZE]);
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
        if (differs[order[i]])
            append_word(out, sizeof(out), c->text[order[i]]);
    gcb_case_set(cases, &c->label, out);
}

/* Gives cases with equal labels their full names as labels. */
static void resolve_equal_labels(struct gcb_cases *cases)
{
    json_t *map = json_object();

    for (size_t i = 0; i < cases->count; i++)
        add_key(map, cases->items[i].label, i);
    for (size_t i = 0; i < cases->count; i++)
        if (json_integer_value(json_object_get(map, cases->items[i].label)) == SEVERAL)
            cases->items[i].label = cases->items[i].name[GCB_CASE_NAME_FULL];
    json_decref(map);
}

void gcb_cases_label(struct gcb_cases *base, struct gcb_cases *next)
{
    struct gcb_cases *const both[] = {base, next};
    const struct gcb_case *first = base->count ? base->items : next->items;
    bool differs[GCB_CASE_TEXTS] = {false};

    for (size_t b = 0; b < 2; b++)
        for (size_t i = 0; i < both[b]->count; i++)
            for (size_t t = 0; t < GCB_CASE_TEXTS; t++)
                differs[t] |= strcmp(both[b]->items[i].text[t], first->text[t]) != 0;
    for (size_t b = 0; b < 2; b++) {
        for (size_t i = 0; i < both[b]->count; i++)
            make_label(both[b], &both[b]->items[i], differs);
        resolve_equal_labels(both[b]);
    }
}

/* ---- pairing ---- */

#define UNPAIRED SIZE_MAX

/* Pairs two cases with the same name, if each is the only unpaired case of its file with that name.
 * partner[f][i] is the index of the other file's case for case i of file f, or UNPAIRED. */
static void pair_by(const struct gcb_cases *const files[2], size_t *const partner[2],
                    enum gcb_case_name name)
{
    json_t *maps[2] = {json_object(), json_object()}, *own;
    const char *key;

    for (int f = 0; f < 2; f++)
        for (size_t i = 0; i < files[f]->count; i++)
            if (partner[f][i] == UNPAIRED)
                add_key(maps[f], files[f]->items[i].name[name], i);
    json_object_foreach(maps[0], key, own)
    {
        const json_t *other = json_object_get(maps[1], key);
        const json_int_t i = json_integer_value(own), k = json_integer_value(other);

        if (!other || i == SEVERAL || k == SEVERAL)
            continue;
        partner[0][i] = (size_t)k;
        partner[1][k] = (size_t)i;
    }
    json_decref(maps[0]);
    json_decref(maps[1]);
}

struct gcb_case_pair *gcb_pair_cases(size_t *count, const struct gcb_cases *base,
                                     const struct gcb_cases *next)
{
    const struct gcb_cases *const files[2] = {base, next};
    const size_t all = base->count + next->count;
    size_t *const room = gcb_must_array(all, sizeof(*room));
    size_t *const partner[2] = {room, room + base->count};
    struct gcb_case_pair *out = gcb_must_array(all, sizeof(*out));

    *count = 0;
    for (size_t i = 0; i < all; i++)
        room[i] = UNPAIRED;
    for (enum gcb_case_name i = GCB_CASE_NAME_FULL; i < GCB_CASE_NAMES; i++)
        pair_by(files, partner, i);
    for (size_t i = 0; i < base->count; i++)
        out[(*count)++] = (struct gcb_case_pair){
            &base->items[i], partner[0][i] == UNPAIRED ? NULL : &next->items[partner[0][i]]};
    for (size_t i = 0; i < next->count; i++)
        if (partner[1][i] == UNPAIRED)
            out[(*count)++] = (struct gcb_case_pair){.next = &next->items[i]};
    gcb_free(room);
    return out;
}
