#ifndef TESTS_GPU_CHECK_CASES_H
#define TESTS_GPU_CHECK_CASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum check_kind {
    CHECK_WHOLE,
    CHECK_BRIEF,  /* one of very many combinations: few sizes are enough */
    CHECK_WIDE,   /* at one size, where blocks that go on from piece to piece do */
    CHECK_STEPS,  /* the same with error feedback */
    CHECK_GROUP,  /* ResNet-50's tensors by one set of launches */
    CHECK_MEMORY, /* steps of a worker whose memory is on the device; with a count, of that size */
};

/* What a device is asked for. */
struct check_case {
    char spec[256];
    enum check_kind kind;
    uint64_t count; /* of elements; 0: the usual sizes */
};

/*
 * From the registries and the parameter tables: every method as it is, every choice of every codec by itself, and in
 * brief every combination of choices and every number away from its default, of those one in `stride`; and by hand
 * what reaches the branches of launchers. Then groups and memories. At last, if asked for, the wide ones: every method as
 * it is, and every choice with four of five positions kept. *count of them; freed by the caller, NULL where there is no
 * memory.
 */
struct check_case *check_cases(size_t *count, size_t stride, bool wide);

/* What a case is called: its spec, and what is done with it where that is not the usual. Returns out. */
char *check_case_name(char *out, size_t size, const struct check_case *c);

#endif
