#ifndef SRC_TOOL_EXCHANGE_LANES_H
#define SRC_TOOL_EXCHANGE_LANES_H

#include "src/lib/codec/method.h"
#include "src/lib/exchange/exchange.h"
#include "src/tool/exchange/net.h"
#include "src/tool/measure/stats.h"
#include "src/tool/payoff/timed.h"
#include "src/tool/replay/replay_plan.h"
#include "src/tool/rows/sink.h"
#include "src/tool/run/rows.h"

/*
 * The gradients that workers exchange: those of the first step of a source. Worker w takes the
 * gradients of worker w modulo the number of workers in the source. If the gradients are synthetic,
 * each worker has gradients of its own. All workers have messages of the same names, sizes and
 * types.
 */
struct gcb_load {
    struct gcb_source *source;                    /* borrowed */
    const struct gcb_layout *layout;              /* borrowed */
    const struct gcb_source_synthetic *synthetic; /* what `source` makes; NULL: it reads files */
    uint64_t seed; /* of synthetic gradients: those of worker w have seed + w */
    /* set by gcb_load_init */
    struct gcb_replay_plan plan;    /* of the first step */
    uint64_t elements, input_bytes; /* of all messages of a worker */
};

/* Sets `plan`, `elements` and `input_bytes` from the other members. Returns 0 or GCB_E_NOMEM.
 * GCB_E_INVALID: the workers of the first step have different messages. Release with gcb_load_fini,
 * also after a failure. */
int gcb_load_init(struct gcb_load *load, struct gcb_diag *diag);
void gcb_load_fini(struct gcb_load *load); /* a zeroed struct is fine */

/* Returns a hash of the messages' names, sizes and types, of which messages are sent dense, and of
 * the number of workers in the source. Ranks that exchange with each other must have the same
 * hash. */
uint64_t gcb_load_hash(const struct gcb_load *load);

/*
 * Measures real exchanges. Several methods exchange the same gradients in turn, so that a busy
 * machine slows all of them. All ranks call gcb_lanes_measure; the other functions are local.
 *
 * The first exchange of each method is not timed, and with config->serial it is checked (check.h).
 * After each exchange the updates of all ranks are compared. Then each repeat runs every method
 * twice. The first run is as in training, for the time of the whole exchange. The second run has a
 * barrier before each round, for the times of the phases; the barrier keeps the time in which ranks
 * wait for each other out of the time of transfers.
 */

/* The times of a repeat, each of the slowest rank. */
enum gcb_time {
    GCB_TIME_ENCODE,
    GCB_TIME_SIZES, /* exchanging the lengths of what ranks send */
    GCB_TIME_WIRE,  /* moving the bytes of the rounds */
    GCB_TIME_SUM,   /* decoding what arrives, and adding it */
    GCB_TIME_CPU,   /* processor time of encoding and summing, on all threads */
    GCB_TIME_WHOLE, /* the whole exchange, without barriers */
    GCB_TIMES
};

#define GCB_ROUND_KINDS 4 /* number of items of enum gcb_round_kind */

/* What ranks sent in one or more exchanges. */
struct gcb_traffic {
    uint64_t given; /* `bytes` of struct gcb_round, summed over rounds and ranks */
    /* rounds of each kind, of all ranks; of GCB_ROUND_SCATTER: transfers of at least a byte to
     * another rank */
    uint64_t rounds[GCB_ROUND_KINDS];
    /* bytes on all links in rounds of each kind, if sent by the best known algorithm (local.h) */
    uint64_t bytes[GCB_ROUND_KINDS];
    /* rounds before which a rank exchanged lengths; not counting shifts, which always do that */
    uint64_t sizes;
};

/* A method that takes part, with one algorithm for all its rounds. */
struct gcb_lane {
    struct gcb_method method;
    enum gcb_net_algorithm algorithm;
    /* In a simulated cluster, where computing takes no time: seconds of each exchange for encoding,
     * and for decoding and adding. Otherwise 0. */
    double encode, sum;

    /* set by gcb_lanes_measure */

    double *samples[GCB_TIMES]; /* seconds of each repeat; one allocation for all */
    size_t repeats;
    bool exact;      /* the times are those of a simulation */
    unsigned rounds; /* most rounds of a message in the first exchange */
    /* of all ranks: in the first exchange, and in all exchanges with barriers. Later steps may have
     * other rounds than the first. */
    struct gcb_traffic first, timed;
    bool verified;  /* the first update was compared with that of a serial exchange */
    uint64_t wrong; /* elements that differed from the serial update, or between ranks */
};

struct gcb_lanes_config {
    struct gcb_net *net;
    const struct gcb_load *load;
    struct gcb_compute compute; /* `device` must be NULL */
    size_t repeats;             /* most repeats; the first always runs */
    double seconds; /* no repeat begins once this time has passed since the first began */
    bool serial;    /* compare with a serial exchange of all workers, which rank 0 runs */
    /* called on each rank after each repeat with the share that is done; not NULL */
    void (*progress)(void *ctx, double done);
    void *ctx;
};

/* Runs the lanes. The caller sets the method and the algorithm of each lane (and `encode` and
 * `sum`), and zeroes the rest. Clear each lane with gcb_lane_clear, also after a failure. If a rank
 * fails to prepare, or before the first round of a message's first exchange, or in a serial
 * exchange, all ranks return its error. Any other error ends all ranks (gcb_net_abort). */
int gcb_lanes_measure(const struct gcb_lanes_config *config, struct gcb_lane *lanes, size_t count,
                      struct gcb_diag *diag);
/* Releases the results; the method and the algorithm stay. `encode` and `sum` become 0. */
void gcb_lane_clear(struct gcb_lane *lane);

/*
 * Sets `encode` and `sum` of a lane for a simulated cluster of `workers` workers. The times are
 * those in `rows`, which were read from the file `path`, scaled to a gradient of `elements`
 * elements (docs/payoff.md). Returns 0, or GCB_E_INVALID if the rows have no times of this method
 * with these parameters.
 */
int gcb_lane_take_times(struct gcb_lane *lane, const struct gcb_timed *rows, const char *path,
                        unsigned workers, double elements, struct gcb_diag *diag);

/* Returns the statistics of `time` over a lane's repeats, in seconds. Simulated times are exact, so
 * both ends of their interval are the median. */
struct gcb_stats gcb_lane_stats(const struct gcb_lane *lane, enum gcb_time time);

/* Starts a row `exchange` (docs/rows.md). `file`: the input. The caller releases the row. */
void gcb_rows_exchange(struct gcb_row *row, const struct gcb_rows_setting *setting,
                       const struct gcb_net *net, const struct gcb_load *load,
                       const struct gcb_lane *lane, const char *file);

#endif
