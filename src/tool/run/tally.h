#ifndef SRC_TOOL_RUN_TALLY_H
#define SRC_TOOL_RUN_TALLY_H

#include "src/lib/coder/coder.h"
#include "src/tool/measure/fidelity.h"
#include "src/tool/measure/measure.h"
#include "src/tool/rows/fields.h"

/* What a trial times. */
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
    /* The ends of the medians' 95 % intervals. Their sums contain the sum of the medians with at
     * least the same confidence. NAN if a message has no interval. */
    double low, high;
    /* On a device: medians by its events, the ends of their intervals, and the time of copies
     * between host and device. */
    double kernel, kernel_low, kernel_high, transfer;
    uint64_t measured;        /* messages that have these times */
    uint64_t single;          /* messages that were timed only once */
    uint64_t launches;        /* kernels started on the device */
    uint64_t staged;          /* messages whose stages were timed */
    double stage[GCB_STAGES]; /* sums of the medians of the staged messages */
};

/* Results of one message or of many messages of a method: sums, from which the figures are computed
 * at the end. Starts zeroed. */
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
            uint64_t kept, positions, clamped;
            uint64_t asked_of;  /* number of elements in `asked`; 0 without a sparsifier */
            uint64_t on_device; /* messages that a device encoded and decoded */
        };
        uint64_t counts[17]; /* all of these numbers, which are summed over messages */
    };
    /* steps and workers that the messages belong to; run.c counts them in totals */
    uint64_t exchanges;
    /* of all workers' mean (src/tool/replay/mean.h), set by a search for it; 0: unknown */
    double error_of_mean;
    double nominal_bits, entropy0_bits; /* of all elements together */
    double asked;                       /* sum over elements of the density asked for */
    union {
        struct {
            struct gcb_times encode, decode;
            struct gcb_times sum, sum16; /* of the messages that have them; see gcb_tally_sum */
        };
        struct gcb_times times[GCB_TIMED]; /* the same, by enum gcb_timed_work */
    };
    /* the worst reason why measuring stopped, without sums unless interrupted */
    enum gcb_stop stop;
    enum gcb_stop sum_stop; /* the worst reason why measuring sums stopped */
    uint64_t sum_messages;  /* fewest different messages that were added; 0: none */
    uint64_t group;         /* most messages that the same launches encoded */
    bool follows;           /* an earlier message of the group counts the launches */
    uint64_t clock_mhz;     /* lowest clock of the device that was read; 0: not known */
    enum gcb_dtype dtype;
    bool mixed_dtypes;
    struct gcb_fidelity fidelity;
};

void gcb_tally_merge(struct gcb_tally *t, const struct gcb_tally *other);

/* Sets the times of a message from its samples, GCB_TIMED of them. Samples without a count were not
 * measured. */
void gcb_tally_times(struct gcb_tally *t, const struct gcb_samples *samples);

/* Sets what a message's encoder knows: bits as the paper counts them, the density asked for, and if
 * lengths vary. */
void gcb_tally_asked(struct gcb_tally *t, const struct gcb_coder *coder,
                     const struct gcb_codec *codec);

/* Sets bytes, positions and entropy of a message; no positions if it is dense. GCB_E_INTERNAL: its
 * parts do not add up to its size. */
int gcb_tally_parts(struct gcb_tally *t, const struct gcb_message_parts *parts,
                    struct gcb_diag *diag);

/* Figures of a tally; NAN if the tally has no such figure. */
double gcb_tally_ratio(const struct gcb_tally *t);
double gcb_tally_bits(const struct gcb_tally *t);         /* bits sent for each element */
double gcb_tally_header_share(const struct gcb_tally *t); /* share of the wire bytes */
double gcb_tally_density(const struct gcb_tally *t);
double gcb_tally_density_asked(const struct gcb_tally *t);
/* The speed of t->encode or t->decode; NAN if a message was timed only once. */
double gcb_tally_gbps(const struct gcb_tally *t, const struct gcb_times *times);
/* The times of adding a message, or with GCB_TIMED_SUM16 of a whole sum of 16 messages. All NAN
 * unless all messages have them. */
struct gcb_times gcb_tally_sum(const struct gcb_tally *t, enum gcb_timed_work work);
struct gcb_fidelity_figures gcb_tally_figures(const struct gcb_tally *t);

/* Returns the figure of a field, for sorting and searching; NAN if tallies do not have the
 * field. */
double gcb_tally_figure(const struct gcb_tally *t, enum gcb_field field);
bool gcb_tally_has_figure(enum gcb_field field);

/*
 * Samples of the time of a whole sequence of messages: sample r is the sum over messages of their
 * sample r. There are as many samples as the message with the fewest samples has. Starts zeroed.
 */
struct gcb_sample_sums {
    double *seconds; /* `count` samples */
    size_t count;
};
int gcb_sample_sums_add(struct gcb_sample_sums *sums, const struct gcb_samples *samples);
/* Median absolute deviation of the sums; NAN for fewer than two, or if memory runs out. */
double gcb_sample_sums_mad(const struct gcb_sample_sums *sums);
void gcb_sample_sums_fini(struct gcb_sample_sums *sums); /* zeroed is fine */

#endif
