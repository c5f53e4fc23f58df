#ifndef SRC_TOOL_METRIC_SPECTRUM_H
#define SRC_TOOL_METRIC_SPECTRUM_H

#include <stdbool.h>

#include "kernels/fft/fft.h"
#include "src/lib/base/queue.h"
#include "src/lib/tensor/tensor.h"

/*
 * The energy of a tensor's Fourier transform, by frequency and by magnitude, summed over tensors of one size (one tensor at
 * several steps and workers). It is the unitary real transform of the whole flattened tensor: the energies of all bins sum
 * to the tensor's sum of squares. A bin between the first and the last counts twice, because it stands for its mirror image
 * too.
 */
#define GCB_SPECTRUM_BANDS 128
#define GCB_SPECTRUM_LEVELS 1024

struct gcb_spectrum {
    uint64_t count; /* elements of each tensor */
    uint64_t bins;  /* count / 2 + 1; 0 for an empty tensor */
    uint64_t tensors;
    double energy[GCB_SPECTRUM_BANDS];  /* by frequency */
    double largest[GCB_SPECTRUM_BANDS]; /* largest magnitude, by frequency */
    /* energy by magnitude: the level is the magnitude's bit pattern without the last 21 bits */
    double by_level[GCB_SPECTRUM_LEVELS];
    uint64_t bins_by_level[GCB_SPECTRUM_LEVELS];
    double total; /* energy */
};

/* Starts empty sums for tensors of `count` elements. Nothing to release. */
void gcb_spectrum_init(struct gcb_spectrum *s, uint64_t count);

/* The transform of one size, for any number of sums. */
struct gcb_spectrum_plan {
    uint64_t count;
    struct gcb_fft *fft; /* NULL for an empty tensor */
    float *work;         /* 2 * bins */
};

/*
 * Makes *plan a plan for tensors of `count` elements, unless it already is, and checks that there is memory to run it.
 * *plan starts zeroed. It takes 4 * (count + 2) bytes and the memory of the FFT. GCB_E_NOMEM: *plan is zeroed.
 */
int gcb_spectrum_plan_for(struct gcb_spectrum_plan *plan, uint64_t count,
                          const struct gcb_queue *queue, struct gcb_diag *diag);
void gcb_spectrum_plan_fini(struct gcb_spectrum_plan *plan); /* zeroed is fine */

/* Adds a tensor without infinities and NaNs, of the size of the sums and of the plan. */
void gcb_spectrum_add(struct gcb_spectrum *s, const struct gcb_spectrum_plan *plan,
                      const struct gcb_view *x);

/* Band i of those that have bins: frequencies [low, high) in cycles per element. False past the end. */
struct gcb_spectrum_band {
    uint64_t bins;
    double low, high;
    double energy, largest;
    double share; /* of all energy; NAN if there is none */
};
bool gcb_spectrum_band(struct gcb_spectrum_band *out, const struct gcb_spectrum *s, size_t i);

/*
 * A point of the curve "energy in the largest bins": the bins of at least `threshold`, as a share of all bins, and their
 * share of the energy. There is a point for each level that has bins. Levels are a quarter of a power of two wide, and
 * thresholds are their lower ends, so the points are exact.
 */
struct gcb_spectrum_point {
    double density;
    double energy_share;
    double threshold;
};
/* Writes at most `cap` points, largest threshold first; returns the number of all points. */
size_t gcb_spectrum_curve(struct gcb_spectrum_point *out, size_t cap, const struct gcb_spectrum *s);

/* The share of energy in the largest bins, for a given share of all bins: the curve with linear interpolation. NAN if there
 * is no energy. */
double gcb_spectrum_kept(const struct gcb_spectrum *s, double density);

#endif
