#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/test.h"
#include "tests/support/trip.h"

/* Powers of two, zeros of either sign and subnormal halves come back bit for bit, whatever is
 * drawn. */
static void powers_are_exact(void **state)
{
    enum { N = 2 * 254 + 2 };
    float x[N];
    struct trip t = {0};

    for (int e = 0; e < 254; e++) {
        x[2 * e] = ldexpf(1.0f, e - 126);
        x[2 * e + 1] = -x[2 * e];
    }
    x[N - 2] = 0.0f;
    x[N - 1] = -0.0f;
    trip_run(&t, "natural", x, N, NULL);
    assert_false(t.parts.stored);
    assert_int_equal(t.parts.payload.value_bytes, (9 * N + 7) / 8);
    assert_memory_equal(t.back, x, sizeof(x));
    trip_free(&t);
}

/* The shares of the two powers beside x, over the elements of a tensor that holds only x. */
static void check_shares(float x, float below, float above, double share)
{
    enum { N = 1 << 16 };
    float *all = malloc(N * sizeof(float));
    struct trip t = {0};
    double up = 0.0;

    for (int i = 0; i < N; i++)
        all[i] = x;
    trip_run(&t, "natural", all, N, NULL);
    assert_false(t.parts.stored);
    for (int i = 0; i < N; i++) {
        assert_true(t.back[i] == below || t.back[i] == above);
        assert_true(!signbit(t.back[i]) == !signbit(x));
        up += t.back[i] == above;
    }
    assert_true(fabs(up / N - share) <= 6.0 * sqrt(share * (1.0 - share) / N));
    free(all);
    trip_free(&t);
}

static void draws_the_powers_beside(void **state)
{
    check_shares(1.25f, 1.0f, 2.0f, 0.25);
    check_shares(-7.0f, -4.0f, -8.0f, 0.75);
    check_shares(0x1.8p-127f, 0.0f, 0x1p-126f, 0.75);
    check_shares(-0x1p-128f, -0.0f, -0x1p-126f, 0.25);
    check_shares(0x1.004p-20f, 0x1p-20f, 0x1p-19f,
                 0x1p-10); /* the byte of a draw does not decide */
    check_shares(nextafterf(0x1p127f, 0.0f), 0x1p126f, 0x1p127f, 1.0 - 0x1p-23);
}

/* The power above 2^127 is no float32, so a tensor with a larger element is sent raw. */
static void sends_the_largest_raw(void **state)
{
    float x[100];

    for (int k = 0; k < 3; k++) {
        struct trip t = {0};

        for (int i = 0; i < 100; i++)
            x[i] = (float)i;
        x[99] = k == 0 ? 0x1p127f : k == 1 ? nextafterf(0x1p127f, INFINITY) : -FLT_MAX;
        trip_run(&t, "natural", x, 100, NULL);
        assert_int_equal(t.parts.stored, k > 0);
        assert_true(t.back[99] == x[99]);
        trip_free(&t);
    }
}

/* An exponent field of all ones would decode to an infinity or NaN. */
static void refuses_infinities(void **state)
{
    const float x[8] = {1.0f, 2.0f, 4.0f, 8.0f, -1.0f, -2.0f, -4.0f, -8.0f};
    struct trip t = {0};

    trip_run(&t, "natural", x, 8, NULL);
    assert_int_equal(t.length, 16 + 9);
    for (int code = 0xff; code <= 0x1ff; code += 0x100) {
        float back[8];

        t.message[16] = 0xff; /* the first code's lower 8 bits */
        t.message[17] = (uint8_t)(t.message[17] & 0xfe) | (uint8_t)(code >> 8);
        assert_int_equal(
            gcb_coder_decode(t.decoder, t.message, t.length, &(struct gcb_mview){back, 8}, NULL),
            GCB_E_CORRUPT);
    }
    trip_free(&t);
}

RUN_TESTS(cmocka_unit_test(powers_are_exact), cmocka_unit_test(draws_the_powers_beside),
          cmocka_unit_test(sends_the_largest_raw), cmocka_unit_test(refuses_infinities))
