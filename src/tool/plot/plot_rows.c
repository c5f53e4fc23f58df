#include "src/tool/plot/plot_rows.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/rows/results.h"

/* A field of a row, and where it is kept. */
struct field {
    enum gcb_field field;
    bool text;
    size_t offset;
};

/* A record whose rows are kept. */
struct kind {
    enum gcb_record record;
    const struct field *fields;
    size_t size;  /* of the struct, which begins with the number of its environment */
    size_t array; /* of the gcb_plot_array in struct gcb_plot_data */
};

static const struct field env_fields[] = {
    {GCB_FIELD_VERSION, true, offsetof(struct gcb_plot_env, version)},
    {GCB_FIELD_CPU_MODEL, true, offsetof(struct gcb_plot_env, cpu_model)},
    {GCB_FIELD_GPU, true, offsetof(struct gcb_plot_env, gpu)},
    {GCB_FIELD_DEVICE, true, offsetof(struct gcb_plot_env, device)},
    {GCB_FIELD_ISA, true, offsetof(struct gcb_plot_env, isa)},
    {GCB_FIELD_THREADS, false, offsetof(struct gcb_plot_env, threads)},
    {GCB_FIELD_READ_GBPS, false, offsetof(struct gcb_plot_env, read_gbps)},
    {GCB_FIELD_FILL_GBPS, false, offsetof(struct gcb_plot_env, fill_gbps)},
    {.field = GCB_FIELD_NONE},
};

static const struct field case_fields[] = {
    {GCB_FIELD_FILE, true, offsetof(struct gcb_plot_case, file)},
    {GCB_FIELD_SCOPE, true, offsetof(struct gcb_plot_case, scope)},
    {GCB_FIELD_TENSOR, true, offsetof(struct gcb_plot_case, tensor)},
    {GCB_FIELD_METHOD, true, offsetof(struct gcb_plot_case, method)},
    {GCB_FIELD_SPEC, true, offsetof(struct gcb_plot_case, spec)},
    {GCB_FIELD_DEVICE, true, offsetof(struct gcb_plot_case, device)},
    {GCB_FIELD_ISA, true, offsetof(struct gcb_plot_case, isa)},
    {GCB_FIELD_CACHE, true, offsetof(struct gcb_plot_case, cache)},
    {GCB_FIELD_STATUS, true, offsetof(struct gcb_plot_case, status)},
    {GCB_FIELD_THREADS, false, offsetof(struct gcb_plot_case, threads)},
    {GCB_FIELD_ELEMENTS, false, offsetof(struct gcb_plot_case, elements)},
    {GCB_FIELD_INPUT_BYTES, false, offsetof(struct gcb_plot_case, input_bytes)},
    {GCB_FIELD_WIRE_BYTES, false, offsetof(struct gcb_plot_case, wire_bytes)},
    {GCB_FIELD_RATIO, false, offsetof(struct gcb_plot_case, ratio)},
    {GCB_FIELD_BITS_PER_ELEMENT, false, offsetof(struct gcb_plot_case, bits)},
    {GCB_FIELD_DENSITY, false, offsetof(struct gcb_plot_case, density)},
    {GCB_FIELD_REL_L2, false, offsetof(struct gcb_plot_case, rel_l2)},
    {GCB_FIELD_COSINE, false, offsetof(struct gcb_plot_case, cosine)},
    {GCB_FIELD_ENCODE_GBPS, false, offsetof(struct gcb_plot_case, encode.gbps)},
    {GCB_FIELD_ENCODE_SECONDS_MAD, false, offsetof(struct gcb_plot_case, encode.mad)},
    {GCB_FIELD_ENCODE_SECONDS_LOW, false, offsetof(struct gcb_plot_case, encode.low)},
    {GCB_FIELD_ENCODE_SECONDS_HIGH, false, offsetof(struct gcb_plot_case, encode.high)},
    {GCB_FIELD_DECODE_GBPS, false, offsetof(struct gcb_plot_case, decode.gbps)},
    {GCB_FIELD_DECODE_SECONDS_MAD, false, offsetof(struct gcb_plot_case, decode.mad)},
    {GCB_FIELD_DECODE_SECONDS_LOW, false, offsetof(struct gcb_plot_case, decode.low)},
    {GCB_FIELD_DECODE_SECONDS_HIGH, false, offsetof(struct gcb_plot_case, decode.high)},
    {GCB_FIELD_MATCH_FIELD, true, offsetof(struct gcb_plot_case, match_field)},
    {GCB_FIELD_MATCH_TARGET, false, offsetof(struct gcb_plot_case, match_target)},
    {GCB_FIELD_MATCH_REACHED, false, offsetof(struct gcb_plot_case, match_reached)},
    {.field = GCB_FIELD_NONE},
};

