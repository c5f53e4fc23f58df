/* Sums of messages that differ: which of them share the canvas, and what is refused. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/gcbench.h"
#include "src/lib/sum/sum.h"
#include "tests/support/sums.h"
#include "tests/support/test.h"
#include "tests/support/trip.h"

#define N 3000
#define MOST 8

static const float weights[MOST] = {0.25f, 1.0f, -0.5f, 2.0f, 0.3f, -1.7f, 0.9f, 0.1f};

/* A message of a mixture. */
struct part {
    const char *spec;
    bool fits;     /* the message is added to the canvas */
    uint64_t step; /* another step has another Hadamard key */
};

struct mixture {
    const char *spec; /* the sum is opened with it; NULL: from the first message */
    struct part part[MOST];
};

static const struct mixture mixtures[] = {
    /* a raw message, other parameters, other chunk, other transform, other codec */
    {"fft:theta=0.9,chunk=500",
     {{"fft:theta=0.9,chunk=500", true, 0},
      {"topk:theta=0", false, 0},
      {"fft:theta=0.5,chunk=500,values=fp32,index=varint", true, 0},
      {"fft:theta=0.9,chunk=512", false, 0},
      {"sparse:transform=dct,chunk=500", false, 0},
      {"fft:theta=0.95,chunk=500,bits=6,mantissa=2,index=golomb", true, 0},
      {"qsgd", false, 0},
      {"fft:theta=0.9,chunk=500", true, 0}}},
    {"fft", {{"topk", false, 0}, {"fft:theta=0.5", true, 0}, {"fft:chunk=100", false, 0}}},
    {"fft:chunk=500",
     {{"fft:chunk=500", true, 0},
      {"fft:chunk=500,pad=smooth", true, 0},
      {"sparse:transform=dct,chunk=500,pad=smooth", false, 0}}},
    {"sparse:transform=dct,chunk=64",
     {{"sparse:transform=dct,chunk=64,values=range,index=block", true, 0},
      {"sparse:transform=hadamard,chunk=64", false, 0},
      {"natural", false, 0},
      {"sparse:transform=dct,chunk=64,select=one-sided,values=mean", true, 0}}},
    /* the key of the first message counts */
    {"sparse:transform=hadamard,chunk=64",
     {{"sparse:transform=hadamard,chunk=64", true, 1},
      {"sparse:transform=hadamard,chunk=64", false, 2},
      {"sparse:transform=hadamard,chunk=64,values=fp16", true, 1},
      {"sparse:transform=hadamard,chunk=64,index=golomb", false, 3},
      {"identity", false, 0},
      {"sparse:transform=hadamard,chunk=64", true, 1}}},
    /* without a transform all messages are elements */
    {"topk",
     {{"topk:theta=0.5", false, 0},
      {"fft", false, 0},
      {"topk:values=range,index=golomb", false, 0},
      {"qsgd:coding=elias", false, 0},
      {"sparse:transform=hadamard", false, 0},
      {"topk:theta=0", false, 0},
      {"sbc", false, 0}}},
    {"qsgd",
     {{"qsgd:bits=8", false, 0},
      {"terngrad", false, 0},
      {"qsgd:bits=2,bucket=64", false, 0},
      {"fft", false, 0},
      {"fft:theta=0.5", false, 0},
      {"qsgd:coding=elias-sparse", false, 0},
      {"qsgd", false, 0}}},
    {"identity", {{"fp16", false, 0}, {"bf16", false, 0}, {"range", false, 0}}},
    /* a sum that is opened from a raw message takes the method of the first message that is not
     * raw */
    {NULL,
     {{"topk:theta=0", false, 0},
      {"fft:chunk=500", true, 0},
      {"topk", false, 0},
      {"fft:chunk=500,theta=0.5", true, 0}}},
    {NULL,
     {{"topk:theta=0", false, 0},
      {"topk", false, 0},
      {"fft", false, 0},
      {"topk:index=golomb", false, 0}}},
    /* The last, because it needs FFTW. Padded messages fit those that are transformed at the same
     * length: no zeros after whole chunks. */
    {"fft:pad=smooth,chunk=512",
     {{"fft:pad=smooth,chunk=512", true, 0},
      {"fft:chunk=512,pad=none", false, 0},
      {"fft:pad=smooth,chunk=512,theta=0.5,values=fp32", true, 0},
      {"fft:pad=smooth", false, 0}}},
};
#define MIXTURES (sizeof(mixtures) / sizeof(*mixtures))

/* ---- messages and sums ---- */

struct group {
    struct trip t[MOST];
    const char *spec;
    unsigned count, fits; /* `fits`: a bit for each message of the canvas */
};

