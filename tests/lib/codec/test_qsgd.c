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

static double norm_of(const float *x, uint64_t n, bool l2)
{
    double norm = 0.0;

    for (uint64_t i = 0; i < n; i++)
        norm = l2 ? norm + (double)x[i] * x[i] : fmax(norm, fabs((double)x[i]));
    return l2 ? sqrt(norm) : norm;
}

/* Mean and variance of the squared error of one encode, and the paper's bound on the mean. */
struct expected {
    double mean, variance, bound;
};

static const struct setting settings[] = {
    {512, 7, false}, {512, 7, true},     {512, 1, true},   {128, 1, false},
    {100, 3, true},  {1, 1, false},      {7, 127, true},   {5000, 7, false},
    {64, 5, false},  {4096, 255, false}, {512, 100, true}, {513, 32767, false},
};
#define SETTINGS (sizeof(settings) / sizeof(*settings))

/* ---- codes ---- */

/* Levels and norms of a fixed-width message, read bit by bit. */
static uint32_t code_at(const uint8_t *codes, uint64_t i, unsigned width)
{
    uint32_t code = 0;

    for (unsigned b = 0; b < width; b++)
        code |= (uint32_t)(codes[(i * width + b) / 8] >> (i * width + b) % 8 & 1) << b;
    return code;
}

static void levels_stay_below_s(void **state)
{
    enum { N = 3000 };
    float *x = trip_tensor(N, TRIP_LAPLACE, 3);

    for (size_t k = 0; k < SETTINGS; k++) {
        const struct setting *q = &settings[k];
        const uint64_t buckets = (N + q->bucket - 1) / q->bucket;
        unsigned sign_bit = 0;
        struct trip t = {0};
        char spec[96];

        while (1u << sign_bit <= q->s)
            sign_bit++;
        trip_run(&t, spec_of(spec, q, "fixed"), x, N, NULL);
        if (t.parts.stored) {
            trip_free(&t);
            continue;
        }
        assert_int_equal(t.parts.payload.scale_bytes, 4 * buckets);
        assert_int_equal(t.parts.payload.value_bytes, (N * (sign_bit + 1) + 7) / 8);
        for (uint64_t i = 0; i < N; i++) {
            const uint8_t *payload = t.message + t.parts.header_bytes;
            const uint32_t code = code_at(payload + 4 * buckets, i, sign_bit + 1);
            const uint32_t level = code & ((1u << sign_bit) - 1);
            const float norm = gcb_load_f32(payload + 4 * (i / q->bucket));

            assert_true(level <= q->s);
            assert_int_equal(level && code >> sign_bit, level && signbit(x[i]));
            assert_true(fabs((double)t.back[i]) <= (double)norm * (1 + 1e-6));
            assert_true(fabs((double)t.back[i] - x[i]) <= (double)norm / q->s * (1 + 1e-5));
        }
        trip_free(&t);
    }
    free(x);
}

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

static unsigned omega_length(uint32_t n)
{
    unsigned width = 0;

    if (n == 1)
        return 1;
    for (uint32_t v = n; v; v >>= 1)
        width++;
    return width + omega_length(width - 1);
}

static uint64_t dense_bits(const uint32_t *level, uint64_t n)
{
    uint64_t bits = 0;

    for (uint64_t i = 0; i < n; i++)
        bits += omega_length(level[i] + 1) + (level[i] != 0);
    return bits;
}

static uint64_t sparse_bits(const uint32_t *level, uint64_t n)
{
    uint64_t bits = 0, next = 0;

    for (uint64_t i = 0; i < n; i++) {
        if (level[i] == 0)
            continue;
        bits += omega_length((uint32_t)(i - next + 1)) + 1 + omega_length(level[i]);
        next = i + 1;
    }
    return next < n ? bits + omega_length((uint32_t)(n - next + 1)) : bits;
}

static void elias_lengths(void **state)
{
    enum { N = 20001, BLOCK = 4096 };
    float *x = trip_tensor(N, TRIP_GAUSS, 5);
    uint32_t *level = malloc(N * sizeof(*level));

    for (size_t k = 0; k < 5; k++) {
        const struct setting *q = &settings[k];
        const uint64_t buckets = (N + q->bucket - 1) / q->bucket, blocks = (N + BLOCK - 1) / BLOCK;
        uint64_t dense = 4 * buckets + 2 * blocks, sparse = dense;
        struct trip t = {0};
        char spec[96];

        trip_run(&t, spec_of(spec, q, "elias"), x, N, NULL);
        for (uint64_t i = 0; i < N; i++) {
            const float norm = gcb_load_f32(t.message + t.parts.header_bytes + 4 * (i / q->bucket));

            level[i] = (uint32_t)lrint(fabs((double)t.back[i]) * q->s / (double)norm);
        }
        for (uint64_t b = 0; b < N; b += BLOCK) {
            const uint64_t n = N - b < BLOCK ? N - b : BLOCK;

            dense += (dense_bits(level + b, n) + 7) / 8;
            sparse += (sparse_bits(level + b, n) + 7) / 8;
        }
        assert_int_equal(t.length - t.parts.header_bytes, dense);
        trip_free(&t);
        trip_run(&t, spec_of(spec, q, "elias-sparse"), x, N, NULL);
        assert_int_equal(t.length - t.parts.header_bytes, sparse);
        trip_free(&t);
    }
    free(level);
    free(x);
}

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

static void extreme_norms(void **state)
{
    static const float magnitudes[] = {3.4028235e38f, 1e38f,  3e37f,  1e31f,  1e30f, 1e-30f,
                                       1e-31f,        1e-38f, 1e-39f, 1e-44f, 1e-45f};
    static const char *const norms[] = {"max", "l2"};
    float x[1500];

    for (size_t k = 0; k < sizeof(magnitudes) / sizeof(*magnitudes); k++) {
        for (size_t l2 = 0; l2 < 2; l2++) {
            struct trip t = {0};
            char spec[64];

            for (int i = 0; i < 1500; i++)
                x[i] = magnitudes[k] * ((float)(i % 11) / 5.0f - 1.0f);
            snprintf(spec, sizeof(spec), "qsgd:bits=8,norm=%s", norms[l2]);
            trip_run(&t, spec, x, 1500, NULL);
            for (int i = 0; i < 1500; i++) {
                const double norm = fmin(norm_of(x + i / 512 * 512, i < 1024 ? 512 : 476, l2),
                                         3.4028234663852886e38);

                assert_true(isfinite(t.back[i]));
                /* a step, and what the least float adds where a step is finer than that */
                assert_true(fabs((double)t.back[i] - x[i]) <= norm / 127 * (1 + 1e-5) + 0x1p-149);
            }
            trip_free(&t);
        }
    }
}

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

RUN_TESTS(cmocka_unit_test(levels_stay_below_s), cmocka_unit_test(codings_hold_the_same),
          cmocka_unit_test(elias_lengths), cmocka_unit_test(gaussian_reference),
          cmocka_unit_test(extreme_norms), cmocka_unit_test(zero_buckets))
