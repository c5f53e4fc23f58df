#ifndef CLI_DOCS_MANUAL_H
#define CLI_DOCS_MANUAL_H

#include "cli/base/commands.h"

/* The manual, from the tables of commands, options and methods, as man(7) source. */

void manual_overview(FILE *out);                       /* gcbench(1) */
void manual_command(FILE *out, const struct cmd *cmd); /* gcbench-NAME(1) */

#endif
