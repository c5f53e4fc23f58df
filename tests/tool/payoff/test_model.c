/* The model of an exchange: steps, bytes and additions worked out again, two levels, overlap, and
 * measured networks. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/codec/method.h"
#include "src/tool/payoff/model.h"
#include "tests/support/test.h"

static const unsigned sizes[] = {2, 3, 4, 8, 12, 16, 64};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static void expect(double got, double want, const char *what, unsigned n)
{
    if (!(fabs(got - want) <= 1e-9 * fabs(want) + 1e-18))
        fail_msg("%s among %u: %.15g, not %.15g", what, n, got, want);
}

/* ---- the algorithms, from their descriptions ---- */

/* What an algorithm takes among n nodes if one of them has one byte. */
struct way {
    const char *name;
    double steps, bytes, size_steps, adds;
};

static unsigned ceil_log2(unsigned n)
{
    unsigned lg = 0;

    while ((1u << lg) < n)
        lg++;
    return lg;
}

/* Each node passes on what it got, to the next one. */
static struct way ring_gather(unsigned n)
{
    return (struct way){"ring", n - 1.0, n - 1.0, ceil_log2(n), 0.0};
}

/* Bruck: the distance doubles, and with it what is sent, until all have all. */
static struct way bruck_gather(unsigned n)
{
    struct way w = {"doubling", 0.0, 0.0, ceil_log2(n), 0.0};

    for (unsigned have = 1; have < n; have *= 2) {
        w.steps++;
        w.bytes += 2 * have <= n ? have : n - have;
    }
    return w;
}

/* Parts of 1/n go round, are added to at each node, and go round again. */
static struct way ring_reduce(unsigned n)
{
    return (struct way){"ring", 2.0 * (n - 1), 2.0 * (n - 1) / n, 0.0, (n - 1.0) / n};
}

/* Rabenseifner: without a power of two the nodes beyond it give all values to others, and get the
 * result. */
static struct way halving_reduce(unsigned n)
{
    struct way w = {.name = "halving"};
    unsigned power = 1;

    while (2 * power <= n)
        power *= 2;
    for (unsigned parts = 2; parts <= power; parts *= 2) { /* half, a quarter, ... and back */
        w.steps += 2.0;
        w.bytes += 2.0 / parts;
        w.adds += 1.0 / parts;
    }
    if (power < n) {
        w.steps += 2.0;
        w.bytes += 2.0;
        w.adds += 1.0;
    }
    return w;
}

/* All values in each step. */
static struct way doubling_reduce(unsigned n)
{
    struct way w = {.name = "doubling"};
    unsigned power = 1;

    for (; 2 * power <= n; power *= 2) {
        w.steps++;
        w.bytes++;
        w.adds++;
    }
    if (power < n) {
        w.steps += 2.0;
        w.bytes += 2.0;
        w.adds += 1.0;
    }
    return w;
}

/* To each other node its part; and from each node its sum. */
static struct way pairwise_twoshot(unsigned n)
{
    return (struct way){"pairwise", 2.0 * (n - 1), 2.0 * (n - 1) / n, 2.0 * ceil_log2(n), 0.0};
}

/* Bruck's all-to-all sends half of everything in each step; then his all-gather of parts. */
static struct way tree_twoshot(unsigned n)
{
    const struct way gather = bruck_gather(n);

    return (struct way){"tree", 2.0 * gather.steps, 0.5 * gather.steps + gather.bytes / n,
                        2.0 * ceil_log2(n), 0.0};
}

/* Returns how many there are; 0: not worked out here. */
static size_t list(struct way out[3], enum gcb_collective c, unsigned n)
{
    switch (c) {
    case GCB_COLLECTIVE_ALLGATHER:
        out[0] = ring_gather(n);
        out[1] = bruck_gather(n);
        return 2;
    case GCB_COLLECTIVE_ALLREDUCE:
        out[0] = ring_reduce(n);
        out[1] = halving_reduce(n);
        out[2] = doubling_reduce(n);
        return 3;
    case GCB_COLLECTIVE_TWOSHOT:
        out[0] = pairwise_twoshot(n);
        out[1] = tree_twoshot(n);
        return 2;
    case GCB_COLLECTIVE_HIERARCHICAL: /* nodes of one worker */
        out[0] = pairwise_twoshot(n);
        return 1;
    case GCB_COLLECTIVE_OKTOPK: /* docs/exchange.md */
        out[0] = (struct way){"pairwise", 2.0 * (n + ceil_log2(n)), (n - 1.0) / n,
                              2.0 * ceil_log2(n), 0.0};
        return 1;
    case GCB_COLLECTIVE_SPARDL:
        out[0] = (struct way){"tree", 2.0 * ceil_log2(n), (n - 1.0) / n, 2.0 * ceil_log2(n), 0.0};
        return 1;
    /* one hop after the other; then Bruck's all-gather of a sum that is at one node or all */
    case GCB_COLLECTIVE_RING:
        out[0] = (struct way){"doubling", n - 1.0 + ceil_log2(n), 2.0 * (n - 1) / n,
                              n - 1.0 + ceil_log2(n), (n - 1.0) / n};
        return 1;
    case GCB_COLLECTIVE_TREE:
        out[0] = (struct way){"doubling", 2.0 * ceil_log2(n), 2.0 * ceil_log2(n),
                              2.0 * ceil_log2(n), ceil_log2(n)};
        return 1;
    default:
        return 0;
    }
}

