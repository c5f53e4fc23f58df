#ifndef SRC_TOOL_MEASURE_SURVEY_H
#define SRC_TOOL_MEASURE_SURVEY_H

#include <stdbool.h>

#include "kernels/fft/fft.h"
#include "kernels/kernels.h"
#include "src/lib/base/queue.h"
#include "src/lib/tensor/tensor.h"
#include "src/tool/read/source.h"
#include "src/tool/rows/row.h"

/*
 * Statistics of values, over any number of tensors. Infinities and NaNs are only counted. The
 * central moments of each block are computed about the block's own mean, which avoids cancellation,
 * and joined in double precision. One thread joins the blocks in the order of the calls, so results
 * are reproducible.
 */
struct gcb_moments {
    uint64_t count;     /* all elements */
    uint64_t zeros;     /* number of zeros (0 and -0) */
    uint64_t nonfinite; /* infinities and NaNs */
    double mean;
    double m2, m3, m4; /* sums of (x - mean)^2, ^3, ^4 over the finite elements */
    double max_abs;
};

/* Adds the values of x to m, which starts as a zeroed struct. */
void gcb_moments_add(struct gcb_moments *m, const struct gcb_kernels *kernels,
                     const struct gcb_view *x);
/* Adds the statistics of `other` to m. */
void gcb_moments_join(struct gcb_moments *m, const struct gcb_moments *other);

/* Figures of the finite elements. If no element is finite, l2 is 0, and mean, max_abs, deviation
 * and kurtosis are NAN. */
struct gcb_moments_figures {
    double mean, max_abs, l2;
    double deviation; /* standard deviation; divides by the number of elements, not by one less */
    double kurtosis;  /* 3 for a normal distribution; NAN if all elements are equal */
    double zeros;     /* share of zeros among all elements, finite or not; NAN without elements */
};
void gcb_moments_figures(struct gcb_moments_figures *out, const struct gcb_moments *m);

/*
 * Counts of values by sign and magnitude, with four bins for each power of two, and four bins for
 * all subnormal values. The bins are the same for all tensors, so histograms can be added. The bin
 * of a magnitude is its bit pattern without the last 21 bits.
 */
#define GCB_HISTOGRAM_SHIFT 21
#define GCB_HISTOGRAM_BINS 1020 /* bins of one sign; larger bit patterns are inf or NaN */

struct gcb_histogram {
    /* in ascending order of their values: bins of negative values, zeros (0 and -0), bins of
     * positive values */
    uint64_t bins[2 * GCB_HISTOGRAM_BINS + 1];
    uint64_t nonfinite;
    uint64_t count; /* number of all values */
};

/* Adds the values of x to h, which starts as a zeroed struct. */
void gcb_histogram_add(struct gcb_histogram *h, const struct gcb_view *x);
/* Adds the counts of `other` to h. */
void gcb_histogram_join(struct gcb_histogram *h, const struct gcb_histogram *other);

/* Returns the number of values of both signs with a magnitude in [2^e, 2^(e+1)), for -126 <= e <=
 * 127. e = -127 stands for all subnormal values. */
uint64_t gcb_histogram_octave(const struct gcb_histogram *h, int e);

/* Returns the share of `count` values among all values of h; NAN if h is empty. */
double gcb_histogram_share(const struct gcb_histogram *h, uint64_t count);

/* A bin includes its end nearer to zero, unless this end is 0, and excludes the other end. The bin
 * of zeros has low = high = 0. */
struct gcb_histogram_bin {
    double low, high;
    uint64_t count;
    double share; /* the bin's share of all values; NAN if there are no values */
};
/* Gets bin i, from 0 to 2 * GCB_HISTOGRAM_BINS. Returns false after the last bin. */
bool gcb_histogram_bin(struct gcb_histogram_bin *out, const struct gcb_histogram *h, size_t i);

/*
 * The energy of a tensor's Fourier transform, by frequency and by magnitude, summed over tensors of
 * one size (one tensor at several steps and workers). The transform is the unitary real transform
 * of the whole flattened tensor: the energies of all bins sum to the tensor's sum of squares. The
 * energy of a bin that has a mirror image counts twice.
 */
#define GCB_SPECTRUM_BANDS 128
#define GCB_SPECTRUM_LEVELS 1024

struct gcb_spectrum {
    uint64_t count; /* elements of each tensor */
    /* Number of bins: count / 2 + 1, or 0 for an empty tensor and for a length that this build
     * cannot transform (gcb_fft_can). */
    uint64_t bins;
    uint64_t tensors;                   /* number of tensors added */
    double energy[GCB_SPECTRUM_BANDS];  /* energy in each band of frequencies */
    double largest[GCB_SPECTRUM_BANDS]; /* largest magnitude in each band of frequencies */
    /* energy by magnitude: the level is the magnitude's bit pattern without the last 21 bits */
    double by_level[GCB_SPECTRUM_LEVELS];
    uint64_t bins_by_level[GCB_SPECTRUM_LEVELS];
    double total; /* energy of all bins of all tensors */
};

/* Starts empty sums for tensors of `count` elements. The struct owns no memory. */
void gcb_spectrum_init(struct gcb_spectrum *s, uint64_t count);

