#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/codec/codec.h"
#include "tests/support/party.h"
#include "tests/support/test.h"
#include "tests/support/trip.h"

enum { N = 5000 };

/* One row: an element's estimate is the element, plus or minus what fell into the same cell. */
static void a_row_is_unbiased(void **state)
{
    enum { SEEDS = 2000, SMALL = 400, COLUMNS = 50 };
    float *x = trip_tensor(SMALL, TRIP_LAPLACE, 1);
    const double norm = trip_norm(x, SMALL);
    double error = 0.0, along = 0.0;

    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct trip t = {0};

        trip_run(&t, "countsketch:rows=1,columns=50,theta=0", x, SMALL,
                 &(struct trip_options){.seed = seed});
        assert_int_equal(t.parts.payload.value_bytes, 4 * COLUMNS);
        error += trip_distance(x, t.back, SMALL) / norm / SEEDS;
        for (size_t i = 0; i < SMALL; i++)
            along += (double)x[i] * (double)t.back[i] / norm / SEEDS;
        trip_free(&t);
    }
    assert_true(fabs(error - (SMALL - 1.0) / COLUMNS) < 0.1);
    assert_true(fabs(along - 1.0) < 0.02);
    free(x);
}

/* A few large elements among noise are found, and are the only ones that come back. */
static void large_elements_are_found(void **state)
{
    static const char *const rows[] = {"1", "3", "4", "5", "7"};

    for (size_t r = 0; r < 5; r++) {
        float *x = trip_tensor(N, TRIP_GAUSS, r + 1);
        struct trip t = {0};
        size_t kept = 0, found = 0;
        char spec[80];

        for (size_t i = 0; i < 10; i++)
            x[i * 499 + 3] = i % 2 ? -300.0f : 300.0f;
        snprintf(spec, sizeof(spec), "countsketch:columns=500,p=0.002,rows=%s", rows[r]);
        trip_run(&t, spec, x, N, NULL);
        for (size_t i = 0; i < N; i++) {
            kept += t.back[i] != 0.0f;
            found += fabsf(x[i]) > 200.0f && fabsf(t.back[i] - x[i]) < 20.0f;
        }
        assert_false(t.parts.stored);
        assert_int_equal(kept, 10);
        /* in one row, small elements in their cells look like them */
        assert_true(r == 0 ? found >= 1 : found == 10);
        trip_free(&t);
        free(x);
    }
}

/* Equal estimates: the elements with the lower index are kept. */
static void ties_go_to_the_lower_index(void **state)
{
    enum { SMALL = 2000 };
    float x[SMALL] = {0.0f};
    struct trip t = {0};

    x[10] = x[20] = x[1200] = 1.0f;
    trip_run(&t, "countsketch:columns=300,p=0.0015", x, SMALL, NULL);
    assert_false(t.parts.stored);
    for (size_t i = 0; i < SMALL; i++) /* k = 3 */
        assert_true(t.back[i] == x[i]);
    trip_free(&t);
    trip_run(&t, "countsketch:columns=300,p=0.001", x, SMALL, NULL);
    for (size_t i = 0; i < SMALL; i++) /* k = 2 */
        assert_true(t.back[i] == (i == 1200 ? 0.0f : x[i]));
    trip_free(&t);
}

static void same_table(const struct trip_options *a, const struct trip_options *b, bool same)
{
    float *x = trip_tensor(N, TRIP_GAUSS, 1);
    struct trip t = {0}, u = {0};

    trip_encode(&t, "countsketch", x, N, a);
    trip_encode(&u, "countsketch", x, N, b);
    assert_int_equal(t.length, u.length);
    assert_true((memcmp(t.message, u.message, t.length) == 0) == same);
    trip_free(&t);
    trip_free(&u);
    free(x);
}

/* By linearity a memory of tensors is a memory of tables only if the hashes never change. */
static void hashes_stay(void **state)
{
    static const struct trip_options here = {.seed = 5, .path = "a", .step = 2};

    same_table(&here, &(struct trip_options){.seed = 5, .path = "a", .step = 3, .worker = 7}, true);
    same_table(&here, &(struct trip_options){.seed = 6, .path = "a", .step = 2}, false);
    same_table(&here, &(struct trip_options){.seed = 5, .path = "b", .step = 2}, false);
}

/* In an all-reduce, all workers then add up whole tensors. */
static void an_overflow_is_sent_raw(void **state)
{
    struct trip t = {0};
    float x[100];
    struct party p;

    for (size_t i = 0; i < 100; i++)
        x[i] = FLT_MAX;
    trip_run(&t, "countsketch", x, 100, NULL);
    assert_true(t.parts.stored);
    assert_memory_equal(t.back, x, sizeof(x));
    trip_free(&t);

    party_open(&p, "countsketch", 100, NULL);
    memcpy(p.x[1], x, sizeof(x));
    party_step(&p, 0);
    for (size_t i = 0; i < 100; i++)
        assert_true(p.update[0][i] == FLT_MAX / 2);
    party_close(&p);
}

static void refuses_bad_payloads(void **state)
{
    static const struct {
        uint32_t bytes, at, value; /* of the payload, of the message, what stands there */
    } cases[] = {
        {36, 33, 0x7fc00000u}, /* a NaN */
        {36, 25, 11},          /* k > n */
        {36, 25, 0},           /* k = 0 */
        {16, 25, 1},           /* no cells */
        {32, 25, 1},           /* a part of a column */
        {35, 25, 1},           {15, 25, 1},
    };
    float x[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, back[10];

    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        struct trip t = {0};

        trip_run(&t, "countsketch", x, 10, NULL);
        assert_int_equal(t.length, 16 + 1 + 36);
        gcb_store_u32(t.message + 12, cases[c].bytes);
        gcb_store_u32(t.message + cases[c].at, cases[c].value);
        assert_int_equal(gcb_coder_decode(t.decoder, t.message, 17 + cases[c].bytes,
                                          &(struct gcb_mview){back, 10}, NULL),
                         GCB_E_CORRUPT);
        trip_free(&t);
    }
}

RUN_TESTS(cmocka_unit_test(a_row_is_unbiased), cmocka_unit_test(large_elements_are_found),
          cmocka_unit_test(ties_go_to_the_lower_index), cmocka_unit_test(hashes_stay),
          cmocka_unit_test(an_overflow_is_sent_raw), cmocka_unit_test(refuses_bad_payloads))
