#include "tests/support/party.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/test.h"
#include "tests/support/trip.h"

static void observe(void *ctx, unsigned round, const struct gcb_round *sent, uint64_t link_bytes)
{
    struct party *p = ctx;

    assert_true(round < PARTY_ROUNDS);
    p->round[round] = sent[0];
    p->round[round].data = NULL;
    p->round[round].parts = NULL;
    p->link_bytes[round] = link_bytes;
    p->rounds = round + 1;
}

void party_open(struct party *p, const char *spec, uint64_t n, const struct party_options *o)
{
    static const struct party_options defaults;
    struct gcb_diag diag = {.text = ""};

    o = o ? o : &defaults;
    memset(p, 0, sizeof(*p));
    p->workers = o->workers ? o->workers : 2;
    p->n = n;
    p->in_place = o->in_place;
    p->local = (struct gcb_local){.workers = p->workers, .observe = observe, .ctx = p};
    assert_true(p->workers <= PARTY_MOST);
    for (unsigned w = 0; w < p->workers; w++) {
        const struct gcb_options options = {
            .size = sizeof(options),
            .threads = o->threads,
            .rank = o->rank,
            .shape = o->shape,
            .seed = o->seed,
            .path = "tensor",
            .nonfinite = o->nonfinite,
            .workers = p->workers,
            .worker = w,
            .weights = o->weights,
        };

        if (gcb_exchange_open(&p->e[w], spec, n, &options, &diag))
            fail_msg("%s: %s", spec, diag.text);
        p->x[w] = calloc(n + 1, sizeof(float));
        p->update[w] = calloc(n + 1, sizeof(float));
        p->own[w] = calloc(n + 1, sizeof(float));
        assert_true(p->x[w] && p->update[w] && p->own[w]);
    }
}

void party_fill(struct party *p, uint64_t seed, float common)
{
    float *shared = trip_tensor(p->n, TRIP_LAPLACE, seed);

    for (unsigned w = 0; w < p->workers; w++) {
        trip_fill(p->x[w], p->n, TRIP_LAPLACE, seed * 100 + w + 1);
        for (uint64_t i = 0; i < p->n; i++)
            p->x[w][i] += common * shared[i];
    }
    free(shared);
}

void party_step(struct party *p, uint64_t step)
{
    struct gcb_diag diag = {.text = ""};
    float *update[PARTY_MOST];

    p->rounds = 0;
    for (unsigned w = 0; w < p->workers; w++) {
        update[w] = p->update[w];
        if (gcb_exchange_begin(p->e[w], step, p->x[w], &diag))
            fail_msg("begin: %s", diag.text);
        if (p->in_place && gcb_exchange_sum_into(p->e[w], p->x[w], &diag))
            update[w] = p->x[w];
    }
    if (gcb_local_run(&p->local, p->e, &diag))
        fail_msg("round %u: %s", p->rounds, diag.text);
    for (unsigned w = 0; w < p->workers; w++) {
        if (gcb_exchange_conclude(p->e[w], update[w], p->own[w], &diag) ||
            gcb_exchange_learn(p->e[w], p->own[w], &diag))
            fail_msg("conclude: %s", diag.text);
        if (update[w] != p->update[w])
            memcpy(p->update[w], update[w], p->n * sizeof(float));
        assert_memory_equal(p->update[w], p->update[0], p->n * sizeof(float));
    }
}

void party_close(struct party *p)
{
    for (unsigned w = 0; w < p->workers; w++) {
        gcb_exchange_close(p->e[w]);
        free(p->x[w]);
        free(p->update[w]);
        free(p->own[w]);
    }
    gcb_local_fini(&p->local);
    memset(p, 0, sizeof(*p));
}

float *party_sum(float *const *x, unsigned workers, uint64_t n, const float *weights)
{
    float *sum = calloc(n + 1, sizeof(*sum));

    assert_non_null(sum);
    for (uint64_t i = 0; i < n; i++) {
        double s = 0.0;

        for (unsigned w = 0; w < workers; w++)
            s += (double)(weights ? weights[w] : 1.0f / (float)workers) * (double)x[w][i];
        sum[i] = (float)s;
    }
    return sum;
}

double party_distance(const float *a, const float *b, uint64_t n)
{
    const double norm = trip_norm(b, n), distance = trip_distance(a, b, n);

    return norm > 0.0 ? sqrt(distance / norm) : distance > 0.0 ? INFINITY : 0.0;
}
