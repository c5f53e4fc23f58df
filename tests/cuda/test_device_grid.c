/*
 * Runs the wide cases of check_device on the stand-in, with grids of two blocks and smaller
 * tensors, so that blocks take several pieces of work here too (gcb::grid_over). Prints the
 * launches that had more pieces than blocks.
 */
#include <string.h>

#include "tests/cuda/device_test.h"
#include "tests/gpu/check_cases.h"
#include "tests/support/device_slot.h"

/* Elements of five tiles, for two blocks. */
#define SMALL 20011

static struct check_case *cases;
static size_t case_count;

static void schedule(size_t i)
{
    gcb_host_schedule((enum gcb_host_order)(i % 3), i);
}

/* Elements for which two blocks get about as many pieces each as 1056 blocks get at the case's
 * size. RedSync would send a small tensor raw. */
static uint64_t scaled(const struct check_case *c)
{
    const uint64_t least = strstr(c->spec, "redsync") ? 70001 : SMALL;

    return c->count / 528 < least ? least : c->count / 528;
}

static void every_case(void **state)
{
    for (size_t i = 0; i < case_count; i++) {
        const struct check_case *c = &cases[i];

        schedule(i);
        if (c->kind == CHECK_WIDE)
            device_same_wide(&device, c->spec, scaled(c), i);
        if (c->kind == CHECK_STEPS)
            device_same_feedback(&device, c->spec, SMALL, GCB_F32, 0.7);
        if (c->kind == CHECK_SLOT)
            device_same_slots(&device, c->spec, 5001);
    }
}

static int two_blocks(void **state)
{
    gcb_host_grid(2);
    cases = check_cases(&case_count, 1, true);
    return cases ? open_device(state) : 1;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case),
    };
    int failed;

    failed = cmocka_run_group_tests(tests, two_blocks, NULL);
    free(cases);
    return failed || (argc > 1 && !gcb_host_grids(argv[1]));
}
