#include "src/tool/page/page_private.h"

#include <math.h>
#include <stdlib.h>

/* A line for each method of a payoff, whatever the number of links: what one looks for among their rows. */

/* What tells a line from others: all but the link's bandwidth, and what follows from it. NULL: no memory. */
static char *key_of(const json_t *row, size_t run)
{
    static const char *const fields[] = {
        "label",           "results", "collective", "workers", "scope", "device",
        "latency_seconds", "threads", "isa",        "cache",   "spec"};
    json_t *values = json_pack("[I]", (json_int_t)run);
    char *key = NULL;
    int bad = !values;

    for (size_t i = 0; !bad && i < sizeof(fields) / sizeof(fields[0]); i++) {
        json_t *value = json_object_get(row, fields[i]);

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
        err = page_keep(lines, row, run, diag);
    if (!err && lines->count > count) {
        *out = lines->items[count];
        if (json_object_set_new(page->links, key, json_integer((json_int_t)count)))
            err = gcb_diag_nomem(diag, 0, "lines");
    }
    free(key);
    return err;
}

int page_links_add(struct page *page, const struct gcb_results_row *row, size_t run,
                   struct gcb_diag *diag)
{
    const double speedup = gcb_results_real(row->json, "speedup_fp32");
    json_int_t links, paid;
    json_t *line = NULL;
    double best;
    int bad = 0;
    const bool known = !page_is_baseline(row->json) && !gcb_results_text(row->json, "doubtful");
    const int err = !known ? 0 : line_of(&line, page, row, run, diag);

    if (err || !line)
        return err;
    links = json_integer_value(json_object_get(line, PAGE_LINK_COUNT)) + 1;
    paid = json_integer_value(json_object_get(line, PAGE_LINKS_PAID));
    best = gcb_results_real(line, PAGE_BEST);
    if (links > 1)
        bad |= json_object_set_new(line, PAGE_MANY_LINKS, json_true());
    bad |= json_object_set_new(line, PAGE_LINK_COUNT, json_integer(links));
    bad |= json_object_set_new(line, PAGE_LINKS_PAID,
                               json_integer(paid + gcb_results_bool(row->json, "pays")));
    if (isfinite(speedup) && !(speedup <= best))
        bad |= json_object_set_new(line, PAGE_BEST, json_real(speedup));
    return bad ? gcb_diag_nomem(diag, 0, "lines") : 0;
}
