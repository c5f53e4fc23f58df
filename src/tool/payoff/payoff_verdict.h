#ifndef SRC_TOOL_PAYOFF_PAYOFF_VERDICT_H
#define SRC_TOOL_PAYOFF_PAYOFF_VERDICT_H

#include "src/tool/payoff/payoff.h"
#include "src/tool/payoff/payoff_cases.h"

/* From measured cases to verdicts: the load of a case, its comparison with fp32 and fp16, and that in words. */

/* The gradient that is exchanged. */
struct gcb_payoff_model {
    double bytes;    /* of the gradient as fp32; 0: as in the results */
    double messages; /* number of messages the gradient is split into; 0: as in the results */
    double bucket;   /* bytes of the gradient in one transfer, above 0 */
    double compute;  /* seconds; NAN: no overlap */
};

/* How a load follows from what was measured. */
struct gcb_payoff_scale {
    double bytes, messages, transfers; /* of the gradient that is exchanged */
    bool fitted;       /* by the fitted lines; else as measured, or scaled in proportion */
    bool extrapolated; /* the messages have another size than any that was measured */
    /* "bytes", "encoding times" or "decoding times", if its line misses the measured values by too much; else NULL */
    const char *doubt;
    double miss; /* the share by which the worst line misses them; NAN if not fitted */
};
#define GCB_PAYOFF_BYTES_MISS 0.5
#define GCB_PAYOFF_TIMES_MISS 0.75 /* more, because large messages leave the caches */

/* `scale` may be NULL. */
void gcb_payoff_load(struct gcb_load *out, struct gcb_payoff_scale *scale,
                     const struct gcb_payoff_case *c, const struct gcb_payoff_model *model);

/* Throughputs of the stages as the FFT paper counts them; false if the stages were not timed. */
bool gcb_payoff_stages(struct gcb_fft_stages *out, const struct gcb_payoff_case *c);

/* The loads of a method, of fp32 and of fp16 for the same gradient. */
struct gcb_payoff_loads {
    struct gcb_load method, fp32, fp16;
};

/* Their comparison at one link. */
struct gcb_payoff_verdict {
    struct gcb_exchange method, fp32, fp16;
    double speedup_fp32, speedup_fp16; /* their cost over the method's */
    double least_ratio;                /* gcb_payoff_least_ratio of encode and decode */
    struct gcb_payoff_range against_fp32[GCB_PAYOFF_RANGES], against_fp16[GCB_PAYOFF_RANGES];
    size_t count_fp32, count_fp16;
    bool some_workers; /* at this bandwidth it pays for these numbers of workers: */
    unsigned least_workers, most_workers;
    const char *doubt; /* gcb_payoff_scale.doubt: there is no verdict; NULL: there is */
    double miss;       /* gcb_payoff_scale.miss */
};
/* Does not set `doubt` and `miss`. */
void gcb_payoff_judge(struct gcb_payoff_verdict *out, const struct gcb_link *link,
                      const struct gcb_payoff_loads *loads);

/* One method, or a baseline, at one link. */
struct gcb_payoff_point {
    const struct gcb_payoff_case *c;     /* NULL: a baseline */
    const struct gcb_payoff_case *group; /* the same case; for a baseline, any case of the group */
    const char *baseline;                /* "fp32" or "fp16"; NULL if c is set */
    double rel_l2;                       /* 0 for fp32; NAN: unknown */
    struct gcb_link link;
    struct gcb_payoff_scale scale;
    struct gcb_payoff_loads loads;
    struct gcb_payoff_verdict verdict;
};
/* The caller sets c, group and baseline; this sets the rest. `fp16`: the group's fp16 case, for the times of its conversions;
 * NULL: they are free. */
void gcb_payoff_point(struct gcb_payoff_point *p, const struct gcb_payoff_case *fp16,
                      const struct gcb_link *link, const struct gcb_payoff_model *model);

/* The bandwidth up to which it pays; 0 if it does not pay over slow links; INFINITY if it pays at any bandwidth. */
double gcb_payoff_below(const struct gcb_payoff_range *ranges, size_t count);

/* "58 Gb/s", "850 Mb/s". Returns out, of at least 32 bytes. */
char *gcb_payoff_bandwidth_text(char *out, double bandwidth);

/*
 * The verdict in one line, without the method's name: in doubt, or at which bandwidths it pays, against fp16 too. With `here`
 * also for which numbers of workers it pays at this link, or why it does not. Returns out, cut to size.
 */
char *gcb_payoff_words(char *out, size_t size, const struct gcb_payoff_verdict *v,
                       const struct gcb_link *link, bool here);

/*
 * The same in at most GCB_PAYOFF_BRIEF characters. Without `here`: at which bandwidths it pays and beats fp16. With it: whether
 * it pays at this link, with how many workers, or why not. What has no room is left out.
 */
#define GCB_PAYOFF_BRIEF 62
char *gcb_payoff_brief(char *out, size_t size, const struct gcb_payoff_verdict *v,
                       const struct gcb_link *link, bool here);

#endif
