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

static const char *const cpu_only[] = {"cpu", NULL};

/* clang-format off */
const struct opt_row opt_part_rows[] = {
    {.name = "step", .metavar = "STEPS", .type = OPT_TEXT,
     .offset = offsetof(struct opt_input, step), .choices = opt_steps,
     .help = "N, A-B, A-B/STRIDE, A,B, last or all (default)"},
    {.name = "worker", .metavar = "WORKERS", .type = OPT_TEXT,
     .offset = offsetof(struct opt_input, worker), .choices = opt_workers,
     .help = "N, A-B, A,B or all (default)"},
    {.name = NULL},
};

const struct opt_row opt_input_rows[] = {
    {.name = "dataset", .metavar = "GLOB", .type = OPT_LIST,
     .offset = offsetof(struct opt_input, dataset),
     .help = "only tensors whose path below the worker matches; '*' crosses '/'; repeatable"},
    {.name = "exclude", .metavar = "GLOB", .type = OPT_LIST,
     .offset = offsetof(struct opt_input, exclude),
     .help = "not these tensors; repeatable"},
    {.name = "order", .metavar = "ORDER", .type = OPT_CHOICE,
     .offset = offsetof(struct opt_input, order), .choices = opt_orders,
     .help = "of tensors: name (default) or recorded, by their attribute `index`"},
    {.name = "max-bytes", .type = OPT_SIZE, .offset = offsetof(struct opt_input, max_bytes),
     .min = 1, .max = 0x1p63,
     .help = "refuse a tensor larger than this (default: half of memory)"},
    {.name = "allow-external", .type = OPT_FLAG,
     .offset = offsetof(struct opt_input, allow_external),
     .help = "follow external links, external storage and virtual datasets"},
    {.name = NULL},
};

const struct opt_row opt_scope_rows[] = {
    {.name = "scope", .metavar = "SCOPE", .type = OPT_CHOICE,
     .offset = offsetof(struct opt_message, scope), .choices = opt_scopes,
     .help = "what one message covers: tensor (default), bucket or model"},
    {.name = NULL},
};

const struct opt_row opt_message_rows[] = {
    {.name = "bucket-bytes", .type = OPT_SIZE,
     .offset = offsetof(struct opt_message, bucket_bytes), .min = 1, .max = 0x1p63,
     .help = "of a bucket (default 25M)"},
    {.name = "min-elements", .metavar = "N", .type = OPT_SIZE,
     .offset = offsetof(struct opt_message, min_elements),
     .help = "send smaller tensors as fp32"},
    {.name = "dense", .metavar = "GLOB", .type = OPT_LIST,
     .offset = offsetof(struct opt_message, dense),
     .help = "send these tensors as fp32; repeatable"},
    {.name = "output-layer", .metavar = "GLOB", .type = OPT_LIST,
     .offset = offsetof(struct opt_message, output_layer),
     .help = "these tensors are the output layer; repeatable"},
    {.name = "nonfinite", .metavar = "WHAT", .type = OPT_CHOICE,
     .offset = offsetof(struct opt_message, nonfinite), .choices = opt_nonfinites,
     .help = "with infinities and NaNs: error (default), skip the step, zero them, or send the "
             "tensor raw"},
    {.name = NULL},
};

const struct opt_row opt_cpu_rows[] = {
    {.name = "device", .metavar = "DEVICE", .type = OPT_TEXT,
     .offset = offsetof(struct opt_exec, device), .choices = cpu_only,
     .help = "cpu; this command runs on no other"},
    {.name = NULL},
};

const struct opt_row opt_device_rows[] = {
    {.name = "device", .metavar = "DEVICE", .type = OPT_TEXT,
     .offset = offsetof(struct opt_exec, device), .choices = opt_devices,
     .help = "cpu (default) or cuda[:N]"},
    {.name = NULL},
};

const struct opt_row opt_threads_rows[] = {
    {.name = "threads", .type = OPT_INT, .offset = offsetof(struct opt_exec, threads), .min = 1,
     .max = 4096,
     .help = "inside a message, on the cpu (default 1)"},
    {.name = NULL},
};

