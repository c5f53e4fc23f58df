#ifndef CLI_BASE_PROGRAM_H
#define CLI_BASE_PROGRAM_H

#include "cli/base/cmd.h"

/* What the programs gcbench and gcbench-mpi have in common: their main functions. */

/*
 * Runs a program and returns its exit status. Calls `dispatch` with the whole command line, in a thread with a larger stack
 * if the limit of the process is low. Then prints why the program failed: "NAME: words". `name` is ctx->program.
 */
int program_run(struct cmd_context *ctx, int (*dispatch)(struct cmd_context *ctx));

/* Asks OpenBLAS for the fastest kernel that this processor can run, unless the user has asked for one. Changes the
 * environment, so a program calls it before it starts threads. */
void program_choose_blas(void);

/* The context of a program that prints on stdout and stderr. Prepares the process: signals, and how memory is shared out. */
struct cmd_context program_begin(const char *name, int argc, char *const *argv,
                                 struct gcb_diag *diag);

#endif
