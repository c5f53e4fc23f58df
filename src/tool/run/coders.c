#include "src/tool/run/coders.h"
#include "src/tool/base/memory.h"

#include <string.h>

/* Most coders and sums in the cache. Without this limit, many small coders could take much memory,
 * because the budget counts only elements. */
#define SLOTS 1024

/* An encoder, a decoder or a sum. */
struct slot {
    struct gcb_coder *coder;         /* NULL: a sum */
    struct gcb_sum *sum;             /* NULL: a coder */
    const struct gcb_method *method; /* NULL: a decoder */
    char *path;                      /* path of an encoder's tensor; owned; NULL for others */
    struct gcb_codec_env env; /* an encoder's configuration; for others only env.count is set */
    enum gcb_dtype source;    /* source type of an encoder */
};

struct gcb_coders {
    uint64_t budget, held; /* numbers of elements: the limit, and those of all slots together */
    size_t count;
    struct slot slot[SLOTS];
};

struct gcb_coders *gcb_coders_create(uint64_t budget)
{
    struct gcb_coders *c = gcb_must_zero(1, sizeof(*c));

    c->budget = budget;
    return c;
}

static void release(struct slot *s)
{
    gcb_coder_destroy(s->coder);
    gcb_sum_close(s->sum);
    gcb_free(s->path);
}

void gcb_coders_destroy(struct gcb_coders *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->count; i++)
        release(&c->slot[i]);
    gcb_free(c);
}

/* Removes slot i; the last slot takes its place. */
static void drop(struct gcb_coders *c, size_t i)
{
    c->held -= c->slot[i].env.count;
    release(&c->slot[i]);
    c->slot[i] = c->slot[--c->count];
}

static void drop_largest(struct gcb_coders *c)
{
    size_t largest = 0;

    for (size_t i = 1; i < c->count; i++)
        if (c->slot[i].env.count > c->slot[largest].env.count)
            largest = i;
    drop(c, largest);
}

/* Drops slots until a coder for `count` elements fits, or no slot is left. Called before that coder
 * is created, so that old and new coders are not in memory together. */
static void make_room(struct gcb_coders *c, uint64_t count)
{
    while (c->count && (c->count == SLOTS || c->held > c->budget || count > c->budget - c->held))
        drop_largest(c);
}

/* True if both arrays have the same numbers, or both are NULL. */
static bool same_numbers(const uint64_t *a, size_t count, const uint64_t *b, size_t others)
{
    if (!a || !b)
        return a == b;
    return count == others && memcmp(a, b, count * sizeof(*a)) == 0;
}

/* True if the slot's coder is an encoder for `method` with `config`. */
static bool is_encoder_for(const struct slot *s, const struct gcb_method *method,
                           const struct gcb_coder_config *config)
{
    return s->coder && s->method == method && s->env.count == config->env.count &&
           s->source == config->source && s->env.role == config->env.role &&
           strcmp(s->path, config->env.path) == 0 &&
           same_numbers(s->env.shape, s->env.rank, config->env.shape, config->env.rank) &&
           same_numbers(s->env.joined, s->env.joined_length, config->env.joined,
                        config->env.joined_length);
}

static void keep(struct gcb_coders *c, const struct slot *s)
{
    c->slot[c->count++] = *s;
    c->held += s->env.count;
}

int gcb_coders_encoder(struct gcb_coders *c, struct gcb_coder **out,
                       const struct gcb_method *method, const struct gcb_coder_config *config,
                       struct gcb_diag *diag)
{
    struct slot s = {.method = method, .env = config->env, .source = config->source};
    int err;

    for (size_t i = 0; i < c->count; i++) {
        if (!is_encoder_for(&c->slot[i], method, config))
            continue;
        if (gcb_method_caps(method) & GCB_CAP_STATEFUL) {
            drop(c, i);
            break;
        }
        *out = c->slot[i].coder;
        return 0;
    }
    make_room(c, config->env.count);
    s.path = gcb_must_strdup(config->env.path);
    err = gcb_coder_create(&s.coder, method, config, diag);
    if (err) {
        release(&s);
        return err;
    }
    keep(c, &s);
    *out = s.coder;
    return 0;
}

int gcb_coders_decoder(struct gcb_coders *c, struct gcb_coder **out, const void *message,
                       size_t length, const struct gcb_coder_config *config, struct gcb_diag *diag)
{
    struct gcb_rbuf payload;
    struct gcb_frame frame;
    struct slot s = {0};
    int err = gcb_frame_parse(&frame, &payload, message, length, diag);

    if (err)
        return err;
    for (size_t i = 0; i < c->count; i++)
        if (c->slot[i].coder && !c->slot[i].method && gcb_coder_accepts(c->slot[i].coder, &frame)) {
            *out = c->slot[i].coder;
            return 0;
        }
    make_room(c, frame.count);
    err = gcb_coder_create_decoder(&s.coder, message, length, config, diag);
    if (err)
        return err;
    s.env.count = frame.count;
    keep(c, &s);
    *out = s.coder;
    return 0;
}

int gcb_coders_sum(struct gcb_coders *c, struct gcb_sum **out, const struct gcb_method *method,
                   const struct gcb_wbuf *message, float *into,
                   const struct gcb_coder_config *config, struct gcb_diag *diag)
{
    struct gcb_rbuf payload;
    struct gcb_frame frame;
    struct slot s = {.method = method};
    int err = gcb_frame_parse(&frame, &payload, message->data, message->len, diag);

    if (err)
        return err;
    for (size_t i = 0; i < c->count; i++)
        if (c->slot[i].sum && c->slot[i].method == method && c->slot[i].env.count == frame.count) {
            *out = c->slot[i].sum;
            return 0;
        }
    make_room(c, frame.count);
    err = gcb_sum_create_like(&s.sum, message->data, message->len, into, config, diag);
    if (err)
        return err;
    s.env.count = frame.count;
    keep(c, &s);
    *out = s.sum;
    return 0;
}

int gcb_coders_room(struct gcb_room *room, struct gcb_wbuf *message, const struct gcb_coder *coder,
                    bool raw, struct gcb_diag *diag)
{
    const size_t bound = gcb_coder_bound(coder), least = raw ? gcb_coder_raw_bytes(coder) : 0;
    const size_t bytes = bound > least ? bound : least;
    /* the header ends, and the payload begins, on a multiple of GCB_ALIGN */
    const size_t shift = (GCB_ALIGN - gcb_coder_head(coder) % GCB_ALIGN) % GCB_ALIGN;

    const int err = gcb_room_reserve(room, bytes + GCB_ALIGN, "a message", diag);

    if (!err)
        *message = (struct gcb_wbuf){.data = room->block + shift, .cap = room->size - shift};
    return err;
}
