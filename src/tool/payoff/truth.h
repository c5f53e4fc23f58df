#ifndef SRC_TOOL_PAYOFF_TRUTH_H
#define SRC_TOOL_PAYOFF_TRUTH_H

#include <jansson.h>

#include "src/tool/base/strings.h"
#include "src/tool/payoff/payoff_verdict.h"
#include "src/tool/rows/results.h"
#include "src/tool/rows/row.h"

/*
 * Holds the model against measured exchanges (rows `exchange` of gcbench-mpi). The prediction is
 *
 *     encoding + sum + the model's time on the wire and for exchanging lengths
 *
 * Encoding and sum follow from the results of `bench`, if it ran the method, without a memory, on a gradient of the same
 * length and with as many threads. Otherwise they are what the ranks themselves measured, so that only the network is
 * predicted. The wire part follows from the number of rounds, their bytes and the link alone.
 */
struct gcb_truth {
    /* texts are kept in gcb_truths, so equal texts have equal pointers */
    const char *path, *file, *scope, *order_name, *device, *isa, *mpi, *method, *spec, *label;
    const char *collective, *algorithm;
    bool baseline; /* identity, fp16 or bf16 by all-reduce */
    uint64_t threads, workers, elements, messages, input_bytes;
    double gradient; /* bytes as fp32 */
    /* as measured; times are medians and ends of intervals (NAN: too few repeats).
     * gcb_truths_take_coding replaces `encode` and `sum`, and sets `add`: the additions of an
     * all-reduce, which ranks measure as a part of `wire` */
    double seconds[GCB_BOUNDS], encode[GCB_BOUNDS], sum[GCB_BOUNDS], add[GCB_BOUNDS], wire, sizes;
    struct gcb_truth_rounds {
        double count, bytes;
    } gather, scatter, reduce;
    double size_rounds;
    bool benched; /* encode and sum are those of `bench` */
    size_t order; /* among the rows */

    /* ---- of gcb_truths_judge ---- */

    size_t group; /* of exchanges that can be compared: the same gradients, ranks and settings */
    double predicted[GCB_BOUNDS], predicted_wire, predicted_sizes;
    size_t bar, predicted_bar; /* the fastest baselines; SIZE_MAX: the group has none */
    enum gcb_payoff_answer answer, predicted_answer; /* not for baselines */
};

struct gcb_truths {
    struct gcb_truth *items;
    size_t count, cap;
    struct gcb_strings strings;
};

/* Adds an `exchange` row; one with a wrong result is left out. GCB_E_CORRUPT, with file and line, if it lacks something. */
int gcb_truths_add(struct gcb_truths *t, const struct gcb_results_row *row, struct gcb_diag *diag);
void gcb_truths_fini(struct gcb_truths *t); /* zeroed is fine */

/* Keeps only exchanges of the methods that `specs` name ("name", or a whole spec or label), and the baselines. GCB_E_INVALID: a
 * spec names none. */
int gcb_truths_select(struct gcb_truths *t, const char *const *specs, size_t count,
                      struct gcb_diag *diag);

/* Takes the times of coding from the cases that measured them. GCB_E_NOMEM. */
int gcb_truths_take_coding(struct gcb_truths *t, const struct gcb_payoff_cases *cases,
                           struct gcb_diag *diag);

/* Predicts all exchanges, judges them, and orders them by groups. `link` has everything but the
 * number of workers. If its times include the additions of all-reduces, `add` becomes 0. */
void gcb_truths_judge(struct gcb_truths *t, const struct gcb_link *link);

/* The place after the last exchange of the group that begins at `begin`. After gcb_truths_judge. */
size_t gcb_truths_group_end(const struct gcb_truths *t, size_t begin);

/* Share of the measured time that the wire takes, with the exchange of lengths. */
double gcb_truth_share(const struct gcb_truth *x);

/* What all exchanges say together. */
struct gcb_truth_summary {
    size_t on_wire,
        near; /* the wire takes half of the time or more; of these, predicted within GCB_TRUTH_NEAR */
    size_t decided, agreed; /* both verdicts are decided; of these, they are equal */
    double least, most;     /* measured / predicted of those on the wire; NAN without any */
};
#define GCB_TRUTH_NEAR 0.25
struct gcb_truth_summary gcb_truths_sum_up(const struct gcb_truths *t);

/* A `payoff` row of the model `measured` (docs/rows.md). */
void gcb_truth_row(struct gcb_row *row, const struct gcb_truths *t, const struct gcb_truth *x,
                   const struct gcb_link *link);

#endif
