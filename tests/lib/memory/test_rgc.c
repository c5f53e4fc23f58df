/*
 * RedSync's residual gradient compression (Fang et al. 2019, algorithm 4), followed step by step in
 * plain C by three workers: updates, residuals and momentum must be equal bit for bit. Also what
 * the other choices of the memory do.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/party.h"
#include "tests/support/test.h"

enum { N = 600, KEPT = 12, WORKERS = 3, STEPS = 12 };

static const float weights[WORKERS] = {0.5f, 0.25f, 0.125f};
static const float m = 0.75f; /* the momentum's factor */

enum { WHOLE = 1, QUANTISED = 2, NESTEROV = 4, SUBTRACTS = 8, UNMASKED = 16 };

/* A worker's arrays, and the positions of a message. */
struct worker {
    float U[N], V[N];
    bool sent[N];
};

/* The k largest magnitudes; or, if `sign` is not 0, the k largest values of this sign. */
static void select_positions(struct worker *r, int sign)
{
    memset(r->sent, 0, sizeof(r->sent));
    for (size_t k = 0; k < KEPT; k++) {
        size_t best = N;
        float most = -1.0f;

        for (size_t i = 0; i < N; i++) {
            const float x = sign ? (float)sign * r->V[i] : fabsf(r->V[i]);

            if (!r->sent[i] && x > most) {
                best = i;
                most = x;
            }
        }
        assert_true(best < N && most > 0.0f);
        r->sent[best] = true;
    }
}

static float mean_of_sent(const struct worker *r)
{
    double sum = 0.0;

    for (size_t i = 0; i < N; i++)
        sum += r->sent[i] ? (double)r->V[i] : 0.0;
    return (float)(sum / KEPT);
}

/* Algorithm 4, for a tensor that is compressed. */
static void compressed_step(struct worker *r, const float *g, uint64_t step, int how,
                            float *message)
{
    float mean = 0.0f;

    for (size_t i = 0; i < N; i++) {
        r->U[i] = m * r->U[i] + g[i];
        r->V[i] += r->U[i];
        if (how & NESTEROV)
            r->V[i] += g[i];
    }
    select_positions(r, how & QUANTISED ? (step % 2 ? -1 : 1) : 0);
    if (how & QUANTISED)
        mean = mean_of_sent(r);
    for (size_t i = 0; i < N; i++) {
        message[i] = !r->sent[i] ? 0.0f : how & QUANTISED ? mean : r->V[i];
        if (!r->sent[i])
            continue;
        r->V[i] = how & SUBTRACTS ? r->V[i] - message[i] : 0.0f;
        r->U[i] = how & UNMASKED ? r->U[i] : 0.0f;
    }
}

/* A tensor that is not compressed: ordinary momentum, as if the optimiser did it after an
 * all-reduce. */
static void whole_step(struct worker *r, const float *g, int how, float *message)
{
    for (size_t i = 0; i < N; i++) {
        r->U[i] = m * r->U[i] + g[i];
        message[i] = how & NESTEROV ? r->U[i] + g[i] : r->U[i];
    }
}

static void compare(const struct party *p, const struct worker *r, const float *update,
                    const char *spec, uint64_t step)
{
    float residual[N], momentum[N];
    uint64_t summed;

    for (size_t i = 0; i < N; i++)
        if (p->update[0][i] != update[i])
            fail_msg("%s, step %d, element %zu: the update is %a, not %a", spec, (int)step, i,
                     (double)p->update[0][i], (double)update[i]);
    for (unsigned w = 0; w < WORKERS; w++) {
        gcb_memory_save(gcb_exchange_memory(p->e[w]), residual, momentum, &summed);
        for (size_t i = 0; i < N; i++)
            if (residual[i] != r[w].V[i] || momentum[i] != r[w].U[i])
                fail_msg("%s, step %d, worker %u, element %zu: V = %a, U = %a, not %a and %a", spec,
                         (int)step, w, i, (double)residual[i], (double)momentum[i],
                         (double)r[w].V[i], (double)r[w].U[i]);
    }
}

