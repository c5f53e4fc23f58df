#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/codec/codec.h"
#include "tests/support/party.h"
#include "tests/support/test.h"
#include "tests/support/trip.h"

enum { N = 10000 };

static void every_sign_is_kept(void **state)
{
    float *x = trip_tensor(N, TRIP_LAPLACE, 1);

    x[17] = 1e-45f;
    x[18] = -1e-45f;
    for (int mean = 0; mean < 2; mean++) {
        struct trip t = {0};

        trip_run(&t, mean ? "signsgd:scale=mean,bucket=100" : "signsgd", x, N, NULL);
        assert_int_equal(t.parts.payload.value_bytes, N / 8);
        assert_int_equal(t.parts.payload.scale_bytes, mean ? 4 * N / 100 : 4);
        for (size_t i = 0; i < N; i++) {
            assert_true(signbit(t.back[i]) == signbit(x[i]));
            assert_true(mean || fabsf(t.back[i]) == 1.0f);
        }
        trip_free(&t);
    }
    free(x);
}

/* ||x - x'||^2 = ||x||^2 - ||x||_1^2 / n per bucket of n, up to the rounding of the mean to
 * float32. */
static void error_is_the_exact_one(void **state)
{
    static const struct {
        const char *spec;
        size_t bucket;
    } cases[] = {
        {"signsgd:scale=mean", N},
        {"signsgd:scale=mean,bucket=300", 300},
        {"signsgd:scale=mean,bucket=7", 7},
    };
    float *x = trip_tensor(N, TRIP_LAPLACE, 2);

    for (size_t i = 0; i < N; i += 9)
        x[i] = 0.0f;
    for (size_t c = 0; c < 3; c++) {
        double kept = 0.0;

        for (size_t from = 0; from < N; from += cases[c].bucket) {
            const size_t left = N - from, n = left < cases[c].bucket ? left : cases[c].bucket;
            double sum = 0.0;

            for (size_t i = 0; i < n; i++)
                sum += fabs((double)x[from + i]);
            kept += sum * sum / (double)n;
        }
        assert_true(fabs(trip_error(cases[c].spec, x, N, NULL) - (1.0 - kept / trip_norm(x, N))) <
                    1e-6);
    }
    free(x);
}

/* Signs of zeros: fair, those of the others by step and seed, and the same on all workers. */
static void zeros_toss_a_shared_coin(void **state)
{
    static const struct trip_options here = {.seed = 5, .path = "a", .step = 2},
                                     others[] = {
                                         {.seed = 5, .path = "a", .step = 2, .worker = 3},
                                         {.seed = 6, .path = "a", .step = 2},
                                         {.seed = 5, .path = "b", .step = 2},
                                         {.seed = 5, .path = "a", .step = 3},
                                     };
    float *x = calloc(N, sizeof(*x));
    struct trip t = {0};
    long minus = 0;

    x[N - 1] = 2.0f;
    x[N - 2] = -0.0f;
    trip_run(&t, "signsgd", x, N, &here);
    for (size_t i = 0; i < N; i++)
        minus += signbit(t.back[i]) != 0;
    assert_true(labs(minus - N / 2) < 5 * 50); /* deviation: sqrt(N) / 2 = 50 */
    for (size_t k = 0; k < 4; k++) {
        struct trip u = {0};
        long same = 0;

        trip_run(&u, "signsgd", x, N, &others[k]);
        for (size_t i = 0; i < N; i++)
            same += t.back[i] == u.back[i];
        assert_true(k == 0 ? same == N : labs(same - N / 2) < 5 * 50);
        trip_free(&u);
    }
    trip_free(&t);
    free(x);
}

static void zeros_stay_zeros(void **state)
{
    float x[64] = {0.0f};
    struct trip t = {0};

    x[40] = 3.0f;
    trip_run(&t, "signsgd:scale=mean,bucket=16", x, 64, NULL);
    for (size_t i = 0; i < 64; i++)
        assert_true(fabsf(t.back[i]) == (i / 16 == 2 ? 3.0f / 16.0f : 0.0f));
    trip_free(&t);
}

/* rms: error^2 is 2 - 2 |x|_1 / (sqrt(n) |x|_2). means: signs become the means of their elements,
 * and zeros count as positive. */
