#ifndef SRC_TOOL_PAYOFF_CURVE_IMPORT_H
#define SRC_TOOL_PAYOFF_CURVE_IMPORT_H

#include "src/tool/payoff/curve.h"

/*
 * Makes a curve from the printed tables of other tools, one table in each file:
 *
 *  osu_latency           the time of a transfer
 *  osu_bw                bytes / bandwidth. osu_bw keeps many transfers in flight, so a small one appears too short: with
 *                        osu_latency, only its sizes beyond those of osu_latency count
 *  osu_allreduce,        the time of the collective, divided among the steps of the algorithm that the model takes for this
 *  osu_allgather,        size, so that the model gives the measured time again
 *  all_reduce_perf,
 *  all_gather_perf       (nccl-tests; the out-of-place columns)
 *
 * `workers` is the number of workers of the OSU collectives, whose tables do not say it; 0: not given.
 *
 * GCB_E_IO; GCB_E_INVALID: `workers` is needed. GCB_E_CORRUPT, with file and line: no such table, a table of another test, a row that
 * does not fit the table, or a log that ends in the middle. Lines before and after a table are skipped.
 */
int gcb_curve_import(struct gcb_curve *out, const char *const *paths, size_t count,
                     unsigned workers, struct gcb_diag *diag);

#endif
