#ifndef CLI_PAYOFF_PAYOFF_OPTIONS_H
#define CLI_PAYOFF_PAYOFF_OPTIONS_H

#include "cli/base/options.h"
#include "src/tool/payoff/curve_import.h"
#include "src/tool/payoff/payoff_grid.h"
#include "src/tool/payoff/payoff_verdict.h"

/* The options of `payoff`, and the plan that follows from them. */
struct payoff_own {
    struct opt_list bandwidth, workers;
    double latency, compute; /* in seconds; NAN: not given */
    int collective;          /* enum gcb_topology */
    int servers;             /* number of servers; 0: the default, 1 */
    uint64_t model_bytes, messages, bucket_bytes;
    const char *link;
    struct opt_list imports;
    const char *nodes, *intra, *params, *host_copy, *buckets;
    double coding_gbps, cores; /* 0: not given */
    int inner_steps;           /* 0: not given */
};
struct payoff_papers {
    const char *stage_gbps;
    double density;
    int words; /* words for each kept element; 0: the default, 2 */
    double select_time, unpack_time, reduce_time; /* in seconds */
};
struct payoff_options {
    struct opt_methods methods;
    struct payoff_own own;
    struct payoff_papers papers;
    struct opt_exec exec;
    struct opt_save save;
    struct opt_show show;
};

extern const struct opt_row payoff_own_rows[];
extern const struct opt_row payoff_papers_rows[];
extern const struct opt_row payoff_methods_rows
    []; /* rows for struct opt_methods, but no parameters of methods: --density has another meaning here */

enum payoff_mode { PAYOFF_EXCHANGE, PAYOFF_FFT, PAYOFF_REDSYNC };

#define PAYOFF_BUCKETS 256 /* most buckets in a file */

struct payoff_plan {
    enum payoff_mode mode;
    struct gcb_payoff_grid bandwidths, workers;
    struct gcb_link link;   /* its bandwidth and workers are set for each point */
    struct gcb_curve curve; /* of --link or --import: link.curve */
    struct gcb_payoff_model model;
    double shares[PAYOFF_BUCKETS]; /* for model.shares */
    struct gcb_fft_stages stages;  /* for PAYOFF_FFT */
    /* for PAYOFF_REDSYNC; its bandwidth and workers are set for each row */
    struct gcb_redsync redsync;
};
/* Makes the plan from the options. `operands` are the result files. GCB_E_INVALID: a wrong value, or options that do
 * not go together. */
int payoff_plan(struct payoff_plan *out, const struct payoff_options *o,
                const struct opt_list *operands, struct gcb_diag *diag);

#endif
