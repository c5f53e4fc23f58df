/* Kinds of error, what the table shows, and what is advised, of ways that are made by hand. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/tool/measure/stats.h"
#include "src/tool/payoff/judge.h"
#include "tests/support/test.h"

/* A gradient of one element on a network that takes no time for ways of no bytes: the time of a way
 * is the time of its coding. */
static const struct gcb_setting plain = {
    .network = {.bandwidth = 1e9, .workers = 8, .per_node = 1},
    .elements = 1,
    .bucket = 1e6,
    .compute = NAN,
    .inner_steps = 1,
    .reduced = "bf16",
    .exact = GCB_ERROR_EXACT_MOST,
    .noise = GCB_ERROR_NOISE_MOST,
};

static struct gcb_way *add(struct gcb_ways *w, const char *spec, enum gcb_collective collective,
                           double error, double lasting, double seconds)
{
    struct gcb_method method;
    struct gcb_way *way;

    assert_int_equal(gcb_method_parse(&method, spec, NULL), 0);
    way = gcb_ways_new(w, &method, collective);
    assert_non_null(way);
    way->mean.error = error;
    way->mean.lasting = lasting;
    way->workers = 8;
    way->cost = (struct gcb_cost){.code = seconds};
    return way;
}

#define GATHER GCB_COLLECTIVE_ALLGATHER
#define REDUCE GCB_COLLECTIVE_ALLREDUCE
#define TWOSHOT GCB_COLLECTIVE_TWOSHOT

/* fp16 takes a second, fp32 and bf16 longer. */
static void add_baselines(struct gcb_ways *w)
{
    add(w, "identity", REDUCE, 0.0, 0.0, 1.5);
    add(w, "fp16", REDUCE, 3e-4, 3e-4, 1.0);
    add(w, "bf16", REDUCE, 3e-3, 3e-3, 1.25);
}

static void judge(struct gcb_judgement *j, struct gcb_ways *w, const struct gcb_setting *s)
{
    gcb_ways_label(w);
    gcb_judge(j, w, s);
    for (size_t i = 0; i < j->count; i++) {
        const struct gcb_judged *x = &j->items[i];

        if (i == 0)
            continue;
        /* baselines first, then kinds, then errors */
        assert_true(x[-1].way->baseline >= x->way->baseline);
        if (x[-1].way->baseline == x->way->baseline)
            assert_true(x->way->baseline || x[-1].kind <= x->kind);
        if (!x->way->baseline && !x[-1].way->baseline && x[-1].kind == x->kind)
            assert_true(x[-1].item.error <= x->item.error);
    }
}

/* The judged way with this time of coding, which is different for each; NULL: it was left out. */
static const struct gcb_judged *find(const struct gcb_judgement *j, double seconds)
{
    for (size_t i = 0; i < j->count; i++)
        if (j->items[i].way->cost.code >= seconds && j->items[i].way->cost.code <= seconds)
            return &j->items[i];
    return NULL;
}

static void near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-12 * fabs(want)))
        fail_msg("%.15g, not %.15g", got, want);
}

static void done(struct gcb_judgement *j, struct gcb_ways *w)
{
    gcb_judgement_fini(j);
    gcb_ways_fini(w);
}

/* ---- kinds ---- */

