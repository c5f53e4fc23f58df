#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/test.h"
#include "tests/support/trip.h"

/* The scaler that a message carries. */
static float scale_of(const char *spec, const float *x, uint64_t n)
{
    struct trip t = {0};
    float scale;

    trip_encode(&t, spec, x, n, NULL);
    memcpy(&scale, t.message + 16 + 1, sizeof(scale));
    trip_free(&t);
    return scale;
}

/* c deviations about the mean, the mean itself not removed from the values. */
static void clips_at_deviations_about_the_mean(void **state)
{
    enum { N = 100000 };
    float *x = trip_tensor(N, TRIP_GAUSS, 3);
    struct trip t = {0};
    double mean = 0.0, variance = 0.0;
    uint64_t beyond = 0;
    float clip;

    for (size_t i = 0; i < N; i++) {
        x[i] = x[i] * 0.01f + 0.005f;
        mean += (double)x[i] / N;
    }
    for (size_t i = 0; i < N; i++)
        variance += ((double)x[i] - mean) * ((double)x[i] - mean) / N;
    clip = scale_of("terngrad", x, N);
    assert_true(fabs((double)clip / (2.5 * sqrt(variance)) - 1.0) < 1e-6);
    assert_true(fabs((double)scale_of("terngrad:clip=1", x, N) / sqrt(variance) - 1.0) < 1e-6);
    for (size_t i = 0; i < N; i++)
        beyond += fabsf(x[i]) > clip;
    trip_run(&t, "terngrad", x, N, NULL);
    assert_int_equal(t.clamped, beyond);
    for (size_t i = 0; i < N; i++) {
        assert_true(t.back[i] == 0.0f || fabsf(t.back[i]) == clip);
        if (fabsf(x[i]) >= clip)
            assert_true(t.back[i] == copysignf(clip, x[i]));
    }
    trip_free(&t);
    free(x);
}

/* No deviation, nothing to clip by: the rounding of sums must not pass for one. */
static void constant_tensors_survive(void **state)
{
    static const float values[] = {0.1f, -0.1f, 1e-3f, 3.14159f, -0.125f, 1e30f, 1e-30f, 1e-44f};
    static const uint64_t sizes[] = {1, 2, 3, 1000, 4097, 1 << 20};
    float *x = malloc(sizeof(float) << 20);

    for (size_t v = 0; v < sizeof(values) / sizeof(*values); v++) {
        for (size_t i = 0; i < 1 << 20; i++)
            x[i] = values[v];
        for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
            struct trip t = {0};

            trip_run(&t, "terngrad", x, sizes[s], NULL);
            assert_memory_equal(t.back, x, sizes[s] * sizeof(float));
            assert_int_equal(t.clamped, 0);
            trip_free(&t);
        }
    }
    free(x);
}

static void packings_hold_the_same(void **state)
{
    static const uint64_t sizes[] = {1, 2, 4, 5, 6, 4079, 4080, 4081, 70001};
    float *x = trip_tensor(70001, TRIP_STUDENT3, 4);

    for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
        struct trip a = {0}, b = {0};

        trip_run(&a, "terngrad:packing=2bit", x, sizes[s], NULL);
        trip_run(&b, "terngrad:packing=base3", x, sizes[s], NULL);
        assert_memory_equal(a.back, b.back, sizes[s] * sizeof(float));
        if (!a.parts.stored && !b.parts.stored) {
            assert_int_equal(a.parts.payload.value_bytes, (sizes[s] + 3) / 4);
            assert_int_equal(b.parts.payload.value_bytes, (sizes[s] + 4) / 5);
            assert_true(a.parts.payload.entropy0_bits == b.parts.payload.entropy0_bits);
        }
        trip_free(&a);
        trip_free(&b);
    }
    free(x);
}

/* Squared error against the tensor clipped at what the message carries, over that tensor's norm. */
static double clipped_error(const char *spec, float *x, uint64_t n)
{
    const float clip = scale_of(spec, x, n);
    struct trip t = {0};
    double error;

    trip_run(&t, spec, x, n, NULL);
    for (uint64_t i = 0; i < n; i++)
        x[i] = fabsf(x[i]) > clip ? copysignf(clip, x[i]) : x[i];
    error = trip_distance(x, t.back, n) / trip_norm(x, n);
    trip_free(&t);
    return error;
}

/*
 * Simulated reference (papers): omega of 2^20 values, of the clipped tensor where there is a clip.
 * Without one it follows the largest value, which varies from draw to draw (12 % and 25 % are two
 * deviations of a maximum; the seed is fixed); with it 2 % covers the draw.
 */
static void omega_as_simulated(void **state)
{
    enum { N = 1 << 20 };
    static const struct {
        enum trip_law law;
        const char *spec;
        double omega, within;
    } rows[] = {
        {TRIP_GAUSS, "terngrad:clip=0", 2.84, 0.12},
        {TRIP_GAUSS, "terngrad", 1.03, 0.02},
        {TRIP_LAPLACE, "terngrad:clip=0", 5.90, 0.25},
        {TRIP_LAPLACE, "terngrad", 0.98, 0.02},
    };

    for (size_t i = 0; i < 4; i++) {
        float *x = trip_tensor(N, rows[i].law, 1);
        const double omega = clipped_error(rows[i].spec, x, N);

        if (fabs(omega / rows[i].omega - 1.0) > rows[i].within)
            fail_msg("%s, law %d: %g, not %g", rows[i].spec, (int)rows[i].law, omega,
                     rows[i].omega);
        free(x);
    }
}

RUN_TESTS(cmocka_unit_test(clips_at_deviations_about_the_mean),
          cmocka_unit_test(constant_tensors_survive), cmocka_unit_test(packings_hold_the_same),
          cmocka_unit_test(omega_as_simulated))
