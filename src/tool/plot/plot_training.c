/* Plots the quality of networks in training against steps, bytes and seconds. */
#include <math.h>
#include <stdlib.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/plot/plots.h"

static bool is_wanted(const struct gcb_plot_record *t)
{
    return isfinite(t->quality) && t->step > 0.0;
}

static bool has_bytes(const struct gcb_plot_record *t)
{
    return is_wanted(t) && t->link_bytes > 0.0;
}

static bool has_seconds(const struct gcb_plot_record *t)
{
    return is_wanted(t) && t->seconds > 0.0 && t->bandwidth > 0.0;
}

/* There is a page for each result file, network, number of workers and link. */
static bool same_page(const struct gcb_plot_record *a, const struct gcb_plot_record *b)
{
    return a->env == b->env && a->network == b->network && gcb_plot_equal(a->workers, b->workers) &&
           gcb_plot_equal(a->bandwidth, b->bandwidth) && gcb_plot_equal(a->latency, b->latency);
}

static const struct gcb_plot_split by_steps = {GCB_RECORD_TRAINING, is_wanted, same_page, NULL},
                                   by_bytes = {GCB_RECORD_TRAINING, has_bytes, same_page, NULL},
                                   by_time = {GCB_RECORD_TRAINING, has_seconds, same_page, NULL};

static const char *label_of(const struct gcb_plot_record *t)
{
    return *t->label ? t->label : t->spec;
}

static int by_step(const void *a, const void *b)
{
    const struct gcb_plot_record *x = *(const struct gcb_plot_record *const *)a,
                                 *y = *(const struct gcb_plot_record *const *)b;

    if (x->step != y->step)
        return (x->step > y->step) - (x->step < y->step);
    return (x->quality > y->quality) - (x->quality < y->quality);
}

/* Collects the rows of a method on the page, by step and then by quality. */
static int collect(struct gcb_plot_cases *out, const struct gcb_plot *plot,
                   const struct gcb_plot_data *data, const struct gcb_plot_record *first,
                   const char *label)
{
    const struct gcb_plot_record *t = NULL;

    out->count = 0;
    while ((t = gcb_plot_split_next(plot->split, data, first, t)) != NULL) {
        if (label_of(t) != label)
            continue;
        if (gcb_grow(&out->items, &out->cap, out->count, sizeof(*out->items)))
            return GCB_E_NOMEM;
        out->items[out->count++] = t;
    }
    qsort(out->items, out->count, sizeof(*out->items), by_step);
    return 0;
}

/* Adds a series for each method on the page: the baselines last, so that they are drawn on top. */
static int name_series(struct gcb_plot_page *out, const struct gcb_plot *plot,
                       const struct gcb_plot_data *data, const struct gcb_plot_record *first,
                       struct gcb_plot_cases *named)
{
    for (int baselines = 0; baselines < 2; baselines++) {
        const struct gcb_plot_record *t = NULL;

        while ((t = gcb_plot_split_next(plot->split, data, first, t)) != NULL) {
            bool known = (gcb_plot_baseline(t->method) != 0) != (baselines == 1);

            for (size_t i = 0; !known && i < named->count; i++)
                known = label_of(named->items[i]) == label_of(t);
            if (known)
                continue;
            if (gcb_grow(&named->items, &named->cap, named->count, sizeof(*named->items)) ||
                !gcb_plot_set_name(&out->set, label_of(t), t->method))
                return GCB_E_NOMEM;
            named->items[named->count++] = t;
        }
    }
    return 0;
}

/* Writes a row for each step: the median, lowest and highest quality of the seeds. Returns the number of rows. */
static size_t put_steps(struct gcb_plot_page *out, const struct gcb_plot_cases *rows,
                        double (*place)(const struct gcb_plot_record *t),
                        struct gcb_plot_range *places, struct gcb_plot_range *qualities)
{
    size_t count = 0;

