/* Ok-Topk and SparDL: their rounds, and the bytes that these put on the links. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/party.h"
#include "tests/support/test.h"

/* fp32 values and u32 positions: 8 bytes for an element. A message has a head of 4 bytes; a piece
 * has a count of 4. */
enum { N = 20000, K = 200, HEAD = 4, PIECE = 4, ELEMENT = 8 };

static uint64_t kept_of(const struct party *p)
{
    uint64_t kept = 0;

    for (uint64_t i = 0; i < p->n; i++)
        kept += p->update[0][i] != 0.0f;
    return kept;
}

static void step(struct party *p, uint64_t number)
{
    party_fill(p, number + 1, 1.0f);
    party_step(p, number);
}

/* ---- oktopk ---- */

static void oktopk_divides_and_estimates_now_and_then(void **state)
{
    static const struct {
        uint64_t step;
        bool divides, estimates;
    } rows[] = {
        {5, true, true},    {6, false, false},  {31, false, false}, {32, false, true},
        {33, false, false}, {63, false, false}, {64, true, true},   {65, false, false},
        {200, true, true},  {7, true, true},    {8, false, false},
    };
    const struct party_options o = {.workers = 4};
    struct party p;

    party_open(&p, "topk:theta=0.99,collective=oktopk", N, &o);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const unsigned gather = rows[i].divides ? 2 : 1;

        step(&p, rows[i].step);
        assert_int_equal(p.rounds, gather + 1);
        if (rows[i].divides) {
            assert_int_equal(p.round[0].kind, GCB_ROUND_REDUCE);
            assert_int_equal(p.round[0].bytes, 3 * sizeof(float));
        }
        assert_int_equal(p.round[gather - 1].kind, GCB_ROUND_SCATTER);
        assert_int_equal(p.round[gather].kind, GCB_ROUND_GATHER);
        if (rows[i].estimates)
            assert_int_equal(kept_of(&p), K); /* exactly the global top k */
    }
    party_close(&p);
}

static void oktopk_sends_what_the_formula_says(void **state)
{
    const struct party_options o = {.workers = 8};
    struct party p;
    uint64_t words = 0;

    party_open(&p, "topk:theta=0.99,memory=ef,collective=oktopk", N, &o);
    for (uint64_t s = 0; s < 64; s++) {
        const uint64_t first = s == 0, before = words;

        step(&p, s);
        /* each worker makes 8 messages for its K elements */
        assert_int_equal(p.round[first].bytes, 8 * (HEAD + PIECE) + K * ELEMENT);
        if (s % 32)
            assert_int_equal(p.link_bytes[1], 7 * (8 * (HEAD + 8 + PIECE) + kept_of(&p) * ELEMENT));
        for (unsigned r = 0; r < p.rounds; r++)
            words += p.link_bytes[r] / 8 / sizeof(float);
        if (s % 32 > 8) /* the paper's bound, once the memory is filled; with room for heads */
            assert_true(words - before < 6 * K + 8 * 10);
    }
    assert_true(words < 64 * 6 * K); /* also with the steps that estimate */
    party_close(&p);
}

static size_t largest_part, all_parts;

static void observe_parts(void *ctx, unsigned round, const struct gcb_round *sent, uint64_t bytes)
{
    if (sent[0].kind != GCB_ROUND_SCATTER)
        return;
    for (unsigned w = 0; w < 8; w++) {
        largest_part = sent[0].parts[w] > largest_part ? sent[0].parts[w] : largest_part;
        all_parts += sent[0].parts[w];
    }
}

/* All large elements are in the last tenth: regions of equal length would give one owner
 * everything. */
static void oktopk_balances_the_work(void **state)
{
    const struct party_options o = {.workers = 8};
    struct party p;

    party_open(&p, "topk:theta=0.99,collective=oktopk", N, &o);
    p.local.observe = observe_parts;
    party_fill(&p, 1, 0.0f);
    for (unsigned w = 0; w < 8; w++)
        for (unsigned i = N - N / 10; i < N; i++)
            p.x[w][i] *= 100.0f;
    for (uint64_t s = 0; s < 3; s++) {
        largest_part = all_parts = 0;
        party_step(&p, s);
        assert_true(largest_part < all_parts / 8 * 3 / 2);
    }
    party_close(&p);
}

/* ---- spardl ---- */

static unsigned ceil_log2(unsigned n)
{
    unsigned bits = 0;

    while (1u << bits < n)
        bits++;
    return bits;
}

/* A round sends one part, to the worker at the distance. */
static void observe_distance(void *ctx, unsigned round, const struct gcb_round *sent,
                             uint64_t bytes)
{
    const unsigned workers = *(const unsigned *)ctx, rounds = ceil_log2(workers);

    for (unsigned w = 0; w < workers && round < rounds; w++)
        for (unsigned to = 0; to < workers; to++)
            assert_true((sent[w].parts[to] > 0) ==
                        (to == (w + (1u << (rounds - 1 - round))) % workers));
}

static void spardl_sends_what_the_formula_says(void **state)
{
    for (unsigned workers = 1; workers <= PARTY_MOST; workers++) {
        const struct party_options o = {.workers = workers};
        const uint64_t share = (K + workers - 1) / workers, block = PIECE + share * ELEMENT;
        const unsigned rounds = ceil_log2(workers);
        struct party p;

        party_open(&p, "topk:theta=0.99,memory=ef,collective=spardl", N, &o);
        for (uint64_t s = 0; s < 4; s++) {
            uint64_t bytes = 0;

            step(&p, s);
            assert_int_equal(p.rounds, rounds + 1);
            for (unsigned r = 0; r < rounds; r++) {
                assert_int_equal(p.round[r].kind, GCB_ROUND_SCATTER);
                bytes += p.link_bytes[r];
            }
            /* each worker sends each block but its own once; a block may have less than its
             * share */
            assert_true(bytes <= workers * (rounds * HEAD + (workers - 1) * block));
            assert_true(s || bytes >= workers * (workers - 1) * block * 3 / 4);
            assert_int_equal(p.round[rounds].kind, GCB_ROUND_GATHER);
            assert_true(p.link_bytes[rounds] <= workers * (workers - 1) * (HEAD + block));
            assert_true(kept_of(&p) <= workers * share);
        }
        p.local.observe = observe_distance;
        p.local.ctx = &p.workers;
        step(&p, 4);
        party_close(&p);
    }
}

RUN_TESTS(cmocka_unit_test(oktopk_divides_and_estimates_now_and_then),
          cmocka_unit_test(oktopk_sends_what_the_formula_says),
          cmocka_unit_test(oktopk_balances_the_work),
          cmocka_unit_test(spardl_sends_what_the_formula_says))
