/* All-reduces on the device equal the CPU's: every method that has one, weights, infinities,
 * hostile values. */
#include <math.h>

#include "tests/cuda/device_test.h"
#include "tests/support/device_reduce.h"

static const float unequal[] = {0.3f, -1.25f, 0.0f, 3.0f, 1e-3f, 0.125f, 0.7f, 2.0f, 0.01f};

static void same(const char *spec, uint64_t n, const struct reduce_options *o)
{
    assert_int_equal(device_same_reduce(&device, spec, n, o), 0);
}

/* A thread has 8 or 16 elements, a tile 4096. */
static void each_length(void **state)
{
    static const uint64_t lengths[] = {0, 1, 7, 8, 9, 16, 17, 100, 4095, 4096, 4097, 9001};

    for (size_t i = 0; device_reduces[i]; i++)
        for (size_t k = 0; k < COUNT(lengths); k++) {
            gcb_host_schedule((enum gcb_host_order)((i + k) % (GCB_HOST_SHUFFLED + 1)), k);
            same(device_reduces[i], lengths[k], &(struct reduce_options){.workers = 2});
        }
}

static void each_number_of_workers(void **state)
{
    for (size_t i = 0; device_reduces[i]; i++)
        for (unsigned workers = 2; workers <= REDUCE_MOST; workers = 2 * workers - 1)
            for (int weighted = 0; weighted < 2; weighted++)
                same(device_reduces[i], 700,
                     &(struct reduce_options){.workers = workers,
                                              .weights = weighted ? unequal : NULL});
}

/* Buckets of every kind; sums that need 16 bits; more workers than take part. */
static void each_setting(void **state)
{
    static const char *const specs[] = {
        "qsgd:bits=2,bucket=1,collective=allreduce",
        "qsgd:bits=8,bucket=4,norm=l2,collective=allreduce",
        "qsgd:bits=12,bucket=512,collective=allreduce",
        "qsgd:bucket=4096,norm=l2,collective=allreduce",
        "qsgd:levels=5,bucket=100,collective=allreduce",
        "qsgd:bucket=5000,rounding=nearest,collective=allreduce",
        "qsgd:bucket=17,rounding=nearest,collective=allreduce",
        "qsgd:bucket=140000,norm=l2,collective=allreduce",
        "terngrad:packing=base3,clip=0.5,collective=allreduce",
    };

    gcb_host_schedule(GCB_HOST_SHUFFLED, 9);
    for (size_t i = 0; i < COUNT(specs); i++) {
        same(specs[i], 4500, &(struct reduce_options){.workers = 3, .weights = unequal});
        same(specs[i], 20000, &(struct reduce_options){.workers = 2});
    }
    same("qsgd:bucket=140000,norm=l2,collective=allreduce", 150000,
         &(struct reduce_options){.workers = 2});
    same("terngrad:collective=allreduce", 4500, &(struct reduce_options){.workers = 3, .of = 130});
}

/* Infinities, NaNs, and values that only overflow when they are weighted or added, or when they are
 * rounded to 16 bits. */
static void not_finite(void **state)
{
    static const float bad[] = {NAN, INFINITY, -INFINITY, 3e38f, -3.4e38f, 70000.0f, 1e-40f};
    static const float large[] = {2.0f, 1.0f, 1.5f};

    for (size_t i = 0; device_reduces[i]; i++)
        for (size_t k = 0; k < COUNT(bad); k++)
            for (uint64_t n = 1; n < 500; n += 400) {
                struct reduce_options o = {
                    .workers = 3, .bad = bad[k], .nonfinite = GCB_NONFINITE_RAW};

                same(device_reduces[i], n > 1 ? 4501 : 1, &o); /* two tiles */
                o.weights = large + 1;
                o.workers = 2;
                same(device_reduces[i], n, &o);
                o.nonfinite = GCB_NONFINITE_ERROR;
                assert_int_equal(device_same_reduce(&device, device_reduces[i], n, &o),
                                 isfinite(bad[k]) ? 0 : GCB_E_NONFINITE);
            }
}

/* With zeros, a scale may be smaller than what it scales, even if that is infinite. */
static void hostile_values(void **state)
{
    struct reduce_options o = {.workers = 4, .weights = unequal};

    for (size_t i = 0; device_reduces[i]; i++)
        for (uint64_t n = 1; n < 6000; n = 9 * n + 5) {
            o.combined = RANDOM;
            o.bad = 0.0f;
            same(device_reduces[i], n, &o);
            o.combined = ZERO;
            o.bad = 3e38f; /* the weight of the fourth worker is 3 */
            same(device_reduces[i], n, &o);
        }
}

static void refusals(void **state)
{
    static const char *const cpu_only[] = {"powersgd", "countsketch"};
    struct gcb_coder_config config = {.env = {.count = 100, .workers = 2}};
    struct gcb_device_reduce *r = NULL;
    struct gcb_method method;
    struct gcb_diag diag;

    for (size_t i = 0; i < COUNT(cpu_only); i++) {
        assert_int_equal(gcb_method_parse(&method, cpu_only[i], NULL), 0);
        assert_int_equal(gcb_device_reduce_create(&r, &device, &method, &config, 1.0f, &diag),
                         GCB_E_UNSUPPORTED);
        assert_null(r);
    }
    assert_int_equal(gcb_method_parse(&method, "topk", NULL), 0);
    assert_int_equal(gcb_device_reduce_create(&r, &device, &method, &config, 1.0f, &diag),
                     GCB_E_UNSUPPORTED);
    assert_non_null(strstr(diag.text, "no all-reduce on a device"));
    config.env.workers = 1000;
    assert_int_equal(gcb_method_parse(&method, "qsgd:bits=8", NULL), 0);
    assert_int_equal(gcb_device_reduce_create(&r, &device, &method, &config, 1.0f, &diag),
                     GCB_E_INVALID);
    gcb_device_reduce_destroy(NULL);
}

RUN_TESTS_BETWEEN(open_device, NULL, cmocka_unit_test(each_length),
                  cmocka_unit_test(each_number_of_workers), cmocka_unit_test(each_setting),
                  cmocka_unit_test(not_finite), cmocka_unit_test(hostile_values),
                  cmocka_unit_test(refusals))
