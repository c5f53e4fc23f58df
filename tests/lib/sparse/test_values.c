#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/test.h"
#include "tests/support/trip.h"

/*
 * Identities for kept values that are replaced by means: with exact means, the squared error is the
 * energy minus k mu^2 of each group.
 */

enum { N = 100003, LAWS = TRIP_AR9 + 1 };

/* The positions that a message keeps, with unchanged values. */
static void kept_values(const char *select, const float *x, uint64_t n, char *kept)
{
    struct trip t = {0};
    char spec[128];
    const uint8_t *map;

    snprintf(spec, sizeof(spec), "sparse:%s,values=fp32,index=bitmap", select);
    trip_run(&t, spec, x, n, NULL);
    assert_false(t.parts.stored);
    map = t.message + t.parts.header_bytes + 4 + 4 * t.parts.payload.kept;
    for (uint64_t i = 0; i < n; i++)
        kept[i] = map[i / 8] >> i % 8 & 1;
    trip_free(&t);
}

/* Sum and number of the kept values of a sign: 1; -1, with zeros; or 0 for the magnitudes of
 * both. */
struct group {
    double sum;
    uint64_t count;
};

static struct group group_of(const float *x, const char *kept, uint64_t n, int sign)
{
    struct group g = {0};

    for (uint64_t i = 0; i < n; i++) {
        if (!kept[i] || (sign && (x[i] > 0.0f) != (sign > 0)))
            continue;
        g.sum += sign ? (double)x[i] : fabs((double)x[i]);
        g.count++;
    }
    return g;
}

static double mean_of(const struct group *g)
{
    return g->count ? g->sum / (double)g->count : 0.0;
}

static double gain_of(const struct group *g)
{
    return (double)g->count * mean_of(g) * mean_of(g);
}

static void assert_near(double got, double want, double tolerance, const char *what)
{
    if (!(fabs(got - want) <= tolerance))
        fail_msg("%s: %.12g, not %.12g", what, got, want);
}

/* ||x - x'||^2 = ||x||^2 - gain, to 1e-6 of ||x||^2. */
static void error_is(const char *select, const char *values, const float *x, double gain)
{
    struct trip t = {0};
    const double norm = trip_norm(x, N);
    char spec[128];

    snprintf(spec, sizeof(spec), "sparse:%s,values=%s,index=golomb", select, values);
    trip_run(&t, spec, x, N, NULL);
    assert_false(t.parts.stored);
    assert_near(trip_distance(x, t.back, N) / norm, 1.0 - gain / norm, 1e-6, spec);
    trip_free(&t);
}

static void one_mean(void **state)
{
    static const char *const selects[] = {"select=one-sided,p=0.01", "select=alternate,p=0.1",
                                          "select=one-sided,p=0.0001"};
    char *kept = malloc(N);

    for (int law = 0; law < LAWS; law++) {
        float *x = trip_tensor(N, (enum trip_law)law, 3);

        for (size_t s = 0; s < 3; s++) {
            struct group g;

            kept_values(selects[s], x, N, kept);
            g = group_of(x, kept, N, 0);
            error_is(selects[s], "mean", x, gain_of(&g));
        }
        free(x);
    }
    free(kept);
}

static const char *const both_signs[] = {"select=topk,p=0.001", "select=topk,p=0.2",
                                         "select=threshold,threshold=1", "select=search,p=0.01"};

static void sign_times_mean(void **state)
{
    char *kept = malloc(N);

    for (int law = 0; law < LAWS; law++) {
        float *x = trip_tensor(N, (enum trip_law)law, 5);

        for (size_t s = 0; s < 4; s++) {
            struct group g;

            kept_values(both_signs[s], x, N, kept);
            g = group_of(x, kept, N, 0);
            error_is(both_signs[s], "sign-mean", x, gain_of(&g));
        }
        free(x);
    }
    free(kept);
}

