#include "cli/base/output.h"
#include "src/tool/plugin/plugin.h"
#include "src/tool/run/restore.h"

struct decompress_options {
    struct opt_save save;
    struct opt_exec exec;
    uint64_t max_bytes; /* 0: the default, half of memory */
    bool in_process;
    struct opt_list plugins;
};

/* clang-format off */
static const struct opt_row rows[] = {
    {OPT_ROW("isa", TEXT, decompress_options, exec.isa), .metavar = "ISA", .choices = opt_isas,
     .help = "instruction set of the kernels: auto (default), c, avx2, avx512 or neon"},
    {OPT_ROW("max-bytes", SIZE, decompress_options, max_bytes), .min = 1, .max = 0x1p63,
     .help = "refuse a message that decodes to more than this (default: half of memory)"},
    {OPT_ROW("in-process", FLAG, decompress_options, in_process),
     .help = "read files in this process, not in a restricted child; for debugging"},
    {OPT_ROW("method", LIST, decompress_options, plugins), .metavar = "SPEC",
     .help = "the plugin: or exec: method of the messages, as it was given to `compress`"},
    {.name = NULL},
};
/* clang-format on */

static int decompress_run(const void *options, const struct opt_list *operands,
                          struct cmd_context *ctx)
{
    const struct decompress_options *o = options;
    struct opt_backend backend;
    struct gcb_restore r = {
        .kernels = &backend.kernels,
        .queue = &backend.queue,
        .max_bytes = o->max_bytes,
        .in_process = o->in_process,
    };
    struct gcb_h5out *dump = NULL;
    struct gcb_method method;
    int err;

    if (operands->count == 0)
        return gcb_invalid(ctx->diag,
                           "no file of messages given: name one that `gcbench compress -o` wrote");
    err = opt_output_check(&o->save, ctx->diag);
    if (!err)
        err = opt_exec_resolve(&backend, &o->exec, ctx->diag);
    if (!err && backend.gpu.module && (o->exec.threads > 1 || o->exec.isa))
        err = gcb_invalid(ctx->diag, "device %s: %s has a meaning on the cpu only: leave it out",
                          backend.device, o->exec.isa ? "--isa" : "--threads");
    for (size_t i = 0; !err && i < o->plugins.count; i++)
        err = gcb_plugin_is(o->plugins.items[i])
                  ? gcb_plugin_method(&method, o->plugins.items[i], GCB_PLUGIN_SECONDS, ctx->diag)
                  : gcb_invalid(ctx->diag,
                                "--method is for plugin: and exec: methods only: leave it out");
    if (err)
        return err;
    r.place.device = backend.gpu.module ? &backend.gpu : NULL;
    err = gcb_h5out_create(&dump, o->save.output, o->save.force, operands->items, operands->count,
                           ctx->diag);
    r.dump = dump;
    for (size_t i = 0; !err && i < operands->count; i++)
        err = gcb_restore_file(&r, operands->items[i], ctx->diag);
    if (!err)
        err = gcb_h5out_commit(dump, ctx->diag);
    gcb_restore_fini(&r);
    gcb_h5out_destroy(dump);
    return err;
}

static const struct opt_group groups[] = {
    OPT_GROUP("Options", opt_device_rows, struct decompress_options, exec),
    OPT_GROUP("Options", opt_threads_rows, struct decompress_options, exec),
    {.title = "Options", .rows = rows},
    OPT_GROUP("Output", opt_output_rows, struct decompress_options, save),
    OPT_GROUP("Output", opt_force_rows, struct decompress_options, save),
    {.rows = NULL},
};

const struct cmd cmd_decompress = {
    .name = "decompress",
    .summary = "restore the tensors from a file of messages",
    .usage = "decompress [options] FILE... -o OUT.h5",
    .examples = "  gcbench compress --method fft grads.h5 -o messages.h5\n"
                "  gcbench decompress messages.h5 -o restored.h5\n",
    .details =
        "A changed byte in a message, or in the list of tensors that it holds, is an error.\n"
        "--device cuda decodes on a GPU, wherever the messages were encoded.\n",
    .spec = {.groups = groups},
    .size = sizeof(struct decompress_options),
    .run = decompress_run,
};