    GCB_PLOT_BLOCK(out, "place", GCB_PLOT_FIELD(QUALITY), "lowest", "highest");
    for (size_t i = 0, end; i < rows->count; i = end, count++) {
        const struct gcb_plot_record *low, *high;
        double quality, x = 0.0;

        for (end = i; end < rows->count && rows->items[end]->step == rows->items[i]->step; end++)
            x += place(rows->items[end]);
        low = rows->items[(i + end - 1) / 2];
        high = rows->items[(i + end) / 2];
        quality = (low->quality + high->quality) / 2.0;
        x /= (double)(end - i);
        gcb_plot_range_add_positive(places, x);
        gcb_plot_range_add(qualities, quality);
        GCB_PLOT_ROW(out, NULL, x, quality, rows->items[i]->quality, rows->items[end - 1]->quality);
    }
    return count;
}

static int fill(const struct gcb_plot *plot, const struct gcb_plot_data *data,
                const struct gcb_plot_record *first, struct gcb_plot_page *out,
                double (*place)(const struct gcb_plot_record *t), struct gcb_diag *diag)
{
    struct gcb_plot_range places = GCB_PLOT_RANGE_EMPTY, qualities = GCB_PLOT_RANGE_EMPTY;
    struct gcb_plot_cases named = {.items = NULL}, rows = {.items = NULL};
    char what[256];
    int err = name_series(out, plot, data, first, &named);

    for (size_t i = 0; !err && i < named.count; i++) {
        err = collect(&rows, plot, data, first, label_of(named.items[i]));
        if (!err)
            out->set.items[i].count = put_steps(out, &rows, place, &places, &qualities);
    }
    snprintf(what, sizeof(what), "%s, %.0f workers", first->network, first->workers);
    if (has_seconds(first))
        gcb_append(what, sizeof(what), ", links of %g Gb a second", first->bandwidth);
    gcb_plot_heading_of(out, out->heading, what, "", gcb_plot_env_of(data, first->env));
    gcb_plot_var_range(out, "place", &places);
    gcb_plot_var_range(out, "quality", &qualities);
    gcb_plot_one_panel(out, gcb_plot_legend(out, &out->set));
    gcb_free(named.items);
    gcb_free(rows.items);
    return err ? gcb_diag_nomem(diag, 0, "a plot") : 0;
}

static double step_of(const struct gcb_plot_record *t)
{
    return t->step;
}

static int fill_steps(const struct gcb_plot_data *data, const struct gcb_plot_record *first,
                      struct gcb_plot_page *out, struct gcb_diag *diag)
{
    return fill(&gcb_plot_accuracy_steps, data, first, out, step_of, diag);
}

static double bytes_of(const struct gcb_plot_record *t)
{
    return t->link_bytes;
}

static int fill_bytes(const struct gcb_plot_data *data, const struct gcb_plot_record *first,
                      struct gcb_plot_page *out, struct gcb_diag *diag)
{
    return fill(&gcb_plot_accuracy_bytes, data, first, out, bytes_of, diag);
}

static double seconds_of(const struct gcb_plot_record *t)
{
    return t->seconds;
}

static int fill_time(const struct gcb_plot_data *data, const struct gcb_plot_record *first,
                     struct gcb_plot_page *out, struct gcb_diag *diag)
{
    return fill(&gcb_plot_accuracy_time, data, first, out, seconds_of, diag);
}

#define NEEDS \
    "training rows: `./dev study` or datasets/recipes/train_workers.py in gcbench's source tree"

const struct gcb_plot gcb_plot_accuracy_steps = {
    .name = "accuracy-steps",
    .title = "quality on test data against training steps",
    .needs = NEEDS,
    .from = "./dev study",
    .heading = "Quality in training, by steps",
    .split = &by_steps,
    .fill = fill_steps,
};

const struct gcb_plot gcb_plot_accuracy_bytes = {
    .name = "accuracy-bytes",
    .title = "quality on test data against bytes on a worker's link",
    .needs = NEEDS,
    .from = "./dev study",
    .heading = "Quality in training, by bytes on a worker's link",
    .split = &by_bytes,
    .fill = fill_bytes,
};

const struct gcb_plot gcb_plot_accuracy_time = {
    .name = "accuracy-time",
    .title = "quality on test data against the time of training over a given link",
    .needs = "training rows with `seconds`: `./dev study`",
    .from = "./dev study",
    .heading = "Quality in training, by time",
    .split = &by_time,
    .fill = fill_time,
};
