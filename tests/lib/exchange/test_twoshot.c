/* The two-shot all-reduce: shares, bytes on the links, the second error, damaged bytes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/party.h"
#include "tests/support/test.h"
#include "tests/support/trip.h"

static const float weights[PARTY_MOST] = {0.5f, 0.25f, 1.0f, 0.3f, 2.0f, 0.1f, 0.7f, 0.4f, 0.6f};

static const char *const dense[] = {"identity",         "fp16", "bf16",     "range",
                                    "range:mantissa=3", "qsgd", "terngrad", "natural",
                                    "qsgd:coding=elias"};

static void open_party(struct party *p, const char *method, const char *more, uint64_t n,
                       const struct party_options *o)
{
    char spec[128];

    snprintf(spec, sizeof(spec), "%s%ccollective=twoshot%s", method,
             strchr(method, ':') ? ',' : ':', more);
    party_open(p, spec, n, o);
}

/* Any number of workers and elements, also fewer elements than workers. */
static void gives_the_weighted_sum(void **state)
{
    static const uint64_t counts[] = {0, 1, 2, 7, 64, 1000, 5000};

    for (unsigned workers = 1; workers <= PARTY_MOST; workers++)
        for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
            const struct party_options o = {.workers = workers, .weights = weights};
            struct party p;
            float *want;

            open_party(&p, "identity", "", counts[c], &o);
            party_fill(&p, c + 1, 1.0f);
            party_step(&p, 7);
            assert_int_equal(p.rounds, 2);
            want = party_sum(p.x, workers, counts[c], weights);
            assert_true(party_distance(p.update[0], want, counts[c]) < 1e-6);
            free(want);
            party_close(&p);
        }
}

/* With a memory that also keeps the second error, nothing is lost: updates + residuals =
 * tensors. */
static void a_memory_keeps_the_second_error(void **state)
{
    enum { N = 4000, WORKERS = 4, STEPS = 5 };
    const struct party_options o = {.workers = WORKERS, .weights = weights};

    for (size_t d = 0; d < sizeof(dense) / sizeof(dense[0]); d++)
        for (int drop = 0; drop < 2; drop++) {
            float *owed = calloc(N, sizeof(*owed)), *got = calloc(N, sizeof(*got));
            struct party p;

            open_party(&p, dense[d], drop ? ",memory=ef,second-error=drop" : ",memory=ef", N, &o);
            for (uint64_t step = 0; step < STEPS; step++) {
                float *sum;

                party_fill(&p, step + 1, 1.0f);
                party_step(&p, step);
                sum = party_sum(p.x, WORKERS, N, weights);
                for (uint64_t i = 0; i < N; i++) {
                    owed[i] += sum[i];
                    got[i] += p.update[0][i];
                }
                free(sum);
            }
            for (unsigned w = 0; w < WORKERS; w++)
                for (uint64_t i = 0; i < N; i++)
                    got[i] += weights[w] * gcb_memory_residual(gcb_exchange_memory(p.e[w]))[i];
            assert_true((party_distance(got, owed, N) < 2e-6) == (!drop || d == 0));
            free(owed);
            free(got);
            party_close(&p);
        }
}

/* Runs a step whose last call is gcb_exchange_finish. All workers must get `update`. */
static void finish_step(struct party *p, uint64_t step, float *const *x, const float *update)
{
    for (unsigned w = 0; w < p->workers; w++)
        assert_int_equal(gcb_exchange_begin(p->e[w], step, x[w], NULL), 0);
    assert_int_equal(gcb_local_run(&p->local, p->e, NULL), 0);
    for (unsigned w = 0; w < p->workers; w++) {
        assert_int_equal(gcb_exchange_finish(p->e[w], p->update[w], NULL), 0);
        assert_memory_equal(p->update[w], update, p->n * sizeof(float));
    }
}

/* The memory learns the same from gcb_exchange_finish and from an array of what arrived, bit for
 * bit. */
