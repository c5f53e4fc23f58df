#include "cli/base/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "src/lib/base/cpu_flags.h"
#include "src/lib/base/text.h"
#include "src/lib/lowrank/blas.h"
#include "src/tool/base/memory.h"
#include "src/tool/plugin/plugin.h"

const char *const opt_orders[] = {"name", "recorded", NULL};
const char *const opt_scopes[] = {"tensor", "bucket", "model", NULL};
const char *const opt_nonfinites[] = {"error", "skip", "zero", "raw", NULL};
static const char *const fft_engines[] = {"own", "fftw", "fftw-measure", NULL};
const char *const opt_steps[] = {"last", "all", NULL};
const char *const opt_workers[] = {"all", NULL};
const char *const opt_devices[] = {"cpu", "cuda", NULL};
const char *const opt_isas[] = {"auto", "c", "avx2", "avx512", "neon", NULL};
const char *const opt_dists[] = {"normal",           "laplace",    "student-t:df=3",
                                 "sparse:zeros=0.9", "ar:rho=0.9", NULL};
static const char *const formats[] = {"table", "json", "csv", "tsv", NULL};
static const char *const colors[] = {"auto", "always", "never", NULL};

/* clang-format off */
const struct opt_row opt_input_rows[] = {
    {OPT_ROW("step", TEXT, opt_input, step), .metavar = "STEPS", .choices = opt_steps,
     .help = "steps to read: N, A-B, A-B/STRIDE, A,B, last or all (default: all; in bench last)"},
    {OPT_ROW("worker", TEXT, opt_input, worker), .metavar = "WORKERS", .choices = opt_workers,
     .help = "workers to read: N, A-B, A,B or all (default: all; in bench the first)"},
    {OPT_ROW("dataset", LIST, opt_input, dataset), .metavar = "GLOB",
     .help = "read only tensors whose path inside the group of the worker matches; '*' also "
             "matches '/'; repeatable"},
    {OPT_ROW("exclude", LIST, opt_input, exclude), .metavar = "GLOB",
     .help = "do not read tensors whose path matches; repeatable"},
    {OPT_ROW("order", CHOICE, opt_input, order), .metavar = "ORDER", .choices = opt_orders,
     .help = "order of the tensors: name (default), or recorded: by their attribute `index`"},
    {OPT_ROW("as", LIST, opt_input, as), .metavar = "FORMAT", .choices = gcb_element_names,
     .help = "read datasets of 2-byte integers or bytes as bf16 or fp16, and those of 1 byte as "
             "fp8_e4m3 or fp8_e5m2; repeatable"},
    {OPT_ROW("mask", TEXT, opt_input, mask), .metavar = "FILE",
     .help = "set elements to 0 that are 0 in this file's tensor with the same path: gradients of "
             "pruned weights"},
    {OPT_ROW("max-bytes", SIZE, opt_input, max_bytes), .min = 1, .max = 0x1p63,
     .help = "refuse a tensor larger than this (default: half of memory)"},
    {OPT_ROW("allow-external", FLAG, opt_input, allow_external),
     .help = "follow external links, external storage and virtual datasets"},
    {OPT_ROW("hdf5-plugins", TEXT, opt_input, hdf5_plugins), .metavar = "DIR",
     .help = "read HDF5 data with the filter plug-ins in a folder, which run as your code"},
    {OPT_ROW("in-process", FLAG, opt_input, in_process),
     .help = "read files in this process, not in a restricted child; for debugging"},
    {.name = NULL},
};

const struct opt_row opt_scope_rows[] = {
    {OPT_ROW("scope", CHOICE, opt_message, scope), .metavar = "SCOPE", .choices = opt_scopes,
     .help = "what one message covers: tensor (default), bucket or model"},
    {.name = NULL},
};

const struct opt_row opt_shard_rows[] = {
    {OPT_ROW("shard", TEXT, opt_shard, text), .metavar = "I/N",
     .help = "run on one of N shards of the messages, I = 0 to N-1; `gcbench merge` joins their "
             "results"},
    {.name = NULL},
};

