/* Messages of a group, which share a set of launches, are those of single calls, byte for byte. */
#include "tests/cuda/device_test.h"
#include "tests/support/device_sets.h"

/* 0 and 1 element, the sizes of normalisation layers, sizes around a tile, and more messages than a
 * warp has lanes. */
static const uint64_t sizes[] = {
    64, 0,  1,  1000, 4096, 4097, 33, 12289, 64, 64, 100, 512, 4080, 4081, 200, 64, 65, 66,
    67, 68, 69, 70,   71,   72,   73, 74,    75, 76, 77,  78,  8192, 2048, 3,   0,  5,  37000};

static void quantisers_as_alone(void **state)
{
    for (size_t i = 0; device_quantisers[i].spec; i++)
        for (int round = 0; round < 2; round++) {
            const struct device_plan plan = {.device = &device,
                                             .specs = &device_quantisers[i].spec,
                                             .spec_count = 1,
                                             .sizes = sizes,
                                             .count = COUNT(sizes),
                                             .nonfinite = GCB_NONFINITE_RAW,
                                             .feedback = round == 1};

            gcb_host_schedule((enum gcb_host_order)((i + (size_t)round) % 3), i);
            /* and the check for infinities */
            assert_int_equal(device_set_as_alone(&plan), device_quantisers[i].launches + 1);
        }
    gcb_host_schedule(GCB_HOST_FORWARD, 1);
}

/* Consecutive messages of a method form a group; messages of methods without groups are encoded
 * alone. */
static void methods_in_turn(void **state)
{
    static const char *const specs[] = {"fp16",
                                        "fp16",
                                        "qsgd",
                                        "qsgd:bucket=100",
                                        "qsgd:bits=8",
                                        "topk",
                                        "qsgd:coding=elias",
                                        "qsgd:coding=elias"};
    static const uint64_t some[] = {100, 200, 300, 400, 500, 600, 700, 800};
    const struct device_plan plan = {.device = &device,
                                     .specs = specs,
                                     .spec_count = COUNT(specs),
                                     .sizes = some,
                                     .count = COUNT(some),
                                     .nonfinite = GCB_NONFINITE_RAW};

    /* fp16 in pairs, qsgd with both buckets, then one by one; each with a check for infinities */
    assert_int_equal(device_set_as_alone(&plan), 2 + 2 + 2 + 10 + 5 + 5);
}

/* With too little scratch or too few tables there are more groups, and the same messages. */
static void little_room(void **state)
{
    static const char *const specs[] = {"terngrad"};
    struct device_plan plan = {.device = &device,
                               .specs = specs,
                               .spec_count = 1,
                               .sizes = sizes,
                               .count = COUNT(sizes),
                               .nonfinite = GCB_NONFINITE_RAW};
    struct device_set s;

    plan.scratch = 2048; /* slightly more than the largest message needs */
    assert_in_range(device_set_as_alone(&plan), 8, 4 * COUNT(sizes) / 2);
    plan.scratch = 0;
    device_set_open(&s, &plan);
    device_set_upload(&s);
    gcb_host_idle(true);
    assert_int_equal(device_set_queue(&s, &plan), 4);
    assert_int_equal(device_set_queue(&s, &plan),
                     4 * COUNT(sizes)); /* without a finish in between: tables are full */
    assert_int_equal(gcb_device_batch_finish(s.batch, NULL), 0);
    assert_int_equal(device_set_queue(&s, &plan), 4);
    gcb_host_idle(false);
    device_set_close(&s);
}

/* A group refuses what single calls refuse. */
static void refusals(void **state)
{
    static const char *const specs[] = {"fp16", "topk:values=fp16"};
    static const uint64_t some[] = {10, 20, 30};
    struct device_plan plan = {
        .device = &device, .specs = specs, .spec_count = 1, .sizes = some, .count = COUNT(some)};
    struct device_set s;

    device_set_open(&s, &plan);
    s.m[1].i = 3;
    assert_int_equal(gcb_device_group_encode_async(s.coder, &device_set_step, s.m, s.count, NULL),
                     GCB_E_INTERNAL);
    s.m[1].i = 1;
    s.m[1].residual_dev = s.m[1].in_dev; /* not used, because the coder was made without feedback */
    assert_int_equal(gcb_device_group_encode_async(s.coder, &device_set_step, s.m, s.count, NULL),
                     GCB_E_MISMATCH);
    s.m[1].residual_dev = NULL;
    device_set_close(&s);
    plan.spec_count = 2;
    plan.scratch = 1;
    device_set_open(&s, &plan);
    assert_int_equal(gcb_device_group_encode_async(s.coder, &device_set_step, s.m, s.count, NULL),
                     GCB_E_INTERNAL); /* scratch for less than the smallest message */
    device_set_close(&s);
}

