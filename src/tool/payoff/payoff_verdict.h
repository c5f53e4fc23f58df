#ifndef SRC_TOOL_PAYOFF_PAYOFF_VERDICT_H
#define SRC_TOOL_PAYOFF_PAYOFF_VERDICT_H

#include "src/tool/payoff/payoff_load.h"

/*
 * Compares measured cases with the baselines, and says the verdict in words. A method pays if it costs less than the
 * cheapest of fp32, fp16 and bf16: for certain if this holds with the dear ends of its own intervals and the cheap ends
 * of theirs; perhaps if it holds the other way round. In between the verdict is undecided.
 */
enum gcb_payoff_answer { GCB_PAYOFF_NO, GCB_PAYOFF_UNDECIDED, GCB_PAYOFF_YES };

struct gcb_payoff_ranges {
    struct gcb_payoff_range items[GCB_PAYOFF_RANGES];
    size_t count;
};

struct gcb_payoff_verdict {
    struct gcb_payoff_times method[GCB_BOUNDS];
    struct gcb_payoff_times baselines[GCB_BASELINES]; /* with medians */
    enum gcb_baseline bar;                            /* the cheapest */
    /* the exchange by a collective that compresses sums again, with medians; its name is NULL if none is a tenth faster */
    struct gcb_payoff_times lossy;
    double lossy_speedup;               /* cost of the bar / cost of `lossy`; NAN without it */
    double speedups[GCB_BASELINES];     /* cost of a baseline / cost of the method */
    double least_speedup, most_speedup; /* ends of speedups[bar]; 0 and INFINITY: unknown */
    enum gcb_payoff_answer answer;
    double least_ratio; /* gcb_payoff_least_ratio with the times of one message */
    /* bandwidths at which the method pays: for certain, by the medians, and perhaps */
    struct gcb_payoff_ranges ranges[GCB_BOUNDS];
    double
        lossy_below; /* the bandwidth up to which `lossy` pays by the medians; 0: none, as in gcb_payoff_below */
    const char
        *lossy_there; /* its collective there; NULL: the method pays up to there without it too */
    /* at this bandwidth the method pays for certain with least to most workers; both 0: with no number */
    unsigned least_workers, most_workers;
    const char *doubt; /* gcb_payoff_scale.doubt; if not NULL, the verdict is only "doubtful" */
    double miss;       /* gcb_payoff_scale.miss */
};

/* Compares the loads at a link. Leaves `doubt` and `miss` zero. `known` may be NULL: a verdict for the same loads at another
 * bandwidth, whose ranges are copied. */
void gcb_payoff_judge(struct gcb_payoff_verdict *out, const struct gcb_link *link,
                      const struct gcb_payoff_loads *loads, const struct gcb_payoff_verdict *known);

/* One method, or a baseline, at one link. */
struct gcb_payoff_point {
    const struct gcb_payoff_case *c;     /* the method's case; NULL for a baseline */
    const struct gcb_payoff_case *group; /* equals c; for a baseline, any case of its group */
    enum gcb_baseline baseline;          /* if c is NULL */
    double rel_l2;                       /* relative error: 0 for fp32; NAN if unknown */
    struct gcb_link link;
    struct gcb_payoff_scale scale;
    struct gcb_payoff_loads loads;
    struct gcb_payoff_verdict verdict;
};
/* Computes a point. The caller sets c, group and baseline. `known` is as in gcb_payoff_judge. */
void gcb_payoff_point(struct gcb_payoff_point *p, const struct gcb_payoff_baselines *baselines,
                      const struct gcb_link *link, const struct gcb_payoff_model *model,
                      const struct gcb_payoff_verdict *known);

/* Returns the bandwidth up to which the method pays. Returns 0 if it does not pay over slow links, INFINITY if it pays
 * at any bandwidth. */
double gcb_payoff_below(const struct gcb_payoff_ranges *ranges);

/* Writes a bandwidth as "58 Gb/s" or "850 Mb/s" to `out` (at least 32 bytes). Returns out. */
char *gcb_payoff_bandwidth_text(char *out, double bandwidth);

/*
 * Write the verdict without the method's name, cut to `size` (GCB_PAYOFF_WORDS is always enough), and return out.
 * gcb_payoff_curve: at which bandwidths the method pays. gcb_payoff_here: whether it pays at this link, with how many
 * workers, or why not. Both end with a faster way that enlarges the error, if there is one. gcb_payoff_words: both
 * sentences, and how the messages travel.
 */
#define GCB_PAYOFF_WORDS 700
char *gcb_payoff_curve(char *out, size_t size, const struct gcb_payoff_verdict *v);
char *gcb_payoff_here(char *out, size_t size, const struct gcb_payoff_verdict *v,
                      const struct gcb_link *link);
char *gcb_payoff_words(char *out, size_t size, const struct gcb_payoff_verdict *v,
                       const struct gcb_link *link);

#endif
