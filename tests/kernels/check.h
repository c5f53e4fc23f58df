#ifndef TESTS_KERNELS_CHECK_H
#define TESTS_KERNELS_CHECK_H

/*
 * The shared body of the kernel checks: each program tests one family, variant against C, on hostile
 * input. `gcbench bench --kernels` times what they check.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One row per set of flags to compare with C (flags 0); the last row has name NULL. Only rows that this
 * CPU can run are returned, each once. */
struct check_isa {
    const char *name;
    unsigned flags;
};
const struct check_isa *check_isas(void);

enum check_fill {
    FILL_NOISE,     /* normal-ish values of mixed scale */
    FILL_HOSTILE,   /* +-0, denormals, ties, huge, max finite, then noise */
    FILL_TIES,      /* few distinct magnitudes */
    FILL_ZERO,      /* +0 and -0 */
    FILL_NONFINITE, /* hostile with infinities and NaNs of both signs */
    FILL_COUNT
};
void check_fill(float *x, size_t n, enum check_fill fill, uint64_t seed);

/* A repeatable 64-bit generator (splitmix64) for tests. */
uint64_t check_random(uint64_t *state);

/* Sizes that cover every vector tail and some blocks: 0..130, around 4096, around 3 * 4096. */
#define CHECK_SIZES 160
size_t check_size(size_t i);

/* Compares `bytes` bytes; on a mismatch prints family, kernel, variant, n, fill and the first differing
 * byte, and counts a failure. Returns whether equal. */
bool check_equal(const char *kernel, const char *isa, size_t n, enum check_fill fill,
                 const void *want, const void *got, size_t bytes);

/* For a custom failure text (printf style). */
void check_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Counts one check; where it does not hold, prints the text. Returns `holds`. */
bool check_that(bool holds, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What main of a check is: calls body(), prints "N passed, M failed", returns 0 or 1. Every check_equal and
 * check_that counts as one. */
int check_main(const char *family, void (*body)(void));

#endif
