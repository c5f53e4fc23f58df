#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/tool/page/page_parts.h"
#include "src/tool/page/page_rows.h"

/* A summary row, the date of its run, and the names that tell its case from others. */
struct dated {
    json_t *row;
    const json_t *env;
    const char *date;
    size_t order; /* place among the summary rows */
};

/* The fields that make two rows one case. Files are compared by name, because every run may have its own folder. */
static const enum gcb_field keys[] = {GCB_FIELD_SPEC,   GCB_FIELD_FILE, GCB_FIELD_SCOPE,
                                      GCB_FIELD_DEVICE, GCB_FIELD_ISA,  GCB_FIELD_CACHE,
                                      GCB_FIELD_THREADS};

static int compare_values(const json_t *a, const json_t *b, enum gcb_field field)
{
    const char *x = gcb_results_text(a, field), *y = gcb_results_text(b, field);
    const double m = gcb_results_real(a, field), n = gcb_results_real(b, field);

    if (field == GCB_FIELD_FILE && x && y) {
        x = strrchr(x, '/') ? strrchr(x, '/') + 1 : x;
        y = strrchr(y, '/') ? strrchr(y, '/') + 1 : y;
    }
    if (x || y)
        return x && y ? strcmp(x, y) : x ? 1 : -1;
    return (m > n) - (m < n);
}

static int compare_cases(const struct dated *a, const struct dated *b)
{
    int order = 0;

    for (size_t i = 0; !order && i < sizeof(keys) / sizeof(keys[0]); i++)
        order = compare_values(a->row, b->row, keys[i]);
    return order;
}

static int by_case_and_date(const void *x, const void *y)
{
    const struct dated *a = x, *b = y;
    int order = compare_cases(a, b);

    if (!order)
        order = strcmp(a->date, b->date);
    return order ? order : (a->order > b->order) - (a->order < b->order);
}

/* Sets how a figure changed since the first row of the case. */
static int set_change(json_t *row, enum gcb_field to, const json_t *first, enum gcb_field field)
{
    const double change = gcb_results_real(row, field) / gcb_results_real(first, field);

    return isfinite(change) ? json_object_set_new(row, gcb_field_name(to), json_real(change)) : 0;
}

/* Adds a copy of the row, with the date and the revision of its run. */
static int add_row(struct page_rows *rows, const struct dated *at, const json_t *first)
{
    static const enum gcb_field of_run[] = {GCB_FIELD_DATE, GCB_FIELD_GIT_REVISION};
    json_t *copy;
    int bad = 0;

    if (rows->count == PAGE_MAX_ROWS) {
        rows->left_out++;
        return 0;
    }
    if (gcb_grow(&rows->items, &rows->cap, rows->count, sizeof(*rows->items)) ||
        !(copy = json_copy(at->row)))
        return -1;
    rows->items[rows->count++] = copy;
    for (size_t i = 0; i < sizeof(of_run) / sizeof(of_run[0]); i++)
        if (page_value(at->env, of_run[i]))
            bad |= json_object_set(copy, gcb_field_name(of_run[i]),
                                   gcb_results_json(at->env, of_run[i]));
    bad |= set_change(copy, GCB_FIELD_PAGE_RATIO_CHANGE, first, GCB_FIELD_RATIO);
    bad |= set_change(copy, GCB_FIELD_PAGE_SPEED_CHANGE, first, GCB_FIELD_ENCODE_GBPS);
    return bad ? -1 : 0;
}

/* Lists the summary rows with a date. Returns how many. */
static size_t list_rows(struct dated *out, const struct page *page)
{
    const struct page_rows *rows = &page->rows[PAGE_SUMMARY];
    size_t n = 0;

    for (size_t i = 0; i < rows->count; i++) {
        const json_t *env = page_run_of(page, rows->items[i]);
        const char *date = page_date_of(env);

        if (*date && page_value(rows->items[i], GCB_FIELD_SPEC))
            out[n++] = (struct dated){rows->items[i], env, date, i};
    }
    return n;
}

int page_add_history(struct page *page)
{
    struct dated *all = gcb_alloc_array(page->rows[PAGE_SUMMARY].count + 1, sizeof(*all));
    size_t count, next;
    int err = 0;

    if (!all)
        return -1;
    count = list_rows(all, page);
    qsort(all, count, sizeof(*all), by_case_and_date);
    for (size_t i = 0; !err && i < count; i = next) {
        for (next = i + 1; next < count && compare_cases(&all[i], &all[next]) == 0;)
            next++;
        if (strcmp(all[i].date, all[next - 1].date) == 0)
            continue;
        for (size_t k = i; !err && k < next; k++) {
            err = add_row(&page->rows[PAGE_HISTORY], &all[k], all[i].row);
            if (strcmp(all[k].date, all[next - 1].date) != 0)
                err |= json_object_set_new(all[k].row, gcb_field_name(GCB_FIELD_PAGE_OLDER),
                                           json_true());
        }
    }
    gcb_free(all);
    return err;
}