/* Encodes hostile tensors, damages the start of payload `damaged` if there is one, and decodes as a
 * group and alone. */
static unsigned decoded_as_alone(const struct device_plan *plan, size_t damaged)
{
    int status[2][DEVICE_SET_MOST];
    struct device_set set[2];
    unsigned launches = 0;

    for (int alone = 0; alone < 2; alone++) {
        unsigned n;

        device_set_open(&set[alone], plan);
        device_set_upload(&set[alone]);
        device_set_encode(&set[alone], plan);
        device_set_open_decoders(&set[alone]);
        if (damaged < plan->count)
            assert_int_equal(gcb_device_batch_upload(set[alone].batch,
                                                     set[alone].m[damaged].payload_dev,
                                                     "\xff\xff\xff\xff", 4, NULL),
                             0);
        n = device_set_decode(&set[alone], alone, status[alone]);
        launches = alone ? launches : n;
    }
    assert_memory_equal(status[0], status[1], plan->count * sizeof(**status));
    for (size_t i = 0; i < plan->count; i++)
        assert_int_equal(status[0][i], i == damaged ? GCB_E_CORRUPT : 0);
    for (size_t i = 0; i < plan->count; i++)
        if (!status[0][i])
            device_set_same_bytes(&set[0], &set[1], set[0].m[i].in_dev, set[1].m[i].in_dev,
                                  set[0].n[i] * sizeof(float));
    device_set_close(&set[0]);
    device_set_close(&set[1]);
    return launches;
}

static void decoded_together(void **state)
{
    static const uint64_t coded[] = {64, 4097, 100, 12289};

    for (size_t i = 0; device_quantisers[i].spec; i++) {
        const bool scaled = i >= 3; /* only these have a scale; a changed fp32 value is valid */
        struct device_plan plan = {.device = &device,
                                   .specs = &device_quantisers[i].spec,
                                   .spec_count = 1,
                                   .sizes = sizes,
                                   .count = COUNT(sizes),
                                   .nonfinite = GCB_NONFINITE_RAW};

        gcb_host_schedule((enum gcb_host_order)(i % 3), i);
        /* some are stored: those that are not finite, and very small tensors */
        decoded_as_alone(&plan, DEVICE_SET_MOST);
        plan.sizes = coded;
        plan.count = COUNT(coded); /* the fifth kind of tensor is not finite */
        assert_int_equal(decoded_as_alone(&plan, scaled ? 1 : DEVICE_SET_MOST), 1);
    }
    gcb_host_schedule(GCB_HOST_FORWARD, 1);
}

/* ResNet-50's 161 tensors, each a message: one set of launches for each quantiser. */
static void a_network_takes_one_set(void **state)
{
    uint64_t n[DEVICE_SET_MOST];

    device_set_resnet50(n, UINT64_MAX);
    gcb_host_idle(true);
    for (size_t i = 0; device_quantisers[i].spec; i++) {
        const struct device_plan plan = {.device = &device,
                                         .specs = &device_quantisers[i].spec,
                                         .spec_count = 1,
                                         .sizes = n,
                                         .count = DEVICE_SET_MOST,
                                         .nonfinite = GCB_NONFINITE_TRUSTED};
        struct device_set s;

        device_set_open(&s, &plan);
        assert_int_equal(device_set_queue(&s, &plan), device_quantisers[i].launches);
        device_set_close(&s);
    }
    gcb_host_idle(false);
}

RUN_TESTS_BETWEEN(open_device, NULL, cmocka_unit_test(quantisers_as_alone),
                  cmocka_unit_test(decoded_together), cmocka_unit_test(methods_in_turn),
                  cmocka_unit_test(little_room), cmocka_unit_test(refusals),
                  cmocka_unit_test(a_network_takes_one_set))
