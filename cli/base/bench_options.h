#ifndef CLI_BASE_BENCH_OPTIONS_H
#define CLI_BASE_BENCH_OPTIONS_H

#include "cli/base/options.h"
#include "src/tool/suite/suite.h"

/* What `bench` is told, and what follows from it before any file is touched. */
struct bench_own {
    const char *suite;
    struct opt_list scopes, devices, threads, caches; /* each item may be several, with commas */
    double precision, max_time, time_budget;          /* 0: not given */
    int max_samples;
    bool samples, no_bandwidth;
};

/* `bench --kernels`: the kernels of this build instead of methods. */
struct bench_kernels_options {
    bool kernels;          /* asked for */
    struct opt_list sizes; /* --size; none: all */
};

struct bench_options {
    struct opt_methods methods;
    struct opt_input input;
    struct opt_message message;
    struct opt_exec exec;
    struct opt_timing timing;
    struct bench_own own;
    struct opt_shapes shapes;
    struct bench_kernels_options kernels;
    struct opt_save save;
    struct opt_show show;
};

extern const struct opt_row bench_input_rows[];   /* over struct opt_input: --step and --worker */
extern const struct opt_row bench_case_rows[];    /* over struct bench_own */
extern const struct opt_row bench_repeat_rows[];  /* over struct opt_timing */
extern const struct opt_row bench_timing_rows[];  /* over struct bench_own */
extern const struct opt_row bench_kernels_rows[]; /* over struct bench_kernels_options */
extern const struct opt_row bench_show_rows[];    /* over struct bench_own */

/* Words of lists, and where they are kept. */
struct bench_words {
    char text[GCB_SUITE_THREADS][32];
    size_t count;
};

/*
 * The suite named, or what applies without one, with what the options say instead; every figure of its timing
 * is set. `files`: are there any? `devices` keeps words that the suite borrows. Release with gcb_suite_fini,
 * also on failure.
 */
int bench_plan(struct gcb_suite *out, struct bench_words *devices, const struct bench_options *o,
               bool files, struct gcb_diag *diag);

/* GCB_E_INVALID for what is given beside --kernels and has no meaning there. */
int bench_check_kernels(const struct bench_options *o, struct gcb_diag *diag);

/*
 * The methods of the suite, or those given, with their overrides; memories are left away. identity is always
 * one of them, and memcpy (src/tool/trial/copy.h) comes right behind it. Release *out with gcb_free.
 */
int bench_methods(struct gcb_method **out, size_t *count, const struct gcb_suite *suite,
                  const struct bench_options *o, struct gcb_diag *diag);

#endif