const struct opt_row opt_exec_rows[] = {
    {.name = "isa", .metavar = "ISA", .type = OPT_TEXT, .offset = offsetof(struct opt_exec, isa),
     .choices = opt_isas,
     .help = "auto (default), c, avx2, avx512 or neon"},
    {.name = "fft-plan", .metavar = "PLAN", .type = OPT_CHOICE,
     .offset = offsetof(struct opt_exec, fft_plan), .choices = fft_plans,
     .help = "estimate (default) or measure"},
    {.name = "seed", .type = OPT_U64, .offset = offsetof(struct opt_exec, seed), .min = 1,
     .max = 0x1p64,
     .help = "of random methods (default 1)"},
    {.name = NULL},
};

const struct opt_row opt_timing_rows[] = {
    {.name = "warmup", .type = OPT_INT, .offset = offsetof(struct opt_timing, warmup),
     .max = 1000000,
     .help = "untimed runs before the timed ones (default 1)"},
    {.name = "repeat", .type = OPT_INT, .offset = offsetof(struct opt_timing, repeat), .min = 1,
     .max = 1e6,
     .help = "timed runs of each message (default 1)"},
    {.name = "min-time", .type = OPT_TIME, .offset = offsetof(struct opt_timing, min_time),
     .max = 86400,
     .help = "repeat each message for at least so long (default 0)"},
    {.name = NULL},
};

const struct opt_row opt_methods_rows[] = {
    {.name = "method", .metavar = "SPEC", .type = OPT_LIST,
     .offset = offsetof(struct opt_methods, specs),
     .help = "NAME[:key=value,...]; repeatable. A key may also be an option, --theta 0.8, for "
             "every method given that has it; `gcbench methods` lists them"},
    {.name = NULL},
};

const struct opt_row opt_show_rows[] = {
    {.name = "format", .metavar = "FORMAT", .type = OPT_CHOICE,
     .offset = offsetof(struct opt_show, format), .choices = formats,
     .help = "table (default), json (one object a line), csv or tsv"},
    {.name = "color", .metavar = "WHEN", .type = OPT_CHOICE,
     .offset = offsetof(struct opt_show, color), .choices = colors,
     .help = "auto (default), always or never"},
    {.name = "quiet", .letter = 'q', .type = OPT_FLAG, .offset = offsetof(struct opt_show, quiet),
     .help = "no progress, no notes"},
    {.name = "verbose", .letter = 'v', .type = OPT_COUNT,
     .offset = offsetof(struct opt_show, verbose),
     .help = "say more"},
    {.name = NULL},
};

const struct opt_row opt_talk_rows[] = {
    {.name = "quiet", .letter = 'q', .type = OPT_FLAG, .offset = offsetof(struct opt_show, quiet),
     .help = "no progress, no notes"},
    {.name = "verbose", .letter = 'v', .type = OPT_COUNT,
     .offset = offsetof(struct opt_show, verbose),
     .help = "say what was written"},
    {.name = NULL},
};

const struct opt_row opt_save_rows[] = {
    {.name = "results", .metavar = "FILE", .type = OPT_TEXT,
     .offset = offsetof(struct opt_save, results),
     .help = "save every row as JSON Lines too"},
    {.name = NULL},
};

const struct opt_row opt_force_rows[] = {
    {.name = "force", .type = OPT_FLAG, .offset = offsetof(struct opt_save, force),
     .help = "replace an existing file of --results"},
    {.name = NULL},
};

const struct opt_row opt_hash_rows[] = {
    {.name = "hash", .type = OPT_FLAG, .offset = offsetof(struct opt_save, hash),
     .help = "input_xxh3 of inputs over 1 GiB too"},
    {.name = NULL},
};

const struct opt_row opt_make_rows[] = {
    {.name = "output", .letter = 'o', .metavar = "FILE", .type = OPT_TEXT,
     .offset = offsetof(struct opt_make, output),
     .help = "the HDF5 file to write"},
    {.name = "force", .type = OPT_FLAG, .offset = offsetof(struct opt_make, force),
     .help = "replace an existing file"},
    {.name = NULL},
};
/* clang-format on */

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
