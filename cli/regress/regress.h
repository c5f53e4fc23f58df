#ifndef CLI_REGRESS_REGRESS_H
#define CLI_REGRESS_REGRESS_H

#include <limits.h>

#include "cli/base/bench_options.h"
#include "cli/base/output.h"
#include "src/tool/regress/ab_run.h"
#include "src/tool/regress/counts.h"
#include "src/tool/regress/verdict.h"

/* The options that only `regress` has. It has the others in common with `bench`. */
struct regress_own {
    const char *against; /* the other gcbench; NULL: two result files are compared */
    double budget;       /* in seconds; 0: the default */
    int pairs;           /* largest number of pairs; 0: the default */
    bool calibrate, counts;
    double delta;   /* in percent; 0: the default */
    double floor;   /* in microseconds: two shorter times are not judged; -1: the default */
    double timeout; /* time limit of one process in seconds; 0: the default */
    bool advisory_times, strict;
    struct opt_list accept;
};

struct regress_options {
    struct regress_own own;
    /* Most are passed on to `bench` as words. `regress` itself uses the output options, and reads
     * some others, such as the methods to count. */
    struct bench_options bench;
};

/* Appends the words of the command line that are passed on to `bench`: options of groups with
 * `passed_on`, and parameters of methods. With `counts`, leaves out methods, their parameters, and
 * options that --counts sets itself. *out borrows the words. */
void regress_forward(struct opt_list *out, const struct opt_result *parsed, bool counts);

/* The state of the command. Starts zeroed. */
struct regress {
    const struct regress_options *o;
    const struct opt_list *operands;
    struct cmd_context *ctx;
    struct opt_list bench; /* words that are passed on to `bench` */
    /* if two files are compared, only `runs` is set; with --counts the struct stays zeroed */
    struct gcb_ab_result ab;
    struct gcb_verdicts verdicts;
    struct out_report report;
    /* used with --against: */
    char self[PATH_MAX];    /* path of this program */
    struct opt_list argv;   /* the command line of both builds */
    char word[GCB_AB_WORD]; /* a word of argv: the number of calls, or the method to count */
    struct gcb_ab_config config;
    struct gcb_ab_result aa;    /* result of the calibration; zeroed without --calibrate */
    struct gcb_counts counts;   /* set if instructions were counted, also without --counts */
    struct gcb_method *methods; /* whose instructions are counted */
    size_t method_count;
    char *folder; /* folder for temporary files; NULL: it was not made */
    int tidy_place;
    char layout_kept[200]; /* why the layout of the code did not vary; "": it did, or --counts */
};

/* Runs this build and the one of --against, for times or, with --counts, for instructions, and adds
 * the verdicts to r->verdicts. The caller has set o, operands, ctx and bench. Release with
 * regress_builds_close, also after a failure. */
int regress_builds_run(struct regress *r, struct gcb_diag *diag);
/* Prints what ran: how many pairs of processes, and whether the layout of the code varied; with
 * --counts, how many methods were counted. */
void regress_builds_heading(const struct regress *r);
/* Releases what regress_builds_run made except r->verdicts, which borrow from it. Releases r->ab in
 * any case. `r` may be zeroed. */
void regress_builds_close(struct regress *r);

/* Prints a comparison: a table of the times and of everything that changed, then reasons and
 * advice, then the number of verdicts of each kind. `strict`: says that uncertain verdicts fail. */
void regress_show(struct out_report *report, const struct gcb_verdicts *verdicts, bool strict);

#endif
