#include "src/tool/plot/plot_split.h"

static const struct gcb_plot_array *array_of(const struct gcb_plot_split *split,
                                             const struct gcb_plot_data *data)
{
    return (const struct gcb_plot_array *)((const char *)data + split->array);
}

static const void *row_at(const struct gcb_plot_split *split, const struct gcb_plot_array *rows,
                          size_t i)
{
    return (const char *)rows->items + i * split->size;
}

/* The first row of each page. */
static size_t find_pages(const void *out[GCB_PLOT_PAGES], const struct gcb_plot_split *split,
                         const struct gcb_plot_data *data)
{
    const struct gcb_plot_array *rows = array_of(split, data);
    size_t n = 0;

    for (size_t i = 0; i < rows->count && n < GCB_PLOT_PAGES; i++) {
        const void *row = row_at(split, rows, i);
        size_t at = 0;

        if (!split->is_wanted(row))
            continue;
        while (at < n && !split->same_page(out[at], row))
            at++;
        if (at == n)
            out[n++] = row;
    }
    return n;
}

size_t gcb_plot_split_pages(const struct gcb_plot_split *split, const struct gcb_plot_data *data)
{
    const void *first[GCB_PLOT_PAGES];

    return find_pages(first, split, data);
}

const void *gcb_plot_split_first(const struct gcb_plot_split *split,
                                 const struct gcb_plot_data *data, size_t page,
                                 struct gcb_diag *diag)
{
    const void *first[GCB_PLOT_PAGES];

    if (page < find_pages(first, split, data))
        return first[page];
    gcb_diag_set(diag, GCB_E_INVALID, "there is no such page");
    return NULL;
}

const void *gcb_plot_split_next(const struct gcb_plot_split *split,
                                const struct gcb_plot_data *data, const void *first, const void *at)
{
    const struct gcb_plot_array *rows = array_of(split, data);
    size_t i = 0;

    if (at)
        i = (size_t)((const char *)at - (const char *)rows->items) / split->size + 1;
    for (; i < rows->count; i++) {
        const void *row = row_at(split, rows, i);

        if (split->is_wanted(row) && split->same_page(first, row))
            return row;
    }
    return NULL;
}