const struct opt_row opt_message_rows[] = {
    {OPT_ROW("bucket-bytes", SIZE, opt_message, bucket_bytes), .min = 1, .max = 0x1p63,
     .help = "size of a bucket (default 25M)"},
    {OPT_ROW("min-elements", SIZE, opt_message, min_elements), .metavar = "N",
     .help = "send tensors with fewer elements as fp32"},
    {OPT_ROW("dense", LIST, opt_message, dense), .metavar = "GLOB",
     .help = "send matching tensors as fp32; repeatable"},
    {OPT_ROW("output-layer", LIST, opt_message, output_layer), .metavar = "GLOB",
     .help = "treat matching tensors as the output layer; repeatable"},
    {OPT_ROW("nonfinite", CHOICE, opt_message, nonfinite), .metavar = "WHAT",
     .choices = opt_nonfinites,
     .help = "what to do about infinities and NaNs: fail (error, default), leave out the step "
             "(skip), set them to 0 (zero) or send the tensor raw (raw)"},
    {.name = NULL},
};

const struct opt_row opt_device_rows[] = {
    {OPT_ROW("device", TEXT, opt_exec, device), .metavar = "DEVICE", .choices = opt_devices,
     .help = "where to run: cpu (default) or cuda[:N]"},
    {.name = NULL},
};

const struct opt_row opt_threads_rows[] = {
    {OPT_ROW("threads", INT, opt_exec, threads), .min = 1, .max = GCB_THREADS_MOST,
     .help = "threads that work together, on the cpu (default 1)"},
    {.name = NULL},
};

const struct opt_row opt_exec_rows[] = {
    {OPT_ROW("isa", TEXT, opt_exec, isa), .metavar = "ISA", .choices = opt_isas,
     .help = "instruction set of the kernels: auto (default), c, avx2, avx512 or neon"},
    {OPT_ROW("fft-engine", CHOICE, opt_exec, fft_engine), .metavar = "ENGINE",
     .choices = fft_engines,
     .help = "whose FFT: own (default; FFTW for lengths with other factors than 2, 3, 5, 7), fftw, or "
             "fftw-measure (plans chosen by timing)"},
    {OPT_ROW("seed", U64, opt_exec, seed), .min = 1, .max = 0x1p64,
     .help = "seed of methods that draw at random (default 1)"},
    {.name = NULL},
};

const struct opt_row opt_timing_rows[] = {
    {OPT_ROW("warmup", INT, opt_timing, warmup), .max = 1000000, .initial = -1,
     .help = "untimed runs before the timed ones (default 1)"},
    {OPT_ROW("repeat", INT, opt_timing, repeat), .min = 1, .max = 1e6,
     .help = "timed runs of each message (default: at least 2, until the median is known to 10 %, "
             "in bench to --precision, or the time is up)"},
    {OPT_ROW("min-time", TIME, opt_timing, min_time), .max = 86400,
     .help = "repeat each message for at least this long (default 0; in bench 5ms, for "
             "kernels 20ms)"},
    {.name = NULL},
};

const struct opt_row opt_show_rows[] = {
    {OPT_ROW("format", CHOICE, opt_show, format), .metavar = "FORMAT", .choices = formats,
     .help = "table (default), json (one object a line), csv or tsv"},
    {OPT_ROW("color", CHOICE, opt_show, color), .metavar = "WHEN", .choices = colors,
     .help = "colour tables: auto (default), always or never"},
    {OPT_ROW("quiet", FLAG, opt_show, quiet), .letter = 'q',
     .help = "print no progress and no notes"},
    {OPT_ROW("verbose", COUNT, opt_show, verbose), .letter = 'v', .help = "print more"},
    {.name = NULL},
};

const struct opt_row opt_save_rows[] = {
    {OPT_ROW("results", TEXT, opt_save, results), .metavar = "FILE",
     .help = "also save every row in FILE, as JSON Lines"},
    {.name = NULL},
};

const struct opt_row opt_force_rows[] = {
    {OPT_ROW("force", FLAG, opt_save, force), .help = "replace output files that exist"},
    {.name = NULL},
};

const struct opt_row opt_hash_rows[] = {
    {OPT_ROW("hash", FLAG, opt_save, hash),
     .help = "also compute checksums of inputs over 1 GiB (field input_xxh3 of the rows)"},
    {.name = NULL},
};

const struct opt_row opt_output_rows[] = {
    {OPT_ROW("output", TEXT, opt_save, output), .letter = 'o', .metavar = "FILE",
     .help = "HDF5 file to write"},
    {.name = NULL},
};

const struct opt_row opt_lines_rows[] = {
    {OPT_ROW("sort", TEXT, opt_lines, sort), .metavar = "FIELD",
     .help = "sort lines by a field, largest first: rel_l2, ratio, encode_gbps, ..."},
    {OPT_ROW("no-baselines", FLAG, opt_lines, no_baselines),
     .help = "leave out the row of fp16, the baseline"},
    {.name = NULL},
};

