/*
 * Defects found in other codecs of this kind, each as a case that ours must pass. What is tested in full in
 * the test of a codec stands here once more as the short story of what went wrong elsewhere.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/lib/wire/bits.h"
#include "tests/support/trip.h"

/* Calls check for every method at its defaults. */
static void each_method(void (*check)(const char *spec, bool unbiased))
{
    struct gcb_method m;

    for (size_t i = 0; gcb_method_at(&m, i); i++)
        check(m.name, gcb_method_caps(&m) & GCB_CAP_UNBIASED);
}

/* Frozen layers and unused embeddings have gradients of zero: a scale of zero once wrote past the buffer. */
static void zero_tensor(const char *spec, bool unbiased)
{
    static const uint64_t sizes[] = {1, 2, 100, 4096, 5000};
    float x[5000] = {0.0f};

    (void)unbiased;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        struct trip t = {0};

        trip_run(&t, spec, x, sizes[i], NULL);
        for (uint64_t j = 0; j < sizes[i]; j++)
            assert_true(t.back[j] == 0.0f);
        trip_free(&t);
    }
}

static void all_zero(void **state)
{
    (void)state;
    each_method(zero_tensor);
}

/* A sampled threshold of zero once kept everything of a mostly-zero tensor: three times its size. */
static void sparse_tensor(const char *spec, bool unbiased)
{
    enum { N = 1 << 18 };
    float *x = calloc(N, sizeof(float));
    struct trip t = {0};

    (void)unbiased;
    for (int i = 0; i < 50; i++)
        x[i * 5003 % N] = (float)(i + 1) * (i % 2 ? 1.0f : -1.0f);
    trip_run(&t, spec, x, N, NULL);
    assert_true(t.length <= 4 * N + 64);
    if (t.parts.payload.positions == N) /* no transform: density as asked for */
        assert_true(t.parts.payload.kept == N || t.parts.payload.kept <= N * 3 / 10);
    trip_free(&t);
    free(x);
}

static void mostly_zero(void **state)
{
    (void)state;
    each_method(sparse_tensor);
}