/* ---- one level ---- */

static struct gcb_network make_network(double bandwidth, double latency, unsigned workers)
{
    return (struct gcb_network){
        .bandwidth = bandwidth, .latency = latency, .workers = workers, .per_node = 1};
}

static const struct gcb_cost cost = {.code = 3e-3,
                                     .code_share = 5e-3,
                                     .decode = 2e-3,
                                     .add = 7e-4,
                                     .add_each = 11e-4,
                                     .combine = 13e-4};

static struct gcb_exchange_load make_load(enum gcb_collective c)
{
    return (struct gcb_exchange_load){.collective = c,
                                      .bytes = 1e7,
                                      .reductions = 1,
                                      .cost = cost,
                                      .gradient = 4e7,
                                      .add_gradient = 17e-3,
                                      .transfers = 3,
                                      .compute = NAN,
                                      .inner_steps = 1};
}

/* What a worker encodes and decodes. In a tree it waits for the workers of each level to encode. */
static double coding_of(const struct way *w, const struct gcb_exchange_load *load, double n)
{
    return 3e-3 * (load->collective == GCB_COLLECTIVE_TREE ? w->adds + 1.0 : 1.0) + 5e-3 / n + 2e-3;
}

/* An exchange of `load` by one algorithm, and no copies, halves or further reductions. */
static double seconds_of(const struct way *w, const struct gcb_network *net,
                         const struct gcb_exchange_load *load, double *network, double *adding)
{
    const double n = net->workers;

    *network = 3 * w->steps * net->latency + w->bytes * 1e7 / net->bandwidth +
               (load->sizes ? 3 * w->size_steps * net->latency : 0.0);
    *adding = 11e-4 * n + (gcb_collectives[load->collective].sends == GCB_SENDS_HOPS
                               ? 7e-4 * w->adds
                               : 7e-4 + w->adds * 13e-4);
    return coding_of(w, load, n) + *network + *adding;
}

/* With every network the model takes the fastest algorithm, and says what it takes. */
static void test_algorithms(void **state)
{
    static const double latencies[] = {0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1.0};
    unsigned won[GCB_COLLECTIVES][3] = {{0}};

    for (size_t k = 0; k < SIZES * 7 * GCB_COLLECTIVES * 2; k++) {
        const unsigned n = sizes[k % SIZES];
        const enum gcb_collective c = (enum gcb_collective)(k / SIZES / 7 % GCB_COLLECTIVES);
        const struct gcb_network net = make_network(1e9, latencies[k / SIZES % 7], n);
        struct gcb_exchange_load load = make_load(c);
        struct gcb_exchange_times t;
        double least = INFINITY, network = 0.0, adding = 0.0;
        struct way all[3];
        size_t count, match = 3;

        load.sizes = k >= SIZES * 7 * GCB_COLLECTIVES;
        count = list(all, c, n);
        gcb_exchange_model(&t, &net, &load);
        if (!t.algorithm)
            fail_msg("%s has no row in src/tool/payoff/model.c", gcb_collective_names[c]);
        if (!count)
            continue;
        for (size_t i = 0; i < count; i++) {
            least = fmin(least, seconds_of(&all[i], &net, &load, &network, &adding));
            if (strcmp(all[i].name, t.algorithm) == 0)
                match = i;
        }
        assert_true(match < count);
        expect(t.seconds, least, "the fastest", n);
        expect(t.seconds, seconds_of(&all[match], &net, &load, &network, &adding), t.algorithm, n);
        expect(t.network, network, t.algorithm, n);
        expect(t.adding, adding, t.algorithm, n);
        expect(t.coding, coding_of(&all[match], &load, n), t.algorithm, n);
        expect(t.link_bytes, all[match].bytes * 1e7, t.algorithm, n);
        expect(t.cost, t.seconds, "cost", n);
        assert_true(isnan(t.step) && t.gathered == 0.0);
        won[c][match]++;
    }
    for (size_t c = 0; c < GCB_COLLECTIVES; c++) {
        struct way all[3];
        const size_t count = list(all, (enum gcb_collective)c, 4);

        for (size_t i = 0; i < count; i++)
            assert_true(won[c][i] > 0);
    }
}

