#include "cli/base/commands.h"

#include <string.h>

/* A command a line, so that additions do not touch each other. */
/* clang-format off */
static const struct cmd *const commands[] = {
    &cmd_compress,
    &cmd_decompress,
    &cmd_bench,
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
_Static_assert(COUNT <= COMMANDS_MAX, "COMMANDS_MAX is too small");

static const struct commands_exit exits[] = {
    {CMD_DONE, "done", NULL},
    {CMD_FAILED, "failed", NULL},
    {CMD_USAGE, "called wrongly", NULL},
    {CMD_NO_BACKEND, "backend not available", NULL},
    {CMD_REGRESSION, "a regression", "regress"},
    {CMD_NOT_VERIFIED, "a verification did not hold", NULL},
    {CMD_AMBIGUOUS, "ambiguous or not comparable, under --strict", "regress"},
};

const struct cmd *commands_at(size_t i)
{
    return i < COUNT ? commands[i] : NULL;
}

const struct cmd *commands_find(const char *name)
{
    for (size_t i = 0; i < COUNT; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

bool commands_exit_at(struct commands_exit *out, size_t i)
{
    for (size_t k = 0; k < sizeof(exits) / sizeof(exits[0]); k++) {
        if (exits[k].command && !commands_find(exits[k].command))
            continue;
        *out = exits[k];
        if (i-- == 0)
            return true;
    }
    return false;
}
