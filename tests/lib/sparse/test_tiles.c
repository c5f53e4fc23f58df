/* Transforms of tiles: what an encoder needs to know of the tensors' shapes, and sums of messages of
 * other shapes. tests/meta/decode_by_format.py compares the coefficients with NumPy. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "src/gcbench.h"
#include "tests/support/test.h"

#define N 1728

static size_t encode(unsigned char *message, size_t cap, const char *spec, const float *x,
                     const uint64_t *joined, size_t length)
{
    const struct gcb_options o = {.size = sizeof(o), .joined = joined, .joined_length = length};
    struct gcb_encoder *e;
    size_t bytes = 0, bound;

    assert_int_equal(gcb_encoder_open(&e, spec, N, &o, NULL), 0);
    bound = gcb_encoder_bound(e);
    assert_in_range(bound, 1, cap);
    assert_int_equal(gcb_encode(e, 0, 0, x, message, bound, &bytes, NULL), 0);
    gcb_encoder_close(e);
    return bytes;
}

static void decode(float *x, const unsigned char *message, size_t bytes)
{
    struct gcb_decoder *d;

    assert_int_equal(gcb_decoder_open_like(&d, message, bytes, NULL, NULL), 0);
    assert_int_equal(gcb_decode(d, message, bytes, x, NULL), 0);
    gcb_decoder_close(d);
}

/* 3x3 kernels, between vectors and matrices. */
static const uint64_t kernels[] = {1, 9, 4, 16, 11, 3, 3, 2, 9, 15};
/* The same number of elements. */
static const uint64_t matrices[] = {2, 48, 36};

/* A kernel whose elements are equal needs one coefficient: its mean. */
static void a_mean_for_each_kernel(void **state)
{
    static const uint64_t one[] = {4, 16, 12, 3, 3};
    static unsigned char message[8 * N];
    float x[N], y[N];

    for (int i = 0; i < N; i++)
        x[i] = (float)(i / 9 % 7) - 3.0f;
    for (int t = 0; t < 2; t++) {
        const char *spec = t ? "sparse:density=0.1112,transform=mean,tile=kernel"
                             : "sparse:density=0.1112,transform=dct,tile=kernel";

        decode(y, message, encode(message, sizeof(message), spec, x, one, 5));
        for (int i = 0; i < N; i++)
            assert_true(fabsf(x[i] - y[i]) < 1e-5f);
    }
}

/* Messages of other tiles are added too, after the transform back. */
static void sums_of_other_shapes(void **state)
{
    static unsigned char message[8 * N];
    float x[N], y[N], sum[N], expected[N] = {0};
    struct gcb_sum *s;

    for (int i = 0; i < N; i++)
        x[i] = sinf((float)i) + (float)(i % 5);
    assert_int_equal(gcb_sum_open(&s, "sparse:transform=dct,tile=kernel", N, NULL, NULL, NULL), 0);
    for (int w = 0; w < 4; w++) {
        const bool other = w == 1 || w == 2;
        const size_t bytes =
            encode(message, sizeof(message), "sparse:transform=dct,tile=kernel,theta=0.5", x,
                   other ? matrices : kernels, other ? 3 : 10);

        decode(y, message, bytes);
        assert_int_equal(gcb_sum_add(s, message, bytes, 0.5f, NULL), 0);
        for (int i = 0; i < N; i++)
            expected[i] += 0.5f * y[i];
    }
    assert_int_equal(gcb_sum_finish(s, sum, NULL), 0);
    for (int i = 0; i < N; i++)
        assert_true(fabsf(sum[i] - expected[i]) < 1e-4f);
    gcb_sum_close(s);
}

/* A Bloom filter finds more positions than select=chunk keeps, and an encoder has room for them. */
static void a_filter_of_tiles(void **state)
{
    static unsigned char message[8 * N];
    float x[N], y[N];

    for (int i = 0; i < N; i++)
        x[i] = sinf((float)(i * i));
    decode(y, message,
           encode(message, sizeof(message),
                  "sparse:transform=dct,tile=16x16,theta=0.03,select=chunk,index=bloom", x,
                  matrices, 3));
}

static void shapes_that_do_not_fit(void **state)
{
    static const uint64_t bad[][4] = {{2, 48, 35}, {3, 48, 36}, {33, 48, 36}, {2, 48, 36, 1}};
    struct gcb_encoder *e;

    for (size_t i = 0; i < 4; i++) {
        const struct gcb_options o = {
            .size = sizeof(o), .joined = bad[i], .joined_length = i < 3 ? 3 : 4};

        assert_int_equal(gcb_encoder_open(&e, "topk", N, &o, NULL), GCB_E_INVALID);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mean_for_each_kernel), cmocka_unit_test(sums_of_other_shapes),
        cmocka_unit_test(a_filter_of_tiles), cmocka_unit_test(shapes_that_do_not_fit)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
