/* The cost model: exchanges computed by hand, and break-evens compared with a search. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/tool/payoff/payoff_verdict.h"

#define GBIT (1e9 / 8)

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

#define ALLREDUCE GCB_COLLECTIVE_BIT(GCB_COLLECTIVE_ALLREDUCE)
#define ALLGATHER GCB_COLLECTIVE_BIT(GCB_COLLECTIVE_ALLGATHER)
#define TWOSHOT GCB_COLLECTIVE_BIT(GCB_COLLECTIVE_TWOSHOT)

#define LOAD(...) \
    { \
        .gradient = 1e8, .compute = NAN, .inner_steps = 1, __VA_ARGS__ \
    }
static const struct gcb_load dense =
    LOAD(.collectives = ALLREDUCE, .transfers = 4, .bytes = 1e8, .add = 0.016);
static const struct gcb_load coded =
    LOAD(.collectives = ALLGATHER, .transfers = 4, .bytes = 1e6, .encode = 0.03, .sum = 0.01,
         .finish = 0.002, .add_gradient = 0.016);

static struct gcb_link make_link(enum gcb_topology topology, double bandwidth, double latency,
                                 unsigned workers)
{
    return (struct gcb_link){.topology = topology,
                             .bandwidth = bandwidth,
                             .latency = latency,
                             .workers = workers,
                             .servers = 1,
                             .per_node = 1};
}

static void test_by_hand(void **state)
{
    struct gcb_link link = make_link(GCB_TOPOLOGY_RING, 1e9, 1e-4, 8);
    struct gcb_load load = coded;
    struct gcb_payoff_times e;

    (void)state;
    gcb_payoff_exchange(&e, &link, &dense); /* 14 steps x 4, 14/8 of the bytes, 7/8 added */
    assert_true(near(e.wire, 56e-4 + 0.175) && near(e.add, 0.014));
    assert_true(near(e.cost, 56e-4 + 0.175 + 0.014) && isnan(e.exposed));
    gcb_payoff_exchange(&e, &link, &coded); /* 7 steps x 4, 7 messages, 8 added */
    assert_true(near(e.wire, 28e-4 + 0.007) && near(e.add, 0.082) && e.decode == 0.0);
    assert_true(near(e.seconds, 0.03 + 28e-4 + 0.007 + 0.082));
    load.sizes = true; /* 3 steps more for each transfer */
    gcb_payoff_exchange(&e, &link, &load);
    assert_true(near(e.sizes, 12e-4) && near(e.seconds, 0.03 + 40e-4 + 0.007 + 0.082));
    link.topology = GCB_TOPOLOGY_TREE;
    gcb_payoff_exchange(&e, &link, &dense); /* 2 lg 8 steps x 4 */
    assert_true(near(e.wire, 24e-4 + 0.175));
    gcb_payoff_exchange(&e, &link, &coded);
    assert_true(near(e.wire, 12e-4 + 0.007));
    link.workers = 9; /* not a power of two: one round more */
    gcb_payoff_exchange(&e, &link, &coded);
    assert_true(near(e.wire, 16e-4 + 0.008));
    link = make_link(GCB_TOPOLOGY_PS, 1e9, 1e-4, 8);
    link.servers = 2;
    gcb_payoff_exchange(&e, &link,
                        &dense); /* 8 gradients to the servers and 8 back, over two links */
    assert_true(near(e.wire, 8e-4 + 0.8) && near(e.add, 3.5 * 0.016));
    gcb_payoff_exchange(&e, &link, &coded);
    assert_true(near(e.wire, 8e-4 + 0.008) && near(e.encode, 0.045) && near(e.add, 0.041));
}

