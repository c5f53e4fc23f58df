/* EDEN and DRIVE: errors of rotated tensors. tests/api/check_eden.py compares with NumPy. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/test.h"
#include "tests/support/trip.h"

enum { N = 1 << 16 };

/* The errors of normal values, D / (1 - D) and D for the distortion D of the levels, whatever the
 * distribution of the elements is. */
static void errors_are_those_of_normal_values(void **state)
{
    static const double distortion[] = {0.36338, 0.11748, 0.034548, 0.009501};
    char spec[64];

    for (int bits = 1; bits <= 4; bits++)
        for (int law = TRIP_GAUSS; law <= TRIP_STUDENT3; law++) {
            float *x = trip_tensor(N, (enum trip_law)law, 3);
            const double d = distortion[bits - 1];

            snprintf(spec, sizeof(spec), "eden:bits=%d", bits);
            assert_true(fabs(trip_error(spec, x, N, NULL) / (d / (1.0 - d)) - 1.0) < 0.05);
            snprintf(spec, sizeof(spec), "eden:bits=%d,scale=least", bits);
            assert_true(fabs(trip_error(spec, x, N, NULL) / d - 1.0) < 0.05);
            free(x);
        }
}

/* Blocks, then powers of two, then zeros up to 128 elements. */
static void sizes_of_messages(void **state)
{
    static const struct {
        const char *spec;
        uint64_t n, blocks, padded;
    } row[] = {{"eden:bits=3", 8192, 2, 8192},
               {"eden:bits=3", 4097, 2, 4224},
               {"eden:bits=3", 4096 + 1024 + 128 + 5, 3, 4096 + 1024 + 256},
               {"eden:bits=3,block=128", 1000, 8, 1024},
               {"drive", 77, 1, 128}};

    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        const unsigned bits = i < 4 ? 3 : 1;
        float *x = trip_tensor(row[i].n, TRIP_GAUSS, 1);
        struct trip t = {0};

        trip_run(&t, row[i].spec, x, row[i].n, NULL);
        assert_int_equal(t.parts.payload.scale_bytes, 8 + 4 * row[i].blocks);
        assert_int_equal(t.parts.payload.value_bytes, row[i].padded * bits / 8);
        trip_free(&t);
        free(x);
    }
}

/* Workers rotate differently, so their errors are independent. */
static void workers_rotate_apart(void **state)
{
    float *x = trip_tensor(N, TRIP_LAPLACE, 1), *mean = calloc(N, sizeof(*mean));

    for (uint32_t w = 0; w < 16; w++) {
        struct trip t = {0};

        trip_run(&t, "drive", x, N, &(struct trip_options){.worker = w});
        for (size_t i = 0; i < N; i++)
            mean[i] += t.back[i] / 16.0f;
        trip_free(&t);
    }
    assert_true(fabs(trip_distance(x, mean, N) / trip_norm(x, N) * 16.0 / 0.5708 - 1.0) < 0.05);
    free(x);
    free(mean);
}

/* Larger scales could give infinities. Encoders send such tensors raw. */
static void refuses_large_scales(void **state)
{
    static const unsigned char scales[][2] = {
        {0x71, 0x7f}, {0x71, 0x80}, {0xbf, 0x00}, {0x7f, 0xc0}};
    float x[512];
    struct trip t = {0};

    for (size_t i = 0; i < 512; i++)
        x[i] = i % 7 ? 1e26f : -3e26f;
    trip_run(&t, "eden:bits=2", x, 512, NULL);
    assert_true(trip_distance(x, t.back, 512) < 0.3 * trip_norm(x, 512));
    for (size_t i = 0; i < 4; i++) {
        uint8_t *scale = t.message + t.length - 512 / 4 - 4; /* the only one, before the codes */

        scale[3] = scales[i][0];
        scale[2] = scales[i][1];
        assert_int_equal(gcb_coder_decode(t.decoder, t.message, t.length,
                                          &(struct gcb_mview){t.back, 512}, NULL),
                         i ? GCB_E_CORRUPT : 0);
        for (size_t j = 0; j < 512; j++)
            assert_true(isfinite(t.back[j]));
    }
    trip_free(&t);
    x[5] = 1e31f;
    trip_run(&t, "eden:bits=2", x, 512, NULL);
    assert_memory_equal(x, t.back, sizeof(x));
    trip_free(&t);
}

RUN_TESTS(cmocka_unit_test(errors_are_those_of_normal_values), cmocka_unit_test(sizes_of_messages),
          cmocka_unit_test(workers_rotate_apart), cmocka_unit_test(refuses_large_scales))
