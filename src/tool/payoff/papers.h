#ifndef SRC_TOOL_PAYOFF_PAPERS_H
#define SRC_TOOL_PAYOFF_PAPERS_H

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
