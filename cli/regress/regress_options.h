#ifndef CLI_REGRESS_REGRESS_OPTIONS_H
#define CLI_REGRESS_REGRESS_OPTIONS_H

#include "cli/base/bench_options.h"

/* Options that are regress's own. Everything else on its command line is for `bench`. */
struct regress_own {
    const char *against; /* the other gcbench; NULL: two result files are compared */
    double budget;       /* seconds; 0: the default */
    int pairs;           /* at most; 0: as many as the budget allows */
    bool calibrate, counts;
    double delta;   /* percent; 0: the default */
    double floor;   /* microseconds; times below are not judged; -1: the default */
    double timeout; /* seconds of one process; 0: the default */
    bool advisory_times, strict, force;
    struct opt_list accept;
    const char *markdown;
};
extern const struct opt_row regress_judge_rows[], regress_against_rows[], regress_show_rows[];

struct regress_options {
    struct regress_own own;
    struct bench_options
        bench; /* where its options are parsed; how results are shown is regress's own */
};

/* Is this what --against takes, a program? A folder is not, but its program is named. GCB_E_INVALID. */
int regress_check_program(const char *path, struct gcb_diag *diag);

/*
 * The words of the command line that are for `bench`: all options but those of `own` (tables, ended by NULL), and
 * none of the operands; parameters of methods only if `parameters`. argv[0] is the first word behind the command's
 * name; it has been parsed with `spec` without error. Borrows the words. GCB_E_NOMEM.
 */
int regress_forward(struct opt_list *out, const struct opt_spec *spec,
                    const struct opt_row *const *own, bool parameters, int argc, char *const *argv);

#endif
