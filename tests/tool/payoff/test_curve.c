/* The cost model over a measured link, compared with figures worked out by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "src/tool/payoff/payoff.h"

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

static const struct gcb_load dense = {
    .bound = GCB_BOUND_MEDIAN,
    .collectives = GCB_COLLECTIVE_BIT(GCB_COLLECTIVE_ALLREDUCE),
    .transfers = 4,
    .bytes = 1e8,
    .gradient = 1e8,
    .add = 0.016,
    .compute = NAN,
    .inner_steps = 1,
};

/* A curve without latency beyond its first point: with it every way takes as long as with the bandwidth alone. With slower pairs,
 * halving and doubling take longer, and rings do not. */
static void test_curve(void **state)
{
    struct gcb_link link = {.topology = GCB_TOPOLOGY_BEST,
                            .bandwidth = 1e9,
                            .workers = 8,
                            .servers = 1,
                            .per_node = 1},
                    measured;
    struct gcb_payoff_times plain, curved;
    struct gcb_curve curve = {.path = "link.json"};
    struct gcb_payoff_rounds rounds = {
        .collective = GCB_COLLECTIVE_ALLREDUCE, .count = 2, .bytes = 14e6};
    struct gcb_diag diag;

    (void)state;
    for (int i = 0; i < 2; i++) {
        const double bytes = i ? 1e6 : 1e3, t = bytes / 1e9;
        const struct gcb_curve_point point = {bytes, {t, t, t}, {t, t, t}},
                                     slow = {bytes, {t, 3 * t, NAN}, {t, 3 * t, NAN}};

        assert_int_equal(gcb_curve_add(&curve, GCB_PATTERN_SHIFT, &point, &diag), 0);
        assert_int_equal(gcb_curve_add(&curve, GCB_PATTERN_PAIR, &slow, &diag), 0);
    }
    gcb_curve_finish(&curve);
    assert_true(near(curve.bandwidth[GCB_BOUND_MEDIAN], 1e9));
    assert_true(near(gcb_curve_at(&curve, GCB_PATTERN_SHIFT, false, GCB_BOUND_MEDIAN, 2e6), 2e-3));
    assert_true(near(gcb_curve_at(&curve, GCB_PATTERN_SHIFT, false, GCB_BOUND_LOW, 10), 1e-6));
    assert_true(isinf(gcb_curve_at(&curve, GCB_PATTERN_PAIR, false, GCB_BOUND_HIGH, 5e5)));
    measured = link;
    measured.curve = &curve;
    link.topology = measured.topology = GCB_TOPOLOGY_RING;
    gcb_payoff_exchange(&plain, &link, &dense);
    gcb_payoff_exchange(&curved, &measured, &dense);
    assert_true(near(plain.wire, curved.wire) && near(plain.cost, curved.cost));
    measured.bandwidth = link.bandwidth =
        2e9; /* another bandwidth: only the time for the bytes changes */
    gcb_payoff_exchange(&plain, &link, &dense);
    gcb_payoff_exchange(&curved, &measured, &dense);
    assert_true(near(plain.wire, curved.wire));
    measured.bandwidth = link.bandwidth = 1e9;
    link.topology = measured.topology = GCB_TOPOLOGY_TREE;
    gcb_payoff_exchange(&plain, &link, &dense);
    gcb_payoff_exchange(&curved, &measured, &dense);
    assert_true(near(3 * plain.wire, curved.wire));
    /* two all-reduces of 4 MB: 14 MB by a ring, 24 MB by doubling; halving has as many bytes as the ring */
    rounds.algorithm = "ring";
    assert_true(near(gcb_payoff_wire(&measured, &rounds, GCB_BOUND_MEDIAN, NULL), 14e-3));
    rounds.algorithm = "doubling";
    assert_true(near(gcb_payoff_wire(&measured, &rounds, GCB_BOUND_MEDIAN, NULL), 3 * 24e-3));
    rounds.algorithm = NULL;
    assert_true(near(gcb_payoff_wire(&measured, &rounds, GCB_BOUND_MEDIAN, NULL), 14e-3));
    /* an all-to-all: one of seven steps is between opposite ranks */
    rounds.collective = GCB_COLLECTIVE_TWOSHOT;
    assert_true(
        near(gcb_payoff_wire(&measured, &rounds, GCB_BOUND_MEDIAN, NULL), 12e-3 + 3 * 2e-3));
    /* Bruck: the last of three steps moves 4 of 7 messages, to one rank and from the same */
    rounds = (struct gcb_payoff_rounds){GCB_COLLECTIVE_ALLGATHER, "doubling", 1, 14e6};
    assert_true(near(gcb_payoff_wire(&measured, &rounds, GCB_BOUND_MEDIAN, NULL), 6e-3 + 3 * 8e-3));
    assert_true(near(gcb_payoff_sizes(&measured, 2, GCB_BOUND_MEDIAN), 6e-6));
}

