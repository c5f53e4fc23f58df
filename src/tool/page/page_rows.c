#include "src/tool/page/page_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/codec/method.h"
#include "src/tool/rows/row.h"

static const char *const records[PAGE_RECORDS] = {
    [PAGE_ENVIRONMENT] = "environment", [PAGE_VERDICT] = "verdict", [PAGE_PROMISE] = "promise",
    [PAGE_PAYOFF] = "payoff",           [PAGE_LINKS] = "payoff",    [PAGE_PAPER] = "payoff",
    [PAGE_SUMMARY] = "summary",         [PAGE_KERNEL] = "kernel",   [PAGE_REPLAY] = "replay",
};

struct reader {
    struct page *page;
    size_t run; /* of the file's last environment row */
};

bool page_is_baseline(const json_t *row)
{
    static const char *const names[] = {"identity", "fp16", "bf16", "memcpy"};
    const char *method = gcb_results_text(row, GCB_FIELD_METHOD);

    if (gcb_results_bool(row, GCB_FIELD_BASELINE))
        return true;
    for (size_t i = 0; method && i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(method, names[i]) == 0)
            return true;
    return false;
}

static char *label_of(char *out, size_t size, const json_t *row)
{
    const char *spec = gcb_results_text(row, GCB_FIELD_SPEC),
               *method = gcb_results_text(row, GCB_FIELD_METHOD);

    return gcb_method_label(out, size, spec ? spec : method ? method : "");
}

/* A kept row and what it does not say itself. NULL: no memory. */
static json_t *annotated(const struct gcb_results_row *row, size_t run)
{
    json_t *copy = json_deep_copy(row->json);
    char label[512];
    int bad = !copy;

    label_of(label, sizeof(label), row->json);
    bad |= json_object_set_new(copy, gcb_field_name(GCB_FIELD_PAGE_RUN),
                               json_integer((json_int_t)run));
    bad |= json_object_set_new(copy, gcb_field_name(GCB_FIELD_PAGE_RESULTS),
                               gcb_row_make_text(row->path));
    if (*label)
        bad |= json_object_set_new(copy, gcb_field_name(GCB_FIELD_PAGE_LABEL),
                                   json_string_nocheck(label));
    if (!bad)
        return copy;
    json_decref(copy);
    return NULL;
}

static int keep(struct page_rows *rows, const struct gcb_results_row *row, size_t run,
                struct gcb_diag *diag)
{
    json_t *copy;

    if (rows->count == PAGE_MAX_ROWS) {
        rows->left_out++;
        return 0;
    }
    if (gcb_grow(&rows->items, &rows->cap, rows->count, sizeof(*rows->items)))
        return gcb_diag_nomem(diag, 0, "rows");
    copy = annotated(row, run);
    if (!copy)
        return gcb_diag_nomem(diag, 0, "a row");
    rows->items[rows->count++] = copy;
    return 0;
}

/* A line for each method of a payoff, whatever the number of links: what one looks for among their rows. */

