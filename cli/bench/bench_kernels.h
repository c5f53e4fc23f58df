#ifndef CLI_BENCH_BENCH_KERNELS_H
#define CLI_BENCH_BENCH_KERNELS_H

#include "cli/base/bench_options.h"
#include "cli/base/output.h"
#include "src/tool/kernel_bench/kernels.h"

/* What else of bench's options has a meaning for it. All borrowed; `save` and `timing` as they were given. */
struct bench_kernels_request {
    const struct bench_kernels_options *own;
    const struct opt_exec *exec;
    const struct opt_timing *timing;
    double precision, max_time; /* 0: the defaults */
    int max_samples;            /* 0: the default */
    const struct opt_save *save;
    const struct opt_show *show;
    bool samples;
};

/* `globs`: which kernels; none: all. What a command's run returns. */
int bench_kernels(const struct bench_kernels_request *request, const struct opt_list *globs,
                  struct cmd_context *ctx);

/* Its table, and a line in the table. */
struct gcb_table *bench_kernels_table(void);
void bench_kernels_add(struct gcb_table *table, const struct gcb_kernel_result *result);

#endif
