/* Sums of messages: opened in every way, of small segments, of stored messages. tests/contract
 * compares the sums of each method with their definition. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/gcbench.h"
#include "src/lib/sum/sum.h"
#include "tests/support/sums.h"
#include "tests/support/test.h"
#include "tests/support/trip.h"

/* A sum with C kernels and segments of this length. */
static struct gcb_sum *create(const char *spec, uint64_t n, const struct trip_options *o)
{
    struct gcb_coder_config config;
    struct gcb_kernels kernels;
    struct gcb_queue queue;
    struct gcb_method method;
    struct gcb_sum *s = NULL;

    assert_int_equal(gcb_method_parse(&method, spec, NULL), 0);
    trip_configure(&config, &queue, &kernels, o, n);
    assert_int_equal(gcb_sum_create(&s, &method, NULL, &config, NULL), 0);
    memset(&kernels, 0, sizeof(kernels)); /* a sum borrows nothing */
    memset(&queue, 0, sizeof(queue));
    return s;
}

/* A tensor with a NaN and infinities is sent raw, and they reach the sum. */
static void nonfinite_tensors(void **state)
{
    static const char *const specs[] = {"topk", "fft", "qsgd"};
    const struct trip_options o = {.nonfinite = GCB_NONFINITE_RAW};
    enum { N = 500 };

    for (size_t i = 0; i < 3; i++) {
        float *x = trip_tensor(N, TRIP_GAUSS, 1), sum[N];
        struct gcb_sum *s = create(specs[i], N, &o);
        struct trip t = {0};

        x[7] = NAN;
        x[8] = INFINITY;
        x[N - 1] = -INFINITY;
        trip_run(&t, specs[i], x, N, &o);
        assert_int_equal(gcb_sum_add(s, t.message, t.length, 0.25f, NULL), 0);
        assert_int_equal(gcb_sum_finish(s, sum, NULL), 0);
        assert_true(isnan(sum[7]) && isinf(sum[8]) && isinf(sum[N - 1]) && sum[9] == 0.25f * x[9]);
        gcb_sum_close(s);
        trip_free(&t);
        free(x);
    }
}

/* The canvas is linear: one message with a weight of 2^k gives exactly 2^k times the decoded
 * tensor. */
static void one_message(void **state)
{
    static const char *const specs[] = {
        "fft:theta=0.9,chunk=500",
        "fft:theta=0.9",
        "sparse:transform=dct,chunk=64",
        "sparse:transform=hadamard,values=range,bits=8,index=golomb",
        "topk",
    };
    static const float powers[] = {1.0f, 2.0f, -0.25f};
    enum { N = 3001 };

    for (size_t i = 0; i < sizeof(specs) / sizeof(*specs); i++) {
        float *x = trip_tensor(N, TRIP_STUDENT3, 3), sum[N];
        struct trip t = {0};

        trip_run(&t, specs[i], x, N, NULL);
        for (size_t k = 0; k < 3; k++) {
            struct gcb_sum *s = create(specs[i], N, &(struct trip_options){0});

            assert_int_equal(gcb_sum_add(s, t.message, t.length, powers[k], NULL), 0);
            assert_int_equal(gcb_sum_finish(s, sum, NULL), 0);
            for (uint64_t e = 0; e < N; e++)
                assert_true(sum[e] == powers[k] * t.back[e]);
            gcb_sum_close(s);
        }
        trip_free(&t);
        free(x);
    }
}

RUN_TESTS(cmocka_unit_test(nonfinite_tensors), cmocka_unit_test(one_message))
