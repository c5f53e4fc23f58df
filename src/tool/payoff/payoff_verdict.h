#ifndef SRC_TOOL_PAYOFF_PAYOFF_VERDICT_H
#define SRC_TOOL_PAYOFF_PAYOFF_VERDICT_H

#include "src/tool/payoff/payoff.h"
#include "src/tool/payoff/payoff_cases.h"

/* Makes verdicts of measured cases: the load of a case, its comparison with fp32 and fp16, and the verdict in words. */

/* The gradient that is exchanged. */
struct gcb_payoff_model {
    double bytes;    /* bytes of the gradient as fp32; 0: as in the results */
    double messages; /* number of messages the gradient is split into; 0: as in the results */
    double bucket;   /* bytes of the gradient in one transfer, above 0 */
    double compute;  /* seconds to compute the gradient; NAN: no overlap with the exchange */
};

/* How a load was computed from the measured values. */
struct gcb_payoff_scale {
    double bytes, messages, transfers; /* size of the exchanged gradient, and its parts */
    bool fitted;       /* from the fitted lines; else measured, or scaled in proportion */
    bool extrapolated; /* messages are over twice, or under half, as large as any measured */
    /* Why the load is doubtful: "bytes", "encoding times" or "decoding times" if the fitted line is too far from the
     * measured values; else NULL. */
    const char *doubt;
    double miss; /* relative error of the worst line; NAN if `fitted` is false */
};
#define GCB_PAYOFF_BYTES_MISS 0.5
#define GCB_PAYOFF_TIMES_MISS 0.75 /* larger than for bytes: large messages leave the caches */

/* Computes the load of a case for the gradient of `model`. `scale` may be NULL. */
void gcb_payoff_load(struct gcb_load *out, struct gcb_payoff_scale *scale,
                     const struct gcb_payoff_case *c, const struct gcb_payoff_model *model);

/* Computes the throughputs of the stages as the FFT paper counts them. Returns false if the stages were not timed. */
bool gcb_payoff_stages(struct gcb_fft_stages *out, const struct gcb_payoff_case *c);

/* The loads of a method, of fp32 and of fp16 for the same gradient. */
struct gcb_payoff_loads {
    struct gcb_load method, fp32, fp16;
};

/* The comparison of a method with fp32 and fp16 at one link. */
struct gcb_payoff_verdict {
    struct gcb_payoff_times method, fp32, fp16;
    double speedup_fp32, speedup_fp16; /* cost of fp32 or fp16, divided by the method's cost */
    double least_ratio;                /* result of gcb_payoff_least_ratio for the method */
    struct gcb_payoff_range against_fp32[GCB_PAYOFF_RANGES], against_fp16[GCB_PAYOFF_RANGES];
    size_t count_fp32, count_fp16;
    bool some_workers; /* at this bandwidth the method pays with least to most workers: */
    unsigned least_workers, most_workers;
    const char *doubt; /* gcb_payoff_scale.doubt; if not NULL, the verdict is only "doubtful" */
    double miss;       /* gcb_payoff_scale.miss */
};
/* Compares the loads at a link. Leaves `doubt` and `miss` zero. */
void gcb_payoff_judge(struct gcb_payoff_verdict *out, const struct gcb_link *link,
                      const struct gcb_payoff_loads *loads);

/* One method, or a baseline, at one link. */
struct gcb_payoff_point {
    const struct gcb_payoff_case *c;     /* the method's case; NULL for a baseline */
    const struct gcb_payoff_case *group; /* equals c; for a baseline, any case of its group */
    const char *baseline;                /* "fp32" or "fp16"; NULL if c is set */
    double rel_l2;                       /* relative error: 0 for fp32; NAN if unknown */
    struct gcb_link link;
    struct gcb_payoff_scale scale;
    struct gcb_payoff_loads loads;
    struct gcb_payoff_verdict verdict;
};
/* Computes a point. The caller sets c, group and baseline; this function sets the other members. `fp16` is the group's
 * fp16 case, which gives the times of conversions to fp16. If it is NULL, these conversions take no time. */
void gcb_payoff_point(struct gcb_payoff_point *p, const struct gcb_payoff_case *fp16,
                      const struct gcb_link *link, const struct gcb_payoff_model *model);

/* Returns the bandwidth up to which the method pays. Returns 0 if it does not pay over slow links, INFINITY if it pays
 * at any bandwidth. */
double gcb_payoff_below(const struct gcb_payoff_range *ranges, size_t count);

/* Writes a bandwidth as "58 Gb/s" or "850 Mb/s" to `out` (at least 32 bytes). Returns out. */
char *gcb_payoff_bandwidth_text(char *out, double bandwidth);

/*
 * Writes the verdict in one line, without the method's name: that it is doubtful, or at which bandwidths the method
 * pays against fp32 and against fp16. With `here`, adds with how many workers the method pays at this link, or why it
 * does not. The text is cut to `size`. Returns out.
 */
char *gcb_payoff_words(char *out, size_t size, const struct gcb_payoff_verdict *v,
                       const struct gcb_link *link, bool here);

/*
 * Writes the verdict in at most GCB_PAYOFF_BRIEF characters. Without `here`: at which bandwidths the method pays and
 * beats fp16. With `here`: whether the method pays at this link, with how many workers, or why not. Parts without room
 * are left out.
 */
#define GCB_PAYOFF_BRIEF 62
char *gcb_payoff_brief(char *out, size_t size, const struct gcb_payoff_verdict *v,
                       const struct gcb_link *link, bool here);

#endif
