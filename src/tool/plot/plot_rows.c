#include "src/tool/plot/plot_rows.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/rows/results.h"

/* Where a field of a row goes. */
struct field {
    const char *key;
    bool text;
    size_t offset;
};

/* A record whose rows are kept. */
struct kind {
    const char *record;
    const struct field *fields;
    size_t size;  /* of the struct, which begins with the number of its environment */
    size_t array; /* of the gcb_plot_array in struct gcb_plot_data */
};

static const struct field env_fields[] = {
    {"version", true, offsetof(struct gcb_plot_env, version)},
    {"cpu_model", true, offsetof(struct gcb_plot_env, cpu_model)},
    {"gpu", true, offsetof(struct gcb_plot_env, gpu)},
    {"device", true, offsetof(struct gcb_plot_env, device)},
    {"isa", true, offsetof(struct gcb_plot_env, isa)},
    {"threads", false, offsetof(struct gcb_plot_env, threads)},
    {"read_gbps", false, offsetof(struct gcb_plot_env, read_gbps)},
    {"fill_gbps", false, offsetof(struct gcb_plot_env, fill_gbps)},
    {"copy_gbps", false, offsetof(struct gcb_plot_env, copy_gbps)},
    {.key = NULL},
};

static const struct field case_fields[] = {
    {"file", true, offsetof(struct gcb_plot_case, file)},
    {"scope", true, offsetof(struct gcb_plot_case, scope)},
    {"tensor", true, offsetof(struct gcb_plot_case, tensor)},
    {"method", true, offsetof(struct gcb_plot_case, method)},
    {"spec", true, offsetof(struct gcb_plot_case, spec)},
    {"device", true, offsetof(struct gcb_plot_case, device)},
    {"isa", true, offsetof(struct gcb_plot_case, isa)},
    {"cache", true, offsetof(struct gcb_plot_case, cache)},
    {"status", true, offsetof(struct gcb_plot_case, status)},
    {"threads", false, offsetof(struct gcb_plot_case, threads)},
    {"elements", false, offsetof(struct gcb_plot_case, elements)},
    {"input_bytes", false, offsetof(struct gcb_plot_case, input_bytes)},
    {"wire_bytes", false, offsetof(struct gcb_plot_case, wire_bytes)},
    {"ratio", false, offsetof(struct gcb_plot_case, ratio)},
    {"bits_per_element", false, offsetof(struct gcb_plot_case, bits)},
    {"density", false, offsetof(struct gcb_plot_case, density)},
    {"rel_l2", false, offsetof(struct gcb_plot_case, rel_l2)},
    {"cosine", false, offsetof(struct gcb_plot_case, cosine)},
    {"encode_gbps", false, offsetof(struct gcb_plot_case, encode_gbps)},
    {"decode_gbps", false, offsetof(struct gcb_plot_case, decode_gbps)},
    {"encode_seconds", false, offsetof(struct gcb_plot_case, encode_seconds)},
    {"encode_seconds_mad", false, offsetof(struct gcb_plot_case, encode_mad)},
    {"encode_seconds_low", false, offsetof(struct gcb_plot_case, encode_low)},
    {"encode_seconds_high", false, offsetof(struct gcb_plot_case, encode_high)},
    {"decode_seconds", false, offsetof(struct gcb_plot_case, decode_seconds)},
    {"decode_seconds_low", false, offsetof(struct gcb_plot_case, decode_low)},
    {"decode_seconds_high", false, offsetof(struct gcb_plot_case, decode_high)},
    {"pareto", false, offsetof(struct gcb_plot_case, pareto)},
    {"match_field", true, offsetof(struct gcb_plot_case, match_field)},
    {"match_target", false, offsetof(struct gcb_plot_case, match_target)},
    {"match_reached", false, offsetof(struct gcb_plot_case, match_reached)},
    {.key = NULL},
};

