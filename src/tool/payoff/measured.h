#ifndef SRC_TOOL_PAYOFF_MEASURED_H
#define SRC_TOOL_PAYOFF_MEASURED_H

#include "src/tool/payoff/ways.h"
#include "src/tool/rows/results.h"
#include "src/tool/rows/row.h"

/*
 * Measured exchanges (rows `exchange` of gcbench-mpi), to compare the model's times with them. The
 * times of coding and adding are those that the ranks measured. Only the time on the network is
 * predicted: from the number of rounds, their bytes and the link.
 */
struct gcb_measured {
    const json_t *row; /* owned reference */
    const char *path;  /* of the file with the row; borrowed */
    bool baseline;     /* fp32, fp16 or bf16 by all-reduce */
    unsigned workers;
    double seconds; /* median time of an exchange */
    double coding;  /* seconds of encoding, decoding and adding */
    double network; /* seconds on the network */

    /* set by gcb_measured_predict */

    char label[GCB_WAY_LABEL];           /* "qgz:bits=8 twoshot" */
    size_t group;                        /* exchanges of the same group can be compared */
    double predicted_network, predicted; /* seconds on the network, and of the whole exchange */
    const struct gcb_measured *bar;    /* the fastest measured baseline of the group; NULL: none */
    double speedup, predicted_speedup; /* how many times as fast as the bar; NAN: no bar */
};

struct gcb_measureds {
    struct gcb_measured *items;
    size_t count, cap;
};

/* Adds an `exchange` row. Skips a row that has only one worker, or whose `status` is not `ok`.
 * Keeps a reference to the row's JSON, and a pointer to its path.
 * GCB_E_CORRUPT, with file and line: an `ok` row lacks a figure that a prediction needs, or has an
 * impossible one. */
int gcb_measured_add(struct gcb_measureds *m, const struct gcb_results_row *row,
                     struct gcb_diag *diag);
/* Predicts the times of all exchanges, and sorts the exchanges by group. Call it after the last row
 * was added. The workers and nodes of `network` are ignored: each row has its own number of
 * workers, and each worker counts as a node. */
void gcb_measured_predict(struct gcb_measureds *m, const struct gcb_network *network);
void gcb_measured_fini(struct gcb_measureds *m); /* zeroed is fine */

/* Starts a `payoff` row of the model `measured` (docs/rows.md). The caller releases the row. */
void gcb_measured_row(struct gcb_row *row, const struct gcb_measured *x,
                      const struct gcb_network *network);

#endif