static void test_kinds(void **state)
{
    static const struct {
        const char *spec;
        double error, lasting;
        enum gcb_error_kind kind;
    } cases[] = {
        {"range:bits=8", 0.0, 0.0, GCB_ERROR_EXACT},
        {"range:bits=8", 0.05, 0.05, GCB_ERROR_EXACT}, /* at the limit */
        {"range:bits=8", 0.05, NAN, GCB_ERROR_EXACT},
        {"range:bits=8", 0.0500001, 0.0500001, GCB_ERROR_LASTING},
        {"range:bits=8", 0.0500001, 0.05, GCB_ERROR_NOISE},
        {"qsgd:bits=4", 0.35, 0.0, GCB_ERROR_NOISE},
        {"qsgd:bits=4", 0.3500001, 0.0, GCB_ERROR_LOUD},
        {"qsgd:bits=4", 0.35, 0.0500001, GCB_ERROR_LASTING},
        {"qsgd:bits=4", 3.0, 0.0500001, GCB_ERROR_LASTING},
        /* not measured: a method that is right on average leaves nothing, another one everything */
        {"qsgd:bits=4", 0.2, NAN, GCB_ERROR_NOISE},
        {"qsgd:bits=2", 0.9, NAN, GCB_ERROR_LOUD},
        {"range:bits=8", 0.2, NAN, GCB_ERROR_LASTING},
        {"topk:density=0.1", 0.2, NAN, GCB_ERROR_LASTING},
    };
    struct gcb_judgement j;
    struct gcb_setting s = plain;

    for (int moved = 0; moved < 2; moved++) {
        struct gcb_ways w = {.count = 0};
        const double by = moved ? 2.0 : 1.0; /* both limits and all errors; not what may last */

        add_baselines(&w);
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
            add(&w, cases[i].spec, GATHER, by * cases[i].error, cases[i].lasting, 2.0 + (double)i);
        s.exact = by * GCB_ERROR_EXACT_MOST;
        s.noise = by * GCB_ERROR_NOISE_MOST;
        judge(&j, &w, &s);
        assert_int_equal(j.count, 3 + sizeof(cases) / sizeof(cases[0]));
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
            if (find(&j, 2.0 + (double)i)->kind != cases[i].kind)
                fail_msg("%s, %g, %g: %s", cases[i].spec, cases[i].error, cases[i].lasting,
                         gcb_error_kinds[find(&j, 2.0 + (double)i)->kind]);
        done(&j, &w);
    }
    for (int k = 0; k < GCB_ERROR_KINDS; k++)
        assert_non_null(gcb_error_kinds[k]);
}

/* ---- the table ---- */

static void expect_shown(const struct gcb_judgement *j, double seconds, bool shown)
{
    if (find(j, seconds)->shown != shown)
        fail_msg("the way of %g s", seconds);
}

/* Of each kind: each line a tenth faster than the one above, the first than the bar. */
static void test_front(void **state)
{
    struct gcb_ways w = {.count = 0};
    struct gcb_judgement j;

    add_baselines(&w);
    add(&w, "qsgd:bits=8", GATHER, 0.01, 0.0, 0.92); /* not a tenth faster than fp16 */
    add(&w, "qsgd:bits=8", TWOSHOT, 0.02, 0.0, 0.8);
    add(&w, "qsgd:bits=6", GATHER, 0.03, 0.0, 0.75); /* too near the one above */
    add(&w, "qsgd:bits=6", TWOSHOT, 0.04, 0.0, 0.7);
    add(&w, "qsgd:bits=5", GATHER, 0.05, 0.0, 0.71); /* slower than one with a smaller error */
    add(&w, "qsgd:bits=4", GATHER, 0.1, 0.0, 0.9);
    add(&w, "qsgd:bits=4", TWOSHOT, 0.2, 0.0, 0.85); /* near, but the fastest noise */
    add(&w, "topk:density=0.1,memory=ef", GATHER, 0.3, 0.2,
        3.0); /* slow, but the fastest of its kind */
    add(&w, "topk:density=0.2,memory=ef", GATHER, 0.25, 0.2, 4.0);
    add(&w, "topk:density=0.3,memory=ef", GATHER, 1.01, 0.9, 0.3); /* worse than zeros */
    add(&w, "topk:density=0.01", GATHER, 0.3, 0.2, 0.1);           /* needs a memory */
    add(&w, "qsgd:bits=2", GATHER, 0.9, 0.0, 0.01);                /* too loud */
    add(&w, "qsgd:bits=3", GATHER, NAN, 0.0, 0.02);                /* its error is unknown */
    judge(&j, &w, &plain);
    assert_null(find(&j, 0.02));
    assert_true(j.bar == 1 && strcmp(j.items[1].way->method.name, "fp16") == 0);
    expect_shown(&j, 1.5, true); /* fp32, which frameworks send */
    expect_shown(&j, 1.0, true);
    expect_shown(&j, 1.25, false);
    expect_shown(&j, 0.92, false);
    expect_shown(&j, 0.8, true);
    expect_shown(&j, 0.75, false);
    expect_shown(&j, 0.7, true);
    expect_shown(&j, 0.71, false);
    expect_shown(&j, 0.9, true);
    expect_shown(&j, 0.85, true);
    expect_shown(&j, 3.0, true);
    expect_shown(&j, 4.0, false);
    expect_shown(&j, 0.3, false);
    expect_shown(&j, 0.1, false);
    expect_shown(&j, 0.01, false);
    near(find(&j, 0.8)->item.gain, 1.25);
    near(find(&j, 1.5)->item.gain, 1.0 / 1.5);
    assert_true(isnan(find(&j, 0.8)->item.low) && isnan(find(&j, 0.8)->item.step));
    done(&j, &w);
}

