#include "src/tool/plot/plot_page.h"

#include <math.h>
#include <string.h>

#include "src/lib/base/text.h"
#include "src/lib/codec/method.h"
#include "src/tool/base/memory.h"
#include "src/tool/rows/results.h"

#define BIT(kind) GCB_RECORD_BIT(GCB_RECORD_##kind)
/* The records whose rows are kept. */
#define KEPT \
    (BIT(ENVIRONMENT) | BIT(SUMMARY) | BIT(HISTOGRAM) | BIT(SPECTRUM) | BIT(KERNEL) | \
     BIT(PAYOFF) | BIT(TRAINING) | BIT(COMPACTION) | BIT(REPLAY_STEP))

const char gcb_plot_no_text[] = "";

/* True if the numbers are equal, or both are NAN. */
static bool are_equal(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

const char *gcb_plot_intern(struct gcb_plot_data *data, const char *text)
{
    char safe[512];

    if (!text || !*text)
        return gcb_plot_no_text;
    return gcb_strings_keep(&data->texts, gcb_escape_again(safe, sizeof(safe), text));
}

/* The members of a record that are fields. */
static const struct {
    enum gcb_field field;
    bool is_text;
    size_t at; /* offset in the record */
} members[] = {
#define TEXT(member, field) {GCB_FIELD_##field, true, offsetof(struct gcb_plot_record, member)},
#define REAL(member, field) {GCB_FIELD_##field, false, offsetof(struct gcb_plot_record, member)},
#include "src/tool/plot/plot_fields.def"
#undef TEXT
#undef REAL
};
#define MEMBERS (sizeof(members) / sizeof(members[0]))

const char *gcb_plot_text(const struct gcb_plot_record *row, enum gcb_field field)
{
    for (size_t i = 0; i < MEMBERS; i++)
        if (members[i].field == field && members[i].is_text)
            return *(const char *const *)(const void *)((const char *)row + members[i].at);
    return NULL;
}

double gcb_plot_real(const struct gcb_plot_record *row, enum gcb_field field)
{
    for (size_t i = 0; i < MEMBERS; i++)
        if (members[i].field == field && !members[i].is_text)
            return *(const double *)(const void *)((const char *)row + members[i].at);
    return NAN;
}

const struct gcb_plot_record *gcb_plot_env_of(const struct gcb_plot_data *data, size_t env)
{
    const struct gcb_plot_records *envs = &data->kinds[GCB_RECORD_ENVIRONMENT];

    return env && env <= envs->count ? &envs->items[env - 1] : &data->unknown;
}

/* Returns a number of a row; of a boolean, 1 for true and 0 for false. */
static double real_of(const json_t *row, enum gcb_field field)
{
    const json_t *value = gcb_results_json(row, field);

    return json_is_boolean(value) ? (double)json_is_true(value) : gcb_results_real(row, field);
}

/* Fills a record with the fields of a row, which are all unknown if `row` is NULL. */
static void fill_record(struct gcb_plot_record *out, const json_t *row, struct gcb_plot_data *data)
{
    char full[1024];

    for (size_t i = 0; i < MEMBERS; i++) {
        char *to = (char *)out + members[i].at;

        if (members[i].is_text) {
            const char *text = gcb_plot_intern(data, gcb_results_text(row, members[i].field));

            memcpy(to, &text, sizeof(text));
        } else {
            const double value = real_of(row, members[i].field);

            memcpy(to, &value, sizeof(value));
        }
    }
    /* An older row may lack parameters that its method has today. Their defaults are added, so that
     * rows with the same setting become one series. Rows with the same spec often follow each
     * other; the setting of the row before is then used again. */
    if (out->spec != data->spec)
        data->setting = gcb_plot_intern(data, gcb_method_complete(full, sizeof(full), out->spec));
    data->spec = out->spec;
    out->setting = data->setting;
}

struct gcb_plot_data *gcb_plot_data_create(void)
{
    struct gcb_plot_data *d = gcb_must_zero(1, sizeof(*d));

    fill_record(&d->unknown, NULL, d);
    return d;
}

void gcb_plot_data_destroy(struct gcb_plot_data *data)
{
    if (!data)
        return;
    for (size_t i = 0; i < GCB_RECORDS; i++)
        gcb_free(data->kinds[i].items);
    gcb_strings_fini(&data->texts);
    gcb_free(data);
}

/* Sets env->file to the first input file of an `environment` row, followed by the number of other
 * files: "FILE and 2 more". */
static void name_file(struct gcb_plot_record *env, const json_t *row, struct gcb_plot_data *data)
{
    const json_t *files = gcb_results_json(row, GCB_FIELD_INPUT_XXH3);
    const char *first = gcb_results_text(json_array_get(files, 0), GCB_FIELD_FILE);
    const size_t count = json_array_size(files);
    char text[512];

    if (!first)
        return;
    snprintf(text, sizeof(text), "%.400s", first);
    if (count > 1)
        gcb_append(text, sizeof(text), " and %zu more", count - 1);
    env->file = gcb_plot_intern(data, text);
}

void gcb_plot_data_begin(struct gcb_plot_data *data)
{
    data->env = 0;
}

void gcb_plot_data_row(struct gcb_plot_data *data, const struct gcb_results_row *row)
{
    const bool is_env = row->kind == GCB_RECORD_ENVIRONMENT;
    struct gcb_plot_records *kind = &data->kinds[row->kind];
    struct gcb_plot_record *item;

    if (!(KEPT & GCB_RECORD_BIT(row->kind)))
        return;
    gcb_must_grow(&kind->items, &kind->cap, kind->count, sizeof(*kind->items));
    if (is_env)
        data->env = kind->count + 1;
    item = &kind->items[kind->count];
    item->env = data->env;
    fill_record(item, row->json, data);
    if (is_env)
        name_file(item, row->json, data);
    else
        item->date = gcb_plot_env_of(data, data->env)->date;
    kind->count++;
}

static int take_row(void *ctx, const struct gcb_results_row *row, struct gcb_diag *diag)
{
    (void)diag;
    gcb_plot_data_row(ctx, row);
    return 0;
}

int gcb_plot_data_read(struct gcb_plot_data *data, const char *path, struct gcb_diag *diag)
{
    gcb_plot_data_begin(data);
    return gcb_results_read(NULL, path, KEPT, take_row, data, diag);
}

const char *gcb_plot_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

/* True if both rows belong to the same page. */
static bool same_page(const struct gcb_plot *plot, const struct gcb_plot_record *a,
                      const struct gcb_plot_record *b)
{
    if (plot->runs == GCB_PLOT_ONE_RUN && a->env != b->env)
        return false;
    for (const enum gcb_field *f = plot->page; *f; f++) {
        const char *x = gcb_plot_text(a, *f), *y = gcb_plot_text(b, *f);

        if (plot->runs == GCB_PLOT_DATES && *f == GCB_FIELD_FILE) {
            if (strcmp(gcb_plot_base_name(x), gcb_plot_base_name(y)) != 0)
                return false;
        } else if (x != y || !are_equal(gcb_plot_real(a, *f), gcb_plot_real(b, *f))) {
            return false;
        }
    }
    return true;
}

/* Finds the first row of each page. Returns the number of pages. */
static size_t find_pages(const struct gcb_plot_record *out[GCB_PLOT_PAGES],
                         const struct gcb_plot *plot, const struct gcb_plot_data *data)
{
    const struct gcb_plot_records *rows = &data->kinds[plot->record];
    /* the page has two values on the axis, or the plot has no axis */
    bool several[GCB_PLOT_PAGES] = {false};
    size_t n = 0, kept = 0;

    for (size_t i = 0; i < rows->count; i++) {
        const struct gcb_plot_record *row = &rows->items[i];
        size_t at = 0;

        if (!plot->is_wanted(row))
            continue;
        while (at < n && !same_page(plot, out[at], row))
            at++;
        if (at == GCB_PLOT_PAGES)
            continue;
        if (at == n)
            out[n++] = row;
        several[at] |=
            !plot->axis || gcb_plot_text(out[at], plot->axis) != gcb_plot_text(row, plot->axis) ||
            !are_equal(gcb_plot_real(out[at], plot->axis), gcb_plot_real(row, plot->axis));
    }
    for (size_t i = 0; i < n; i++)
        if (several[i])
            out[kept++] = out[i];
    return kept;
}

size_t gcb_plot_pages(const struct gcb_plot *plot, const struct gcb_plot_data *data)
{
    const struct gcb_plot_record *first[GCB_PLOT_PAGES];

    return find_pages(first, plot, data);
}

const struct gcb_plot_record *gcb_plot_first(const struct gcb_plot *plot,
                                             const struct gcb_plot_data *data, size_t page)
{
    const struct gcb_plot_record *first[GCB_PLOT_PAGES];

    return page < find_pages(first, plot, data) ? first[page] : NULL;
}

const struct gcb_plot_record *gcb_plot_next(const struct gcb_plot *plot,
                                            const struct gcb_plot_data *data,
                                            const struct gcb_plot_record *first,
                                            const struct gcb_plot_record *at)
{
    const struct gcb_plot_records *rows = &data->kinds[plot->record];

    for (size_t i = at ? (size_t)(at - rows->items) + 1 : 0; i < rows->count; i++)
        if (plot->is_wanted(&rows->items[i]) && same_page(plot, first, &rows->items[i]))
            return &rows->items[i];
    return NULL;
}
