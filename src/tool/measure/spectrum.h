#ifndef SRC_TOOL_MEASURE_SPECTRUM_H
#define SRC_TOOL_MEASURE_SPECTRUM_H

#include <stdbool.h>

#include "kernels/fft/fft.h"
#include "src/lib/base/queue.h"
#include "src/lib/tensor/tensor.h"

/*
 * The energy of a tensor's Fourier transform, by frequency and by magnitude, summed over tensors of one size (one
 * tensor at several steps and workers). The transform is the unitary real transform of the whole flattened tensor: the
 * energies of all bins sum to the tensor's sum of squares. The energy of a bin that has a mirror image counts twice.
 */
#define GCB_SPECTRUM_BANDS 128
#define GCB_SPECTRUM_LEVELS 1024

struct gcb_spectrum {
    uint64_t count; /* elements of each tensor */
    uint64_t bins;  /* number of bins: count / 2 + 1, or 0 for an empty tensor */
    uint64_t tensors;
    double energy[GCB_SPECTRUM_BANDS];  /* energy in each band of frequencies */
    double largest[GCB_SPECTRUM_BANDS]; /* largest magnitude in each band of frequencies */
    /* energy by magnitude: the level is the magnitude's bit pattern without the last 21 bits */
    double by_level[GCB_SPECTRUM_LEVELS];
    uint64_t bins_by_level[GCB_SPECTRUM_LEVELS];
    double total; /* total energy */
};

/* Starts empty sums for tensors of `count` elements. Nothing to release. */
void gcb_spectrum_init(struct gcb_spectrum *s, uint64_t count);

/* The FFT and the buffer for tensors of one size. One plan serves any number of sums. */
struct gcb_spectrum_plan {
    uint64_t count;
    struct gcb_fft *fft; /* NULL for an empty tensor */
    float *work;         /* buffer of 2 * bins floats */
};

/*
 * Prepares *plan for tensors of `count` elements, unless it already is for this size, and checks that there is memory
 * to run it. Zero *plan before the first call. A plan takes 4 * (count + 2) bytes and the memory of the FFT. If memory
 * runs out, returns GCB_E_NOMEM and zeroes *plan.
 */
int gcb_spectrum_plan_for(struct gcb_spectrum_plan *plan, uint64_t count,
                          const struct gcb_queue *queue, struct gcb_diag *diag);
void gcb_spectrum_plan_fini(struct gcb_spectrum_plan *plan); /* a zeroed struct is allowed */

/* Adds a tensor. Its size must be that of the sums and of the plan, and it must have no infinities and NaNs. */
void gcb_spectrum_add(struct gcb_spectrum *s, const struct gcb_spectrum_plan *plan,
                      const struct gcb_view *x);

/* Gets band i, which has the frequencies [low, high) in cycles per element. A short tensor has fewer than
 * GCB_SPECTRUM_BANDS bands. Returns false after the last band. */
struct gcb_spectrum_band {
    uint64_t bins;
    double low, high;
    double energy, largest;
    double share; /* the band's share of the total energy; NAN if the total is 0 */
};
bool gcb_spectrum_band(struct gcb_spectrum_band *out, const struct gcb_spectrum *s, size_t i);

/*
 * A point of the curve "energy in the largest bins". The bins whose magnitude is at least `threshold` are the share
 * `density` of all bins and have the share `energy_share` of the energy. There is a point for each level that has bins;
 * its threshold is the level's lower end, so the point is exact.
 */
struct gcb_spectrum_point {
    double density;
    double energy_share;
    double threshold;
};
/* Writes the points, largest threshold first, and returns their number. */
size_t gcb_spectrum_curve(struct gcb_spectrum_point out[GCB_SPECTRUM_LEVELS],
                          const struct gcb_spectrum *s);

/* Returns the share of the energy in the largest bins, if `density` is the share of bins. Interpolates the curve
 * linearly. Returns NAN if the energy is 0. */
double gcb_spectrum_kept(const struct gcb_spectrum *s, double density);

#endif
