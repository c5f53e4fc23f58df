#include <string.h>

#include "cli/base/output.h"
#include "src/lib/base/text.h"
#include "src/tool/write/dump.h"

struct generate_options {
    struct opt_save save;
    const char *dist;
    int layout, dtype; /* indices into layouts and dtypes */
    /* the options set only the numbers in `config` (elements 0: not given); generate_run sets dist,
     * layout and dtype in a copy */
    struct gcb_generate config;
};

/* in the order of enum gcb_dtype */
static const char *const dtypes[] = {"fp32", "fp16", "bf16", "fp64", NULL};
static const char *const layouts[] = {"flat", "resnet50", "gpt2", "alexnet", "vgg16", "lstm", NULL};

/* clang-format off */
static const struct opt_row rows[] = {
    {OPT_ROW("dist", TEXT, generate_options, dist), .metavar = "DIST", .choices = opt_dists,
     .help = "distribution of the values: normal (default), laplace, student-t:df=3, "
             "sparse:zeros=0.9 or ar:rho=0.9"},
    {OPT_ROW("layout", CHOICE, generate_options, layout), .metavar = "LAYOUT", .choices = layouts,
     .help = "tensors to write: flat (one tensor, default), or all tensors of a network: "
             "resnet50, gpt2, alexnet, vgg16 or lstm"},
    {OPT_ROW("elements", SIZE, generate_options, config.elements), .metavar = "N", .min = 1,
     .max = 0x1p50,
     .help = "elements of the flat layout's tensor (default 1M)"},
    {OPT_ROW("steps", U64, generate_options, config.steps), .min = 1, .max = 1e6, .initial = 1,
     .help = "training steps to write (default 1)"},
    {OPT_ROW("workers", U64, generate_options, config.workers), .min = 1, .max = 1e6, .initial = 1,
     .help = "workers in each step (default 1)"},
    {OPT_ROW("worker-correlation", REAL, generate_options, config.correlation), .metavar = "RHO",
     .max = 1,
     .help = "correlation of two workers' gradients in the same step, in [0, 1] (default 0)"},
    {OPT_ROW("dtype", CHOICE, generate_options, dtype), .metavar = "TYPE", .choices = dtypes,
     .help = "element type: fp32 (default), fp16, bf16 or fp64"},
    {OPT_ROW("seed", U64, generate_options, config.seed), .min = 1, .max = 0x1p64, .initial = 1,
     .help = "seed of the values (default 1)"},
    {.name = NULL},
};
/* clang-format on */

static int generate_run(const void *options, const struct opt_list *operands,
                        struct cmd_context *ctx)
{
    const struct generate_options *o = options;
    const char *dist = o->dist ? o->dist : "normal";
    struct gcb_generate config = o->config;
    struct gcb_h5out *dump = NULL;
    int err;

    if (operands->count)
        return gcb_invalid(ctx->diag, "generate reads no file: '%s'; for the file to write use -o",
                           gcb_show(operands->items[0]).text);
    err = opt_output_check(&o->save, ctx->diag);
    if (!err && o->layout && config.elements)
        err = gcb_invalid(ctx->diag,
                          "--elements is for --layout flat; %s has its own shapes; leave out "
                          "--elements or --layout",
                          layouts[o->layout]);
    if (!err)
        err = gcb_synthetic_parse(&config.dist, dist, ctx->diag);
    if (err)
        return err;
    config.layout = layouts[o->layout];
    config.elements = config.elements ? config.elements : UINT64_C(1) << 20;
    config.dtype = (enum gcb_dtype)o->dtype;
    err = gcb_h5out_create(&dump, o->save.output, o->save.force, NULL, 0, ctx->diag);
    if (!err)
        err = gcb_generate_write(dump, &config, ctx->diag);
    if (!err)
        err = gcb_h5out_note(dump, "/", "dataset", "synthetic", ctx->diag);
    if (!err)
        err = gcb_h5out_note(dump, "/", "distribution", dist, ctx->diag);
    if (!err)
        err = gcb_h5out_number(dump, "/", "seed", (double)config.seed, ctx->diag);
    if (!err)
        err = gcb_h5out_commit(dump, ctx->diag);
    gcb_h5out_destroy(dump);
    return err;
}

static const struct opt_group groups[] = {
    {.title = "What to draw", .rows = rows},
    OPT_GROUP("Output", opt_output_rows, struct generate_options, save),
    OPT_GROUP("Output", opt_force_rows, struct generate_options, save),
    {.rows = NULL},
};

const struct cmd cmd_generate = {
    .name = "generate",
    .summary = "write a file of synthetic gradients",
    .usage = "generate [options] -o OUT.h5",
    .examples = "  gcbench generate --elements 16M -o normal.h5\n"
                "  gcbench generate --dist student-t:df=3 --layout resnet50 --workers 4 -o r50.h5\n"
                "  gcbench generate --dist ar:rho=0.9 --dtype fp16 --steps 3 -o smooth.h5\n",
    .details = "The same options give the same values on all machines with the same C library.\n",
    .spec = {.groups = groups},
    .operands = CMD_NOTHING,
    .size = sizeof(struct generate_options),
    .run = generate_run,
};
