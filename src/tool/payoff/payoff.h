#ifndef SRC_TOOL_PAYOFF_PAYOFF_H
#define SRC_TOOL_PAYOFF_PAYOFF_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Will a compressor pay? What one exchange of a gradient between workers takes, from times of coding that were
 * measured and a link that is assumed. Pure arithmetic; docs/payoff.md has the model, its sources and what it leaves
 * out. Seconds, bytes, and bytes per second throughout.
 */
enum gcb_collective {
    GCB_COLLECTIVE_RING, /* sums by ring allreduce, other messages by ring allgather */
    GCB_COLLECTIVE_ALLGATHER, /* Rabenseifner's allreduce, allgather by recursive doubling: RedSync's pair */
    GCB_COLLECTIVE_PS, /* a parameter server: messages there, a message back */
    GCB_COLLECTIVE_COUNT
};
/* "ring", "allgather", "ps", NULL */
extern const char *const gcb_collective_names[];

/* What messages travel over. */
struct gcb_link {
    enum gcb_collective collective;
    double bandwidth; /* bytes per second of each node's link, each way */
    double latency;   /* seconds of one step, whatever it carries */
    unsigned workers; /* 2 or more */
    unsigned servers; /* GCB_COLLECTIVE_PS: that share the gradient; 1 or more */
};

/*
 * One worker's part of an exchange under one method. Zero seconds where a method has no such work. `sums`: messages can be
 * added up without decoding them (GCB_CAP_LINEAR), so that they travel as an allreduce.
 */
struct gcb_load {
    bool sums;
    double transfers; /* that its messages travel in: a bucket of them at a time */
    double bytes;     /* of one worker's messages */
    double encode;    /* seconds, of all of them */
    double decode;    /* of all of one worker's */
    double add;       /* of adding one worker's decoded gradient, fp32, to another */
    double compute;   /* of the step whose gradient this is; NAN: nothing is overlapped */
};

/* An exchange, term by term. */
struct gcb_exchange {
    double encodes, decodes, adds; /* how often a load's times count */
    double encode, decode, add;    /* seconds: those times */
    double steps;                  /* of latency, of all transfers */
    double link_bytes;             /* through the busiest link, each way */
    double wire;                   /* steps x latency + link_bytes / bandwidth */
    double seconds;                /* encode + wire + decode + add, nothing overlapped */
    double step;                   /* computation and exchange, overlapped; NAN without `compute` */
    double exposed;                /* step - compute: what the exchange costs; NAN without */
    double cost;                   /* exposed, or seconds: what methods are compared by */
};
void gcb_payoff_exchange(struct gcb_exchange *out, const struct gcb_link *link,
                         const struct gcb_load *load);

/* Bandwidths from `from` (excluded; 0: however slow) to `to` (excluded; INFINITY: however fast). */
struct gcb_payoff_range {
    double from, to;
};
#define GCB_PAYOFF_RANGES 4
/*
 * At which bandwidths does `load` cost less than `other`? Writes ranges in rising order and returns how many. The cost is a
 * line in 1 / bandwidth, or with `compute` the higher of two, so the ends are exact crossings. link->bandwidth is
 * not read.
 */
size_t gcb_payoff_bandwidths(struct gcb_payoff_range out[GCB_PAYOFF_RANGES],
                             const struct gcb_link *link, const struct gcb_load *load,
                             const struct gcb_load *other);

#define GCB_PAYOFF_WORKERS 65536 /* as far as is looked */
/*
 * For how many workers does it cost less? The first run of counts from 2 up to GCB_PAYOFF_WORKERS; false: for none. Counts
 * are tried one by one up to 1024, then in steps of a hundredth, the ends found by bisection. link->workers is not read.
 */
bool gcb_payoff_workers(unsigned *least, unsigned *most, const struct gcb_link *link,
                        const struct gcb_load *load, const struct gcb_load *other);

/*
 * The FFT paper's condition (section on costs; papers' equation k > 1 / (1 - 2 Tcomm (...))), for any coding time:
 * the compression ratio above which sending M bytes over a link takes longer than coding them and sending the rest.
 * `coding` is seconds of encode and decode together per byte of the gradient. INFINITY: no ratio is enough.
 */
double gcb_payoff_least_ratio(double coding, double bandwidth);

#endif
