#include "cli/base/cmd.h"

#include <string.h>

/* Each command has a line of its own, so that commits that add commands do not conflict. */
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