static const struct field bin_fields[] = {
    {GCB_FIELD_TENSOR, true, offsetof(struct gcb_plot_bin, tensor)},
    {GCB_FIELD_OF, true, offsetof(struct gcb_plot_bin, of)},
    {GCB_FIELD_METHOD, true, offsetof(struct gcb_plot_bin, method)},
    {GCB_FIELD_SPEC, true, offsetof(struct gcb_plot_bin, spec)},
    {GCB_FIELD_LOW, false, offsetof(struct gcb_plot_bin, low)},
    {GCB_FIELD_HIGH, false, offsetof(struct gcb_plot_bin, high)},
    {GCB_FIELD_COUNT, false, offsetof(struct gcb_plot_bin, count)},
    {.field = GCB_FIELD_NONE},
};

static const struct field band_fields[] = {
    {GCB_FIELD_TENSOR, true, offsetof(struct gcb_plot_band, tensor)},
    {GCB_FIELD_OF, true, offsetof(struct gcb_plot_band, of)},
    {GCB_FIELD_METHOD, true, offsetof(struct gcb_plot_band, method)},
    {GCB_FIELD_SPEC, true, offsetof(struct gcb_plot_band, spec)},
    {GCB_FIELD_BY, true, offsetof(struct gcb_plot_band, by)},
    {GCB_FIELD_LOW, false, offsetof(struct gcb_plot_band, low)},
    {GCB_FIELD_HIGH, false, offsetof(struct gcb_plot_band, high)},
    {GCB_FIELD_BINS, false, offsetof(struct gcb_plot_band, bins)},
    {GCB_FIELD_ENERGY, false, offsetof(struct gcb_plot_band, energy)},
    {GCB_FIELD_ENERGY_SHARE, false, offsetof(struct gcb_plot_band, energy_share)},
    {GCB_FIELD_MAX_MAGNITUDE, false, offsetof(struct gcb_plot_band, max_magnitude)},
    {GCB_FIELD_THRESHOLD, false, offsetof(struct gcb_plot_band, threshold)},
    {GCB_FIELD_DENSITY, false, offsetof(struct gcb_plot_band, density)},
    {.field = GCB_FIELD_NONE},
};

static const struct field step_fields[] = {
    {GCB_FIELD_SCOPE, true, offsetof(struct gcb_plot_step, scope)},
    {GCB_FIELD_METHOD, true, offsetof(struct gcb_plot_step, method)},
    {GCB_FIELD_SPEC, true, offsetof(struct gcb_plot_step, spec)},
    {GCB_FIELD_INDEX, false, offsetof(struct gcb_plot_step, index)},
    {GCB_FIELD_STEP, false, offsetof(struct gcb_plot_step, step)},
    {GCB_FIELD_ALPHA, false, offsetof(struct gcb_plot_step, alpha)},
    {GCB_FIELD_COSINE, false, offsetof(struct gcb_plot_step, cosine)},
    {GCB_FIELD_RESIDUAL_NORM, false, offsetof(struct gcb_plot_step, residual_norm)},
    {GCB_FIELD_GRADIENT_NORM, false, offsetof(struct gcb_plot_step, gradient_norm)},
    {GCB_FIELD_STALENESS_P50, false, offsetof(struct gcb_plot_step, staleness_p50)},
    {GCB_FIELD_STALENESS_P99, false, offsetof(struct gcb_plot_step, staleness_p99)},
    {GCB_FIELD_STALENESS_MAX, false, offsetof(struct gcb_plot_step, staleness_max)},
    {.field = GCB_FIELD_NONE},
};