/* The best way depends on the link: doubling where latency binds, a two-shot where bytes do. */
static void test_best_way(void **state)
{
    struct gcb_load load = coded;
    struct gcb_link link = make_link(GCB_TOPOLOGY_BEST, 1e9, 1e-4, 8);
    struct gcb_payoff_times e;

    (void)state;
    gcb_payoff_exchange(&e, &link, &coded);
    assert_string_equal(e.algorithm, "doubling");
    load.collectives |= TWOSHOT;
    load.sum = load.finish = load.encode = 0.0;
    link.latency = 1e-2;
    gcb_payoff_exchange(&e, &link, &load);
    assert_string_equal(e.collective, "allgather");
    link.latency = 0.0;
    gcb_payoff_exchange(&e, &link, &load); /* 2 * 7/8 messages */
    assert_string_equal(e.collective, "twoshot");
    assert_true(near(e.wire, 1.75e-3) && e.sizes == 0.0);
    link.workers = 2; /* one message in any way */
    gcb_payoff_exchange(&e, &link, &load);
    assert_true(near(e.wire, 1e-3));
    link = make_link(GCB_TOPOLOGY_BEST, 1e9, 1, 8);
    gcb_payoff_exchange(&e, &link, &dense); /* lg 8 steps, with all bytes in each */
    assert_string_equal(e.algorithm, "doubling");
    assert_true(near(e.wire, 12 + 0.3) && near(e.add, 3 * 0.016));
    link.workers = 6; /* two of them give their values to others first, and get the sums last */
    gcb_payoff_exchange(&e, &link, &dense);
    assert_string_equal(e.algorithm, "doubling");
    assert_true(near(e.wire, 16 + 0.4) && near(e.add, 3 * 0.016));
    load.collectives = TWOSHOT; /* no server has it */
    link = make_link(GCB_TOPOLOGY_PS, 1e9, 0, 8);
    gcb_payoff_exchange(&e, &link, &load);
    assert_string_equal(e.collective, "twoshot");
}

/* Four nodes of two workers. */
static void test_two_levels(void **state)
{
    struct gcb_link link = make_link(GCB_TOPOLOGY_TREE, 1e9, 0, 8);
    struct gcb_payoff_times e;

    (void)state;
    link.per_node = 2;
    link.intra = 1e10;
    gcb_payoff_exchange(&e, &link, &dense); /* half inside twice; all over the node's link */
    assert_true(near(e.inside, 2 * 0.5 * 1e8 / 1e10) && near(e.wire, 1.5 * 1e8 / 1e9));
    assert_true(near(e.add, 0.5 * 0.016 + 0.75 * 0.016 / 2));
    gcb_payoff_exchange(&e, &link, &coded); /* fp32 inside; each worker codes half */
    assert_true(near(e.inside, 0.01) && near(e.wire, 3e-3) && near(e.encode, 0.015));
    assert_true(near(e.add, 0.5 * 0.016 + (4 * 0.01 + 0.002) / 2));
}

static void test_local_sgd(void **state)
{
    const struct gcb_link link = make_link(GCB_TOPOLOGY_RING, 1e9, 0, 8);
    struct gcb_load load = coded;
    struct gcb_payoff_times e;

    (void)state;
    load.inner_steps = 10;
    gcb_payoff_exchange(&e, &link, &load);
    assert_true(near(e.cost, e.seconds / 10));
    load.compute = 0.5;
    gcb_payoff_exchange(&e, &link, &load);
    assert_true(near(e.exposed, e.seconds / 10) && near(e.step, 0.5 + e.seconds / 10));
}

/* RedSync's T_sparse equals the allgather with gamma1 as adding, and T_dense the allreduce. */
static void test_agrees_with_redsync(void **state)
{
    const struct gcb_link link = make_link(GCB_TOPOLOGY_TREE, 2e9, 3e-5, 128);
    const struct gcb_load sparse =
        LOAD(.collectives = ALLGATHER, .transfers = 1, .bytes = 2e5, .encode = 2e-3, .sum = 1e-4);
    const struct gcb_load plain =
        LOAD(.collectives = ALLREDUCE, .transfers = 1, .bytes = 1e8, .add = 8e-3);
    const struct gcb_redsync in = {1e8, 0.001, 2, 128, 2e9, 3e-5, 2e-3, 1e-4, 8e-3};
    struct gcb_redsync_times t;
    struct gcb_payoff_times e;

    (void)state;
    gcb_redsync_times(&t, &in);
    gcb_payoff_exchange(&e, &link, &sparse);
    assert_true(near(e.cost, t.sparse));
    gcb_payoff_exchange(&e, &link, &plain);
    assert_true(near(e.cost, t.dense));
}

/* Simulates the flow shop: transfers are made one after another, and sent one after another. */
static double flow_shop(double make, double send, double decode, unsigned count)
{
    double made = 0.0, sent = 0.0;

    for (unsigned i = 0; i < count; i++) {
        made += make;
        sent = fmax(sent, made) + send;
    }
    return fmax(sent + decode, made + send + decode * count);
}

