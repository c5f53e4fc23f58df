/* Sums of messages: opened in every way, of small segments, of stored messages. tests/contract
 * compares the sums of each method with their definition. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/gcbench.h"
#include "src/lib/sum/sum.h"
#include "tests/support/sums.h"
#include "tests/support/test.h"
#include "tests/support/trip.h"

#define WORKERS 4

/* Not all are powers of two, so that a product that is not rounded before the addition shows. */
static const float weights[WORKERS] = {0.25f, 1.0f, -0.5f, 0.3f};

/* Messages of one method, and the sum of what they decode to. */
struct group {
    struct trip t[WORKERS];
    const char *spec;
    uint64_t n;
    double norm; /* squared, of all that is added */
    float *decoded;
};

static void make_group(struct group *g, const char *spec, uint64_t n, const struct trip_options *o)
{
    struct trip_options own = *o;

    *g = (struct group){.spec = spec, .n = n, .decoded = calloc(n, sizeof(float))};
    for (uint32_t w = 0; w < WORKERS; w++) {
        float *x = trip_tensor(n, TRIP_STUDENT3, w + 3);

        own.worker = w;
        trip_run(&g->t[w], spec, x, n, &own);
        sums_add(g->decoded, g->t[w].back, n, weights[w]);
        g->norm += pow((double)weights[w], 2.0) * trip_norm(g->t[w].back, n);
        free(x);
    }
}

static void free_group(struct group *g)
{
    for (unsigned w = 0; w < WORKERS; w++)
        trip_free(&g->t[w]);
    free(g->decoded);
}

/* A sum with C kernels and segments of this length. */
static struct gcb_sum *create(const char *spec, uint64_t n, const struct trip_options *o)
{
    struct gcb_coder_config config;
    struct gcb_kernels kernels;
    struct gcb_queue queue;
    struct gcb_method method;
    struct gcb_sum *s = NULL;

    assert_int_equal(gcb_method_parse(&method, spec, NULL), 0);
    trip_configure(&config, &queue, &kernels, o, n);
    assert_int_equal(gcb_sum_create(&s, &method, NULL, &config, NULL), 0);
    memset(&kernels, 0, sizeof(kernels)); /* a sum borrows nothing */
    memset(&queue, 0, sizeof(queue));
    return s;
}

/* Adds all messages, closes the sum, and returns its tensor. */
static float *sum_up(struct gcb_sum *s, const struct group *g)
{
    float *x = malloc(g->n * sizeof(*x));

    for (unsigned w = 0; w < WORKERS; w++)
        assert_int_equal(gcb_sum_add(s, g->t[w].message, g->t[w].length, weights[w], NULL), 0);
    assert_int_equal(gcb_sum_finish(s, x, NULL), 0);
    gcb_sum_close(s);
    return x;
}

static void must_equal(const float *got, const float *want, const struct group *g, const char *what)
{
    const uint64_t i = sums_first_difference(got, want, g->n);

    if (i < g->n)
        fail_msg("%s, %s: element %llu is %.9g, not %.9g", g->spec, what, (unsigned long long)i,
                 (double)got[i], (double)want[i]);
}

static void check_spec(const char *spec, const struct trip_options *o)
{
    struct gcb_sum *opened = NULL, *like = NULL;
    struct group g;
    float *first;

    make_group(&g, spec, 5000, o);
    first = sum_up(create(spec, g.n, o), &g);
    if (!sums_has_canvas(g.t[0].message, g.t[0].length))
        must_equal(first, g.decoded, &g, "decoded and added");
    else if (trip_distance(first, g.decoded, g.n) > 1e-10 * g.norm)
        fail_msg("%s: far from what the messages decode to", spec);
    if (!o->segment) { /* whole segments, and the kernels of this CPU */
        const struct gcb_options options = {.size = sizeof(options), .threads = 1};
        float *x;

        assert_int_equal(gcb_sum_open(&opened, spec, g.n, NULL, &options, NULL), 0);
        x = sum_up(opened, &g);
        must_equal(x, first, &g, "from a spec");
        free(x);
        assert_int_equal(
            gcb_sum_open_like(&like, g.t[0].message, g.t[0].length, NULL, &options, NULL), 0);
        x = sum_up(like, &g);
        must_equal(x, first, &g, "from a message");
        free(x);
    }
    free(first);
    free_group(&g);
}

