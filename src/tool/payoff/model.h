#ifndef SRC_TOOL_PAYOFF_MODEL_H
#define SRC_TOOL_PAYOFF_MODEL_H

#include <stdbool.h>

#include "src/lib/codec/codec.h"
#include "src/tool/payoff/curve.h"
#include "src/tool/replay/mean.h"

/*
 * The time of one exchange of a gradient between workers. docs/payoff.md explains the model, its
 * sources and its limits. Everything is in seconds, bytes, and bytes per second.
 */
struct gcb_network {
    double bandwidth; /* bandwidth of each node's link, in each direction */
    double latency;   /* time of one step without the time for its bytes */
    /* Measured times of a step, by its bytes; NULL: the time follows from bandwidth and latency. If
     * `bandwidth` is not the curve's own, only the time for the bytes changes. */
    const struct gcb_curve *curve;
    unsigned workers;  /* a multiple of per_node; more than one node */
    unsigned per_node; /* workers in a node, which share its link; 1 or more */
    double intra;      /* bandwidth of each worker inside a node; not used if per_node is 1 */
};

/* What one worker sends and computes in an exchange. */
struct gcb_exchange_load {
    enum gcb_collective collective;
    bool half;           /* only the first half: values or shares are reduced and scattered */
    double gathered;     /* other bytes that are gathered, with nothing to compute; 0: none */
    double bytes;        /* size of a worker's messages, or of its values in an all-reduce */
    unsigned reductions; /* rounds of an all-reduce; only the last one sends `bytes` */
    bool sizes;          /* lengths vary, so that workers exchange them first */
    /* For the whole gradient. n of gcb_cost is the number of nodes; only for code_share of a
     * hierarchical exchange it is the number of workers. */
    struct gcb_cost cost;
    double gradient;     /* bytes of the gradient as fp32 */
    double add_gradient; /* seconds to add one fp32 gradient to another */
    double copy;         /* seconds to copy the gradient from a device, and the result back */
    double transfers;    /* number of transfers; each carries a bucket of messages */
    double compute;      /* seconds of the step that computes the gradient; NAN: unknown */
    double inner_steps;  /* steps of computing for each exchange; above 1 nothing overlaps */
};

struct gcb_exchange_times {
    const char *algorithm;          /* how the bytes travel: "ring" */
    double coding, network, adding; /* seconds that each part takes for a worker */
    double gathered;                /* the part of `network` for load->gathered */
    /* bytes through the busiest link between nodes, in each direction, except load->gathered */
    double link_bytes;
    double inside_bytes; /* bytes that a worker sends inside its node, except load->gathered */
    double seconds;      /* coding + network + adding */
    /* seconds of a training step: load->compute, and 1 / load->inner_steps of an exchange. The two
     * overlap unless load->inner_steps is above 1. NAN if load->compute is unknown. */
    double step;
    double cost; /* seconds that the exchange adds to a training step; the least is the best */
};

/* Computes the times with the algorithm of the collective that has the least `cost`. If the model
 * has no algorithm for the collective, or none with a first half for load->half, `algorithm` is
 * NULL, `seconds` and `cost` are infinite, and the other members are 0. */
void gcb_exchange_model(struct gcb_exchange_times *out, const struct gcb_network *network,
                        const struct gcb_exchange_load *load);

/* Rounds of one kind, in which all workers exchange bytes. */
struct gcb_wire_rounds {
    /* the kind: ALLGATHER or ALLREDUCE; TWOSHOT for the first half of a two-shot, an all-to-all;
     * RING for one step of a ring's first half, in which each worker sends to the next */
    enum gcb_collective collective;
    /* "ring" or "doubling"; NULL: the fastest. Not used by TWOSHOT and RING. */
    const char *algorithm;
    double count; /* number of rounds */
    double bytes; /* of all rounds over a worker's link, if sent in the best known way */
};
/* Returns the seconds that the rounds take on the wire between network->workers workers, each with
 * a link of its own; 0 without rounds. Includes the exchange of lengths only for RING. Returns
 * INFINITY if no algorithm of an ALLGATHER or ALLREDUCE has the name. */
double gcb_wire_model(const struct gcb_network *network, const struct gcb_wire_rounds *rounds);
/* Returns the seconds to exchange the lengths of messages before `rounds` rounds. */
double gcb_sizes_model(const struct gcb_network *network, double rounds);

#endif
