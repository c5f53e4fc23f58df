#ifndef CLI_BASE_COMMANDS_H
#define CLI_BASE_COMMANDS_H

#include "cli/base/cmd.h"

/*
 * What the command line has to offer: the dispatcher, its help, the manual and the completions all read
 * it from here.
 */

/* The commands in the order they are listed; NULL past the end. `help` is the dispatcher's own. */
const struct cmd *commands_at(size_t i);
#define COMMANDS_MAX 32 /* no more than this */

/* The command of that name, or NULL. */
const struct cmd *commands_find(const char *name);

/* What an exit code means. */
struct commands_exit {
    enum cmd_exit code;
    const char *means;
    const char *command; /* the only one that returns it; NULL: any may */
};
/* The i-th that some command returns, by rising code; false past the end. */
bool commands_exit_at(struct commands_exit *out, size_t i);

#endif
