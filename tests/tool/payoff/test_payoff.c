/* The cost model: figures from the papers, exchanges computed by hand, and break-evens compared with a search. */
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

/* Compares a value with a printed one, to so many digits. */
static void prints(const char *want, int digits, double value)
{
    char got[32];

    snprintf(got, sizeof(got), "%.*g", digits, value);
    assert_string_equal(got, want);
}

/* Figure 10 of the FFT paper, and figures that follow from it: Tm 600 GB/s, Tf 71, Tp and Ts as listed. */
static void test_fft_paper(void **state)
{
    static const struct {
        double select, index;
        const char *even;
    } networks[] = {{30, 67, "58"}, {12, 67, "33.6"}, {30, 34, "47.9"}, {12, 12, "21.3"}};
    static const struct {
        double gbit;
        const char *ratio;
    } ratios[] = {{10, "1.21"}, {25, "1.76"}, {40, "3.23"}, {56, "29.5"}};
    struct gcb_fft_stages s = {71e9, 30e9, 600e9, 67e9};

    (void)state;
    for (size_t i = 0; i < 4; i++)
        prints(ratios[i].ratio, 3, gcb_fft_stages_least_ratio(&s, ratios[i].gbit * GBIT));
    assert_true(isinf(gcb_fft_stages_least_ratio(&s, 58.1 * GBIT)));
    for (size_t i = 0; i < 4; i++) {
        s.select = networks[i].select * 1e9;
        s.index = networks[i].index * 1e9;
        prints(networks[i].even, 3, gcb_fft_stages_break_even(&s) / GBIT);
    }
}

/* RedSync: 12.8 % of the bandwidth at 128 nodes, all of it at 64 nodes with 1.5625 %. */
static void test_redsync(void **state)
{
    struct gcb_redsync in = {.bytes = 1e8,
                             .density = 0.001,
                             .words = 2,
                             .workers = 128,
                             .bandwidth = 1e9,
                             .latency = 1e-5,
                             .select = 2e-3,
                             .unpack = 1e-4,
                             .reduce = 8e-3};
    struct gcb_redsync_times t;

    (void)state;
    gcb_redsync_times(&t, &in);
    prints("12.8", 3, 100.0 * t.bandwidth_ratio);
    assert_true(near(t.even_workers, 1000.0));
    assert_true(near(t.sparse_wire / t.dense_wire, t.bandwidth_ratio));
    assert_true(near(t.sparse, 2e-3 + 7e-5 + 127 * 2e5 / 1e9 + 128 * 1e-4));
    assert_true(near(t.dense, 14e-5 + 2 * 127. / 128 * 0.1 + 127. / 128 * 8e-3));
    in.words = 1;
    gcb_redsync_times(&t, &in);
    prints("6.4", 3, 100.0 * t.bandwidth_ratio);
    in = (struct gcb_redsync){.density = 0.015625, .words = 2, .workers = 64, .bandwidth = 1};
    gcb_redsync_times(&t, &in);
    assert_true(near(t.bandwidth_ratio, 1.0));
}

static const struct gcb_load dense = {true, 4, 1e8, 0, 0, 0.016, NAN};
static const struct gcb_load coded = {false, 4, 1e6, 0.03, 0.01, 0.016, NAN};

static void test_by_hand(void **state)
{
    struct gcb_link link = {GCB_TOPOLOGY_RING, 1e9, 1e-4, 8, 1};
    struct gcb_payoff_times e;

    (void)state;
    gcb_payoff_exchange(&e, &link, &dense); /* 14 steps x 4, 14/8 of the bytes, 7/8 added */
    assert_true(near(e.wire, 56e-4 + 0.175) && near(e.add, 0.014));
    assert_true(near(e.cost, 56e-4 + 0.175 + 0.014) && isnan(e.exposed));
    gcb_payoff_exchange(&e, &link, &coded); /* 7 steps x 4, 7 messages, 8 decoded, 7 added */
    assert_true(near(e.wire, 28e-4 + 0.007) && near(e.decode, 0.08) && near(e.add, 0.112));
    assert_true(near(e.seconds, 0.03 + 28e-4 + 0.007 + 0.08 + 0.112));
    link.topology = GCB_TOPOLOGY_ALLGATHER;
    gcb_payoff_exchange(&e, &link, &dense); /* 2 lg 8 steps x 4 */
    assert_true(near(e.wire, 24e-4 + 0.175));
    gcb_payoff_exchange(&e, &link, &coded);
    assert_true(near(e.wire, 12e-4 + 0.007));
    link.workers = 9; /* not a power of two: one round more */
    gcb_payoff_exchange(&e, &link, &coded);
    assert_true(near(e.wire, 16e-4 + 0.008));
    link = (struct gcb_link){GCB_TOPOLOGY_PS, 1e9, 1e-4, 8, 2};
    gcb_payoff_exchange(&e, &link,
                        &dense); /* 8 gradients to the servers and 8 back, over two links */
    assert_true(near(e.wire, 8e-4 + 0.8) && near(e.add, 3.5 * 0.016));
    gcb_payoff_exchange(&e, &link, &coded);
    assert_true(near(e.wire, 8e-4 + 0.008) && near(e.encode, 0.045) && near(e.decode, 0.05));
}

