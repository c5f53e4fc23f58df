#ifndef CLI_BASE_BENCH_OPTIONS_H
#define CLI_BASE_BENCH_OPTIONS_H

#include "cli/base/session.h"
#include "src/tool/run/suite.h"
#include "src/tool/run/suite_run.h"

/* The options of `bench`, and the plan that follows from them before any file is read. */
struct bench_own {
    const char *suite;
    struct opt_list scopes, devices, threads,
        caches; /* an item may have several values, separated by commas */
    double precision, max_time, time_budget; /* 0: the option is not given */
    int max_samples;
    bool samples, no_bandwidth, no_sums;
};

/* The options of `bench --kernels`, which times kernels of this build instead of methods. */
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

extern const struct opt_row bench_suite_rows[];   /* row of --suite */
extern const struct opt_row bench_case_rows[];    /* rows for struct bench_own */
extern const struct opt_row bench_timing_rows[];  /* rows for struct bench_own */
extern const struct opt_row bench_kernels_rows[]; /* rows for struct bench_kernels_options */
extern const struct opt_row bench_show_rows[];    /* rows for struct bench_own */

/* Fills zeroed options with the fields of a suite. Release the lists of *out with opt_fini, also on
 * failure. */
int bench_fill(struct bench_options *out, const struct gcb_suite *suite, struct gcb_diag *diag);

/*
 * Reads the named suite, or the default suite if no file is given, and takes from it what `o` does
 * not set. `files`: true if a file is given. `filled` starts zeroed and owns the lists that come
 * from the suite: release it with opt_fini, and the suite with gcb_suite_fini, also on failure.
 */
int bench_take_suite(struct bench_options *o, struct bench_options *filled, struct gcb_suite *suite,
                     bool files, struct gcb_diag *diag);

/* Makes the plan from the options. */
int bench_plan(struct gcb_suite_plan *out, const struct bench_options *o, struct gcb_diag *diag);

/* Checks options: GCB_E_INVALID if one is given that has no meaning with --kernels. */
int bench_check_kernels(const struct bench_options *o, struct gcb_diag *diag);

/*
 * Makes the list of methods: the named ones or all, with the overrides applied. identity is always
 * in the list, and memcpy (src/tool/run/trial.h) follows it. Release *out with gcb_free.
 */
int bench_methods(struct gcb_method **out, size_t *count, const struct bench_options *o,
                  struct gcb_diag *diag);

#endif
