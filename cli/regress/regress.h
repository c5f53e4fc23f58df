#ifndef CLI_REGRESS_REGRESS_H
#define CLI_REGRESS_REGRESS_H

#include "cli/base/bench_options.h"
#include "cli/base/output.h"
#include "src/tool/regress/ab_run.h"
#include "src/tool/regress/counts.h"
#include "src/tool/regress/verdict.h"

/* The options of regress itself. Everything else on its command line is for `bench`. */
struct regress_own {
    const char *against; /* the other gcbench; NULL: two result files are compared */
    double budget;       /* in seconds; 0: the default */
    int pairs;           /* largest number of pairs; 0: the default */
    bool calibrate, counts;
    double delta;   /* in percent; 0: the default */
    double floor;   /* in microseconds; shorter times are not judged; -1: the default */
    double timeout; /* time limit of one process in seconds; 0: the default */
    bool advisory_times, strict;
    struct opt_list accept;
    const char *markdown;
};
extern const struct opt_row regress_judge_rows[], regress_against_rows[];

struct regress_options {
    struct regress_own own;
    /* options for `bench`, parsed only to check them; regress itself uses those of its output */
    struct bench_options bench;
};
extern const struct opt_row regress_show_rows[]; /* rows for struct regress_options */

/* Checks --against: GCB_E_INVALID if it is a folder. */
int regress_check_program(const char *path, struct gcb_diag *diag);

/* Collects the words of the command line that are passed on to `bench`: the options of groups
 * with `passed_on`, and parameters of methods. With `counts`, methods and what --counts sets
 * itself are left out. Borrows the words. GCB_E_NOMEM. */
int regress_forward(struct opt_list *out, const struct opt_result *parsed, bool counts);

/* `regress --against`: runs this build and another one, for times or, with --counts, for
 * instructions. */
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

/* Runs all processes and adds the verdicts. The caller sets the first four fields; the rest is
 * zeroed. Always close it. */
int regress_builds_run(struct regress_builds *b, struct gcb_verdicts *out, struct gcb_diag *diag);
/* Prints in a few lines what ran. */
void regress_builds_heading(const struct regress_builds *b, const struct out_report *report);
bool regress_builds_interrupted(const struct regress_builds *b);
void regress_builds_close(struct regress_builds *b); /* `b` may be zeroed */

/* Prints a comparison: a table of the times and of everything that changed, then causes and
 * advice, then the counts. */
int regress_show(struct out_report *report, const struct gcb_verdicts *verdicts, bool strict,
                 struct gcb_diag *diag);

/* Writes the comparison as Markdown to `file` and renames the file. Names appear as plain text,
 * whatever characters they have. `title`: "gcbench regress: 0123abc against 4567def". */
int regress_markdown_write(const char *title, const struct gcb_verdicts *verdicts, bool strict,
                           struct gcb_outfile *file, struct gcb_diag *diag);

#endif
