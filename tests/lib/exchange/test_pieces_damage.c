/*
 * Damaged messages in sparse and two-shot all-reduces. A message that is cut or too long is refused. A message
 * with changed bytes is refused, or the step goes on; nothing is written outside (run with
 * sanitizers).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/party.h"
#include "tests/support/test.h"

enum { N = 300, WORKERS = 3 };

static const char *const specs[] = {
    "topk:theta=0.9,collective=oktopk",
    "sparse:theta=0.9,values=range,index=golomb,collective=oktopk",
    "sparse:theta=0.5,values=means,index=bitmap,collective=oktopk",
    "sparse:theta=0.9,index=elias-fano,collective=oktopk",
    "topk:theta=0.9,collective=spardl",
    "sparse:theta=0.9,values=uniform,index=adaptive,collective=spardl",
    "sparse:theta=0.5,values=fp16,index=block,collective=spardl",
    "sparse:theta=0.9,index=varint,collective=spardl",
    "qsgd:collective=twoshot",
};

/* The array that is damaged, and how: either cut or extended to `length`, or with one byte
 * changed. */
struct damage {
    unsigned round;
    uint32_t from, to;
    size_t length; /* SIZE_MAX: not changed */
    size_t byte;
    uint8_t flip;
};

/* What worker `from` sends worker `to`. */
static const uint8_t *array_of(const struct gcb_round *sent, uint32_t to, size_t *length)
{
    const uint8_t *data = sent->data;

    *length = sent->bytes;
    if (sent->kind != GCB_ROUND_SCATTER)
        return data;
    for (uint32_t w = 0; w < to; w++)
        data += sent->parts[w];
    *length = sent->parts[to];
    return data;
}

/* Hands over one array, from a block of its own size, so that a sanitizer sees any access
 * outside. */
static int hand_over(struct gcb_exchange *e, unsigned round, uint32_t from, uint32_t to,
                     const uint8_t *data, size_t length, const struct damage *d)
{
    const bool hit = d && d->round == round && d->from == from && d->to == to;
    const size_t given = hit && d->length != SIZE_MAX ? d->length : length;
    uint8_t *copy = calloc(1, given ? given : 1);
    int err;

    assert_non_null(copy);
    if (given)
        memcpy(copy, data, given < length ? given : length);
    if (hit && d->length == SIZE_MAX)
        copy[d->byte] ^= d->flip;
    err = gcb_exchange_receive(e, from, copy, given, NULL);
    free(copy);
    return err;
}

/* Runs a step. Returns the first error, or 0. Stores the length of what `from` sends `to` in each
 * round. */
static int run(struct party *p, uint64_t step, const struct damage *d, uint32_t from, uint32_t to,
               size_t *length)
{
    for (unsigned w = 0; w < WORKERS; w++)
        assert_int_equal(gcb_exchange_begin(p->e[w], step, p->x[w], NULL), 0);
    for (unsigned round = 0; round < PARTY_ROUNDS; round++) {
        struct gcb_round sent[WORKERS];
        uint8_t *data[WORKERS];
        int more = 0, err = 0;

        for (unsigned w = 0; w < WORKERS; w++) {
            sent[w] = (struct gcb_round){.size = sizeof(sent[w])};
            more = gcb_exchange_next(p->e[w], &sent[w], NULL);
            assert_true(more >= 0);
        }
        for (unsigned w = 0; w < WORKERS && !more; w++)
            assert_int_equal(gcb_exchange_finish(p->e[w], p->update[w], NULL), 0);
        if (!more)
            return (int)round; /* not an error: the number of rounds */
        for (unsigned w = 0; w < WORKERS; w++) {
            data[w] = malloc(sent[w].bytes + 1);
            memcpy(data[w], sent[w].data, sent[w].bytes);
            sent[w].data = data[w];
        }
        if (length)
            array_of(&sent[from], to, &length[round]);
        if (sent[0].kind == GCB_ROUND_REDUCE)
            for (unsigned w = 1; w < WORKERS; w++)
                gcb_reduction_combine(sent[0].reduction, data[0], data[w], sent[w].bytes);
        for (uint32_t f = 0; f < (sent[0].kind == GCB_ROUND_REDUCE ? 1 : WORKERS) && !err; f++)
            for (uint32_t w = 0; w < WORKERS && !err; w++) {
                size_t bytes;
                const uint8_t *array = array_of(&sent[f], w, &bytes);

                err = hand_over(p->e[w], round, f, w, array, bytes, d);
            }
        for (unsigned w = 0; w < WORKERS; w++)
            free(data[w]);
        if (err)
            return err;
    }
    fail_msg("too many rounds");
    return 0;
}

