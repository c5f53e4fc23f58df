#ifndef CLI_BENCH_BENCH_KERNELS_H
#define CLI_BENCH_BENCH_KERNELS_H

#include "cli/base/bench_options.h"
#include "cli/base/output.h"
#include "src/tool/run/kernels.h"

/* Runs the kernels that the globs match, or all if there is no glob. Returns what a command's `run`
 * returns. */
int bench_kernels(const struct bench_options *o, const struct opt_list *globs,
                  struct cmd_context *ctx);

#endif
