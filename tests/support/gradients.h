#ifndef TESTS_SUPPORT_GRADIENTS_H
#define TESTS_SUPPORT_GRADIENTS_H

#include <stddef.h>
#include <stdint.h>

/* The gradients of one worker at one step: all tensors in the order of their names, one after the
 * other. */
struct gradient {
    uint64_t step;
    uint32_t worker;
    const float *x;
    uint64_t n;
    size_t tensors;
    const uint64_t *offset; /* of each tensor, and of the end */
};

/* Calls `use` for each (step, worker) of the file. Returns 0, or the reader's error after printing
 * its message to stderr. */
int gradients_each(const char *file, void (*use)(void *ctx, const struct gradient *g), void *ctx);

#endif