/* ---- advice ---- */

#define NONE 0.0

/* The time of an advised way; NONE: nothing is advised. */
static double advised(const struct gcb_judgement *j, size_t i)
{
    return i == SIZE_MAX ? NONE : j->items[i].way->cost.code;
}

/* Ways of times exact, noise and lasting (with and without a memory) beside a second of fp16; which
 * of them are advised. */
static void expect_advice(double exact, double noise, double lasting, double bare, double error,
                          double best, double noisy, double trained)
{
    struct gcb_ways w = {.count = 0};
    struct gcb_judgement j;

    add_baselines(&w);
    add(&w, "qsgd:bits=8", TWOSHOT, 0.01, 0.0, exact);
    add(&w, "qsgd:bits=8", GATHER, 0.01, 0.0, exact + 0.2);
    add(&w, "qsgd:bits=4", TWOSHOT, 0.2, 0.0, noise);
    add(&w, "qsgd:bits=2", TWOSHOT, 0.9, 0.0, 1e-3); /* never: too loud */
    add(&w, "topk:density=0.1,memory=ef", GATHER, error, error, lasting);
    add(&w, "topk:density=0.1", GATHER, error, error, bare);
    judge(&j, &w, &plain);
    near(advised(&j, j.answer.best), best);
    near(advised(&j, j.answer.noisy), noisy);
    near(advised(&j, j.answer.trained), trained);
    done(&j, &w);
}

static void test_advice(void **state)
{
    const double least = 1.0 / 1.1; /* the time of what is 1.1 times as fast as fp16 */

    expect_advice(0.92, 0.92, 0.92, 0.92, 0.3, NONE, NONE, NONE);
    expect_advice(least * (1 - 1e-12), 0.8, 2, 2, 0.3, least * (1 - 1e-12), NONE, NONE);
    expect_advice(0.8, 0.7, 2, 2, 0.3, 0.8, NONE, NONE); /* noise not 1.2 times faster still */
    expect_advice(0.8, 0.8 / 1.2 * (1 - 1e-12), 2, 2, 0.3, 0.8, 0.8 / 1.2 * (1 - 1e-12), NONE);
    expect_advice(2, 0.95, 2, 2, 0.3, NONE, NONE, NONE);
    /* alone, noise has to be 1.2 times as fast */
    expect_advice(2, 0.84, 2, 2, 0.3, NONE, NONE, NONE);
    expect_advice(2, 0.83, 2, 2, 0.3, NONE, 0.83, NONE);
    expect_advice(0.8, 0.5, 0.4, 0.1, 0.3, 0.8, 0.5, 0.4);  /* never without its memory */
    expect_advice(0.8, 0.5, 0.6, 0.1, 0.3, 0.8, 0.5, NONE); /* not faster than both */
    expect_advice(0.8, 0.5, 0.4, 0.1, 0.36, 0.8, 0.5,
                  NONE); /* its error is beyond the limit of noise */
    expect_advice(2, 2, 0.92, 2, 0.3, NONE, NONE, NONE);
    expect_advice(2, 2, 0.9, 2, 0.3, NONE, NONE, 0.9);
}