static void scales_are_those_of_one_bit_methods(void **state)
{
    float few[16] = {3.0f, 0.0f, -0.0f, -1.0f, -2.0f, 1.0f};
    float *x = trip_tensor(N, TRIP_LAPLACE, 2);
    struct trip t = {0};
    double sum = 0.0;

    for (size_t i = 0; i < N; i++)
        sum += fabs((double)x[i]);
    assert_true(fabs(trip_error("signsgd:scale=rms", x, N, NULL) -
                     (2.0 - 2.0 * sum / sqrt(N * trip_norm(x, N)))) < 1e-6);
    trip_run(&t, "signsgd:scale=means", few, 16, NULL);
    for (size_t i = 0; i < 16; i++)
        assert_true(t.back[i] == (few[i] < 0.0f ? -1.5f : 4.0f / 14.0f));
    trip_free(&t);
    trip_run(&t, "onebit", few, 16, NULL);
    for (size_t i = 0; i < 16; i++)
        assert_true(t.back[i] == (few[i] < 0.0f ? -1.0f : 1.0f) * (float)sqrt(15.0 / 16.0));
    trip_free(&t);
    free(x);
}

static void refuses_bad_scales(void **state)
{
    static const uint32_t bad[] = {0x7f800000u, 0x7fc00000u, 0xbf800000u};
    const float x[8] = {1, -1, 2, -2, 3, -3, 4, -4};
    struct trip t = {0};
    float back[8];

    trip_run(&t, "signsgd", x, 8, NULL);
    for (size_t k = 0; k < 3; k++) {
        gcb_store_u32(t.message + t.length - 5, bad[k]);
        assert_int_equal(
            gcb_coder_decode(t.decoder, t.message, t.length, &(struct gcb_mview){back, 8}, NULL),
            GCB_E_CORRUPT);
    }
    trip_free(&t);
}

/* ---- majority votes: two-shot ---- */

/* Tensors of +1 and -1, so that an even number of workers is often tied. */
static void fill_votes(struct party *p)
{
    party_fill(p, p->workers, 0.0f);
    for (unsigned w = 0; w < p->workers; w++)
        for (size_t i = 0; i < N; i++)
            p->x[w][i] = copysignf(1.0f + (float)w, p->x[w][i]);
}

static int count_votes(const struct party *p, size_t i)
{
    int votes = 0;

    for (unsigned w = 0; w < p->workers; w++)
        votes += signbit(p->x[w][i]) ? -1 : 1;
    return votes;
}

static void the_majority_wins(void **state)
{
    for (unsigned workers = 2; workers <= PARTY_MOST; workers++) {
        const struct party_options o = {.workers = workers};
        long tied = 0, minus = 0;
        struct party p;

        party_open(&p, "signsgd", N, &o);
        fill_votes(&p);
        party_step(&p, 0);
        for (size_t i = 0; i < N; i++) {
            const int votes = count_votes(&p, i);

            assert_true(fabsf(p.update[0][i]) == 1.0f);
            assert_true(votes == 0 || (votes < 0) == (p.update[0][i] < 0.0f));
            tied += votes == 0;
            minus += votes == 0 && p.update[0][i] < 0.0f;
        }
        assert_true((tied > N / 10) == (workers % 2 == 0));
        /* shares of equal length toss equal coins, which adds to the deviation: times sqrt(workers)
         * at most */
        assert_true(fabs((double)(minus - tied / 2)) <= 3.0 * sqrt((double)(tied * workers)));
        assert_int_equal(p.rounds, 2);
        party_close(&p);
    }
}

/* Neither a tie nor anything else depends on who has which rank. */
static void ranks_decide_nothing(void **state)
{
    for (unsigned workers = 2; workers <= PARTY_MOST; workers++) {
        const struct party_options o = {.workers = workers};
        struct party p, q;

        party_open(&p, "signsgd", N, &o);
        party_open(&q, "signsgd", N, &o);
        fill_votes(&p);
        for (unsigned w = 0; w < workers; w++) {
            for (size_t i = w; i < N; i += 50)
                p.x[w][i] = 0.0f;
            memcpy(q.x[workers - 1 - w], p.x[w], N * sizeof(float));
        }
        party_step(&p, 4);
        party_step(&q, 4);
        if (memcmp(p.update[0], q.update[0], N * sizeof(float)) != 0)
            fail_msg("%u workers: the vote depends on their ranks", workers);
        party_close(&p);
        party_close(&q);
    }
}

RUN_TESTS(cmocka_unit_test(every_sign_is_kept), cmocka_unit_test(error_is_the_exact_one),
          cmocka_unit_test(zeros_toss_a_shared_coin), cmocka_unit_test(zeros_stay_zeros),
          cmocka_unit_test(scales_are_those_of_one_bit_methods),
          cmocka_unit_test(refuses_bad_scales), cmocka_unit_test(the_majority_wins),
          cmocka_unit_test(ranks_decide_nothing))
