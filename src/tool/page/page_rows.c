#include "src/tool/page/page_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/codec/method.h"
#include "src/tool/plot/plot_style.h"
#include "src/tool/rows/row.h"

const enum gcb_record page_record_kinds[PAGE_RECORDS] = {
    [PAGE_ENVIRONMENT] = GCB_RECORD_ENVIRONMENT,
    [PAGE_VERDICT] = GCB_RECORD_VERDICT,
    [PAGE_PROMISE] = GCB_RECORD_PROMISE,
    [PAGE_PAYOFF] = GCB_RECORD_PAYOFF,
    [PAGE_LINKS] = GCB_RECORD_PAYOFF,
    [PAGE_PAPER] = GCB_RECORD_PAYOFF,
    [PAGE_TRUTH] = GCB_RECORD_PAYOFF,
    [PAGE_RACE] = GCB_RECORD_RACE,
    [PAGE_SUMMARY] = GCB_RECORD_SUMMARY,
    [PAGE_KERNEL] = GCB_RECORD_KERNEL,
    [PAGE_REPLAY] = GCB_RECORD_REPLAY,
    [PAGE_ANSWER] = GCB_RECORD_ANSWER,
    [PAGE_HISTORY] = GCB_RECORD_SUMMARY,
};

/* If memory runs out here, an object is NULL, and adding to this object will fail. */
void page_init(struct page *page)
{
    *page = (struct page){
        .tensors = {.names = json_object(), .specs = json_object(), .methods = json_object()},
        .inputs = json_object(),
        .links = json_object(),
    };
}

bool page_says(const json_t *row, enum gcb_field field, const char *word)
{
    const char *text = gcb_results_text(row, field);

    return text && strcmp(text, word) == 0;
}

bool page_is_baseline(const json_t *row)
{
    const char *method = gcb_results_text(row, GCB_FIELD_METHOD);

    return (method && gcb_plot_baseline(method)) || gcb_results_bool(row, GCB_FIELD_BASELINE);
}

const json_t *page_run_of(const struct page *page, const json_t *row)
{
    const uint64_t run = gcb_results_u64(row, GCB_FIELD_PAGE_RUN);
    const struct page_rows *runs = &page->rows[PAGE_ENVIRONMENT];

    /* run numbers count all environment rows from 1, and the first PAGE_MAX_ROWS are kept in order */
    return run > 0 && run <= runs->count ? runs->items[run - 1] : NULL;
}

const char *page_date_of(const json_t *run)
{
    const char *date = run ? gcb_results_text(run, GCB_FIELD_DATE) : NULL;

    return date ? date : "";
}

/* Writes a label such as "fft:theta=0.85,bits=10": the main parameters, and all parameters that are not the default. */
static char *make_label(char *out, size_t size, const json_t *row)
{
    const char *spec = gcb_results_text(row, GCB_FIELD_SPEC),
               *method = gcb_results_text(row, GCB_FIELD_METHOD);

    return gcb_method_label(out, size, spec ? spec : method ? method : "");
}

static int set(json_t *row, enum gcb_field field, json_t *value)
{
    return json_object_set_new(row, gcb_field_name(field), value);
}

/* Keeps a copy of the row and adds the page's own fields to it. After PAGE_MAX_ROWS rows, only counts the row. */
static int keep_row(struct page *page, enum page_record record, const struct gcb_results_row *row,
                    struct gcb_diag *diag)
{
    struct page_rows *rows = &page->rows[record];
    const char *spec = gcb_results_text(row->json, GCB_FIELD_SPEC),
               *policy = gcb_results_text(row->json, GCB_FIELD_POLICY);
    char label[512], full[1024];
    json_t *copy;
    int bad;

