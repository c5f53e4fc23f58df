/* Exchanges: the order of rounds, weights, memories, NaNs; with the collectives that need no method
 * of their own. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/party.h"
#include "tests/support/test.h"
#include "tests/support/trip.h"

enum { N = 5000 };

/* The memory learns the same from gcb_exchange_finish and from an array of what arrived. */
static void finish_and_conclude_agree(void **state)
{
    static const char *const specs[] = {
        "topk:memory=dgc,momentum=0.9",
        "redsync:quant=asq,dense-below=0,density=0.01",
        "topk:values=fp16,memory=dgc,momentum=0.9,residual=clear,masking=no",
        "topk:density=0.9,values=fp16,memory=dgc,momentum=0.9,residual=clear",
        "topk:theta=0.97,memory=dgc,momentum=0.9,collective=oktopk",
        "topk:theta=0.97,memory=dgc,momentum=0.9,collective=spardl",
        "range:mantissa=3,memory=ef,collective=twoshot",
        "qsgd:coding=elias,memory=ef,second-error=drop,collective=twoshot",
        "natural:memory=dgc,collective=twoshot",
        "terngrad:memory=dgc,residual=clear,collective=twoshot",
        "qsgd:memory=delay,delay=2,collective=twoshot",
        "identity:memory=gmc,collective=twoshot",
    };
    float *update = calloc(N, sizeof(*update));

    for (size_t s = 0; s < sizeof(specs) / sizeof(specs[0]); s++) {
        struct party p, q;

        party_open(&p, specs[s], N, NULL);
        party_open(&q, specs[s], N, NULL);
        for (uint64_t step = 0; step < 4; step++) {
            party_fill(&p, step + 1, 1.0f);
            party_step(&p, step);
            for (unsigned w = 0; w < 2; w++)
                assert_int_equal(gcb_exchange_begin(q.e[w], step, p.x[w], NULL), 0);
            assert_int_equal(gcb_local_run(&q.local, q.e, NULL), 0);
            for (unsigned w = 0; w < 2; w++) {
                assert_int_equal(gcb_exchange_finish(q.e[w], update, NULL), 0);
                assert_memory_equal(update, p.update[0], N * sizeof(float));
                assert_memory_equal(gcb_memory_residual(gcb_exchange_memory(p.e[w])),
                                    gcb_memory_residual(gcb_exchange_memory(q.e[w])),
                                    N * sizeof(float));
            }
        }
        party_close(&p);
        party_close(&q);
    }
    free(update);
}

/* memory=gmc needs the update of every step. A worker that computes none gets it from another
 * worker. */
static void a_worker_without_update_learns_it(void **state)
{
    static const char spec[] = "topk:density=0.1,memory=gmc,momentum=0.9";
    struct gcb_exchange_config config = {.workers = 2, .worker = 1, .no_update = true};
    struct gcb_exchange *e[2];
    struct gcb_method method;
    struct gcb_diag diag;
    struct party p, q;

    party_open(&p, spec, N, NULL);
    party_open(&q, spec, N, NULL);
    config.coder.env = (struct gcb_codec_env){.count = N, .path = "tensor"};
    assert_int_equal(gcb_method_parse(&method, spec, NULL), 0);
    assert_int_equal(gcb_exchange_create(&e[1], &method, &config, NULL), 0);
    e[0] = q.e[0];
    for (uint64_t step = 0; step < 5; step++) {
        party_fill(&p, step + 1, 1.0f);
        party_step(&p, step);
        for (unsigned w = 0; w < 2; w++)
            assert_int_equal(gcb_exchange_begin(e[w], step, p.x[w], NULL), 0);
        assert_int_equal(gcb_local_run(&q.local, e, NULL), 0);
        assert_int_equal(gcb_exchange_finish(e[0], q.update[0], NULL), 0);
        assert_memory_equal(q.update[0], p.update[0], N * sizeof(float));
        assert_int_equal(gcb_exchange_finish(e[1], NULL, NULL), 0);
        assert_int_equal(gcb_exchange_begin(e[1], step + 1, p.x[1], &diag), GCB_E_INVALID);
        assert_non_null(strstr(diag.text, "needs the update of the last step"));
        gcb_exchange_learn_update(e[1], q.update[0]);
    }
    gcb_exchange_close(e[1]);
    party_close(&p);
    party_close(&q);
}

static void gmc_refuses_weights_that_cancel(void **state)
{
    static const float cancel[] = {1.0f, -1.0f};
    const struct gcb_options options = {.size = sizeof(options), .workers = 2, .weights = cancel};
    struct gcb_exchange *e = NULL;
    struct gcb_diag diag;

    assert_int_equal(gcb_exchange_open(&e, "topk:memory=gmc", N, &options, &diag), GCB_E_INVALID);
    assert_non_null(strstr(diag.text, "weights is 0"));
    assert_int_equal(gcb_exchange_open(&e, "topk:memory=ef", N, &options, &diag), 0);
    gcb_exchange_close(e);
}