/* Rounds before the last one carry few bytes, but take their steps. */
static void test_reductions(void **state)
{
    const struct gcb_network net = make_network(1e9, 1e-4, 8);
    struct gcb_exchange_load load = make_load(GCB_COLLECTIVE_ALLREDUCE);
    struct gcb_exchange_times one, three;

    load.bytes = 1e9; /* halving */
    gcb_exchange_model(&one, &net, &load);
    load.reductions = 3;
    gcb_exchange_model(&three, &net, &load);
    assert_string_equal(three.algorithm, "halving");
    expect(three.network - one.network, 2 * 6 * 3 * 1e-4, "rounds", 8);
    expect(three.link_bytes, one.link_bytes, "bytes", 8);
    load.reductions = 0;
    gcb_exchange_model(&three, &net, &load);
    expect(three.seconds, one.seconds, "no round given", 8);
    load.collective = GCB_COLLECTIVE_ALLGATHER; /* has no reductions */
    gcb_exchange_model(&one, &net, &load);
    load.reductions = 3;
    gcb_exchange_model(&three, &net, &load);
    expect(three.seconds, one.seconds, "all-gather", 8);
}

/* The first half reduces and scatters; weights are gathered beside it. */
static void test_half(void **state)
{
    for (size_t k = 0; k < SIZES; k++) {
        const unsigned n = sizes[k];
        const double part = (n - 1.0) / n;
        struct gcb_network net = make_network(1e9, 0.0, n);
        struct gcb_exchange_load load = make_load(GCB_COLLECTIVE_ALLREDUCE);
        struct gcb_exchange_times t;

        load.half = true;
        load.gathered = 6e7;
        gcb_exchange_model(&t, &net,
                           &load); /* without latency no algorithm is faster than the ring */
        expect(t.gathered, part * 6e7 / 1e9, "weights", n);
        expect(t.network, part * 1e7 / 1e9 + part * 6e7 / 1e9, "half an all-reduce", n);
        expect(t.adding, 7e-4 + 11e-4 * n + part * 13e-4, "its additions", n);
        expect(t.coding, 3e-3 + 2e-3 / n, "its coding", n);
        load.collective = GCB_COLLECTIVE_TWOSHOT;
        net.latency = 1e-5;
        gcb_exchange_model(&t, &net, &load);
        assert_string_equal(t.algorithm, "pairwise"); /* a tree has no halves */
        expect(t.link_bytes, part * 1e7, "half a two-shot", n);
        expect(t.gathered, 3 * ceil_log2(n) * 1e-5 + part * 6e7 / 1e9, "weights", n);
        expect(t.network, 3 * (n - 1) * 1e-5 + part * 1e7 / 1e9 + t.gathered, "its network", n);
        expect(t.coding, 3e-3, "nothing is encoded again", n);
        expect(t.adding, 7e-4 + 11e-4 * n, "its additions", n);
    }
}

/* ---- two levels ---- */

/* Messages travel inside nodes too: a worker encodes all, then its share of the node's sum. */
static void test_hierarchical(void **state)
{
    struct gcb_network net = make_network(1e9, 0.0, 32);
    struct gcb_exchange_load load = make_load(GCB_COLLECTIVE_HIERARCHICAL);
    struct gcb_exchange_times t;

    net.per_node = 8;
    net.intra = 5e9;
    gcb_exchange_model(&t, &net, &load);
    expect(t.link_bytes, 2 * 3.0 / 4 * 1e7, "between nodes", 4);
    expect(t.inside_bytes, 2 * 7.0 / 8 * 1e7, "inside nodes", 4);
    expect(t.network, t.link_bytes / 1e9 + t.inside_bytes / 5e9, "network", 4);
    expect(t.coding, 3e-3 * 9 / 8 + 5e-3 / 32 + 2e-3, "coding", 4);
    expect(t.adding, (7e-4 + 11e-4 * 4) / 8 + 7e-4, "adding", 4);
}

