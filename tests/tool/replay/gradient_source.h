#ifndef TESTS_TOOL_REPLAY_GRADIENT_SOURCE_H
#define TESTS_TOOL_REPLAY_GRADIENT_SOURCE_H

#include <stdlib.h>
#include <string.h>

#include "src/tool/replay/mean.h"
#include "tests/support/test.h"

/*
 * A dump in memory whose gradients are known: what all workers share, and noise of each worker.
 * gradient_source.c stands in for src/tool/read/source.c.
 */
#define GRADIENT_TENSORS 64 /* most of a worker */

struct gcb_source {
    size_t steps, tensors;
    unsigned workers;
    uint64_t counts[GRADIENT_TENSORS];
    struct gcb_tensor *items; /* steps x workers x tensors */
    float **data;             /* the same */
    bool parts;               /* parts of tensors can be read */
    unsigned whole_reads, part_reads;
};

/* Values are normal: `shared` is their standard deviation over elements, `noise` that of each
 * worker around them. */
void gradient_source_make(struct gcb_source *s, size_t steps, unsigned workers,
                          const uint64_t *counts, size_t tensors, double shared, double noise);
void gradient_source_free(struct gcb_source *s);
float *gradient_source_at(struct gcb_source *s, size_t step, unsigned worker, size_t tensor);

/* What gcb_gradients_read needs besides. */
struct gradient_reader {
    struct gcb_kernels kernels;
    struct gcb_queue queue;
    struct gcb_layout layout;
    struct gcb_diag diag;
};
/* Reads gradients; returns the error of gcb_gradients_read. Release *r with gradient_reader_free
 * when *g is no longer used. */
int gradient_read(struct gradient_reader *r, struct gcb_gradients *g, struct gcb_source *s,
                  const struct gcb_gradients_config *config);
void gradient_reader_free(struct gradient_reader *r);

#endif
