/* How often a thing is timed, and that timing hides nothing. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/bench/tally.h"

#define N 1000

static struct gcb_coder *encoder, *decoder;
static float x[N], y[N];
static uint8_t bytes[8 * N];

static int open_coders(void **state)
{
    const struct gcb_coder_config config = {.env = {.count = N, .seed = 1}};
    struct gcb_wbuf out = {.data = bytes, .cap = sizeof(bytes)};
    struct gcb_method method;

    (void)state;
    for (size_t i = 0; i < N; i++)
        x[i] = (float)i * 0.5f - 100.0f;
    return gcb_method_parse(&method, "identity", NULL) ||
           gcb_coder_create(&encoder, &method, &config, NULL) ||
           gcb_coder_encode(encoder, &(struct gcb_step){0}, &(struct gcb_view){x, N}, &out, NULL) ||
           gcb_coder_create_decoder(&decoder, out.data, out.len, &config, NULL);
}

static int close_coders(void **state)
{
    (void)state;
    gcb_coder_destroy(encoder);
    gcb_coder_destroy(decoder);
    return 0;
}

static bool count_down(void *ctx)
{
    return --*(int *)ctx < 0;
}

/* Samples that encoding under `timing` gives. */
static size_t samples(const struct gcb_timing *timing)
{
    const struct gcb_encode_job job = {.coder = encoder, .in = {x, N}};
    struct gcb_wbuf message = {.data = bytes, .cap = sizeof(bytes)};
    struct gcb_samples s;
    size_t count;

    assert_int_equal(gcb_samples_init(&s, timing, NULL), 0);
    assert_int_equal(gcb_measure_encode(&s, timing, &job, &message, NULL), 0);
    assert_true(s.stats.min > 0.0 && s.stats.min <= s.stats.median);
    assert_true(message.len > 4 * N);
    count = s.count;
    gcb_samples_fini(&s);
    return count;
}

static void test_counts(void **state)
{
    int left = 4;

    (void)state;
    assert_int_equal(samples(&(struct gcb_timing){.warmup = 3, .repeat = 7}), 7);
    assert_int_equal(samples(&(struct gcb_timing){.warmup = 0, .repeat = 0}), 1);
    assert_true(samples(&(struct gcb_timing){.repeat = 2, .min_time = 1e-3}) > 2);
    assert_int_equal(samples(&(struct gcb_timing){.repeat = 2, .min_time = 1e9}), GCB_MAX_SAMPLES);
    assert_int_equal(
        samples(&(struct gcb_timing){.repeat = 50, .stop = count_down, .stop_ctx = &left}), 5);
}

static void test_decode(void **state)
{
    const struct gcb_encode_job job = {.coder = encoder, .in = {x, N}};
    const struct gcb_timing timing = {.repeat = 3};
    struct gcb_wbuf message = {.data = bytes, .cap = sizeof(bytes)};
    struct gcb_samples s;

    (void)state;
    assert_int_equal(gcb_samples_init(&s, &timing, NULL), 0);
    assert_int_equal(gcb_measure_encode(&s, &timing, &job, &message, NULL), 0);
    assert_int_equal(
        gcb_measure_decode(&s, &timing, decoder, &message, &(struct gcb_mview){y, N}, NULL), 0);
    assert_int_equal(s.count, 3);
    assert_memory_equal(x, y, sizeof(x));
    message.len--; /* a failure comes through, and what is left is no result */
    assert_int_not_equal(
        gcb_measure_decode(&s, &timing, decoder, &message, &(struct gcb_mview){y, N}, NULL), 0);
    for (size_t i = 0; i < N; i++)
        assert_true(isnan(y[i]));
    gcb_samples_fini(&s);
}

static void test_no_room(void **state)
{
    const struct gcb_encode_job job = {.coder = encoder, .in = {x, N}};
    const struct gcb_timing timing = {.repeat = 3};
    struct gcb_wbuf message = {.data = bytes, .cap = 100};
    struct gcb_samples s;

    (void)state;
    assert_int_equal(gcb_samples_init(&s, &timing, NULL), 0);
    assert_int_equal(gcb_measure_encode(&s, &timing, &job, &message, NULL), GCB_E_NOSPACE);
    gcb_samples_fini(&s);
}

/* Sample r of a total is the sum of every message's sample r, while all have one. */
static void test_sums_of_samples(void **state)
{
    double a[] = {1.0, 2.0, 3.0}, b[] = {10.0, 20.0}, c[] = {100.0, 200.0, 300.0};
    struct gcb_sample_sums sums = {0};

    (void)state;
    assert_int_equal(gcb_sample_sums_add(&sums, &(struct gcb_samples){.seconds = a, .count = 3}),
                     0);
    assert_true(gcb_sample_sums_mad(&sums) == 1.0);
    assert_int_equal(gcb_sample_sums_add(&sums, &(struct gcb_samples){.seconds = b, .count = 2}),
                     0);
    assert_int_equal(gcb_sample_sums_add(&sums, &(struct gcb_samples){.seconds = c, .count = 3}),
                     0);
    assert_int_equal(sums.count, 2);
    assert_true(sums.seconds[0] == 111.0 && sums.seconds[1] == 222.0);
    gcb_sample_sums_fini(&sums);
    assert_true(isnan(gcb_sample_sums_mad(&sums)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_decode),
        cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_sums_of_samples),
    };

    return cmocka_run_group_tests(tests, open_coders, close_coders);
}
