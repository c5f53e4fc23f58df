/* Measuring: how many samples are taken, why it stops, and that errors are returned. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/lib/base/cpu_flags.h"
#include "src/tool/base/clock.h"
#include "src/tool/trial/tally.h"

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

static int measure_encode(struct gcb_samples *s, const struct gcb_timing *timing,
                          struct gcb_wbuf *message)
{
    const struct gcb_encode_job job = {.coder = encoder, .in = {x, N}};
    struct gcb_encode_call call = {.job = &job, .message = message};
    const struct gcb_operation op = gcb_encode_operation(&call);

    return gcb_measure(s, timing, &op, NULL);
}

static int measure_decode(struct gcb_samples *s, const struct gcb_timing *timing,
                          const struct gcb_wbuf *message)
{
    const struct gcb_mview out = {y, N};
    struct gcb_decode_call call = {.coder = decoder, .message = message, .out = &out};
    const struct gcb_operation op = gcb_decode_operation(&call);

    return gcb_measure(s, timing, &op, NULL);
}

/* The number of samples of encoding under `timing`. */
static size_t samples(const struct gcb_timing *timing)
{
    struct gcb_wbuf message = {.data = bytes, .cap = sizeof(bytes)};
    struct gcb_samples s;
    size_t count;

    assert_int_equal(gcb_samples_init(&s, timing, NULL), 0);
    assert_int_equal(measure_encode(&s, timing, &message), 0);
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

/* An operation whose time the test chooses: it is busy for the next number of microseconds in a list. */
struct busy {
    const double *micros;
    size_t count, calls;
};

static int be_busy(void *job, struct gcb_diag *diag)
{
    struct busy *b = job;
    const double until = gcb_clock() + 1e-6 * b->micros[b->calls++ % b->count];

    (void)diag;
    while (gcb_clock() < until)
        ;
    return 0;
}

static struct gcb_samples measured(const struct gcb_timing *timing, struct busy *busy)
{
    const struct gcb_operation op = {.run = be_busy, .job = busy};
    struct gcb_samples s;

    assert_int_equal(gcb_samples_init(&s, timing, NULL), 0);
    assert_int_equal(gcb_measure(&s, timing, &op, NULL), 0);
    return s;
}

/* All reasons to stop, and that the samples agree with them. */
static void test_stops(void **state)
{
    static const double steady[] = {50.0}, wild[] = {20.0, 400.0};
    struct gcb_timing timing = {.warmup = 1, .precision = 0.5};
    struct busy busy = {steady, 1, 0};
    struct gcb_samples s = measured(&timing, &busy);
    int left = 3;

    (void)state;
    assert_int_equal(s.stop, GCB_STOP_PRECISION);
    assert_true(s.count >= GCB_STATS_LEAST && s.count < GCB_MAX_SAMPLES);
    assert_true(s.stats.high - s.stats.low <= 2.0 * 0.5 * s.stats.median);
    assert_int_equal(busy.calls, s.count + 1); /* the warm-up was called, not counted */
    gcb_samples_fini(&s);

    busy = (struct busy){wild, 2, 0}; /* half short, half long: the interval never becomes narrow */
    timing = (struct gcb_timing){.precision = 1e-6, .max_time = 0.05};
    s = measured(&timing, &busy);
    assert_int_equal(s.stop, GCB_STOP_TIME);
    assert_true(s.count >= GCB_STATS_LEAST && s.count < 1000);
    gcb_samples_fini(&s);

    timing = (struct gcb_timing){.precision = 1e-6, .max_samples = 40};
    s = measured(&timing, &busy);
    assert_int_equal(s.stop, GCB_STOP_SAMPLES);
    assert_int_equal(s.count, 40);
    gcb_samples_fini(&s);

    timing = (struct gcb_timing){.repeat = 9};
    s = measured(&timing, &busy);
    assert_int_equal(s.stop, GCB_STOP_REPEAT);
    assert_int_equal(s.count, 9);
    gcb_samples_fini(&s);

    timing = (struct gcb_timing){.precision = 1e-6, .stop = count_down, .stop_ctx = &left};
    s = measured(&timing, &busy);
    assert_int_equal(s.stop, GCB_STOP_INTERRUPTED);
    assert_int_equal(s.count, 4);
    gcb_samples_fini(&s);
}

/* A measurement with almost no time still takes the samples that an interval needs, if they are quick. */
static void test_grace(void **state)
{
    static const double quick[] = {1.0}, slow[] = {12000.0};
    const struct gcb_timing timing = {.precision = 1e-9, .max_time = 1e-9};
    const struct gcb_timing strict = {.precision = 1e-9, .max_time = 1e-9, .strict = true};
    struct busy busy = {quick, 1, 0};
    struct gcb_samples s = measured(&timing, &busy);

    (void)state;
    assert_true(s.count >= GCB_STATS_LEAST);
    assert_int_equal(s.stop, GCB_STOP_TIME);
    gcb_samples_fini(&s);
    busy = (struct busy){slow, 1, 0};
    s = measured(&timing, &busy);
    assert_int_equal(s.count, 2); /* a single time would have no spread */
    gcb_samples_fini(&s);
    busy = (struct busy){quick, 1, 0};
    s = measured(&strict, &busy);
    assert_int_equal(s.count, 2);
    gcb_samples_fini(&s);
}

/* Two operations in turn get the same number of samples; the first one changes from round to round. */
static void test_pair(void **state)
{
    static const double a[] = {20.0}, b[] = {200.0};
    struct busy first = {a, 1, 0}, second = {b, 1, 0};
    const struct gcb_operation ops[2] = {{.run = be_busy, .job = &first},
                                         {.run = be_busy, .job = &second}};
    const struct gcb_timing timing = {.warmup = 2, .repeat = 21};
    struct gcb_samples s[2];
    struct gcb_samples *const both[2] = {&s[0], &s[1]};

    (void)state;
    assert_int_equal(gcb_samples_init(&s[0], &timing, NULL), 0);
    assert_int_equal(gcb_samples_init(&s[1], &timing, NULL), 0);
    assert_int_equal(gcb_measure_in_turn(both, &timing, ops, 2, NULL), 0);
    assert_true(s[0].count == 21 && s[1].count == 21);
    assert_true(first.calls == 23 && second.calls == 23);
    assert_true(s[0].stats.min >= 20e-6 && s[1].stats.min >= 200e-6);
    assert_true(s[0].stats.median < s[1].stats.median);
    assert_true(s[0].stop == GCB_STOP_REPEAT && s[1].stop == GCB_STOP_REPEAT);
    gcb_samples_fini(&s[0]);
    gcb_samples_fini(&s[1]);
}

#define COLD_BYTES (256u << 10)

static int touch(void *job, struct gcb_diag *diag)
{
    unsigned char *p = job;

    (void)diag;
    memcpy(p + COLD_BYTES, p, COLD_BYTES);
    return 0;
}

/* A copy that fits in the second-level cache takes longer after the caches were emptied, by flushing lines and by walking. */
static void cold(bool walk)
{
    const struct gcb_queue queue = {.threads = 1};
    struct gcb_timing timing = {.warmup = 1, .repeat = 9};
    unsigned char *two = calloc(2, COLD_BYTES);
    const struct gcb_operation op = {.run = touch, .job = two};
    struct gcb_samples warm, cold;
    struct gcb_evict evict;

    assert_non_null(two);
    assert_int_equal(gcb_evict_init(&evict, &queue, walk ? 0 : gcb_cpu_detect(), NULL), 0);
    assert_true(!walk || !evict.flush.lines);
    assert_int_equal(gcb_samples_init(&warm, &timing, NULL), 0);
    assert_int_equal(gcb_samples_init(&cold, &timing, NULL), 0);
    assert_int_equal(gcb_measure(&warm, &timing, &op, NULL), 0);
    timing.evict = &evict;
    assert_int_equal(gcb_measure(&cold, &timing, &op, NULL), 0);
    print_message("%s %.0f MB: %.3g s warm, %.3g s cold\n",
                  evict.flush.lines ? "flushes" : "walks over", (double)evict.bytes / 1e6,
                  warm.stats.min, cold.stats.min);
    /* of the fastest calls: other work on the machine empties caches too */
    assert_true(cold.stats.min > 1.5 * warm.stats.min);
    gcb_samples_fini(&warm);
    gcb_samples_fini(&cold);
    gcb_evict_fini(&evict);
    free(two);
}

static void test_cold(void **state)
{
    (void)state;
    cold(true);
    cold(false);
}

static void test_decode(void **state)
{
    const struct gcb_timing timing = {.repeat = 3};
    struct gcb_wbuf message = {.data = bytes, .cap = sizeof(bytes)};
    struct gcb_samples s;

    (void)state;
    assert_int_equal(gcb_samples_init(&s, &timing, NULL), 0);
    assert_int_equal(measure_encode(&s, &timing, &message), 0);
    assert_int_equal(measure_decode(&s, &timing, &message), 0);
    assert_int_equal(s.count, 3);
    assert_memory_equal(x, y, sizeof(x));
    message.len--; /* an error is returned, and the output is no result */
    assert_int_not_equal(measure_decode(&s, &timing, &message), 0);
    for (size_t i = 0; i < N; i++)
        assert_true(isnan(y[i]));
    gcb_samples_fini(&s);
}

static void test_no_room(void **state)
{
    const struct gcb_timing timing = {.repeat = 3};
    struct gcb_wbuf message = {.data = bytes, .cap = 100};
    struct gcb_samples s;

    (void)state;
    assert_int_equal(gcb_samples_init(&s, &timing, NULL), 0);
    assert_int_equal(measure_encode(&s, &timing, &message), GCB_E_NOSPACE);
    gcb_samples_fini(&s);
}

/* Sample r of a total is the sum of the messages' samples r, as long as all messages have one. */
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
        cmocka_unit_test(test_counts),  cmocka_unit_test(test_stops),
        cmocka_unit_test(test_grace),   cmocka_unit_test(test_pair),
        cmocka_unit_test(test_cold),    cmocka_unit_test(test_decode),
        cmocka_unit_test(test_no_room), cmocka_unit_test(test_sums_of_samples),
    };

    return cmocka_run_group_tests(tests, open_coders, close_coders);
}
