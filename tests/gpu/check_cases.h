#ifndef TESTS_GPU_CHECK_CASES_H
#define TESTS_GPU_CHECK_CASES_H

#include <stdbool.h>
#include <stddef.h>

/* What a device is asked for. */
struct check_case {
    char spec[256];
    bool brief; /* one of very many combinations: few sizes are enough */
};

/*
 * From the registries and the parameter tables: every method as it is, every choice of every codec by itself, and in
 * brief every combination of choices and every number away from its default, of those one in `stride`; and by hand
 * what reaches the branches of launchers. *count of them; freed by the caller, NULL where there is no memory.
 */
struct check_case *check_cases(size_t *count, size_t stride);

#endif
