#include "cli/base/output.h"
#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/lib/coder/coder.h"
#include "src/lib/device/place.h"
#include "src/tool/plugin/plugin.h"
#include "src/tool/write/container.h"
#include "src/tool/write/dump.h"

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

/* The state of the command. One message is in memory at a time. Starts zeroed. */
struct restore {
    const struct decompress_options *o;
    struct opt_backend backend;
    struct gcb_h5out *dump;
    struct gcb_place place;    /* decodes messages on its `device`; NULL: on the CPU */
    struct gcb_coder *decoder; /* the last decoder, which may also fit the next message */
};

/* Sets r->decoder to a decoder for this message, which may be the last decoder. Returns
 * GCB_E_BACKEND if the device cannot decode the message but the CPU can. */
static int ready_decoder(struct restore *r, const struct gcb_container_message *m,
                         const uint8_t *bytes, struct gcb_diag *diag)
{
    struct gcb_coder_config config = {
        .place = r->place.device ? &r->place : NULL,
        .env = {.kernels = &r->backend.kernels, .queue = &r->backend.queue},
        .max_elements = m->count ? m->count : 1,
    };
    int err = gcb_coder_renew_decoder(&r->decoder, bytes, m->length, &config, diag);

    if (err != GCB_E_UNSUPPORTED || !config.place)
        return err;
    config.place = NULL;
    if (gcb_coder_renew_decoder(&r->decoder, bytes, m->length, &config, NULL))
        return err;
    return GCB_E_BACKEND;
}

/* Adds a message's tensors, which follow each other in `values`, to the dump. */
static int put_tensors(struct restore *r, const struct gcb_container_message *m,
                       const float *values, struct gcb_diag *diag)
{
    int err = 0;

    for (size_t i = 0; !err && i < m->tensor_count; i++) {
        err = gcb_dump_put(r->dump, &m->tensors[i], values, diag);
        values += m->tensors[i].count;
    }
    return err;
}

/* Decodes a message. The text of an error begins with the names of file and message. */
static int decode(struct restore *r, const struct gcb_container_message *m, const char *file,
                  const uint8_t *bytes, float *values, struct gcb_diag *diag)
{
    const struct gcb_mview out = {values, m->count};
    char path[128], name[128];
    struct gcb_diag cause = {0};
    int err = ready_decoder(r, m, bytes, &cause);

    if (!err)
        err = gcb_coder_decode(r->decoder, bytes, m->length, &out, &cause);
    if (!err)
        return 0;
    return gcb_diag_set(diag, err, "%s: %s: %s", gcb_escape(path, sizeof(path), file),
                        gcb_escape(name, sizeof(name), m->dataset), cause.text);
}

static int restore_message(struct restore *r, struct gcb_container *c, size_t i, const char *file,
                           struct gcb_diag *diag)
{
    const struct gcb_container_message *m = gcb_container_message(c, i);
    uint8_t *bytes = gcb_alloc(m->length);
    float *values = gcb_alloc_array(m->count, sizeof(*values));
    int err = bytes && values ? gcb_container_read(c, i, bytes, diag)
                              : gcb_diag_nomem(diag, m->count * sizeof(*values), "a message");

    if (!err)
        err = decode(r, m, file, bytes, values, diag);
    if (!err)
        err = put_tensors(r, m, values, diag);
    gcb_free(bytes);
    gcb_free(values);
    return err;
}

/* Adds the tensors of all messages of a file to the dump. */
static int restore_file(struct restore *r, const char *file, struct gcb_diag *diag)
{
    struct gcb_container *c = NULL;
    int err = gcb_container_open(&c, file, r->o->max_bytes, r->o->in_process, diag);

    for (size_t i = 0; !err && i < gcb_container_count(c); i++)
        err = restore_message(r, c, i, file, diag);
    gcb_container_close(c);
    return err;
}

static int decompress_run(const void *options, const struct opt_list *operands,
                          struct cmd_context *ctx)
{
    const struct decompress_options *o = options;
    struct restore r = {.o = o};
    struct gcb_method method;
    int err;

    if (operands->count == 0)
        return gcb_invalid(ctx->diag,
                           "no file of messages given: name one that `gcbench compress -o` wrote");
    err = opt_output_check(&o->save, ctx->diag);
    if (!err)
        err = opt_exec_resolve(&r.backend, &o->exec, ctx->diag);
    if (!err && r.backend.gpu.module && (o->exec.threads > 1 || o->exec.isa))
        err = gcb_invalid(ctx->diag, "device %s: %s has a meaning on the cpu only: leave it out",
                          r.backend.device, o->exec.isa ? "--isa" : "--threads");
    for (size_t i = 0; !err && i < o->plugins.count; i++)
        err = gcb_plugin_is(o->plugins.items[i])
                  ? gcb_plugin_method(&method, o->plugins.items[i], GCB_PLUGIN_SECONDS, ctx->diag)
                  : gcb_invalid(ctx->diag,
                                "--method is for plugin: and exec: methods only: leave it out");
    if (err)
        return err;
    r.place.device = r.backend.gpu.module ? &r.backend.gpu : NULL;
    err = gcb_h5out_create(&r.dump, o->save.output, o->save.force, operands->items, operands->count,
                           ctx->diag);
    for (size_t i = 0; !err && i < operands->count; i++)
        err = restore_file(&r, operands->items[i], ctx->diag);
    if (!err)
        err = gcb_h5out_commit(r.dump, ctx->diag);
    gcb_place_fini(&r.place);
    gcb_coder_destroy(r.decoder);
    gcb_h5out_destroy(r.dump);
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
