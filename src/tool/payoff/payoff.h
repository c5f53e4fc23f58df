#ifndef SRC_TOOL_PAYOFF_PAYOFF_H
#define SRC_TOOL_PAYOFF_PAYOFF_H

#include <stdbool.h>
#include <stddef.h>

#include "src/lib/codec/method.h"
#include "src/tool/payoff/curve.h"

/*
 * The time of one exchange of a gradient between workers, from measured times of coding and an assumed network.
 * docs/payoff.md explains the model, its sources and its limits. Everything is in seconds, bytes, and bytes per second.
 */
enum gcb_topology {
    GCB_TOPOLOGY_BEST, /* the algorithm that takes the least time */
    GCB_TOPOLOGY_RING, /* only rings */
    GCB_TOPOLOGY_TREE, /* only trees, as RedSync assumes: "allgather" */
    GCB_TOPOLOGY_PS, /* a parameter server: each worker sends its messages to it and gets the sum back */
    GCB_TOPOLOGY_COUNT
};
/* "best", "ring", "allgather", "ps", NULL */
extern const char *const gcb_topology_names[];

struct gcb_link {
    enum gcb_topology topology;
    double bandwidth; /* of each node's link, in each direction */
    double latency;   /* time of one step without the time for its bytes */
    /* If not NULL, measured times replace the latency: a step takes what the curve says for its bytes. At another bandwidth than
     * the curve's own, the time for the bytes changes, and the rest stays. A load says which ends of the curve's intervals
     * count. Steps that were measured with their additions have no others. */
    const struct gcb_curve *curve;
    unsigned workers;  /* a multiple of per_node; more than one node */
    unsigned servers;  /* for GCB_TOPOLOGY_PS: servers that share the gradient; 1 or more */
    unsigned per_node; /* workers in a node, which share its link; 1 or more */
    double intra;      /* bandwidth of each worker inside a node; not used if per_node is 1 */
};

/*
 * One worker's part of an exchange with one method. The time of a step that the method does not have is 0. Times may be
 * INFINITY: unknown.
 */
struct gcb_load {
    enum gcb_bound
        bound; /* at which ends of the intervals the times are; those of a link's curve too */
    unsigned collectives; /* those that can carry the messages: GCB_COLLECTIVE_BITs */
    bool sizes;           /* lengths vary, so that workers exchange them first */
    double transfers;     /* number of transfers; each carries a bucket of messages */
    const double *shares; /* each transfer's share of the gradient; NULL: all are equal */
    double gradient;      /* bytes of the gradient as fp32 */
    double bytes;         /* bytes of all messages of one worker */
    double headers;       /* those of their headers; a message that is cut has one for each part */
    double encode;        /* to encode all messages of one worker */
    double decode;        /* to decode all messages of one worker */
    double sum, finish;   /* a sum of the messages of n workers takes n sum + finish */
    double add; /* to add one worker's values to another's in an all-reduce, or at a server */
    double add_gradient; /* to add a gradient as fp32 to another */
    double pass;         /* to read the gradient as fp32 once and write it */
    double averages;     /* passes that only weight the gradient or the sum */
    double copy;         /* to copy the gradient from a device, and the result back */
    double compute;      /* of the step that computes the gradient; NAN: unknown */
    double inner_steps;  /* steps of computing for each exchange; above 1 nothing overlaps */
};

/* The result of the model for one exchange. */
struct gcb_payoff_times {
    const char *collective,
        *algorithm; /* how the messages travel, such as "allgather" and "ring" */
    double encode, decode, add, average, copy; /* seconds of one worker */
    double adds;  /* number of messages that a worker adds up, or of gradients in an all-reduce */
    double steps; /* steps between nodes; each has one latency */
    double link_bytes; /* bytes through the busiest link between nodes, in each direction */
    double wire;       /* steps x latency + link_bytes / bandwidth */
    bool extrapolated; /* a step is smaller than any that was measured, and takes less time */
    double sizes;      /* the exchange of the messages' lengths */
    double inside;     /* sending inside nodes */
    double seconds;    /* the sum of all these, without overlap */
    double step;       /* computation and exchange with overlap; NAN without `compute` */
    double exposed;    /* step - compute; NAN without `compute` */
    double
        cost; /* for each step of computing: `exposed`, or `seconds` without `compute`: methods are compared by cost */
};
/* Finds the fastest way that the link's topology and the load allow. Returns false if the topology has none: then it takes
 * the fastest of all. */
bool gcb_payoff_exchange(struct gcb_payoff_times *out, const struct gcb_link *link,
                         const struct gcb_load *load);

/* Rounds of one kind, in which all workers exchange bytes with a collective. */
struct gcb_payoff_rounds {
    enum gcb_collective
        collective;        /* ALLGATHER; ALLREDUCE; TWOSHOT: only its first half, the all-to-all */
    const char *algorithm; /* "ring", "doubling", or NULL: the fastest */
    double count;
    double
        bytes; /* of all rounds, through one worker's link if they travel in the best known way */
};
/* Returns the time that the rounds take on the wire. If it includes the additions of an all-reduce,
 * because the link's times do, *adds becomes true (NULL: not wanted). */
double gcb_payoff_wire(const struct gcb_link *link, const struct gcb_payoff_rounds *rounds,
                       enum gcb_bound bound, bool *adds);
/* Returns the time to exchange the lengths of messages before `rounds` rounds. */
double gcb_payoff_sizes(const struct gcb_link *link, double rounds, enum gcb_bound bound);

/* Loads that a method has to beat: the fastest counts. */
struct gcb_rivals {
    const struct gcb_load *loads;
    size_t count;
};
/* Returns the least cost of the rivals, and stores which of them has it (may be NULL). */
double gcb_payoff_least(size_t *which, const struct gcb_link *link,
                        const struct gcb_rivals *rivals);

/* Bandwidths between `from` and `to`, without these ends. 0 and INFINITY: the range has no end on this side. */
struct gcb_payoff_range {
    double from, to;
};
#define GCB_PAYOFF_RANGES 4
#define GCB_PAYOFF_FASTEST 1e18 /* bytes per second */
/*
 * Finds the bandwidths at which `load` costs less than all rivals. Writes the ranges in rising order and returns their
 * number. Looks at bandwidths from 1 byte to GCB_PAYOFF_FASTEST in steps of a tenth, and finds the ends of ranges by
 * bisection. link->bandwidth is not read.
 */
size_t gcb_payoff_bandwidths(struct gcb_payoff_range out[GCB_PAYOFF_RANGES],
                             const struct gcb_link *link, const struct gcb_load *load,
                             const struct gcb_rivals *rivals);

#define GCB_PAYOFF_WORKERS 65536 /* the largest number of workers that is tried */
/*
 * Finds the first range of numbers of workers, from 2 nodes to GCB_PAYOFF_WORKERS workers, with which `load` costs less
 * than all rivals. Returns false if there is no such range. Tries every number of nodes up to 256, then steps of 2 %,
 * and finds the ends by bisection. link->workers is not read.
 */
bool gcb_payoff_workers(unsigned *least, unsigned *most, const struct gcb_link *link,
                        const struct gcb_load *load, const struct gcb_rivals *rivals);

#endif
