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
    static const char *const specs[] = {"sparse:values=range,index=golomb,collective=oktopk",
                                        "sparse:values=range,index=golomb,collective=spardl",
                                        "qsgd:collective=twoshot"};
    const struct party_options o = {.workers = 4};

    for (size_t s = 0; s < sizeof(specs) / sizeof(specs[0]); s++) {
        struct gcb_message_parts parts;
        struct party p;
        uint64_t bytes = 0;

        party_open(&p, specs[s], N, &o);
        party_fill(&p, 3, 0.0f);
        party_step(&p, 0);
        assert_int_equal(gcb_exchange_describe(p.e[0], &parts, NULL), 0);
        for (unsigned r = 0; r < p.rounds; r++)
            bytes += p.round[r].bytes;
        assert_int_equal(parts.wire_bytes, bytes);
        assert_int_equal(parts.wire_bytes, parts.header_bytes + parts.payload.scale_bytes +
                                               parts.payload.value_bytes +
                                               parts.payload.index_bytes);
        if (s < COLLECTIVES)
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

RUN_TESTS(cmocka_unit_test(the_selection_is_known), cmocka_unit_test(segments_change_nothing),
          cmocka_unit_test(the_parts_are_the_bytes), cmocka_unit_test(some_methods_are_refused))
