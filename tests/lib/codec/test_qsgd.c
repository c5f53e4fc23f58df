#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/test.h"
#include "tests/support/trip.h"

struct setting {
    uint64_t bucket;
    unsigned s; /* levels */
    bool l2;
};

static char *spec_of(char *out, const struct setting *q, const char *coding)
{
    snprintf(out, 96, "qsgd:levels=%u,bucket=%u,norm=%s,coding=%s", q->s, (unsigned)q->bucket,
             q->l2 ? "l2" : "max", coding);
    return out;
}

static const struct setting settings[] = {
    {512, 7, false}, {512, 7, true},     {512, 1, true},   {128, 1, false},
    {100, 3, true},  {1, 1, false},      {7, 127, true},   {5000, 7, false},
    {64, 5, false},  {4096, 255, false}, {512, 100, true}, {513, 32767, false},
};
#define SETTINGS (sizeof(settings) / sizeof(*settings))

/* ---- codes ---- */

static void codings_hold_the_same(void **state)
{
    static const char *const codings[] = {"fixed", "elias", "elias-sparse"};
    static const uint64_t sizes[] = {1, 2, 17, 4095, 4096, 4097, 70001};
    float *x = trip_tensor(70001, TRIP_STUDENT3, 4);

    for (size_t k = 0; k < SETTINGS; k++) {
        for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
            struct trip t[3] = {{0}};
            char spec[96];

            for (size_t c = 0; c < 3; c++) {
                trip_run(&t[c], spec_of(spec, &settings[k], codings[c]), x, sizes[i], NULL);
                if (t[0].parts.stored || t[c].parts.stored)
                    continue;
                assert_memory_equal(t[c].back, t[0].back, sizes[i] * sizeof(float));
                assert_true(fabs(t[c].parts.payload.entropy0_bits -
                                 t[0].parts.payload.entropy0_bits) < 1e-6);
            }
            for (size_t c = 0; c < 3; c++)
                trip_free(&t[c]);
        }
    }
    free(x);
}

/* ---- the Elias codings' lengths, from the definition ---- */

/* Simulated reference (papers) on Gaussian data, norms counted in bits and entropy; the bits to 1
 * %, the rest to the 3 % that two digits leave. */
static void gaussian_reference(void **state)
{
    static const struct {
        struct setting q;
        double omega, nonzero, bits, entropy;
    } rows[] = {
        {{512, 1, true}, 17.0, 0.035, 1.17, 0.32},  {{512, 7, false}, 0.036, 0.82, 4.28, 3.26},
        {{512, 7, true}, 1.58, 0.25, 1.80, 1.12},   {{128, 1, false}, 1.27, 0.29, 2.11, 1.40},
        {{512, 22, true}, 0.177, 0.62, 2.97, 2.19},
    };
    enum { N = 1 << 20 };
    float *x = trip_tensor(N, TRIP_GAUSS, 6);

    for (size_t k = 0; k < sizeof(rows) / sizeof(*rows); k++) {
        struct trip t = {0};
        char spec[96];
        double nonzero = 0.0, got[4];

        trip_run(&t, spec_of(spec, &rows[k].q, "elias"), x, N, NULL);
        for (size_t i = 0; i < N; i++)
            nonzero += (double)(t.back[i] != 0.0f) / N;
        got[0] = trip_distance(x, t.back, N) / trip_norm(x, N) / rows[k].omega;
        got[1] = nonzero / rows[k].nonzero;
        got[2] = 8.0 * (double)t.length / N / rows[k].bits;
        got[3] = t.parts.payload.entropy0_bits / N + 32.0 / (double)rows[k].q.bucket;
        got[3] /= rows[k].entropy;
        for (int i = 0; i < 4; i++)
            if (fabs(got[i] - 1.0) > (i == 2 ? 0.01 : 0.03))
                fail_msg("%s: figure %d is %g of the reference", spec, i, got[i]);
        if (rows[k].q.l2) /* the paper's bound on non-zeros, s (s + sqrt d) a bucket */
            assert_true(nonzero * (double)rows[k].q.bucket <=
                        rows[k].q.s * (rows[k].q.s + sqrt((double)rows[k].q.bucket)));
        trip_free(&t);
    }
    free(x);
}

/* ---- extremes ---- */

/* A bucket of zeros among others, of either sign, and nothing of its neighbours in it. */
static void zero_buckets(void **state)
{
    enum { N = 2048 };
    float *x = trip_tensor(N, TRIP_GAUSS, 7);

    for (int i = 512; i < 1024; i++)
        x[i] = i % 2 ? 0.0f : -0.0f;
    for (size_t k = 0; k < 3; k++) {
        static const char *const codings[] = {"fixed", "elias", "elias-sparse"};
        struct trip t = {0};
        char spec[64];

        snprintf(spec, sizeof(spec), "qsgd:coding=%s", codings[k]);
        trip_run(&t, spec, x, N, NULL);
        for (int i = 512; i < 1024; i++)
            assert_true(t.back[i] == 0.0f);
        assert_true(trip_norm(t.back, 512) > 0.0 && trip_norm(t.back + 1024, 512) > 0.0);
        trip_free(&t);
    }
    free(x);
}

RUN_TESTS(cmocka_unit_test(codings_hold_the_same), cmocka_unit_test(gaussian_reference),
          cmocka_unit_test(zero_buckets))
