#ifndef SRC_TOOL_METRIC_FIDELITY_H
#define SRC_TOOL_METRIC_FIDELITY_H

#include "kernels/kernels.h"
#include "src/lib/base/queue.h"

/*
 * How close what a decoder rebuilt, y, is to what was encoded, x. First sums, which can be added up over
 * messages; then figures from sums. So a total's relative error is that of all elements together and
 * not a mean of errors.
 *
 * An element where x is an infinity or NaN takes no part in the sums and counts (it adds +0.0): it is
 * compared bit by bit, and only `nonfinite` and `nonfinite_kept` know of it. A y that is not finite
 * where x is makes the sums, and so the figures, infinite or NaN.
 */
struct gcb_fidelity {
    double xx, yy, xy;                     /* sums of x*x, y*y, x*y */
    double dd, d;                          /* sums of (x-y)^2 and of x-y */
    double max_abs;                        /* largest |x-y| */
    uint64_t same_sign, zeros, zeros_kept; /* as in kernels/compare/compare.h */
    uint64_t elements;                     /* all of them */
    uint64_t nonfinite, nonfinite_kept;    /* in x; of those, with the same bits in y */
};

/*
 * Adds the sums over x[0..n) and y[0..n) to `f`, which starts zeroed. Blocks of GCB_SUM_BLOCK are
 * added in index order, so the number of threads never changes a bit. Allocates nothing.
 */
void gcb_fidelity_add(struct gcb_fidelity *f, const float *x, const float *y, uint64_t n,
                      const struct gcb_kernels *kernels, const struct gcb_queue *queue);

/* Adds the sums of another tensor or message. */
void gcb_fidelity_merge(struct gcb_fidelity *f, const struct gcb_fidelity *other);

/* Figures; NAN where one has no meaning for this input. */
struct gcb_fidelity_figures {
    double rel_l2;        /* norm(x-y) / norm(x); 0 if both are zero, NAN if only x is */
    double cosine;        /* 1 if both are zero, 0 if only one is */
    double max_abs_error; /* largest |x-y| */
    double mean_error;    /* mean of y-x: above 0 when the rebuilt values are too large */
    /* share of elements that keep their sign, zero being a sign of its own */
    double sign_agreement;
    double zeros_preserved;    /* share of x's zeros that are zeros in y */
    double snr_db;             /* 20 log10(norm(x) / norm(x-y)); infinite for an exact result */
    double accuracy_gain_bits; /* log2(norm(x) / norm(x-y)) - bits_per_element */
};
void gcb_fidelity_figures(struct gcb_fidelity_figures *out, const struct gcb_fidelity *f,
                          double bits_per_element);

#endif
