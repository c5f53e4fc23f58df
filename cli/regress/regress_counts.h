#ifndef CLI_REGRESS_REGRESS_COUNTS_H
#define CLI_REGRESS_REGRESS_COUNTS_H

#include "cli/base/output.h"
#include "cli/regress/regress_options.h"
#include "src/tool/regress/counts.h"

/* `regress --against --counts`: instructions instead of seconds. */
struct regress_counts {
    const struct regress_options *o;
    const struct opt_list *bench; /* options for `compress`, but what this sets itself */
    const struct opt_list *files;
    struct cmd_context *ctx;
    struct gcb_counts counts;
    struct gcb_method *methods;
    size_t method_count;
    char folder[64];
    char self[4096];
};

/* Options that it sets itself, or that are in the methods' specs: not passed on. */
extern const struct opt_row regress_counts_fixed[];

/* Counts everything; fill the first four fields, the rest zeroed. Close it in every case. */
int regress_counts_run(struct regress_counts *c, struct gcb_verdicts *out, struct gcb_diag *diag);
void regress_counts_heading(const struct regress_counts *c, const struct out_report *report);
void regress_counts_close(struct regress_counts *c); /* zeroed is fine */

#endif