static void test_overlap(void **state)
{
    static const double equal[] = {0.25, 0.25, 0.25, 0.25}, uneven[] = {0.88, 0.12};
    struct gcb_link link = make_link(GCB_TOPOLOGY_RING, 1e9, 0, 8);
    struct gcb_load load = dense, other;
    struct gcb_payoff_times e, same;

    (void)state;
    load.add = 0.0;
    for (double compute = 0.0; compute < 1.0; compute += 0.05) {
        load.compute = compute;
        gcb_payoff_exchange(&e, &link, &load);
        assert_true(near(e.step, flow_shop(compute / 4, e.wire / 4, 0, 4)));
        assert_true(fabs(e.exposed - (e.step - compute)) < 1e-12 && e.cost == e.exposed);
        other = load;
        other.shares = equal;
        gcb_payoff_exchange(&same, &link, &other);
        assert_true(near(e.step, same.step));
    }
    load = coded;
    load.sum = load.finish = 0.0;
    load.compute = 0.5; /* the processor is the bottleneck: one transfer remains */
    gcb_payoff_exchange(&e, &link, &load);
    assert_true(near(e.step, flow_shop((0.5 + 0.03) / 4, e.wire / 4, 0, 4)));
    load.transfers = 1; /* nothing to overlap with */
    gcb_payoff_exchange(&e, &link, &load);
    assert_true(near(e.exposed, e.seconds));
    load = dense; /* the larger bucket first: 88 % of the work, then everything is sent */
    load.transfers = 2;
    load.shares = uneven;
    load.compute = 0.1;
    gcb_payoff_exchange(&e, &link, &load);
    assert_true(near(e.step, 0.88 * (0.1 + e.add) + e.wire));
}

static double uniform(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 11) * 0x1p-53;
}

static double scaled(uint64_t *seed, double low, double high)
{
    return low * pow(high / low, uniform(seed));
}

static double sometimes(uint64_t *seed, double low, double high)
{
    return uniform(seed) < 0.3 ? 0.0 : scaled(seed, low, high);
}

static struct gcb_load any_load(uint64_t *seed, double compute)
{
    const bool sums = uniform(seed) < 0.5;
    struct gcb_load l = {.gradient = 1e8, .compute = compute, .inner_steps = 1};

    l.collectives = sums ? ALLREDUCE : ALLGATHER;
    l.transfers = ceil(scaled(seed, 0.5, 30));
    l.bytes = scaled(seed, 1e4, 1e8);
    l.encode = sometimes(seed, 1e-5, 1);
    l.decode = l.sum = sometimes(seed, 1e-5, 0.1);
    l.add = sometimes(seed, 1e-5, 0.1);
    return l;
}

/* The ranges agree with the costs at 400 bandwidths from 1 kB/s to 1 PB/s. A range that is narrower than the search's
 * steps may be missed: there the costs differ little. */
static void check_ranges(const struct gcb_link *link, const struct gcb_load *load,
                         const struct gcb_load *other)
{
    const struct gcb_rivals rivals = {other, 1};
    struct gcb_payoff_range ranges[GCB_PAYOFF_RANGES];
    const size_t count = gcb_payoff_bandwidths(ranges, link, load, &rivals);
    struct gcb_payoff_times a, b;

    for (int i = 0; i < 400; i++) {
        struct gcb_link at = *link;
        bool inside = false;

        at.bandwidth = 1e3 * pow(10.0, i * 0.03);
        for (size_t k = 0; k < count; k++)
            inside |= at.bandwidth > ranges[k].from && at.bandwidth < ranges[k].to;
        gcb_payoff_exchange(&a, &at, load);
        gcb_payoff_exchange(&b, &at, other);
        if (fabs(a.cost - b.cost) > 0.01 * (fabs(a.cost) + fabs(b.cost)))
            assert_int_equal(inside, a.cost < b.cost);
    }
    for (size_t k = 0; k < count; k++) { /* at the end of a range both cost the same */
        struct gcb_link at = *link;

        assert_true(ranges[k].from < ranges[k].to);
        assert_true(k == 0 || ranges[k - 1].to < ranges[k].from);
        if (isinf(ranges[k].to))
            continue;
        at.bandwidth = ranges[k].to;
        gcb_payoff_exchange(&a, &at, load);
        gcb_payoff_exchange(&b, &at, other);
        assert_true(fabs(a.cost - b.cost) <= 1e-9 * (fabs(a.cost) + fabs(b.cost) + load->encode +
                                                     (isnan(load->compute) ? 0 : load->compute)));
    }
}

