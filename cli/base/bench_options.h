#ifndef CLI_BASE_BENCH_OPTIONS_H
#define CLI_BASE_BENCH_OPTIONS_H

#include "cli/base/session.h"
#include "src/tool/suite/suite.h"

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

extern const struct opt_row bench_input_rows[]; /* rows for struct opt_input: --step and --worker */
extern const struct opt_row bench_case_rows[];  /* rows for struct bench_own */
extern const struct opt_row bench_repeat_rows[];  /* rows for struct opt_timing */
extern const struct opt_row bench_timing_rows[];  /* rows for struct bench_own */
extern const struct opt_row bench_kernels_rows[]; /* rows for struct bench_kernels_options */
extern const struct opt_row bench_show_rows[];    /* rows for struct bench_own */

/* The values of options that take a list with commas. */
struct bench_words {
    char text[GCB_SUITE_THREADS][32];
    size_t count;
};

/*
 * Makes the plan: the named suite, or the default suite, with the options applied. All its timing fields are set.
 * `files`: is any file given? `devices` keeps words that the suite borrows. Release *out with gcb_suite_fini, also on
 * failure.
 */
int bench_plan(struct gcb_suite *out, struct bench_words *devices, const struct bench_options *o,
               bool files, struct gcb_diag *diag);

/* Checks options: GCB_E_INVALID if one is given that has no meaning with --kernels. */
int bench_check_kernels(const struct bench_options *o, struct gcb_diag *diag);

/* The method that the others are compared with: of --nearer-than or of the suite. NULL: none. It is the first of bench_methods. */
const char *bench_nearer_than(const struct gcb_suite *suite, const struct bench_options *o);

/*
 * Makes the list of methods: the named ones or those of the suite, with the overrides applied. identity is always in
 * the list, and memcpy (src/tool/trial/copy.h) follows it. Release *out with gcb_free.
 */
int bench_methods(struct gcb_method **out, size_t *count, const struct gcb_suite *suite,
                  const struct bench_options *o, struct gcb_diag *diag);

#endif