/* The FFT and the buffer for tensors of one size. One plan serves any number of sums. */
struct gcb_spectrum_plan {
    uint64_t count;
    struct gcb_fft *fft; /* NULL in a zeroed plan */
    float *work;         /* buffer of 2 * bins floats */
};

/*
 * Prepares *plan for tensors of `count` elements, unless the plan already is for this size, and
 * checks that there is memory to run the FFT. Does nothing for a size without bins. Zero *plan
 * before the first call. A plan takes up to 4 * (count + 2) bytes and the memory of the FFT. If
 * memory runs out, returns GCB_E_NOMEM and zeroes *plan. `kernels` must stay until the plan is
 * released.
 */
int gcb_spectrum_plan_for(struct gcb_spectrum_plan *plan, uint64_t count,
                          const struct gcb_kernels *kernels, const struct gcb_queue *queue,
                          struct gcb_diag *diag);
void gcb_spectrum_plan_fini(struct gcb_spectrum_plan *plan); /* a zeroed struct is allowed */

/* Adds a tensor without infinities and NaNs to the sums. The tensor and the plan must have the size
 * of the sums. Does nothing if that size has no bins. */
void gcb_spectrum_add(struct gcb_spectrum *s, const struct gcb_spectrum_plan *plan,
                      const struct gcb_view *x);

/* The bins with frequencies in [low, high), in cycles per element. */
struct gcb_spectrum_band {
    uint64_t bins;
    double low, high;
    double energy;
    double largest; /* largest magnitude */
    double share;   /* the band's share of the total energy; NAN if the total is 0 */
};
/* Gets band i. A short tensor has fewer than GCB_SPECTRUM_BANDS bands. Returns false after the last
 * band. */
bool gcb_spectrum_band(struct gcb_spectrum_band *out, const struct gcb_spectrum *s, size_t i);

/*
 * A point of the curve "energy in the largest bins". The bins whose magnitude is at least
 * `threshold` are the share `density` of all bins and have the share `energy_share` of the energy.
 * There is a point for each level that has bins; its threshold is the level's lower end, so the
 * point is exact.
 */
struct gcb_spectrum_point {
    double density;
    double energy_share; /* NAN if the total energy is 0 */
    double threshold;
};
/* Writes the points, largest threshold first, and returns their number. */
size_t gcb_spectrum_curve(struct gcb_spectrum_point out[GCB_SPECTRUM_LEVELS],
                          const struct gcb_spectrum *s);

/* Returns the share of the energy in the largest bins, which are the share `density` of all bins.
 * Interpolates the curve linearly. Returns NAN if the total energy is 0. */
double gcb_spectrum_kept(const struct gcb_spectrum *s, double density);

/* Statistics of the tensors of a dump: for each path, over all steps and workers that have the
 * tensor. One dataset is in memory at a time. */
struct gcb_survey;

struct gcb_survey_config {
    bool histogram, spectrum;
    const struct gcb_kernels *kernels; /* borrowed */
    const struct gcb_queue *queue;     /* borrowed */
};

/* Lists the tensors of `source`, which is borrowed until the survey is destroyed. Returns 0 or
 * GCB_E_NOMEM. */
int gcb_survey_create(struct gcb_survey **out, struct gcb_source *source,
                      const struct gcb_survey_config *config, struct gcb_diag *diag);
void gcb_survey_destroy(struct gcb_survey *s); /* the argument may be NULL */

/* Returns the number of paths. Paths are in the order of their first datasets. */
size_t gcb_survey_count(const struct gcb_survey *s);

/* The statistics of one path. */
struct gcb_survey_item {
    const struct gcb_tensor *first; /* the first dataset */
    uint64_t datasets;              /* number of datasets with this path */
    bool uniform;                   /* all these datasets have the same shape and type */
    struct gcb_moments moments;
    const struct gcb_histogram *histogram; /* NULL unless the config asks for histograms */
    /* NULL unless the config asks for spectra; also NULL if the datasets have different sizes or no
     * elements. Datasets with infinities or NaNs are left out. */
    const struct gcb_spectrum *spectrum;
};

/* Reads the datasets of path i and computes their statistics. The item's pointers are valid until
 * the next call. Returns errors of reading, or GCB_E_NOMEM. */
int gcb_survey_read(struct gcb_survey *s, size_t i, struct gcb_survey_item *out,
                    struct gcb_diag *diag);

/* Makes a `tensor` row (docs/rows.md) from an item of a survey. Release it with gcb_row_fini. */
void gcb_shape_rows_tensor(struct gcb_row *row, const struct gcb_survey_item *item);

/* The fields that all rows of a tensor share, and the receiver of the rows. */
struct gcb_shape_rows {
    const char *tensor;
    const char *of; /* "input", "decoded" or "error"; NULL leaves the field out of the rows */
    const struct gcb_method *method; /* the method that decoded the tensor; NULL without a method */
    int (*put)(void *ctx, struct gcb_row *row, struct gcb_diag *diag); /* must release the row */
    void *ctx;
};

/* Makes the `histogram` and `spectrum` rows (docs/rows.md) and passes them to `put`. `histogram`
 * and `spectrum` may be NULL. Returns the first error of `put`. */
int gcb_shape_rows_put(const struct gcb_shape_rows *to, const struct gcb_histogram *histogram,
                       const struct gcb_spectrum *spectrum, struct gcb_diag *diag);

#endif
