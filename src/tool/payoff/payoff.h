#ifndef SRC_TOOL_PAYOFF_PAYOFF_H
#define SRC_TOOL_PAYOFF_PAYOFF_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Does a compressor pay? The time of one exchange of a gradient between workers, from measured times of coding and an assumed
 * link. Only arithmetic; docs/payoff.md has the model, its sources and what it leaves out. Everything is in seconds, bytes,
 * and bytes per second.
 */
enum gcb_collective {
    GCB_COLLECTIVE_RING, /* messages that can be summed: ring allreduce; others: ring allgather */
    GCB_COLLECTIVE_ALLGATHER, /* Rabenseifner's allreduce; allgather by recursive doubling, as RedSync assumes */
    GCB_COLLECTIVE_PS, /* a parameter server: messages to it, one message back */
    GCB_COLLECTIVE_COUNT
};
/* "ring", "allgather", "ps", NULL */
extern const char *const gcb_collective_names[];

struct gcb_link {
    enum gcb_collective collective;
    double bandwidth; /* of each node's link, each way */
    double latency;   /* of one step, whatever it carries */
    unsigned workers; /* 2 or more */
    unsigned servers; /* GCB_COLLECTIVE_PS: servers that share the gradient; 1 or more */
};

/* One worker's part of an exchange with one method. Times are 0 for work that the method does not have. */
struct gcb_load {
    bool sums;        /* can be summed undecoded (GCB_CAP_LINEAR), by an allreduce */
    double transfers; /* number of transfers; each carries a bucket of messages */
    double bytes;     /* of one worker's messages */
    double encode;    /* seconds, of all of one worker's messages */
    double decode;    /* the same */
    double add;       /* seconds to add one worker's decoded gradient, as fp32, to another */
    double compute;   /* seconds of the step that computes the gradient; NAN: no overlap */
};

/* The terms of an exchange. */
struct gcb_exchange {
    double encodes, decodes, adds; /* factors of the load's encode, decode and add */
    double encode, decode, add;    /* seconds: each factor times its time in the load */
    double steps;                  /* number of latencies, in all transfers */
    double link_bytes;             /* through the busiest link, each way */
    double wire;                   /* steps x latency + link_bytes / bandwidth */
    double seconds;                /* encode + wire + decode + add, without overlap */
    double step;    /* computation and exchange with overlap; NAN without `compute` */
    double exposed; /* step - compute: what the exchange costs; NAN without `compute` */
    double cost;    /* exposed, or seconds: methods are compared by it */
};
void gcb_payoff_exchange(struct gcb_exchange *out, const struct gcb_link *link,
                         const struct gcb_load *load);

/* Bandwidths from `from` (excluded; 0: however slow) to `to` (excluded; INFINITY: however fast). */
struct gcb_payoff_range {
    double from, to;
};
#define GCB_PAYOFF_RANGES 4
/*
 * At which bandwidths does `load` cost less than `other`? Writes the ranges in rising order and returns how many. The cost is a
 * line in 1 / bandwidth, or the higher of two lines with `compute`, so the ends are exact crossings. link->bandwidth is not
 * read.
 */
size_t gcb_payoff_bandwidths(struct gcb_payoff_range out[GCB_PAYOFF_RANGES],
                             const struct gcb_link *link, const struct gcb_load *load,
                             const struct gcb_load *other);

#define GCB_PAYOFF_WORKERS 65536 /* the largest number of workers that is tried */
/*
 * With how many workers does `load` cost less than `other`? Finds the first range of numbers from 2 to GCB_PAYOFF_WORKERS;
 * false: there is none. Tries every number up to 1024, then steps of 1 %, and finds the ends by bisection. link->workers is
 * not read.
 */
bool gcb_payoff_workers(unsigned *least, unsigned *most, const struct gcb_link *link,
                        const struct gcb_load *load, const struct gcb_load *other);

/*
 * The FFT paper's condition (its section on costs) for any coding time: the compression ratio above which compressing M bytes
 * and sending the rest is faster than sending M bytes. `coding`: seconds of encode and decode together for each byte of the
 * gradient. INFINITY: no ratio is high enough.
 */
double gcb_payoff_least_ratio(double coding, double bandwidth);

/*
 * The cost models of two papers, as printed, on numbers that the caller gives.
 *
 * Wang et al., FFT-based gradient sparsification (HPDC 2020), section on costs. Throughputs in bytes of the gradient per
 * second: Tf of the transform, Ts of selection, Tm of changing precision and comparing (four such passes), Tp of packing.
 */
struct gcb_fft_stages {
    double transform, select, quantise, index; /* Tf, Ts, Tm, Tp */
};
/* The compression ratio above which it pays: 1 / (1 - 2 Tcomm cost), where cost = 4/Tm + 1/Tf + 1/Tp + 1/Ts is the seconds
 * for each byte on one side. INFINITY: no ratio pays. */
double gcb_fft_stages_least_ratio(const struct gcb_fft_stages *s, double bandwidth);
/* The bandwidth from which on no ratio pays: 1 / (2 cost). */
double gcb_fft_stages_break_even(const struct gcb_fft_stages *s);

/*
 * Fang et al., RedSync (JPDC 133, 2019), section on the cost of communication: M bytes at density D between p nodes,
 * allgather by recursive doubling against Rabenseifner's allreduce.
 *   T_sparse = T_select + lg(p) alpha + (p - 1) M D words beta + p gamma1
 *   T_dense  = 2 lg(p) alpha + 2 (p - 1)/p M beta + (p - 1)/p gamma2
 * A kept element takes `words` of 4 bytes: 2 for index and value, or 1 if all share one value (their quantised form).
 */
struct gcb_redsync {
    double bytes; /* M */
    double density;
    double words;
    double workers;   /* p */
    double bandwidth; /* 1 / beta, bytes per second */
    double latency;   /* alpha */
    double select;    /* T_select, for the whole gradient */
    double unpack;    /* gamma1, for one worker's message */
    double reduce;    /* gamma2, for M bytes */
};
struct gcb_redsync_times {
    double bandwidth_ratio; /* of the two bandwidth terms: p D words / 2 */
    double even_workers;    /* the number at which this ratio reaches 1 */
    double sparse_latency, sparse_wire, sparse_unpack, sparse; /* sparse includes T_select */
    double dense_latency, dense_wire, dense_reduce, dense;
};
void gcb_redsync_times(struct gcb_redsync_times *out, const struct gcb_redsync *in);

#endif