/* Loads at the ends of intervals take the ends of the link's times, at any bandwidth. An end that is not known is 0 or
 * infinite, but no wire takes less than no time. */
static void test_bounds(void **state)
{
    struct gcb_curve curve = {.path = "link.json"}, unknown = {.path = "few.json"};
    struct gcb_link link = {.topology = GCB_TOPOLOGY_RING,
                            .bandwidth = 1e9,
                            .curve = &curve,
                            .workers = 8,
                            .servers = 1,
                            .per_node = 1};
    struct gcb_payoff_times low, median, high;
    struct gcb_load load = dense;
    struct gcb_diag diag;

    (void)state;
    for (int i = 0; i < 2; i++) {
        const double bytes = i ? 1e6 : 1e3, t = bytes / 1e9;
        const struct gcb_curve_point point = {bytes, {t / 2, t, 4 * t}, {t / 2, t, 4 * t}},
                                     few = {bytes, {NAN, t, NAN}, {NAN, t, NAN}};

        assert_int_equal(gcb_curve_add(&curve, GCB_PATTERN_SHIFT, &point, &diag), 0);
        assert_int_equal(gcb_curve_add(&unknown, GCB_PATTERN_SHIFT, &few, &diag), 0);
    }
    gcb_curve_finish(&curve);
    gcb_curve_finish(&unknown);
    for (int i = 0; i < 2; i++, link.bandwidth *= 10) {
        struct gcb_payoff_times *const times[GCB_BOUNDS] = {&low, &median, &high};

        for (load.bound = 0; load.bound < GCB_BOUNDS; load.bound++)
            gcb_payoff_exchange(times[load.bound], &link, &load);
        assert_true(near(low.wire, median.wire / 2) && near(high.wire, median.wire * 4));
        assert_true(near(median.wire, 1.75e8 / link.bandwidth));
    }
    link.curve = &unknown;
    load.bound = GCB_BOUND_LOW;
    gcb_payoff_exchange(&low, &link, &load);
    assert_true(fabs(low.wire) < 1e-12);
    load.bound = GCB_BOUND_HIGH;
    gcb_payoff_exchange(&high, &link, &load);
    assert_true(isinf(high.wire) && isinf(high.cost));
}

/* The first of the steps of each exchange takes half as long as those that follow at once. */
static void test_first(void **state)
{
    struct gcb_curve curve = {.path = "link.json"};
    const struct gcb_link link = {.bandwidth = 1e9, .workers = 4, .curve = &curve};
    struct gcb_payoff_rounds rounds = {GCB_COLLECTIVE_ALLGATHER, "ring", 2, 6e6};
    struct gcb_diag diag;

    (void)state;
    for (int i = 0; i < 2; i++) {
        const double bytes = i ? 1e6 : 1e3, t = bytes / 1e9;
        const struct gcb_curve_point point = {bytes, {t, t, t}, {2 * t, 2 * t, 2 * t}};

        assert_int_equal(gcb_curve_add(&curve, GCB_PATTERN_SHIFT, &point, &diag), 0);
    }
    gcb_curve_finish(&curve);
    assert_true(near(curve.bandwidth[GCB_BOUND_MEDIAN], 1e9));
    /* two rounds of three steps with 1 MB */
    assert_true(
        near(gcb_payoff_wire(&link, &rounds, GCB_BOUND_MEDIAN, NULL), 2 * (1e-3 + 2 * 2e-3)));
    /* two steps; only the last one, with twice the bytes, is between pairs */
    rounds.algorithm = "doubling";
    assert_true(
        near(gcb_payoff_wire(&link, &rounds, GCB_BOUND_MEDIAN, NULL), 2 * (1e-3 + 2 * 2e-3)));
    rounds = (struct gcb_payoff_rounds){GCB_COLLECTIVE_ALLREDUCE, "ring", 1, 6e6};
    assert_true(near(gcb_payoff_wire(&link, &rounds, GCB_BOUND_MEDIAN, NULL), 1e-3 + 5 * 2e-3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_curve), cmocka_unit_test(test_bounds),
                                       cmocka_unit_test(test_first)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