/* A change of theta keeps redsync's threshold and the residual: the steps are those of an encoder
 * that is changed. */
static void a_change_keeps_what_workers_keep(void **state)
{
    static const char spec[] =
        "redsync:theta=0.9,dense-below=0,trimmed-below=0,interval=9,memory=ef";
    uint64_t kept[2][GCB_KEPT];
    struct gcb_method method;
    struct party p;
    float *residual = calloc(N, sizeof(*residual));

    assert_int_equal(gcb_method_parse(&method, spec, NULL), 0);
    party_open(&p, spec, N, NULL);
    party_fill(&p, 1, 1.0f);
    party_step(&p, 0);
    memcpy(residual, gcb_memory_residual(gcb_exchange_memory(p.e[0])), N * sizeof(float));
    gcb_coder_save(gcb_exchange_encoder(p.e[0]), kept[0]);
    assert_true(kept[0][2] != 0);
    assert_int_equal(gcb_method_assign(&method, "theta", 0.95, NULL), 0);
    assert_int_equal(gcb_exchange_change(p.e[0], &method, NULL), 0);
    gcb_coder_save(gcb_exchange_encoder(p.e[0]), kept[1]);
    assert_memory_equal(kept[0], kept[1], sizeof(kept[0]));
    assert_memory_equal(residual, gcb_memory_residual(gcb_exchange_memory(p.e[0])),
                        N * sizeof(float));
    free(residual);
    party_close(&p);
}

static void rounds_have_an_order(void **state)
{
    struct gcb_round round = {.size = sizeof(round)},
                     old = {.size = offsetof(struct gcb_round, parts)};
    struct gcb_exchange *e;
    float x[4] = {1, 2, 3, 4}, y[4];
    struct gcb_diag diag;

    assert_int_equal(gcb_exchange_open(&e, "identity", 4, NULL, &diag), 0);
    assert_int_equal(gcb_exchange_next(e, &round, &diag), GCB_E_INVALID);
    assert_int_equal(gcb_exchange_finish(e, y, &diag), GCB_E_INVALID);
    assert_int_equal(gcb_exchange_begin(e, 0, x, &diag), 0);
    assert_int_equal(gcb_exchange_receive(e, 0, x, sizeof(x), &diag), GCB_E_INVALID);
    assert_int_equal(gcb_exchange_next(e, &old, &diag), 1);
    assert_int_equal(old.size, offsetof(struct gcb_round, parts));
    assert_int_equal(old.bytes, sizeof(x));
    assert_int_equal(gcb_exchange_next(e, &round, &diag), GCB_E_INVALID);
    assert_int_equal(gcb_exchange_finish(e, y, &diag), GCB_E_INVALID);
    assert_int_equal(gcb_exchange_receive(e, 1, x, sizeof(x), &diag), GCB_E_INVALID);
    gcb_exchange_close(e);
    round.size = 3;
    assert_int_equal(gcb_exchange_open(&e, "identity", 4, NULL, &diag), 0);
    assert_int_equal(gcb_exchange_begin(e, 0, x, &diag), 0);
    assert_int_equal(gcb_exchange_next(e, &round, &diag), GCB_E_INVALID);
    gcb_exchange_close(e);
}

/* The sum of one worker is what it sends: the caller need not copy it. */
static void a_lone_worker_may_hand_back_its_own_bytes(void **state)
{
    static const char *const specs[] = {"identity", "fp16", "qsgd:collective=allreduce", "randomk"};

    for (size_t s = 0; s < sizeof(specs) / sizeof(specs[0]); s++) {
        const struct party_options o = {.workers = 1};
        struct gcb_round round = {.size = sizeof(round)};
        struct gcb_exchange *e;
        float update[N];
        struct party p;

        party_open(&p, specs[s], N, &o);
        party_fill(&p, 1, 1.0f);
        party_step(&p, 0);
        e = p.e[0];
        assert_int_equal(gcb_exchange_begin(e, 0, p.x[0], NULL), 0);
        while (gcb_exchange_next(e, &round, NULL) == 1)
            assert_int_equal(gcb_exchange_receive(e, 0, round.data, round.bytes, NULL), 0);
        assert_int_equal(gcb_exchange_finish(e, update, NULL), 0);
        assert_memory_equal(update, p.update[0], sizeof(update));
        party_close(&p);
    }
}

RUN_TESTS(cmocka_unit_test(finish_and_conclude_agree),
          cmocka_unit_test(a_worker_without_update_learns_it),
          cmocka_unit_test(gmc_refuses_weights_that_cancel),
          cmocka_unit_test(a_change_keeps_what_workers_keep),
          cmocka_unit_test(rounds_have_an_order),
          cmocka_unit_test(a_lone_worker_may_hand_back_its_own_bytes))
