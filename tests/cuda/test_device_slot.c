/* Slots (gcb_device_encoder_open): their payloads, sums and residuals equal the CPU's, and calls
 * only queue work. */
#include <math.h>

#include "src/lib/coder/slot.h"
#include "tests/cuda/device_test.h"
#include "tests/support/device_slot.h"

static void as_on_the_cpu(void **state)
{
    static const uint64_t sizes[] = {0, 1, 33, 8193};

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

/* The sum of `workers` slots and of their messages. The slots are copies of the party's. */
static void compare_many(struct slot_party *p, unsigned workers, const float *weights)
{
    uint8_t *slots_dev, *scratch_dev, *slot = malloc(p->slot);

    assert_int_equal(device.module->memory.alloc((void **)&slots_dev, workers * p->slot, NULL), 0);
    assert_int_equal(device.module->memory.alloc((void **)&scratch_dev,
                                                 gcb_device_scratch_bytes(p->e, workers), NULL),
                     0);
    for (unsigned i = 0; i < workers; i++) {
        const struct slot_worker *w = &p->worker[i % SLOT_WORKERS];

        slot_party_copy(p, 0, slot, p->slots_dev + i % SLOT_WORKERS * p->slot, p->slot,
                        GCB_COPY_OUT);
        slot_party_copy(p, 0, slots_dev + i * p->slot, slot, p->slot, GCB_COPY_IN);
        assert_int_equal(gcb_sum_add(p->sum, w->message, w->length, weights[i], NULL), 0);
    }
    assert_int_equal(gcb_sum_finish(p->sum, p->want, NULL), 0);
    assert_int_equal(gcb_device_sum_slots(p->e, slots_dev, workers, weights, p->out_dev,
                                          scratch_dev, NULL, NULL),
                     0);
    slot_party_copy(p, 0, p->out, p->out_dev, p->n * sizeof(float), GCB_COPY_OUT);
    assert_memory_equal(p->out, p->want, p->n * sizeof(float));
    device.module->memory.free(slots_dev);
    device.module->memory.free(scratch_dev);
    free(slot);
}

/* Sums of more slots than one launch adds, with weights. */
static void many_workers(void **state)
{
    const unsigned workers = 2 * GCB_CUDA_PAYLOADS + 3;
    float weights[2 * GCB_CUDA_PAYLOADS + 3];
    struct slot_party p;

    for (unsigned i = 0; i < workers; i++)
        weights[i] = 0.1f * (float)i - 2.0f;
    for (size_t i = 0; device_slots[i]; i++) {
        slot_party_open(&p, &device, device_slots[i], 300);
        slot_party_load(&p, 0);
        slot_party_encode(&p, 0);
        slot_party_wait(&p);
        for (unsigned k = 0; k < SLOT_WORKERS; k++)
            assert_int_equal(gcb_encode(p.worker[k].cpu, 0, k, p.worker[k].x, p.worker[k].message,
                                        gcb_encoder_bound(p.worker[k].cpu), &p.worker[k].length,
                                        NULL),
                             0);
        compare_many(&p, workers, weights);
        slot_party_close(&p);
    }
}

/* Torch gives a NULL pointer for an empty tensor. */
static void empty_tensors(void **state)
{
    struct slot_party p;

    slot_party_open(&p, &device, "topk:memory=ef", 0);
    assert_int_equal(
        gcb_device_encode(p.e, 0, 0, NULL, NULL, p.slots_dev, p.worker[0].scratch_dev, NULL, NULL),
        0);
    assert_int_equal(
        gcb_device_sum_slots(p.e, p.slots_dev, 1, NULL, NULL, p.worker[0].scratch_dev, NULL, NULL),
        0);
    slot_party_close(&p);
}

/* The thread goes on with its own device. */
static void device_of_the_thread(void **state)
{
    struct slot_party p;
    struct gcb_device again;
    unsigned used;

    slot_party_open(&p, &device, "fp16", 100);
    assert_int_equal(device.module->use(1, NULL), 0);
    slot_party_encode(&p, 0);
    device.module->used(&used, NULL);
    assert_int_equal(used, 1);
    slot_party_sum(&p);
    device.module->used(&used, NULL);
    assert_int_equal(used, 1);
    assert_int_equal(gcb_device_adopt(&again, device.module, 0, NULL), 0);
    assert_int_equal(again.before, 1);
    slot_party_wait(&p);
    slot_party_close(&p);
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
    const float endless = INFINITY;
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
    assert_int_equal(gcb_device_sum_slots(p.e, p.slots_dev, 1, &endless, p.out_dev,
                                          p.worker[0].scratch_dev, NULL, NULL),
                     GCB_E_INVALID);
    assert_int_equal(gcb_device_sum_slots(NULL, p.slots_dev, 1, NULL, p.out_dev,
                                          p.worker[0].scratch_dev, NULL, NULL),
                     GCB_E_INVALID);
    slot_party_close(&p);
}

RUN_TESTS_BETWEEN(open_device, NULL, cmocka_unit_test(as_on_the_cpu),
                  cmocka_unit_test(calls_only_queue), cmocka_unit_test(a_tensor_that_is_not_finite),
                  cmocka_unit_test(damaged_slots), cmocka_unit_test(many_workers),
                  cmocka_unit_test(empty_tensors), cmocka_unit_test(device_of_the_thread),
                  cmocka_unit_test(refuses), cmocka_unit_test(nothing_is_left))