static void add_part(struct group *g, const struct part *part)
{
    const struct trip_options o = {.step = part->step, .worker = g->count};
    float *x = trip_tensor(N, TRIP_LAPLACE, g->count + 20);

    g->fits |= (unsigned)part->fits << g->count;
    trip_run(&g->t[g->count++], part->spec, x, N, &o);
    free(x);
}

static void make_group(struct group *g, const struct mixture *m)
{
    *g = (struct group){.spec = m->spec};
    for (size_t i = 0; i < MOST && m->part[i].spec; i++)
        add_part(g, &m->part[i]);
}

static void free_group(struct group *g)
{
    for (unsigned i = 0; i < g->count; i++)
        trip_free(&g->t[i]);
}

static struct gcb_sum *open_sum(const struct group *g, float *into)
{
    const struct gcb_options options = {.size = sizeof(options), .threads = 1};
    struct gcb_sum *s = NULL;

    if (g->spec)
        assert_int_equal(gcb_sum_open(&s, g->spec, N, into, &options, NULL), 0);
    else
        assert_int_equal(
            gcb_sum_open_like(&s, g->t[0].message, g->t[0].length, into, &options, NULL), 0);
    return s;
}

static void add(struct gcb_sum *s, const struct trip *t, float weight)
{
    struct gcb_diag diag = {0};

    if (gcb_sum_add(s, t->message, t->length, weight, &diag))
        fail_msg("add: %s", diag.text);
}

static float *finish(struct gcb_sum *s)
{
    float *x = malloc(N * sizeof(float));

    assert_int_equal(gcb_sum_finish(s, x, NULL), 0);
    return x;
}

static float *sum_of(const struct group *g, unsigned mask)
{
    struct gcb_sum *s = open_sum(g, NULL);
    float *x;

    for (unsigned i = 0; i < g->count; i++)
        if (mask >> i & 1)
            add(s, &g->t[i], weights[i]);
    x = finish(s);
    gcb_sum_close(s);
    return x;
}

static void must_equal(const float *got, const float *want, const char *what, size_t number)
{
    const uint64_t i = sums_first_difference(got, want, N);

    if (i < N)
        fail_msg("mixture %zu, %s: element %llu is %.9g, not %.9g", number, what,
                 (unsigned long long)i, (double)got[i], (double)want[i]);
}

/* The definition in docs/method.md: the rebuilt canvas, plus the elements. */
static float *defined(const struct group *g)
{
    float *want = g->fits ? sum_of(g, g->fits) : NULL;
    float *elements = calloc(N, sizeof(float));

    for (unsigned i = 0; i < g->count; i++)
        if (!(g->fits >> i & 1))
            sums_add(elements, g->t[i].back, N, weights[i]);
    if (!want)
        return elements;
    sums_add(want, elements, N, 1.0f);
    free(elements);
    return want;
}

/* The sum of all messages is what decoding and adding gives, up to rounding. */
static void must_be_near(const float *got, const struct group *g, size_t number)
{
    double error = 0.0, norm = 0.0;

    for (uint64_t i = 0; i < N; i++) {
        double sum = 0.0;

        for (unsigned w = 0; w < g->count; w++) {
            sum += (double)weights[w] * g->t[w].back[i];
            norm += pow((double)weights[w] * g->t[w].back[i], 2.0);
        }
        error += pow(got[i] - sum, 2.0);
    }
    if (!(error <= 1e-10 * norm))
        fail_msg("mixture %zu: off by %.3g of the norm", number, sqrt(error / norm));
}

static void mixtures_are_defined(void **state)
{
    for (size_t i = 0; i < MIXTURES; i++) {
        float *got, *want, *into = malloc(N * sizeof(float));
        struct group g;
        struct gcb_sum *s;

        if (i == MIXTURES - 1)
            trip_need_fftw(N, 512);
        make_group(&g, &mixtures[i]);
        got = sum_of(&g, (1u << g.count) - 1);
        want = defined(&g);
        must_be_near(got, &g, i);
        must_equal(got, want, "the definition", i);
        s = open_sum(&g, into);
        for (int round = 0; round < 2; round++) {
            for (unsigned w = 0; w < g.count; w++)
                add(s, &g.t[w], weights[w]);
            assert_int_equal(gcb_sum_finish(s, NULL, NULL), 0);
            must_equal(into, want, "into is the result", i);
        }
        gcb_sum_close(s);
        free(into);
        free(got);
        free(want);
        free_group(&g);
    }
}

/* ---- what is refused, and what a sum keeps ---- */

