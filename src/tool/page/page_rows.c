#include "src/tool/page/page_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/codec/method.h"
#include "src/tool/plot/plot_style.h"
#include "src/tool/rows/labels.h"
#include "src/tool/rows/row.h"

const enum gcb_record page_record_kinds[PAGE_RECORDS] = {
    [PAGE_ENVIRONMENT] = GCB_RECORD_ENVIRONMENT,
    [PAGE_VERDICT] = GCB_RECORD_VERDICT,
    [PAGE_PROMISE] = GCB_RECORD_PROMISE,
    [PAGE_PAYOFF] = GCB_RECORD_PAYOFF,
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

/* Writes the row's method with all parameters, also those that it got after the row was written. */
static char *full_spec(char *out, size_t size, const json_t *row)
{
    const char *spec = gcb_results_text(row, GCB_FIELD_SPEC),
               *method = gcb_results_text(row, GCB_FIELD_METHOD);

    return gcb_method_complete(out, size, spec ? spec : method ? method : "");
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
    char full[1024];
    json_t *copy;
    int bad;

    if (rows->count == PAGE_MAX_ROWS) {
        rows->left_out++;
        return 0;
    }
    if (gcb_grow(&rows->items, &rows->cap, rows->count, sizeof(*rows->items)))
        return gcb_diag_nomem(diag, 0, "rows");
    copy = json_deep_copy(row->json);
    full_spec(full, sizeof(full), row->json);
    bad = set(copy, GCB_FIELD_PAGE_RUN, json_integer((json_int_t)page->run));
    bad |= set(copy, GCB_FIELD_PAGE_RESULTS, gcb_row_make_text(row->path));
    if (*full) /* until page_sort knows all methods */
        bad |= set(copy, GCB_FIELD_PAGE_LABEL, json_string_nocheck(full));
    if (row->kind == GCB_RECORD_SUMMARY &&
        spec) /* so that the history pairs runs of different builds of gcbench */
        bad |= set(copy, GCB_FIELD_SPEC, json_string(policy ? policy : full));
    if (bad) {
        json_decref(copy);
        return gcb_diag_nomem(diag, 0, "a row");
    }
    rows->items[rows->count++] = copy;
    return 0;
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

/* Returns the number of the row's method. Fails as find_number. */
static json_int_t find_method(struct page_tensors *t, const json_t *row)
{
    const char *spec = gcb_results_text(row, GCB_FIELD_SPEC);
    const json_t *known = spec ? json_object_get(t->specs, spec) : NULL;
    char full[1024];
    json_int_t number;

    if (known)
        return json_integer_value(known);
    number = find_number(t->methods, full_spec(full, sizeof(full), row), PAGE_MAX_METHODS);
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
    if (i == PAGE_PAYOFF && page_says(row->json, GCB_FIELD_MODEL, "measured"))
        i = PAGE_TRUTH;
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
    if (gcb_results_bool(row, GCB_FIELD_PAGE_OLDER) ||
        gcb_results_bool(row, GCB_FIELD_PAGE_UNNAMED))
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

/* Adds a spec to those that get labels. */
static int add_spec(json_t *labels, const char *spec)
{
    return spec && !json_object_get(labels, spec) &&
           json_object_set_new_nocheck(labels, spec, json_true());
}

/* Maps each spec of the object to its label among all of them. */
static int fill_labels(json_t *labels)
{
    const size_t count = json_object_size(labels);
    struct gcb_label *items = gcb_alloc_zero(count + 1, sizeof(*items));
    int bad = !items;
    const char *spec;
    json_t *value;
    size_t i = 0;

    if (!bad)
        json_object_foreach(labels, spec, value) items[i++].spec = spec;
    if (!bad)
        gcb_label_all(items, count);
    for (i = 0; !bad && i < count; i++)
        bad =
            json_object_set_new_nocheck(labels, items[i].spec, json_string_nocheck(items[i].text));
    gcb_free(items);
    return bad;
}

/* Gives each method of the page its label, which tells it from all others, in place of its spec. */
static int label_methods(struct page *page, struct gcb_diag *diag)
{
    json_t *labels = json_object(), *methods = json_object(), *number;
    int bad = !labels || !methods;
    const char *spec;

    for (size_t r = 0; !bad && r < PAGE_RECORDS; r++)
        for (size_t i = 0; !bad && i < page->rows[r].count; i++)
            bad = add_spec(labels, gcb_results_text(page->rows[r].items[i], GCB_FIELD_PAGE_LABEL));
    if (!bad)
        json_object_foreach(page->tensors.methods, spec, number) bad |= add_spec(labels, spec);
    bad = bad || fill_labels(labels);
    for (size_t r = 0; !bad && r < PAGE_RECORDS; r++)
        for (size_t i = 0; !bad && i < page->rows[r].count; i++) {
            json_t *row = page->rows[r].items[i];

            spec = gcb_results_text(row, GCB_FIELD_PAGE_LABEL);
            bad = spec && json_object_set(row, gcb_field_name(GCB_FIELD_PAGE_LABEL),
                                          json_object_get(labels, spec));
        }
    if (!bad)
        json_object_foreach(page->tensors.methods, spec, number) bad |= json_object_set_nocheck(
            methods, json_string_value(json_object_get(labels, spec)), number);
    json_decref(bad ? methods : page->tensors.methods);
    if (!bad)
        page->tensors.methods = methods;
    json_decref(labels);
    return bad ? gcb_diag_nomem(diag, 0, "labels") : 0;
}

#define FEW_WAYS 8 /* of so many ways, all are shown */

/* Marks the rows of ways that are neither named by an answer nor the bar at any place. */
static int mark_ways(const struct page_rows *rows, struct gcb_diag *diag)
{
    json_t *ways = json_object(), *named = json_object();
    int bad = !ways || !named;

    for (size_t i = 0; !bad && i < rows->count; i++) {
        const char *spec = gcb_results_text(rows->items[i], GCB_FIELD_SPEC);
        const bool wanted = page_value(rows->items[i], GCB_FIELD_ADVICE) ||
                            (page_is_baseline(rows->items[i]) &&
                             gcb_results_real(rows->items[i], GCB_FIELD_SPEEDUP_BAR) >= 1.0);

        if (spec)
            bad = json_object_set_new(ways, spec, json_true()) ||
                  (wanted && json_object_set_new(named, spec, json_true()));
    }
    for (size_t i = 0; !bad && i < rows->count && json_object_size(ways) > FEW_WAYS; i++) {
        const char *spec = gcb_results_text(rows->items[i], GCB_FIELD_SPEC);

        if (spec && !json_object_get(named, spec))
            bad = set(rows->items[i], GCB_FIELD_PAGE_UNNAMED, json_true());
    }
    json_decref(ways);
    json_decref(named);
    return bad ? gcb_diag_nomem(diag, 0, "ways") : 0;
}

int page_sort(struct page *page, struct gcb_diag *diag)
{
    int err = mark_ways(&page->rows[PAGE_PAYOFF], diag);

    if (!err)
        err = label_methods(page, diag);
    sort_rows(&page->rows[PAGE_VERDICT]);
    sort_rows(&page->rows[PAGE_PROMISE]);
    sort_rows(&page->rows[PAGE_PAYOFF]);
    sort_rows(&page->rows[PAGE_SUMMARY]);
    return err;
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
}