    if (rows->count == PAGE_MAX_ROWS) {
        rows->left_out++;
        return 0;
    }
    if (gcb_grow(&rows->items, &rows->cap, rows->count, sizeof(*rows->items)))
        return gcb_diag_nomem(diag, 0, "rows");
    copy = json_deep_copy(row->json);
    make_label(label, sizeof(label), row->json);
    if (policy) /* "policy:rules=3" without the hash, which nobody can read */
        label[strcspn(label, ",")] = '\0';
    bad = set(copy, GCB_FIELD_PAGE_RUN, json_integer((json_int_t)page->run));
    bad |= set(copy, GCB_FIELD_PAGE_RESULTS, gcb_row_make_text(row->path));
    if (*label)
        bad |= set(copy, GCB_FIELD_PAGE_LABEL, json_string_nocheck(label));
    if (row->kind == GCB_RECORD_SUMMARY &&
        spec) /* so that the history pairs runs of different builds of gcbench */
        bad |= set(copy, GCB_FIELD_SPEC,
                   json_string(policy ? policy : gcb_method_complete(full, sizeof(full), spec)));
    if (bad) {
        json_decref(copy);
        return gcb_diag_nomem(diag, 0, "a row");
    }
    rows->items[rows->count++] = copy;
    return 0;
}

/* Returns the key of a row in PAGE_LINKS: all fields that do not depend on the bandwidth. NULL if memory runs out. */
static char *make_key(const json_t *row, size_t run)
{
    static const enum gcb_field fields[] = {
        GCB_FIELD_LABEL,           GCB_FIELD_RESULTS, GCB_FIELD_WORKERS_PER_NODE,
        GCB_FIELD_WORKERS,         GCB_FIELD_SCOPE,   GCB_FIELD_DEVICE,
        GCB_FIELD_LATENCY_SECONDS, GCB_FIELD_THREADS, GCB_FIELD_ISA,
        GCB_FIELD_CACHE,           GCB_FIELD_SPEC};
    json_t *values = json_pack("[I]", (json_int_t)run);
    char *key = NULL;
    int bad = !values;

    for (size_t i = 0; !bad && i < sizeof(fields) / sizeof(fields[0]); i++) {
        json_t *value = gcb_results_json(row, fields[i]);

        bad = json_array_append(values, value ? value : json_null());
    }
    if (!bad)
        key = json_dumps(values, JSON_COMPACT | JSON_ENCODE_ANY);
    json_decref(values);
    return key;
}

/* Finds the row in PAGE_LINKS with this row's key, or adds a row. Sets *out to NULL if there are too many rows. */
static int find_line(json_t **out, struct page *page, const struct gcb_results_row *row,
                     struct gcb_diag *diag)
{
    const struct page_rows *lines = &page->rows[PAGE_LINKS];
    const size_t count = lines->count;
    char *key = make_key(row->json, page->run);
    const json_t *at;
    int err = 0;

    at = key ? json_object_get(page->links, key) : NULL;
    *out = at ? lines->items[json_integer_value(at)] : NULL;
    if (!key)
        err = gcb_diag_nomem(diag, 0, "lines");
    else if (!at)
        err = keep_row(page, PAGE_LINKS, row, diag);
    if (!err && lines->count > count) {
        *out = lines->items[count];
        if (json_object_set_new(page->links, key, json_integer((json_int_t)count)))
            err = gcb_diag_nomem(diag, 0, "lines");
    }
    free(key);
    return err;
}

/* Adds the result of a PAGE_PAYOFF row to the PAGE_LINKS row with the same key. */
static int add_link(struct page *page, const struct gcb_results_row *row, struct gcb_diag *diag)
{
    const double speedup = gcb_results_real(row->json, GCB_FIELD_SPEEDUP_FP32);
    json_t *line = NULL;
    uint64_t links, paid;
    int err, bad;

    if (page_is_baseline(row->json) || gcb_results_text(row->json, GCB_FIELD_DOUBTFUL))
        return 0;
    err = find_line(&line, page, row, diag);
    if (err || !line)
        return err;
    links = gcb_results_u64(line, GCB_FIELD_PAGE_LINKS) + 1;
    paid = gcb_results_u64(line, GCB_FIELD_PAGE_LINKS_PAID) +
           gcb_results_bool(row->json, GCB_FIELD_PAYS);
    bad = set(line, GCB_FIELD_PAGE_LINKS, json_integer((json_int_t)links));
    bad |= set(line, GCB_FIELD_PAGE_LINKS_PAID, json_integer((json_int_t)paid));
    if (links > 1)
        bad |= set(line, GCB_FIELD_PAGE_MANY_LINKS, json_true());
    if (isfinite(speedup) && !(speedup <= gcb_results_real(line, GCB_FIELD_PAGE_BEST)))
        bad |= set(line, GCB_FIELD_PAGE_BEST, json_real(speedup));
    return bad ? gcb_diag_nomem(diag, 0, "lines") : 0;
}

