#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/memory/memory.h"
#include "tests/kernels/check.h"
#include "tests/support/test.h"

#define N 500
#define STEPS 200

/* A run of a memory under a sparsifier that sends the elements above a threshold, with every sum
 * that the identities speak of, in double. */
struct run {
    double sent[N], input[N], carried[N]; /* sums */
    double mass[N];                       /* sum of |terms|, the scale of float rounding */
    float u[N];                           /* momentum or last update, followed independently */
    double added[N];                      /* what entered the accumulator */
};

static void threshold(float *s, const float *p, float t)
{
    for (size_t i = 0; i < N; i++)
        s[i] = fabsf(p[i]) >= t ? p[i] : 0.0f;
}

static void follow(struct run *r, const struct gcb_memory_params *p, const float *g)
{
    for (size_t i = 0; i < N; i++) {
        r->input[i] += g[i];
        if (p->kind == GCB_MEMORY_GMC) {
            r->added[i] += p->momentum * (double)r->u[i] + (double)g[i];
            continue;
        }
        r->u[i] = p->nesterov ? (float)p->momentum * (r->u[i] + g[i])
                              : (float)p->momentum * r->u[i] + g[i];
        r->added[i] += p->nesterov ? (double)r->u[i] + g[i] : (double)r->u[i];
    }
}

/* An update that other workers shaped too: weights whose sum is 4. */
static void learn_update(struct run *r, struct gcb_memory *m, const float *sent, uint64_t step)
{
    float update[N];

    check_fill(update, N, FILL_NOISE, 1000 + step);
    for (size_t i = 0; i < N; i++)
        update[i] += sent[i];
    gcb_memory_learn(m, update, 4.0f);
    for (size_t i = 0; gcb_memory_wants_update(m) && i < N; i++)
        r->u[i] = update[i] / 4.0f;
}

static void simulate(struct run *r, struct gcb_memory *m, const struct gcb_memory_params *p)
{
    float g[N], s[N];

    memset(r, 0, sizeof(*r));
    for (uint64_t step = 0; step < STEPS; step++) {
        const float *rest = gcb_memory_residual(m), *whole;

        check_fill(g, N, FILL_NOISE, step);
        for (size_t i = 0; i < N; i++) {
            r->carried[i] += step ? (double)rest[i] : 0.0;
            r->mass[i] += fabs(g[i]) + fabs(rest[i]);
        }
        follow(r, p, g);
        whole = gcb_memory_compensate(m, g);
        assert_int_equal(whole == NULL, p->kind == GCB_MEMORY_DELAY && (step + 1) % p->delay != 0);
        if (!whole)
            continue;
        threshold(s, whole, 0.5f);
        gcb_memory_update(m, s);
        for (size_t i = 0; i < N; i++) {
            r->sent[i] += s[i];
            r->u[i] = p->masking && s[i] != 0.0f ? 0.0f : r->u[i];
        }
        learn_update(r, m, s, step);
    }
}

static unsigned sums_of_squares;

static double count_sum_sq(const float *x, size_t n)
{
    double sum = 0.0;

    sums_of_squares++;
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * x[i];
    return sum;
}

static struct gcb_memory *open_memory(const struct gcb_memory_params *p)
{
    const struct gcb_queue queue = {.threads = 2};
    struct gcb_memory *m = NULL;
    struct gcb_kernels kernels;

    gcb_kernels_init(&kernels, 0);
    kernels.reduce.sum_sq = count_sum_sq;
    assert_int_equal(gcb_memory_create(&m, p, N, 4, &queue, &kernels, NULL), 0);
    return m;
}

/* sum sent + residual = want, to the rounding of as many float additions as there were steps */
static void expect_sum(const struct run *r, const struct gcb_memory *m, const double *want)
{
    const float *rest = gcb_memory_residual(m);
    size_t sent = 0;

    for (size_t i = 0; i < N; i++) {
        const double got = r->sent[i] + (double)rest[i];

        if (fabs(got - want[i]) > 1e-6 * r->mass[i] + 1e-30)
            fail_msg("element %zu: sent + residual = %g, not %g", i, got, want[i]);
        sent += r->sent[i] != 0.0;
    }
    assert_true(sent > N / 10); /* or the test would be of nothing */
}

static void feedback(void **state)
{
    const struct gcb_memory_params p = {.kind = GCB_MEMORY_EF, .decay = 1};
    struct gcb_memory *m = open_memory(&p);
    struct run *r = malloc(sizeof(*r));

    simulate(r, m, &p);
    expect_sum(r, m, r->input);
    gcb_memory_destroy(m);
    free(r);
}

static void decay(void **state)
{
    const struct gcb_memory_params ef = {.kind = GCB_MEMORY_EF, .decay = 0.75};
    const struct gcb_memory_params demo = {.kind = GCB_MEMORY_DEMO, .momentum = 0.999};
    const struct gcb_memory_params *both[] = {&ef, &demo};

    for (size_t k = 0; k < 2; k++) {
        const double lost = 1.0 - (k == 0 ? ef.decay : demo.momentum);
        struct gcb_memory *m = open_memory(both[k]);
        struct run *r = malloc(sizeof(*r));

        simulate(r, m, both[k]);
        for (size_t i = 0; i < N; i++)
            r->input[i] -= lost * r->carried[i];
        expect_sum(r, m, r->input);
        gcb_memory_destroy(m);
        free(r);
    }
}

