#ifndef TESTS_GPU_CHECK_CASES_H
#define TESTS_GPU_CHECK_CASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a device is asked for. */
struct check_case {
    char spec[256];
    bool brief;    /* one of very many combinations: few sizes are enough */
    uint64_t wide; /* not 0: at this size alone, where blocks that go on from piece to piece do */
};

/*
 * From the registries and the parameter tables: every method as it is, every choice of every codec by itself, and in
 * brief every combination of choices and every number away from its default, of those one in `stride`; and by hand
 * what reaches the branches of launchers. At last, if asked for, the wide ones: every method as it is, and every choice
 * with four of five positions kept. *count of them; freed by the caller, NULL where there is no memory.
 */
struct check_case *check_cases(size_t *count, size_t stride, bool wide);

#endif
