#ifndef TESTS_SUPPORT_GRADIENTS_H
#define TESTS_SUPPORT_GRADIENTS_H

#include <stddef.h>
#include <stdint.h>

/* What one worker dumped at one step: all its tensors in the order of their names, one behind the other. */
struct gradient {
    uint64_t step;
    uint32_t worker;
    const float *x;
    uint64_t n;
    size_t tensors;
    const uint64_t *offset; /* of each tensor; one more for the end */
};

/* Gives each (step, worker) of the file to `use`. 0, or the reader's error, whose words go to stderr. */
int gradients_each(const char *file, void (*use)(void *ctx, const struct gradient *g), void *ctx);

#endif
