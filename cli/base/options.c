#include "cli/base/options.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/cpu_flags.h"
#include "src/lib/base/text.h"
#include "src/lib/device/load.h"

const char *const opt_orders[] = {"name", "recorded", NULL};
const char *const opt_scopes[] = {"tensor", "bucket", "model", NULL};
const char *const opt_nonfinites[] = {"error", "skip", "zero", "raw", NULL};
static const char *const fft_plans[] = {"estimate", "measure", NULL};
const char *const opt_steps[] = {"last", "all", NULL};
const char *const opt_workers[] = {"all", NULL};
const char *const opt_devices[] = {"cpu", "cuda", NULL};
const char *const opt_isas[] = {"auto", "c", "avx2", "avx512", "neon", NULL};
static const char *const formats[] = {"table", "json", "csv", "tsv", NULL};
static const char *const colors[] = {"auto", "always", "never", NULL};

const struct opt_row opt_input_rows[] = {
    {"step", 0, "STEPS", "N, A-B, A-B/STRIDE, A,B, last or all (default)", OPT_TEXT,
     offsetof(struct opt_input, step), 0, 0, opt_steps},
    {"worker", 0, "WORKERS", "N, A-B, A,B or all (default)", OPT_TEXT,
     offsetof(struct opt_input, worker), 0, 0, opt_workers},
    {"dataset", 0, "GLOB",
     "only tensors whose path below the worker matches; '*' crosses '/'; "
     "repeatable",
     OPT_LIST, offsetof(struct opt_input, dataset), 0, 0, NULL},
    {"exclude", 0, "GLOB", "not these tensors; repeatable", OPT_LIST,
     offsetof(struct opt_input, exclude), 0, 0, NULL},
    {"order", 0, "ORDER", "of tensors: name (default) or recorded, by their attribute `index`",
     OPT_CHOICE, offsetof(struct opt_input, order), 0, 0, opt_orders},
    {"max-bytes", 0, "SIZE", "refuse a tensor larger than this (default: half of memory)", OPT_SIZE,
     offsetof(struct opt_input, max_bytes), 1, 0x1p63, NULL},
    {"allow-external", 0, NULL, "follow external links, external storage and virtual datasets",
     OPT_FLAG, offsetof(struct opt_input, allow_external), 0, 0, NULL},
    {.name = NULL},
};

const struct opt_row opt_message_rows[] = {
    {"scope", 0, "SCOPE", "what one message covers: tensor (default), bucket or model", OPT_CHOICE,
     offsetof(struct opt_message, scope), 0, 0, opt_scopes},
    {"bucket-bytes", 0, "SIZE", "of a bucket (default 25M)", OPT_SIZE,
     offsetof(struct opt_message, bucket_bytes), 1, 0x1p63, NULL},
    {"min-elements", 0, "N", "send smaller tensors as fp32", OPT_SIZE,
     offsetof(struct opt_message, min_elements), 0, 0, NULL},
    {"dense", 0, "GLOB", "send these tensors as fp32; repeatable", OPT_LIST,
     offsetof(struct opt_message, dense), 0, 0, NULL},
    {"output-layer", 0, "GLOB", "these tensors are the output layer; repeatable", OPT_LIST,
     offsetof(struct opt_message, output_layer), 0, 0, NULL},
    {"nonfinite", 0, "WHAT",
     "with infinities and NaNs: error (default), skip the step, zero them, "
     "or send the tensor raw",
     OPT_CHOICE, offsetof(struct opt_message, nonfinite), 0, 0, opt_nonfinites},
    {.name = NULL},
};

static const char *const cpu_alone[] = {"cpu", NULL};
const struct opt_row opt_cpu_rows[] = {
    {"device", 0, "DEVICE", "cpu; this command runs on no other", OPT_TEXT,
     offsetof(struct opt_exec, device), 0, 0, cpu_alone},
    {.name = NULL},
};

