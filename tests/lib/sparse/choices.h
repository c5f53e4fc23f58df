#ifndef TESTS_LIB_SPARSE_CHOICES_H
#define TESTS_LIB_SPARSE_CHOICES_H

#include <stdlib.h>
#include <string.h>

#include "src/lib/sparse/select.h"
#include "tests/support/test.h"
#include "tests/support/trip.h"

/* Helpers for tests of selections: inputs, the positions that a message keeps, and independent
 * selections by sorting. */
enum choice_input {
    GAUSS,
    LAPLACE,
    STUDENT3,
    UNIFORM,
    MOSTLY_ZERO, /* one in 1000 is not zero */
    SMOOTH_LAWS, /* number of inputs above, which have continuous magnitudes */
    TIES = SMOOTH_LAWS,
    ZERO,
    CONSTANT,
    ONE_HOT,
    TWO_LEVELS,
    DENORMAL,
    MISLEADING, /* large exactly at the places of an even sample of 70003 elements */
    CHOICE_INPUTS
};

struct choice_place {
    uint32_t magnitude;
    uint64_t index;
};

float *choice_tensor(uint64_t n, enum choice_input in, uint64_t seed);
char *choice_flags(const struct trip *t, uint64_t segment);
uint64_t choice_count(const char *flags, uint64_t n);
char *choice_of(const char *spec, const float *x, uint64_t n, const struct trip_options *o);
void choice_assert(const char *spec, const float *x, uint64_t n, const char *want,
                   const struct trip_options *o);
/* Places of x[0..n) whose sign is `sign` (0 and not zero: positive, 1: negative, 2: any), largest
 * first. */
uint64_t choice_sorted(struct choice_place *places, const float *x, uint64_t n, int sign);
uint64_t choice_least(uint64_t a, uint64_t b);
/* Sets the flags of the k largest of x[0..n) of a sign to 1. Returns the sum of their
 * magnitudes. */
double choice_largest(char *flags, const float *x, uint64_t n, int sign, uint64_t k);
uint64_t choice_count_from(const float *x, uint64_t n, uint32_t threshold);
void choice_flag_from(char *flags, const float *x, uint64_t n, uint32_t threshold);

/* Settings that must not change the result: threads, and the size of segments. */
#define CHOICE_PLANS 4
extern const struct trip_options choice_plans[CHOICE_PLANS];

#endif