static void momentum(void **state)
{
    const struct gcb_memory_params kinds[] = {
        {.kind = GCB_MEMORY_DGC, .momentum = 0.9, .masking = 1},
        {.kind = GCB_MEMORY_DGC, .momentum = 0.9, .nesterov = 1, .masking = 1},
        {.kind = GCB_MEMORY_DGC, .momentum = 0.9},
        {.kind = GCB_MEMORY_DELAY, .delay = 4, .masking = 1},
        {.kind = GCB_MEMORY_DELAY, .delay = 5, .momentum = 0.5, .masking = 1},
        {.kind = GCB_MEMORY_GMC},
        {.kind = GCB_MEMORY_GMC, .momentum = 0.9},
    };

    for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
        struct gcb_memory *m = open_memory(&kinds[k]);
        struct run *r = malloc(sizeof(*r));

        simulate(r, m, &kinds[k]);
        for (size_t i = 0; i < N; i++)
            r->mass[i] *= 10; /* momentum 0.9 adds a gradient up to ten times */
        expect_sum(r, m, r->added);
        gcb_memory_destroy(m);
        free(r);
    }
}

static void clips(void **state)
{
    const struct gcb_memory_params p = {.kind = GCB_MEMORY_DGC, .clip = 2};
    struct gcb_memory *m = open_memory(&p);
    double norm = 0.0;
    const float *v;
    float g[N];

    check_fill(g, N, FILL_NOISE, 1);
    v = gcb_memory_compensate(m, g);
    assert_int_equal(sums_of_squares, 1); /* the kernels of the caller are used */
    for (size_t i = 0; i < N; i++)
        norm += (double)v[i] * v[i];
    assert_true(fabs(sqrt(norm) - 1.0) < 1e-5); /* 2 / sqrt(4 workers) */
    gcb_memory_destroy(m);
}

/* Step by step: what is encoded, what counts as owed, and what is saved. */
static void global_momentum(void **state)
{
    const struct gcb_memory_params p = {.kind = GCB_MEMORY_GMC, .momentum = 0.75};
    struct gcb_memory *m = open_memory(&p), *copy = open_memory(&p);
    float g[N], s[N], update[N], e[N] = {0}, h[N] = {0}, saved_e[N], saved_h[N];
    uint64_t summed = 9;

    for (uint64_t step = 0; step < 20; step++) {
        float owed[N] = {0};
        const float *u;

        check_fill(g, N, FILL_NOISE, step);
        check_fill(update, N, FILL_NOISE, 100 + step);
        assert_true(gcb_memory_stays_finite(m, g));
        u = gcb_memory_compensate(m, g);
        gcb_memory_add_input(m, g, owed);
        threshold(s, u, 0.5f);
        for (size_t i = 0; i < N; i++) {
            assert_true(u[i] == e[i] + (0.75f * h[i] + g[i]));
            assert_true(owed[i] == 0.75f * h[i] + g[i]);
            e[i] = u[i] - s[i];
            h[i] = update[i] / 1.5f;
        }
        gcb_memory_update(m, s);
        gcb_memory_learn(m, update, 1.5f);
    }
    gcb_memory_save(m, saved_e, saved_h, &summed);
    assert_memory_equal(saved_e, e, sizeof(e));
    assert_memory_equal(saved_h, h, sizeof(h));
    assert_int_equal(summed, 0);
    assert_int_equal(gcb_memory_check(copy, saved_e, saved_h, 0, NULL), 0);
    gcb_memory_restore(copy, saved_e, saved_h, 0);
    assert_memory_equal(gcb_memory_compensate(copy, g), gcb_memory_compensate(m, g), sizeof(g));
    assert_int_equal(gcb_memory_check(copy, saved_e, saved_h, 1, NULL), GCB_E_MISMATCH);
    gcb_memory_destroy(copy);
    gcb_memory_destroy(m);
}

/* No update makes the memory infinite. */
static void ignores_updates_that_are_not_finite(void **state)
{
    static const struct {
        float value, total;
    } bad[] = {{NAN, 1}, {INFINITY, 1}, {-INFINITY, 2}, {1, 0}, {3e38f, 0.5f}, {-3e38f, -0.5f}};
    const struct gcb_memory_params p = {.kind = GCB_MEMORY_GMC, .momentum = 0.9};
    struct gcb_memory *m = open_memory(&p);
    float good[N], update[N] = {0}, h[N];
    uint64_t summed;

    check_fill(good, N, FILL_NOISE, 1);
    gcb_memory_learn(m, good, 1.0f);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        update[N - 1] = bad[i].value;
        gcb_memory_learn(m, update, bad[i].total);
        gcb_memory_save(m, NULL, h, &summed);
        assert_memory_equal(h, good, sizeof(h));
    }
    update[N - 1] = 3e38f;
    gcb_memory_learn(m, update, 1.0f);
    assert_true(gcb_memory_stays_finite(m, good)); /* 0.9 times 3e38 */
    for (size_t i = 0; i < N; i++)
        good[i] = 3e38f;
    assert_false(gcb_memory_stays_finite(m, good));
    gcb_memory_destroy(m);
}

static void none_is_transparent(void **state)
{
    const struct gcb_memory_params p = {.kind = GCB_MEMORY_NONE};
    struct gcb_memory *m = open_memory(&p);
    float g[N] = {1};

    assert_ptr_equal(gcb_memory_compensate(m, g), g);
    gcb_memory_update(m, g);
    assert_null(gcb_memory_residual(m));
    gcb_memory_destroy(m);
    gcb_memory_destroy(NULL);
}

RUN_TESTS(cmocka_unit_test(feedback), cmocka_unit_test(decay), cmocka_unit_test(momentum),
          cmocka_unit_test(clips), cmocka_unit_test(global_momentum),
          cmocka_unit_test(ignores_updates_that_are_not_finite),
          cmocka_unit_test(none_is_transparent))
