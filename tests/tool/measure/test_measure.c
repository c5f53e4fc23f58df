/* Measuring: how many samples are taken, why it stops, and that errors are returned. The clock is
 * this test's, so all times are exact. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/cpu_flags.h"
#include "src/tool/base/clock.h"
#include "src/tool/base/host.h"
#include "src/tool/run/trial.h"
#include "tests/support/test.h"

#define N 1000

/* A reading of the clock takes `tick`; an operation moves `now` by the time that it takes. */
static double now, tick;

double __wrap_gcb_clock(void);

double __wrap_gcb_clock(void)
{
    now += tick;
    return now;
}

static struct gcb_coder *encoder, *decoder;
static float x[N], y[N];
static uint8_t bytes[8 * N];

static int open_coders(void **state)
{
    const struct gcb_coder_config config = {.env = {.count = N, .seed = 1}};
    struct gcb_wbuf out = {.data = bytes, .cap = sizeof(bytes)};
    struct gcb_method method;

    for (size_t i = 0; i < N; i++)
        x[i] = (float)i * 0.5f - 100.0f;
    return gcb_method_parse(&method, "identity", NULL) ||
           gcb_coder_create(&encoder, &method, &config, NULL) ||
           gcb_coder_encode(encoder, &(struct gcb_step){0}, &(struct gcb_view){x, N}, &out, NULL) ||
           gcb_coder_create_decoder(&decoder, out.data, out.len, &config, NULL);
}

static int close_coders(void **state)
{
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

    gcb_samples_init(&s, timing);
    assert_int_equal(measure_encode(&s, timing, &message), 0);
    assert_true(s.stats.min == tick && s.stats.median == tick);
    assert_true(message.len > 4 * N);
    count = s.count;
    gcb_samples_fini(&s);
    return count;
}

static void test_counts(void **state)
{
    int left = 4;

    tick = 0x1p-20;
    assert_int_equal(samples(&(struct gcb_timing){.warmup = 3, .repeat = 7}), 7);
    assert_int_equal(samples(&(struct gcb_timing){.warmup = 0, .repeat = 0}), 1);
    assert_int_equal(samples(&(struct gcb_timing){.repeat = 2, .min_time = 0x1p-10}), 1024);
    assert_int_equal(samples(&(struct gcb_timing){.repeat = 2, .min_time = 1e9}), GCB_MAX_SAMPLES);
    assert_int_equal(
        samples(&(struct gcb_timing){.repeat = 50, .stop = count_down, .stop_ctx = &left}), 5);
    tick = 0.0;
}

/* An operation whose time the test chooses: the next number of microseconds in a list. */
struct busy {
    const double *micros;
    size_t count, calls;
};

static int be_busy(void *job, struct gcb_diag *diag)
{
    struct busy *b = job;

    now += 1e-6 * b->micros[b->calls++ % b->count];
    return 0;
}

static struct gcb_samples measured(const struct gcb_timing *timing, struct busy *busy)
{
    const struct gcb_operation op = {.run = be_busy, .job = busy};
    struct gcb_samples s;

    gcb_samples_init(&s, timing);
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

    assert_int_equal(s.stop, GCB_STOP_PRECISION);
    assert_true(s.count >= GCB_STATS_LEAST && s.count < 100);
    assert_true(s.stats.high - s.stats.low <= 2.0 * 0.5 * s.stats.median);
    assert_int_equal(busy.calls, s.count + 1); /* the warm-up was called, not counted */
    gcb_samples_fini(&s);

