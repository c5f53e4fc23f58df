/*
 * An exchange whose worker 0 gets other bytes than the others send. An input is a byte of options,
 * the number of a method, a collective, a length (2 bytes), and for each array that worker 0 gets
 * what happens to it: a byte, and what it takes. Worker 0 ends its step or fails. If nothing was
 * changed, all workers get the same update.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/contract/team.h"
#include "tests/fuzz/fuzz.h"

enum { WORKERS = 3, FEEDBACK = 4, RAW = 8, SHAPE = 16 }; /* options; the lowest bits: workers - 1 */
enum { SAME, REPLACE, CHANGE, CUT, WAYS };

#define LONGEST 600
#define STEPS 3

struct input {
    const uint8_t *data;
    size_t left;
    bool changed; /* worker 0 got something else */
};

static unsigned take_byte(struct input *in)
{
    if (!in->left)
        return 0;
    in->left--;
    return *in->data++;
}

static unsigned take_u16(struct input *in)
{
    const unsigned low = take_byte(in);

    return low | take_byte(in) << 8;
}

static void replace(struct parcel *p, const uint8_t *bytes, size_t length)
{
    const struct parcel other = {.bytes = malloc(length ? length : 1), .length = length};

    if (!other.bytes)
        abort();
    if (length)
        memcpy(other.bytes, bytes, length);
    free(p->bytes);
    *p = other;
}

static void damage(void *ctx, unsigned round, uint32_t from, struct parcel *p)
{
    struct input *in = ctx;
    const unsigned way = take_byte(in) % WAYS, number = way == SAME ? 0 : take_u16(in);

    in->changed |= way != SAME;
    if (way == REPLACE) {
        const size_t length = number < in->left ? number : in->left;

        replace(p, in->data, length);
        in->data += length;
        in->left -= length;
    } else if (way == CHANGE && p->length) {
        p->bytes[number % p->length] ^= (uint8_t)take_byte(in);
    } else if (way == CUT) {
        replace(p, p->bytes, number % (p->length + 1));
    }
}

/* The method with one of its collectives. */
static void read_method(struct gcb_method *m, struct input *in, unsigned options)
{
    size_t methods = 0;
    unsigned wanted, can;

    while (gcb_method_at(m, methods))
        methods++;
    gcb_method_at(m, take_byte(in) % methods);
    gcb_method_forget(m);
    if (options & FEEDBACK)
        (void)gcb_method_change(m, "memory", "ef", NULL);
    can = gcb_method_collectives(m);
    wanted = take_byte(in) % GCB_COLLECTIVES;
    if (can & GCB_COLLECTIVE_BIT(wanted))
        (void)gcb_method_change(m, "collective", gcb_collective_names[wanted], NULL);
}

static void fill(float *x, uint64_t n, uint32_t seed)
{
    for (uint64_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = seed >> 29 == 0 ? 0.0f : (float)((int32_t)(seed >> 16) % 2000 - 1000) * 1e-3f;
    }
}

static void check(struct team *t, struct input *in)
{
    static const int allowed[] = {GCB_E_CORRUPT,  GCB_E_UNSUPPORTED, GCB_E_NOMEM,
                                  GCB_E_MISMATCH, GCB_E_NONFINITE,   0};
    const bool done = team_step(t, 0, t->c->x);

    if (!done && t->diag.status == 0) /* another round than the others, because of what it got */
        fuzz_require(in->changed, "workers have the same rounds", &t->diag);
    else
        fuzz_require_status(done ? 0 : t->diag.status, &t->diag, allowed);
    fuzz_require(done || in->changed, "a step without damage ends", &t->diag);
    for (unsigned w = 1; w < t->c->workers && !in->changed; w++)
        fuzz_require(t->c->n == 0 ||
                         memcmp(t->update[w], t->update[0], t->c->n * sizeof(float)) == 0,
                     "all workers get the same update", NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static float x[WORKERS + 1][LONGEST];
    struct input in = {.data = data, .left = size};
    struct team_case c = {.workers = 1};
    struct gcb_method method;
    uint64_t shape[2] = {1, 1};
    struct team t;
    unsigned options;

    if (size < 5)
        return 0;
    options = take_byte(&in);
    c.workers = 1 + (options & WORKERS);
    read_method(&method, &in, options);
    c.method = &method;
    c.n = take_u16(&in) % LONGEST;
    c.nonfinite = options & RAW ? GCB_NONFINITE_RAW : GCB_NONFINITE_ERROR;
    if (options & SHAPE && c.n) {
        shape[0] = c.n % 20 ? 1 : 20;
        shape[1] = c.n / shape[0];
        c.shape = shape;
        c.rank = 2;
    }
    for (unsigned w = 0; w < c.workers; w++) {
        fill(x[w], c.n, w + 1);
        c.x[w] = x[w];
        c.weights[w] = 0.5f * (float)(w + 1);
    }
    fuzz_require(team_open(&t, &c), "an exchange opens", &t.diag);
    t.damage = damage;
    t.ctx = &in;
    for (unsigned step = 0; step < STEPS; step++)
        check(&t, &in);
    team_close(&t);
    return 0;
}