/* ---- times and limits ---- */

/* With free coding only the network counts, and the limit is against the fastest baseline there. */
static void test_limit_and_step(void **state)
{
    struct gcb_ways w = {.count = 0};
    struct gcb_setting s = plain;
    const struct gcb_judged *x;
    struct gcb_judgement j;

    s.network.workers = 2; /* doubling: one step */
    s.elements = 1e9;
    s.bucket = 4e9;
    add(&w, "identity", REDUCE, 0.0, 0.0, 0.0)->mean.bytes = 4.0;
    add(&w, "fp16", REDUCE, 3e-4, 3e-4, 5e-9)->mean.bytes = 2.0;
    add(&w, "bf16", REDUCE, 3e-3, 3e-3, 6e-9)->mean.bytes = 3.0;
    add(&w, "qsgd:bits=8", TWOSHOT, 0.01, 0.0, 1e-9)->mean.bytes = 1.0;
    judge(&j, &w, &s);
    x = find(&j, 1e-9);
    assert_true(j.bar == 0); /* 4 s of fp32 beat 2 + 5 s of fp16 */
    near(x->times.seconds, 1.0 + 1.0);
    near(x->item.gain, 2.0);
    near(x->limit, 2.0); /* against fp16 */
    near(x->times.link_bytes, 1e9);
    gcb_judgement_fini(&j);
    s.compute = 3.0; /* a step: fp32 3 + 4, fp16 3 + 5 + 2, 8 bits 3 + 1 + 1, with one bucket */
    judge(&j, &w, &s);
    x = find(&j, 1e-9);
    near(x->times.step, 5.0);
    near(x->item.step, 7.0 / 5.0);
    near(x->item.gain, 2.0);
    near(x->times.cost, 2.0);
    gcb_judgement_fini(&j);
    s.bucket = 1e9; /* four buckets: the last one is sent after all work */
    judge(&j, &w, &s);
    near(find(&j, 1e-9)->times.step, 4.0 + 0.25);
    gcb_judgement_fini(&j);
    s.compute = NAN; /* between a device and the host, there and back */
    s.host_copy = 1e9;
    judge(&j, &w, &s);
    near(find(&j, 1e-9)->times.coding, 1.0 + 2 * 4.0);
    near(find(&j, 0.0)->times.coding, 0.0);
    near(find(&j, 1e-9)->limit, 2.0);
    gcb_judgement_fini(&j);
    s.host_copy = 0.0;
    s.inner_steps = 10;
    judge(&j, &w, &s);
    near(find(&j, 1e-9)->times.cost, 0.2);
    done(&j, &w);
}

/* A hidden exchange: only the step decides, and the bar is still the baseline with the fastest
 * exchange. */
static void test_hidden(void **state)
{
    struct gcb_ways w = {.count = 0};
    struct gcb_setting s = plain;
    struct gcb_judgement j;

    s.network.workers = 2; /* doubling: one step */
    s.elements = 1e9;
    s.bucket = 1e9; /* four transfers */
    add(&w, "identity", REDUCE, 0.0, 0.0, 0.0)->mean.bytes = 4.0;
    add(&w, "fp16", REDUCE, 3e-4, 3e-4, 1e-10)->mean.bytes = 2.0;
    add(&w, "qsgd:bits=8", TWOSHOT, 0.01, 0.0, 5e-10)->mean.bytes = 1.0;
    s.compute = 100.0;
    judge(&j, &w, &s);
    assert_string_equal(j.answer.bar, "fp16"); /* although fp32 makes the shortest step */
    near(find(&j, 5e-10)->item.gain, 2.1 / 1.5);
    near(find(&j, 5e-10)->item.step, (100.1 + 0.5) / (100.5 + 0.25));
    near(find(&j, 5e-10)->limit, 2.0);
    assert_true(j.answer.best == SIZE_MAX);
    assert_true(find(&j, 5e-10)->shown); /* the fastest of its kind */
    gcb_judgement_fini(&j);
    s.compute = 0.1;
    judge(&j, &w, &s);
    assert_true(j.answer.best != SIZE_MAX);
    done(&j, &w);
}

