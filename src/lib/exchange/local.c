#include "src/lib/exchange/local.h"

#include <string.h>

#include "src/lib/base/alloc.h"

static double now(const struct gcb_local *l)
{
    return l->clock ? l->clock() : 0.0;
}

/* Returns where to write the times of a round, or NULL if the round is not timed. */
static struct gcb_local_times *times_of(const struct gcb_local *l, unsigned round)
{
    return l->clock && round < l->time_count ? &l->times[round] : NULL;
}

/* Asks all workers what they send, and times worker 0. Returns 1, 0 if no round is left, or an
 * error. */
static int ask(struct gcb_local *l, struct gcb_exchange *const *e, unsigned round,
               struct gcb_diag *diag)
{
    struct gcb_local_times *times = times_of(l, round);
    const struct gcb_round *first = l->sent;
    int any = 0;

    for (unsigned w = 0; w < l->workers; w++) {
        const double begun = w ? 0.0 : now(l);
        int more;

        l->sent[w] = (struct gcb_round){.size = sizeof(l->sent[w])};
        more = gcb_exchange_next(e[w], &l->sent[w], diag);
        if (times && w == 0)
            *times = (struct gcb_local_times){.send = now(l) - begun};
        if (more < 0)
            return more;
        if (w && (more != any || l->sent[w].kind != first->kind ||
                  (first->kind == GCB_ROUND_REDUCE && l->sent[w].bytes != first->bytes)))
            return gcb_diag_set(diag, GCB_E_INTERNAL, "worker %u is in another round", w);
        any = more;
    }
    return any;
}

/* Copies the bytes of all workers to l->bytes, one worker after the other. Lets l->sent point to
 * the copies. */
static int copy_all(struct gcb_local *l, struct gcb_diag *diag)
{
    size_t total = 0;

    for (unsigned w = 0; w < l->workers; w++)
        total += l->sent[w].bytes;
    if (total > l->capacity) {
        gcb_free(l->bytes);
        l->capacity = 0;
        l->bytes = gcb_alloc(total);
        if (!l->bytes)
            return gcb_diag_nomem(diag, total, "what workers send");
        l->capacity = total;
    }
    total = 0;
    for (unsigned w = 0; w < l->workers; w++) {
        if (l->sent[w].bytes)
            memcpy(l->bytes + total, l->sent[w].data, l->sent[w].bytes);
        l->sent[w].data = l->bytes + total;
        total += l->sent[w].bytes;
    }
    return 0;
}

/* Hands worker w what arrived from worker `from`. Adds the time if w is 0. */
static int receive(const struct gcb_local *l, struct gcb_exchange *const *e, unsigned round,
                   unsigned w, unsigned from, const void *data, size_t length,
                   struct gcb_diag *diag)
{
    struct gcb_local_times *times = w == 0 ? times_of(l, round) : NULL;
    const double begun = times ? now(l) : 0.0;
    const int err = gcb_exchange_receive(e[w], from, data, length, diag);

    if (times)
        times->receive += now(l) - begun;
    return err;
}

/* GATHER: hands all bytes of each worker to all workers. SCATTER: hands each part to its worker. */
static int deliver(const struct gcb_local *l, struct gcb_exchange *const *e, unsigned round,
                   uint64_t *link_bytes, struct gcb_diag *diag)
{
    const bool scatters = l->sent[0].kind == GCB_ROUND_SCATTER;
    int err = 0;

    for (unsigned from = 0; !err && from < l->workers; from++) {
        const uint8_t *data = l->sent[from].data;

        for (unsigned w = 0; !err && w < l->workers; w++) {
            const size_t length = scatters ? l->sent[from].parts[w] : l->sent[from].bytes;

            *link_bytes += w == from ? 0 : length;
            err = receive(l, e, round, w, from, data, length, diag);
            data += scatters ? length : 0;
        }
    }
    return err;
}

/* SHIFT: hands each worker the bytes of the worker from which it receives. */
static int shift(const struct gcb_local *l, struct gcb_exchange *const *e, unsigned round,
                 uint64_t *link_bytes, struct gcb_diag *diag)
{
    int err = 0;

    for (unsigned w = 0; !err && w < l->workers; w++) {
        const unsigned from = l->sent[w].from;
        const size_t length = from == w ? 0 : l->sent[from].bytes;

        if (from != w && l->sent[from].to != w)
            return gcb_diag_set(diag, GCB_E_INTERNAL, "worker %u sends to another worker", from);
        *link_bytes += length;
        err = receive(l, e, round, w, from, l->sent[from].data, length, diag);
    }
    return err;
}

/* REDUCE: combines the values of all workers, and hands the result to all. */
static int reduce(const struct gcb_local *l, struct gcb_exchange *const *e, unsigned round,
                  uint64_t *link_bytes, struct gcb_diag *diag)
{
    const struct gcb_round *sent = l->sent;
    struct gcb_local_times *times = times_of(l, round);
    const double begun = now(l);
    int err = 0;

    *link_bytes = 2 * (uint64_t)(l->workers - 1) * sent[0].bytes;
    if (l->combine)
        l->combine(l->ctx, round, sent, l->bytes);
    for (unsigned w = 1; !l->combine && w < l->workers; w++)
        gcb_reduction_combine(sent[0].reduction, l->bytes, sent[w].data, sent[w].bytes);
    if (times && l->workers > 1)
        times->combine = (now(l) - begun) / (l->workers - 1);
    for (unsigned w = 0; !err && w < l->workers; w++)
        err = receive(l, e, round, w, 0, l->bytes, sent[0].bytes, diag);
    return err;
}

int gcb_local_run(struct gcb_local *l, struct gcb_exchange *const *e, struct gcb_diag *diag)
{
    if (!l->sent)
        l->sent = gcb_alloc_array(l->workers, sizeof(*l->sent));
    if (!l->sent)
        return gcb_diag_nomem(diag, l->workers * sizeof(*l->sent), "a round");
    for (unsigned round = 0;; round++) {
        const int more = ask(l, e, round, diag);
        const enum gcb_round_kind kind = l->sent[0].kind;
        uint64_t link_bytes = 0;
        int err;

        if (more <= 0)
            return more;
        err = copy_all(l, diag);
        if (!err)
            err = (kind == GCB_ROUND_REDUCE  ? reduce
                   : kind == GCB_ROUND_SHIFT ? shift
                                             : deliver)(l, e, round, &link_bytes, diag);
        if (err)
            return err;
        if (l->observe)
            l->observe(l->ctx, round, l->sent, link_bytes);
    }
}

uint64_t gcb_local_between(const struct gcb_round *sent, unsigned workers, unsigned node)
{
    uint64_t bytes = 0;

    for (unsigned w = 0; w < workers; w++)
        for (unsigned to = 0; to < workers; to++)
            if (to / node != w / node)
                bytes += sent[w].parts ? sent[w].parts[to] : sent[w].bytes;
    return bytes;
}

void gcb_local_fini(struct gcb_local *l)
{
    gcb_free(l->sent);
    gcb_free(l->bytes);
    memset(l, 0, sizeof(*l));
}