static const struct field bin_fields[] = {
    {"tensor", true, offsetof(struct gcb_plot_bin, tensor)},
    {"of", true, offsetof(struct gcb_plot_bin, of)},
    {"method", true, offsetof(struct gcb_plot_bin, method)},
    {"spec", true, offsetof(struct gcb_plot_bin, spec)},
    {"low", false, offsetof(struct gcb_plot_bin, low)},
    {"high", false, offsetof(struct gcb_plot_bin, high)},
    {"count", false, offsetof(struct gcb_plot_bin, count)},
    {.key = NULL},
};

static const struct field band_fields[] = {
    {"tensor", true, offsetof(struct gcb_plot_band, tensor)},
    {"of", true, offsetof(struct gcb_plot_band, of)},
    {"method", true, offsetof(struct gcb_plot_band, method)},
    {"spec", true, offsetof(struct gcb_plot_band, spec)},
    {"by", true, offsetof(struct gcb_plot_band, by)},
    {"low", false, offsetof(struct gcb_plot_band, low)},
    {"high", false, offsetof(struct gcb_plot_band, high)},
    {"bins", false, offsetof(struct gcb_plot_band, bins)},
    {"energy", false, offsetof(struct gcb_plot_band, energy)},
    {"energy_share", false, offsetof(struct gcb_plot_band, energy_share)},
    {"max_magnitude", false, offsetof(struct gcb_plot_band, max_magnitude)},
    {"threshold", false, offsetof(struct gcb_plot_band, threshold)},
    {"density", false, offsetof(struct gcb_plot_band, density)},
    {.key = NULL},
};

static const struct field step_fields[] = {
    {"scope", true, offsetof(struct gcb_plot_step, scope)},
    {"method", true, offsetof(struct gcb_plot_step, method)},
    {"spec", true, offsetof(struct gcb_plot_step, spec)},
    {"index", false, offsetof(struct gcb_plot_step, index)},
    {"step", false, offsetof(struct gcb_plot_step, step)},
    {"alpha", false, offsetof(struct gcb_plot_step, alpha)},
    {"cosine", false, offsetof(struct gcb_plot_step, cosine)},
    {"residual_norm", false, offsetof(struct gcb_plot_step, residual_norm)},
    {"gradient_norm", false, offsetof(struct gcb_plot_step, gradient_norm)},
    {"staleness_p50", false, offsetof(struct gcb_plot_step, staleness_p50)},
    {"staleness_p99", false, offsetof(struct gcb_plot_step, staleness_p99)},
    {"staleness_max", false, offsetof(struct gcb_plot_step, staleness_max)},
    {.key = NULL},
};

static const struct field verdict_fields[] = {
    {"label", true, offsetof(struct gcb_plot_verdict, label)},
    {"quantity", true, offsetof(struct gcb_plot_verdict, quantity)},
    {"verdict", true, offsetof(struct gcb_plot_verdict, verdict)},
    {"file", true, offsetof(struct gcb_plot_verdict, file)},
    {"scope", true, offsetof(struct gcb_plot_verdict, scope)},
    {"ratio", false, offsetof(struct gcb_plot_verdict, ratio)},
    {"low", false, offsetof(struct gcb_plot_verdict, low)},
    {"high", false, offsetof(struct gcb_plot_verdict, high)},
    {"delta", false, offsetof(struct gcb_plot_verdict, delta)},
    {"pairs", false, offsetof(struct gcb_plot_verdict, pairs)},
    {.key = NULL},
};

static const struct field kernel_fields[] = {
    {"family", true, offsetof(struct gcb_plot_kernel, family)},
    {"kernel", true, offsetof(struct gcb_plot_kernel, kernel)},
    {"isa", true, offsetof(struct gcb_plot_kernel, isa)},
    {"cache", true, offsetof(struct gcb_plot_kernel, cache)},
    {"status", true, offsetof(struct gcb_plot_kernel, status)},
    {"elements", false, offsetof(struct gcb_plot_kernel, elements)},
    {"gbps", false, offsetof(struct gcb_plot_kernel, gbps)},
    {"seconds", false, offsetof(struct gcb_plot_kernel, seconds)},
    {"seconds_low", false, offsetof(struct gcb_plot_kernel, low)},
    {"seconds_high", false, offsetof(struct gcb_plot_kernel, high)},
    {"bandwidth_share", false, offsetof(struct gcb_plot_kernel, bandwidth_share)},
    {.key = NULL},
};

