#include "cli/base/cmd.h"

#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"

/* Each command has a line of its own, so that commits that add commands do not conflict. */
/* clang-format off */
static const struct cmd *const commands[] = {
    &cmd_demo,
    &cmd_compress,
    &cmd_decompress,
    &cmd_bench,
    &cmd_merge,
    &cmd_sweep,
    &cmd_verify,
    &cmd_replay,
    &cmd_payoff,
    &cmd_plot,
    &cmd_report,
    &cmd_regress,
    &cmd_inspect,
    &cmd_methods,
    &cmd_info,
    &cmd_generate,
};
/* clang-format on */
#define COUNT (sizeof(commands) / sizeof(commands[0]))
_Static_assert(COUNT <= CMD_MAX, "CMD_MAX is too small");

const struct cmd_meaning cmd_meanings[] = {
    {CMD_DONE, "done", NULL},
    {CMD_FAILED, "failed", NULL},
    {CMD_USAGE, "wrong usage", NULL},
    {CMD_NO_BACKEND, "backend not available", NULL},
    {CMD_REGRESSION, "regression", "regress"},
    {CMD_NOT_VERIFIED, "verification failed", NULL},
    {CMD_AMBIGUOUS, "ambiguous or not comparable, with --strict", "regress"},
    {.words = NULL},
};

const struct cmd *cmd_at(size_t i)
{
    return i < COUNT ? commands[i] : NULL;
}

const struct cmd *cmd_find(const char *name)
{
    for (size_t i = 0; i < COUNT; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

void cmd_print_help(FILE *out, const struct cmd *cmd)
{
    const char join = cmd->alone ? '-' : ' ';
    size_t n;

    fprintf(out, "gcbench%c%s: %s\n\nExamples:\n%s\nUsage: gcbench%c%s\n", join, cmd->name,
            cmd->summary, cmd->examples, join, cmd->usage);
    opt_print(out, &cmd->spec);
    if (cmd->details)
        fputc('\n', out);
    for (const char *at = cmd->details; at && *at; at += n + (at[n] == '\n')) {
        n = strcspn(at, "\n");
        opt_wrapf(out, 0, 0, "%.*s", (int)n, at);
    }
}

int cmd_run(const struct cmd *cmd, struct cmd_context *ctx, int argc, char *const *argv)
{
    void *options = gcb_alloc_zero(1, cmd->size ? cmd->size : 1);
    struct opt_result parsed = {.help = false};
    int err;

    if (!options)
        return gcb_diag_nomem(ctx->diag, cmd->size, "options");
    ctx->cmd = cmd;
    ctx->parsed = &parsed;
    err = opt_parse(&parsed, &cmd->spec, options, argc, argv, ctx->diag);
    if (err == GCB_E_INVALID)
        gcb_append(ctx->diag->text, sizeof(ctx->diag->text),
                   cmd->alone ? " (see `gcbench-%s --help`)" : " (see `gcbench help %s`)",
                   cmd->name);
    if (!err && parsed.help)
        cmd_print_help(ctx->out, cmd);
    else if (!err)
        err = cmd->run(options, &parsed.operands, ctx);
    opt_fini(&parsed, &cmd->spec, options);
    gcb_free(options);
    return err;
}