static void finish_and_conclude_agree(void **state)
{
    enum { WORKERS = 3 };
    static const float tiny[] = {1.0f, 1e-40f, 0.0f};
    static const char *const memories[] = {",memory=ef",
                                           ",memory=ef,second-error=drop",
                                           ",memory=dgc",
                                           ",memory=dgc,residual=clear",
                                           ",memory=delay,delay=2",
                                           ",memory=gmc"};
    static const uint64_t counts[] = {2, 2000};

    for (size_t i = 0; i < 24 * sizeof(dense) / sizeof(dense[0]); i++) {
        const struct party_options o = {.workers = WORKERS, .weights = i / 6 % 2 ? tiny : weights};
        const uint64_t n = counts[i / 12 % 2];
        struct party p, q;

        open_party(&p, dense[i / 24], memories[i % 6], n, &o);
        open_party(&q, dense[i / 24], memories[i % 6], n, &o);
        for (uint64_t step = 0; step < 4; step++) {
            party_fill(&p, step + 1, 1.0f);
            party_step(&p, step);
            finish_step(&q, step, p.x, p.update[0]);
            for (unsigned w = 0; w < WORKERS; w++)
                assert_memory_equal(gcb_memory_residual(gcb_exchange_memory(q.e[w])),
                                    gcb_memory_residual(gcb_exchange_memory(p.e[w])),
                                    n * sizeof(float));
        }
        party_close(&p);
        party_close(&q);
    }
}

/* A worker without weight cannot make up for its second encoding. The others can. */
static void a_weight_of_zero_is_no_division(void **state)
{
    enum { N = 3000 };
    static const float some[] = {0.5f, 0.0f, 0.5f}, mixed[] = {1.0f, -1.0f, 0.5f},
                       none[] = {0.0f, 0.0f, 0.0f};
    static const float *const sets[] = {some, mixed, none};

    for (size_t k = 0; k < 3; k++) {
        const struct party_options o = {.workers = 3, .weights = sets[k]};
        struct party p;
        float *want;

        open_party(&p, "range:bits=8", ",memory=ef", N, &o);
        party_fill(&p, 3, 0.0f);
        party_step(&p, 1);
        assert_int_equal(gcb_exchange_conserves(p.e[0]), sets[k] == mixed);
        want = party_sum(p.x, 3, N, sets[k]);
        assert_true(party_distance(p.update[0], want, N) < 0.2);
        for (unsigned w = 0; w < 3; w++)
            for (uint64_t i = 0; i < N; i++)
                assert_true(isfinite(p.own[w][i]));
        free(want);
        party_close(&p);
    }
}

/* ---- bytes ---- */

/* The links carry 2 (n - 1) / n of a message per worker within 1 %, besides the headers of n + 1
 * messages per worker. */
static void links_carry_two_messages(void **state)
{
    enum { N = 200000 };
    static const char *const specs[] = {"identity", "fp16", "range", "qsgd", "terngrad", "natural"};

    for (size_t s = 0; s < sizeof(specs) / sizeof(specs[0]); s++)
        for (unsigned workers = 2; workers <= PARTY_MOST; workers++) {
            const struct party_options o = {.workers = workers};
            struct trip t = {0};
            struct party p;
            double links, headers, payload;

            open_party(&p, specs[s], "", N, &o);
            party_fill(&p, 1, 1.0f);
            party_step(&p, 0);
            trip_run(&t, specs[s], p.x[0], N, NULL);
            links = (double)(p.link_bytes[0] + p.link_bytes[1]);
            headers = 2.0 * workers * (workers - 1) * (double)t.parts.header_bytes;
            payload = 2.0 * (workers - 1) * (double)(t.length - t.parts.header_bytes);
            if (fabs(links - headers - payload) > 0.01 * payload)
                fail_msg("%s, %u workers: %.0f bytes, of them %.0f headers; expected %.0f",
                         specs[s], workers, links, headers, payload + headers);
            if (workers == 8)
                print_message("%s, 8 workers, %d elements: headers are %.2f %% of the bytes\n",
                              specs[s], N, 100.0 * headers / links);
            trip_free(&t);
            party_close(&p);
        }
}

