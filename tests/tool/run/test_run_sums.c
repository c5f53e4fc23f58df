/* Runs that time sums. The clock is this test's: an addition of a message takes `add`
 * seconds, and a reading of the clock TICK. */
#include <math.h>

#include "src/lib/sum/sum.h"
#include "src/tool/base/clock.h"
#include "src/tool/measure/evict.h"
#include "tests/tool/run/run_source.h"

#define TICK 0x1p-22

static double now, add;
static size_t evictions, added; /* `added`: additions since the caches were emptied */
static size_t most_added;

double __wrap_gcb_clock(void);
int __wrap_gcb_evict_run(struct gcb_evict *e, struct gcb_diag *diag);
int __real_gcb_sum_add_checked(struct gcb_sum *sum, const void *message, size_t length,
                               float weight, struct gcb_diag *diag);
int __wrap_gcb_sum_add_checked(struct gcb_sum *sum, const void *message, size_t length,
                               float weight, struct gcb_diag *diag);

double __wrap_gcb_clock(void)
{
    now += TICK;
    return now;
}

int __wrap_gcb_evict_run(struct gcb_evict *e, struct gcb_diag *diag)
{
    evictions++;
    added = 0;
    return 0;
}

int __wrap_gcb_sum_add_checked(struct gcb_sum *sum, const void *message, size_t length,
                               float weight, struct gcb_diag *diag)
{
    now += add;
    added++;
    most_added = added > most_added ? added : most_added;
    return __real_gcb_sum_add_checked(sum, message, length, weight, diag);
}

static void use_sums(struct run_setup *s, struct gcb_evict *evict)
{
    s->config.nonfinite = GCB_POLICY_RAW;
    s->config.trial.timing = (struct gcb_timing){.repeat = 20, .evict = evict};
    s->config.trial.sums = true;
    evictions = most_added = 0;
    add = 0x1p-12;
}

/* The time of a sum is that of one addition; the time of sixteen is longer as many times. */
static void assert_timed(const struct run_setup *s)
{
    for (size_t m = 0; m < s->config.method_count; m++) {
        const struct gcb_run_total *total = &s->result.totals[m];
        const struct gcb_tally *t = &total->tally;

        assert_int_equal(t->sum.measured, t->messages);
        assert_int_equal(t->sum16.measured, t->messages);
        assert_int_equal(t->sum_stop, GCB_STOP_REPEAT);
        assert_int_equal(total->samples[GCB_TIMED_SUM].count, 20);
        assert_int_equal(total->samples[GCB_TIMED_SUM16].count, 2);
        assert_true(gcb_tally_sum(t, GCB_TIMED_SUM).seconds == (double)t->messages * (add + TICK));
        assert_true(gcb_tally_sum(t, GCB_TIMED_SUM16).seconds ==
                    (double)t->messages * (16 * add + TICK));
    }
}

/* Sums are timed for every method and message, also of infinities and NaNs; the whole sum less
 * often. */
static void test_sums(void **state)
{
    struct run_setup *s = *state;

    run_source.data[1][5] = NAN;
    run_source.data[1][6] = -INFINITY;
    run_source.data[2][0] = -0.0f;
    use_sums(s, NULL);
    run_use(s, "topk");
    run_use(s, "fft");
    run_use(s, "fft:chunk=64");
    run_use(s, "qsgd");
    assert_int_equal(run_all(s), 0);
    assert_timed(s);
    assert_int_equal(evictions, 0);
}

/* With cold caches they are emptied before each sum of sixteen messages, and not before each
 * message. */
static void test_cold_sums(void **state)
{
    struct run_setup *s = *state;
    struct gcb_evict evict = {0};
    size_t before;

    use_sums(s, &evict);
    run_use(s, "topk");
    s->config.trial.sums = false;
    assert_int_equal(run_all(s), 0);
    before = evictions;
    gcb_run_result_fini(&s->result);
    gcb_layout_fini(&s->plan);
    s->seen = (struct run_seen){.trial = &s->config.trial};
    use_sums(s, &evict);
    assert_int_equal(run_all(s), 0);
    assert_timed(s);
    /* 20 additions are in two sums, and each of the two sums of sixteen is one */
    assert_int_equal(evictions - before, TENSORS * 4);
    assert_int_equal(most_added, 16);
}

/* Sixteen messages are not added if that takes longer than what is left of the time. */
static void test_slow_sums(void **state)
{
    struct run_setup *s = *state;
    const struct gcb_tally *t;

    use_sums(s, NULL);
    s->config.trial.timing = (struct gcb_timing){.precision = 0.1};
    s->config.seconds = 24.0;
    add = 0.5;
    run_use(s, "topk");
    assert_int_equal(run_all(s), 0);
    t = &s->result.totals[0].tally;
    assert_int_equal(t->sum.measured, t->messages);
    assert_int_equal(t->sum16.measured, 0);
    assert_true(gcb_tally_sum(t, GCB_TIMED_SUM).seconds == (double)t->messages * (add + TICK));
    assert_true(isnan(gcb_tally_sum(t, GCB_TIMED_SUM16).seconds));
}

/* Sums are checked for the small messages, but none is timed. */
static void test_checked_sums(void **state)
{
    struct run_setup *s = *state;

    s->config.trial.check_sums = true;
    run_use(s, "sbc");
    run_use(s, "fft");
    assert_int_equal(run_all(s), 0);
    for (size_t m = 0; m < 2; m++) {
        assert_int_equal(s->result.totals[m].samples[GCB_TIMED_SUM].count, 0);
        assert_true(isnan(gcb_tally_sum(&s->result.totals[m].tally, GCB_TIMED_SUM).seconds));
        assert_true(isnan(gcb_tally_sum(&s->result.totals[m].tally, GCB_TIMED_SUM16).seconds));
    }
}

RUN_TESTS(RUN_CASE(test_sums), RUN_CASE(test_cold_sums), RUN_CASE(test_slow_sums),
          RUN_CASE(test_checked_sums))
