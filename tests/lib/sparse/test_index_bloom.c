/* index=bloom and values=fit: sizes, and messages that lie. tests/api/check_deepreduce.py compares
 * with NumPy. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/lib/wire/buf.h"
#include "tests/support/test.h"
#include "tests/support/trip.h"

enum { N = 30000, K = 300 };

/* The rule of docs/codecs/deepreduce.md. */
static void sizes_follow_the_rule(void **state)
{
    static const struct {
        const char *spec;
        unsigned hashes;
    } row[] = {{"deepreduce", 10},
               {"deepreduce:fpr=0.5", 1},
               {"deepreduce:fpr=0.2,positives=random", 3},
               {"topk:density=0.01,index=bloom,fpr=0.001", 10}};
    float *x = trip_tensor(N, TRIP_LAPLACE, 4);

    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        const double bits = ceil(row[i].hashes * K / log(2.0));
        struct trip t = {0};

        trip_run(&t, row[i].spec, x, N, NULL);
        assert_int_equal(t.parts.payload.index_bytes, 4 + 5 + ceil(bits / 8.0));
        assert_int_equal(t.parts.payload.value_bytes,
                         i < 3 ? (K * 9 + 7) / 8 : 4 * t.parts.payload.kept);
        assert_true(i < 3 ? t.parts.payload.kept == K : t.parts.payload.kept >= K);
        trip_free(&t);
    }
    free(x);
}

/* What a message says of its filter: policy and hashes, bits; and the number of positions. */
static void refuses_lies(void **state)
{
    static const struct {
        size_t at; /* from the payload's beginning, or the filter's */
        bool in_filter;
        uint8_t byte;
        const char *positives;
    } lie[] = {{0, true, 0, "all"},  {0, true, 96 + 10, "all"}, {4, true, 0xff, "all"},
               {3, true, 1, "all"},  {0, false, 45, "all"},     {1, false, 0xff, "all"},
               {0, true, 31, "all"}, {1, true, 1, "conflict"},  {0, true, 64 + 31, "conflict"}};
    float *x = trip_tensor(N, TRIP_LAPLACE, 4);

    for (size_t i = 0; i < sizeof(lie) / sizeof(*lie); i++) {
        struct trip t = {0};
        uint8_t *payload;
        char spec[64];

        snprintf(spec, sizeof(spec), "topk:density=0.01,index=bloom,positives=%s",
                 lie[i].positives);
        trip_run(&t, spec, x, N, NULL);
        payload = t.message + t.parts.header_bytes;
        payload[lie[i].at + (lie[i].in_filter ? 4 + 4 * t.parts.payload.kept : 0)] = lie[i].byte;
        assert_int_equal(
            gcb_coder_decode(t.decoder, t.message, t.length, &(struct gcb_mview){t.back, N}, NULL),
            GCB_E_CORRUPT);
        trip_free(&t);
    }
    free(x);
}

/* Equal values are exact, and values near float32's largest stay finite. */
static void fits_any_values(void **state)
{
    float *x = malloc(N * sizeof(*x));

    for (int equal = 0; equal < 2; equal++) {
        struct trip t = {0};

        for (size_t i = 0; i < N; i++)
            x[i] = i % 50 ? 0.0f : equal ? -3.0f : i % 100 ? 3e38f : -3e38f;
        trip_run(&t, "topk:density=0.02,values=fit", x, N, NULL);
        assert_int_equal(t.parts.stored, 0);
        for (size_t i = 0; i < N; i++)
            assert_true(isfinite(t.back[i]) && (!equal || fabsf(t.back[i] - x[i]) < 1e-6f));
        trip_free(&t);
    }
    free(x);
}

RUN_TESTS(cmocka_unit_test(sizes_follow_the_rule), cmocka_unit_test(refuses_lies),
          cmocka_unit_test(fits_any_values))
