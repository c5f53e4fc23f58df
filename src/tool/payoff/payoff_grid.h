#ifndef SRC_TOOL_PAYOFF_PAYOFF_GRID_H
#define SRC_TOOL_PAYOFF_PAYOFF_GRID_H

#include <stddef.h>

#include "src/lib/base/diag.h"

/* The values that users want results for: bandwidths in bytes per second, or numbers of workers. */
#define GCB_PAYOFF_GRID 256
struct gcb_payoff_grid {
    double values[GCB_PAYOFF_GRID]; /* the values, in the order in which they were given */
    size_t count;
};

/*
 * Appends one bandwidth ("10Gb"), a list ("1Gb,10Gb,1.25GB") or a range ("1Gb..100Gb": 1, 2, 4, ..., 64 and
 * 100). Returns GCB_E_INVALID for text that is no bandwidth, too many values, or a falling range.
 */
int gcb_payoff_grid_bandwidths(struct gcb_payoff_grid *g, const char *text, struct gcb_diag *diag);

/* Appends numbers of workers, such as "8", "8,16,128" or "2..128" (2, 4, 8, ..., 128): whole numbers from 2 to
 * GCB_NETWORK_WORKERS. */
int gcb_payoff_grid_workers(struct gcb_payoff_grid *g, const char *text, struct gcb_diag *diag);

#endif
