/*
 * Launches whose blocks go on from piece to piece (gcb::grid_over), with two blocks: what check_device asks a GPU for at
 * sizes where they do, at sizes that the stand-in has time for. Writes which of them had more pieces than blocks.
 */
#include "tests/cuda/device_test.h"
#include "tests/gpu/check_cases.h"

static struct check_case *cases;
static size_t case_count;

static void schedule(size_t i)
{
    gcb_host_schedule((enum gcb_host_order)(i % 3), i);
}

/* About as many pieces for a block as at the case's own size, of which 1056 blocks make the most. */
static uint64_t scaled(uint64_t wide)
{
    return wide / 528 < 70001 ? 70001 : wide / 528;
}

static void every_case(void **state)
{
    (void)state;
    for (size_t i = 0; i < case_count; i++) {
        const struct check_case *c = &cases[i];

        schedule(i);
        if (c->kind == CHECK_WIDE)
            device_same_wide(&device, c->spec, scaled(c->count), i);
        if (c->kind == CHECK_STEPS)
            device_same_feedback(&device, c->spec, 70001, GCB_F32, 0.7);
        if (c->kind == CHECK_MEMORY)
            device_same_memory(&device, c->spec, 5001);
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

    if (argc > 2) /* only the tests of this name, with * and ? */
        cmocka_set_test_filter(argv[2]);
    failed = cmocka_run_group_tests(tests, two_blocks, NULL);
    free(cases);
    return failed || (argc > 1 && !gcb_host_grids(argv[1]));
}
