#ifndef SRC_TOOL_PAYOFF_IMPORT_H
#define SRC_TOOL_PAYOFF_IMPORT_H

#include "src/tool/payoff/curve.h"

/*
 * Makes a curve from what other tools measured (src/tool/payoff/net_log.h):
 *
 *  osu_latency       the time of a transfer
 *  osu_bw            bytes / bandwidth. osu_bw keeps many transfers in flight, so small transfers
 *                    appear too short. If there is osu_latency too, osu_bw gives only larger sizes
 *  all-reduces,      the time of the collective, divided among the steps of the algorithm that the
 *  all-gathers       model takes for this size, so that the model gives the measured time again
 *  reduce-scatters   half of an all-reduce by halving or in a ring; left out if there is an
 *                    all-reduce
 *
 * Below the smallest size the times are extrapolated: they fall with the size to the least latency
 * that the smallest sizes support, which may be 0.
 *
 * `paths` has at least one file. `workers` is the number of workers if the log of a collective does
 * not say it; 0: not given. Errors are those of gcb_net_log_read, GCB_E_NOMEM, and GCB_E_CORRUPT if
 * the files do not fit together.
 */
int gcb_curve_import(struct gcb_curve *out, const char *const *paths, size_t count,
                     unsigned workers, struct gcb_diag *diag);

#endif
