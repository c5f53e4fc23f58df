/* What workers end up with: errors against true means that are known, what lasts, bytes, and
 * costs. */
#include <math.h>
#include <stdio.h>

#include "src/tool/replay/replay.h"
#include "tests/tool/replay/gradient_source.h"

#define WORKERS 8
static const uint64_t counts[] = {20000, 10240, 40};
#define ELEMENTS 30280

struct setup {
    struct gcb_source source;
    struct gradient_reader reader;
    struct gcb_gradients g;
    struct gcb_mean_config config;
};

static void near(const char *what, double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance * fabs(want)))
        fail_msg("%s: %.9g, not %.9g", what, got, want);
}

static void read_workers(struct setup *s, unsigned workers)
{
    assert_int_equal(gradient_read(&s->reader, &s->g, &s->source,
                                   &(struct gcb_gradients_config){.workers = workers}),
                     0);
    s->config = (struct gcb_mean_config){.compute.kernels = &s->reader.kernels,
                                         .compute.queue = &s->reader.queue,
                                         .compute.seed = 1,
                                         .draws = 4};
}

static void done(struct setup *s)
{
    gcb_gradients_fini(&s->g);
    gradient_reader_free(&s->reader);
}

static int set_up(void **state)
{
    struct setup *s = test_calloc(1, sizeof(*s));

    gradient_source_make(&s->source, 2, WORKERS, counts, 3, 1.0, 1.5);
    read_workers(s, 0);
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    struct setup *s = *state;

    done(s);
    gradient_source_free(&s->source);
    test_free(s);
    return 0;
}

static struct gcb_mean measure(struct setup *s, const char *spec)
{
    struct gcb_method method;
    struct gcb_mean mean;
    int err;

    assert_int_equal(gcb_method_parse(&method, spec, &s->reader.diag), 0);
    err = gcb_mean_measure(&mean, &s->g, &s->config, &method, &s->reader.diag);
    if (err)
        fail_msg("%s: %d, %s", spec, err, s->reader.diag.text);
    return mean;
}

/* ---- errors ---- */

/* The noise of one message averages out as far as workers disagree. */
static void test_averaging(void **state)
{
    static const char *const specs[] = {
        "qsgd:bits=3,collective=allgather", "qsgd:bits=4,collective=allgather",
        "terngrad:collective=allgather", "natural:collective=allgather"};
    struct setup *s = *state;

    for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
        double one;

        done(s);
        read_workers(s, 1);
        one = measure(s, specs[i]).error;
        for (unsigned n = 2; n <= WORKERS; n *= 2) {
            struct gcb_mean m;

            done(s);
            read_workers(s, n);
            m = measure(s, specs[i]);
            near(specs[i], m.error * m.error,
                 one * one * (s->g.signal + s->g.noise) / (n * s->g.signal + s->g.noise), 0.1);
            /* with 4 draws a noise of 3 a^2 / 4 N^0.5 of its square is left by chance */
            assert_true(m.lasting < 0.25 * m.error);
        }
    }
}

/* Rounding to nearest errs alike in each draw; with a memory less of it lasts. */
static void test_lasting(void **state)
{
    static const struct {
        const char *plain, *memory;
    } specs[] = {
        {"range:bits=6,collective=allgather", "range:bits=6,collective=allgather,memory=ef"},
        {"qgz:bits=4,collective=twoshot", "qgz:bits=4,collective=twoshot,memory=ef"},
        {"topk:density=0.1,collective=allgather",
         "topk:density=0.1,collective=allgather,memory=ef"}};
    struct setup *s = *state;
    struct gcb_mean one;

    for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
        const struct gcb_mean plain = measure(s, specs[i].plain);
        const struct gcb_mean memory = measure(s, specs[i].memory);

        near(specs[i].plain, plain.lasting, plain.error, 1e-3);
        assert_true(memory.lasting >= 0.0 && memory.lasting < 0.9 * plain.lasting);
        assert_true(memory.error >= plain.error); /* it gets more to encode */
    }
    s->config.draws = 1;
    one = measure(s, "range:bits=6,collective=allgather");
    assert_true(isnan(one.lasting) && one.error > 0.0);
}

/* A two-shot rounds the sums a second time. */
static void test_second_error(void **state)
{
    static const char *const methods[] = {"qsgd:bits=4", "qsgd:bits=6", "range:bits=6"};

    for (size_t i = 0; i < 3; i++) {
        char spec[64];
        struct gcb_mean gathered, twice;

        snprintf(spec, sizeof(spec), "%s,collective=allgather", methods[i]);
        gathered = measure(*state, spec);
        assert_true(isnan(gathered.second_error));
        snprintf(spec, sizeof(spec), "%s,collective=twoshot", methods[i]);
        twice = measure(*state, spec);
        assert_true(twice.second_error > 0.5 * gathered.error);
        near(methods[i], twice.error,
             sqrt(gathered.error * gathered.error + twice.second_error * twice.second_error), 0.05);
    }
}

