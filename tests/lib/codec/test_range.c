#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/test.h"
#include "tests/support/trip.h"

#define HEAD (16 + 1) /* of a range message: frame, bits */

/*
 * The paper's example: eps = 0.125 with 3 mantissa bits makes the base pattern 0x3E0; 0.256 shifted
 * is 0x3E8, so its code is 9, which stands for 0.25. With 8 bits the 127th code above that base is
 * 7168.
 */
static void worked_example(void **state)
{
    const float x[] = {0.256f, -0.256f, 0.125f, 0.1249f, 7168.0f, -7168.0f, 0.0f};
    const uint8_t want[] = {9, 127 + 9, 1, 0, 127, 254, 0};
    const float back[] = {0.25f, -0.25f, 0.125f, 0.0f, 7168.0f, -7168.0f, 0.0f};
    const float top = 7168.0f;
    struct trip t = {0};

    trip_run(&t, "range:bits=8,mantissa=3,max=7168,rounding=truncate", x, 7, NULL);
    assert_int_equal(t.length, HEAD + 5 + 7);
    assert_memory_equal(t.message + HEAD, &top, 4);
    assert_int_equal(t.message[HEAD + 4], 3);
    assert_memory_equal(t.message + HEAD + 5, want, sizeof(want));
    assert_memory_equal(t.back, back, sizeof(back));
    trip_free(&t);
}

/* eps of the closed form, worked out apart from the codec. */
static double eps_of(unsigned bits, unsigned mantissa, float max, bool nearest)
{
    const unsigned shift = 23 - mantissa;
    const uint32_t codes = (1u << (bits - 1)) - 1, most = 0x7f7fffffu >> shift;
    uint32_t top = gcb_bits_of(max) + (nearest ? 1u << (shift - 1) : 0);

    top >>= shift;
    top = top > most ? most : top;
    return (double)gcb_float_of((top > codes ? top - codes + 1 : 1) << shift);
}

/* Patterns spread over 0..max, dense near both ends, of both signs. */
static void spread(float *x, uint64_t n, float max)
{
    const uint32_t top = gcb_bits_of(max);

    for (uint64_t i = 0; i < n; i++) {
        uint32_t u = (uint32_t)(i * 2654435761u) % (top + 1);

        u = i % 4 == 0 ? top - (uint32_t)i / 4 % (top + 1) : u;
        u = i % 4 == 1 ? (uint32_t)i / 4 % (top + 1) : u;
        x[i] = gcb_float_of(u | (uint32_t)(i % 8 >= 4) << 31);
    }
}

static void keeps_bound(unsigned bits, unsigned mantissa, bool nearest, const float *x, uint64_t n,
                        float max)
{
    const double eps = eps_of(bits, mantissa, max, nearest);
    const double part = nearest ? 0.5 : 1.0, relative = part * ldexp(1.0, -(int)mantissa);
    struct trip t = {0};
    char spec[96];

    snprintf(spec, sizeof(spec), "range:bits=%u,mantissa=%u,rounding=%s", bits, mantissa,
             nearest ? "nearest" : "truncate");
    trip_run(&t, spec, x, n, NULL);
    assert_int_equal(t.clamped, 0);
    for (uint64_t i = 0; i < n; i++) {
        const double m = fabs((double)x[i]), error = fabs((double)t.back[i] - x[i]);
        /* steps end at the least normal number; nothing lies above the half step under 2^128 */
        double bound = m < eps ? part * eps : relative * (m < 0x1p-126 ? 0x1p-126 : m);

        if (m > 0x1.fp127)
            bound = ldexp(m, -(int)mantissa);
        if (nearest ? error > bound : error >= bound && error > 0.0)
            fail_msg("%s, max %g: %g became %g (eps %g)", spec, (double)max, (double)x[i],
                     (double)t.back[i], eps);
        assert_true(t.back[i] == 0.0f || signbit(t.back[i]) == signbit(x[i]));
        assert_true(nearest || fabs((double)t.back[i]) <= m); /* truncation never grows a value */
    }
    trip_free(&t);
}

static void bound_holds_for_every_format(void **state)
{
    static const float maxima[] = {1.0f, 0.3f, 3.4028235e38f, 1e-37f, 3e-42f, 1e-45f};
    enum { N = 4000 };
    float *x = malloc(N * sizeof(float));
    struct gcb_method m;

    for (size_t k = 0; k < sizeof(maxima) / sizeof(*maxima); k++) {
        spread(x, N, maxima[k]);
        for (unsigned bits = 2; bits <= 16; bits++) {
            for (unsigned mantissa = 1; mantissa < bits; mantissa++) {
                char spec[64];

                snprintf(spec, sizeof(spec), "range:bits=%u,mantissa=%u", bits, mantissa);
                if (gcb_method_parse(&m, spec, NULL))
                    continue;
                keeps_bound(bits, mantissa, true, x, N, maxima[k]);
                keeps_bound(bits, mantissa, false, x, N, maxima[k]);
            }
        }
    }
    free(x);
}