/* gcb_exchange_describe counts the bytes that a worker made. */
static void parts_add_up(void **state)
{
    enum { N = 5000, WORKERS = 3 };
    const struct party_options o = {.workers = WORKERS};
    struct gcb_message_parts parts;
    struct party p;
    uint64_t made = 0;

    open_party(&p, "qsgd", "", N, &o);
    party_fill(&p, 1, 1.0f);
    party_step(&p, 0);
    for (unsigned w = 0; w < WORKERS; w++) {
        assert_int_equal(gcb_exchange_describe(p.e[w], &parts, NULL), 0);
        assert_int_equal(parts.wire_bytes, parts.header_bytes + parts.payload.scale_bytes +
                                               parts.payload.value_bytes);
        made += parts.wire_bytes;
        if (w == 0)
            assert_true(p.round[0].bytes + p.round[1].bytes == parts.wire_bytes);
    }
    assert_int_equal(made, p.round[0].bytes * WORKERS + p.link_bytes[1] / (WORKERS - 1));
    party_close(&p);
}

/* ---- draws ---- */

/* Equal shares of all workers get different messages, and so does the sum of equal tensors. */
static void no_two_messages_draw_the_same(void **state)
{
    enum { SHARE = 512, WORKERS = 4, N = SHARE * WORKERS };
    const struct party_options o = {.workers = WORKERS};
    uint8_t *message[WORKERS * WORKERS + WORKERS];
    size_t length[WORKERS * WORKERS + WORKERS], made = 0;
    struct gcb_round round[WORKERS];
    struct party p;
    float *x = trip_tensor(SHARE, TRIP_GAUSS, 3);

    open_party(&p, "natural", "", N, &o);
    for (unsigned w = 0; w < WORKERS; w++) {
        for (size_t i = 0; i < N; i++)
            p.x[w][i] = x[i % SHARE];
        assert_int_equal(gcb_exchange_begin(p.e[w], 5, p.x[w], NULL), 0);
    }
    for (unsigned r = 0; r < 2; r++) {
        for (unsigned w = 0; w < WORKERS; w++) {
            const uint8_t *at;

            round[w] = (struct gcb_round){.size = sizeof(round[w])};
            assert_int_equal(gcb_exchange_next(p.e[w], &round[w], NULL), 1);
            at = round[w].data;
            for (unsigned part = 0; part < (r == 0 ? WORKERS : 1); part++) {
                length[made] = r == 0 ? round[w].parts[part] : round[w].bytes;
                message[made] = malloc(length[made]);
                memcpy(message[made], at, length[made]);
                at += length[made++];
            }
        }
        for (unsigned from = 0; r == 0 && from < WORKERS; from++)
            for (unsigned w = 0; w < WORKERS; w++)
                assert_int_equal(gcb_exchange_receive(p.e[w], from, message[from * WORKERS + w],
                                                      length[from * WORKERS + w], NULL),
                                 0);
    }
    for (size_t a = 0; a < made; a++)
        for (size_t b = 0; b < a; b++)
            assert_true(length[a] != length[b] || memcmp(message[a], message[b], length[a]) != 0);
    for (size_t a = 0; a < made; a++)
        free(message[a]);
    free(x);
    party_close(&p);
}

/* ---- infinities, NaNs and damage ---- */

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

        open_party(&p, "range", ",memory=ef", N, &o);
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