const struct opt_row opt_exec_rows[] = {
    {"device", 0, "DEVICE", "cpu (default) or cuda[:N]", OPT_TEXT,
     offsetof(struct opt_exec, device), 0, 0, opt_devices},
    {"threads", 0, "N", "inside a message, on the cpu (default 1)", OPT_INT,
     offsetof(struct opt_exec, threads), 1, 4096, NULL},
    {"isa", 0, "ISA", "auto (default), c, avx2, avx512 or neon", OPT_TEXT,
     offsetof(struct opt_exec, isa), 0, 0, opt_isas},
    {"fft-plan", 0, "PLAN", "estimate (default) or measure", OPT_CHOICE,
     offsetof(struct opt_exec, fft_plan), 0, 0, fft_plans},
    {"seed", 0, "N", "of random methods (default 1)", OPT_U64, offsetof(struct opt_exec, seed), 1,
     0x1p64, NULL},
    {.name = NULL},
};

const struct opt_row opt_timing_rows[] = {
    {"warmup", 0, "N", "untimed runs before the timed ones (default 1)", OPT_INT,
     offsetof(struct opt_timing, warmup), 0, 1000000, NULL},
    {"repeat", 0, "N", "timed runs of each message (default 1)", OPT_INT,
     offsetof(struct opt_timing, repeat), 1, 1e6, NULL},
    {"min-time", 0, "TIME", "repeat each message for at least so long (default 0)", OPT_TIME,
     offsetof(struct opt_timing, min_time), 0, 86400, NULL},
    {.name = NULL},
};

const struct opt_row opt_methods_rows[] = {
    {"method", 0, "SPEC",
     "NAME[:key=value,...]; repeatable. A key may also be an option, "
     "--theta 0.8, for every method given that has it; `gcbench methods` lists them",
     OPT_LIST, offsetof(struct opt_methods, specs), 0, 0, NULL},
    {.name = NULL},
};

const struct opt_row opt_show_rows[] = {
    {"format", 0, "FORMAT", "table (default), json (one object a line), csv or tsv", OPT_CHOICE,
     offsetof(struct opt_show, format), 0, 0, formats},
    {"color", 0, "WHEN", "auto (default), always or never", OPT_CHOICE,
     offsetof(struct opt_show, color), 0, 0, colors},
    {"quiet", 'q', NULL, "no progress, no notes", OPT_FLAG, offsetof(struct opt_show, quiet), 0, 0,
     NULL},
    {"verbose", 'v', NULL, "say more", OPT_COUNT, offsetof(struct opt_show, verbose), 0, 0, NULL},
    {.name = NULL},
};

const struct opt_row opt_talk_rows[] = {
    {"quiet", 'q', NULL, "no progress, no notes", OPT_FLAG, offsetof(struct opt_show, quiet), 0, 0,
     NULL},
    {"verbose", 'v', NULL, "say what was written", OPT_COUNT, offsetof(struct opt_show, verbose), 0,
     0, NULL},
    {.name = NULL},
};

const struct opt_row opt_save_rows[] = {
    {"results", 0, "FILE", "save every row as JSON Lines too", OPT_TEXT,
     offsetof(struct opt_save, results), 0, 0, NULL},
    {.name = NULL},
};

const struct opt_row opt_force_rows[] = {
    {"force", 0, NULL, "replace an existing file of --results", OPT_FLAG,
     offsetof(struct opt_save, force), 0, 0, NULL},
    {.name = NULL},
};

const struct opt_row opt_hash_rows[] = {
    {"hash", 0, NULL, "input_xxh3 of inputs over 1 GiB too", OPT_FLAG,
     offsetof(struct opt_save, hash), 0, 0, NULL},
    {.name = NULL},
};

const struct opt_row opt_make_rows[] = {
    {"output", 'o', "FILE", "the HDF5 file to write", OPT_TEXT, offsetof(struct opt_make, output),
     0, 0, NULL},
    {"force", 0, NULL, "replace an existing file", OPT_FLAG, offsetof(struct opt_make, force), 0, 0,
     NULL},
    {.name = NULL},
};

void opt_timing_defaults(struct opt_timing *out)
{
    out->warmup = -1;
}

unsigned opt_timing_repeat(const struct opt_timing *in)
{
    return in->repeat ? (unsigned)in->repeat : 1;
}

