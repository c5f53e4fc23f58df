#ifndef SRC_TOOL_MEASURE_SURVEY_H
#define SRC_TOOL_MEASURE_SURVEY_H

#include "src/lib/base/queue.h"
#include "src/tool/measure/moments.h"
#include "src/tool/measure/spectrum.h"
#include "src/tool/measure/survey.h"
#include "src/tool/read/source.h"
#include "src/tool/rows/row.h"

/* Statistics of the tensors of a dump: for each path, over all steps and workers that have the tensor. One dataset is
 * in memory at a time. */
struct gcb_survey;

struct gcb_survey_config {
    bool histogram, spectrum;
    const struct gcb_kernels *kernels; /* borrowed */
    const struct gcb_queue *queue;     /* borrowed */
};

/* `source` is borrowed until the survey is destroyed. */
int gcb_survey_create(struct gcb_survey **out, struct gcb_source *source,
                      const struct gcb_survey_config *config, struct gcb_diag *diag);
void gcb_survey_destroy(struct gcb_survey *s); /* the argument may be NULL */

/* Returns the number of paths. Paths are in the order of their first datasets. */
size_t gcb_survey_count(const struct gcb_survey *s);

struct gcb_survey_item {
    const struct gcb_tensor *first; /* the first dataset */
    uint64_t datasets;              /* number of datasets with this path */
    bool uniform;                   /* all these datasets have the same shape and type */
    struct gcb_moments moments;
    const struct gcb_histogram *histogram; /* NULL unless the config asks for histograms */
    /* NULL unless the config asks for spectra; also NULL if the datasets have different sizes. Leaves out datasets with
     * infinities or NaNs. */
    const struct gcb_spectrum *spectrum;
};

/* Reads the datasets of path i. The item's pointers are valid until the next call. */
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

/* Makes the `histogram` and `spectrum` rows (docs/rows.md). `histogram` and `spectrum` may be NULL. Returns the first
 * error of put(). */
int gcb_shape_rows_put(const struct gcb_shape_rows *to, const struct gcb_histogram *histogram,
                       const struct gcb_spectrum *spectrum, struct gcb_diag *diag);

#endif