static void each_method(void **state)
{
    struct gcb_method m;
    char spec[256];

    for (size_t i = 0; gcb_method_at(&m, i); i++)
        for (uint64_t segment = 0; segment <= 100; segment += 100)
            check_spec(gcb_method_spec(spec, sizeof(spec), &m, GCB_SPEC_FULL),
                       &(struct trip_options){.segment = segment});
}

/* Messages that are sent raw, in each type. */
static void stored_messages(void **state)
{
    static const enum gcb_dtype types[] = {GCB_F32, GCB_F16, GCB_BF16, GCB_F64};

    for (size_t i = 0; i < 4; i++) {
        const struct trip_options o = {.source = types[i], .checksum = i & 1};

        check_spec("topk:theta=0", &o);
        check_spec("fft:theta=0,values=fp32", &o);
    }
}

/* A tensor with a NaN and infinities is sent raw, and they reach the sum. */
static void nonfinite_tensors(void **state)
{
    static const char *const specs[] = {"topk", "fft", "qsgd"};
    const struct trip_options o = {.nonfinite = GCB_NONFINITE_RAW};
    enum { N = 500 };

    for (size_t i = 0; i < 3; i++) {
        float *x = trip_tensor(N, TRIP_GAUSS, 1), sum[N];
        struct gcb_sum *s = create(specs[i], N, &o);
        struct trip t = {0};

        x[7] = NAN;
        x[8] = INFINITY;
        x[N - 1] = -INFINITY;
        trip_run(&t, specs[i], x, N, &o);
        assert_int_equal(gcb_sum_add(s, t.message, t.length, 0.25f, NULL), 0);
        assert_int_equal(gcb_sum_finish(s, sum, NULL), 0);
        assert_true(isnan(sum[7]) && isinf(sum[8]) && isinf(sum[N - 1]) && sum[9] == 0.25f * x[9]);
        gcb_sum_close(s);
        trip_free(&t);
        free(x);
    }
}

/* The canvas is linear: one message with a weight of 2^k gives exactly 2^k times the decoded
 * tensor. */
static void one_message(void **state)
{
    static const char *const specs[] = {
        "fft:theta=0.9,chunk=500",
        "fft:theta=0.9",
        "sparse:transform=dct,chunk=64",
        "sparse:transform=hadamard,values=range,bits=8,index=golomb",
        "topk",
    };
    static const float powers[] = {1.0f, 2.0f, -0.25f};
    enum { N = 3001 };

    for (size_t i = 0; i < sizeof(specs) / sizeof(*specs); i++) {
        float *x = trip_tensor(N, TRIP_STUDENT3, 3), sum[N];
        struct trip t = {0};

        trip_run(&t, specs[i], x, N, NULL);
        for (size_t k = 0; k < 3; k++) {
            struct gcb_sum *s = create(specs[i], N, &(struct trip_options){0});

            assert_int_equal(gcb_sum_add(s, t.message, t.length, powers[k], NULL), 0);
            assert_int_equal(gcb_sum_finish(s, sum, NULL), 0);
            for (uint64_t e = 0; e < N; e++)
                assert_true(sum[e] == powers[k] * t.back[e]);
            gcb_sum_close(s);
        }
        trip_free(&t);
        free(x);
    }
}

RUN_TESTS(cmocka_unit_test(each_method), cmocka_unit_test(stored_messages),
          cmocka_unit_test(nonfinite_tensors), cmocka_unit_test(one_message))