static void test_break_even(void **state)
{
    uint64_t seed = 3;
    size_t some = 0;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        const double compute = i % 3 ? scaled(&seed, 1e-3, 1) : NAN;
        const struct gcb_load a = any_load(&seed, compute), b = any_load(&seed, compute);
        const struct gcb_rivals rivals = {&b, 1};
        const struct gcb_link link =
            make_link((enum gcb_topology)(i % GCB_TOPOLOGY_COUNT), 1, sometimes(&seed, 1e-6, 1e-3),
                      2 + (unsigned)(uniform(&seed) * 200));
        struct gcb_payoff_range ranges[GCB_PAYOFF_RANGES];
        const size_t count = gcb_payoff_bandwidths(ranges, &link, &a, &rivals);

        some += count > 0 && isfinite(ranges[0].to);
        check_ranges(&link, &a, &b);
    }
    assert_true(some > 100);
}

/* Two lines cross once, at (K1 - K2) / (B2 - B1). */
static void test_closed_form(void **state)
{
    const struct gcb_link link = make_link(GCB_TOPOLOGY_RING, 1, 0, 8);
    const struct gcb_load mine =
        LOAD(.collectives = ALLGATHER, .transfers = 1, .bytes = 1e6, .encode = 0.03, .sum = 0.01);
    const struct gcb_load plain = LOAD(.collectives = ALLREDUCE, .transfers = 1, .bytes = 1e8);
    const struct gcb_rivals my_rivals = {&plain, 1}, its_rivals = {&mine, 1};
    struct gcb_payoff_range r[GCB_PAYOFF_RANGES];

    (void)state;
    assert_int_equal(gcb_payoff_bandwidths(r, &link, &mine, &my_rivals), 1);
    assert_true(r[0].from == 0.0 && near(r[0].to, (1.75e8 - 7e6) / 0.11));
    assert_int_equal(gcb_payoff_bandwidths(r, &link, &plain, &its_rivals), 1);
    assert_true(near(r[0].from, (1.75e8 - 7e6) / 0.11) && isinf(r[0].to));
    assert_int_equal(gcb_payoff_bandwidths(r, &link, &plain, &my_rivals), 0);
}

/* Compared with trying every number. */
static void test_workers(void **state)
{
    uint64_t seed = 11;
    size_t ended = 0;

    (void)state;
    for (int i = 0; i < 300; i++) {
        const struct gcb_load a = any_load(&seed, NAN), b = any_load(&seed, NAN);
        const struct gcb_rivals rivals = {&b, 1};
        struct gcb_link link =
            make_link((enum gcb_topology)(i % 3), scaled(&seed, 1e6, 1e11), 1e-5, 2);
        unsigned least = 0, most = 0, first = 0, last = 0;
        const bool found = gcb_payoff_workers(&least, &most, &link, &a, &rivals);

        for (link.workers = 2; link.workers <= 256; link.workers++) {
            struct gcb_payoff_times x, y;

            gcb_payoff_exchange(&x, &link, &a);
            gcb_payoff_exchange(&y, &link, &b);
            if (x.cost < y.cost && !first)
                first = link.workers;
            if (x.cost >= y.cost && first && !last)
                last = link.workers - 1;
        }
        if (first)
            assert_true(found && least == first);
        if (last)
            assert_int_equal(most, last);
        ended += last > 2;
    }
    assert_true(ended > 10);
}

/* The end is exact for large numbers too: 2 M D (p - 1) equals 2 M (p - 1)/p. */
static void test_many_workers(void **state)
{
    const struct gcb_load sparse =
        LOAD(.collectives = ALLGATHER, .transfers = 1, .bytes = 2 * 1e8 / 30000.5);
    const struct gcb_load plain = LOAD(.collectives = ALLREDUCE, .transfers = 1, .bytes = 1e8);
    const struct gcb_rivals rivals = {&plain, 1};
    struct gcb_link link = make_link(GCB_TOPOLOGY_TREE, 1e9, 0, 2);
    unsigned least, most;

    (void)state;
    assert_true(gcb_payoff_workers(&least, &most, &link, &sparse, &rivals));
    assert_int_equal(least, 2);
    assert_int_equal(most, 30000);
    assert_false(gcb_payoff_workers(&least, &most, &link, &plain, &rivals));
    link.per_node = 8; /* two nodes at least, and whole nodes */
    link.intra = 1e12;
    assert_true(gcb_payoff_workers(&least, &most, &link, &sparse, &rivals));
    assert_int_equal(least, 16);
    assert_int_equal(most % 8, 0);
}

/* ---- words ---- */

