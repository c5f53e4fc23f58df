#ifndef SRC_TOOL_TRIAL_TALLY_H
#define SRC_TOOL_TRIAL_TALLY_H

#include "src/lib/codec/coder.h"
#include "src/tool/metric/fidelity.h"
#include "src/tool/rows/fields.h"
#include "src/tool/timing/measure.h"

/* Times of one direction, encode or decode: sums over messages. */
struct gcb_times {
    double seconds; /* medians */
    double min;     /* shortest times */
    /* Ends of the medians' 95 % intervals; the sum of the medians lies between their sums at least as surely. NAN as
     * soon as one message has no interval. */
    double low, high;
    /* On a device: medians by its events, the ends of their intervals, and the seconds of copying between host and device. */
    double kernel, kernel_low, kernel_high, transfer;
    uint64_t launches; /* kernels started on the device */
};

/*
 * What messages of one method came to: sums only, so that one message, a group of them and all of
 * them are described by the same struct and figures are formed once, at the end. Starts zeroed.
 */
struct gcb_tally {
    uint64_t messages, elements;
    uint64_t input_bytes; /* in the source's types */
    uint64_t wire_bytes, header_bytes, scale_bytes, value_bytes, index_bytes;
    uint64_t stored;    /* messages that went raw */
    uint64_t dense;     /* messages kept from the method: sent as fp32 */
    uint64_t nonfinite; /* infinities and NaNs in the input, before any policy */
    uint64_t kept, positions, clamped;
    double nominal_bits, entropy0_bits; /* of all elements together */
    double asked;      /* density asked for, times the elements it was asked for: */
    uint64_t asked_of; /* 0 where nothing is dropped */
    struct gcb_times encode, decode;
    enum gcb_stop stop;               /* the worst reason why measuring ended */
    uint64_t staged;                  /* messages whose stages were timed */
    double stage_seconds[GCB_STAGES]; /* of these; sums of medians */
    uint64_t on_device;               /* messages that a device encoded and decoded */
    uint64_t group;     /* messages that the same launches encoded; merged: the most */
    bool follows;       /* the launches are counted with an earlier message of the group */
    uint64_t clock_mhz; /* of the device, the lowest that was read; 0: not known */
    enum gcb_dtype dtype;
    bool mixed_dtypes;
    struct gcb_fidelity fidelity;
};

void gcb_tally_merge(struct gcb_tally *t, const struct gcb_tally *other);

/* Sets the fields that the device's events measured, to a share of `kernel`, the times of a group of messages. */
void gcb_times_set_kernel(struct gcb_times *t, const struct gcb_stats *kernel, double share,
                          uint64_t launches);

/* Takes the times of a single message. */
void gcb_tally_times(struct gcb_tally *t, const struct gcb_samples *encode,
                     const struct gcb_samples *decode);

/* Takes what the encoder of a single message knows: bits as the paper counts, and the density asked for. */
void gcb_tally_asked(struct gcb_tally *t, const struct gcb_coder *coder,
                     const struct gcb_codec *codec);

/* Takes bytes, positions and entropy of a single message; of a dense one no positions, for the method had no
 * part in it. GCB_E_INTERNAL: its parts do not add up. */
int gcb_tally_parts(struct gcb_tally *t, const struct gcb_message_parts *parts,
                    struct gcb_diag *diag);

/* The figures of a tally; NAN where there is none. */
double gcb_tally_ratio(const struct gcb_tally *t);
double gcb_tally_bits(const struct gcb_tally *t);         /* per element, of the wire */
double gcb_tally_header_share(const struct gcb_tally *t); /* of the wire bytes */
double gcb_tally_density(const struct gcb_tally *t);
double gcb_tally_density_asked(const struct gcb_tally *t);
double gcb_tally_gbps(const struct gcb_tally *t,
                      const struct gcb_times *times); /* of t->encode or t->decode */
void gcb_tally_figures(struct gcb_fidelity_figures *out, const struct gcb_tally *t);

/* One number by its field, for sorting and searching; only for fields that have one. */
double gcb_tally_figure(const struct gcb_tally *t, enum gcb_field field);
bool gcb_tally_has_figure(enum gcb_field field);

/*
 * Timings of a sequence of messages as if the whole sequence had been run again and again: sample r
 * is the sum of every message's sample r, for as many r as every message has. Starts zeroed.
 */
struct gcb_sample_sums {
    double *seconds; /* count of them */
    size_t count;
    bool started;
};
int gcb_sample_sums_add(struct gcb_sample_sums *sums, const struct gcb_samples *samples);
/* Median absolute deviation of the sums; NAN for fewer than two, or without memory. */
double gcb_sample_sums_mad(const struct gcb_sample_sums *sums);
void gcb_sample_sums_fini(struct gcb_sample_sums *sums); /* zeroed is fine */

#endif
