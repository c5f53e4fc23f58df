/* Sums of messages: of every method, opened in every way, and mixtures of messages of several
 * methods. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/gcbench.h"
#include "src/lib/sum/sum.h"
#include "tests/support/sums.h"
#include "tests/support/test.h"
#include "tests/support/trip.h"

#define WORKERS 4
#define MOST 6

/* Not all are powers of two, so that a product that is not rounded before the addition shows. */
static const float weights[MOST] = {0.25f, 1.0f, -0.5f, 2.0f, 0.3f, -1.7f};

/* ---- messages ---- */

struct group {
    struct trip t[MOST];
    const char *spec;
    unsigned count;
    uint64_t n;
};

static void add_worker(struct group *g, const char *spec, const struct trip_options *options)
{
    struct trip_options o = options ? *options : (struct trip_options){0};
    float *x = trip_tensor(g->n, TRIP_STUDENT3, g->count + 3);

    o.worker = g->count;
    trip_run(&g->t[g->count++], spec, x, g->n, &o);
    free(x);
}

static void make_group(struct group *g, const char *spec, uint64_t n,
                       const struct trip_options *options)
{
    *g = (struct group){.spec = spec, .n = n};
    while (g->count < WORKERS)
        add_worker(g, spec, options);
}

static void free_group(struct group *g)
{
    for (unsigned i = 0; i < g->count; i++)
        trip_free(&g->t[i]);
}

static bool is_stored(const struct trip *t)
{
    return t->message[5] & GCB_WIRE_STORED;
}

/* True if the method transforms. Then messages that are not stored are added to the canvas. */
static bool transforms(const char *spec)
{
    struct gcb_method m;
    double transform = 0.0;

    assert_int_equal(gcb_method_parse(&m, spec, NULL), 0);
    return gcb_method_value(&m, "transform", &transform) && transform > 0.0;
}

static bool whole_fft(const char *spec)
{
    struct gcb_method m;
    double chunk = 0.0;

    assert_int_equal(gcb_method_parse(&m, spec, NULL), 0);
    return transforms(spec) && gcb_method_value(&m, "chunk", &chunk) && chunk == 0.0;
}

/* ---- sums ---- */

enum open_by { BY_SPEC, BY_MESSAGE, BY_CREATE };

struct way {
    const char *name;
    enum open_by open;
    bool into, x_is_into;
    int threads;
    uint64_t segment;
};

static const struct way ways[] = {
    {.name = "from a spec"},
    {.name = "from a message", .open = BY_MESSAGE},
    {.name = "own result, into given", .into = true},
    {.name = "into is the result", .into = true, .x_is_into = true},
    {.name = "into, from a message", .open = BY_MESSAGE, .into = true, .x_is_into = true},
    {.name = "two threads", .threads = 2},
    {.name = "five threads", .threads = 5},
    {.name = "C kernels", .open = BY_CREATE},
    {.name = "small segments", .open = BY_CREATE, .segment = 100},
    {.name = "small segments, three threads", .open = BY_CREATE, .segment = 999, .threads = 3},
};
#define WAYS (sizeof(ways) / sizeof(*ways))

static struct gcb_sum *open_sum(const struct way *way, const struct group *g, float *into)
{
    const struct gcb_options options = {.size = sizeof(options), .threads = way->threads};
    const struct trip_options internal = {.threads = way->threads, .segment = way->segment};
    struct gcb_coder_config config;
    struct gcb_kernels kernels;
    struct gcb_queue queue;
    struct gcb_method method;
    struct gcb_sum *s = NULL;
    struct gcb_diag diag = {0};
    int err;

    if (way->open == BY_CREATE) {
        assert_int_equal(gcb_method_parse(&method, g->spec, NULL), 0);
        trip_configure(&config, &queue, &kernels, &internal, g->n);
        err = gcb_sum_create(&s, &method, into, &config, &diag);
        memset(&kernels, 0, sizeof(kernels)); /* a sum borrows nothing */
        memset(&queue, 0, sizeof(queue));
    } else if (way->open == BY_MESSAGE) {
        err = gcb_sum_open_like(&s, g->t[0].message, g->t[0].length, into, &options, &diag);
    } else {
        err = gcb_sum_open(&s, g->spec, g->n, into, &options, &diag);
    }
    if (err)
        fail_msg("%s, %s: %s", g->spec, way->name, diag.text);
    return s;
}