/* Loads without intervals: a method, fp32 of 100 MB and halves of it. */
static struct gcb_payoff_loads make_loads(struct gcb_load method)
{
    const struct gcb_load plain = LOAD(.collectives = ALLREDUCE, .transfers = 1, .bytes = 1e8);
    struct gcb_payoff_loads l = {.lossy = {.collectives = 0}};

    for (enum gcb_bound b = 0; b < GCB_BOUNDS; b++) {
        l.method[b] = method;
        for (enum gcb_baseline i = 0; i < GCB_BASELINES; i++) {
            l.baselines[b][i] = plain;
            l.baselines[b][i].bytes /= i ? 2.0 : 1.0;
        }
    }
    return l;
}

static void curve_is(const struct gcb_payoff_loads *l, const struct gcb_link *link,
                     const char *want)
{
    struct gcb_payoff_verdict v;
    char words[400];

    gcb_payoff_judge(&v, link, l, NULL);
    assert_string_equal(gcb_payoff_curve(words, sizeof(words), &v), want);
}

static void here_is(const struct gcb_payoff_loads *l, const struct gcb_link *link, const char *want)
{
    struct gcb_payoff_verdict v;
    char words[400];

    gcb_payoff_judge(&v, link, l, NULL);
    assert_string_equal(gcb_payoff_here(words, sizeof(words), &v, link), want);
}

static void test_words(void **state)
{
    struct gcb_load method =
        LOAD(.collectives = ALLGATHER, .transfers = 1, .bytes = 1e6, .encode = 0.03, .sum = 0.01);
    struct gcb_payoff_loads l = make_loads(method);
    struct gcb_link link = make_link(GCB_TOPOLOGY_RING, 5 * GBIT, 0, 8);
    struct gcb_payoff_verdict v;
    char words[400], cut[20];

    (void)state;
    curve_is(&l, &link, "pays below 5.85 Gb/s");
    here_is(&l, &link, "pays with up to 9 workers");
    link.workers = 20;
    here_is(&l, &link, "no, only with up to 9 workers");
    link.workers = 8;
    link.bandwidth = 100 * GBIT;
    here_is(&l, &link, "no: encoding takes longer than sending fp16");
    gcb_payoff_judge(&v, &link, &l, NULL);
    assert_string_equal(gcb_payoff_words(words, sizeof(words), &v, &link),
                        "pays below 5.85 Gb/s; at 100 Gb/s with 8 workers: no: encoding takes "
                        "longer than sending fp16; by allgather (ring), fp16 by allreduce (ring)");
    method.encode = 0.0;
    l = make_loads(method);
    here_is(&l, &link, "no: adding 8 messages takes longer than sending fp16");
    method.bytes = 3e7;
    l = make_loads(method);
    curve_is(&l, &link, "never: sends 2.4 times the bytes of fp16");
    method.bytes = 1e6;
    method.sum = 0.0;
    method.copy = 0.02;
    l = make_loads(method);
    here_is(&l, &link, "no: copying to the host and back takes too long");
    method = (struct gcb_load)LOAD(.collectives = ALLREDUCE, .transfers = 1, .bytes = 1e6);
    l = make_loads(method);
    curve_is(&l, &link, "pays at any bandwidth");
    here_is(&l, &link, "pays with any number of workers");
    method.encode = 0.0045; /* sending fp16 takes 4 ms with two workers, and longer with three */
    l = make_loads(method);
    here_is(&l, &link, "pays with 3 workers or more");
    link.workers = 2;
    here_is(&l, &link, "no, only with 3 workers or more");
    gcb_payoff_judge(&v, &link, &l, NULL);
    gcb_payoff_here(cut, sizeof(cut), &v, &link); /* cut and terminated */
    assert_int_equal(strlen(cut), sizeof(cut) - 1);
}