static void expect_refused(struct party *p, uint64_t step, const struct damage *d)
{
    const int err = run(p, step, d, d->from, d->to, NULL);

    if (err != GCB_E_CORRUPT && err != GCB_E_MISMATCH)
        fail_msg("round %u, from %u to %u, length %zu: status %d", d->round, d->from, d->to,
                 d->length, err);
}

/* Every length but the right one. */
static void other_lengths_are_refused(void **state)
{
    for (size_t s = 0; s < sizeof(specs) / sizeof(specs[0]); s++)
        for (uint32_t from = 0; from < WORKERS; from++) {
            const uint32_t to = 1;
            const struct party_options o = {.workers = WORKERS};
            size_t length[PARTY_ROUNDS];
            struct party p;
            int rounds;

            party_open(&p, specs[s], N, &o);
            party_fill(&p, 1, 1.0f);
            rounds = run(&p, 0, NULL, from, to, length);
            party_close(&p);
            for (int r = 0; r < rounds; r++)
                for (size_t n = 0; n <= length[r] + 9; n++) {
                    const struct damage d = {
                        .round = (unsigned)r, .from = from, .to = to, .length = n};

                    if (n == length[r] || (r == 0 && strstr(specs[s], "oktopk") && from))
                        continue; /* a REDUCE has one array */
                    party_open(&p, specs[s], N, &o);
                    party_fill(&p, 1, 1.0f);
                    expect_refused(&p, 0, &d);
                    /* if only one worker refuses the step's very last array, the others have learnt
                     * from the step */
                    if (from + 1 < WORKERS || r + 1 < rounds || strstr(specs[s], "spardl"))
                        assert_int_equal(run(&p, 1, NULL, 0, 0, NULL), rounds);
                    party_close(&p);
                }
        }
}

/* A step that failed leaves no estimate: the next step is as if the failed step was not. */
static void a_failed_step_leaves_no_trace(void **state)
{
    for (size_t s = 0; s < sizeof(specs) / sizeof(specs[0]); s++)
        for (unsigned round = 0; round < 3; round++)
            for (uint64_t failing = 0; failing < 2; failing++) {
                const struct damage d = {.round = round, .length = 5, .to = 1};
                const struct party_options o = {.workers = WORKERS};
                struct party p, q;
                int rounds = 0;

                party_open(&p, specs[s], N, &o);
                party_open(&q, specs[s], N, &o);
                for (uint64_t step = 0; step < 3; step++) {
                    party_fill(&p, step + 1, 1.0f);
                    party_fill(&q, step + 1, 1.0f);
                    if (step == failing && run(&p, step, &d, 0, 1, NULL) < 0)
                        continue;
                    if (step != failing)
                        rounds = run(&p, step, NULL, 0, 1, NULL);
                    assert_true(rounds >= 0);
                    run(&q, step, NULL, 0, 1, NULL);
                    if (step != failing)
                        for (unsigned w = 0; w < WORKERS; w++)
                            assert_memory_equal(p.update[w], q.update[0], N * sizeof(float));
                }
                party_close(&p);
                party_close(&q);
            }
}

RUN_TESTS(cmocka_unit_test(other_lengths_are_refused),
          cmocka_unit_test(a_failed_step_leaves_no_trace))