static void add_trip(struct gcb_sum *s, const struct trip *t, float weight)
{
    struct gcb_diag diag = {0};

    if (gcb_sum_add(s, t->message, t->length, weight, &diag))
        fail_msg("add: %s", diag.text);
}

static float *finish(struct gcb_sum *s, uint64_t n)
{
    float *x = malloc((n + 1) * sizeof(float));

    memset(x, 0xa5, (n + 1) * sizeof(float));
    assert_int_equal(gcb_sum_finish(s, x, NULL), 0);
    assert_int_equal(((uint8_t *)&x[n])[0], 0xa5);
    return x;
}

/* The sum of the messages for which `mask` has a bit, in a sum that was opened for the group's
 * spec. */
static float *sum_of(const struct way *way, const struct group *g, unsigned mask)
{
    float *into = way->into ? malloc((g->n + 1) * sizeof(float)) : NULL, *x = into;
    struct gcb_sum *s;

    if (into)
        memset(into, 0xee, (g->n + 1) * sizeof(float));
    s = open_sum(way, g, into);
    for (unsigned round = 0; round < 2; round++) { /* the first round must leave no trace */
        const unsigned only = round ? mask : mask & 6u;

        for (unsigned i = 0; i < g->count; i++)
            if (only >> i & 1)
                add_trip(s, &g->t[i], weights[i]);
        if (way->x_is_into) {
            assert_int_equal(gcb_sum_finish(s, NULL, NULL), 0);
        } else {
            if (x != into)
                free(x);
            x = finish(s, g->n);
        }
    }
    gcb_sum_close(s);
    if (x != into)
        free(into);
    return x;
}

static void must_equal(const float *got, const float *want, const struct group *g, const char *what)
{
    const uint64_t i = sums_first_difference(got, want, g->n);

    if (i < g->n)
        fail_msg("%s, %s: element %llu of %llu is %.9g, not %.9g", g->spec, what,
                 (unsigned long long)i, (unsigned long long)g->n, (double)got[i], (double)want[i]);
}

/* The sum of decoded messages whose bit of `mask` is set. */
static float *decoded_sum(const struct group *g, unsigned mask)
{
    float *acc = calloc(g->n + 1, sizeof(float));

    for (unsigned i = 0; i < g->count; i++)
        if (mask >> i & 1)
            sums_add(acc, g->t[i].back, g->n, weights[i]);
    return acc;
}

/* The sum is near the exact sum of decoded messages: within 1e-5 of the norm of all that was
 * added. */
static void must_be_near(const float *got, const struct group *g, unsigned mask, const char *what)
{
    double error = 0.0, norm = 0.0;

    for (uint64_t i = 0; i < g->n; i++) {
        double sum = 0.0;

        for (unsigned w = 0; w < g->count; w++)
            if (mask >> w & 1) {
                sum += (double)weights[w] * g->t[w].back[i];
                norm += pow((double)weights[w] * g->t[w].back[i], 2.0);
            }
        error += pow(got[i] - sum, 2.0);
    }
    if (!(error <= 1e-10 * norm))
        fail_msg("%s, %s: off by %.3g of the norm", g->spec, what, sqrt(error / norm));
}

/* Checks one sum against docs/method.md. Messages in `fits` are added to the canvas. */
static void must_be_defined(const float *got, const struct group *g, unsigned mask, unsigned fits)
{
    float *elements = decoded_sum(g, mask & ~fits);
    float *want;

    if (!fits) {
        must_equal(got, elements, g, "decoded and added");
        free(elements);
        return;
    }
    must_be_near(got, g, mask, "decoded and added");
    want = sum_of(&ways[0], g, fits);
    if (mask & ~fits) /* adding nothing would turn -0 into +0 */
        sums_add(want, elements, g->n, 1.0f);
    must_equal(got, want, g, "canvas plus elements");
    free(elements);
    free(want);
}

/* ---- each method, opened and used in each way ---- */

static unsigned fitting(const struct group *g)
{
    unsigned fits = 0;

    for (unsigned i = 0; i < g->count; i++)
        if (g->n && transforms(g->spec) && !is_stored(&g->t[i]))
            fits |= 1u << i;
    return fits;
}

