#include "tests/contract/lax_sum.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/sums.h"

struct gcb_sum {
    float *part[2], *into;
    uint64_t n;
    int threads;
    unsigned added;
};

enum lax_defect lax_defect;

static int create(struct gcb_sum **out, const struct gcb_method *method, float *into,
                  const struct gcb_coder_config *config, struct gcb_diag *diag)
{
    struct gcb_sum *s = calloc(1, sizeof(*s));

    (void)method;
    (void)diag;
    s->n = config->env.count;
    s->threads = config->env.queue->threads;
    s->into = into;
    s->part[0] = calloc(s->n + 1, sizeof(float));
    s->part[1] = calloc(s->n + 1, sizeof(float));
    *out = s;
    return 0;
}

static int add(struct gcb_sum *s, const void *message, size_t length, float weight,
               struct gcb_diag *diag)
{
    float *x = calloc(s->n + 1, sizeof(float));
    const int err = sums_decode(x, message, length, s->n, 0);
    const unsigned number = s->added;
    const bool second = lax_defect == LAX_THREADS && s->threads > 1 && number % 2;

    (void)diag;
    if (lax_defect == LAX_INTO && s->into && number == 0)
        memcpy(s->part[0], s->into, s->n * sizeof(float));
    if (!err)
        sums_add(s->part[second], x, s->n, lax_defect == LAX_WEIGHT && number == 1 ? 1.0f : weight);
    else if (err && lax_defect == LAX_HALF)
        sums_add(s->part[0], x, s->n / 2, weight);
    s->added += !err;
    free(x);
    return err;
}

static int finish(struct gcb_sum *s, float *x, struct gcb_diag *diag)
{
    float *out = x ? x : s->into;

    (void)diag;
    memcpy(out, s->part[0], s->n * sizeof(float));
    sums_add(out, s->part[1], s->n, 1.0f);
    memset(s->part[0], 0, s->n * sizeof(float));
    memset(s->part[1], 0, s->n * sizeof(float));
    s->added = 0;
    return 0;
}

static void close(struct gcb_sum *s)
{
    if (!s)
        return;
    free(s->part[0]);
    free(s->part[1]);
    free(s);
}

const struct sum_fns lax_sum = {create, add, finish, close};
