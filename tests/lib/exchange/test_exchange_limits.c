/* Exchanges at the limits of floats, sizes and the order of calls: what is refused, and that
 * memories stay finite. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/party.h"
#include "tests/support/test.h"

enum { N = 300 };

/* ---- memories ---- */

static void expect_finite_memory(struct gcb_exchange *e, const char *spec)
{
    float residual[N];
    struct gcb_memory_state state = {.size = sizeof(state), .residual = residual};

    assert_int_equal(gcb_exchange_save(e, &state, NULL), 0);
    for (unsigned i = 0; i < N; i++)
        if (!isfinite(residual[i]))
            fail_msg("%s: the memory has %g", spec, (double)residual[i]);
}

/* As party_step, but with gcb_exchange_finish, where a memory may learn without a tensor of what
 * arrived. */
static void finish_step(struct party *p, uint64_t step)
{
    for (unsigned w = 0; w < p->workers; w++)
        assert_int_equal(gcb_exchange_begin(p->e[w], step, p->x[w], NULL), 0);
    assert_int_equal(gcb_local_run(&p->local, p->e, NULL), 0);
    for (unsigned w = 0; w < p->workers; w++)
        assert_int_equal(gcb_exchange_finish(p->e[w], p->update[w], NULL), 0);
}

/* What is divided by a weight may overflow. */
static void a_tiny_weight_spoils_no_memory(void **state)
{
    static const char *const specs[] = {
        "topk:theta=0.5,memory=ef,collective=spardl",
        "sparse:theta=0.5,values=means,memory=ef,collective=oktopk",
        "qsgd:bits=2,memory=ef,collective=allreduce",
        "qsgd:memory=ef,collective=twoshot",
        "natural:memory=ef,collective=twoshot",
        "terngrad:memory=ef,collective=twoshot",
        "countsketch:memory=ef",
        "powersgd:memory=ef",
    };
    static const float weights[] = {1e-39f, 1.0f, -1.0f};
    const struct party_options o = {.workers = 3, .weights = weights};

    for (size_t s = 0; s < sizeof(specs) / sizeof(specs[0]); s++) {
        struct party p;

        party_open(&p, specs[s], N, &o);
        for (uint64_t step = 0; step < 40; step++) {
            party_fill(&p, step + 1, 0.0f);
            if (step % 4 == 3)
                party_step(&p, step);
            else
                finish_step(&p, step);
            for (unsigned w = 0; w < p.workers; w++)
                expect_finite_memory(p.e[w], specs[s]);
        }
        party_close(&p);
    }
}

/* ---- values that are combined ---- */

/* All workers send `value` in every place; no memory gets an infinity or NaN from it. */
static void step_with(struct party *p, uint64_t step, float value)
{
    static float values[4 * N];
    struct gcb_round sent = {.size = sizeof(sent)};

    assert_int_equal(gcb_exchange_begin(p->e[0], step, p->x[0], NULL), 0);
    for (unsigned i = 0; i < 4 * N; i++)
        values[i] = value;
    while (gcb_exchange_next(p->e[0], &sent, NULL) == 1) {
        assert_true(sent.bytes <= sizeof(values));
        assert_int_equal(gcb_exchange_receive(p->e[0], 0, values, sent.bytes, NULL), 0);
    }
    assert_int_equal(gcb_exchange_finish(p->e[0], p->update[0], NULL), 0);
}

static void wild_values_spoil_no_memory(void **state)
{
    static const char *const specs[] = {
        "countsketch:memory=ef",
        "powersgd:memory=ef",
        "qsgd:bits=2,memory=ef,collective=allreduce",
        "terngrad:memory=ef,collective=allreduce",
        "randomk:memory=ef",
    };
    static const float values[] = {FLT_MAX, -FLT_MAX, FLT_TRUE_MIN, INFINITY, NAN, -0.0f};

    for (size_t s = 0; s < sizeof(specs) / sizeof(specs[0]); s++) {
        struct party p;

        party_open(&p, specs[s], N, NULL);
        for (uint64_t step = 0; step < 12; step++) {
            party_fill(&p, step + 1, 0.0f);
            step_with(&p, step, values[step % 6]);
            expect_finite_memory(p.e[0], specs[s]);
        }
        party_close(&p);
    }
}

/* Bytes from a network may begin anywhere. A sanitizer sees values that are read where none may
 * be. */
static void values_may_have_any_address(void **state)
{
    static const char *const specs[] = {"identity:collective=allreduce",
                                        "fp16:collective=allreduce", "qsgd:collective=allreduce",
                                        "powersgd", "countsketch"};

    for (size_t s = 0; s < sizeof(specs) / sizeof(specs[0]); s++) {
        const struct party_options o = {.workers = 1};
        struct party p;

        party_open(&p, specs[s], N, &o);
        party_fill(&p, 1, 0.0f);
        for (unsigned shift = 0; shift < 4; shift++) {
            struct gcb_round sent = {.size = sizeof(sent)};
            float again[N];

            assert_int_equal(gcb_exchange_begin(p.e[0], 0, p.x[0], NULL), 0);
            while (gcb_exchange_next(p.e[0], &sent, NULL) == 1) {
                uint8_t *copy = malloc(sent.bytes + shift);

                memcpy(copy + shift, sent.data, sent.bytes);
                assert_int_equal(gcb_exchange_receive(p.e[0], 0, copy + shift, sent.bytes, NULL),
                                 0);
                free(copy);
            }
            assert_int_equal(gcb_exchange_finish(p.e[0], shift ? again : p.update[0], NULL), 0);
            if (shift && !strstr(specs[s], "powersgd")) /* which keeps its Q */
                assert_memory_equal(again, p.update[0], sizeof(again));
        }
        party_close(&p);
    }
}

