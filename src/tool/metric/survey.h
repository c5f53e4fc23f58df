#ifndef SRC_TOOL_METRIC_SURVEY_H
#define SRC_TOOL_METRIC_SURVEY_H

#include "src/lib/base/queue.h"
#include "src/tool/dump/source.h"
#include "src/tool/metric/histogram.h"
#include "src/tool/metric/moments.h"
#include "src/tool/metric/spectrum.h"

/*
 * What is in a dump: its tensors by path, each over all steps and workers that have it. One path is read
 * at a time, one dataset at a time.
 */
struct gcb_survey;

struct gcb_survey_config {
    bool histogram, spectrum;
    const struct gcb_kernels *kernels; /* borrowed, as is the queue */
    const struct gcb_queue *queue;
};

/* `source` is borrowed as long as the survey. */
int gcb_survey_create(struct gcb_survey **out, struct gcb_source *source,
                      const struct gcb_survey_config *config, struct gcb_diag *diag);
void gcb_survey_destroy(struct gcb_survey *s); /* NULL is fine */

/* How many paths there are; they come in the order of their first dataset. */
size_t gcb_survey_count(const struct gcb_survey *s);

struct gcb_survey_item {
    const struct gcb_tensor *first; /* of the datasets */
    uint64_t datasets;
    bool uniform; /* all have the first's shape and type */
    struct gcb_moments moments;
    const struct gcb_histogram *histogram; /* NULL unless asked for */
    /* NULL unless asked for, and where datasets differ in size; those that are not finite are left out */
    const struct gcb_spectrum *spectrum;
};

/* Reads path i. What the item points to is valid until the next call. */
int gcb_survey_read(struct gcb_survey *s, size_t i, struct gcb_survey_item *out,
                    struct gcb_diag *diag);

#endif
