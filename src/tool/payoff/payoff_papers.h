#ifndef SRC_TOOL_PAYOFF_PAYOFF_PAPERS_H
#define SRC_TOOL_PAYOFF_PAYOFF_PAPERS_H

/*
 * Two papers' own cost models, as printed, on numbers that the caller gives. They know no more than their
 * formulas say; src/tool/payoff/payoff.h is the model that measured methods go through.
 */

/*
 * Wang et al., FFT-based gradient sparsification (HPDC 2020), section on costs. Throughputs in bytes of the gradient per
 * second: Tf of the transform, Ts of selection, Tm of changing precision and comparing (four such passes), Tp of packing.
 */
struct gcb_fft_stages {
    double transform, select, quantise, index; /* Tf, Ts, Tm, Tp */
};
/* 1 / (1 - 2 Tcomm cost), where cost, seconds per byte that one side works, is 4/Tm + 1/Tf + 1/Tp + 1/Ts: the compression ratio above which it pays; INFINITY: none does. */
double gcb_fft_stages_least_ratio(const struct gcb_fft_stages *s, double bandwidth);
/* 1 / (2 cost): the bandwidth, in bytes per second, at and above which none does. */
double gcb_fft_stages_break_even(const struct gcb_fft_stages *s);

/*
 * Fang et al., RedSync (JPDC 133, 2019), section on the cost of communication: M bytes at density D between p nodes,
 * allgather by recursive doubling against Rabenseifner's allreduce.
 *   T_sparse = T_select + lg(p) alpha + (p - 1) M D words beta + p gamma1
 *   T_dense  = 2 lg(p) alpha + 2 (p - 1)/p M beta + (p - 1)/p gamma2
 * A kept element is `words` of 4 bytes: 2, index and value; 1 where all share a value (their quantised form).
 */
struct gcb_redsync {
    double bytes; /* M */
    double density;
    double words;
    double workers;   /* p */
    double bandwidth; /* 1 / beta, bytes per second */
    double latency;   /* alpha */
    double select;    /* T_select, of the whole gradient */
    double unpack;    /* gamma1, of one worker's message */
    double reduce;    /* gamma2, of M bytes */
};
struct gcb_redsync_times {
    double bandwidth_ratio; /* of the two bandwidth terms: p D words / 2 */
    double even_workers;    /* where it reaches 1 */
    double sparse_latency, sparse_wire, sparse_unpack, sparse; /* the last with T_select */
    double dense_latency, dense_wire, dense_reduce, dense;
};
void gcb_redsync_times(struct gcb_redsync_times *out, const struct gcb_redsync *in);

#endif
