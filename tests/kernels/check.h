#ifndef TESTS_KERNELS_CHECK_H
#define TESTS_KERNELS_CHECK_H

/*
 * Shared by the kernel checks: each program tests one family, comparing each variant with C on
 * hostile input. `gcbench bench --kernels` times the same kernels.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The sets of flags to compare with C (flags 0), as far as this CPU can run them. The last row has
 * name NULL. */
struct check_isa {
    const char *name;
    unsigned flags;
};
const struct check_isa *check_isas(void);

enum check_fill {
    FILL_NOISE,     /* roughly normal values of mixed scale */
    FILL_HOSTILE,   /* +-0, denormals, ties, huge values, the largest float, then noise */
    FILL_TIES,      /* few distinct magnitudes */
    FILL_ZERO,      /* +0 and -0 */
    FILL_NONFINITE, /* hostile, with infinities and NaNs of both signs */
    FILL_COUNT
};
void check_fill(float *x, size_t n, enum check_fill fill, uint64_t seed);

/* acc + weight * x. The product and the sum are rounded separately. */
float check_weighted_sum(float acc, float x, float weight);

/* A repeatable 64-bit generator for tests (splitmix64). */
uint64_t check_random(uint64_t *state);

/* Sizes that cover every vector tail and some blocks: 0..130, around 4096, around 3 * 4096. */
#define CHECK_SIZES 160
size_t check_size(size_t i);

/* Compares `bytes` bytes. On a mismatch, counts a failure and prints family, kernel, variant, n,
 * fill and the first differing byte. Returns whether they are equal. */
bool check_equal(const char *kernel, const char *isa, size_t n, enum check_fill fill,
                 const void *want, const void *got, size_t bytes);

/* Counts a failure and prints a text (printf style). */
void check_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Counts one check. If `holds` is false, prints the text. Returns `holds`. */
bool check_that(bool holds, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The main function of a check: calls body(), prints "N passed, M failed", returns 0 or 1. Each
 * check_equal and check_that counts as one. */
int check_main(const char *family, void (*body)(void));

#endif
