#ifndef TESTS_GPU_CHECK_ONE_H
#define TESTS_GPU_CHECK_ONE_H

#include "src/lib/coder/device_coder.h"
#include "tests/gpu/check_apart.h"
#include "tests/gpu/check_cases.h"

/* How much is tested. There is a depth for a GPU, one for compute-sanitizer, and one for the
 * stand-in, which is slow. */
struct check_depth {
    const char *name;
    uint64_t sizes[16], fed[8]; /* elements; `fed`: in steps with error feedback */
    uint64_t few[8];            /* elements of brief cases; each size has another content */
    uint64_t grouped;           /* most elements per tensor of a group */
    size_t stride;              /* every stride-th combination is tested */
    bool once;                  /* test all cases as briefly as brief ones */
    bool wide;                  /* also test wide cases */
};

/* The depth with this name; "full" is the first. NULL: none has this name. */
const struct check_depth *check_find_depth(const char *name);

/* Tests a case on the device, inside a cmocka test. Its number in the whole list gives it its
 * random data. Sets all of *o except the time. */
void check_one(const struct gcb_device *device, const struct check_depth *depth,
               const struct check_case *c, size_t number, struct outcome *o);

#endif
