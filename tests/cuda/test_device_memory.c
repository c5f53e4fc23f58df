/* Steps of workers whose tensors stay on the stand-in: every kind of memory gives what it gives on
 * the CPU, bit for bit. */

#include "src/lib/memory/device_memory.h"
#include "tests/cuda/device_test.h"

static void every_kind(void **state)
{
    static const uint64_t counts[] = {0, 1, 33, 4099};

    for (size_t i = 0; device_memories[i]; i++)
        for (size_t k = 0; k < COUNT(counts); k++) {
            gcb_host_schedule((enum gcb_host_order)((i + k) % 3), i);
            device_same_memory(&device, device_memories[i], counts[k]);
        }
    device_same_memory(&device, "dgc:theta=0.99,clip-norm=1",
                       3 * 4096 * 8 + 5); /* sums over several blocks */
    gcb_host_schedule(GCB_HOST_FORWARD, 1);
}

/* Each allocation fails once: an error, and no leak. */
static void memory_that_does_not_suffice(void **state)
{
    const struct gcb_memory_params params = {.kind = GCB_MEMORY_DGC, .clip = 1.0};
    const struct gcb_device_batch_config room = {.messages = 1};
    static const uint64_t left[] = {0, 5000, 8000, 8004};
    struct gcb_device_memory *m = NULL;
    struct gcb_device_batch *b = NULL;
    struct gcb_host_counts before, after;

    assert_int_equal(gcb_device_batch_create(&b, &device, &room, NULL), 0);
    gcb_host_count(&before);
    for (size_t i = 0; i < COUNT(left); i++) {
        gcb_host_limit(before.bytes + (left[i] ? left[i] : 1));
        assert_int_equal(gcb_device_memory_create(&m, b, &params, 1000, 1, NULL), GCB_E_NOMEM);
        assert_null(m);
        gcb_host_count(&after);
        assert_int_equal(before.bytes, after.bytes);
    }
    gcb_host_limit(0);
    gcb_device_memory_destroy(NULL);
    gcb_device_batch_destroy(b);
}

static void gmc_stays_on_the_cpu(void **state)
{
    const struct gcb_memory_params params = {.kind = GCB_MEMORY_GMC};
    const struct gcb_device_batch_config room = {.messages = 1};
    struct gcb_device_memory *m = NULL;
    struct gcb_device_batch *b = NULL;

    assert_int_equal(gcb_device_batch_create(&b, &device, &room, NULL), 0);
    assert_int_equal(gcb_device_memory_create(&m, b, &params, 10, 1, NULL), GCB_E_UNSUPPORTED);
    assert_null(m);
    gcb_device_batch_destroy(b);
}

RUN_TESTS_BETWEEN(open_device, NULL, cmocka_unit_test(every_kind),
                  cmocka_unit_test(memory_that_does_not_suffice),
                  cmocka_unit_test(gmc_stays_on_the_cpu), cmocka_unit_test(nothing_is_left))
