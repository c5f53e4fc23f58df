/* What the collectives for sparse messages promise, whichever selection, values and index coder the
 * method has. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/party.h"
#include "tests/support/test.h"
#include "tests/support/trip.h"

enum { N = 3000 };

static const char *const collectives[] = {"oktopk", "spardl"};
enum { COLLECTIVES = sizeof(collectives) / sizeof(collectives[0]) };

static const float uneven[PARTY_MOST] = {0.5f, 0.25f, -1.0f, 0.3f, 2.0f, 0.1f, 0.7f, -0.2f, 1.0f};

/* The spec of a method with a collective. */
static const char *with(char *spec, const char *method, const char *collective)
{
    snprintf(spec, 256, "%s%scollective=%s", method, strchr(method, ':') ? "," : ":", collective);
    return spec;
}

/* Fails unless the update is the sum of what arrived of each worker's tensor, up to the rounding of
 * its summands. */
static void expect_nothing_lost(const struct party *p, const float *weights, const char *spec)
{
    double lost = 0.0, summands = 0.0;

    assert_true(gcb_exchange_conserves(p->e[0]));
    for (uint64_t i = 0; i < p->n; i++) {
        double sum = 0.0, magnitudes = 0.0;

        for (unsigned w = 0; w < p->workers; w++) {
            const double x =
                (double)(weights ? weights[w] : 1.0f / (float)p->workers) * (double)p->own[w][i];

            sum += x;
            magnitudes += fabs(x);
        }
        lost += (sum - (double)p->update[0][i]) * (sum - (double)p->update[0][i]);
        summands += magnitudes * magnitudes;
    }
    if (sqrt(lost) > 1e-6 * sqrt(summands))
        fail_msg("%s, %u workers, %llu elements: %g of %g is lost", spec, p->workers,
                 (unsigned long long)p->n, sqrt(lost), sqrt(summands));
}

static void run(const char *spec, uint64_t n, unsigned workers, const float *weights)
{
    const struct party_options o = {.workers = workers, .weights = weights};
    struct party p;

    party_open(&p, spec, n, &o);
    for (uint64_t step = 30; step < 34; step++) {
        party_fill(&p, step, 1.0f);
        party_step(&p, step);
        expect_nothing_lost(&p, weights, spec);
    }
    party_close(&p);
}

/* A weight of 0 takes part, and loses nothing of the others. */
static void a_worker_without_weight_loses_nothing(void **state)
{
    static const float weights[] = {0.5f, 0.0f, 0.25f, 0.0f, 0.25f};
    char spec[256];

    for (size_t c = 0; c < COLLECTIVES; c++)
        run(with(spec, "topk:theta=0.95,memory=ef", collectives[c]), N, 5, weights);
}

/* All workers keep everything: the update is the sum of the tensors. */
static void without_selection_it_is_an_all_reduce(void **state)
{
    const struct party_options o = {.workers = 4, .weights = uneven};
    char spec[256];

    for (size_t c = 0; c < COLLECTIVES; c++) {
        struct party p, q;

        party_open(&p, with(spec, "topk:theta=0", collectives[c]), N, &o);
        party_open(&q, "identity", N, &o);
        party_fill(&p, 3, 1.0f);
        party_fill(&q, 3, 1.0f);
        party_step(&p, 0);
        party_step(&q, 0);
        assert_true(party_distance(p.update[0], q.update[0], N) < 1e-6);
        assert_true(party_distance(p.own[2], p.x[2], N) < 1e-6);
        party_close(&p);
        party_close(&q);
    }
}

/* The memory learns the same from gcb_exchange_finish and from an array of what arrived. */
static void finish_and_conclude_agree(void **state)
{
    float *update = calloc(N, sizeof(*update));
    const struct party_options o = {.workers = 3};
    char spec[256];

    for (size_t c = 0; c < COLLECTIVES; c++) {
        struct party p, q;

        with(spec, "topk:theta=0.97,memory=dgc,momentum=0.9", collectives[c]);
        party_open(&p, spec, N, &o);
        party_open(&q, spec, N, &o);
        for (uint64_t step = 0; step < 4; step++) {
            party_fill(&p, step + 1, 1.0f);
            party_step(&p, step);
            for (unsigned w = 0; w < 3; w++)
                assert_int_equal(gcb_exchange_begin(q.e[w], step, p.x[w], NULL), 0);
            assert_int_equal(gcb_local_run(&q.local, q.e, NULL), 0);
            for (unsigned w = 0; w < 3; w++) {
                assert_int_equal(gcb_exchange_finish(q.e[w], update, NULL), 0);
                assert_memory_equal(update, p.update[0], N * sizeof(float));
            }
        }
        party_close(&p);
        party_close(&q);
    }
    free(update);
}

