#ifndef SRC_TOOL_PAYOFF_PAYOFF_VERDICT_H
#define SRC_TOOL_PAYOFF_PAYOFF_VERDICT_H

#include "src/tool/payoff/payoff.h"

/* A method, fp32 and fp16, of the same gradient. */
struct gcb_payoff_contest {
    struct gcb_load method, fp32, fp16;
};

/* What comes of it at one link. */
struct gcb_payoff_verdict {
    struct gcb_exchange method, fp32, fp16;
    double speedup_fp32, speedup_fp16; /* their cost over the method's */
    double
        least_ratio; /* gcb_payoff_least_ratio of encode and decode; INFINITY: no ratio is enough */
    struct gcb_payoff_range against_fp32[GCB_PAYOFF_RANGES], against_fp16[GCB_PAYOFF_RANGES];
    size_t count_fp32, count_fp16;
    bool some_workers; /* at this bandwidth it pays for some number of workers: */
    unsigned least_workers, most_workers;
    const char
        *doubt; /* what the figures rest on and nobody knows: "bytes"; NULL: they may be believed */
    double off; /* by what share that missed what was measured */
};
/* Without `doubt`, which is the caller's to say. */
void gcb_payoff_judge(struct gcb_payoff_verdict *out, const struct gcb_link *link,
                      const struct gcb_payoff_contest *contest);

/* The bandwidth below which it pays, however slow the link is; 0 where a slower one does not pay, INFINITY where any
 * does. */
double gcb_payoff_below(const struct gcb_payoff_range *ranges, size_t count);

/* "58 Gb/s", "850 Mb/s". Returns out, of at least 32 bytes. */
char *gcb_payoff_bandwidth_text(char *out, double bandwidth);

/*
 * One line of plain words, without the method's name: that it is in doubt, or at which bandwidths it pays, against fp16 too, and with `here` what holds
 * at this link: the numbers of workers, or why it does not pay. Returns out, cut to size.
 */
char *gcb_payoff_words(char *out, size_t size, const struct gcb_payoff_verdict *v,
                       const struct gcb_link *link, bool here);

/*
 * The same in at most GCB_PAYOFF_BRIEF letters. Without `here`: at which bandwidths it pays and beats fp16. With it: whether it pays at
 * this link, with how many workers, or why it does not. A part that has no room is left out.
 */
#define GCB_PAYOFF_BRIEF 54
char *gcb_payoff_brief(char *out, size_t size, const struct gcb_payoff_verdict *v,
                       const struct gcb_link *link, bool here);

#endif
