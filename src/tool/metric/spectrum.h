#ifndef SRC_TOOL_METRIC_SPECTRUM_H
#define SRC_TOOL_METRIC_SPECTRUM_H

#include <stdbool.h>

#include "kernels/fft/fft.h"
#include "src/lib/base/queue.h"
#include "src/lib/tensor/tensor.h"

/*
 * The energy of a tensor's Fourier transform, by frequency and by magnitude, added up over several tensors
 * of one size (the same tensor at other steps and workers). The transform is the real one of the whole
 * flattened tensor, unitary: energies of all bins add up to the tensor's own sum of squares. A bin between
 * the first and the last stands for itself and its mirror image, so its energy counts twice.
 */
#define GCB_SPECTRUM_BANDS 128
#define GCB_SPECTRUM_LEVELS 1024

struct gcb_spectrum {
    uint64_t count; /* elements of each tensor */
    uint64_t bins;  /* count / 2 + 1; 0 for an empty tensor */
    uint64_t tensors;
    double energy[GCB_SPECTRUM_BANDS];  /* by frequency */
    double largest[GCB_SPECTRUM_BANDS]; /* magnitude */
    /* energy, by magnitude: a level is a pattern's first bits */
    double by_level[GCB_SPECTRUM_LEVELS];
    uint64_t bins_by_level[GCB_SPECTRUM_LEVELS];
    double total; /* energy */
};

/* Sums of nothing, for tensors of `count` elements. Plain data. */
void gcb_spectrum_init(struct gcb_spectrum *s, uint64_t count);

/* The transform of one size, for any number of sums of that size. */
struct gcb_spectrum_plan {
    uint64_t count;
    struct gcb_fft *fft; /* NULL for an empty tensor */
    float *work;         /* 2 * bins */
};

/*
 * Makes *plan one for tensors of `count` elements if it is not one already, and looks whether there is memory to use it.
 * Starts zeroed. Takes 4 * (count + 2) bytes and what the FFT needs. GCB_E_NOMEM, and *plan is zeroed then.
 */
int gcb_spectrum_plan_for(struct gcb_spectrum_plan *plan, uint64_t count,
                          const struct gcb_queue *queue, struct gcb_diag *diag);
void gcb_spectrum_plan_fini(struct gcb_spectrum_plan *plan); /* zeroed is fine */

/* Adds a tensor, all finite; its count is that of the sums and of the plan. */
void gcb_spectrum_add(struct gcb_spectrum *s, const struct gcb_spectrum_plan *plan,
                      const struct gcb_view *x);

/* Band i of the bands that hold bins: bins [first, last) in cycles per element [low, high). False past the
 * end. */
struct gcb_spectrum_band {
    uint64_t bins;
    double low, high;
    double energy, largest;
    double share; /* of all energy; NAN of none */
};
bool gcb_spectrum_band(struct gcb_spectrum_band *out, const struct gcb_spectrum *s, size_t i);

/*
 * What keeping the largest bins keeps: their share of all bins, and the share of energy they hold, with the
 * magnitude at which the line is drawn. One point per level that has bins; levels are a quarter of a
 * power of two wide, and thresholds are their lower edges, so each point is exact.
 */
struct gcb_spectrum_point {
    double density;
    double energy_share;
    double threshold;
};
/* Fills at most `cap` points, the highest magnitudes first; returns how many there are. */
size_t gcb_spectrum_curve(struct gcb_spectrum_point *out, size_t cap, const struct gcb_spectrum *s);

/* The share of energy in the largest bins that make up this share of all bins, between two points of the
 * curve on the straight line. NAN where there is no energy. */
double gcb_spectrum_kept(const struct gcb_spectrum *s, double density);

#endif