const struct opt_row opt_shapes_rows[] = {
    {OPT_ROW("histogram", FLAG, opt_shapes, histogram),
     .help = "also write rows that count values by magnitude, in the input and as decoded"},
    {OPT_ROW("spectrum", FLAG, opt_shapes, spectrum),
     .help = "also write rows of energy by frequency and by magnitude, in the input and as "
             "decoded"},
    {.name = NULL},
};
/* clang-format on */

int opt_input_open(struct gcb_source **out, const struct opt_input *in,
                   const struct opt_list *files, struct gcb_diag *diag)
{
    struct gcb_source_config config = {
        .files = files->items,
        .file_count = files->count,
        .selection = {.include = in->dataset.items,
                      .include_count = in->dataset.count,
                      .exclude = in->exclude.items,
                      .exclude_count = in->exclude.count,
                      .steps = in->step,
                      .workers = in->worker},
        .order = (enum gcb_order)in->order,
        .limits.max_bytes = in->max_bytes,
        .limits.allow_external = in->allow_external,
        .limits.in_process = in->in_process,
        .limits.hdf5_plugins = in->hdf5_plugins,
    };
    struct gcb_source *mask = NULL;
    int err;

    if (files->count == 0)
        return gcb_invalid(diag, "no input file given: name a file of gradients");
    for (size_t i = 0; i < files->count; i++)
        if (strcmp(files->items[i], "-") == 0)
            return gcb_invalid(diag, "'-': gcbench needs a file that can seek, which standard "
                                     "input cannot; name a file");
    if (in->hdf5_plugins && access(in->hdf5_plugins, R_OK | X_OK) != 0)
        return gcb_invalid(diag, "--hdf5-plugins %s: %s", gcb_show(in->hdf5_plugins).text,
                           strerror(errno));
    for (size_t i = 0; i < in->as.count; i++) {
        int choice;

        err = gcb_choose(&choice, "--", "as", gcb_element_names, in->as.items[i], diag);
        if (err)
            return err;
        /* gcb_element_names has the types from GCB_ELEMENT_BF16 on */
        gcb_reading_use(&config.reading, (enum gcb_element)(GCB_ELEMENT_BF16 + choice));
    }
    err = gcb_source_open(out, &config, diag);
    if (err || !in->mask)
        return err;
    config.files = &in->mask;
    config.file_count = 1;
    config.selection = (struct gcb_tensor_selection){0};
    err = gcb_source_open(&mask, &config, diag);
    if (!err)
        err = gcb_source_mask(*out, mask, diag);
    if (err) {
        gcb_source_close(*out);
        *out = NULL;
    }
    return err;
}

