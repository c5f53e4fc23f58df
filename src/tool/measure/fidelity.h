#ifndef SRC_TOOL_MEASURE_FIDELITY_H
#define SRC_TOOL_MEASURE_FIDELITY_H

#include "kernels/kernels.h"
#include "src/lib/base/queue.h"
#include "src/lib/device/batch.h"
#include "src/tool/rows/fields.h"

/*
 * The error of a decoded tensor y, compared with the input x. The struct has sums, which can be
 * added over messages. The figures are computed from the sums at the end. So the relative error of
 * several messages covers all their elements together; it is not a mean of the messages' errors.
 *
 * An element whose x is an infinity or NaN counts only in `elements`, `nonfinite` and
 * `nonfinite_kept`. All other sums, counts and maxima leave it out. If x is finite but y is not,
 * the sums that contain y become infinite or NaN, and so does rel_l2.
 */
struct gcb_fidelity {
    double xx, yy, xy;                     /* sums of x*x, y*y, x*y */
    double dd, d;                          /* sums of (x-y)^2 and of x-y */
    double max_abs;                        /* largest |x-y| */
    uint64_t same_sign, zeros, zeros_kept; /* as in struct gcb_compare (kernels/compare) */
    uint64_t elements;                     /* all elements, with infinities and NaNs */
    uint64_t nonfinite;                    /* infinities and NaNs in x */
    uint64_t nonfinite_kept;      /* infinities and NaNs in x that have the same bits in y */
    struct gcb_error_split split; /* dd by its causes; 0 unless gcb_coder_split ran */
};

/* Adds the sums over x[0..n) and y[0..n) to `f`, which starts zeroed. The sums of blocks of
 * GCB_SUM_BLOCK elements are added in index order, so the result does not depend on the number of
 * threads. Allocates nothing. */
void gcb_fidelity_add(struct gcb_fidelity *f, const float *x, const float *y, uint64_t n,
                      const struct gcb_kernels *kernels, const struct gcb_queue *queue);

/* Returns the bytes of scratch that gcb_fidelity_add_there needs for n elements. */
uint64_t gcb_fidelity_scratch(const struct gcb_device *device, uint64_t n);
/* Does what gcb_fidelity_add does, for two tensors on a device. Waits for the batch's earlier work.
 * If `f` was zeroed, the sums have the same bits as on the CPU. Returns 0 or GCB_E_DEVICE;
 * GCB_E_INTERNAL: the batch has too little scratch. */
int gcb_fidelity_add_there(struct gcb_fidelity *f, struct gcb_device_batch *b, const float *x_dev,
                           const float *y_dev, uint64_t n, struct gcb_diag *diag);

/* Adds the sums and counts of `other` to `f`. f->max_abs becomes the larger of both maxima. */
void gcb_fidelity_merge(struct gcb_fidelity *f, const struct gcb_fidelity *other);

/* The figures, over all elements whose x is finite. A figure that is not defined for the input is
 * NAN. */
struct gcb_fidelity_figures {
    double rel_l2;        /* norm(x-y) / norm(x); 0 if x and y are zero, NAN if only x is zero */
    double cosine;        /* 1 if x and y are zero, 0 if only one of them is zero */
    double max_abs_error; /* largest |x-y| */
    double mean_error;    /* mean of y-x: above 0 if decoded values are too large on average */
    /* share of elements whose sign (-, 0 or +) is the same */
    double sign_agreement;
    double zeros_preserved;    /* share of x's zeros that are zeros in y */
    double snr_db;             /* 20 log10(norm(x) / norm(x-y)); infinite if y equals x */
    double accuracy_gain_bits; /* log2(norm(x) / norm(x-y)) - bits_per_element */
    double compression_gain;   /* norm(y)^2 / norm(x)^2: the variance that is kept */
    /* shares of the squared error by its causes; NAN without an error or without causes */
    double error_scale, error_dead_zone, error_grid;
};
/* `bits_per_element`: size of the messages in bits, divided by the number of elements. */
void gcb_fidelity_figures(struct gcb_fidelity_figures *out, const struct gcb_fidelity *f,
                          double bits_per_element);
/* Returns the figure that this field of a row holds; NULL if the field holds no figure. */
const double *gcb_fidelity_figure(const struct gcb_fidelity_figures *figures, enum gcb_field field);

#endif