/* Any change of what a worker sent itself is found, in every collective that moves messages. */
static void a_changed_echo_is_found(void **state)
{
    static const char *const specs[] = {
        "topk:collective=allgather", "qsgd:collective=twoshot",     "topk:collective=oktopk",
        "topk:collective=spardl",    "identity:collective=twoshot", "range:collective=ring",
        "qsgd:collective=tree",
    };

    for (size_t s = 0; s < sizeof(specs) / sizeof(specs[0]); s++)
        for (size_t bad = 0;; bad++) {
            const struct party_options o = {.workers = 1};
            struct gcb_round sent = {.size = sizeof(sent)};
            size_t seen = 0;
            struct party p;
            int err = 0;

            party_open(&p, specs[s], N, &o);
            party_fill(&p, 1, 0.0f);
            assert_int_equal(gcb_exchange_begin(p.e[0], 0, p.x[0], NULL), 0);
            while (!err && gcb_exchange_next(p.e[0], &sent, NULL) == 1) {
                uint8_t *copy = malloc(sent.bytes + 1);

                memcpy(copy, sent.data, sent.bytes);
                if (bad >= seen && bad < seen + sent.bytes)
                    copy[bad - seen] ^= 1;
                seen += sent.bytes;
                err = gcb_exchange_receive(p.e[0], 0, copy, sent.bytes, NULL);
                free(copy);
            }
            assert_int_equal(err, bad < seen ? GCB_E_CORRUPT : 0);
            party_close(&p);
            if (!err)
                break;
        }
}

/* ---- damaged messages ---- */

/* Of what an owner sends, its own copy must have as many sums: the owner compares them with what it
 * sent. */
static void an_owner_gets_what_it_sent(void **state)
{
    const struct party_options o = {.workers = 1};
    uint8_t message[64];

    for (unsigned damaged = 0; damaged < 2; damaged++) {
        struct gcb_round sent = {.size = sizeof(sent)};
        size_t length;
        struct party p;

        party_open(&p, "topk:theta=0.99,collective=oktopk", N, &o);
        party_fill(&p, 1, 0.0f);
        assert_int_equal(gcb_exchange_begin(p.e[0], 0, p.x[0], NULL), 0);
        assert_int_equal(gcb_exchange_next(p.e[0], &sent, NULL), 1);
        assert_int_equal(gcb_exchange_receive(p.e[0], 0, sent.data, sent.bytes, NULL), 0);
        assert_int_equal(gcb_exchange_next(p.e[0], &sent, NULL), 1);
        assert_true(sent.bytes <= sizeof(message));
        memcpy(message, sent.data, length = sent.bytes);
        if (damaged) { /* head, number of selected elements, and a count of 0 */
            length = 4 + sizeof(uint64_t) + sizeof(uint32_t);
            memset(message + length - sizeof(uint32_t), 0, sizeof(uint32_t));
        }
        assert_int_equal(gcb_exchange_receive(p.e[0], 0, message, length, NULL),
                         damaged ? GCB_E_CORRUPT : 0);
        party_close(&p);
    }
}

/* ---- options ---- */

static int open_with(const char *spec, const struct gcb_options *o)
{
    struct gcb_diag diag = {.text = ""};
    struct gcb_exchange *e = NULL;
    const int err = gcb_exchange_open(&e, spec, N, o, &diag);

    gcb_exchange_close(e);
    return err;
}

static void absurd_options_are_refused(void **state)
{
    struct gcb_options o = {.size = sizeof(o), .workers = 1u << 20};

    assert_int_equal(open_with("identity", &o), 0);
    o.workers++;
    assert_int_equal(open_with("identity", &o), GCB_E_INVALID);
    o.workers = 2;
    assert_int_equal(open_with("countsketch:columns=200000", &o), 0);
    assert_int_equal(open_with("countsketch:columns=2000000000", &o), GCB_E_INVALID);
}

/* A program that was built before struct gcb_round had `to` and `from`. */
static void an_old_program_cannot_shift(void **state)
{
    const struct gcb_options o = {.size = sizeof(o), .workers = 2};
    struct gcb_round sent = {.size = offsetof(struct gcb_round, to)};
    const char *const specs[] = {"fp16:collective=twoshot", "fp16:collective=ring"};
    float x[N] = {1.0f};

    for (int ring = 0; ring < 2; ring++) {
        struct gcb_exchange *e = NULL;

        assert_int_equal(gcb_exchange_open(&e, specs[ring], N, &o, NULL), 0);
        assert_int_equal(gcb_exchange_begin(e, 0, x, NULL), 0);
        assert_int_equal(gcb_exchange_next(e, &sent, NULL), ring ? GCB_E_INVALID : 1);
        gcb_exchange_close(e);
    }
}

RUN_TESTS(cmocka_unit_test(a_changed_echo_is_found), cmocka_unit_test(an_old_program_cannot_shift),
          cmocka_unit_test(a_tiny_weight_spoils_no_memory),
          cmocka_unit_test(wild_values_spoil_no_memory),
          cmocka_unit_test(values_may_have_any_address),
          cmocka_unit_test(an_owner_gets_what_it_sent),
          cmocka_unit_test(absurd_options_are_refused))
