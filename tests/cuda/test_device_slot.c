/* Slots (gcb_device_encoder_open): their payloads, sums and residuals equal the CPU's, and calls
 * only queue work. */
#include <math.h>

#include "src/lib/coder/slot.h"
#include "tests/cuda/device_test.h"
#include "tests/support/device_slot.h"

static void as_on_the_cpu(void **state)
{
    static const uint64_t sizes[] = {1, 33, 4096, 9001};

    gcb_host_schedule(GCB_HOST_SHUFFLED, 3);
    gcb_host_grid(2); /* blocks take several pieces of work */
    for (size_t i = 0; device_slots[i]; i++)
        for (size_t k = 0; k < COUNT(sizes); k++)
            device_same_slots(&device, device_slots[i], sizes[k]);
    gcb_host_grid(0);
}

/* Calls neither wait nor allocate, and nothing runs before somebody waits. */
static void calls_only_queue(void **state)
{
    struct gcb_host_counts before, after;
    struct slot_party p;

    for (size_t i = 0; device_slots[i]; i++) {
        slot_party_open(&p, &device, device_slots[i], 5000);
        slot_party_load(&p, 0);
        gcb_host_count(&before);
        slot_party_encode(&p, 0);
        slot_party_sum(&p);
        gcb_host_count(&after);
        assert_int_equal(after.waits, before.waits);
        assert_int_equal(after.allocations, before.allocations);
        slot_party_wait(&p);
        slot_party_close(&p);
    }
}

/* Worker 1 has a NaN or an infinity: the sum is NaN, its residual stays, and the next step is as if
 * the worker had not taken part. */
static void a_tensor_that_is_not_finite(void **state)
{
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    const char *spec = "topk:theta=0.9,memory=ef";
    const uint64_t n = 5000, bytes = n * sizeof(float);

    for (size_t k = 0; k < COUNT(bad); k++) {
        struct gcb_slot_head head;
        struct slot_party p;
        float *before;

        slot_party_open(&p, &device, spec, n);
        slot_party_load(&p, 0);
        slot_party_encode(&p, 0);
        slot_party_wait(&p);
        before = malloc(bytes);
        slot_party_copy(&p, 1, before, p.worker[1].residual_dev, bytes, GCB_COPY_OUT);
        slot_party_load(&p, 1);
        p.worker[1].x[4321] = bad[k];
        slot_party_copy(&p, 1, p.worker[1].x_dev, p.worker[1].x, bytes, GCB_COPY_IN);
        slot_party_encode(&p, 1);
        slot_party_wait(&p);
        slot_party_sum(&p);
        slot_party_wait(&p);
        slot_party_copy(&p, 0, p.out, p.out_dev, bytes, GCB_COPY_OUT);
        for (uint64_t i = 0; i < n; i++)
            assert_true(isnan(p.out[i]));
        slot_party_copy(&p, 1, &head, p.slots_dev + p.slot, sizeof(head), GCB_COPY_OUT);
        assert_int_equal(head.status, GCB_E_NONFINITE);
        slot_party_copy(&p, 1, p.out, p.worker[1].residual_dev, bytes, GCB_COPY_OUT);
        assert_memory_equal(p.out, before, bytes);
        free(before);
        slot_party_close(&p);
    }
}

/* Slots are bytes from the network. */
static void damaged_slots(void **state)
{
    static const char *const fragile[] = {"topk", "range", "terngrad", "qsgd",
                                          "topk:theta=0.5,index=bitmap"};
    unsigned refused = 0;

    for (size_t i = 0; i < COUNT(fragile); i++) {
        struct slot_party p;
        uint8_t *slot;

        slot_party_open(&p, &device, fragile[i], 3000);
        slot = malloc(p.slot);
        memset(slot, 0, SLOT_HEAD);
        memset(slot + SLOT_HEAD, 0xff, p.slot - SLOT_HEAD);
        for (unsigned w = 0; w < SLOT_WORKERS; w++)
            slot_party_copy(&p, 0, p.slots_dev + w * p.slot, slot, p.slot, GCB_COPY_IN);
        slot_party_sum(&p);
        slot_party_wait(&p);
        slot_party_copy(&p, 0, p.out, p.out_dev, 3000 * sizeof(float), GCB_COPY_OUT);
        refused += isnan(p.out[0]) && isnan(p.out[2999]);
        assert_string_equal(gcb_host_fault(), "");
        free(slot);
        slot_party_close(&p);
    }
    assert_true(refused >= 2);
}

static void refuses(void **state)
{
    static const char *const without[] = {"fft",
                                          "demo",
                                          "sbc",
                                          "topk:index=golomb",
                                          "qsgd:coding=elias",
                                          "sparse:transform=dct",
                                          "dgc",
                                          "redsync",
                                          "topk:memory=dgc",
                                          "signsgd"};
    struct gcb_device_encoder *e;
    struct slot_party p;

    for (size_t i = 0; i < COUNT(without); i++) {
        const struct gcb_coder_config config = {.env = {.count = 5000, .seed = 1, .path = ""}};
        struct gcb_method method;

        e = NULL;
        assert_int_equal(gcb_method_parse(&method, without[i], NULL), 0);
        if (gcb_slots_create(&e, &device, &method, &config, NULL) != GCB_E_UNSUPPORTED)
            fail_msg("%s has slots", without[i]);
        assert_null(e);
    }
    slot_party_open(&p, &device, "topk:memory=ef", 100);
    assert_int_equal(gcb_device_encode(p.e, 0, 0, p.worker[0].x_dev, NULL, p.slots_dev,
                                       p.worker[0].scratch_dev, NULL, NULL),
                     GCB_E_INVALID);
    assert_int_equal(gcb_device_encode(p.e, 0, 0, p.worker[0].x_dev + 1, p.worker[0].residual_dev,
                                       p.slots_dev, p.worker[0].scratch_dev, NULL, NULL),
                     GCB_E_INVALID);
    assert_int_equal(gcb_device_sum_slots(p.e, p.slots_dev, 0, NULL, p.out_dev,
                                          p.worker[0].scratch_dev, NULL, NULL),
                     GCB_E_INVALID);
    assert_int_equal(gcb_device_sum_slots(NULL, p.slots_dev, 1, NULL, p.out_dev,
                                          p.worker[0].scratch_dev, NULL, NULL),
                     GCB_E_INVALID);
    slot_party_close(&p);
}

RUN_TESTS_BETWEEN(open_device, NULL, cmocka_unit_test(as_on_the_cpu),
                  cmocka_unit_test(calls_only_queue), cmocka_unit_test(a_tensor_that_is_not_finite),
                  cmocka_unit_test(damaged_slots), cmocka_unit_test(refuses),
                  cmocka_unit_test(nothing_is_left))