/* RedSync's T_sparse equals the allgather with gamma1 as decoding, and T_dense the allreduce. */
static void test_agrees_with_redsync(void **state)
{
    const struct gcb_link link = {GCB_TOPOLOGY_ALLGATHER, 2e9, 3e-5, 128, 1};
    const struct gcb_load sparse = {false, 1, 2e5, 2e-3, 1e-4, 0, NAN};
    const struct gcb_load plain = {true, 1, 1e8, 0, 0, 8e-3, NAN};
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
    struct gcb_link link = {GCB_TOPOLOGY_RING, 1e9, 0, 8, 1};
    struct gcb_load load = dense;
    struct gcb_payoff_times e;

    (void)state;
    load.add = 0.0;
    for (double compute = 0.0; compute < 1.0; compute += 0.05) {
        load.compute = compute;
        gcb_payoff_exchange(&e, &link, &load);
        assert_true(near(e.step, flow_shop(compute / 4, e.wire / 4, 0, 4)));
        assert_true(fabs(e.exposed - (e.step - compute)) < 1e-12 && e.cost == e.exposed);
    }
    load = coded;
    load.add = 0.0;
    load.compute = 0.5; /* the processor is the bottleneck: decoding and one transfer remain */
    gcb_payoff_exchange(&e, &link, &load);
    assert_true(near(e.step, flow_shop((0.5 + 0.03) / 4, e.wire / 4, 0.08 / 4, 4)));
    load.transfers = 1; /* nothing to overlap with */
    gcb_payoff_exchange(&e, &link, &load);
    assert_true(near(e.exposed, e.seconds));
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

static struct gcb_load any_load(uint64_t *seed, double compute)
{
    const bool sums = uniform(seed) < 0.5;

    return (struct gcb_load){sums,
                             ceil(scaled(seed, 0.5, 30)),
                             scaled(seed, 1e4, 1e8),
                             uniform(seed) < 0.3 ? 0.0 : scaled(seed, 1e-5, 1),
                             uniform(seed) < 0.3 ? 0.0 : scaled(seed, 1e-5, 0.1),
                             uniform(seed) < 0.3 ? 0.0 : scaled(seed, 1e-5, 0.1),
                             compute};
}

/* The ranges agree with the costs at 400 bandwidths from 1 kB/s to 1 PB/s. */
static void check_ranges(const struct gcb_link *link, const struct gcb_load *load,
                         const struct gcb_load *other)
{
    struct gcb_payoff_range ranges[GCB_PAYOFF_RANGES];
    const size_t count = gcb_payoff_bandwidths(ranges, link, load, other);
    struct gcb_payoff_times a, b;

    for (int i = 0; i < 400; i++) {
        struct gcb_link at = *link;
        bool inside = false;

        at.bandwidth = 1e3 * pow(10.0, i * 0.03);
        for (size_t k = 0; k < count; k++)
            inside |= at.bandwidth > ranges[k].from && at.bandwidth < ranges[k].to;
        gcb_payoff_exchange(&a, &at, load);
        gcb_payoff_exchange(&b, &at, other);
        if (fabs(a.cost - b.cost) > 1e-9 * (fabs(a.cost) + fabs(b.cost)))
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
    for (int i = 0; i < 3000; i++) {
        const double compute = i % 3 ? scaled(&seed, 1e-3, 1) : NAN;
        const struct gcb_load a = any_load(&seed, compute), b = any_load(&seed, compute);
        const struct gcb_link link = {(enum gcb_topology)(i % GCB_TOPOLOGY_COUNT), 1,
                                      uniform(&seed) < 0.3 ? 0 : scaled(&seed, 1e-6, 1e-3),
                                      2 + (unsigned)(uniform(&seed) * 200), 1};
        struct gcb_payoff_range ranges[GCB_PAYOFF_RANGES];
        const size_t count = gcb_payoff_bandwidths(ranges, &link, &a, &b);

        some += count > 0 && isfinite(ranges[0].to);
        check_ranges(&link, &a, &b);
    }
    assert_true(some > 300);
}

/* Two lines cross once, at (K1 - K2) / (B2 - B1). */
static void test_closed_form(void **state)
{
    const struct gcb_link link = {GCB_TOPOLOGY_RING, 1, 0, 8, 1};
    const struct gcb_load mine = {false, 1, 1e6, 0.03, 0.01, 0, NAN};
    const struct gcb_load plain = {true, 1, 1e8, 0, 0, 0, NAN};
    struct gcb_payoff_range r[GCB_PAYOFF_RANGES];

    (void)state;
    assert_int_equal(gcb_payoff_bandwidths(r, &link, &mine, &plain), 1);
    assert_true(r[0].from == 0.0 && near(r[0].to, (1.75e8 - 7e6) / 0.11));
    assert_int_equal(gcb_payoff_bandwidths(r, &link, &plain, &mine), 1);
    assert_true(near(r[0].from, (1.75e8 - 7e6) / 0.11) && isinf(r[0].to));
    assert_int_equal(gcb_payoff_bandwidths(r, &link, &plain, &plain), 0);
}

/* Compared with trying every number. */
static void test_workers(void **state)
{
    uint64_t seed = 11;
    size_t ended = 0;

    (void)state;
    for (int i = 0; i < 300; i++) {
        const struct gcb_load a = any_load(&seed, NAN), b = any_load(&seed, NAN);
        struct gcb_link link = {(enum gcb_topology)(i % 2), scaled(&seed, 1e6, 1e11), 1e-5, 2, 1};
        unsigned least = 0, most = 0, first = 0, last = 0;
        const bool found = gcb_payoff_workers(&least, &most, &link, &a, &b);

        for (link.workers = 2; link.workers <= 900; link.workers++) {
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
    const struct gcb_load sparse = {false, 1, 2 * 1e8 / 30000.5, 0, 0, 0, NAN};
    const struct gcb_load plain = {true, 1, 1e8, 0, 0, 0, NAN};
    const struct gcb_link link = {GCB_TOPOLOGY_ALLGATHER, 1e9, 0, 2, 1};
    unsigned least, most;

    (void)state;
    assert_true(gcb_payoff_workers(&least, &most, &link, &sparse, &plain));
    assert_int_equal(least, 2);
    assert_int_equal(most, 30000);
    assert_false(gcb_payoff_workers(&least, &most, &link, &plain, &plain));
}

static void words_are(const struct gcb_payoff_loads *c, const struct gcb_link *link, bool here,
                      const char *want)
{
    struct gcb_payoff_verdict v;
    char words[400];

    gcb_payoff_judge(&v, link, c);
    assert_string_equal(gcb_payoff_words(words, sizeof(words), &v, link, here), want);
}

static void test_words(void **state)
{
    struct gcb_payoff_loads c = {.method = {false, 1, 1e6, 0.03, 0.01, 0, NAN},
                                 .fp32 = {true, 1, 1e8, 0, 0, 0, NAN},
                                 .fp16 = {true, 1, 5e7, 0, 0, 0, NAN}};
    struct gcb_link link = {GCB_TOPOLOGY_RING, 10 * GBIT, 0, 8, 1};
    char brief[20];
    struct gcb_payoff_verdict v;

    (void)state;
    words_are(&c, &link, false, "pays below 12.2 Gb/s, against fp16 below 5.85 Gb/s");
    words_are(
        &c, &link, true,
        "pays below 12.2 Gb/s, against fp16 below 5.85 Gb/s; at 10 Gb/s with up to 10 workers");
    link.bandwidth = 100 * GBIT;
    words_are(&c, &link, true,
              "pays below 12.2 Gb/s, against fp16 below 5.85 Gb/s; at 100 Gb/s with no number of "
              "workers: "
              "encoding takes longer than sending fp32");
    c.method.bytes = 3e7;
    words_are(&c, &link, true,
              "does not pay at any bandwidth with 8 workers: sends 1.2 times the bytes of fp32");
    c.method = (struct gcb_load){true, 1, 1e6, 0, 0, 0, NAN};
    words_are(
        &c, &link, true,
        "pays at any bandwidth, against fp16 at any bandwidth; at 100 Gb/s with any number of "
        "workers");
    gcb_payoff_judge(&v, &link, &c);
    gcb_payoff_words(brief, sizeof(brief), &v, &link, true); /* cut and terminated */
    assert_int_equal(strlen(brief), sizeof(brief) - 1);
}

static void brief_is(const struct gcb_payoff_loads *c, const struct gcb_link *link, bool here,
                     const char *want)
{
    struct gcb_payoff_verdict v;
    char words[GCB_PAYOFF_BRIEF + 1];

    gcb_payoff_judge(&v, link, c);
    assert_string_equal(gcb_payoff_brief(words, sizeof(words), &v, link, here), want);
}

static void test_brief(void **state)
{
    struct gcb_payoff_loads c = {.method = {false, 1, 1e6, 0.03, 0.01, 0, NAN},
                                 .fp32 = {true, 1, 1e8, 0, 0, 0, NAN},
                                 .fp16 = {true, 1, 5e7, 0, 0, 0, NAN}};
    struct gcb_link link = {GCB_TOPOLOGY_RING, 10 * GBIT, 0, 8, 1};

    (void)state;
    brief_is(&c, &link, false, "pays below 12.2 Gb/s, beats fp16 below 5.85 Gb/s");
    brief_is(&c, &link, true, "pays with up to 10 workers");
    link.workers = 20;
    brief_is(&c, &link, true, "no, only with up to 10 workers");
    link.workers = 8;
    link.bandwidth = 100 * GBIT;
    brief_is(&c, &link, true, "no: encoding takes longer than sending fp32");
    c.method.encode = 0.0;
    brief_is(&c, &link, true, "no: decoding 8 messages takes longer than sending fp32");
    c.method.bytes = 3e7;
    brief_is(&c, &link, false, "never: sends 1.2 times the bytes of fp32");
    c.method = (struct gcb_load){true, 1, 1e6, 0, 0, 0, NAN};
    brief_is(&c, &link, true, "pays with any number of workers");
    c.method.encode = 0.009; /* sending takes 8 ms with two workers, and longer with three */
    brief_is(&c, &link, true, "pays with 3 workers or more");
    words_are(
        &c, &link, true,
        "pays below 154 Gb/s, against fp16 below 76.2 Gb/s; at 100 Gb/s with 3 workers or more");
    link.workers = 2;
    brief_is(&c, &link, true, "no, only with 3 workers or more");
    link.workers = 8;
    c.method.encode = 0.0;
    c.fp16.bytes = 0.0; /* cannot be beaten */
    brief_is(&c, &link, false, "pays at any bandwidth, never beats fp16");
}

/* A doubtful method gets no verdict, whatever its figures are. */
static void test_doubt(void **state)
{
    const struct gcb_link link = {GCB_TOPOLOGY_RING, 10 * GBIT, 0, 8, 1};
    const struct gcb_payoff_loads c = {.method = coded, .fp32 = dense, .fp16 = dense};
    struct gcb_payoff_verdict v;
    char words[400], brief[GCB_PAYOFF_BRIEF + 1];

    (void)state;
    gcb_payoff_judge(&v, &link, &c);
    assert_null(v.doubt);
    v.doubt = "encoding times";
    v.miss = 1e300;
    for (int here = 0; here < 2; here++) {
        assert_string_equal(gcb_payoff_words(words, sizeof(words), &v, &link, here),
                            "doubtful: fitted and measured encoding times differ by 999 %");
        assert_string_equal(gcb_payoff_brief(brief, sizeof(brief), &v, &link, here),
                            "doubtful: fitted and measured encoding times differ by 999 %");
    }
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
        cmocka_unit_test(test_fft_paper),    cmocka_unit_test(test_redsync),
        cmocka_unit_test(test_by_hand),      cmocka_unit_test(test_agrees_with_redsync),
        cmocka_unit_test(test_overlap),      cmocka_unit_test(test_break_even),
        cmocka_unit_test(test_closed_form),  cmocka_unit_test(test_workers),
        cmocka_unit_test(test_many_workers), cmocka_unit_test(test_words),
        cmocka_unit_test(test_brief),        cmocka_unit_test(test_bandwidth_text),
        cmocka_unit_test(test_doubt),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
