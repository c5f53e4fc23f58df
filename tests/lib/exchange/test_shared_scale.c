/* QSGD and TernGrad in an all-reduce: shared norms, sums of levels. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/codec/codec.h"
#include "tests/support/party.h"
#include "tests/support/test.h"
#include "tests/support/trip.h"

static const float weights[PARTY_MOST] = {0.5f, -0.25f, 1.0f, 0.3f, 2.0f, 0.1f, 0.7f, 0.4f, 0.6f};

static const char *const specs[] = {
    "qsgd:collective=allreduce",
    "qsgd:norm=l2,bits=6,bucket=100,collective=allreduce",
    "qsgd:rounding=nearest,bits=8,bucket=5000,collective=allreduce",
    "terngrad:collective=allreduce",
    "terngrad:clip=0,collective=allreduce",
};
#define SPECS (sizeof(specs) / sizeof(specs[0]))

/* Rounds carry one norm per bucket, then one byte per element, or two if the sums need them. */
static void rounds_are_small(void **state)
{
    static const struct {
        const char *spec;
        unsigned workers;
        enum gcb_reduction sum;
    } rows[] = {
        {"qsgd:collective=allreduce", 9, GCB_SUM_I8},              /* 9 * 7 */
        {"qsgd:bits=5,collective=allreduce", 8, GCB_SUM_I8},       /* 8 * 15 = 120 */
        {"qsgd:bits=5,collective=allreduce", 9, GCB_SUM_I16},      /* 135 */
        {"qsgd:levels=3640,collective=allreduce", 9, GCB_SUM_I16}, /* 32760 */
        {"terngrad:collective=allreduce", 9, GCB_SUM_I8},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct party_options o = {.workers = rows[i].workers};
        const bool wide = rows[i].sum == GCB_SUM_I16, terngrad = rows[i].spec[0] == 't';
        struct party p;

        party_open(&p, rows[i].spec, 5000, &o);
        party_fill(&p, 1, 1.0f);
        party_step(&p, 0);
        assert_int_equal(p.round[0].reduction, GCB_MAX_F32);
        assert_int_equal(p.round[0].bytes, terngrad ? 4 : 4 * 10);
        assert_int_equal(p.round[1].reduction, rows[i].sum);
        assert_int_equal(p.round[1].bytes, wide ? 10000 : 5000);
        party_close(&p);
    }
}

static void impossible_combinations_are_refused(void **state)
{
    static const char *const impossible[] = {
        "qsgd:bits=16,collective=allreduce",
        "qsgd:levels=3641,collective=allreduce", /* 9 * 3641 > 32767 */
        "qsgd:coding=elias,collective=allreduce",
    };

    for (size_t i = 0; i < sizeof(impossible) / sizeof(impossible[0]); i++) {
        const struct gcb_options o = {.size = sizeof(o), .workers = 9};
        struct gcb_exchange *e;
        struct gcb_diag diag = {.text = ""};

        assert_int_equal(gcb_exchange_open(&e, impossible[i], 10, &o, &diag), GCB_E_INVALID);
        assert_non_null(strstr(diag.text, "collective=allreduce"));
    }
}

/* The variance of the sum of all workers' elements, rounded to `levels` levels of the largest
 * weighted magnitude. */
static double total_variance(float *const *x, unsigned workers, size_t n, double levels)
{
    double top = 0.0, sum = 0.0;

    for (unsigned w = 0; w < workers; w++)
        for (size_t i = 0; i < n; i++)
            top = fmax(top, fabs((double)(weights[w] * x[w][i])));
    for (unsigned w = 0; w < workers; w++)
        for (size_t i = 0; i < n; i++) {
            const double t = fabs((double)(weights[w] * x[w][i])) / top * levels;

            sum += (t - floor(t)) * (1.0 - t + floor(t));
        }
    return sum * (top / levels) * (top / levels);
}

/* Clips the elements to `clip` standard deviations. */
static void clip_to(float *x, size_t n, double clip)
{
    double sum = 0.0, squares = 0.0, limit;

    for (size_t i = 0; i < n; i++) {
        sum += (double)x[i];
        squares += (double)x[i] * (double)x[i];
    }
    limit = clip * sqrt(squares / (double)n - sum * sum / (double)n / (double)n);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)fmax(-limit, fmin(limit, (double)x[i]));
}

/*
 * The mean of the updates over seeds is the weighted sum. Rounding up with the probability p has
 * the variance step^2 p (1 - p), so the squared distance of the mean from the sum has a known mean.
 * With this many elements, chance makes it hardly ever 1.2 times as large; a bias of a tenth of the
 * tensor makes it twice as large. TernGrad clips each tensor before.
 */
static void updates_are_unbiased(void **state)
{
    enum { N = 2048, WORKERS = 3, SEEDS = 600 };
    static const struct {
        const char *spec;
        double levels, clip;
    } rows[] = {{"qsgd:bits=3,bucket=2048,collective=allreduce", 3.0, 0.0},
                {"terngrad:clip=0,collective=allreduce", 1.0, 0.0},
                {"terngrad:collective=allreduce", 1.0, 2.5}};

    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        double *mean = calloc(N, sizeof(*mean)), distance = 0.0, expected = 0.0;
        float *want = NULL;

        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            const struct party_options o = {.workers = WORKERS, .weights = weights, .seed = seed};
            struct party p;

            party_open(&p, rows[r].spec, N, &o);
            party_fill(&p, 1, 1.0f);
            party_step(&p, 0);
            for (size_t i = 0; i < N; i++)
                mean[i] += (double)p.update[0][i] / SEEDS;
            for (unsigned w = 0; seed == 1 && rows[r].clip > 0.0 && w < WORKERS; w++)
                clip_to(p.x[w], N, rows[r].clip);
            if (seed == 1) {
                want = party_sum(p.x, WORKERS, N, weights);
                expected = total_variance(p.x, WORKERS, N, rows[r].levels) / SEEDS;
            }
            party_close(&p);
        }
        for (size_t i = 0; i < N; i++)
            distance += (mean[i] - (double)want[i]) * (mean[i] - (double)want[i]);
        if (distance > 1.2 * expected)
            fail_msg("%s: squared error of the mean %g, not %g", rows[r].spec, distance, expected);
        free(mean);
        free(want);
    }
}

/* A shared scale rounds in another way than the messages of an all-gather, so these methods do not
 * claim LINEAR. */
static void no_method_claims_to_be_linear(void **state)
{
    struct gcb_method m;

    for (size_t s = 0; s < SPECS; s++) {
        assert_int_equal(gcb_method_parse(&m, specs[s], NULL), 0);
        assert_false(gcb_method_caps(&m) & GCB_CAP_LINEAR);
    }
}

RUN_TESTS(cmocka_unit_test(rounds_are_small), cmocka_unit_test(impossible_combinations_are_refused),
          cmocka_unit_test(updates_are_unbiased), cmocka_unit_test(no_method_claims_to_be_linear))