static void two_means(void **state)
{
    char *kept = malloc(N);

    for (int law = 0; law < LAWS; law++) {
        float *x = trip_tensor(N, (enum trip_law)law, 7);

        for (uint64_t i = 0; i < N; i++) /* means that differ */
            x[i] = x[i] > 0.0f ? 3.0f * x[i] : x[i];
        for (size_t s = 0; s < 4; s++) {
            struct group up, down;

            kept_values(both_signs[s], x, N, kept);
            up = group_of(x, kept, N, 1);
            down = group_of(x, kept, N, -1);
            error_is(both_signs[s], "means", x, gain_of(&up) + gain_of(&down));
        }
        free(x);
    }
    free(kept);
}

/* Kept zeros count in the mean magnitude, and belong to the lower of two means. */
static void kept_zeros(void **state)
{
    float x[100] = {[7] = 4.0f, [50] = -2.0f};
    struct trip t = {0};

    trip_run(&t, "sparse:p=0.04,values=sign-mean,index=bitmap", x, 100, NULL);
    assert_int_equal(t.parts.payload.kept, 4);
    assert_true(t.back[7] == 1.5f && t.back[50] == -1.5f && t.back[0] == -1.5f);
    trip_free(&t);
    trip_run(&t, "sparse:p=0.04,values=means,index=bitmap", x, 100, NULL);
    assert_true(t.back[7] == 4.0f && t.back[0] == -2.0f / 3.0f);
    trip_free(&t);
    memset(x, 0, sizeof(x));
    trip_run(&t, "sparse:p=0.04,values=sign-mean,index=bitmap", x, 100, NULL);
    for (int i = 0; i < 100; i++)
        assert_true(t.back[i] == 0.0f);
    trip_free(&t);
}

/* ---- uniform ---- */

/* The error of kept values is at most max / (2 s) and float32's rounding of levels. The largest
 * value is exact. */
static void uniform_within_half_a_level(void **state)
{
    for (unsigned bits = 2; bits <= 16; bits++) {
        for (int law = 0; law < LAWS; law++) {
            float *x = trip_tensor(N, (enum trip_law)law, bits);
            const double s = (double)((1u << (bits - 1)) - 1);
            double max = 0.0, worst = 0.0;
            struct trip t = {0};
            char spec[96];

            snprintf(spec, sizeof(spec), "sparse:p=0.9,values=uniform,bits=%u,index=bitmap", bits);
            trip_run(&t, spec, x, N, NULL);
            assert_false(t.parts.stored);
            for (uint64_t i = 0; i < N; i++)
                max = fmax(max, fabs((double)x[i]));
            for (uint64_t i = 0; i < N; i++) {
                const double level = fabs((double)t.back[i]) / max * s;

                assert_near(level, rint(level), 1e-6 * s, "a level");
                if (fabs((double)x[i]) == max)
                    assert_true(t.back[i] == x[i]);
                if (t.back[i] != 0.0f) /* otherwise the value may have been dropped */
                    worst = fmax(worst, fabs((double)x[i] - t.back[i]));
            }
            assert_true(worst <= max / (2.0 * s) + max * 0x1p-23);
            if (law == TRIP_GAUSS &&
                bits >= 4) /* and not much smaller, because the values are spread evenly */
                assert_true(worst >= max / (2.0 * s) * 0.9);
            trip_free(&t);
            free(x);
        }
    }
}

/* With a given maximum, larger values are clamped and counted. */
static void uniform_clamps(void **state)
{
    static const float x[] = {0.5f, -4.0f, 1.0f, -1.0f, 1.25f, 0.0f, 0.1f, -0.9f};
    static const float want[] = {0.6666667f, -1.0f, 1.0f, -1.0f, 1.0f, 0.0f, 0.0f, -1.0f};
    struct trip t = {0};

    trip_run(&t, "sparse:theta=0,values=uniform,bits=3,max=1,index=bitmap", x, 8, NULL);
    assert_int_equal(t.clamped, 2);
    for (int i = 0; i < 8; i++)
        assert_true(fabsf(t.back[i] - want[i]) < 1e-6f);
    trip_free(&t);
}

RUN_TESTS(cmocka_unit_test(one_mean), cmocka_unit_test(sign_times_mean),
          cmocka_unit_test(two_means), cmocka_unit_test(kept_zeros),
          cmocka_unit_test(uniform_within_half_a_level), cmocka_unit_test(uniform_clamps))
