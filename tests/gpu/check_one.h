#ifndef TESTS_GPU_CHECK_ONE_H
#define TESTS_GPU_CHECK_ONE_H

#include "src/lib/device/device_coder.h"
#include "tests/gpu/check_apart.h"
#include "tests/gpu/check_cases.h"

/* How much of it: a GPU; a GPU under compute-sanitizer; the stand-in, which is slow. */
struct check_depth {
    const char *name;
    uint64_t sizes[16], fed[8]; /* elements; of steps with error feedback */
    uint64_t few[8];            /* of brief cases, each with another kind of content */
    uint64_t grouped;           /* most elements of a tensor in a group */
    size_t stride;              /* one in so many of the combinations */
    bool once;                  /* no method is asked for more than brief ones */
    bool wide;                  /* those at sizes where blocks go on from piece to piece too */
};

/* "full" is the first; NULL: there is none of this name. */
const struct check_depth *check_find_depth(const char *name);

/* Asks the device for a case, inside a cmocka test; what came of it to *o, but for the time. */
void check_one(const struct gcb_device *device, const struct check_depth *depth,
               const struct check_case *c, struct outcome *o);

#endif