/* Intervals: what they leave open is undecided. */
static void test_undecided(void **state)
{
    struct gcb_payoff_loads l =
        make_loads((struct gcb_load)LOAD(.collectives = ALLGATHER, .transfers = 1, .bytes = 1e6,
                                         .encode = 0.03, .sum = 0.01));
    struct gcb_link link = make_link(GCB_TOPOLOGY_RING, 5.8 * GBIT, 0, 8);

    (void)state;
    l.method[GCB_BOUND_LOW].encode = 0.02;
    l.method[GCB_BOUND_HIGH].encode = 0.04;
    curve_is(&l, &link, "pays below 5.37 Gb/s, perhaps below 6.44 Gb/s");
    here_is(&l, &link, "undecided: 0.931 to 1.1 times as fast as fp16");
    link.bandwidth = 5 * GBIT;
    here_is(&l, &link, "pays with up to 8 workers");
    l.method[GCB_BOUND_HIGH].encode = INFINITY; /* one run */
    l.method[GCB_BOUND_LOW].encode = 0.0;
    curve_is(&l, &link, "undecided; by the medians it pays below 5.85 Gb/s");
    here_is(&l, &link, "undecided: about 1.16 times as fast as fp16");
    for (enum gcb_bound b = 0; b < GCB_BOUNDS; b++)
        l.method[b].bytes = 1e8; /* the bytes decide, whatever coding takes */
    curve_is(&l, &link, "never: sends 8 times the bytes of fp16");
}

/* A faster collective that enlarges the error is offered after the verdict, and does not decide it. */
static void test_lossy(void **state)
{
    struct gcb_payoff_loads l =
        make_loads((struct gcb_load)LOAD(.collectives = ALLGATHER, .transfers = 1, .bytes = 3e7));
    struct gcb_link link = make_link(GCB_TOPOLOGY_RING, 10 * GBIT, 0, 8);

    (void)state;
    l.lossy = l.method[GCB_BOUND_MEDIAN];
    l.lossy.collectives = TWOSHOT; /* 14/8 of 3e7 bytes, where fp16 sends 14/8 of 5e7 */
    here_is(
        &l, &link,
        "no, only with up to 3 workers; with a larger error by twoshot: about 1.67 times as fast");
    curve_is(&l, &link,
             "never: sends 2.4 times the bytes of fp16; with a larger error by twoshot: at any "
             "bandwidth");
    l.lossy.encode = 0.014; /* sending fp16 takes 70 ms, a two-shot 42 */
    here_is(
        &l, &link,
        "no, only with up to 3 workers; with a larger error by twoshot: about 1.21 times as fast");
    curve_is(&l, &link,
             "never: sends 2.4 times the bytes of fp16; with a larger error by twoshot: below 17.8 "
             "Gb/s");
    l.lossy.encode = 0.03; /* slower than fp16 */
    here_is(&l, &link, "no, only with up to 3 workers");
    l.lossy.encode = 0.0;
    link.topology = GCB_TOPOLOGY_PS; /* has no two-shot */
    here_is(&l, &link, "pays with any number of workers");
}

/* A doubtful method gets no verdict, whatever its figures are. */
static void test_doubt(void **state)
{
    const struct gcb_link link = make_link(GCB_TOPOLOGY_RING, 10 * GBIT, 0, 8);
    const struct gcb_payoff_loads l = make_loads(coded);
    const char *want = "doubtful: fitted and measured encoding times differ by 999 %";
    struct gcb_payoff_verdict v;
    char words[400];

    (void)state;
    gcb_payoff_judge(&v, &link, &l, NULL);
    assert_null(v.doubt);
    v.doubt = "encoding times";
    v.miss = 1e300;
    assert_string_equal(gcb_payoff_words(words, sizeof(words), &v, &link), want);
    assert_string_equal(gcb_payoff_curve(words, sizeof(words), &v), want);
    assert_string_equal(gcb_payoff_here(words, sizeof(words), &v, &link), want);
}

static void test_bandwidth_text(void **state)
{
    char text[32];

    (void)state;
    assert_string_equal(gcb_payoff_bandwidth_text(text, 58 * GBIT), "58 Gb/s");
    assert_string_equal(gcb_payoff_bandwidth_text(text, 0.9999 * GBIT), "1 Gb/s");
    assert_string_equal(gcb_payoff_bandwidth_text(text, 0.85 * GBIT), "850 Mb/s");
    assert_string_equal(gcb_payoff_bandwidth_text(text, 0.01), "0.08 b/s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),        cmocka_unit_test(test_best_way),
        cmocka_unit_test(test_two_levels),     cmocka_unit_test(test_local_sgd),
        cmocka_unit_test(test_overlap),        cmocka_unit_test(test_agrees_with_redsync),
        cmocka_unit_test(test_break_even),     cmocka_unit_test(test_closed_form),
        cmocka_unit_test(test_workers),        cmocka_unit_test(test_many_workers),
        cmocka_unit_test(test_words),          cmocka_unit_test(test_undecided),
        cmocka_unit_test(test_lossy),          cmocka_unit_test(test_doubt),
        cmocka_unit_test(test_bandwidth_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