static void check_spec(const char *spec, uint64_t n, const struct trip_options *options)
{
    struct group g;
    float *first;
    unsigned all;

    make_group(&g, spec, n, options);
    all = (1u << g.count) - 1;
    first = sum_of(&ways[0], &g, all);
    must_be_defined(first, &g, all, fitting(&g));
    for (size_t i = 1; i < WAYS; i++) {
        float *x;

        if (ways[i].open == BY_CREATE && ways[i].segment && n > 10000)
            continue;
        if (ways[i].segment) { /* small segments are another payload */
            struct trip_options cut = options ? *options : (struct trip_options){0};
            struct group h;

            cut.segment = ways[i].segment;
            make_group(&h, spec, n, &cut);
            x = sum_of(&ways[i], &h, all);
            free_group(&h);
        } else {
            x = sum_of(&ways[i], &g, all);
        }
        if (ways[i].threads > 1 && whole_fft(spec))
            must_be_near(x, &g, all, ways[i].name);
        else
            must_equal(x, first, &g, ways[i].name);
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
        check_spec(gcb_method_spec(spec, sizeof(spec), &m, GCB_SPEC_FULL), 5000, NULL);
}

extern const char *const gcb_index_names[], *const gcb_values_names[], *const gcb_transform_names[];

/* Messages that are sent raw, in each type. */
static void stored_messages(void **state)
{
    static const enum gcb_dtype types[] = {GCB_F32, GCB_F16, GCB_BF16, GCB_F64};

    for (size_t i = 0; i < 4; i++) {
        const struct trip_options o = {.source = types[i], .checksum = i & 1};
        struct group g;

        check_spec("topk:theta=0", 4999, &o);
        check_spec("fft:theta=0,values=fp32", 4999, &o);
        make_group(&g, "topk:theta=0", 4999, &o);
        assert_true(is_stored(&g.t[0]));
        free_group(&g);
    }
}

/* A tensor with a NaN and infinities is sent raw, and they reach the sum. */
static void nonfinite_tensors(void **state)
{
    static const char *const specs[] = {"topk", "fft", "qsgd"};
    const struct trip_options o = {.nonfinite = GCB_NONFINITE_RAW};

    for (size_t i = 0; i < 3; i++) {
        struct group g = {.spec = specs[i], .n = 500};
        float *x = trip_tensor(500, TRIP_GAUSS, 1), *sum;

        add_worker(&g, specs[i], NULL);
        x[7] = NAN;
        x[8] = INFINITY;
        x[499] = -INFINITY;
        trip_run(&g.t[g.count++], specs[i], x, 500, &o);
        assert_true(is_stored(&g.t[1]));
        sum = sum_of(&ways[0], &g, 3);
        assert_true(isnan(sum[7]) && isinf(sum[8]) && isinf(sum[499]) && isfinite(sum[9]));
        g.t[1].back[7] = g.t[1].back[8] = g.t[1].back[499] = 0.0f;
        sum[7] = g.t[0].back[7] * weights[0];
        sum[8] = g.t[0].back[8] * weights[0];
        sum[499] = g.t[0].back[499] * weights[0];
        must_be_near(sum, &g, 3, "other elements");
        free(sum);
        free(x);
        free_group(&g);
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

    for (size_t i = 0; i < sizeof(specs) / sizeof(*specs); i++) {
        struct group g = {.spec = specs[i], .n = 3001};

        add_worker(&g, specs[i], NULL);
        for (size_t k = 0; k < 3; k++) {
            struct gcb_sum *s = open_sum(&ways[7], &g, NULL);
            float *x;

            add_trip(s, &g.t[0], powers[k]);
            x = finish(s, g.n);
            for (uint64_t e = 0; e < g.n; e++)
                if (x[e] < powers[k] * g.t[0].back[e] || x[e] > powers[k] * g.t[0].back[e])
                    fail_msg("%s, weight %g: element %llu", specs[i], (double)powers[k],
                             (unsigned long long)e);
            gcb_sum_close(s);
            free(x);
        }
        free_group(&g);
    }
}

RUN_TESTS(cmocka_unit_test(each_method), cmocka_unit_test(stored_messages),
          cmocka_unit_test(nonfinite_tensors), cmocka_unit_test(one_message))