static const struct field tensor_fields[] = {
    {"tensor", true, offsetof(struct gcb_plot_tensor, tensor)},
    {"datasets", false, offsetof(struct gcb_plot_tensor, datasets)},
    {.key = NULL},
};

static const struct field exchange_fields[] = {
    {"model", true, offsetof(struct gcb_plot_exchange, model)},
    {"results", true, offsetof(struct gcb_plot_exchange, results)},
    {"method", true, offsetof(struct gcb_plot_exchange, method)},
    {"spec", true, offsetof(struct gcb_plot_exchange, spec)},
    {"label", true, offsetof(struct gcb_plot_exchange, label)},
    {"scope", true, offsetof(struct gcb_plot_exchange, scope)},
    {"device", true, offsetof(struct gcb_plot_exchange, device)},
    {"isa", true, offsetof(struct gcb_plot_exchange, isa)},
    {"cache", true, offsetof(struct gcb_plot_exchange, cache)},
    {"collective", true, offsetof(struct gcb_plot_exchange, collective)},
    {"doubtful", true, offsetof(struct gcb_plot_exchange, doubtful)},
    {"threads", false, offsetof(struct gcb_plot_exchange, threads)},
    {"workers", false, offsetof(struct gcb_plot_exchange, workers)},
    {"gradient_bytes", false, offsetof(struct gcb_plot_exchange, gradient_bytes)},
    {"bandwidth_gbit", false, offsetof(struct gcb_plot_exchange, bandwidth)},
    {"latency_seconds", false, offsetof(struct gcb_plot_exchange, latency)},
    {"seconds", false, offsetof(struct gcb_plot_exchange, seconds)},
    {"encode_seconds", false, offsetof(struct gcb_plot_exchange, encode_seconds)},
    {"wire_seconds", false, offsetof(struct gcb_plot_exchange, wire_seconds)},
    {"decode_seconds", false, offsetof(struct gcb_plot_exchange, decode_seconds)},
    {"speedup_fp32", false, offsetof(struct gcb_plot_exchange, speedup)},
    {"pays_below_gbit", false, offsetof(struct gcb_plot_exchange, pays_below)},
    {.key = NULL},
};

static const struct kind kinds[] = {
    {"environment", env_fields, sizeof(struct gcb_plot_env), offsetof(struct gcb_plot_data, envs)},
    {"result", case_fields, sizeof(struct gcb_plot_case), offsetof(struct gcb_plot_data, results)},
    {"summary", case_fields, sizeof(struct gcb_plot_case),
     offsetof(struct gcb_plot_data, summaries)},
    {"histogram", bin_fields, sizeof(struct gcb_plot_bin), offsetof(struct gcb_plot_data, bins)},
    {"spectrum", band_fields, sizeof(struct gcb_plot_band), offsetof(struct gcb_plot_data, bands)},
    {"replay_step", step_fields, sizeof(struct gcb_plot_step),
     offsetof(struct gcb_plot_data, steps)},
    {"verdict", verdict_fields, sizeof(struct gcb_plot_verdict),
     offsetof(struct gcb_plot_data, verdicts)},
    {"kernel", kernel_fields, sizeof(struct gcb_plot_kernel),
     offsetof(struct gcb_plot_data, kernels)},
    {"tensor", tensor_fields, sizeof(struct gcb_plot_tensor),
     offsetof(struct gcb_plot_data, tensors)},
    {"payoff", exchange_fields, sizeof(struct gcb_plot_exchange),
     offsetof(struct gcb_plot_data, exchanges)},
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

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
    for (size_t i = 0; i < KINDS; i++) {
        const struct gcb_plot_array *a =
            (const struct gcb_plot_array *)((const char *)data + kinds[i].array);

        gcb_free(a->items);
    }
    json_decref(data->texts);
    gcb_free(data);
}

