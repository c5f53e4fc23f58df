#ifndef CLI_REGRESS_REGRESS_TURNS_H
#define CLI_REGRESS_REGRESS_TURNS_H

#include "cli/base/output.h"
#include "cli/regress/regress_options.h"
#include "src/tool/regress/turns.h"

/* `regress --against`: this build and another one in turn. */
struct regress_turns {
    const struct regress_options *o;
    const struct opt_list *bench; /* options for it */
    const struct opt_list *files;
    struct cmd_context *ctx;
    struct gcb_turns_config config;
    struct gcb_turns aa, turns; /* the first only with --calibrate */
    char self[4096];            /* this program */
};

/* Runs all processes; fill the first four fields, the rest zeroed. Close it in every case. */
int regress_turns_run(struct regress_turns *t, struct gcb_diag *diag);
/* Says in a few lines what ran, and what of it is odd. */
void regress_turns_heading(const struct regress_turns *t, const struct out_report *report);
void regress_turns_close(struct regress_turns *t); /* zeroed is fine */

/* The path of the program that runs, into `out`. */
int regress_self(char *out, size_t size, struct gcb_diag *diag);

#endif
