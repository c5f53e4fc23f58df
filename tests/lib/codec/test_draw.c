#include "src/lib/codec/codec.h"
#include "tests/support/test.h"

static uint64_t stream(const char *path, uint64_t step, uint32_t worker, uint32_t purpose)
{
    const struct gcb_codec_env env = {.path = path};
    const struct gcb_step at = {.step = step, .worker = worker};

    return gcb_draw_stream(&env, &at, purpose);
}

/* Whatever changes in the key gives another stream; among a few thousand keys no two meet. */
static void keys_draw_apart(void **state)
{
    static const char *const paths[] = {"", "a", "b", "ab", "a/b", "layer1.weight"};
    static uint64_t seen[6 * 6 * 6 * 6];
    size_t n = 0;

    for (size_t p = 0; p < 6; p++)
        for (uint64_t step = 0; step < 6; step++)
            for (uint32_t worker = 0; worker < 6; worker++)
                for (uint32_t purpose = 0; purpose < 6; purpose++)
                    seen[n++] = stream(paths[p], step << 30, worker, purpose);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            assert_true(seen[i] != seen[j]);
}

static void same_key_same_stream(void **state)
{
    char path[] = "a/b";

    assert_true(stream(path, 7, 1, 2) == stream("a/b", 7, 1, 2));
    assert_true(stream("a", 1, 2, 3) != stream("a", 2, 1, 3));
    assert_true(stream("a", 1, 2, 3) != stream("a", 1, 3, 2));
    /* the top bits count as well */
    assert_true(stream("a", 1, 0, 0) != stream("a", (UINT64_C(1) << 63) + 1, 0, 0));
    assert_true(stream("a", 0, 1u << 31, 0) != stream("a", 0, 0, 0));
}

/*
 * Bytes of two workers agree in 1 of 256 places: with 2^16 bytes the count has mean 256 and
 * deviation 16; 6 deviations are a false alarm in 10^8 (and the keys are fixed).
 */
static void workers_draw_independently(void **state)
{
    enum { N = 1 << 16 };
    static uint8_t a[N], b[N];
    struct gcb_kernels k;
    int same = 0;

    gcb_kernels_init(&k, 0);
    k.philox.bytes(a, N, 1, 0, stream("w", 3, 0, 1));
    k.philox.bytes(b, N, 1, 0, stream("w", 3, 1, 1));
    for (int i = 0; i < N; i++)
        same += a[i] == b[i];
    assert_in_range(same, 256 - 96, 256 + 96);
}

static void entropy_of_counts(void **state)
{
    const uint64_t even[] = {5, 5, 5, 5}, one[] = {0, 9, 0}, skew[] = {1, 3};

    assert_float_equal(gcb_entropy0(even, 4), 40.0, 1e-9);
    assert_float_equal(gcb_entropy0(one, 3), 0.0, 0.0);
    assert_float_equal(gcb_entropy0(skew, 2), 2.0 + 3.0 * 0.4150374992788438, 1e-6);
    assert_float_equal(gcb_entropy0(NULL, 0), 0.0, 0.0);
}

RUN_TESTS(cmocka_unit_test(keys_draw_apart), cmocka_unit_test(same_key_same_stream),
          cmocka_unit_test(workers_draw_independently), cmocka_unit_test(entropy_of_counts))