/* Each round compares the way with the same baseline. */
static void test_interval(void **state)
{
    enum { ROUNDS = 7 };
    static const double fp16[ROUNDS] = {1.0, 1.2, 0.9, 1.0, 5.0, 1.1, 1.0};
    static const double coded[ROUNDS] = {0.5, 0.6, 0.5, 0.4, 0.7, 0.5, 0.8};
    struct gcb_ways w = {.round_count = ROUNDS};
    const double want[ROUNDS] = {2.0, 2.0, 1.8, 2.5, 5.0 / 0.7, 2.2, 1.25};
    struct gcb_judgement j;

    add(&w, "identity", REDUCE, 0.0, 0.0, 1.5);
    add(&w, "fp16", REDUCE, 3e-4, 3e-4, 1.0);
    add(&w, "qsgd:bits=8", GATHER, 0.01, 0.0, 0.6);
    for (size_t i = 0; i < 3; i++) {
        for (size_t r = 0; r < ROUNDS; r++)
            w.items[i].rounds[r].code = i == 0 ? 1.5 : i == 1 ? fp16[r] : coded[r];
    }
    judge(&j, &w, &plain);
    /* sorted: 1.25 1.8 2 2 2.2 2.5 7.14; with seven the interval has all */
    near(find(&j, 0.6)->item.gain, 2.0);
    near(find(&j, 0.6)->item.low, want[6]);
    near(find(&j, 0.6)->item.high, want[4]);
    near(find(&j, 1.0)->item.gain, 1.0); /* in each round, too */
    gcb_judgement_fini(&j);
    w.round_count = GCB_STATS_LEAST - 1; /* too few for an interval: 2 2 1.8 2.5 7.14 */
    judge(&j, &w, &plain);
    near(find(&j, 0.6)->item.gain, 2.0);
    assert_true(isnan(find(&j, 0.6)->item.low) && isnan(find(&j, 0.6)->item.high));
    done(&j, &w);
}

/* Without a baseline nothing can be judged, and nothing is advised. A way without times is left
 * out. */
static void test_gaps(void **state)
{
    struct gcb_ways w = {.count = 0};
    struct gcb_judgement j;

    add(&w, "qsgd:bits=8", GATHER, 0.01, 0.0, 0.5);
    add(&w, "qsgd:bits=4", GATHER, 0.01, 0.0, -1.0);
    judge(&j, &w, &plain);
    assert_true(j.count == 1 && j.bar == SIZE_MAX);
    assert_true(j.answer.best == SIZE_MAX && j.answer.noisy == SIZE_MAX &&
                j.answer.trained == SIZE_MAX);
    done(&j, &w);
    judge(&j, &w, &plain); /* no way at all */
    assert_true(j.count == 0 && j.bar == SIZE_MAX && j.answer.best == SIZE_MAX);
    done(&j, &w);
}

