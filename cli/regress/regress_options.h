#ifndef CLI_REGRESS_REGRESS_OPTIONS_H
#define CLI_REGRESS_REGRESS_OPTIONS_H

#include "cli/base/bench_options.h"

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

/* Collects the words of the command line that are passed on to `bench`: the options of groups with `passed_on`, and
 * parameters of methods. With `counts`, methods and what --counts sets itself are left out. Borrows the words.
 * GCB_E_NOMEM. */
int regress_forward(struct opt_list *out, const struct opt_result *parsed, bool counts);

#endif