int opt_input_open(struct gcb_source **out, const struct opt_input *in,
                   const struct opt_list *files, uint64_t min_elements, struct gcb_diag *diag)
{
    const struct gcb_source_config config = {
        .files = files->items,
        .file_count = files->count,
        .selection = {.include = in->dataset.items,
                      .include_count = in->dataset.count,
                      .exclude = in->exclude.items,
                      .exclude_count = in->exclude.count,
                      .steps = in->step,
                      .workers = in->worker,
                      .min_elements = min_elements},
        .order = (enum gcb_order)in->order,
        .max_bytes = in->max_bytes,
        .allow_external = in->allow_external,
    };

    if (files->count == 0)
        return gcb_diag_set(diag, GCB_E_INVALID, "no input file given");
    for (size_t i = 0; i < files->count; i++)
        if (strcmp(files->items[i], "-") == 0)
            return gcb_diag_set(diag, GCB_E_INVALID,
                                "'-': HDF5 needs a file that can seek; name one");
    return gcb_source_open(out, &config, diag);
}

int opt_message_check(const struct opt_message *in, struct gcb_diag *diag)
{
    if (in->bucket_bytes && in->scope != GCB_SCOPE_BUCKET)
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "--bucket-bytes has a meaning only with --scope bucket");
    return 0;
}

struct gcb_layout_config opt_message_layout(const struct opt_message *in)
{
    return (struct gcb_layout_config){
        .scope = (enum gcb_scope)in->scope,
        .bucket_bytes = in->bucket_bytes,
        .dense = in->dense.items,
        .dense_count = in->dense.count,
        .min_elements = in->min_elements,
    };
}

/* "cpu", "cuda", "cuda:N": the device's number, -1 of the cpu. */
static int parse_device(int *out, const char *device, struct gcb_diag *diag)
{
    uint64_t number = 0;
    char shown[64];

    *out = -1;
    if (!device || strcmp(device, "cpu") == 0)
        return 0;
    if (strcmp(device, "cuda") != 0 &&
        (strncmp(device, "cuda:", 5) != 0 || !gcb_parse_u64(device + 5, &number) || number > 1023))
        return gcb_diag_set(diag, GCB_E_INVALID, "--device is cpu or cuda[:N], not '%s'",
                            gcb_escape(shown, sizeof(shown), device));
    *out = (int)number;
    return 0;
}

static int resolve_device(struct opt_backend *out, const char *device, struct gcb_diag *diag)
{
    int number;
    const int err = parse_device(&number, device, diag);

    snprintf(out->device, sizeof(out->device), "cpu");
    if (err || number < 0)
        return err;
    snprintf(out->device, sizeof(out->device), "cuda:%d", number);
    return gcb_device_open(&out->gpu, (unsigned)number, diag);
}

int opt_exec_cpu(const struct opt_exec *in, const char *words, struct gcb_diag *diag)
{
    int number;
    const int err = parse_device(&number, in->device, diag);

    return err || number < 0 ? err : gcb_diag_set(diag, GCB_E_BACKEND, "%s", words);
}

int opt_exec_resolve(struct opt_backend *out, const struct opt_exec *in, struct gcb_diag *diag)
{
    const char *isa = in->isa ? in->isa : "auto";
    char shown[64];
    int err;

    memset(out, 0, sizeof(*out));
    err = gcb_cpu_isa(&out->cpu_flags, isa);
    gcb_escape(shown, sizeof(shown), isa);
    if (err == GCB_E_BACKEND)
        return gcb_diag_set(diag, err, "--isa %s: this processor does not have it", shown);
    if (err)
        return gcb_diag_set(diag, err, "--isa is one of auto, c, avx2, avx512, neon, not '%s'",
                            shown);
    out->isa = gcb_cpu_isa_name(out->cpu_flags);
    out->queue.threads = in->threads ? in->threads : 1;
    out->seed = in->seed ? in->seed : 1;
    gcb_kernels_init(&out->kernels, out->cpu_flags);
    return resolve_device(out, in->device, diag);
}

