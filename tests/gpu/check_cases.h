#ifndef TESTS_GPU_CHECK_CASES_H
#define TESTS_GPU_CHECK_CASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum check_kind {
    CHECK_WHOLE,
    CHECK_BRIEF, /* one of very many combinations, at few sizes */
    CHECK_WIDE,  /* at one size, at which blocks take more than one piece of work */
    CHECK_STEPS, /* as CHECK_WIDE, with error feedback */
    CHECK_GROUP, /* ResNet-50's tensors as a group */
    CHECK_SLOT,  /* slots of three workers and their sum; `count` may give the size */
};

/* A case to test on a device. */
struct check_case {
    char spec[256];
    enum check_kind kind;
    uint64_t count; /* elements; 0: the usual sizes */
};

/*
 * Lists the cases, in this order:
 *   from the registries and the parameter tables: every method at its defaults, and every choice of
 *   every codec; with few sizes, every `stride`-th of all combinations of choices and of numbers
 *   that are not the default; the hand-written cases that reach branches of launchers; groups,
 *   and slots; if asked for, the wide cases: every method at its defaults, and
 *   every choice with four of five positions kept.
 * *count is their number. The caller frees the list. NULL: no memory.
 */
struct check_case *check_cases(size_t *count, size_t stride, bool wide);

/* Writes the name of a case: its spec, and its kind if that is not the usual one. Returns out. */
char *check_case_name(char *out, size_t size, const struct check_case *c);

#endif