/*
 * Returns the number of `key`. A new key is added. Returns -1 if there are already `most` keys, -2 if memory runs out.
 */
static json_int_t find_number(json_t *names, const char *key, size_t most)
{
    const json_t *known = json_object_get(names, key);
    const size_t next = json_object_size(names);

    if (known)
        return json_integer_value(known);
    if (next >= most)
        return -1;
    return json_object_set_new(names, key, json_integer((json_int_t)next)) ? -2 : (json_int_t)next;
}

/* Returns the number of the row's method; methods with the same label have the same number. Fails as find_number. */
static json_int_t find_method(struct page_tensors *t, const json_t *row)
{
    const char *spec = gcb_results_text(row, GCB_FIELD_SPEC);
    const json_t *known = spec ? json_object_get(t->specs, spec) : NULL;
    char label[512];
    json_int_t number;

    if (known)
        return json_integer_value(known);
    number = find_number(t->methods, make_label(label, sizeof(label), row), PAGE_MAX_METHODS);
    if (number != -2 && spec && json_object_size(t->specs) < PAGE_MAX_TENSORS &&
        json_object_set_new(t->specs, spec, json_integer(number)))
        return -2;
    return number;
}

/* Adds a tensor with empty cells. */
static int add_tensor(struct page_tensors *t)
{
    const size_t row = PAGE_MAX_METHODS * sizeof(*t->cells);
    const int err = gcb_grow(&t->cells, &t->cap, t->count, row);

    if (!err)
        memset(&t->cells[PAGE_MAX_METHODS * t->count++], 0, row);
    return err;
}

static int add_error(struct page_tensors *t, const json_t *row, struct gcb_diag *diag)
{
    const char *tensor = gcb_results_text(row, GCB_FIELD_TENSOR);
    const double error = gcb_results_real(row, GCB_FIELD_REL_L2);
    struct page_cell *cell;
    json_int_t name, method;

    if (!tensor || !isfinite(error) || error < 0.0 || page_is_baseline(row))
        return 0;
    method = find_method(t, row);
    name = method < 0 ? method : find_number(t->names, tensor, PAGE_MAX_TENSORS);
    if (name == -2 || (name >= 0 && (size_t)name == t->count && add_tensor(t)))
        return gcb_diag_nomem(diag, 0, "tensors");
    if (name < 0) {
        t->left_out++;
        return 0;
    }
    cell = &t->cells[PAGE_MAX_METHODS * (size_t)name + (size_t)method];
    cell->sum += error;
    cell->count++;
    cell->worst = fmax(cell->worst, error);
    return 0;
}

static int visit(void *ctx, const struct gcb_results_row *row, struct gcb_diag *diag)
{
    struct page *page = ctx;
    const char *input = gcb_results_text(row->json, GCB_FIELD_FILE);
    int err = page->plots ? gcb_plot_data_row(page->plots, row, diag) : 0;
    size_t i = 0;

    if (err)
        return err;
    if (input && json_object_size(page->inputs) < PAGE_MAX_ROWS &&
        json_object_set_new(page->inputs, input, json_true()))
        return gcb_diag_nomem(diag, 0, "names");
    if (row->kind == GCB_RECORD_RESULT) {
        page->seen++;
        return add_error(&page->tensors, row->json, diag);
    }
    page->seen += page->plots && row->kind == GCB_RECORD_TRAINING; /* only plots show these */
    while (i < PAGE_RECORDS && row->kind != page_record_kinds[i])
        i++;
    if (i == PAGE_RECORDS)
        return 0;
    if (i == PAGE_PAYOFF && !page_says(row->json, GCB_FIELD_MODEL, "exchange"))
        i = page_says(row->json, GCB_FIELD_MODEL, "measured") ? PAGE_TRUTH : PAGE_PAPER;
    if (i == PAGE_PAYOFF)
        err = add_link(page, row, diag);
    if (err)
        return err;
    if (i == PAGE_ENVIRONMENT)
        page->run = page->rows[i].count + 1 + (size_t)page->rows[i].left_out;
    else
        page->seen++;
    return keep_row(page, (enum page_record)i, row, diag);
}

