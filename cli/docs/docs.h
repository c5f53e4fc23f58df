#ifndef CLI_DOCS_DOCS_H
#define CLI_DOCS_DOCS_H

#include "cli/base/cmd.h"

/* These functions print the manual as man(7) source, from the tables of commands, options and methods. */
void manual_overview(FILE *out);                       /* prints gcbench(1) */
void manual_command(FILE *out, const struct cmd *cmd); /* prints gcbench-NAME(1) */

/* Prints the tables of commands, options and methods for completion in shells: the variable _gcbench_table, which
 * completion.sh reads. */
void completion_table(FILE *out);

/* Is names->name_at(i) the first of its name? Several methods have a parameter `bits`. */
bool extra_is_first(const struct opt_extra *names, size_t i);

#endif
