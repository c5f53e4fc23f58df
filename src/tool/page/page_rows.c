#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/codec/method.h"
#include "src/tool/page/page_private.h"
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
    const char *method = gcb_results_text(row, "method");

    if (gcb_results_bool(row, "baseline"))
        return true;
    for (size_t i = 0; method && i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(method, names[i]) == 0)
            return true;
    return false;
}

char *page_label(char *out, size_t size, const json_t *row)
{
    const char *spec = gcb_results_text(row, "spec"), *method = gcb_results_text(row, "method");

    return gcb_method_label(out, size, spec ? spec : method ? method : "");
}

/* A kept row and what it does not say itself. NULL: no memory. */
static json_t *annotated(const struct gcb_results_row *row, size_t run)
{
    json_t *copy = json_deep_copy(row->json);
    char label[512];
    int bad = !copy;

    page_label(label, sizeof(label), row->json);
    bad |= json_object_set_new(copy, PAGE_RUN, json_integer((json_int_t)run));
    bad |= json_object_set_new(copy, PAGE_RESULTS, gcb_row_make_text(row->path));
    if (*label)
        bad |= json_object_set_new(copy, PAGE_LABEL, json_string_nocheck(label));
    if (!bad)
        return copy;
    json_decref(copy);
    return NULL;
}

int page_keep(struct page_rows *rows, const struct gcb_results_row *row, size_t run,
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

static bool is_exchange(const json_t *payoff)
{
    const char *model = gcb_results_text(payoff, "model");

    return model && strcmp(model, "exchange") == 0;
}

static int visit(void *ctx, const struct gcb_results_row *row, struct gcb_diag *diag)
{
    struct reader *r = ctx;
    struct page *page = r->page;
    const char *input = gcb_results_text(row->json, "file");
    int err = page->plots ? gcb_plot_data_row(page->plots, row, diag) : 0;
    size_t i = 0;

    if (err)
        return err;
    if (input && json_object_size(page->inputs) < PAGE_MAX_ROWS &&
        json_object_set_new(page->inputs, input, json_true()))
        return gcb_diag_nomem(diag, 0, "names");
    if (strcmp(row->record, "result") == 0) {
        page->seen++;
        return page_tensors_add(&page->tensors, row->json, diag);
    }
    while (i < PAGE_RECORDS && strcmp(row->record, records[i]) != 0)
        i++;
    if (i == PAGE_RECORDS)
        return 0;
    if (i == PAGE_PAYOFF && !is_exchange(row->json))
        i = PAGE_PAPER;
    if (i == PAGE_PAYOFF)
        err = page_links_add(page, row, r->run, diag);
    if (err)
        return err;
    if (i == PAGE_ENVIRONMENT)
        r->run = page->rows[i].count + 1 + (size_t)page->rows[i].left_out;
    else
        page->seen++;
    return page_keep(&page->rows[i], row, r->run, diag);
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

bool page_has(const struct page_rows *rows, const char *field)
{
    for (size_t i = 0; i < rows->count; i++) {
        const json_t *value = json_object_get(rows->items[i], field);

        if (value && !json_is_null(value))
            return true;
    }
    return false;
}

static bool says(const json_t *row, const char *field, const char *word)
{
    const char *text = gcb_results_text(row, field);

    return text && strcmp(text, word) == 0;
}

/* 0: fails, 1: worth a look, 2: as it was, or as promised. */
static int weight(const json_t *row)
{
    if (gcb_results_bool(row, "fails") || says(row, "status", "broken"))
        return 0;
    return says(row, "verdict", "SAME") || says(row, "status", "kept") ? 2 : 1;
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
    page_tensors_fini(&page->tensors);
    gcb_plot_data_destroy(page->plots);
    json_decref(page->inputs);
    json_decref(page->links);
    memset(page, 0, sizeof(*page));
}