/* What tells a line from others: all but the link's bandwidth, and what follows from it. NULL: no memory. */
static char *key_of(const json_t *row, size_t run)
{
    static const enum gcb_field fields[] = {
        GCB_FIELD_LABEL,           GCB_FIELD_RESULTS, GCB_FIELD_COLLECTIVE,
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

/* The line that a row belongs to, made of it if it is the first; NULL: there are too many. */
static int line_of(json_t **out, struct page *page, const struct gcb_results_row *row, size_t run,
                   struct gcb_diag *diag)
{
    struct page_rows *lines = &page->rows[PAGE_LINKS];
    const size_t count = lines->count;
    char *key = key_of(row->json, run);
    const json_t *at;
    int err = 0;

    if (!page->links)
        page->links = json_object();
    at = key ? json_object_get(page->links, key) : NULL;
    *out = at ? lines->items[json_integer_value(at)] : NULL;
    if (!key || !page->links)
        err = gcb_diag_nomem(diag, 0, "lines");
    else if (!at)
        err = keep(lines, row, run, diag);
    if (!err && lines->count > count) {
        *out = lines->items[count];
        if (json_object_set_new(page->links, key, json_integer((json_int_t)count)))
            err = gcb_diag_nomem(diag, 0, "lines");
    }
    free(key);
    return err;
}

static int add_link(struct page *page, const struct gcb_results_row *row, size_t run,
                    struct gcb_diag *diag)
{
    const double speedup = gcb_results_real(row->json, GCB_FIELD_SPEEDUP_FP32);
    json_int_t links, paid;
    json_t *line = NULL;
    double best;
    int bad = 0;
    const bool known =
        !page_is_baseline(row->json) && !gcb_results_text(row->json, GCB_FIELD_DOUBTFUL);
    const int err = !known ? 0 : line_of(&line, page, row, run, diag);

    if (err || !line)
        return err;
    links = json_integer_value(gcb_results_json(line, GCB_FIELD_PAGE_LINKS)) + 1;
    paid = json_integer_value(gcb_results_json(line, GCB_FIELD_PAGE_LINKS_PAID));
    best = gcb_results_real(line, GCB_FIELD_PAGE_BEST);
    if (links > 1)
        bad |= json_object_set_new(line, gcb_field_name(GCB_FIELD_PAGE_MANY_LINKS), json_true());
    bad |= json_object_set_new(line, gcb_field_name(GCB_FIELD_PAGE_LINKS), json_integer(links));
    bad |= json_object_set_new(line, gcb_field_name(GCB_FIELD_PAGE_LINKS_PAID),
                               json_integer(paid + gcb_results_bool(row->json, GCB_FIELD_PAYS)));
    if (isfinite(speedup) && !(speedup <= best))
        bad |= json_object_set_new(line, gcb_field_name(GCB_FIELD_PAGE_BEST), json_real(speedup));
    return bad ? gcb_diag_nomem(diag, 0, "lines") : 0;
}

/* The number of `key`, a new one while there are fewer than `most`; -1: there are more; -2: no memory. */
static json_int_t number_of(json_t **names, const char *key, size_t most)
{
    const json_t *known;
    size_t next;

    if (!*names)
        *names = json_object();
    known = json_object_get(*names, key);
    next = json_object_size(*names);
    if (known)
        return json_integer_value(known);
    if (next >= most)
        return -1;
    return json_object_set_new(*names, key, json_integer((json_int_t)next)) ? -2 : (json_int_t)next;
}

/* The number of a row's method, by its label. */
static json_int_t method_of(struct page_tensors *t, const json_t *row)
{
    const char *spec = gcb_results_text(row, GCB_FIELD_SPEC);
    const json_t *known = spec ? json_object_get(t->specs, spec) : NULL;
    char label[512];
    json_int_t number;

    if (known)
        return json_integer_value(known);
    number = number_of(&t->methods, label_of(label, sizeof(label), row), PAGE_MAX_METHODS);
    if (!t->specs)
        t->specs = json_object();
    if (number != -2 && spec && json_object_size(t->specs) < PAGE_MAX_TENSORS &&
        json_object_set_new(t->specs, spec, json_integer(number)))
        return -2;
    return number;
}

/* Cells for tensor number `count`, all empty. */
static int grow(struct page_tensors *t)
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
    method = method_of(t, row);
    name = method < 0 ? method : number_of(&t->names, tensor, PAGE_MAX_TENSORS);
    if (name == -2 || (name >= 0 && (size_t)name == t->count && grow(t)))
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

static void tensors_fini(struct page_tensors *t)
{
    json_decref(t->names);
    json_decref(t->specs);
    json_decref(t->methods);
    gcb_free(t->cells);
    memset(t, 0, sizeof(*t));
}

static bool is_exchange(const json_t *payoff)
{
    const char *model = gcb_results_text(payoff, GCB_FIELD_MODEL);

    return model && strcmp(model, "exchange") == 0;
}

static int visit(void *ctx, const struct gcb_results_row *row, struct gcb_diag *diag)
{
    struct reader *r = ctx;
    struct page *page = r->page;
    const char *input = gcb_results_text(row->json, GCB_FIELD_FILE);
    int err = page->plots ? gcb_plot_data_row(page->plots, row, diag) : 0;
    size_t i = 0;

    if (err)
        return err;
    if (input && json_object_size(page->inputs) < PAGE_MAX_ROWS &&
        json_object_set_new(page->inputs, input, json_true()))
        return gcb_diag_nomem(diag, 0, "names");
    if (strcmp(row->record, "result") == 0) {
        page->seen++;
        return add_error(&page->tensors, row->json, diag);
    }
    while (i < PAGE_RECORDS && strcmp(row->record, records[i]) != 0)
        i++;
    if (i == PAGE_RECORDS)
        return 0;
    if (i == PAGE_PAYOFF && !is_exchange(row->json))
        i = PAGE_PAPER;
    if (i == PAGE_PAYOFF)
        err = add_link(page, row, r->run, diag);
    if (err)
        return err;
    if (i == PAGE_ENVIRONMENT)
        r->run = page->rows[i].count + 1 + (size_t)page->rows[i].left_out;
    else
        page->seen++;
    return keep(&page->rows[i], row, r->run, diag);
}

int page_read(struct page *page, const char *path, struct gcb_diag *diag)
{
    struct reader r = {.page = page};

    if (!page->inputs)
        page->inputs = json_object();
    if (page->plots)
        gcb_plot_data_begin(page->plots);
    return page->inputs ? gcb_results_read(path, visit, &r, diag)
                        : gcb_diag_nomem(diag, 0, "names");
}

const json_t *page_value(const json_t *row, enum gcb_field field)
{
    const json_t *value = gcb_results_json(row, field);

    return json_is_null(value) ? NULL : value;
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

static bool says(const json_t *row, enum gcb_field field, const char *word)
{
    const char *text = gcb_results_text(row, field);

    return text && strcmp(text, word) == 0;
}

/* 0: fails, 1: worth a look, 2: as it was, or as promised. */
static int weight(const json_t *row)
{
    if (gcb_results_bool(row, GCB_FIELD_FAILS) || says(row, GCB_FIELD_STATUS, "broken"))
        return 0;
    return says(row, GCB_FIELD_VERDICT, "SAME") || says(row, GCB_FIELD_STATUS, "kept") ? 2 : 1;
}

static void sort(struct page_rows *rows)
{
    size_t sorted = 0;

    for (int w = 0; w < 2; w++) {
        for (size_t i = sorted; i < rows->count; i++) {
            json_t *row = rows->items[i];

            if (weight(row) != w)
                continue;
            memmove(&rows->items[sorted + 1], &rows->items[sorted],
                    (i - sorted) * sizeof(*rows->items));
            rows->items[sorted++] = row;
        }
    }
}

void page_sort(struct page *page)
{
    sort(&page->rows[PAGE_VERDICT]);
    sort(&page->rows[PAGE_PROMISE]);
}

void page_fini(struct page *page)
{
    for (size_t r = 0; r < PAGE_RECORDS; r++) {
        for (size_t i = 0; i < page->rows[r].count; i++)
            json_decref(page->rows[r].items[i]);
        gcb_free(page->rows[r].items);
    }
    tensors_fini(&page->tensors);
    gcb_plot_data_destroy(page->plots);
    json_decref(page->inputs);
    json_decref(page->links);
    memset(page, 0, sizeof(*page));
}
