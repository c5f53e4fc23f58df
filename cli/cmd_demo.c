#include <string.h>

#include "cli/base/cmd.h"
#include "src/tool/base/data.h"

/* README.md shows the same command, followed by the path of the sample. */
#define COMMAND \
    "compress --method topk --method fft:chunk=4096 --method qsgd \\\n" \
    "      --method range --scope model"

static int demo_run(const void *options, const struct opt_list *operands, struct cmd_context *ctx)
{
    char line[] = COMMAND, sample[GCB_DATA_PATH], *rest;
    char *words[32]; /* the words of COMMAND, from the command's name on, and the sample */
    int count = 0, err;

    if (operands->count)
        return gcb_invalid(ctx->diag,
                           "demo takes no file; for your own file, see `gcbench help choose`");
    if (!gcb_data_find(sample, "datasets/sample.h5"))
        return gcb_diag_set(ctx->diag, GCB_E_IO, "%s: the sample is not installed", sample);
    fprintf(ctx->out, "$ gcbench %s \\\n      %s\n\n", line, sample);
    for (char *word = strtok_r(line, " \\\n", &rest); word; word = strtok_r(NULL, " \\\n", &rest))
        words[count++] = word;
    words[count++] = sample;
    err = cmd_run(&cmd_compress, ctx, count - 1, words + 1);
    if (!err)
        fputs("\nratio: input bytes / message bytes. rel L2: the error; 0 is perfect, 1 is as bad\n"
              "as sending zeros. For your own gradients, see `gcbench help choose`.\n",
              ctx->out);
    return err;
}

static const struct opt_group groups[] = {{.rows = NULL}};

const struct cmd cmd_demo = {
    .name = "demo",
    .summary = "compress the shipped gradients with four methods: a first look",
    .usage = "demo",
    .examples = "  gcbench demo\n",
    .details = "The first line shows the command that demo runs.\n",
    .spec = {.groups = groups},
    .operands = CMD_NOTHING,
    .size = 0,
    .run = demo_run,
};
