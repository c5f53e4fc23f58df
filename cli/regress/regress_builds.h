#ifndef CLI_REGRESS_REGRESS_BUILDS_H
#define CLI_REGRESS_REGRESS_BUILDS_H

#include "cli/base/output.h"
#include "cli/regress/regress_options.h"
#include "src/tool/regress/ab_run.h"
#include "src/tool/regress/counts.h"

/* `regress --against`: runs this build and another one, for times or, with --counts, for instructions. */
struct regress_builds {
    const struct regress_options *o;
    const struct opt_list *bench; /* options that are passed on to `bench` */
    const struct opt_list *files;
    struct cmd_context *ctx;

    char self[4096];                                   /* path of this program */
    char repeat[GCB_AB_REPEAT], spec[GCB_COUNTS_SPEC]; /* texts that argv points to */
    struct opt_list argv;
    struct gcb_ab_config config;
    struct gcb_ab_result aa,
        ab; /* results of the calibration (only with --calibrate) and of the comparison */
    struct gcb_counts counts;
    struct gcb_method *methods;
    size_t method_count;
    char *folder; /* folder for temporary files; NULL: it was not made */
    int tidy_place;
    char layout_kept[200]; /* why the layout of the code did not vary; empty: it did */
};

/* Runs all processes and adds the verdicts. The caller sets the first four fields; the rest is zeroed. Always close it. */
int regress_builds_run(struct regress_builds *b, struct gcb_verdicts *out, struct gcb_diag *diag);
/* Prints in a few lines what ran. */
void regress_builds_heading(const struct regress_builds *b, const struct out_report *report);
bool regress_builds_interrupted(const struct regress_builds *b);
void regress_builds_close(struct regress_builds *b); /* `b` may be zeroed */

#endif
