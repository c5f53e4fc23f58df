#ifndef SRC_TOOL_PAYOFF_PAYOFF_LOAD_H
#define SRC_TOOL_PAYOFF_PAYOFF_LOAD_H

#include "src/tool/payoff/papers.h"
#include "src/tool/payoff/payoff.h"
#include "src/tool/payoff/payoff_cases.h"

/* Computes the loads of measured cases, and of the baselines that they are compared with. */

/* What is exchanged, and by which machine. */
struct gcb_payoff_model {
    double bytes;    /* bytes of the gradient as fp32; 0: as in the results */
    double messages; /* number of messages the gradient is split into; 0: as in the results */
    double bucket;   /* bytes of the gradient in one transfer, above 0 */
    const double
        *shares; /* instead: each transfer's share of the gradient, share_count; NULL: none */
    size_t share_count;
    double compute;     /* seconds to compute the gradient; NAN: no overlap with the exchange */
    double inner_steps; /* steps of computing for each exchange; 1 or more */
    double cores; /* cores of each worker, if fewer than the threads of the results; 0: enough */
    double
        coding; /* bytes per second of the memory of a perfect coder; 0: times are those of the results */
    double host_copy; /* bytes per second between device and host; 0: nothing is copied */
};

/* How a load was computed from the measured values. */
struct gcb_payoff_scale {
    double bytes, messages, transfers; /* size of the exchanged gradient, and its parts */
    bool fitted;       /* from the fitted lines; else measured, or scaled in proportion */
    bool extrapolated; /* messages are over twice, or under half, as large as any measured */
    /* Why the load is doubtful: "bytes", "encoding times", "decoding times" or "adding times" if the fitted line is too far
     * from the measured values; else NULL. */
    const char *doubt;
    double miss; /* relative error of the worst line; NAN if `fitted` is false */
    double misses[GCB_PAYOFF_QUANTITIES]; /* of each line; 0 if `fitted` is false */
};
#define GCB_PAYOFF_BYTES_MISS 0.5
#define GCB_PAYOFF_TIMES_MISS 0.75 /* larger than for bytes: large messages leave the caches */

/* The loads of a method and of the baselines for the same gradient. */
struct gcb_payoff_loads {
    /* with the medians, and with the ends of their intervals; fitted lines widen an interval by their error */
    struct gcb_load method[GCB_BOUNDS];
    struct gcb_load
        lossy; /* with medians, by collectives that compress sums again; without any if there is none */
    struct gcb_load baselines[GCB_BOUNDS][GCB_BASELINES];
};

/* The cases of a group that measure the baselines; NULL: not measured. fp32 is measured by `identity`. */
struct gcb_payoff_baselines {
    const struct gcb_payoff_case *cases[GCB_BASELINES];
};
struct gcb_payoff_baselines gcb_payoff_find_baselines(const struct gcb_payoff_cases *cases,
                                                      size_t group);

/* Computes the loads of a case and of the baselines for the gradient of `model`. */
void gcb_payoff_load(struct gcb_payoff_loads *out, struct gcb_payoff_scale *scale,
                     const struct gcb_payoff_case *c, const struct gcb_payoff_baselines *baselines,
                     const struct gcb_payoff_model *model);

/* Has the case times of adding messages? */
bool gcb_payoff_adding_measured(const struct gcb_payoff_case *c);

/* Computes the throughputs of the stages as the FFT paper counts them. Returns false if the stages were not timed. */
bool gcb_payoff_stages(struct gcb_fft_stages *out, const struct gcb_payoff_case *c);

#endif
