#include "tests/contract/team.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char team_why[GCB_DIAG_TEXT + 80];

static bool failed(const struct team *t, const char *what, unsigned worker)
{
    snprintf(team_why, sizeof(team_why), "%s, worker %u: %s", what, worker, t->diag.text);
    return false;
}

bool team_open(struct team *t, const struct team_case *c)
{
    struct gcb_queue queue = {.threads = c->threads ? c->threads : 1};
    struct gcb_exchange_config config = {
        .coder = {.env = {.count = c->n,
                          .shape = c->shape,
                          .rank = c->rank,
                          .seed = 7,
                          .path = "a/b",
                          .queue = &queue},
                  .nonfinite = c->nonfinite,
                  .max_elements = UINT64_C(1) << 34},
        .workers = c->workers,
        .weights = c->weights,
    };

    *t = (struct team){.c = c};
    for (unsigned w = 0; w < c->workers; w++) {
        t->update[w] = calloc(c->n ? c->n : 1, sizeof(float));
        t->own[w] = calloc(c->n ? c->n : 1, sizeof(float));
        config.worker = w;
        if (gcb_exchange_create(&t->e[w], c->method, &config, &t->diag))
            return failed(t, "open", w);
    }
    return true;
}

static void throw_away(struct team *t)
{
    for (unsigned from = 0; from < TEAM_MOST; from++)
        for (unsigned to = 0; to < TEAM_MOST; to++)
            free(t->sent[from][to].bytes);
    memset(t->sent, 0, sizeof(t->sent));
}

void team_close(struct team *t)
{
    for (unsigned w = 0; w < t->c->workers; w++) {
        gcb_exchange_close(t->e[w]);
        free(t->update[w]);
        free(t->own[w]);
    }
    throw_away(t);
}

static struct parcel copy_of(const uint8_t *data, size_t length)
{
    struct parcel p = {.bytes = malloc(length ? length : 1), .length = length};

    if (length)
        memcpy(p.bytes, data, length);
    return p;
}

static void keep(struct team *t, unsigned from, const struct gcb_round *r)
{
    const uint8_t *data = r->data;

    if (r->kind != GCB_ROUND_SCATTER)
        t->sent[from][0] = copy_of(data, r->bytes);
    for (unsigned to = 0; r->kind == GCB_ROUND_SCATTER && to < t->c->workers; to++) {
        t->sent[from][to] = copy_of(data, r->parts[to]);
        data += r->parts[to];
    }
}

static bool fits(const struct team *t, const struct gcb_round *r, const struct gcb_round *first)
{
    size_t parts = 0;

    if (r->kind != first->kind)
        return false;
    if (r->kind == GCB_ROUND_REDUCE)
        return r->reduction == first->reduction && r->bytes == first->bytes &&
               r->bytes % gcb_reduction_size(r->reduction) == 0;
    for (unsigned to = 0; r->kind == GCB_ROUND_SCATTER && to < t->c->workers; to++)
        parts += r->parts[to];
    return r->kind != GCB_ROUND_SCATTER || parts == r->bytes;
}

/* Asks all workers what they send. *more: true if there is a round. */
static bool ask(struct team *t, bool *more)
{
    struct gcb_round *first = &t->round[t->rounds];

    throw_away(t);
    for (unsigned w = 0; w < t->c->workers; w++) {
        struct gcb_round r = {.size = sizeof(r)};
        const int got = gcb_exchange_next(t->e[w], &r, &t->diag);

        if (w == 0) {
            *more = got;
            *first = r;
        }
        if (got < 0)
            return failed(t, "next", w);
        if ((got == 1) != *more || (got && !fits(t, &r, first))) {
            t->diag = (struct gcb_diag){.text = "another round than worker 0"};
            return failed(t, "next", w);
        }
        if (got)
            keep(t, w, &r);
        t->from[w] = r.from;
    }
    first->data = NULL;
    first->parts = NULL;
    return true;
}

static bool hand_over(struct team *t, uint32_t from, const struct parcel *p, unsigned to)
{
    struct parcel copy = copy_of(p->bytes, p->length);
    int err;

    if (t->damage && to == 0)
        t->damage(t->ctx, t->rounds, from, &copy);
    err = gcb_exchange_receive(t->e[to], from, copy.bytes, copy.length, &t->diag);
    free(copy.bytes);
    return err ? failed(t, "receive", to) : true;
}

static bool reduce(struct team *t)
{
    const unsigned n = t->c->workers, first = t->backwards ? n - 1 : 0;
    const struct parcel *all = &t->sent[first][0];
    bool well = true;

    for (unsigned i = 1; i < n; i++) {
        const struct parcel *one = &t->sent[t->backwards ? n - 1 - i : i][0];

        gcb_reduction_combine(t->round[t->rounds].reduction, all->bytes, one->bytes, one->length);
    }
    for (unsigned to = 0; to < n && well; to++)
        well = hand_over(t, 0, all, to);
    return well;
}

static bool deliver(struct team *t)
{
    const bool scatter = t->round[t->rounds].kind == GCB_ROUND_SCATTER;
    const bool shift = t->round[t->rounds].kind == GCB_ROUND_SHIFT;
    const struct parcel nothing = {.length = 0};
    bool well = true;

    if (t->round[t->rounds].kind == GCB_ROUND_REDUCE)
        return reduce(t);
    for (unsigned to = 0; shift && to < t->c->workers && well; to++)
        well =
            hand_over(t, t->from[to], t->from[to] == to ? &nothing : &t->sent[t->from[to]][0], to);
    if (shift)
        return well;
    for (unsigned from = 0; from < t->c->workers; from++)
        for (unsigned to = 0; to < t->c->workers && well; to++)
            well = hand_over(t, from, &t->sent[from][scatter ? to : 0], to);
    return well;
}

bool team_step(struct team *t, uint64_t step, const float *const *x)
{
    bool more = true;
    uint32_t from;

    t->rounds = 0;
    t->diag = (struct gcb_diag){.status = 0};
    for (unsigned w = 0; w < t->c->workers; w++)
        if (gcb_exchange_begin(t->e[w], step, x[w], &t->diag))
            return failed(t, "begin", w);
    for (;; t->rounds++) {
        if (!ask(t, &more))
            return false;
        if (!more)
            break;
        if (t->leave && t->rounds + 1 == t->leave) { /* some have received, some have not */
            const bool shift = t->round[t->rounds].kind == GCB_ROUND_SHIFT;

            from = shift ? t->from[0] : 0;
            return hand_over(t, from, &t->sent[from][0], 0);
        }
        if (t->rounds + 1 == TEAM_ROUNDS || !deliver(t))
            return false;
    }
    for (unsigned w = 0; w < t->c->workers; w++)
        if (gcb_exchange_conclude(t->e[w], t->update[w], t->own[w], &t->diag) ||
            gcb_exchange_learn(t->e[w], t->own[w], &t->diag))
            return failed(t, "conclude", w);
    return true;
}