/* Feeds bytes to worker 0 in the round `r`, after correct bytes of the workers before `from`. */
static int feed(uint64_t n, unsigned r, uint32_t from, const uint8_t *bytes, size_t length)
{
    enum { WORKERS = 3 };
    const struct party_options o = {.workers = WORKERS};
    struct gcb_round round[WORKERS];
    uint8_t *copy[WORKERS];
    struct party p;
    int err = 0;

    open_party(&p, "qsgd", "", n, &o);
    party_fill(&p, 1, 0.0f);
    for (unsigned w = 0; w < WORKERS; w++)
        assert_int_equal(gcb_exchange_begin(p.e[w], 0, p.x[w], NULL), 0);
    for (unsigned k = 0; k <= r; k++) {
        for (unsigned w = 0; w < WORKERS; w++) {
            round[w] = (struct gcb_round){.size = sizeof(round[w])};
            assert_int_equal(gcb_exchange_next(p.e[w], &round[w], NULL), 1);
            copy[w] = malloc(round[w].bytes + 1);
            memcpy(copy[w], round[w].data, round[w].bytes);
        }
        for (uint32_t f = 0; !err && f < WORKERS; f++) {
            size_t at = 0;

            for (unsigned w = 0; !err && w < WORKERS; w++) {
                const size_t part = k == 0 ? round[f].parts[w] : round[f].bytes;
                const bool ours = k == r && f == from && w == 0;

                err = gcb_exchange_receive(p.e[w], f, ours ? bytes : copy[f] + at,
                                           ours ? length : part, NULL);
                if (ours && !err)
                    err = 1;
                at += k == 0 ? part : 0;
            }
        }
        for (unsigned w = 0; w < WORKERS; w++)
            free(copy[w]);
    }
    party_close(&p);
    return err == 1 ? 0 : err;
}

/* The messages that worker 1 sends to worker 0 in both rounds; free() them. */
static void honest(uint64_t n, uint8_t **message, size_t *length)
{
    enum { WORKERS = 3 };
    const struct party_options o = {.workers = WORKERS};
    struct gcb_round round = {.size = sizeof(round)};
    struct party p;

    open_party(&p, "qsgd", "", n, &o);
    party_fill(&p, 1, 0.0f);
    assert_int_equal(gcb_exchange_begin(p.e[1], 0, p.x[1], NULL), 0);
    assert_int_equal(gcb_exchange_next(p.e[1], &round, NULL), 1);
    for (unsigned r = 0; r < 2;
         r++) { /* the part for worker 1 has the form of its second message */
        *length = round.parts[r];
        message[r] = malloc(*length);
        memcpy(message[r], (const uint8_t *)round.data + (r ? round.parts[0] : 0), *length);
    }
    party_close(&p);
}

static void damaged_bytes_are_refused(void **state)
{
    enum { N = 90 };
    uint8_t *message[2];
    size_t length;
    uint32_t draw = 1;

    honest(N, message, &length);
    for (unsigned r = 0; r < 2; r++) {
        uint8_t *cut, *longer = malloc(length + 1);

        assert_int_equal(feed(N, r, 1, message[r], length), 0);
        for (size_t n = 0; n < length; n++) {
            cut = malloc(n + 1);
            memcpy(cut, message[r], n);
            assert_true(feed(N, r, 1, cut, n) < 0);
            free(cut);
        }
        memcpy(longer, message[r], length);
        longer[length] = 0;
        assert_true(feed(N, r, 1, longer, length + 1) < 0);
        for (int k = 0; k < 300; k++) { /* refused or taken, but safe */
            memcpy(longer, message[r], length);
            draw = draw * 1664525u + 1013904223u;
            longer[(draw >> 8) % length] ^= (uint8_t)(1u << (draw >> 29));
            feed(N, r, 1, longer, length);
        }
        free(longer);
        free(message[r]);
    }
}

/* A share without elements has no bytes. */
static void empty_shares_have_no_bytes(void **state)
{
    static const uint8_t byte[1] = {0};

    assert_int_equal(feed(0, 0, 1, byte, 0), 0);
    assert_int_equal(feed(0, 0, 1, byte, 1), GCB_E_CORRUPT);
    assert_int_equal(feed(1, 1, 1, byte, 1), GCB_E_CORRUPT);
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

RUN_TESTS(cmocka_unit_test(gives_the_weighted_sum),
          cmocka_unit_test(a_memory_keeps_the_second_error),
          cmocka_unit_test(finish_and_conclude_agree),
          cmocka_unit_test(a_weight_of_zero_is_no_division),
          cmocka_unit_test(links_carry_two_messages), cmocka_unit_test(parts_add_up),
          cmocka_unit_test(no_two_messages_draw_the_same),
          cmocka_unit_test(a_nan_or_overflow_spoils_the_update_but_no_memory),
          cmocka_unit_test(damaged_bytes_are_refused), cmocka_unit_test(empty_shares_have_no_bytes),
          cmocka_unit_test(methods_without_it_refuse_it))
