#ifndef SRC_TOOL_PAYOFF_JUDGE_H
#define SRC_TOOL_PAYOFF_JUDGE_H

#include "src/tool/payoff/ways.h"
#include "src/tool/rows/answer.h"
#include "src/tool/rows/row.h"

/* Computes for one network how long each way takes and what kind of error it has, and chooses
 * those to show and to recommend. */

/* What is exchanged, by what machine, and what counts as small. */
struct gcb_setting {
    struct gcb_network network;
    double elements;    /* of the gradient */
    double bucket;      /* bytes of the gradient as fp32 in one transfer, above 0 */
    double compute;     /* seconds to compute the gradient; NAN: no overlap with the exchange */
    double inner_steps; /* steps of computing for each exchange; 1 or more */
    double cores;       /* of each worker for coding, at most 1; 0: one */
    double host_copy;   /* bytes per second between device and host; 0: nothing is copied */
    /* Gradients are only reduced and scattered, and weights of 2 bytes are gathered twice
     * (ZeRO-3, FSDP). */
    bool sharded;
    const char *reduced; /* the baseline by which gradients are reduced: "identity" or "bf16" */
    double exact, noise; /* as in struct gcb_answer */
};
struct gcb_judged {
    const struct gcb_way *way;
    enum gcb_error_kind kind; /* not of a baseline */
    /* its error among so many workers, and how many times as fast as the fastest baseline it is: by
     * exchange (`gain`), and by a whole step (NAN without `compute`) */
    struct gcb_answer_item item;
    struct gcb_exchange_times times;
    double limit; /* how many times as fast with free coding */
    bool shown;   /* in the table */
};

struct gcb_judgement {
    struct gcb_setting setting;
    /* one for each way, in the order of the table: baselines first, then kinds, then errors */
    struct gcb_judged *items;
    size_t count;
    size_t bar;       /* the fastest baseline; SIZE_MAX: none */
    double untouched; /* sharded: share of the bar's exchange that compression does not touch */
    struct gcb_answer_item *advised; /* the `item` of each */
    struct gcb_answer answer;        /* which ways are advised, by their place in `items` */
};
#define GCB_WAY_SHOWN 8 /* lines of a table, besides the baseline */

/* Judges all ways that have times; the others are left out. GCB_E_NOMEM. */
int gcb_judge(struct gcb_judgement *out, const struct gcb_ways *ways, const struct gcb_setting *s,
              struct gcb_diag *diag);
void gcb_judgement_fini(struct gcb_judgement *j); /* zeroed is fine */

/* A `payoff` row of a way (docs/rows.md). `from`, `coding`: where its errors and times come
 * from. */
void gcb_payoff_row(struct gcb_row *row, const struct gcb_judgement *j, size_t i, const char *from,
                    const char *coding);

#endif