/* Rows hold names escaped; a hostile file may not. Escaping once more catches what is left, and what was
 * escaped before is restored. */
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

const struct gcb_plot_env *gcb_plot_env_of(const struct gcb_plot_data *data, size_t env)
{
    static const struct gcb_plot_env unknown = {
        .version = gcb_plot_no_text,
        .cpu_model = gcb_plot_no_text,
        .gpu = gcb_plot_no_text,
        .device = gcb_plot_no_text,
        .isa = gcb_plot_no_text,
        .file = gcb_plot_no_text,
        .threads = NAN,
        .read_gbps = NAN,
        .fill_gbps = NAN,
        .copy_gbps = NAN,
    };
    const struct gcb_plot_env *envs = data->envs.items;

    return env && env <= data->envs.count ? &envs[env - 1] : &unknown;
}

static double real_of(const json_t *row, const char *key)
{
    const json_t *value = json_object_get(row, key);

    if (json_is_boolean(value))
        return json_is_true(value) ? 1.0 : 0.0;
    return json_is_number(value) ? json_number_value(value) : NAN;
}

/* False: no memory. */
static bool row_of(char *item, const struct kind *kind, const json_t *row,
                   struct gcb_plot_data *data)
{
    for (const struct field *f = kind->fields; f->key; f++) {
        if (f->text) {
            const char *text = gcb_plot_intern(data, gcb_results_text(row, f->key));

            if (!text)
                return false;
            memcpy(item + f->offset, &text, sizeof(text));
        } else {
            const double value = real_of(row, f->key);

            memcpy(item + f->offset, &value, sizeof(value));
        }
    }
    return true;
}

/* The name of the first file, of a row `environment`. */
static bool name_file(struct gcb_plot_env *env, const json_t *row, struct gcb_plot_data *data)
{
    const json_t *files = json_object_get(row, "input_xxh3");

    env->file = gcb_plot_intern(data, gcb_results_text(json_array_get(files, 0), "file"));
    return env->file != NULL;
}

static int keep(struct gcb_plot_data *data, const struct kind *kind, const json_t *row)
{
    struct gcb_plot_array *a = (struct gcb_plot_array *)((char *)data + kind->array);
    char *item;

    if (gcb_grow(&a->items, &a->cap, a->count, kind->size))
        return GCB_E_NOMEM;
    item = (char *)a->items + a->count * kind->size;
    if (kind->fields == env_fields)
        data->env = a->count + 1;
    memcpy(item, &data->env, sizeof(data->env));
    if (!row_of(item, kind, row, data))
        return GCB_E_NOMEM;
    if (kind->fields == env_fields &&
        !name_file((struct gcb_plot_env *)a->items + a->count, row, data))
        return GCB_E_NOMEM;
    a->count++;
    return 0;
}

void gcb_plot_data_begin(struct gcb_plot_data *data)
{
    data->env = 0;
}

int gcb_plot_data_row(struct gcb_plot_data *data, const struct gcb_results_row *row,
                      struct gcb_diag *diag)
{
    for (size_t i = 0; i < KINDS; i++)
        if (strcmp(row->record, kinds[i].record) == 0)
            return keep(data, &kinds[i], row->json) ? gcb_diag_nomem(diag, 0, "rows of results")
                                                    : 0;
    return 0;
}

static int visit(void *ctx, const struct gcb_results_row *row, struct gcb_diag *diag)
{
    return gcb_plot_data_row(ctx, row, diag);
}

int gcb_plot_data_read(struct gcb_plot_data *data, const char *path, struct gcb_diag *diag)
{
    gcb_plot_data_begin(data);
    return gcb_results_read(path, visit, data, diag);
}

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