/* 131072 halves: positions once took the width of the values and wrapped at 65536. */
static void indices_are_wider_than_halves(void **state)
{
    enum { N = 131072 };
    static const char *const specs[] = {
        "topk:values=fp16,theta=0.99", "topk:values=fp16,theta=0.99,index=bitmap",
        "topk:values=fp16,theta=0.99,index=varint", "topk:values=fp16,theta=0.99,index=golomb"};
    float *x = trip_tensor(N, TRIP_GAUSS, 1);

    (void)state;
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

    (void)state;
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

/* Cutting survivors in the order of their index once left the second half of a tensor out. */
static void large_values_at_the_end(void **state)
{
    enum { N = 1 << 20 };
    float *x = trip_tensor(N, TRIP_GAUSS, 3);
    struct trip t = {0};
    uint64_t late = 0;

    (void)state;
    trip_run(&t, "topk:theta=0.99", x, N, NULL);
    for (int i = 0; i < N; i++)
        late += i >= N / 2 && t.back[i] != 0.0f;
    /* binomial(10486, 1/2): 51 a deviation */
    assert_in_range(late, 5243 - 300, 5243 + 300);
    assert_true(t.back[0] == 0.0f || t.back[0] == x[0]); /* where unfilled slots once pointed */
    trip_free(&t);
    free(x);
}

/* Selecting on signed values once sent no negative ones, and max() in place of max(abs()) flipped some. */
static void sign_is_kept(const char *spec, bool unbiased)
{
    enum { N = 2000 };
    float x[N];
    struct trip t = {0};
    double sum = 0.0, norm = 0.0;

    (void)unbiased;
    for (int i = 0; i < N; i++)
        x[i] = -1.0f - (float)(i * 37 % N) / N;
    trip_run(&t, spec, x, N, NULL);
    for (int i = 0; i < N; i++) {
        assert_true(t.back[i] <= 0.0f || t.parts.payload.positions != N);
        sum += (double)t.back[i] * x[i];
        norm += (double)x[i] * x[i];
    }
    if (sum <= 1e-3 * norm) /* a share of the entries, at least, came through */
        fail_msg("%s: %g of the tensor", spec, sum / norm);
    trip_free(&t);
}

static void all_negative(void **state)
{
    (void)state;
    each_method(sign_is_kept);
}

/* One NaN in a bucket once made NaNs of all of it: here it is refused, or the tensor goes as it is. */
static void one_nan(const char *spec, bool unbiased)
{
    float x[600];
    struct trip t = {0};

    (void)unbiased;
    trip_fill(x, 600, TRIP_GAUSS, 4);
    x[77] = NAN;
    trip_run(&t, spec, x, 600, &(struct trip_options){.nonfinite = GCB_NONFINITE_RAW});
    assert_memory_equal(t.back, x, sizeof(x));
    trip_free(&t);
}

static void nan_stays_alone(void **state)
{
    (void)state;
    each_method(one_nan);
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

    (void)state;
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

    (void)state;
    for (uint64_t n = 512; n <= 1 << 20; n *= 2) {
        struct trip t = {0};

        trip_run(&t, "qsgd", x, n, NULL);
        assert_int_equal(t.parts.payload.scale_bytes, n / 512 * 4);
        assert_int_equal(t.parts.payload.value_bytes, n / 2);
        trip_free(&t);
    }
    free(x);
}

/* Sizes are cut to nothing: primes are transformed as they are, and none is padded to a power of two. */
static void primes_are_not_padded(void **state)
{
    enum { N = 257 * 509 };
    float *x = trip_tensor(N, TRIP_AR9, 7);
    struct trip t = {0};

    (void)state;
    trip_run(&t, "fft", x, N, NULL);
    assert_int_equal(t.parts.payload.positions, N / 2 + 1);
    assert_true(8.0 * (double)t.length / N < 0.15 * 10 + 0.5 + 0.01);
    assert_true(trip_distance(x, t.back, N) < 0.2 * trip_norm(x, N));
    trip_free(&t);
    free(x);
}

/* What was called stochastic once rounded to nearest: x = 0.3 of a level is 0 every time, and biased. */
static void rounding_is_stochastic(const char *spec, bool unbiased)
{
    enum { N = 4096 };
    float x[N];
    struct trip t = {0};
    double mean = 0.0;

    if (!unbiased)
        return;
    for (int i = 0; i < N; i++)
        x[i] = i % 512 == 0 ? 1.0f : 0.3f / 7.0f;
    trip_run(&t, strcmp(spec, "terngrad") == 0 ? "terngrad:clip=0" : spec, x, N, NULL);
    for (int i = 0; i < N; i++)
        mean += i % 512 == 0 ? 0.0 : (double)t.back[i] / (N - N / 512);
    /* TernGrad's deviation of the mean is sqrt(.043 * .957 / 4088) = .0032: 5 of them, from .0429 */
    assert_true(fabs(mean - 0.3 / 7.0) < 0.016);
    trip_free(&t);
}

static void unbiased_means_unbiased(void **state)
{
    (void)state;
    each_method(rounding_is_stochastic);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_zero),
        cmocka_unit_test(mostly_zero),
        cmocka_unit_test(indices_are_wider_than_halves),
        cmocka_unit_test(streams_beyond_2_to_24_bits),
        cmocka_unit_test(large_values_at_the_end),
        cmocka_unit_test(all_negative),
        cmocka_unit_test(nan_stays_alone),
        cmocka_unit_test(size_is_at_least_the_entropy),
        cmocka_unit_test(no_bucket_too_many),
        cmocka_unit_test(primes_are_not_padded),
        cmocka_unit_test(unbiased_means_unbiased),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
