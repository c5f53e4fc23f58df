/* The two-shot all-reduce: weights of 0 or of a sum that overflows, and what cannot use it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/party.h"
#include "tests/support/test.h"

static void a_nan_or_overflow_spoils_the_update_but_no_memory(void **state)
{
    enum { N = 3000, WORKERS = 3 };
    static const float heavy[] = {3e38f, 3e38f, 3e38f};

    for (int overflow = 0; overflow < 2; overflow++) {
        const struct party_options o = {
            .workers = WORKERS,
            .nonfinite = GCB_NONFINITE_RAW,
            .weights = overflow ? heavy : NULL,
        };
        float *before[WORKERS];
        struct party p;

        party_open(&p, "range:collective=twoshot,memory=ef", N, &o);
        for (uint64_t step = 0; step < 3; step++) {
            bool spoilt = false;

            party_fill(&p, step + 1, 0.0f);
            if (step == 1 && !overflow)
                p.x[1][17] = NAN;
            for (unsigned w = 0; w < WORKERS; w++) {
                const float *residual = gcb_memory_residual(gcb_exchange_memory(p.e[w]));

                before[w] = malloc(N * sizeof(float));
                memcpy(before[w], residual, N * sizeof(float));
            }
            party_step(&p, step);
            for (uint64_t i = 0; i < N; i++)
                spoilt |= !isfinite(p.update[0][i]);
            assert_int_equal(spoilt, step == 1 || overflow);
            for (unsigned w = 0; w < WORKERS; w++) {
                const float *residual = gcb_memory_residual(gcb_exchange_memory(p.e[w]));

                if (spoilt)
                    assert_true(party_distance(residual, before[w], N) < 1e-5);
                free(before[w]);
            }
        }
        party_close(&p);
    }
}

/* A worker without weight cannot make up for its second encoding. The others can. */
static void only_workers_with_weight_keep_the_rest(void **state)
{
    static const float some[] = {0.5f, 0.0f, 0.5f}, mixed[] = {1.0f, -1.0f, 0.5f};

    for (int all = 0; all < 2; all++) {
        const struct party_options o = {.workers = 3, .weights = all ? mixed : some};
        struct party p;

        party_open(&p, "range:collective=twoshot,memory=ef", 300, &o);
        assert_int_equal(gcb_exchange_conserves(p.e[0]), all);
        party_close(&p);
    }
}

/* A share without elements has no bytes. */
static void empty_shares_have_no_bytes(void **state)
{
    static const uint8_t byte = 0;

    for (size_t length = 0; length < 2; length++) {
        struct gcb_round round = {.size = sizeof(round)};
        struct party p;

        party_open(&p, "qsgd:collective=twoshot", 0, NULL);
        assert_int_equal(gcb_exchange_begin(p.e[0], 0, p.x[0], NULL), 0);
        assert_int_equal(gcb_exchange_next(p.e[0], &round, NULL), 1);
        assert_int_equal(gcb_exchange_receive(p.e[0], 0, &byte, 0, NULL), 0);
        assert_int_equal(gcb_exchange_receive(p.e[0], 1, &byte, length, NULL),
                         length ? GCB_E_CORRUPT : 0);
        party_close(&p);
    }
}

static void methods_without_it_refuse_it(void **state)
{
    static const char *const specs[] = {
        "topk:collective=twoshot", "sbc:collective=twoshot", "qsgd:second-error=drop",
        "qsgd:collective=twoshot,second-error=drop", "qsgd:memory=ef,second-error=drop"};
    struct gcb_exchange *e;

    for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++)
        assert_int_equal(gcb_exchange_open(&e, specs[i], 10, NULL, NULL), GCB_E_INVALID);
}

RUN_TESTS(cmocka_unit_test(a_nan_or_overflow_spoils_the_update_but_no_memory),
          cmocka_unit_test(only_workers_with_weight_keep_the_rest),
          cmocka_unit_test(empty_shares_have_no_bytes),
          cmocka_unit_test(methods_without_it_refuse_it))
