#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/codec/codec.h"
#include "tests/support/party.h"
#include "tests/support/test.h"
#include "tests/support/trip.h"

enum { N = 5000 };

/* Another step of the coders in t. */
static void next_step(struct trip *t, const float *x, uint64_t step)
{
    const struct gcb_step at = {.step = step};
    struct gcb_wbuf w = {.data = t->message, .cap = gcb_coder_bound(t->encoder)};

    assert_int_equal(gcb_coder_encode(t->encoder, &at, &(struct gcb_view){x, t->n}, &w, NULL), 0);
    assert_int_equal(
        gcb_coder_decode(t->decoder, w.data, w.len, &(struct gcb_mview){t->back, t->n}, NULL), 0);
}

static void k_elements_come_back(void **state)
{
    static const struct {
        uint64_t n;
        const char *spec;
        uint64_t kept;
    } cases[] = {
        {N, "randomk", 750},
        {N, "randomk:theta=0.99", 50},
        {4999, "randomk:p=0.3", 1500},
        {7, "randomk:theta=0.99", 1},
        {1000, "randomk:p=0.7", 700},
        {101, "randomk:p=0.5", 50},
        {70001, "randomk:p=0.6", 42001},
    };

    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        float *x = trip_tensor(cases[c].n, TRIP_GAUSS, c + 1);
        struct trip t = {0};
        uint64_t kept = 0;

        trip_run(&t, cases[c].spec, x, cases[c].n, NULL);
        for (uint64_t i = 0; i < cases[c].n; i++) {
            assert_true(t.back[i] == 0.0f || t.back[i] == x[i]);
            kept += t.back[i] != 0.0f;
        }
        assert_int_equal(kept, cases[c].kept);
        assert_int_equal(t.parts.payload.kept, cases[c].kept);
        assert_int_equal(t.parts.payload.value_bytes, 4 * cases[c].kept);
        trip_free(&t);
        free(x);
    }
}

/* Places differ by step, seed and path, but not by worker. */
static void workers_share_places(void **state)
{
    static const struct trip_options here = {.seed = 5, .path = "a", .step = 2},
                                     others[] = {
                                         {.seed = 5, .path = "a", .step = 2, .worker = 3},
                                         {.seed = 6, .path = "a", .step = 2},
                                         {.seed = 5, .path = "b", .step = 2},
                                         {.seed = 5, .path = "a", .step = 3},
                                     };
    float *x = trip_tensor(N, TRIP_GAUSS, 1);
    struct trip t = {0};

    trip_run(&t, "randomk:p=0.1", x, N, &here);
    for (size_t k = 0; k < 4; k++) {
        struct trip u = {0};
        int both = 0;

        trip_run(&u, "randomk:p=0.1", x, N, &others[k]);
        for (size_t i = 0; i < N; i++)
            both += t.back[i] != 0.0f && u.back[i] != 0.0f;
        assert_true(k == 0 ? both == 500 : abs(both - 50) < 5 * 7);
        trip_free(&u);
    }
    trip_free(&t);
    free(x);
}

/* Every element is kept with the probability k / n, although strata have different lengths; so are
 * neighbours. */
static void every_element_is_equally_likely(void **state)
{
    enum { STEPS = 40000, SMALL = 103, KEPT = 31 };
    const double p = (double)KEPT / SMALL, deviation = sqrt(STEPS * p * (1.0 - p));
    int count[SMALL] = {0}, pairs = 0;
    float x[SMALL];
    struct trip t = {0};

    for (size_t i = 0; i < SMALL; i++)
        x[i] = 1.0f;
    trip_run(&t, "randomk:p=0.3", x, SMALL, NULL);
    for (uint64_t step = 0; step < STEPS; step++) {
        next_step(&t, x, step);
        for (size_t i = 0; i < SMALL; i++)
            count[i] += t.back[i] != 0.0f;
        pairs += t.back[0] != 0.0f && t.back[1] != 0.0f;
    }
    for (size_t i = 0; i < SMALL; i++)
        assert_true(fabs(count[i] - STEPS * p) < 5.0 * deviation);
    assert_true(pairs > 0);
    trip_free(&t);
}

/* n / k times the largest float is none. */
static void an_overflow_is_sent_raw(void **state)
{
    const struct party_options o = {.workers = 2, .nonfinite = GCB_NONFINITE_RAW};
    struct trip t = {0};
    float x[100];
    struct party p;

    for (size_t i = 0; i < 100; i++)
        x[i] = FLT_MAX;
    trip_run(&t, "randomk:scaling=unbiased", x, 100, NULL);
    assert_true(t.parts.stored);
    assert_memory_equal(t.back, x, sizeof(x));
    trip_free(&t);
    trip_run(&t, "randomk", x, 100, NULL);
    assert_false(t.parts.stored);
    trip_free(&t);

    party_open(&p, "randomk:scaling=unbiased", 100, &o);
    memcpy(p.x[1], x, sizeof(x));
    party_step(&p, 0);
    assert_true(isnan(p.update[0][0]));
    party_close(&p);
}

static void refuses_bad_payloads(void **state)
{
    float x[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, back[10];

    for (int k = 0; k < 5; k++) {
        const uint32_t bytes[] = {28, 8 + 44, 27, 8, 4}; /* of the payload */
        uint8_t message[200] = {0};
        struct trip t = {0};

        trip_run(&t, "randomk:p=0.5", x, 10, NULL);
        assert_int_equal(t.length, 16 + 28);
        memcpy(message, t.message, t.length);
        gcb_store_u32(message + 12, bytes[k]);
        if (k == 0)
            gcb_store_u32(message + 40, 0x7fc00000u); /* a NaN */
        assert_int_equal(gcb_coder_decode(t.decoder, message, 16 + bytes[k],
                                          &(struct gcb_mview){back, 10}, NULL),
                         GCB_E_CORRUPT);
        trip_free(&t);
    }
}

RUN_TESTS(cmocka_unit_test(k_elements_come_back), cmocka_unit_test(workers_share_places),
          cmocka_unit_test(every_element_is_equally_likely),
          cmocka_unit_test(an_overflow_is_sent_raw), cmocka_unit_test(refuses_bad_payloads))
