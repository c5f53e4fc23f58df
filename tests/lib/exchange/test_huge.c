/* Values near the end of float32's range: finite tensors never give an update with an infinity or
 * NaN if the mean is finite, and no sum of two 16-bit floats does. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/hd.h"
#include "kernels/convert/convert_elem.h"
#include "tests/support/party.h"
#include "tests/support/test.h"
#include "tests/support/trip.h"

/* ---- sums of 16-bit floats ---- */

static const struct half {
    enum gcb_reduction reduction;
    int bits, least; /* bits of the significand, exponent of the smallest normal value */
    double most;
    uint32_t (*widen)(uint32_t half);
} halves[] = {
    {GCB_SUM_F16, 11, -14, 65504.0, gcb_fp32_of_fp16},
    {GCB_SUM_BF16, 8, -126, 0x1.fep127, gcb_fp32_of_bf16},
};

static double value_of(const struct half *h, uint16_t code)
{
    return (double)gcb_float_of(h->widen(code));
}

/* a + b, rounded to nearest, ties to even, and limited to the largest finite value. */
static double sum_of(const struct half *h, double a, double b)
{
    const double sum = a + b;
    int exponent;
    double step;

    if (!isfinite(a) || !isfinite(b) || sum == 0.0)
        return sum;
    frexp(sum, &exponent);
    exponent = exponent - 1 < h->least ? h->least : exponent - 1;
    step = ldexp(1.0, exponent - h->bits + 1);
    return fmax(-h->most, fmin(h->most, rint(sum / step) * step));
}

/* Each of some values with every value, in arrays of several lengths. */
static void sums_saturate(void **state)
{
    enum { ALL = 1 << 16 };
    static const uint16_t some[] = {0,      0x8000, 1,      0x8001, 0x3c00, 0x3f80,
                                    0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x7f7f,
                                    0xff7f, 0x7f00, 0x7b00, 0x7f80, 0xff80, 0x7fc0};
    static uint16_t acc[ALL], one[ALL];

    for (size_t h = 0; h < 2; h++)
        for (size_t s = 0; s < sizeof(some) / sizeof(some[0]); s++) {
            for (size_t i = 0, length = 1; i < ALL; i += length, length = length % 40 + 1) {
                const size_t n = ALL - i < length ? ALL - i : length;

                for (size_t j = i; j < i + n; j++) {
                    acc[j] = some[s];
                    one[j] = (uint16_t)j;
                }
                gcb_reduction_combine(halves[h].reduction, acc + i, one + i, 2 * n);
            }
            for (size_t i = 0; i < ALL; i++) {
                const double got = value_of(&halves[h], acc[i]);
                const double want = sum_of(&halves[h], value_of(&halves[h], some[s]),
                                           value_of(&halves[h], (uint16_t)i));

                if (isnan(want) ? !isnan(got) : got != want)
                    fail_msg("%s: %04x + %04zx is %g, not %g", h ? "bf16" : "fp16", some[s], i, got,
                             want);
            }
        }
}

/* ---- two-shot ---- */

enum { N = 700 };

/* Values of worker w that are huge, one sign in each third of the tensor. The last elements are
 * small. */
static void fill_huge(float *x, unsigned w)
{
    for (unsigned i = 0; i < N; i++) {
        const float size = i % 7 == 3 ? FLT_MAX : FLT_MAX * (1.0f - 0.01f * (float)((i + w) % 9));

        x[i] = i < N / 3 ? size : i < 2 * N / 3 ? -size : w % 2 ? size : -size;
    }
    for (unsigned i = N - 20; i < N; i++)
        x[i] = 1e-30f * (float)(i + w);
}

static bool all_finite(const float *x, uint64_t n)
{
    bool finite = true;

    for (uint64_t i = 0; i < n; i++)
        finite &= isfinite(x[i]);
    return finite;
}

/* The mean in double; the caller frees it. */
static float *mean_of(const struct party *p)
{
    float *mean = calloc(p->n, sizeof(*mean));

    assert_non_null(mean);
    for (uint64_t i = 0; i < p->n; i++) {
        double sum = 0.0;

        for (unsigned w = 0; w < p->workers; w++)
            sum += (double)p->x[w][i];
        mean[i] = (float)(sum / p->workers);
    }
    return mean;
}