/* FSDP: only a first half can be compressed; what gathers the weights is the same for all. */
static void test_sharded(void **state)
{
    struct gcb_ways w = {.count = 0};
    struct gcb_setting s = plain;
    const struct gcb_judged *x;
    struct gcb_judgement j;

    s.sharded = true;
    s.elements = 7e9;
    s.bucket = 4e9;
    s.network =
        (struct gcb_network){.bandwidth = 400e9, .workers = 256, .per_node = 8, .intra = 400e9};
    add(&w, "identity", REDUCE, 0.0, 0.0, 1e-15)->mean.bytes = 4.0;
    add(&w, "fp16", REDUCE, 3e-4, 0.0, 2e-15)->mean.bytes = 2.0;
    add(&w, "bf16", REDUCE, 3e-3, 0.0, 3e-15)->mean.bytes = 2.0;
    add(&w, "bf16", GATHER, 3e-3, 0.0, 4e-15)->mean.bytes = 2.0;
    add(&w, "qsgd:bits=8", REDUCE, 0.01, 0.0, 5e-15)->mean.bytes = 1.0;
    x = NULL;
    for (int k = 0; k < 2; k++) {
        struct gcb_way *way = add(&w, k ? "qsgd:bits=4" : "qsgd:bits=8", TWOSHOT, k ? 0.2 : 0.03,
                                  0.0, k ? 7e-15 : 6e-15);

        way->mean.bytes = k ? 0.5 : 1.0;
        way->mean.second_error = k ? 0.1 : 0.02;
    }
    judge(&j, &w, &s);
    assert_int_equal(j.count, 3);
    assert_string_equal(j.items[j.bar].way->method.name, "bf16");
    /* the figures of the issue: bf16 102 ms, 8 bits 85, 4 bits 77 */
    assert_true(fabs(j.items[j.bar].times.network - 0.102) < 0.0005);
    x = find(&j, 6e-15);
    assert_true(x && fabs(x->times.network - 0.085) < 0.0005);
    near(x->item.error, sqrt(0.03 * 0.03 - 0.02 * 0.02)); /* nothing is encoded again */
    x = find(&j, 7e-15);
    assert_true(x && fabs(x->times.network - 0.0765) < 0.0005 && fabs(x->limit - 1.33) < 0.005);
    near(j.untouched, j.items[j.bar].times.gathered / j.items[j.bar].times.seconds);
    assert_true(fabs(j.untouched - 2.0 / 3) < 0.01);
    gcb_judgement_fini(&j);
    s.reduced = "identity";
    judge(&j, &w, &s);
    assert_int_equal(j.count, 3);
    assert_string_equal(j.items[j.bar].way->method.name, "identity");
    done(&j, &w);
}

/* What the answer names is in the table, also if another way of its kind is faster. */
static void test_named_is_shown(void **state)
{
    struct gcb_ways w = {.count = 0};
    struct gcb_judgement j;

    add_baselines(&w);
    add(&w, "topk:density=0.1,memory=ef", GATHER, 0.3, 0.3, 0.5);
    add(&w, "topk:density=0.01,memory=ef", GATHER, 0.9, 0.9, 0.1);
    judge(&j, &w, &plain);
    near(advised(&j, j.answer.trained), 0.5);
    expect_shown(&j, 0.5, true);
    expect_shown(&j, 0.1, true);
    done(&j, &w);
}

/* ---- other numbers of workers ---- */

static void test_workers(void **state)
{
    struct gcb_ways w = {.dump = {.signal = 1.0, .noise = 3.0}};
    static const double numbers[] = {4, 64};
    struct gcb_way *way;

    /* of 4 workers G = (4 + 3) / 4, of 64 G = 67 / 4 */
    way = add(&w, "qsgd:bits=4", TWOSHOT, 0.5, 0.0, 1.0);
    way->workers = 4;
    way->mean.second_error = 0.3;
    near(gcb_way_error(&w, way, 4, 1, false), 0.5);
    near(gcb_way_error(&w, way, 4, 1, true), 0.4);
    near(gcb_way_error(&w, way, 64, 1, false), sqrt(0.16 * 7 / 67 + 0.09));
    near(gcb_way_error(&w, way, 64, 1, true), 0.4 * sqrt(7.0 / 67));
    near(gcb_way_error(&w, way, 2, 1, true), 0.4 * sqrt(7.0 / 5));
    /* 8 nodes of 8 round sums of 8, with a noise of 3/8: G = (8 + 3/8) / (1 + 3/8), of one message
     * (4 + 3) / (1 + 3) */
    near(gcb_way_error(&w, way, 64, 8, true), 0.4 * sqrt(7.0 / 4 * 1.375 / 8.375));
    way->workers = 1; /* of one message: whether its noise averages out is unknown */
    near(gcb_way_error(&w, way, 64, 1, false), 0.5);
    way = add(&w, "topk:density=0.1,memory=ef", GCB_COLLECTIVE_OKTOPK, 0.5, 0.5, 1.0);
    way->workers = 4;
    near(gcb_way_error(&w, way, 64, 1, false), 0.5); /* what is dropped stays dropped */
    /* sums of integers get wider */
    way = add(&w, "qsgd:bits=4", REDUCE, 0.5, 0.0, 1.0);
    way->mean.bytes = 1.0;
    near(gcb_way_bytes(&w, way, 64), 1.0);
    w.reduced_workers = numbers;
    w.reduced_count = 2;
    way->reduced = gcb_alloc_array(2, sizeof(*way->reduced));
    way->reduced[0] = 1.5;
    way->reduced[1] = NAN; /* too wide */
    near(gcb_way_bytes(&w, way, 4), 1.5);
    near(gcb_way_bytes(&w, way, 8), 1.0);
    assert_true(isnan(gcb_way_bytes(&w, way, 64)));
    {
        struct gcb_setting s = plain;
        struct gcb_judgement j;

        s.network.workers = 64;
        judge(&j, &w, &s);
        assert_int_equal(j.count, w.count - 1);
        gcb_judgement_fini(&j);
        s.network.workers = 4;
        judge(&j, &w, &s);
        assert_int_equal(j.count, w.count);
        gcb_judgement_fini(&j);
    }
    gcb_ways_fini(&w);
}