int opt_message_check(const struct opt_message *in, struct gcb_diag *diag)
{
    if (in->bucket_bytes && in->scope != GCB_SCOPE_BUCKET)
        return gcb_invalid(
            diag, "--bucket-bytes has a meaning only with --scope bucket: add --scope bucket");
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

/* Opens the device "cuda" or "cuda:N"; N is at most 1023, whose text fits in out->device. For "cpu"
 * or NULL only sets out->device. */
static int open_device(struct opt_backend *out, const char *device, struct gcb_diag *diag)
{
    uint64_t number = 0;

    snprintf(out->device, sizeof(out->device), "cpu");
    if (!device || strcmp(device, "cpu") == 0)
        return 0;
    if (strcmp(device, "cuda") != 0 &&
        (strncmp(device, "cuda:", 5) != 0 || !gcb_parse_u64(device + 5, &number) || number > 1023))
        return gcb_invalid(diag, "--device is cpu or cuda[:N], not '%s'", gcb_show(device).text);
    snprintf(out->device, sizeof(out->device), "cuda:%u", (unsigned)number);
    return gcb_device_open(&out->gpu, (unsigned)number, diag);
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
        return gcb_diag_set(diag, err,
                            "--isa %s: this processor does not have it; --isa auto chooses", shown);
    if (err)
        return gcb_diag_set(diag, err, "--isa is one of auto, c, avx2, avx512, neon, not '%s'",
                            shown);
    if (in->fft_engine != GCB_FFT_OWN && !gcb_fft_version())
        return gcb_diag_set(diag, GCB_E_BACKEND,
                            "--fft-engine %s: this build does not have FFTW: leave the option out",
                            fft_engines[in->fft_engine]);
    out->isa = gcb_cpu_isa_name(out->cpu_flags);
    out->queue.threads = in->threads ? in->threads : 1;
    out->seed = in->seed ? in->seed : 1;
    gcb_kernels_init(&out->kernels, out->cpu_flags);
    return open_device(out, in->device, diag);
}

int opt_output_check(const struct opt_save *in, struct gcb_diag *diag)
{
    static const char *const others[] = {".json", ".csv", ".tsv"};
    const char *suffix = in->output ? strrchr(in->output, '.') : NULL;

    if (!in->output || !in->output[0])
        return gcb_invalid(diag, "-o FILE is needed: the HDF5 file to write");
    for (size_t i = 0; suffix && i < sizeof(others) / sizeof(others[0]); i++)
        if (strcasecmp(suffix, others[i]) == 0)
            return gcb_invalid(diag, "-o %s: -o writes HDF5; for results use --results or --format",
                               gcb_show(in->output).text);
    return 0;
}

int opt_lines_sort(enum gcb_field *out, const struct opt_lines *in, struct gcb_diag *diag)
{
    const char *names[GCB_FIELDS];
    char hint[GCB_HINT];
    size_t n = 0;

    *out = in->sort ? gcb_field_find(in->sort) : GCB_FIELD_NONE;
    if (!in->sort || gcb_tally_has_figure(*out))
        return 0;
    for (enum gcb_field f = 0; f < GCB_FIELDS; f++)
        if (gcb_tally_has_figure(f))
            names[n++] = gcb_field_name(f);
    return gcb_invalid(
        diag, "--sort: cannot sort by '%s'%s", gcb_show(in->sort).text,
        gcb_hint(hint, in->sort, "", names, n, "; try rel_l2, ratio or encode_gbps"));
}

int opt_shapes_check(const struct opt_shapes *in, const struct opt_show *show,
                     const struct opt_save *save, struct gcb_diag *diag)
{
    if ((!in->histogram && !in->spectrum) || show->format == GCB_FORMAT_JSON || save->results)
        return 0;
    return gcb_invalid(diag, "--histogram and --spectrum write rows, which no table shows: add "
                             "--format json or --results FILE");
}

/* ---- methods ---- */

/* clang-format off */
const struct opt_row opt_methods_rows[] = {
    {OPT_ROW("method", LIST, opt_methods, specs), .metavar = "SPEC",
     .help = "method to run: NAME[:key=value,...]; repeatable. A key may also be an option: "
             "--theta 0.8 sets theta in each of these methods that has a theta. `gcbench "
             "methods` lists methods and keys. plugin:./libmine.so or exec:'python3 mine.py': a "
             "compressor of your own (docs/adding-a-codec.md)"},
    {OPT_ROW("plugin-timeout", REAL, opt_methods, seconds), .metavar = "S", .min = 1e-3, .max = 1e6,
     .help = "seconds that a plugin: or exec: method may take to encode or decode a message "
             "(default 60)"},
    {.name = NULL},
};

const struct opt_row opt_policy_rows[] = {
    {OPT_ROW("method-for", LIST, opt_methods, rules), .metavar = "GLOB=SPEC",
     .help = "the method for tensors whose path matches, '*' also matches '/'; repeatable: the "
             "first glob that matches counts, and --method is for the rest. The results are "
             "those of one method, called policy"},
    {.name = NULL},
};

/* clang-format on */

/* Returns the *i-th name in a table, where each row counts with its own name and then its
 * complements. If the table has fewer names, returns NULL and reduces *i by their number. */
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
    const char *name;

    for (size_t c = 0; (codec = gcb_codec_at(c)); c++) {
        name = key_of(codec->params, &i);
        if (name)
            return name;
    }
    name = key_of(gcb_memory_table, &i);
    return name ? name : key_of(gcb_exchange_table, &i);
}

/* Reads one method, and sets its parameters for which there is an override. Marks the overrides
 * that the method takes in `used`, which has an entry for each override. */
static int resolve_one(struct gcb_method *out, const char *spec, const struct opt_methods *in,
                       bool *used, struct gcb_diag *diag)
{
    const double seconds = in->seconds > 0.0 ? in->seconds : GCB_PLUGIN_SECONDS;
    int err = gcb_plugin_is(spec) ? gcb_plugin_method(out, spec, seconds, diag)
                                  : gcb_method_read(out, spec, diag);

    if (!err)
        err = gcb_method_set_all(out, in->overrides.items, in->overrides.count / 2, used, diag);
    if (!err && out->codec == &gcb_codec_powersgd)
        (void)gcb_blas_open(1, NULL); /* so that the environment row names OpenBLAS */
    return err ? err : gcb_method_check(out, diag);
}