static void follow(const char *spec, int how)
{
    const struct party_options o = {.workers = WORKERS, .weights = weights};
    struct worker *r = calloc(WORKERS, sizeof(*r));
    struct party p;

    assert_non_null(r);
    party_open(&p, spec, N, &o);
    for (uint64_t step = 0; step < STEPS; step++) {
        float update[N] = {0}, message[N];

        party_fill(&p, step + 1, 1.0f);
        party_step(&p, step);
        for (unsigned w = 0; w < WORKERS; w++) {
            if (how & WHOLE)
                whole_step(&r[w], p.x[w], how, message);
            else
                compressed_step(&r[w], p.x[w], step, how, message);
            for (size_t i = 0; i < N; i++)
                update[i] += weights[w] * message[i];
        }
        compare(&p, r, update, spec, step);
    }
    party_close(&p);
    free(r);
}

#define COMPRESSED "redsync:density=0.02,momentum=0.75,dense-below=0"
#define SMALL "redsync:density=0.02,momentum=0.75"

static void algorithm_4(void **state)
{
    follow(COMPRESSED, 0);
    follow(COMPRESSED ",quant=asq", QUANTISED);
    follow(COMPRESSED ",nesterov=redsync", NESTEROV);
    follow(COMPRESSED ",quant=asq,nesterov=redsync", QUANTISED | NESTEROV);
}

static void small_tensors_have_ordinary_momentum(void **state)
{
    follow(SMALL, WHOLE);
    follow(SMALL ",quant=asq", WHOLE);
    follow(SMALL ",nesterov=redsync", WHOLE | NESTEROV);
    follow("identity:memory=dgc,momentum=0.75", WHOLE); /* as replay sends --dense tensors */
    follow("identity:memory=dgc,momentum=0.75,collective=allgather", WHOLE);
}

/* If the values are sent exactly, to clear and to subtract is the same. */
static void other_choices(void **state)
{
    follow(COMPRESSED ",residual=subtract", 0);
    follow(COMPRESSED ",quant=asq,residual=subtract", QUANTISED | SUBTRACTS);
    follow(COMPRESSED ",quant=asq,masking=no", QUANTISED | UNMASKED);
    follow("topk:density=0.02,memory=dgc,momentum=0.75", 0);
}

/* nesterov=yes is that of optimisers (PyTorch's SGD): buffer = m buffer + g; the step is g + m
 * buffer. */
static void nesterov_of_optimisers(void **state)
{
    float buffer[N] = {0}, update[N];
    struct party p;

    party_open(&p, SMALL ",nesterov=yes", N, &(struct party_options){.workers = 1});
    for (uint64_t step = 0; step < STEPS; step++) {
        party_fill(&p, step + 1, 1.0f);
        party_step(&p, step);
        for (size_t i = 0; i < N; i++) {
            buffer[i] = m * buffer[i] + p.x[0][i];
            update[i] = m * buffer[i] + p.x[0][i];
        }
        assert_memory_equal(update, p.update[0], sizeof(update));
    }
    party_close(&p);
}

/* Which elements were sent is not known after a transform: nothing is masked, and the residual
 * stays. */
static void a_transform_sends_no_elements(void **state)
{
    static const char spec[] = "redsync:density=0.1,dense-below=0,transform=hadamard,momentum=0.75";
    float residual[N], momentum[N], u[N] = {0}, before[N];
    struct party p;
    uint64_t summed;

    party_open(&p, spec, N, &(struct party_options){.workers = 1});
    for (uint64_t step = 0; step < 4; step++) {
        gcb_memory_save(gcb_exchange_memory(p.e[0]), before, NULL, &summed);
        party_fill(&p, step + 1, 1.0f);
        party_step(&p, step);
        gcb_memory_save(gcb_exchange_memory(p.e[0]), residual, momentum, &summed);
        for (size_t i = 0; i < N; i++) {
            u[i] = m * u[i] + p.x[0][i];
            assert_true(momentum[i] == u[i]);
            assert_true(residual[i] == before[i] + u[i] - p.own[0][i]);
        }
    }
    party_close(&p);
}

RUN_TESTS(cmocka_unit_test(algorithm_4), cmocka_unit_test(small_tensors_have_ordinary_momentum),
          cmocka_unit_test(other_choices), cmocka_unit_test(nesterov_of_optimisers),
          cmocka_unit_test(a_transform_sends_no_elements))
