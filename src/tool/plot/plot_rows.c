#include "src/tool/plot/plot_rows.h"

#include <math.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/lib/codec/method.h"
#include "src/tool/rows/results.h"

#define BIT(kind) GCB_RECORD_BIT(GCB_RECORD_##kind)
#define KEPT \
    (BIT(ENVIRONMENT) | BIT(RESULT) | BIT(SUMMARY) | BIT(HISTOGRAM) | BIT(SPECTRUM) | \
     BIT(REPLAY_STEP) | BIT(VERDICT) | BIT(KERNEL) | BIT(TENSOR) | BIT(PAYOFF) | BIT(RACE) | \
     BIT(TRAINING))

int gcb_plot_data_create(struct gcb_plot_data **out, struct gcb_diag *diag)
{
    struct gcb_plot_data *d = gcb_alloc_zero(1, sizeof(*d));

    *out = d;
    if (!d)
        return gcb_diag_nomem(diag, sizeof(*d), "plots");
    d->texts = json_object();
    return d->texts ? 0 : gcb_diag_nomem(diag, 0, "plots");
}

void gcb_plot_data_destroy(struct gcb_plot_data *data)
{
    if (!data)
        return;
    for (size_t i = 0; i < GCB_RECORDS; i++)
        gcb_free(data->kinds[i].items);
    json_decref(data->texts);
    gcb_free(data);
}

/* Escapes a text again, because a hostile file may contain texts that are not escaped. Escapes that are already in the
 * text stay as they are. */
static void clean(char *out, size_t size, const char *text)
{
    char *to = out;

    gcb_escape(out, size, text);
    for (const char *from = out; *from; to++) {
        const bool backslash = strncmp(from, "\\x5c", 4) == 0;

        *to = backslash ? '\\' : *from;
        from += backslash ? 4 : 1;
    }
    *to = '\0';
}

const char gcb_plot_no_text[] = "";