int page_read(struct page *page, const char *path, struct gcb_diag *diag)
{
    page->run = 0;
    if (page->plots)
        gcb_plot_data_begin(page->plots);
    return gcb_results_read(path, GCB_RESULTS_ALL, visit, page, diag);
}

const json_t *page_value(const json_t *row, enum gcb_field field)
{
    const json_t *value = gcb_results_json(row, field);

    return json_is_null(value) ? NULL : value;
}

char *page_number(char *out, const json_t *row, enum gcb_field field)
{
    return gcb_field_number(out, field, gcb_results_real(row, field), 0);
}

bool page_has(const struct page_rows *rows, enum gcb_field field)
{
    for (size_t i = 0; i < rows->count; i++)
        if (page_value(rows->items[i], field))
            return true;
    return false;
}

bool page_differs(const struct page_rows *rows, enum gcb_field field)
{
    for (size_t i = 1; i < rows->count; i++) {
        const json_t *a = page_value(rows->items[0], field), *b = page_value(rows->items[i], field);

        if (a != b && (!a || !b || !json_equal(a, b)))
            return true;
    }
    return false;
}

int page_row_rank(const json_t *row)
{
    static const struct {
        enum gcb_field field;
        const char *word;
    } quiet[] = {{GCB_FIELD_VERDICT, "SAME"},
                 {GCB_FIELD_VERDICT, "AMBIGUOUS"},
                 {GCB_FIELD_VERDICT, "NOT-COMPARED"},
                 {GCB_FIELD_STATUS, "kept"}};

    if (gcb_results_bool(row, GCB_FIELD_FAILS) || page_says(row, GCB_FIELD_STATUS, "broken"))
        return 0;
    if (gcb_results_bool(row, GCB_FIELD_PAGE_OLDER))
        return 2;
    for (size_t i = 0; i < sizeof(quiet) / sizeof(quiet[0]); i++)
        if (page_says(row, quiet[i].field, quiet[i].word))
            return 2;
    return 1;
}

static void sort_rows(struct page_rows *rows)
{
    size_t sorted = 0;

    for (int rank = 0; rank < 2; rank++) {
        for (size_t i = sorted; i < rows->count; i++) {
            json_t *row = rows->items[i];

            if (page_row_rank(row) != rank)
                continue;
            memmove(&rows->items[sorted + 1], &rows->items[sorted],
                    (i - sorted) * sizeof(*rows->items));
            rows->items[sorted++] = row;
        }
    }
}

void page_sort(struct page *page)
{
    sort_rows(&page->rows[PAGE_VERDICT]);
    sort_rows(&page->rows[PAGE_PROMISE]);
    sort_rows(&page->rows[PAGE_SUMMARY]);
}

void page_fini(struct page *page)
{
    for (size_t r = 0; r < PAGE_RECORDS; r++) {
        for (size_t i = 0; i < page->rows[r].count; i++)
            json_decref(page->rows[r].items[i]);
        gcb_free(page->rows[r].items);
    }
    json_decref(page->tensors.names);
    json_decref(page->tensors.specs);
    json_decref(page->tensors.methods);
    gcb_free(page->tensors.cells);
    gcb_plot_data_destroy(page->plots);
    json_decref(page->inputs);
    json_decref(page->links);
}