static void messages_are_refused(void **state)
{
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    const struct mixture m = {"fft", {{"fft", true, 0}, {"topk", false, 0}}};
    float *x = trip_tensor(N + 5, TRIP_GAUSS, 1), *want, *got;
    struct trip longer = {0};
    struct gcb_diag diag;
    struct gcb_sum *s;
    struct group g;

    make_group(&g, &m);
    want = sum_of(&g, 3);
    s = open_sum(&g, NULL);
    add(s, &g.t[0], weights[0]);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(gcb_sum_add(s, g.t[1].message, g.t[1].length, bad[i], &diag),
                         GCB_E_INVALID);
        assert_non_null(strstr(diag.text, "finite"));
    }
    trip_encode(&longer, "fft", x, N + 5, NULL);
    assert_int_equal(gcb_sum_add(s, longer.message, longer.length, 1.0f, &diag), GCB_E_MISMATCH);
    assert_non_null(strstr(diag.text, "3005"));
    assert_non_null(strstr(diag.text, "3000"));
    assert_int_equal(gcb_sum_add(s, NULL, 0, 1.0f, &diag), GCB_E_CORRUPT);
    assert_int_equal(gcb_sum_finish(s, NULL, &diag), GCB_E_INVALID);
    add(s, &g.t[1], weights[1]);
    got = finish(s);
    must_equal(got, want, "after refusals", 0);
    free(got);
    got = finish(s); /* a finished sum begins at zero */
    for (uint64_t i = 0; i < N; i++)
        assert_true(got[i] == 0.0f && !signbit(got[i]));
    gcb_sum_close(s);
    gcb_sum_close(NULL);
    trip_free(&longer);
    free_group(&g);
    free(got);
    free(want);
    free(x);
}

static void opening_is_refused(void **state)
{
    struct gcb_sum *s = NULL;
    struct gcb_diag diag;
    const struct gcb_options few = {.size = sizeof(few), .max_elements = N - 1};
    const struct mixture m = {NULL, {{"fft", true, 0}}};
    struct group g;

    make_group(&g, &m);
    assert_int_equal(gcb_sum_open(&s, "no-such-method", N, NULL, NULL, &diag), GCB_E_INVALID);
    assert_int_equal(gcb_sum_open(&s, "fft:theta=2", N, NULL, NULL, &diag), GCB_E_INVALID);
    assert_int_equal(gcb_sum_open(&s, "fft", UINT64_MAX, NULL, NULL, &diag), GCB_E_NOMEM);
    assert_int_equal(gcb_sum_open_like(&s, "GCB", 3, NULL, NULL, &diag), GCB_E_CORRUPT);
    assert_int_equal(gcb_sum_open_like(&s, g.t[0].message, g.t[0].length, NULL, &few, &diag),
                     GCB_E_CORRUPT);
    assert_null(s);
    free_group(&g);
}

/* max_elements limits the message that opens a sum. Later messages have the sum's number of
 * elements anyway. */
static void the_limit_is_for_opening(void **state)
{
    const struct gcb_options few = {.size = sizeof(few), .max_elements = 10};
    const struct mixture m = {"fft", {{"fft", true, 0}, {"topk", false, 0}}};
    struct gcb_sum *s = NULL;
    float *want, *got;
    struct group g;

    make_group(&g, &m);
    want = sum_of(&g, 3);
    assert_int_equal(gcb_sum_open(&s, "fft", N, NULL, &few, NULL), 0);
    add(s, &g.t[0], weights[0]);
    add(s, &g.t[1], weights[1]);
    got = finish(s);
    must_equal(got, want, "a small limit", 0);
    gcb_sum_close(s);
    free(got);
    free(want);
    free_group(&g);
}

/* The caller may free everything that it passed in options. */
static void options_are_copied(void **state)
{
    const struct mixture m = {"fft", {{"fft", true, 0}, {"topk", false, 0}}};
    uint64_t *shape = malloc(2 * sizeof(*shape));
    char *path = malloc(8);
    struct gcb_options options = {.size = sizeof(options), .rank = 2, .shape = shape, .path = path};
    struct gcb_sum *s = NULL;
    struct group g;

    shape[0] = N / 10;
    shape[1] = 10;
    strcpy(path, "a/b");
    make_group(&g, &m);
    assert_int_equal(gcb_sum_open(&s, "fft", N, NULL, &options, NULL), 0);
    free(shape);
    free(path);
    add(s, &g.t[0], weights[0]);
    add(s, &g.t[1], weights[1]); /* opens another decoder */
    gcb_sum_close(s);
    free_group(&g);
}

RUN_TESTS(cmocka_unit_test(mixtures_are_defined), cmocka_unit_test(messages_are_refused),
          cmocka_unit_test(opening_is_refused), cmocka_unit_test(the_limit_is_for_opening),
          cmocka_unit_test(options_are_copied))