/* A gradient of zeros has nothing that an error could be relative to: such a step does not
 * count. */
static void test_zeros(void **state)
{
    struct setup *s = *state;
    const double whole = measure(s, "qgz:bits=4").error;
    struct gcb_method method;
    struct gcb_mean m;

    for (size_t step = 0; step < 2; step++) {
        for (unsigned w = 0; w < WORKERS; w++)
            for (size_t j = 0; j < 3; j++)
                memset(gradient_source_at(&s->source, step, w, j), 0, counts[j] * sizeof(float));
        done(s);
        read_workers(s, 0);
        if (step == 0) {
            near("without the zeros", measure(s, "qgz:bits=4").error, whole, 0.05);
            s->g.steps = 1;
        }
        assert_int_equal(gcb_method_parse(&method, "qgz:bits=4", NULL), 0);
        assert_int_equal(gcb_mean_measure(&m, &s->g, &s->config, &method, &s->reader.diag),
                         GCB_E_INVALID);
    }
}

/* ---- bytes ---- */

static int on_step(void *ctx, const struct gcb_replay_step *step, struct gcb_diag *diag)
{
    return 0;
}

/* The bytes that all workers put on their links in a replayed step, with all tensors in one
 * message, or one each. */
static double replayed(struct setup *s, const char *spec, enum gcb_scope scope)
{
    const struct gcb_layout_config how = {.scope = scope};
    const struct gcb_replay_observer observer = {.step = on_step};
    struct gcb_layout layout;
    struct gcb_replay_config config = {.source = &s->source,
                                       .layout = &layout,
                                       .compute.kernels = &s->reader.kernels,
                                       .compute.queue = &s->reader.queue,
                                       .compute.seed = 1};
    struct gcb_replay_total total;
    struct gcb_method method;
    struct gcb_replay r;

    assert_int_equal(gcb_method_parse(&method, spec, NULL), 0);
    gcb_layout_init(&layout, &s->source, &how);
    assert_int_equal(gcb_replay_open(&r, &config, &s->reader.diag), 0);
    assert_int_equal(gcb_replay_run(&r, &method, &observer, &total, &s->reader.diag), 0);
    gcb_replay_close(&r);
    gcb_layout_fini(&layout);
    return (double)total.figures.sent.link_bytes / (double)total.steps;
}

static void test_bytes(void **state)
{
    /* how the bytes of a worker's messages become those on all links */
    static const struct {
        const char *spec;
        enum gcb_scope scope;
        double times; /* WORKERS - 1, or twice that */
        double tolerance;
        unsigned reductions;
    } cases[] = {
        {"identity:collective=allreduce", GCB_SCOPE_MODEL, 2 * (WORKERS - 1), 1e-9, 1},
        {"fp16:collective=allgather", GCB_SCOPE_MODEL, WORKERS * (WORKERS - 1), 1e-9, 0},
        {"qsgd:bits=4,collective=allgather", GCB_SCOPE_MODEL, WORKERS * (WORKERS - 1), 1e-9, 0},
        {"qsgd:bits=4,collective=allreduce", GCB_SCOPE_MODEL, 2 * (WORKERS - 1), 1e-2, 2},
        {"qsgd:bits=4,collective=twoshot", GCB_SCOPE_MODEL, 2 * (WORKERS - 1), 2e-3, 0},
        {"qgz:bits=8,collective=twoshot", GCB_SCOPE_MODEL, 2 * (WORKERS - 1), 2e-3, 0},
        {"range:bits=8,collective=allgather", GCB_SCOPE_MODEL, WORKERS * (WORKERS - 1), 1e-9, 0},
        {"powersgd:rank=2,collective=allreduce", GCB_SCOPE_TENSOR, 2 * (WORKERS - 1), 1e-2, 2},
        {"topk:density=0.1,collective=allgather", GCB_SCOPE_MODEL, WORKERS * (WORKERS - 1), 1e-9,
         0},
        {"topk:density=0.1,collective=spardl", GCB_SCOPE_MODEL, WORKERS - 1, 1e-9, 0},
        {"topk:density=0.1,collective=oktopk", GCB_SCOPE_MODEL, WORKERS - 1, 1e-9, 0},
    };
    struct setup *s = *state;

    /* one step and one draw, because Ok-Topk's first step takes more bytes */
    s->source.steps = 1;
    done(s);
    read_workers(s, 0);
    s->config.draws = 1;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct gcb_mean m = measure(s, cases[i].spec);

        near(cases[i].spec, m.bytes * ELEMENTS * cases[i].times,
             replayed(s, cases[i].spec, cases[i].scope), cases[i].tolerance);
        if (strstr(cases[i].spec, "allreduce") && m.reductions != cases[i].reductions)
            fail_msg("%s: %u reductions, not %u", cases[i].spec, m.reductions, cases[i].reductions);
    }
    assert_false(measure(s, "qsgd:bits=4,collective=twoshot").varies);
    assert_true(measure(s, "topk:density=0.1,index=adaptive,collective=allgather").varies);
    s->source.steps = 2;
}