/* ---- which ways there are ---- */

static void test_ways_of_methods(void **state)
{
    static const struct {
        const char *spec;
        unsigned collectives; /* 0: all that the method can use */
    } cases[] = {
        {"identity", GCB_COLLECTIVE_BIT(REDUCE)},
        {"fp16", GCB_COLLECTIVE_BIT(REDUCE)},
        {"fp16:collective=allgather", GCB_COLLECTIVE_BIT(GATHER)},
        {"qsgd:bits=4,collective=twoshot", GCB_COLLECTIVE_BIT(TWOSHOT)},
        {"topk:density=0.1", 0},
    };
    struct gcb_ways w = {.count = 0};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        unsigned seen = 0, want = cases[i].collectives;
        struct gcb_method method;

        assert_int_equal(gcb_method_parse(&method, cases[i].spec, NULL), 0);
        want = want ? want : gcb_method_collectives(&method);
        assert_int_equal(gcb_ways_add(&w, cases[i].spec, NULL), 0);
        for (size_t k = 0; k < w.count; k++) {
            seen |= GCB_COLLECTIVE_BIT((unsigned)w.items[k].collective);
            assert_int_equal(gcb_method_collective(&w.items[k].method), w.items[k].collective);
            assert_int_equal(w.items[k].baseline, i < 2);
            assert_true(w.items[k].cost.code < 0.0 && isnan(w.items[k].mean.error));
        }
        if (seen != want)
            fail_msg("%s: %x, not %x", cases[i].spec, seen, want);
        gcb_ways_fini(&w);
    }
    assert_int_equal(gcb_ways_add(&w, "nosuch", NULL), GCB_E_INVALID);
    /* the defaults are all methods; no two ways have the same name */
    for (size_t i = 0; gcb_ways_default[i]; i++)
        assert_int_equal(gcb_ways_add(&w, gcb_ways_default[i], NULL), 0);
    gcb_ways_label(&w);
    for (size_t i = 0; i < w.count; i++)
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(w.items[i].label, w.items[k].label);
    assert_true(w.count > 60);
    gcb_ways_fini(&w);
}

RUN_TESTS(cmocka_unit_test(test_kinds), cmocka_unit_test(test_front), cmocka_unit_test(test_advice),
          cmocka_unit_test(test_limit_and_step), cmocka_unit_test(test_hidden),
          cmocka_unit_test(test_interval), cmocka_unit_test(test_gaps),
          cmocka_unit_test(test_named_is_shown), cmocka_unit_test(test_sharded),
          cmocka_unit_test(test_workers), cmocka_unit_test(test_ways_of_methods))