static const struct field verdict_fields[] = {
    {GCB_FIELD_LABEL, true, offsetof(struct gcb_plot_verdict, label)},
    {GCB_FIELD_QUANTITY, true, offsetof(struct gcb_plot_verdict, quantity)},
    {GCB_FIELD_VERDICT, true, offsetof(struct gcb_plot_verdict, verdict)},
    {GCB_FIELD_FILE, true, offsetof(struct gcb_plot_verdict, file)},
    {GCB_FIELD_SCOPE, true, offsetof(struct gcb_plot_verdict, scope)},
    {GCB_FIELD_RATIO, false, offsetof(struct gcb_plot_verdict, ratio)},
    {GCB_FIELD_LOW, false, offsetof(struct gcb_plot_verdict, low)},
    {GCB_FIELD_HIGH, false, offsetof(struct gcb_plot_verdict, high)},
    {GCB_FIELD_DELTA, false, offsetof(struct gcb_plot_verdict, delta)},
    {.field = GCB_FIELD_NONE},
};

static const struct field kernel_fields[] = {
    {GCB_FIELD_FAMILY, true, offsetof(struct gcb_plot_kernel, family)},
    {GCB_FIELD_KERNEL, true, offsetof(struct gcb_plot_kernel, kernel)},
    {GCB_FIELD_ISA, true, offsetof(struct gcb_plot_kernel, isa)},
    {GCB_FIELD_CACHE, true, offsetof(struct gcb_plot_kernel, cache)},
    {GCB_FIELD_STATUS, true, offsetof(struct gcb_plot_kernel, status)},
    {GCB_FIELD_ELEMENTS, false, offsetof(struct gcb_plot_kernel, elements)},
    {GCB_FIELD_GBPS, false, offsetof(struct gcb_plot_kernel, gbps)},
    {GCB_FIELD_SECONDS_LOW, false, offsetof(struct gcb_plot_kernel, low)},
    {GCB_FIELD_SECONDS_HIGH, false, offsetof(struct gcb_plot_kernel, high)},
    {GCB_FIELD_BANDWIDTH_SHARE, false, offsetof(struct gcb_plot_kernel, bandwidth_share)},
    {.field = GCB_FIELD_NONE},
};

static const struct field tensor_fields[] = {
    {GCB_FIELD_TENSOR, true, offsetof(struct gcb_plot_tensor, tensor)},
    {GCB_FIELD_DATASETS, false, offsetof(struct gcb_plot_tensor, datasets)},
    {.field = GCB_FIELD_NONE},
};

static const struct field exchange_fields[] = {
    {GCB_FIELD_MODEL, true, offsetof(struct gcb_plot_exchange, model)},
    {GCB_FIELD_RESULTS, true, offsetof(struct gcb_plot_exchange, results)},
    {GCB_FIELD_METHOD, true, offsetof(struct gcb_plot_exchange, method)},
    {GCB_FIELD_SPEC, true, offsetof(struct gcb_plot_exchange, spec)},
    {GCB_FIELD_LABEL, true, offsetof(struct gcb_plot_exchange, label)},
    {GCB_FIELD_SCOPE, true, offsetof(struct gcb_plot_exchange, scope)},
    {GCB_FIELD_DEVICE, true, offsetof(struct gcb_plot_exchange, device)},
    {GCB_FIELD_ISA, true, offsetof(struct gcb_plot_exchange, isa)},
    {GCB_FIELD_CACHE, true, offsetof(struct gcb_plot_exchange, cache)},
    {GCB_FIELD_COLLECTIVE, true, offsetof(struct gcb_plot_exchange, collective)},
    {GCB_FIELD_DOUBTFUL, true, offsetof(struct gcb_plot_exchange, doubtful)},
    {GCB_FIELD_THREADS, false, offsetof(struct gcb_plot_exchange, threads)},
    {GCB_FIELD_WORKERS, false, offsetof(struct gcb_plot_exchange, workers)},
    {GCB_FIELD_GRADIENT_BYTES, false, offsetof(struct gcb_plot_exchange, gradient_bytes)},
    {GCB_FIELD_BANDWIDTH_GBIT, false, offsetof(struct gcb_plot_exchange, bandwidth)},
    {GCB_FIELD_LATENCY_SECONDS, false, offsetof(struct gcb_plot_exchange, latency)},
    {GCB_FIELD_SECONDS, false, offsetof(struct gcb_plot_exchange, seconds)},
    {GCB_FIELD_ENCODE_SECONDS, false, offsetof(struct gcb_plot_exchange, encode_seconds)},
    {GCB_FIELD_WIRE_SECONDS, false, offsetof(struct gcb_plot_exchange, wire_seconds)},
    {GCB_FIELD_DECODE_SECONDS, false, offsetof(struct gcb_plot_exchange, decode_seconds)},
    {GCB_FIELD_SPEEDUP_FP32, false, offsetof(struct gcb_plot_exchange, speedup)},
    {GCB_FIELD_PAYS_BELOW_GBIT, false, offsetof(struct gcb_plot_exchange, pays_below)},
    {.field = GCB_FIELD_NONE},
};