static void two_shots_of_huge_tensors(void **state)
{
    static const struct {
        const char *spec;
        double error; /* of the update, at most; relative to its norm */
    } rows[] = {
        {"identity:collective=twoshot", 1e-6},
        {"bf16:collective=twoshot", 0x1p-7},
        {"natural:collective=twoshot", 1.0},
        {"qsgd:collective=twoshot,bits=8", 0.2},
        {"qsgd:collective=twoshot,norm=l2", 1.0},
        {"qgz", 1.0},
        {"terngrad:collective=twoshot", 1.0},
        {"signsgd:collective=twoshot", 1.0},
        {"fp16:collective=twoshot", 1.0},
        {"range:collective=twoshot", 1.0},
        {"identity:collective=ring", 1e-6},
        {"identity:collective=tree", 1e-6},
        {"identity:collective=hierarchical,inner=2", 1e-6},
        {"range:collective=ring", 1.0},
        {"qsgd:collective=tree,bits=8", 0.4},
    };
    static const unsigned workers[] = {1, 2, 3, 4, 5, 9};

    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++)
        for (size_t i = 0; i < sizeof(workers) / sizeof(workers[0]); i++) {
            struct party p;
            float *mean;

            if (strstr(rows[r].spec, "inner=2") && workers[i] % 2)
                continue;
            party_open(&p, rows[r].spec, N, &(struct party_options){.workers = workers[i]});
            for (unsigned w = 0; w < p.workers; w++)
                fill_huge(p.x[w], w);
            mean = mean_of(&p);
            party_step(&p, 0);
            if (!all_finite(p.update[0], N) || party_distance(p.update[0], mean, N) > rows[r].error)
                fail_msg("%s, %u workers: %g", rows[r].spec, p.workers,
                         party_distance(p.update[0], mean, N));
            if (r == 0) /* elements whose sum does not overflow are as without the others */
                for (unsigned k = N - 20; k < N; k++)
                    assert_true(fabsf(p.update[0][k] - mean[k]) <= 1e-6f * mean[k]);
            free(mean);
            party_close(&p);
        }
}

/* The same for weights that are not equal, with a memory, and in a second step. */
static void two_shots_with_weights(void **state)
{
    static const float weights[][3] = {
        {0.5f, 0.25f, 0.25f}, {0.9f, 0.0f, 0.1f}, {0.6f, -0.2f, 0.2f}};

    for (size_t i = 0; i < 3; i++) {
        const struct party_options o = {.workers = 3, .weights = weights[i]};
        struct party p;

        party_open(&p, "identity:memory=ef,collective=twoshot", N, &o);
        for (unsigned w = 0; w < p.workers; w++)
            fill_huge(p.x[w], w);
        for (uint64_t step = 0; step < 2; step++) {
            float *sum = party_sum(p.x, p.workers, N, weights[i]);

            party_step(&p, step);
            assert_true(party_distance(p.update[0], sum, N) < 1e-6);
            free(sum);
            for (unsigned w = 0; w < p.workers; w++) /* nothing huge may be left */
                trip_fill(p.x[w], N, TRIP_GAUSS, w + 1);
        }
        party_close(&p);
    }
}

/* An infinity of one worker still spoils the step. */
static void two_shots_hide_no_infinity(void **state)
{
    struct party p;

    party_open(&p, "identity:collective=twoshot", N,
               &(struct party_options){.workers = 3, .nonfinite = GCB_NONFINITE_RAW});
    for (unsigned w = 0; w < p.workers; w++)
        fill_huge(p.x[w], w);
    p.x[1][0] = INFINITY;
    p.x[1][1] = NAN;
    party_step(&p, 0);
    assert_true(isinf(p.update[0][0]) && isnan(p.update[0][1]) && isfinite(p.update[0][2]));
    party_close(&p);
}

RUN_TESTS(cmocka_unit_test(sums_saturate), cmocka_unit_test(two_shots_of_huge_tensors),
          cmocka_unit_test(two_shots_with_weights), cmocka_unit_test(two_shots_hide_no_infinity))
