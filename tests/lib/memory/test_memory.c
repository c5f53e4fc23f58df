#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/lib/memory/memory.h"
#include "tests/kernels/check.h"

#define N 500
#define STEPS 200

/* A run of a memory under a sparsifier that sends the elements above a threshold, with every sum that
 * the identities speak of, in double. */
struct run {
    double sent[N], input[N], carried[N]; /* sums */
    double mass[N];                       /* sum of |terms|, the scale of float rounding */
    float u[N];                           /* momentum, followed independently */
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
        r->u[i] = p->nesterov ? (float)p->momentum * (r->u[i] + g[i])
                              : (float)p->momentum * r->u[i] + g[i];
        r->added[i] += p->nesterov ? (double)r->u[i] + g[i] : (double)r->u[i];
    }
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

    (void)state;
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

    (void)state;
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
    };

    (void)state;
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

    (void)state;
    check_fill(g, N, FILL_NOISE, 1);
    v = gcb_memory_compensate(m, g);
    assert_int_equal(sums_of_squares, 1); /* the kernels of the caller are used */
    for (size_t i = 0; i < N; i++)
        norm += (double)v[i] * v[i];
    assert_true(fabs(sqrt(norm) - 1.0) < 1e-5); /* 2 / sqrt(4 workers) */
    gcb_memory_destroy(m);
}

static void none_is_transparent(void **state)
{
    const struct gcb_memory_params p = {.kind = GCB_MEMORY_NONE};
    struct gcb_memory *m = open_memory(&p);
    float g[N] = {1};

    (void)state;
    assert_ptr_equal(gcb_memory_compensate(m, g), g);
    gcb_memory_update(m, g);
    assert_null(gcb_memory_residual(m));
    gcb_memory_destroy(m);
    gcb_memory_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(feedback),
        cmocka_unit_test(decay),
        cmocka_unit_test(momentum),
        cmocka_unit_test(clips),
        cmocka_unit_test(none_is_transparent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