    busy = (struct busy){wild, 2, 0}; /* half short, half long: the interval never becomes narrow */
    timing = (struct gcb_timing){.precision = 1e-6, .max_time = 0.05};
    s = measured(&timing, &busy);
    assert_int_equal(s.stop, GCB_STOP_TIME);
    assert_in_range(s.count, 238, 240); /* 0.05 s, at 210 us each on average */
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

/* A measurement with almost no time still takes the samples that an interval needs, if they are
 * quick. */
static void test_grace(void **state)
{
    static const double quick[] = {1.0}, slow[] = {12000.0};
    const struct gcb_timing timing = {.precision = 1e-9, .max_time = 1e-9};
    const struct gcb_timing strict = {.precision = 1e-9, .max_time = 1e-9, .strict = true};
    struct busy busy = {quick, 1, 0};
    struct gcb_samples s = measured(&timing, &busy);

    assert_int_equal(s.count, GCB_STATS_LEAST);
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

/* Two operations in turn get the same number of samples; the first one changes from round to
 * round. */
static void test_pair(void **state)
{
    static const double a[] = {20.0}, b[] = {200.0};
    struct busy first = {a, 1, 0}, second = {b, 1, 0};
    const struct gcb_operation ops[2] = {{.run = be_busy, .job = &first},
                                         {.run = be_busy, .job = &second}};
    const struct gcb_timing timing = {.warmup = 2, .repeat = 21};
    struct gcb_samples s[2];
    struct gcb_samples *const both[2] = {&s[0], &s[1]};

    gcb_samples_init(&s[0], &timing);
    gcb_samples_init(&s[1], &timing);
    assert_int_equal(gcb_measure_in_turn(both, &timing, ops, 2, NULL), 0);
    assert_true(s[0].count == 21 && s[1].count == 21);
    assert_true(first.calls == 23 && second.calls == 23);
    assert_float_equal(s[0].stats.median, 20e-6, 1e-12);
    assert_float_equal(s[1].stats.median, 200e-6, 1e-12);
    assert_true(s[0].stop == GCB_STOP_REPEAT && s[1].stop == GCB_STOP_REPEAT);
    gcb_samples_fini(&s[0]);
    gcb_samples_fini(&s[1]);
}

/* What a flush must reach: memory of each kind that a call may use. */
#define PLACES 3
static char fixed[1000] = {1};
static const void *places[PLACES];
static unsigned flushed[PLACES];

static void note_lines(const void *p, size_t length)
{
    for (int i = 0; i < PLACES; i++)
        flushed[i] += (uintptr_t)places[i] - (uintptr_t)p < length;
}

/* An operation that looks whether the caches were emptied since its last call. */
struct cold {
    const struct gcb_evict *evict;
    unsigned calls, warmup;
};

static int see_flush(void *job, struct gcb_diag *diag)
{
    struct cold *c = job;
    const unsigned emptied = c->calls < c->warmup ? 0 : c->calls - c->warmup + 1;

    c->calls++;
    for (int i = 0; i < PLACES; i++)
        assert_int_equal(flushed[i], emptied);
    return 0;
}

static int see_walk(void *job, struct gcb_diag *diag)
{
    struct cold *c = job;
    const unsigned emptied = c->calls < c->warmup ? 0 : c->calls - c->warmup + 1;

    uint64_t other = 0;

    c->calls++;
    for (uint64_t line = 0; line < c->evict->bytes / 64; line++)
        other += c->evict->data[8 * line] != emptied;
    assert_int_equal(other, 0);
    return 0;
}

static void measure_cold(struct gcb_evict *evict, int (*see)(void *, struct gcb_diag *))
{
    struct cold cold = {.evict = evict, .warmup = 2};
    const struct gcb_timing timing = {.warmup = cold.warmup, .repeat = 5, .evict = evict};
    const struct gcb_operation op = {.run = see, .job = &cold};
    struct gcb_samples s;

    gcb_samples_init(&s, &timing);
    assert_int_equal(gcb_measure(&s, &timing, &op, NULL), 0);
    assert_int_equal(cold.calls, 7);
    gcb_samples_fini(&s);
    gcb_evict_fini(evict);
}

/* Before each timed call all caches are emptied: all lines of this process are flushed. */
static void test_cold_flush(void **state)
{
    char stack[100], *heap = malloc(100);
    struct gcb_evict evict;

    assert_int_equal(gcb_evict_init(&evict, NULL, gcb_cpu_detect(), NULL), 0);
    if (!evict.flush.lines) {
        print_message("skipped: this processor cannot flush single cache lines fast\n");
        free(heap);
        gcb_evict_fini(&evict);
        skip();
    }
    evict.flush.lines = note_lines;
    places[0] = fixed, places[1] = stack, places[2] = heap;
    measure_cold(&evict, see_flush);
    free(heap);
}

/* Or each line of a buffer that is larger than the last cache is written. */
static void test_cold_walk(void **state)
{
    const struct gcb_queue queue = {.threads = 2};
    struct gcb_evict evict;

    assert_int_equal(gcb_evict_init(&evict, &queue, 0, NULL), 0);
    assert_true(!evict.flush.lines);
    assert_true(evict.bytes > gcb_host_cache() || evict.bytes + (1 << 20) > gcb_host_memory() / 4);
    measure_cold(&evict, see_walk);
}

static void test_decode(void **state)
{
    const struct gcb_timing timing = {.repeat = 3};
    struct gcb_wbuf message = {.data = bytes, .cap = sizeof(bytes)};
    struct gcb_samples s;

    gcb_samples_init(&s, &timing);
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

    gcb_samples_init(&s, &timing);
    assert_int_equal(measure_encode(&s, &timing, &message), GCB_E_NOSPACE);
    gcb_samples_fini(&s);
}

/* Sample r of a total is the sum of the messages' samples r, as long as all messages have one. */
static void test_sums_of_samples(void **state)
{
    double a[] = {1.0, 2.0, 3.0}, b[] = {10.0, 20.0}, c[] = {100.0, 200.0, 300.0};
    struct gcb_sample_sums sums = {0};

    gcb_sample_sums_add(&sums, &(struct gcb_samples){.seconds = a, .count = 3});
    assert_true(gcb_sample_sums_mad(&sums) == 1.0);
    gcb_sample_sums_add(&sums, &(struct gcb_samples){.seconds = b, .count = 2});
    gcb_sample_sums_add(&sums, &(struct gcb_samples){.seconds = c, .count = 3});
    assert_int_equal(sums.count, 2);
    assert_true(sums.seconds[0] == 111.0 && sums.seconds[1] == 222.0);
    gcb_sample_sums_fini(&sums);
    assert_true(isnan(gcb_sample_sums_mad(&sums)));
}

RUN_TESTS_BETWEEN(open_coders, close_coders, cmocka_unit_test(test_counts),
                  cmocka_unit_test(test_stops), cmocka_unit_test(test_grace),
                  cmocka_unit_test(test_pair), cmocka_unit_test(test_cold_flush),
                  cmocka_unit_test(test_cold_walk), cmocka_unit_test(test_decode),
                  cmocka_unit_test(test_no_room), cmocka_unit_test(test_sums_of_samples))