/* Which pairs are refused: a mantissa as wide as the code, or eps below the normal numbers for max
 * = 1. */
static void refuses_formats_without_meaning(void **state)
{
    struct gcb_method m;
    char spec[64];

    for (unsigned bits = 2; bits <= 16; bits++) {
        for (unsigned mantissa = 1; mantissa < 16; mantissa++) {
            const double octaves = ((1u << (bits - 1)) - 2) / ldexp(1.0, (int)mantissa);
            const bool valid = mantissa < bits && octaves <= 126.0;

            snprintf(spec, sizeof(spec), "range:bits=%u,mantissa=%u", bits, mantissa);
            assert_int_equal(gcb_method_parse(&m, spec, NULL) == 0, valid);
        }
    }
}

static void counts_clamped_values(void **state)
{
    const float x[] = {0.5f, 1.0f, -1.0f, 1.0000001f, -1.5f, 3e38f, 0.0f, 1e-30f};
    struct trip t = {0};

    trip_run(&t, "range:max=1", x, 8, NULL);
    assert_int_equal(t.clamped, 3);
    assert_true(t.back[3] == 1.0f && t.back[4] == -1.0f && t.back[5] == 1.0f);
    assert_true(t.back[1] == 1.0f && t.back[2] == -1.0f);
    trip_free(&t);
    trip_run(&t, "range", x, 8, NULL);
    assert_int_equal(t.clamped, 0);
    trip_free(&t);
    trip_run(&t, "range:bits=16,max=1", x + 4, 2, NULL); /* longer than the raw tensor */
    assert_true(t.parts.stored);
    assert_int_equal(t.clamped, 0);
    trip_free(&t);
}

/* Zero has a code of its own, and a tensor that is zero but for one value does not lose it. */
static void zero_and_single_values(void **state)
{
    float x[300] = {0.0f};
    struct trip t = {0};

    x[7] = -0.0f;
    trip_run(&t, "range", x, 300, NULL);
    for (size_t i = 0; i < 300; i++)
        assert_true(t.back[i] == 0.0f);
    trip_free(&t);
    x[150] = -0x1.8p-130f; /* a denormal maximum */
    trip_run(&t, "range", x, 300, NULL);
    assert_true(t.back[150] == x[150] && t.back[149] == 0.0f);
    trip_free(&t);
    x[150] = 7.5f;
    trip_run(&t, "range", x, 300, NULL);
    assert_true(t.back[150] == 7.5f);
    trip_free(&t);
}

/* Relative error and mantissa width chosen for 2^20 values (papers: best m of a simulation). */
static void error_as_simulated(void **state)
{
    static const struct {
        enum trip_law law;
        const char *spec;
        double error;
        int mantissa;
    } rows[] = {
        {TRIP_GAUSS, "range:rounding=truncate", 0.0260, 4},
        {TRIP_GAUSS, "range", 0.0133, 4},
        {TRIP_STUDENT3, "range:rounding=truncate", 0.0509, 3},
        {TRIP_STUDENT3, "range", 0.0265, 3},
    };
    enum { N = 1 << 20 };

    for (size_t i = 0; i < 4; i++) {
        float *x = trip_tensor(N, rows[i].law, 3);
        struct trip t = {0};
        double error;

        trip_run(&t, rows[i].spec, x, N, NULL);
        error = sqrt(trip_distance(x, t.back, N) / trip_norm(x, N));
        assert_int_equal(t.message[HEAD + 4], rows[i].mantissa);
        if (fabs(error / rows[i].error - 1.0) > 0.03)
            fail_msg("%s, law %d: error %g, not %g", rows[i].spec, (int)rows[i].law, error,
                     rows[i].error);
        trip_free(&t);
        free(x);
    }
}

/* The width taken from exponent counts is the best one, or its error is within 5 % of the best. */
static void chooses_a_good_mantissa(void **state)
{
    enum { N = 1 << 16 };

    for (int law = TRIP_GAUSS; law <= TRIP_STUDENT3; law++) {
        float *x = trip_tensor(N, (enum trip_law)law, 5);
        const double chosen = trip_error("range:bits=6", x, N, NULL);

        for (unsigned m = 1; m < 6; m++) {
            char spec[64];

            snprintf(spec, sizeof(spec), "range:bits=6,mantissa=%u", m);
            assert_true(chosen <= 1.05 * trip_error(spec, x, N, NULL));
        }
        free(x);
    }
}

RUN_TESTS(cmocka_unit_test(worked_example), cmocka_unit_test(bound_holds_for_every_format),
          cmocka_unit_test(refuses_formats_without_meaning),
          cmocka_unit_test(counts_clamped_values), cmocka_unit_test(zero_and_single_values),
          cmocka_unit_test(error_as_simulated), cmocka_unit_test(chooses_a_good_mantissa))
