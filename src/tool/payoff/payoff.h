#ifndef SRC_TOOL_PAYOFF_PAYOFF_H
#define SRC_TOOL_PAYOFF_PAYOFF_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Does a compressor pay? These functions compute the time of one exchange of a gradient between workers, from measured
 * times of coding and an assumed link. docs/payoff.md explains the model, its sources and its limits. Everything is in
 * seconds, bytes, and bytes per second.
 */
enum gcb_topology {
    /* Ring allreduce for messages that can be summed; ring allgather for other messages. */
    GCB_TOPOLOGY_RING,
    /* Rabenseifner's allreduce for messages that can be summed; allgather by recursive doubling for other messages.
     * RedSync assumes both. */
    GCB_TOPOLOGY_ALLGATHER,
    /* A parameter server: each worker sends its messages to the server and gets the sum back. */
    GCB_TOPOLOGY_PS,
    GCB_TOPOLOGY_COUNT
};
/* "ring", "allgather", "ps", NULL */
extern const char *const gcb_topology_names[];

struct gcb_link {
    enum gcb_topology topology;
    double bandwidth; /* bandwidth of each node's link, in each direction */
    double latency;   /* time of one step without the time for its bytes */
    unsigned workers; /* number of workers, 2 or more */
    unsigned servers; /* for GCB_TOPOLOGY_PS: servers that share the gradient; 1 or more */
};

/* One worker's part of an exchange with one method. The time of a step that the method does not have is 0. */
struct gcb_load {
    bool sums;        /* an allreduce can sum the messages without decoding (GCB_CAP_LINEAR) */
    double transfers; /* number of transfers; each carries a bucket of messages */
    double bytes;     /* bytes of all messages of one worker */
    double encode;    /* seconds to encode all messages of one worker */
    double decode;    /* seconds to decode all messages of one worker */
    double add;       /* seconds to add a worker's gradient, undecoded if `sums`, else as fp32 */
    double compute;   /* seconds of the step that computes the gradient; NAN: no overlap */
};

/* The result of the model for one exchange. */
struct gcb_payoff_times {
    double encodes, decodes, adds; /* how often one worker's messages are encoded, decoded, added */
    double encode, decode, add;    /* seconds: these factors times the times in the load */
    double steps;                  /* number of steps in all transfers; each has one latency */
    double link_bytes;             /* bytes through the busiest link, in each direction */
    double wire;                   /* steps x latency + link_bytes / bandwidth */
    double seconds;                /* encode + wire + decode + add, without overlap */
    double step;    /* computation and exchange with overlap; NAN without `compute` */
    double exposed; /* step - compute; NAN without `compute` */
    double cost;    /* `exposed`, or `seconds` without `compute`: methods are compared by cost */
};
void gcb_payoff_exchange(struct gcb_payoff_times *out, const struct gcb_link *link,
                         const struct gcb_load *load);

/*
 * Bandwidths between `from` and `to`, without these ends. 0 and INFINITY mean that the range has no end on this side.
 */
struct gcb_payoff_range {
    double from, to;
};
#define GCB_PAYOFF_RANGES 4
/*
 * Finds the bandwidths at which `load` costs less than `other`. Writes the ranges in rising order and returns their
 * number. The cost is a line in 1 / bandwidth (with `compute` the higher of two lines), so the ends of the ranges are
 * exact. link->bandwidth is not read.
 */
size_t gcb_payoff_bandwidths(struct gcb_payoff_range out[GCB_PAYOFF_RANGES],
                             const struct gcb_link *link, const struct gcb_load *load,
                             const struct gcb_load *other);

#define GCB_PAYOFF_WORKERS 65536 /* the largest number of workers that is tried */
/*
 * Finds the first range of numbers of workers, from 2 to GCB_PAYOFF_WORKERS, with which `load` costs less than `other`.
 * Returns false if there is no such range. Tries every number up to 1024, then steps of 1 %, and finds the ends by
 * bisection. link->workers is not read.
 */
bool gcb_payoff_workers(unsigned *least, unsigned *most, const struct gcb_link *link,
                        const struct gcb_load *load, const struct gcb_load *other);

/*
 * Returns the compression ratio above which compressing a gradient and sending the message is faster than sending the
 * gradient (the condition in the FFT paper's section on costs, for any coding time). `coding` is the seconds to encode
 * and decode one byte of the gradient. INFINITY: no ratio is high enough.
 */
double gcb_payoff_least_ratio(double coding, double bandwidth);

/*
 * The cost models of two papers, as printed, for numbers that the caller gives.
 *
 * Wang et al., FFT-based gradient sparsification (HPDC 2020), section on costs. The throughputs are in bytes of the
 * gradient per second: Tf for the transform, Ts for selection, Tm for each of four passes that change precision or
 * compare, Tp for packing.
 */
struct gcb_fft_stages {
    double transform, select, quantise, index; /* Tf, Ts, Tm, Tp */
};
/*
 * Returns the compression ratio above which compression pays: 1 / (1 - 2 Tcomm cost). Tcomm is the bandwidth, and cost
 * = 4/Tm + 1/Tf + 1/Tp + 1/Ts is the seconds for each byte in the sender, and again in the receiver. INFINITY: no
 * ratio pays.
 */
double gcb_fft_stages_least_ratio(const struct gcb_fft_stages *s, double bandwidth);
/* Returns the bandwidth from which no ratio pays: 1 / (2 cost). */
double gcb_fft_stages_break_even(const struct gcb_fft_stages *s);

/*
 * Fang et al., RedSync (JPDC 133, 2019), section on the cost of communication. p nodes exchange M bytes each. T_sparse
 * is for sparse messages of density D with allgather by recursive doubling, T_dense for dense messages with
 * Rabenseifner's allreduce.
 *   T_sparse = T_select + lg(p) alpha + (p - 1) M D words beta + p gamma1
 *   T_dense  = 2 lg(p) alpha + 2 (p - 1)/p M beta + (p - 1)/p gamma2
 * A kept element takes `words` of 4 bytes: 2 for index and value, or 1 if all share one value (their quantised form).
 */
struct gcb_redsync {
    double bytes; /* M: bytes of the gradient */
    double density;
    double words;
    double workers;   /* p: number of workers */
    double bandwidth; /* 1 / beta, bytes per second */
    double latency;   /* alpha: seconds for one step */
    double select;    /* T_select: seconds to select from the whole gradient */
    double unpack;    /* gamma1: seconds to unpack one worker's message */
    double reduce;    /* gamma2: seconds to reduce M bytes */
};
struct gcb_redsync_times {
    double bandwidth_ratio; /* bandwidth term of T_sparse over that of T_dense: p D words / 2 */
    double even_workers;    /* number of workers at which bandwidth_ratio is 1 */
    double sparse_latency, sparse_wire, sparse_unpack, sparse; /* sparse includes T_select */
    double dense_latency, dense_wire, dense_reduce, dense;
};
void gcb_redsync_times(struct gcb_redsync_times *out, const struct gcb_redsync *in);

#endif
