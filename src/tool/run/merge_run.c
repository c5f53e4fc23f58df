#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/run/copy.h"
#include "src/tool/run/merge_private.h"

#define OPEN_FILES 200 /* files that stay open for further rows */

/* The samples of a row's operation; `cap` values fit. */
struct sample_list {
    struct gcb_samples samples;
    size_t cap;
};

struct joining {
    struct gcb_merge *m;
    const struct gcb_merge_observer *observer;
    FILE **open; /* an open file or NULL for each of m->files */
    size_t open_count;
    char *line;
    size_t line_cap;
    struct sample_list encode, decode, sum, sum16;
    struct gcb_method *methods;
    struct gcb_merge_case at;
};

/* ---- reading rows ---- */

static int changed(const struct joining *j, const struct gcb_merge_item *item,
                   struct gcb_diag *diag)
{
    char shown[160];

    return gcb_diag_set(diag, GCB_E_IO,
                        "%s: line %" PRIu64 " cannot be read again: the file changed",
                        gcb_escape(shown, sizeof(shown), j->m->files[item->file]), item->line);
}

static void close_files(struct joining *j)
{
    for (size_t i = 0; j->open && i < j->m->file_count; i++)
        if (j->open[i]) {
            fclose(j->open[i]);
            j->open[i] = NULL;
        }
    j->open_count = 0;
}

static FILE *open_file(struct joining *j, uint32_t file)
{
    if (j->open[file])
        return j->open[file];
    if (j->open_count == OPEN_FILES)
        close_files(j);
    j->open[file] = fopen(j->m->files[file], "re");
    j->open_count += j->open[file] != NULL;
    return j->open[file];
}

/* Reads the row of an item again. */
static int load(json_t **out, struct joining *j, const struct gcb_merge_item *item,
                struct gcb_diag *diag)
{
    FILE *file = open_file(j, item->file);

    if (item->length > j->line_cap) {
        gcb_free(j->line);
        j->line = gcb_alloc(item->length);
        j->line_cap = j->line ? item->length : 0;
        if (!j->line)
            return gcb_diag_nomem(diag, item->length, "a row");
    }
    *out = NULL;
    if (file && !fseeko(file, (off_t)item->offset, SEEK_SET) &&
        fread(j->line, 1, item->length, file) == item->length)
        *out = json_loadb(j->line, item->length, 0, NULL);
    return *out ? 0 : changed(j, item, diag);
}

/* Reads the samples of a field; none if it is null. */
static int take_samples(struct sample_list *list, const json_t *row, enum gcb_field field,
                        struct gcb_diag *diag)
{
    const json_t *values = gcb_results_json(row, field);
    const size_t count = json_array_size(values);

    if (count > list->cap) {
        gcb_free(list->samples.seconds);
        list->samples.seconds = gcb_alloc_array(count, sizeof(double));
        list->cap = list->samples.seconds ? count : 0;
        if (!list->samples.seconds)
            return gcb_diag_nomem(diag, count * sizeof(double), "samples");
    }
    for (size_t i = 0; i < count; i++)
        list->samples.seconds[i] = json_number_value(json_array_get(values, i));
    list->samples.count = count;
    return 0;
}

/* ---- a case ---- */

/* Adds a row to the total of its method. */
static int add_row(struct joining *j, const struct gcb_merge_item *item, const json_t *row,
                   struct gcb_diag *diag)
{
    const struct gcb_message_plan plan = {
        .step = gcb_results_u64(row, GCB_FIELD_STEP),
        .worker = (uint32_t)gcb_results_u64(row, GCB_FIELD_WORKER),
    };
    struct gcb_run_trial trial = {
        .plan = &plan,
        .encode = &j->encode.samples,
        .decode = &j->decode.samples,
        .sum = &j->sum.samples,
        .sum16 = &j->sum16.samples,
    };
    int err = gcb_rows_tally(&trial.tally, row, diag);

    if (!err)
        err = take_samples(&j->encode, row, gcb_encode_fields.samples, diag);
    if (!err)
        err = take_samples(&j->decode, row, gcb_decode_fields.samples, diag);
    if (!err)
        err = take_samples(&j->sum, row, gcb_sum_fields.samples, diag);
    if (!err)
        err = take_samples(&j->sum16, row, gcb_sum16_fields.samples, diag);
    if (gcb_results_text(row, GCB_FIELD_NEARER_THAN))
        j->at.setting.nearer_than = &j->methods[0];
    return err ? err : gcb_run_total_add(&j->at.result.totals[item->method], &trial, diag);
}