/* gcb_exchange_add_selection: the sum of the selections, which are those of all-gather. */
static void the_selection_is_known(void **state)
{
    float *sum = calloc(N, sizeof(*sum));
    const struct party_options o = {.workers = 4, .weights = uneven};
    char spec[256];

    assert_non_null(sum);
    for (size_t c = 0; c < COLLECTIVES; c++) {
        struct party p, q;

        memset(sum, 0, N * sizeof(*sum));
        party_open(&p, with(spec, "topk:theta=0.97", collectives[c]), N, &o);
        party_open(&q, "topk:theta=0.97", N, &o);
        party_fill(&p, 3, 0.0f);
        party_fill(&q, 3, 0.0f);
        party_step(&p, 0);
        party_step(&q, 0);
        for (unsigned w = 0; w < 4; w++) {
            assert_true(gcb_exchange_add_selection(p.e[w], sum));
            assert_false(gcb_exchange_add_selection(q.e[w], sum));
        }
        assert_true(party_distance(sum, q.update[0], N) < 1e-6);
        assert_true(trip_distance(sum, p.update[0], N) > 0.0); /* something was dropped */
        party_close(&p);
        party_close(&q);
    }
    free(sum);
}

/* Large tensors have several segments of positions; here small ones have. */
static void segments_change_nothing(void **state)
{
    const struct party_options o = {.workers = 3};
    const float weights[3] = {1.0f / 3, 1.0f / 3, 1.0f / 3};
    char spec[256];

    for (size_t c = 0; c < COLLECTIVES; c++) {
        struct gcb_method method;
        struct party p, q;

        with(spec, "topk:theta=0.9,memory=ef", collectives[c]);
        party_open(&p, spec, N, &o);
        party_open(&q, spec, N, &o);
        assert_int_equal(gcb_method_parse(&method, spec, NULL), 0);
        for (uint32_t w = 0; w < 3; w++) {
            const struct gcb_exchange_config config = {
                .coder = {.env = {.count = N, .segment = 64}},
                .workers = 3,
                .worker = w,
                .weights = weights,
            };

            gcb_exchange_close(q.e[w]);
            assert_int_equal(gcb_exchange_create(&q.e[w], &method, &config, NULL), 0);
        }
        for (uint64_t step = 0; step < 3; step++) {
            party_fill(&p, step + 1, 0.0f);
            party_fill(&q, step + 1, 0.0f);
            party_step(&p, step);
            party_step(&q, step);
            assert_memory_equal(p.update[0], q.update[0], N * sizeof(float));
        }
        party_close(&p);
        party_close(&q);
    }
}

/* The parts that describe a step are the bytes of its rounds. */
static void the_parts_are_the_bytes(void **state)
{
    const struct party_options o = {.workers = 4};
    char spec[256];

    for (size_t c = 0; c < COLLECTIVES; c++) {
        struct gcb_message_parts parts;
        struct party p;
        uint64_t bytes = 0;

        party_open(&p, with(spec, "sparse:values=range,index=golomb", collectives[c]), N, &o);
        party_fill(&p, 3, 0.0f);
        party_step(&p, 0);
        assert_int_equal(gcb_exchange_describe(p.e[0], &parts, NULL), 0);
        for (unsigned r = 0; r < p.rounds; r++)
            bytes += p.round[r].bytes;
        assert_int_equal(parts.wire_bytes, bytes);
        assert_int_equal(parts.wire_bytes, parts.header_bytes + parts.payload.scale_bytes +
                                               parts.payload.value_bytes +
                                               parts.payload.index_bytes);
        assert_int_equal(parts.payload.kept, 450);
        party_close(&p);
    }
}

static void some_methods_are_refused(void **state)
{
    static const char *const refused[] = {
        "fft",
        "demo",
        "sparse:transform=hadamard",
        "sbc",
        "redsync:quant=asq",
        "sparse:select=alternate,values=mean",
        "qsgd",
        "identity",
    };
    char spec[256];

    for (size_t c = 0; c < COLLECTIVES; c++)
        for (size_t r = 0; r < sizeof(refused) / sizeof(refused[0]); r++) {
            struct gcb_diag diag;
            struct gcb_method method;

            with(spec, refused[r], collectives[c]);
            assert_int_equal(gcb_method_parse(&method, spec, &diag), GCB_E_INVALID);
            assert_non_null(strstr(diag.text, collectives[c]));
        }
}

RUN_TESTS(cmocka_unit_test(a_worker_without_weight_loses_nothing),
          cmocka_unit_test(without_selection_it_is_an_all_reduce),
          cmocka_unit_test(finish_and_conclude_agree), cmocka_unit_test(the_selection_is_known),
          cmocka_unit_test(segments_change_nothing), cmocka_unit_test(the_parts_are_the_bytes),
          cmocka_unit_test(some_methods_are_refused))