bool gcb_plot_equal(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

const char *gcb_plot_intern(struct gcb_plot_data *data, const char *text)
{
    char safe[512];
    void *at;

    if (!text || !*text)
        return gcb_plot_no_text;
    clean(safe, sizeof(safe), text);
    at = json_object_iter_at(data->texts, safe);
    if (!at && json_object_set_new_nocheck(data->texts, safe, json_true()) == 0)
        at = json_object_iter_at(data->texts, safe);
    return at ? json_object_iter_key(at) : NULL;
}

const struct gcb_plot_record *gcb_plot_env_of(const struct gcb_plot_data *data, size_t env)
{
    static const struct gcb_plot_record unknown = {
#define TEXT(member, field) .member = gcb_plot_no_text,
#define REAL(member, field) .member = NAN,
#include "src/tool/plot/plot_fields.def"
#undef TEXT
#undef REAL
    };
    const struct gcb_plot_records *envs = &data->kinds[GCB_RECORD_ENVIRONMENT];

    return env && env <= envs->count ? &envs->items[env - 1] : &unknown;
}

static double real_of(const json_t *row, enum gcb_field field)
{
    const json_t *value = gcb_results_json(row, field);

    if (json_is_boolean(value))
        return json_is_true(value) ? 1.0 : 0.0;
    return json_is_number(value) ? json_number_value(value) : NAN;
}

/* Adds the parameters that the method got after the row was written, with their defaults: the same setting is one series. */
static bool complete_spec(struct gcb_plot_record *out, struct gcb_plot_data *data)
{
    char full[1024];

    out->setting = gcb_plot_intern(data, gcb_method_complete(full, sizeof(full), out->spec));
    return out->setting != NULL;
}

/* Fills a record with the fields of a row. Returns false if memory runs out. */
static bool fill_record(struct gcb_plot_record *out, const json_t *row, struct gcb_plot_data *data)
{
    bool complete = true;

#define TEXT(member, field) \
    out->member = gcb_plot_intern(data, gcb_results_text(row, GCB_FIELD_##field)); \
    complete &= out->member != NULL;
#define REAL(member, field) out->member = real_of(row, GCB_FIELD_##field);
#include "src/tool/plot/plot_fields.def"
#undef TEXT
#undef REAL
    return complete && complete_spec(out, data);
}

/* Sets env->file to the first input file of an `environment` row. Returns false if memory runs out. */
static bool name_file(struct gcb_plot_record *env, const json_t *row, struct gcb_plot_data *data)
{
    const json_t *files = gcb_results_json(row, GCB_FIELD_INPUT_XXH3);

    env->file = gcb_plot_intern(data, gcb_results_text(json_array_get(files, 0), GCB_FIELD_FILE));
    return env->file != NULL;
}

void gcb_plot_data_begin(struct gcb_plot_data *data)
{
    data->env = 0;
}

int gcb_plot_data_row(struct gcb_plot_data *data, const struct gcb_results_row *row,
                      struct gcb_diag *diag)
{
    const bool is_env = row->kind == GCB_RECORD_ENVIRONMENT;
    struct gcb_plot_records *kind = &data->kinds[row->kind];
    struct gcb_plot_record *item;

    if (!(KEPT & GCB_RECORD_BIT(row->kind)))
        return 0;
    if (gcb_grow(&kind->items, &kind->cap, kind->count, sizeof(*kind->items)))
        return gcb_diag_nomem(diag, 0, "rows of results");
    if (is_env)
        data->env = kind->count + 1;
    item = &kind->items[kind->count];
    item->env = data->env;
    if (!fill_record(item, row->json, data) || (is_env && !name_file(item, row->json, data)))
        return gcb_diag_nomem(diag, 0, "rows of results");
    if (!is_env)
        item->date = gcb_plot_env_of(data, data->env)->date;
    kind->count++;
    return 0;
}

static int visit(void *ctx, const struct gcb_results_row *row, struct gcb_diag *diag)
{
    return gcb_plot_data_row(ctx, row, diag);
}

int gcb_plot_data_read(struct gcb_plot_data *data, const char *path, struct gcb_diag *diag)
{
    gcb_plot_data_begin(data);
    return gcb_results_read(path, KEPT, visit, data, diag);
}

bool gcb_plot_same_env(const struct gcb_plot_record *a, const struct gcb_plot_record *b)
{
    return a->env == b->env;
}

/* Finds the first row of each page. Returns the number of pages. */
static size_t find_pages(const struct gcb_plot_record *out[GCB_PLOT_PAGES],
                         const struct gcb_plot_split *split, const struct gcb_plot_data *data)
{
    const struct gcb_plot_records *rows = &data->kinds[split->kind];
    bool several[GCB_PLOT_PAGES] = {false}; /* does the page have two values on its axis? */
    size_t n = 0, kept = 0;

    for (size_t i = 0; i < rows->count; i++) {
        const struct gcb_plot_record *row = &rows->items[i];
        size_t at = 0;

        if (!split->is_wanted(row))
            continue;
        while (at < n && !split->same_page(out[at], row))
            at++;
        if (at == GCB_PLOT_PAGES)
            continue;
        if (at == n)
            out[n++] = row;
        several[at] |= !split->axis || split->axis(row) != split->axis(out[at]);
    }
    for (size_t i = 0; i < n; i++)
        if (several[i])
            out[kept++] = out[i];
    return kept;
}

size_t gcb_plot_pages(const struct gcb_plot *plot, const struct gcb_plot_data *data)
{
    const struct gcb_plot_record *first[GCB_PLOT_PAGES];

    return find_pages(first, plot->split, data);
}

const struct gcb_plot_record *gcb_plot_split_first(const struct gcb_plot_split *split,
                                                   const struct gcb_plot_data *data, size_t page,
                                                   struct gcb_diag *diag)
{
    const struct gcb_plot_record *first[GCB_PLOT_PAGES];

    if (page < find_pages(first, split, data))
        return first[page];
    gcb_diag_set(diag, GCB_E_INVALID, "there is no such page");
    return NULL;
}

const struct gcb_plot_record *gcb_plot_split_next(const struct gcb_plot_split *split,
                                                  const struct gcb_plot_data *data,
                                                  const struct gcb_plot_record *first,
                                                  const struct gcb_plot_record *at)
{
    const struct gcb_plot_records *rows = &data->kinds[split->kind];

    for (size_t i = at ? (size_t)(at - rows->items) + 1 : 0; i < rows->count; i++)
        if (split->is_wanted(&rows->items[i]) && split->same_page(first, &rows->items[i]))
            return &rows->items[i];
    return NULL;
}
