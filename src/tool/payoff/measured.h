#ifndef SRC_TOOL_PAYOFF_MEASURED_H
#define SRC_TOOL_PAYOFF_MEASURED_H

#include "src/tool/payoff/ways.h"
#include "src/tool/rows/results.h"
#include "src/tool/rows/row.h"

/*
 * Measured exchanges (rows `exchange` of gcbench-mpi) beside the model's times. The times of coding
 * and adding are those that the ranks measured, so only the network is predicted: from the number
 * of rounds, their bytes and the link.
 */
struct gcb_measured {
    char label[GCB_WAY_LABEL]; /* "qgz:bits=8 twoshot" */
    const json_t *row;         /* a reference of its own */
    const char *path;          /* of the rows; borrowed */
    size_t order;              /* of the exchanges that can be compared with it */
    bool baseline;             /* fp32, fp16 or bf16 by all-reduce */
    unsigned workers;
    double seconds; /* the median */
    double coding;  /* seconds of encoding, decoding and adding */
    double network; /* seconds on the network */

    /* ---- of gcb_measured_predict ---- */

    double predicted_network, predicted;
    const struct gcb_measured *bar; /* the measured fastest baseline of the group; NULL: none */
    double x, predicted_x;          /* times as fast as it; NAN: none */
};

struct gcb_measureds {
    struct gcb_measured *items;
    size_t count, cap;
};

/* Adds an `exchange` row, unless its result was wrong. GCB_E_CORRUPT: it lacks something, with
 * file and line. GCB_E_NOMEM. The row's path is kept. */
int gcb_measured_add(struct gcb_measureds *m, const struct gcb_results_row *row,
                     struct gcb_diag *diag);
/* Predicts all, and orders them by groups. `network` has everything but the number of workers. */
void gcb_measured_predict(struct gcb_measureds *m, const struct gcb_network *network);
void gcb_measured_fini(struct gcb_measureds *m); /* zeroed is fine */

/* A `payoff` row of the model `measured` (docs/rows.md). */
void gcb_measured_row(struct gcb_row *row, const struct gcb_measured *x,
                      const struct gcb_network *network);

#endif
