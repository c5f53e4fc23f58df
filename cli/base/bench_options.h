#ifndef CLI_BASE_BENCH_OPTIONS_H
#define CLI_BASE_BENCH_OPTIONS_H

#include "cli/base/output.h"
#include "cli/base/session.h"
#include "src/tool/run/kernels.h"
#include "src/tool/run/suite.h"

/* Options of `bench`. `regress` also has those of the suite, the cases and the timing, and passes
 * them on to `bench`. */
struct bench_own {
    const char *suite;
    /* an item of these lists may have several values, separated by commas */
    struct opt_list scopes, devices, threads, caches;
    /* 0: the option is not given; times are in seconds */
    double precision, max_time, time_budget;
    int max_samples;
    bool samples, no_bandwidth, no_sums;
};

/* Options for `bench --kernels`, which times kernels of this build instead of methods. */
struct bench_kernels_options {
    bool kernels;
    struct opt_list sizes; /* empty: all sizes */
};

struct bench_options {
    struct opt_methods methods;
    struct session_options common;
    struct opt_timing timing;
    struct bench_own own;
    struct opt_shapes shapes;
    struct bench_kernels_options kernels;
};

/* Rows of struct bench_kernels_options, and of struct bench_own in four groups. */
extern const struct opt_row bench_kernels_rows[];
extern const struct opt_row bench_suite_rows[], bench_case_rows[], bench_timing_rows[];
extern const struct opt_row bench_show_rows[];

/* Fills zeroed options with the fields of a suite, whose texts they borrow; options that are not
 * among the fields get their initial values. GCB_E_INVALID: a field is unknown, has a wrong value
 * or names a plug-in. Release the lists of *out with opt_fini, also on failure. */
int bench_fill(struct bench_options *out, const struct gcb_suite *suite, struct gcb_diag *diag);

/*
 * Reads the suite of --suite, or else the default suite if no file is given. Options of `o` that
 * are not given take the suite's values, unless those contradict options that are given. `files`:
 * true if a file is given. `filled` and `suite` start zeroed. `filled` gets only the options of the
 * suite, and owns their lists, which `o` borrows. Release `filled` with opt_fini and the suite with
 * gcb_suite_fini, also on failure. Errors are those of gcb_suite_load and bench_fill, and
 * GCB_E_INVALID if no file is given and either an option chooses tensors of files or the suite has
 * no inputs.
 */
int bench_take_suite(struct bench_options *o, struct bench_options *filled, struct gcb_suite *suite,
                     bool files, struct gcb_diag *diag);

/* Makes the plan of cases and times from the options. GCB_E_INVALID: a value is wrong, or options
 * contradict each other. */
int bench_plan(struct gcb_suite_plan *out, const struct bench_options *o, struct gcb_diag *diag);

/* Refuses some options that have no meaning with --kernels, such as --method: returns GCB_E_INVALID
 * if one of them is given. */
int bench_check_kernels(const struct bench_options *o, struct gcb_diag *diag);

/*
 * Makes the list of methods as opt_methods_resolve does, with opt_methods_all as `wanted`. Adds
 * identity if it is not in the list, and memcpy (src/tool/run/trial.h) directly after the first
 * identity. *out starts as NULL; release it with gcb_free, also on failure.
 */
int bench_methods(struct gcb_method **out, size_t *count, const struct bench_options *o,
                  struct gcb_diag *diag);

/* Runs `bench --kernels` on the kernels whose FAMILY/KERNEL, FAMILY or KERNEL a glob matches, or on
 * all if there is no glob. Returns what a command's `run` returns. */
int bench_kernels(const struct bench_options *o, const struct opt_list *globs,
                  struct cmd_context *ctx);

#endif
