#ifndef SRC_TOOL_EXCHANGE_LANES_H
#define SRC_TOOL_EXCHANGE_LANES_H

#include "src/lib/codec/method.h"
#include "src/lib/exchange/exchange.h"
#include "src/tool/exchange/load.h"
#include "src/tool/exchange/net.h"
#include "src/tool/measure/stats.h"
#include "src/tool/payoff/timed.h"
#include "src/tool/rows/sink.h"
#include "src/tool/run/rows.h"

/*
 * Measures real exchanges. Several methods exchange the same gradients, in turn, so that a busy
 * machine slows all of them alike. All functions are called by all ranks.
 *
 * The first exchange of each method is checked (check.h) and not timed. Then each repeat runs every
 * method twice: once as training would, for the time of the whole exchange, and once with a barrier
 * before each round, for the times of the phases. So one rank's waiting for another does not count
 * as transfer. Times are those of the slowest rank.
 */
enum gcb_time {
    GCB_TIME_ENCODE,
    GCB_TIME_SIZES,
    GCB_TIME_WIRE,
    GCB_TIME_SUM,
    GCB_TIME_CPU,   /* processor time of encoding and summing, on all threads */
    GCB_TIME_WHOLE, /* the whole exchange, without barriers */
    GCB_TIMES
};

#define GCB_ROUND_KINDS 3 /* enum gcb_round_kind */

/* What ranks send in some exchanges. */
struct gcb_traffic {
    uint64_t given; /* bytes in all rounds */
    /* GCB_ROUND_SCATTER: transfers of a rank to others */
    uint64_t rounds[GCB_ROUND_KINDS];
    uint64_t
        bytes[GCB_ROUND_KINDS]; /* on all links, if they travel in the best known way (local.h) */
    uint64_t sizes;             /* rounds before which lengths were exchanged */
};

/* A method that takes part, with one algorithm for all its rounds. */
struct gcb_lane {
    struct gcb_method method;
    enum gcb_net_algorithm algorithm;
    /* seconds that are added to each exchange, of encoding and of decoding and adding; 0 except
     * in a simulated cluster */
    double encode, sum;

    /* ---- results ---- */

    double *samples[GCB_TIMES]; /* of each repeat; one allocation */
    size_t repeats;
    bool exact;      /* the times are those of a simulation */
    unsigned rounds; /* the most that a message took in the first exchange */
    /* of all ranks: of the first exchange (later steps may have other rounds), and of all with
     * times of phases */
    struct gcb_traffic first, timed;
    bool verified;  /* the first update was compared with a serial one */
    uint64_t wrong; /* elements of updates that differ, also between ranks */
};

struct gcb_lanes_config {
    struct gcb_net *net;
    const struct gcb_load *load;
    const struct gcb_kernels *kernels;
    const struct gcb_queue *queue;
    uint64_t seed;
    enum gcb_fft_engine fft_engine;
    size_t repeats;
    double seconds; /* no repeat begins so long after the begin of the first repeat */
    bool serial;    /* compare with a serial exchange of all workers, which rank 0 runs */
    /* called on each rank after each repeat; may be NULL */
    void (*progress)(void *ctx, double done);
    void *ctx;
};

/* Runs the lanes. The caller sets the method and the algorithm of each lane and zeroes the rest.
 * Clear each lane with gcb_lane_clear, also on failure. */
int gcb_lanes_measure(const struct gcb_lanes_config *config, struct gcb_lane *lanes, size_t count,
                      struct gcb_diag *diag);
/* Releases the results; the method and the algorithm stay. */
void gcb_lane_clear(struct gcb_lane *lane);

/*
 * Sets the lane's times of coding, for a simulated cluster, where computing takes no time: those in
 * the rows of the file `path`, scaled to a gradient of so many elements (docs/payoff.md).
 * GCB_E_INVALID: the rows have no times of this codec with these parameters.
 */
int gcb_lane_take_times(struct gcb_lane *lane, const struct gcb_timed *rows, const char *path,
                        unsigned workers, double elements, struct gcb_diag *diag);

/* The statistics of a lane's repeats. Simulated times are exact: their interval is the median. */
struct gcb_stats gcb_lane_stats(const struct gcb_lane *lane, enum gcb_time time);

/* Row `exchange` (docs/rows.md). Release it with gcb_row_fini. */
void gcb_rows_exchange(struct gcb_row *row, const struct gcb_rows_setting *setting,
                       const struct gcb_net *net, const struct gcb_load *load,
                       const struct gcb_lane *lane, const char *file);

#endif
