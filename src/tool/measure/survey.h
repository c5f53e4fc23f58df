#ifndef SRC_TOOL_MEASURE_SURVEY_H
#define SRC_TOOL_MEASURE_SURVEY_H

#include "src/lib/base/queue.h"
#include "src/tool/measure/histogram.h"
#include "src/tool/measure/moments.h"
#include "src/tool/measure/spectrum.h"
#include "src/tool/read/source.h"

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

#endif
