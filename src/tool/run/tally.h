#ifndef SRC_TOOL_RUN_TALLY_H
#define SRC_TOOL_RUN_TALLY_H

#include "src/lib/coder/coder.h"
#include "src/tool/measure/fidelity.h"
#include "src/tool/measure/measure.h"
#include "src/tool/rows/fields.h"

/* What a trial times: encoding, decoding, adding one message to a sum, and whole sums of 16
 * messages. */
enum gcb_timed_work {
    GCB_TIMED_ENCODE,
    GCB_TIMED_DECODE,
    GCB_TIMED_SUM,
    GCB_TIMED_SUM16,
    GCB_TIMED
};

/* Times of encoding, of decoding or of sums, summed over messages. */
struct gcb_times {
    double seconds; /* medians */
    double min;     /* shortest times */
    /* Ends of the medians' 95 % intervals. The interval between the sums contains the sum of the
     * medians with at least the same confidence. NAN if a message has no interval. */
    double low, high;
    /* on a device: medians by the device's events, and the ends of their intervals */
    double kernel, kernel_low, kernel_high;
    double transfer;          /* on a device: copies between host and device */
    uint64_t measured;        /* messages that have these times */
    uint64_t single;          /* messages that were timed only once */
    uint64_t launches;        /* kernels started on the device */
    uint64_t staged;          /* messages whose stages were timed */
    double stage[GCB_STAGES]; /* sums of the medians of the staged messages */
};

/* The results of a method on one or many messages, as sums over the messages. The figures are
 * computed from the sums at the end. Starts zeroed. */
struct gcb_tally {
    union {
        struct {
            uint64_t messages, elements;
            uint64_t input_bytes; /* size of the input in the source's types */
            uint64_t wire_bytes, header_bytes, scale_bytes, value_bytes, index_bytes;
            uint64_t stored;    /* messages that were sent raw */
            uint64_t varying;   /* messages whose length depends on the values */
            uint64_t dense;     /* messages sent as fp32 instead of by the method */
            uint64_t nonfinite; /* infinities and NaNs, before --nonfinite changes them */
            uint64_t kept, positions, clamped; /* as in struct gcb_parts and gcb_coder_clamped */
            uint64_t asked_of;  /* number of elements in `asked`; 0 without a sparsifier */
            uint64_t on_device; /* messages that a device encoded and decoded */
        };
        uint64_t counts[17]; /* the members above as an array; each is summed over messages */
    };
    /* number of different pairs of step and worker; only gcb_run_total_add counts them */
    uint64_t exchanges;
    /* error of all workers' mean (src/tool/replay/mean.h); only src/tool/search sets it; 0:
     * unknown */
    double error_of_mean;
    double nominal_bits, entropy0_bits; /* sums over all elements */
    double asked;                       /* sum over elements of the density asked for */
    union {
        struct {
            struct gcb_times encode, decode;
            struct gcb_times sum, sum16; /* only of messages that have them; see gcb_tally_sum */
        };
        struct gcb_times times[GCB_TIMED]; /* the four members above, by enum gcb_timed_work */
    };
    /* the worst reason why measuring encoding or decoding stopped, or an interruption of sums */
    enum gcb_stop stop;
    enum gcb_stop sum_stop; /* the worst reason why measuring sums stopped */
    uint64_t sum_messages;  /* least number of different messages in a sum; 0: no sums */
    uint64_t group;         /* largest number of messages that the same launches encoded */
    bool follows;           /* the launches count for an earlier message of the same group */
    uint64_t clock_mhz;     /* lowest clock of the device that was read; 0: not known */
    enum gcb_dtype dtype;
    bool mixed_dtypes;
    struct gcb_fidelity fidelity;
};

/* Adds the sums of `other` to t, except `exchanges`. `stop`, `sum_stop`, `sum_messages`, `group`
 * and `clock_mhz` become the worst, least, largest or lowest of both values, as their comments
 * say. */
void gcb_tally_merge(struct gcb_tally *t, const struct gcb_tally *other);

/* Sets the times of a message from samples[0..GCB_TIMED). If the count of samples[i] is 0, work i
 * was not measured. */
void gcb_tally_times(struct gcb_tally *t, const struct gcb_samples *samples);

/* Sets what the encoder of a message knows: bits as the paper counts them, the density asked for,
 * and whether the length depends on the values. */
void gcb_tally_asked(struct gcb_tally *t, const struct gcb_coder *coder,
                     const struct gcb_codec *codec);

/* Sets bytes, positions and entropy from the parts of a message. A dense message gets no positions.
 * GCB_E_INTERNAL: the parts do not add up to the message's size. */
int gcb_tally_parts(struct gcb_tally *t, const struct gcb_message_parts *parts,
                    struct gcb_diag *diag);

/* Figures of a tally; NAN if the tally has no such figure. */
double gcb_tally_ratio(const struct gcb_tally *t);
double gcb_tally_bits(const struct gcb_tally *t);         /* bits sent for each element */
double gcb_tally_header_share(const struct gcb_tally *t); /* header bytes / wire bytes */
double gcb_tally_density(const struct gcb_tally *t);
double gcb_tally_density_asked(const struct gcb_tally *t);
/* The throughput of t->encode or t->decode; NAN if a message was timed only once. */
double gcb_tally_gbps(const struct gcb_tally *t, const struct gcb_times *times);
/* Returns the times of adding a message, or with GCB_TIMED_SUM16 of a whole sum of 16 messages. All
 * are NAN unless all messages have them. */
struct gcb_times gcb_tally_sum(const struct gcb_tally *t, enum gcb_timed_work work);
struct gcb_fidelity_figures gcb_tally_figures(const struct gcb_tally *t);

/* Returns the figure of a field, for sorting and searching; NAN if tallies do not have the
 * field. */
double gcb_tally_figure(const struct gcb_tally *t, enum gcb_field field);
/* True if tallies have the figure of this field. */
bool gcb_tally_has_figure(enum gcb_field field);

/*
 * Samples of the time of a whole sequence of messages. Sample r is the sum of sample r of each
 * message. The number of samples is that of the message with the fewest samples. Starts zeroed.
 */
struct gcb_sample_sums {
    double *seconds; /* `count` samples */
    size_t count;
};
/* Adds the samples of a message. */
void gcb_sample_sums_add(struct gcb_sample_sums *sums, const struct gcb_samples *samples);
/* Returns the median absolute deviation of the samples; NAN for fewer than two samples, or if
 * memory runs out. */
double gcb_sample_sums_mad(const struct gcb_sample_sums *sums);
void gcb_sample_sums_fini(struct gcb_sample_sums *sums); /* zeroed is fine */

#endif
