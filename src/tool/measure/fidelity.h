#ifndef SRC_TOOL_MEASURE_FIDELITY_H
#define SRC_TOOL_MEASURE_FIDELITY_H

#include "kernels/kernels.h"
#include "src/lib/base/queue.h"
#include "src/lib/device/batch.h"
#include "src/tool/rows/fields.h"

/*
 * The error of a decoded tensor y, compared with the input x. The struct has sums, which can be
 * added over messages; the figures are computed from the sums at the end. So the relative error of
 * several messages is computed over all their elements together. It is not a mean of the messages'
 * errors.
 *
 * An element whose x is an infinity or NaN is left out of the sums and counts (it adds +0.0). It is
 * compared bit by bit, in `nonfinite` and `nonfinite_kept`. If y is not finite but x is, the sums
 * and figures become infinite or NaN.
 */
struct gcb_fidelity {
    double xx, yy, xy;                     /* sums of x*x, y*y, x*y */
    double dd, d;                          /* sums of (x-y)^2 and of x-y */
    double max_abs;                        /* largest |x-y| */
    uint64_t same_sign, zeros, zeros_kept; /* counts that kernels/compare/compare.h explains */
    uint64_t elements;                     /* all elements, also infinities and NaNs */
    uint64_t nonfinite;                    /* infinities and NaNs in x */
    uint64_t nonfinite_kept; /* infinities and NaNs in x that have the same bits in y */
    /* Comparison with a reference, another decoded tensor of the same input: elements compared,
     * elements for which y is nearer to x than the reference is, and elements for which it is
     * farther from x. */
    uint64_t compared, nearer, farther;
};

/* Adds the sums over x[0..n) and y[0..n) to `f`, which starts zeroed. Blocks of GCB_SUM_BLOCK
 * are added in index order, so the result does not depend on the number of threads. Allocates
 * nothing. */
void gcb_fidelity_add(struct gcb_fidelity *f, const float *x, const float *y, uint64_t n,
                      const struct gcb_kernels *kernels, const struct gcb_queue *queue);

/*
 * The same for two tensors on a device. Waits. The sums of one tensor have the same bits as on the
 * CPU; they are merged into `f`. GCB_E_INTERNAL: the batch has less than gcb_fidelity_scratch bytes
 * of scratch.
 */
uint64_t gcb_fidelity_scratch(const struct gcb_device *device, uint64_t n);
int gcb_fidelity_add_there(struct gcb_fidelity *f, struct gcb_device_batch *b, const float *x_dev,
                           const float *y_dev, uint64_t n, struct gcb_diag *diag);

/* Compares y with a reference: counts the elements for which |x-y| is smaller or larger than
 * |x-reference|. */
void gcb_fidelity_compare(struct gcb_fidelity *f, const float *x, const float *y,
                          const float *reference, uint64_t n);

/* Adds the sums of another tensor or message. */
void gcb_fidelity_merge(struct gcb_fidelity *f, const struct gcb_fidelity *other);

/* The figures. A figure that is not defined for this input is NAN. */
struct gcb_fidelity_figures {
    double rel_l2;        /* norm(x-y) / norm(x); 0 if x and y are zero, NAN if only x is zero */
    double cosine;        /* 1 if x and y are zero, 0 if only one of them is zero */
    double max_abs_error; /* largest |x-y| */
    double mean_error;    /* mean of y-x: above 0 if the decoded values are too large */
    /* share of elements whose sign (-, 0 or +) is the same */
    double sign_agreement;
    double zeros_preserved;    /* share of x's zeros that are zeros in y */
    double snr_db;             /* 20 log10(norm(x) / norm(x-y)); infinite for an exact result */
    double accuracy_gain_bits; /* log2(norm(x) / norm(x-y)) - bits_per_element */
    double nearer_share;       /* nearer / compared */
    double farther_share;      /* farther / compared */
};
void gcb_fidelity_figures(struct gcb_fidelity_figures *out, const struct gcb_fidelity *f,
                          double bits_per_element);
/* Returns the figure that is this field of rows; NULL if it is another field. */
const double *gcb_fidelity_figure(const struct gcb_fidelity_figures *figures, enum gcb_field field);

#endif
