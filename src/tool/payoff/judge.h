#ifndef SRC_TOOL_PAYOFF_JUDGE_H
#define SRC_TOOL_PAYOFF_JUDGE_H

#include "src/tool/payoff/ways.h"
#include "src/tool/rows/answer.h"
#include "src/tool/rows/row.h"

/* Computes for one network how long each way takes and what kind of error it has. Chooses the ways
 * to show and to recommend. */

/* What is exchanged, by which machines, and which errors count as small. */
struct gcb_setting {
    struct gcb_network network;
    double elements;    /* of the gradient */
    double bucket;      /* size of a transfer, in bytes of the gradient as fp32; above 0 */
    double compute;     /* seconds of computing in a step; NAN: unknown, so nothing overlaps */
    double inner_steps; /* steps of computing for each exchange; 1 or more */
    double cores;       /* processor cores that a worker has for coding, at most 1; 0: one */
    double host_copy;   /* bytes per second between device and host; 0: nothing is copied */
    /* Gradients are only reduced and scattered, and weights of 2 bytes are gathered twice
     * (ZeRO-3, FSDP). */
    bool sharded;
    /* The only baseline of a sharded training, by which gradients are reduced: "identity" or
     * "bf16". Otherwise not used. */
    const char *reduced;
    double exact, noise; /* as in struct gcb_answer */
};

/* A way with its times. */
struct gcb_judged {
    const struct gcb_way *way;
    enum gcb_error_kind kind; /* without a meaning for a baseline */
    /* item.error is the error of the mean of all workers. `gain` compares the exchange with the
     * fastest exchange of a baseline. `step` compares the training step with the shortest step of a
     * baseline, which may be another baseline. Without a baseline, `gain` is 0 and `step` is NAN;
     * `step` is also NAN if setting.compute is unknown. */
    struct gcb_answer_item item;
    struct gcb_exchange_times times;
    double limit; /* what `gain` would be if coding, copying and adding took no time */
    bool shown;   /* in the table, also without -v */
};

struct gcb_judgement {
    struct gcb_setting setting;
    /* one for each way that can be used, in the order of the table: baselines first; other ways by
     * kind, then by error */
    struct gcb_judged *items;
    size_t count;
    size_t bar;       /* index of the baseline with the fastest exchange; SIZE_MAX: none */
    double untouched; /* sharded: share of the bar's exchange that compression does not touch */
    struct gcb_answer_item *advised; /* copies of the `item` of each way, for `answer` */
    struct gcb_answer answer;        /* which ways are recommended: indices in `items` */
};
#define GCB_WAY_SHOWN 8 /* most ways that gcb_judge marks as shown, without baselines */

/* Judges all ways that have times and can be used in this setting. Keeps pointers to the ways,
 * and the pointers in *s. Release with gcb_judgement_fini. */
void gcb_judge(struct gcb_judgement *out, const struct gcb_ways *ways, const struct gcb_setting *s);
void gcb_judgement_fini(struct gcb_judgement *j); /* zeroed is fine */

/* Starts a `payoff` row of j->items[i] (docs/rows.md). `from` and `coding` say where errors and
 * times of coding come from. The caller releases the row. */
void gcb_payoff_row(struct gcb_row *row, const struct gcb_judgement *j, size_t i, const char *from,
                    const char *coding);

#endif
