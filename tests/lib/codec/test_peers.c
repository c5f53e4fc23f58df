/*
 * Defects found in other codecs of this kind, each as a case that ours must pass. What is tested in
 * full in the test of a codec stands here once more as the short story of what went wrong
 * elsewhere.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/wire/bits.h"
#include "tests/support/test.h"
#include "tests/support/trip.h"

/* 131072 halves: positions once took the width of the values and wrapped at 65536. */
static void indices_are_wider_than_halves(void **state)
{
    enum { N = 131072 };
    static const char *const specs[] = {
        "topk:values=fp16,theta=0.99", "topk:values=fp16,theta=0.99,index=bitmap",
        "topk:values=fp16,theta=0.99,index=varint", "topk:values=fp16,theta=0.99,index=golomb"};
    float *x = trip_tensor(N, TRIP_GAUSS, 1);

    for (int i = 0; i < N; i++) /* as a half holds it */
        x[i] = (float)(int)(x[i] * 4.0f) / 4.0f + (i % 101 == 0 ? 100.0f : 0.0f);
    for (size_t k = 0; k < 4; k++) {
        struct trip t = {0};
        uint64_t late = 0;

        trip_run(&t, specs[k], x, N, &(struct trip_options){.source = GCB_F16});
        for (int i = 0; i < N; i++) {
            if (t.back[i] == 0.0f)
                continue;
            assert_true(t.back[i] == x[i]);
            late += i >= 65536;
        }
        assert_true(late > 500);
        trip_free(&t);
    }
    free(x);
}

/* A count of bits kept in a float once lost its low bits beyond 2^24. */
static void streams_beyond_2_to_24_bits(void **state)
{
    enum { N = 9000001 }; /* at 2.x bits: some 2^24.3 */
    float *x = trip_tensor(N, TRIP_GAUSS, 2);
    const uint64_t bits = (UINT64_C(1) << 24) + 1;
    uint8_t *bytes = malloc(bits / 8 + 16);
    struct gcb_bitw w = {.p = bytes};
    struct trip t = {0};

    gcb_bitw_ones(&w, bits);
    assert_int_equal(gcb_bitw_finish(&w) - bytes, bits / 8 + 1);
    assert_int_equal(bytes[bits / 8], 1);
    trip_run(&t, "qsgd:levels=1,bucket=128,coding=elias", x, N, NULL);
    assert_true(t.length > (1 << 21));
    for (int i = 0; i < N; i++)
        assert_true(fabsf(t.back[i]) <= 7.0f && t.back[i] * x[i] >= 0.0f);
    trip_free(&t);
    free(bytes);
    free(x);
}

/* Reported sizes once were below the entropy of what was sent, so that no decoder could exist. */
static void size_is_at_least_the_entropy(void **state)
{
    static const char *const specs[] = {"qsgd:levels=3,coding=elias",
                                        "qsgd:levels=15,coding=elias",
                                        "qsgd:coding=elias-sparse",
                                        "qsgd:bits=2,norm=l2,coding=elias-sparse",
                                        "qsgd",
                                        "terngrad",
                                        "terngrad:packing=base3",
                                        "range"};
    enum { N = 1 << 18 };
    float *x = trip_tensor(N, TRIP_LAPLACE, 5);

    for (size_t k = 0; k < sizeof(specs) / sizeof(*specs); k++) {
        struct trip t = {0};

        trip_run(&t, specs[k], x, N, NULL);
        assert_true(8.0 * (double)t.parts.payload.value_bytes >= t.parts.payload.entropy0_bits);
        trip_free(&t);
    }
    free(x);
}

/* A row too many was once sent where the size was a multiple of the bucket. */
static void no_bucket_too_many(void **state)
{
    float *x = trip_tensor(1 << 20, TRIP_GAUSS, 6);

    for (uint64_t n = 512; n <= 1 << 20; n *= 2) {
        struct trip t = {0};

        trip_run(&t, "qsgd", x, n, NULL);
        assert_int_equal(t.parts.payload.scale_bytes, n / 512 * 4);
        assert_int_equal(t.parts.payload.value_bytes, n / 2);
        trip_free(&t);
    }
    free(x);
}

/* With pad=none, primes are transformed as they are. */
static void primes_are_not_padded(void **state)
{
    enum { N = 257 * 509 };
    float *x = trip_tensor(N, TRIP_AR9, 7);
    struct trip t = {0};

    trip_need_fftw(N, 0);
    trip_run(&t, "fft:pad=none", x, N, NULL);
    assert_int_equal(t.parts.payload.positions, N / 2 + 1);
    assert_true(8.0 * (double)t.length / N < 0.15 * 10 + 0.5 + 0.01);
    assert_true(trip_distance(x, t.back, N) < 0.2 * trip_norm(x, N));
    trip_free(&t);
    free(x);
}

RUN_TESTS(cmocka_unit_test(indices_are_wider_than_halves),
          cmocka_unit_test(streams_beyond_2_to_24_bits),
          cmocka_unit_test(size_is_at_least_the_entropy), cmocka_unit_test(no_bucket_too_many),
          cmocka_unit_test(primes_are_not_padded))