/* GCB_E_INVALID: an override is not marked in `used`, so no method takes it. The words in diag say
 * so, or with which other parameter a method would take it. */
static int check_used(const bool *used, const struct opt_methods *in,
                      const struct gcb_method *methods, size_t count, struct gcb_diag *diag)
{
    for (size_t i = 0; 2 * i < in->overrides.count; i++) {
        const char *key = in->overrides.items[2 * i];

        for (size_t m = 0; !used[i] && m < count; m++)
            if (gcb_method_find(&methods[m], key))
                return gcb_invalid(diag, "--%s: method '%s' uses this parameter only with %s", key,
                                   methods[m].name, gcb_method_find(&methods[m], key)->needs);
        if (!used[i])
            return gcb_invalid(
                diag, "--%s: no method given has this parameter; `gcbench methods NAME` lists them",
                key);
    }
    return 0;
}

bool opt_methods_all(const struct gcb_method *m)
{
    return strcmp(m->name, "sparse") != 0;
}

/* Lists the texts of the methods: those of --method or, if there are none, the names of the methods
 * for which `wanted` is true (NULL: of none). Release *out with opt_list_fini. */
static void list_specs(struct opt_list *out, const struct opt_methods *in,
                       bool (*wanted)(const struct gcb_method *))
{
    struct gcb_method m;

    opt_list_add_all(out, in->specs.items, in->specs.count);
    for (size_t i = 0; !in->specs.count && wanted && gcb_method_at(&m, i); i++)
        if (wanted(&m))
            opt_list_add(out, m.name);
}

int opt_methods_resolve(struct gcb_method **out, size_t *count, const struct opt_methods *in,
                        bool (*wanted)(const struct gcb_method *), struct gcb_diag *diag)
{
    bool *used = gcb_must_zero(in->overrides.count / 2 + 1, sizeof(*used));
    struct opt_list specs = {.count = 0};
    struct gcb_method *methods;
    size_t n = 0;
    int err = 0;

    list_specs(&specs, in, wanted);
    methods = gcb_must_array(specs.count + 1, sizeof(*methods));

    for (; !err && n < specs.count; n++)
        err = resolve_one(&methods[n], specs.items[n], in, used, diag);
    if (!err)
        err = check_used(used, in, methods, n, diag);
    opt_list_fini(&specs);
    gcb_free(used);
    if (err) {
        gcb_free(methods);
        return err;
    }
    *out = methods;
    *count = n;
    return 0;
}

/* Adds the rule of one GLOB=SPEC. */
static int add_rule(struct gcb_policy *out, const char *text, const struct opt_methods *in,
                    bool *used, struct gcb_diag *diag)
{
    const size_t n = strcspn(text, "=");
    struct gcb_method method;
    char *glob;
    int err;

    if (n == 0 || !text[n])
        return gcb_invalid(diag, "--method-for takes GLOB=SPEC, such as '*bias=fp16', not '%s'",
                           gcb_show(text).text);
    err = resolve_one(&method, text + n + 1, in, used, diag);
    if (err)
        return err;
    glob = gcb_must_strndup(text, n);
    err = gcb_policy_add(out, glob, &method, diag);
    gcb_free(glob);
    return err;
}

int opt_policy_resolve(struct gcb_policy *out, const struct opt_methods *in, struct gcb_diag *diag)
{
    bool *used = gcb_must_zero(in->overrides.count / 2 + 1, sizeof(*used));
    struct gcb_method rest;
    int err = 0;

    if (in->specs.count > 1)
        err = gcb_invalid(diag,
                          "--method-for makes one policy, and --method is for the rest of its "
                          "tensors: name one method, not %zu",
                          in->specs.count);
    for (size_t i = 0; !err && i < in->rules.count; i++)
        err = add_rule(out, in->rules.items[i], in, used, diag);
    if (!err && in->specs.count) {
        err = resolve_one(&rest, in->specs.items[0], in, used, diag);
        if (!err)
            err = gcb_policy_add(out, NULL, &rest, diag);
    }
    if (!err)
        err = check_used(used, in, NULL, 0, diag);
    gcb_free(used);
    return err;
}

int opt_methods_append(struct gcb_method **methods, size_t *count, const char *spec,
                       struct gcb_diag *diag)
{
    size_t cap = *count;

    gcb_must_grow(methods, &cap, *count, sizeof(**methods));

    return gcb_method_parse(&(*methods)[(*count)++], spec, diag);
}