/* ---- costs ---- */

static void test_costs(void **state)
{
    static const char *const specs[] = {"identity:collective=allreduce",
                                        "fp16:collective=allreduce",
                                        "qsgd:bits=4,collective=allreduce",
                                        "powersgd:rank=2,collective=allreduce,memory=ef",
                                        "qsgd:bits=4,collective=allgather",
                                        "qsgd:bits=4,collective=twoshot",
                                        "topk:density=0.1,collective=oktopk",
                                        "topk:density=0.1,collective=spardl",
                                        "topk:density=0.1,collective=allgather,memory=ef"};
    struct setup *s = *state;

    for (unsigned workers = 1; workers <= 3; workers += 2) { /* one has a second beside it */
        done(s);
        read_workers(s, workers);
        for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
            struct gcb_method method;
            struct gcb_cost c;
            double sum = 0.0;

            assert_int_equal(gcb_method_parse(&method, specs[i], NULL), 0);
            assert_int_equal(gcb_mean_time(&c, &s->g, &s->config, &method, &s->reader.diag), 0);
            for (size_t k = 0; k < 6; k++) {
                const double x = (const double[]){c.code, c.code_share, c.decode,
                                                  c.add,  c.add_each,   c.combine}[k];

                assert_true(x >= 0.0 && isfinite(x));
                sum += x;
            }
            assert_true(sum > 0.0);
            /* each part of an exchange counts for one kind of cost */
            if (strstr(specs[i], "allgather"))
                assert_true(c.decode == 0.0 && c.combine == 0.0 && c.code_share == 0.0 &&
                            c.add_each > 0.0);
            else if (strstr(specs[i], "allreduce"))
                assert_true(c.add == 0.0 && c.add_each == 0.0 && c.combine > 0.0);
            else if (strstr(specs[i], "twoshot"))
                assert_true(c.add_each == 0.0 && c.combine == 0.0 && c.code_share > 0.0 &&
                            c.decode > 0.0 && c.add > 0.0);
            else
                assert_true(c.add_each == 0.0 && c.combine == 0.0 && c.code_share == 0.0);
        }
    }
}

static bool on_stop(void *ctx)
{
    unsigned *left = ctx;

    return *left == 0 || --*left == 0;
}

/* From the errors with 2 workers follow those with 8. */
static void test_hops_of_more_workers(void **state)
{
    static const char *const specs[] = {"range:bits=8,collective=ring",
                                        "range:bits=8,collective=tree"};
    struct setup *s = *state;

    for (size_t i = 0; i < 2; i++) {
        struct gcb_mean two, eight;
        struct gcb_method method;
        double signal, noise;

        done(s);
        read_workers(s, 2);
        two = measure(s, specs[i]);
        done(s);
        read_workers(s, WORKERS);
        eight = measure(s, specs[i]);
        signal = s->g.signal;
        noise = s->g.noise;
        assert_int_equal(gcb_method_parse(&method, specs[i], NULL), 0);
        near(specs[i], gcb_mean_among(&method, &two, signal, noise, 2, WORKERS, 1), eight.error,
             0.1);
        assert_true(eight.error > 1.05 * two.error);
    }
}

static void test_stops(void **state)
{
    struct setup *s = *state;
    struct gcb_method method;
    struct gcb_mean mean = {.error = 7.0};
    unsigned left = 3;

    assert_int_equal(gcb_method_parse(&method, "qsgd:bits=4,collective=twoshot", NULL), 0);
    s->config.watch = (struct gcb_watch){.stop = on_stop, .ctx = &left};
    assert_int_equal(gcb_mean_measure(&mean, &s->g, &s->config, &method, &s->reader.diag), 1);
    assert_true(mean.error == 7.0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

RUN_TESTS(CASE(test_averaging), CASE(test_lasting), CASE(test_second_error), CASE(test_zeros),
          CASE(test_bytes), CASE(test_costs), CASE(test_hops_of_more_workers), CASE(test_stops))