/* The i-th name of a table's rows, complements behind each row's own; NULL past the end. */
static const char *key_of(const struct gcb_param *table, size_t *i)
{
    for (const struct gcb_param *p = table; p && p->name; p++) {
        if ((*i)-- == 0)
            return p->name;
        for (size_t c = 0; p->complement[c]; c++)
            if ((*i)-- == 0)
                return p->complement[c];
    }
    return NULL;
}

const char *opt_methods_key_at(size_t i)
{
    const struct gcb_codec *codec;

    for (size_t c = 0; (codec = gcb_codec_at(c)); c++) {
        const char *name = key_of(codec->params, &i);

        if (name)
            return name;
    }
    return key_of(gcb_memory_table, &i);
}

/* One method: its spec, then the overrides that it has; one that has no meaning for it is another method's. */
static int resolve_one(struct gcb_method *out, const char *spec, const struct opt_list *overrides,
                       bool *used, struct gcb_diag *diag)
{
    struct gcb_method before;
    int err = gcb_method_read(out, spec, diag);

    before = *out;
    for (size_t i = 0; !err && i + 1 < overrides->count; i += 2)
        if (gcb_method_has(out, overrides->items[i]))
            err = gcb_method_set(out, overrides->items[i], overrides->items[i + 1], diag);
    if (err)
        return err;
    for (size_t i = 0; i + 1 < overrides->count; i += 2)
        if (gcb_method_has(out, overrides->items[i]))
            used[i / 2] |= !gcb_method_withdraw(out, &before, overrides->items[i]);
    return gcb_method_check(out, diag);
}

/* Says why an override served none of the methods. */
static int idle_override(const struct gcb_method *methods, size_t count, const char *key,
                         struct gcb_diag *diag)
{
    const struct gcb_param *p;

    for (size_t m = 0; m < count; m++)
        for (size_t row = 0; (p = gcb_method_param(&methods[m], row)); row++)
            if (strcmp(p->name, key) == 0)
                return gcb_diag_set(diag, GCB_E_INVALID,
                                    "--%s: for '%s' it has a meaning only with %s", key,
                                    methods[m].name, p->needs);
    return gcb_diag_set(diag, GCB_E_INVALID, "--%s: no method given has such a parameter", key);
}

static int resolve_all(struct gcb_method *methods, bool *used, const struct opt_methods *in,
                       struct gcb_diag *diag)
{
    for (size_t i = 0; i < in->specs.count; i++) {
        const int err = resolve_one(&methods[i], in->specs.items[i], &in->overrides, used, diag);

        if (err)
            return err;
    }
    for (size_t i = 0; 2 * i < in->overrides.count; i++)
        if (!used[i])
            return idle_override(methods, in->specs.count, in->overrides.items[2 * i], diag);
    return 0;
}

int opt_methods_resolve(struct gcb_method **out, size_t *count, const struct opt_methods *in,
                        struct gcb_diag *diag)
{
    struct gcb_method *methods = gcb_alloc_array(in->specs.count, sizeof(*methods));
    bool *used = gcb_alloc_zero(in->overrides.count / 2 + 1, sizeof(*used));
    int err = methods && used ? resolve_all(methods, used, in, diag)
                              : gcb_diag_nomem(diag, 0, "the methods");

    gcb_free(used);
    if (err) {
        gcb_free(methods);
        return err;
    }
    *out = methods;
    *count = in->specs.count;
    return 0;
}

int opt_make_check(const struct opt_make *in, struct gcb_diag *diag)
{
    static const char *const others[] = {".json", ".csv", ".tsv"};
    const size_t n = in->output ? strlen(in->output) : 0;
    char shown[256];

    if (n == 0)
        return gcb_diag_set(diag, GCB_E_INVALID, "-o FILE is needed: the HDF5 file to write");
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        const size_t m = strlen(others[i]);

        if (n >= m && strcasecmp(in->output + n - m, others[i]) == 0)
            return gcb_diag_set(diag, GCB_E_INVALID,
                                "-o %s: -o writes HDF5; for results use --results or --format",
                                gcb_escape(shown, sizeof(shown), in->output));
    }
    return 0;
}