static const struct kind kinds[] = {
    {GCB_RECORD_ENVIRONMENT, env_fields, sizeof(struct gcb_plot_env),
     offsetof(struct gcb_plot_data, envs)},
    {GCB_RECORD_RESULT, case_fields, sizeof(struct gcb_plot_case),
     offsetof(struct gcb_plot_data, results)},
    {GCB_RECORD_SUMMARY, case_fields, sizeof(struct gcb_plot_case),
     offsetof(struct gcb_plot_data, summaries)},
    {GCB_RECORD_HISTOGRAM, bin_fields, sizeof(struct gcb_plot_bin),
     offsetof(struct gcb_plot_data, bins)},
    {GCB_RECORD_SPECTRUM, band_fields, sizeof(struct gcb_plot_band),
     offsetof(struct gcb_plot_data, bands)},
    {GCB_RECORD_REPLAY_STEP, step_fields, sizeof(struct gcb_plot_step),
     offsetof(struct gcb_plot_data, steps)},
    {GCB_RECORD_VERDICT, verdict_fields, sizeof(struct gcb_plot_verdict),
     offsetof(struct gcb_plot_data, verdicts)},
    {GCB_RECORD_KERNEL, kernel_fields, sizeof(struct gcb_plot_kernel),
     offsetof(struct gcb_plot_data, kernels)},
    {GCB_RECORD_TENSOR, tensor_fields, sizeof(struct gcb_plot_tensor),
     offsetof(struct gcb_plot_data, tensors)},
    {GCB_RECORD_PAYOFF, exchange_fields, sizeof(struct gcb_plot_exchange),
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

/* Escapes a text that should be escaped already, because a hostile file may lie. What was escaped before stays as it
 * was. */
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
    };
    const struct gcb_plot_env *envs = data->envs.items;

    return env && env <= data->envs.count ? &envs[env - 1] : &unknown;
}

static double real_of(const json_t *row, enum gcb_field field)
{
    const json_t *value = gcb_results_json(row, field);

    if (json_is_boolean(value))
        return json_is_true(value) ? 1.0 : 0.0;
    return json_is_number(value) ? json_number_value(value) : NAN;
}

/* False: no memory. */
static bool fill_item(char *item, const struct kind *kind, const json_t *row,
                      struct gcb_plot_data *data)
{
    for (const struct field *f = kind->fields; f->field; f++) {
        if (f->text) {
            const char *text = gcb_plot_intern(data, gcb_results_text(row, f->field));

            if (!text)
                return false;
            memcpy(item + f->offset, &text, sizeof(text));
        } else {
            const double value = real_of(row, f->field);

            memcpy(item + f->offset, &value, sizeof(value));
        }
    }
    return true;
}

/* Keeps the name of the first input file of a row `environment`. */
static bool name_file(struct gcb_plot_env *env, const json_t *row, struct gcb_plot_data *data)
{
    const json_t *files = gcb_results_json(row, GCB_FIELD_INPUT_XXH3);

    env->file = gcb_plot_intern(data, gcb_results_text(json_array_get(files, 0), GCB_FIELD_FILE));
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
    if (!fill_item(item, kind, row, data))
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
        if (row->kind == kinds[i].record)
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