static int join_row(struct joining *j, const struct gcb_merge_item *item, struct gcb_diag *diag)
{
    const struct gcb_merge_failure *f = &j->m->cases[item->run_case].failures[item->method];
    struct gcb_row row = {.json = NULL};
    int err;

    /* one run of `compress` or `bench` would have ended the method before */
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

static int read_method(struct gcb_method *out, const char *spec, struct gcb_diag *diag)
{
    int err;

    *out = gcb_copy_method;
    if (spec && strcmp(spec, gcb_copy_method.name) == 0)
        return 0;
    err = gcb_method_read(out, spec ? spec : "", diag);
    if (!err)
        gcb_method_forget(
            out); /* some names, such as sbc, imply a memory, which these runs leave out */
    return err;
}

/* Notes why a method has no rows, or not all. */
static void explain_failure(struct joining *j, const struct gcb_merge_common *c, size_t method,
                            const char *spec)
{
    const struct gcb_merge_failure *f = &c->failures[method];
    struct gcb_diag *why = &j->at.result.totals[method].failure;
    const char *device = gcb_results_text(c->row, GCB_FIELD_DEVICE);
    char shown[128];

    if (f->failed && gcb_merge_of_verify(j->m))
        gcb_diag_set(why, GCB_E_UNSUPPORTED,
                     "%s was not checked on all messages: it does not run on %s",
                     gcb_escape(shown, sizeof(shown), spec), device ? device : "the device");
    else if (f->failed)
        gcb_diag_set(why, f->unsupported ? GCB_E_UNSUPPORTED : GCB_E_UNVERIFIED, "%s",
                     f->reason ? f->reason : "");
}

/* Prepares the methods, totals and setting of a case. */
static int begin_case(struct joining *j, const struct gcb_merge_common *c, struct gcb_diag *diag)
{
    const size_t count = c->method_count;
    struct gcb_run_result *result = &j->at.result;
    int err = 0;

    j->methods = gcb_alloc_zero(count, sizeof(*j->methods));
    result->totals = gcb_alloc_zero(count, sizeof(*result->totals));
    if (!j->methods || !result->totals)
        return gcb_diag_nomem(diag, count * sizeof(*result->totals), "totals");
    result->method_count = count;
    result->skipped_messages = c->skipped;
    for (size_t i = 0; !err && i < count; i++) {
        const json_t *spec = json_array_get(gcb_results_json(c->row, GCB_FIELD_METHODS), i);

        err = read_method(&j->methods[i], json_string_value(spec), diag);
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
        .cache = gcb_results_text(c->row, GCB_FIELD_CACHE),
    };
    return err;
}

static void end_case(struct joining *j)
{
    gcb_run_result_fini(&j->at.result);
    gcb_free(j->methods);
    j->methods = NULL;
}

static int join_case(struct joining *j, size_t number, size_t *next, struct gcb_diag *diag)
{
    const struct gcb_merge *m = j->m;
    const struct gcb_merge_common *c = &m->cases[number];
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
    end_case(j);
    return err;
}

int gcb_merge_run(struct gcb_merge *m, const struct gcb_merge_observer *observer,
                  struct gcb_diag *diag)
{
    struct joining j = {.m = m, .observer = observer};
    struct sample_list *const lists[] = {&j.encode, &j.decode, &j.sum, &j.sum16};
    size_t next = 0;
    int err = 0;

    j.open = gcb_alloc_zero(m->file_count, sizeof(FILE *));
    if (!j.open)
        err = gcb_diag_nomem(diag, 0, "the files");
    for (size_t i = 0; !err && i < m->case_count; i++)
        err = join_case(&j, i, &next, diag);
    close_files(&j);
    gcb_free(j.open);
    gcb_free(j.line);
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        gcb_free(lists[i]->samples.seconds);
    return err;
}

/* ---- the environment ---- */

/* Returns the value that a field has in all shards, or NULL. */
static json_t *common(const struct gcb_merge *m, const char *key, json_t *first)
{
    for (size_t i = 1; i < m->shard_count; i++)
        if (!json_equal(json_object_get(m->shards[i].environment, key), first))
            return NULL;
    return first;
}

/* The first start of any shard. Dates sort as texts. */
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
    json_t *words = json_array(), *value;
    const char *key;

    gcb_row_init(row, GCB_RECORD_ENVIRONMENT);
    json_object_foreach(m->shards[0].environment, key, value)
    {
        json_t *same = common(m, key, value);

        if (json_object_set_new(row->json, key, same ? json_incref(same) : json_null()))
            row->failed = true;
    }
    for (int i = 0; i < argc; i++)
        if (json_array_append_new(words, gcb_row_make_text(argv[i])))
            row->failed = true;
    gcb_row_json(row, GCB_FIELD_COMMAND, words);
    gcb_row_text(row, GCB_FIELD_DATE, first_date(m));
}