static void test_two_levels(void **state)
{
    struct gcb_network net = make_network(1e9, 1e-5, 24);
    struct gcb_exchange_load load = make_load(GCB_COLLECTIVE_TWOSHOT);
    struct gcb_exchange_times t, flat;

    net.per_node = 4; /* 6 nodes */
    net.intra = 1e10;
    /* inside a node fp32 is reduced, scattered and gathered; each worker codes a quarter */
    gcb_exchange_model(&t, &net, &load);
    assert_string_equal(t.algorithm, "pairwise");
    expect(t.link_bytes, 2 * 5.0 / 6 * 1e7, "a node's link", 24);
    expect(t.network, 3 * 10 * 1e-5 + t.link_bytes / 1e9 + 2 * 0.75 * 4e7 / 1e10, "network", 24);
    expect(t.coding, (3e-3 + 5e-3 / 6 + 2e-3) / 4, "coding", 24);
    expect(t.adding, (7e-4 + 11e-4 * 6) / 4 + 0.75 * 17e-3, "adding", 24);
    /* values of an all-reduce are those that travel inside too */
    load.collective = GCB_COLLECTIVE_ALLREDUCE;
    gcb_exchange_model(&t, &net, &load);
    assert_string_equal(t.algorithm, "ring");
    expect(t.network, 3 * 10 * 1e-5 + 2 * 5.0 / 6 * 1e7 / 1e9 + 2 * 0.75 * 1e7 / 1e10, "network",
           24);
    expect(t.coding, 3e-3 + 5e-3 / 6 + 2e-3, "coding", 24);
    expect(t.adding, (7e-4 + 11e-4 * 6) / 4 + 5.0 / 6 * 13e-4 / 4 + 0.75 * 13e-4, "adding", 24);
    /* a half leaves out what travels inside */
    load.half = true;
    gcb_exchange_model(&t, &net, &load);
    expect(t.network, 3 * 5 * 1e-5 + 5.0 / 6 * 1e7 / 1e9, "half", 24);
    expect(t.coding, 3e-3 + 2e-3 / 24, "a worker's share", 24);
    /* a worker in each node is one level */
    load.half = false;
    net.per_node = 1;
    net.intra = 1.0;
    gcb_exchange_model(&t, &net, &load);
    net = make_network(1e9, 1e-5, 24);
    gcb_exchange_model(&flat, &net, &load);
    expect(t.seconds, flat.seconds, "one level", 24);
}

/* ---- overlap ---- */

/* Computing makes one transfer after another ready, and the network carries one after another. */
static double flow_shop(size_t count, double work, double latency, double bytes)
{
    double computed = 0.0, sent = 0.0;

    for (size_t i = 0; i < count; i++) {
        computed += work / (double)count;
        sent = fmax(sent, computed) + (latency + bytes) / (double)count;
    }
    return sent;
}

static void test_overlap(void **state)
{
    for (int k = 0; k < 400; k++) {
        const size_t count = 1 + (size_t)k % 9;
        struct gcb_network net = make_network(1e9, k % 3 ? 3e-5 : 0.0, 8);
        struct gcb_exchange_load load = make_load(GCB_COLLECTIVE_TWOSHOT);
        struct gcb_exchange_times t;
        double latency, bytes, work;

        load.transfers = (double)count;
        load.compute = 1e-3 * (double)(k % 40);
        load.copy = k % 5 ? 0.0 : 4e-3;
        gcb_exchange_model(&t, &net, &load);
        assert_string_equal(t.algorithm, "pairwise");
        latency = (double)count * 14 * net.latency;
        bytes = t.network - latency;
        work = load.compute * 2.0 / 3.0 + t.coding + t.adding;
        expect(t.coding, 3e-3 + 5e-3 / 8 + 2e-3 + load.copy, "coding and copying", 8);
        expect(t.step, load.compute / 3.0 + flow_shop(count, work, latency, bytes), "a step", 8);
        expect(t.cost, t.step - load.compute, "what the exchange adds", 8);
        expect(t.seconds, t.coding + t.network + t.adding, "the exchange", 8);
    }
}

static void test_local_sgd(void **state)
{
    const struct gcb_network net = make_network(1e9, 1e-5, 8);
    struct gcb_exchange_load load = make_load(GCB_COLLECTIVE_ALLGATHER);
    struct gcb_exchange_times t;

    load.inner_steps = 10;
    gcb_exchange_model(&t, &net, &load);
    expect(t.cost, t.seconds / 10, "cost", 8);
    load.compute = 0.5;
    gcb_exchange_model(&t, &net, &load); /* nothing overlaps */
    expect(t.step, 0.5 + t.seconds / 10, "step", 8);
    expect(t.cost, t.seconds / 10, "cost", 8);
}

RUN_TESTS(cmocka_unit_test(test_algorithms), cmocka_unit_test(test_reductions),
          cmocka_unit_test(test_half), cmocka_unit_test(test_two_levels),
          cmocka_unit_test(test_hierarchical), cmocka_unit_test(test_overlap),
          cmocka_unit_test(test_local_sgd))
