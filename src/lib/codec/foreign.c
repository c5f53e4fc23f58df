#include "src/lib/codec/foreign.h"

#include <stdio.h>
#include <xxhash.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"

/* Room for methods that cannot encode: they are known only from the rows of a result file. */
#define MOST_NAMED 64

/* A method that was added, its codec, and what both point to: the codec's parameter table, and the
 * method's name and parameters as text. */
struct entry {
    struct gcb_foreign foreign;
    struct gcb_codec codec;
    struct gcb_param params[2];
    char name[64], text[128];
};

static struct entry *entries[GCB_MOST_FOREIGN + MOST_NAMED];
static size_t count, can_encode; /* entries, and those whose method can encode */

struct state {
    struct gcb_codec_base base;
    uint64_t mark; /* parameter: tells the messages of this method from those of others */
    const struct gcb_foreign *foreign;
    struct gcb_diag why; /* the method's words about the last call; empty if there are none */
};

/* Keeps the method's words for the coder. Returns the status `err` of a function of the method, or
 * GCB_E_INTERNAL if `err` is positive. */
static int report(struct state *s, int err)
{
    s->base.words = err && s->why.text[0] ? s->why.text : NULL;
    return err > 0 ? GCB_E_INTERNAL : err;
}

static const struct entry *entry_of(uint8_t wire_id)
{
    for (size_t i = 0; i < count; i++)
        if (entries[i]->codec.wire_id == wire_id && entries[i]->foreign.own.encode)
            return entries[i];
    return NULL;
}

static int init(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag)
{
    const struct entry *e = entry_of(env->wire_id);
    struct state *s = state;
    size_t bound = 0;
    int err = 0;

    if (!e)
        return gcb_diag_set(diag, GCB_E_UNSUPPORTED, "its plug-in is missing; only rows name it");
    s->foreign = &e->foreign;
    if (!env->decoding)
        err = s->foreign->own.bound(s->foreign->own.ctx, env->count, &bound, diag);
    s->base.max_payload = bound;
    s->base.length_varies = true;
    return err > 0 ? GCB_E_INTERNAL : err;
}

static int encode(void *state, const struct gcb_step *at, const struct gcb_view *in,
                  struct gcb_wbuf *out)
{
    struct state *s = state;
    const struct gcb_own_method *own = &s->foreign->own;
    const struct gcb_own_at where = {s->base.env.seed, at->step, at->worker};
    const size_t left = out->cap - out->len;
    const size_t room = left < s->base.max_payload ? left : s->base.max_payload;
    size_t length = 0;
    int err;

    s->why.text[0] = '\0';
    err = own->encode(own->ctx, &where, in->data, in->count, out->data + out->len, room, &length,
                      &s->why);
    if (!err && length > room)
        err = gcb_diag_set(&s->why, GCB_E_NOSPACE,
                           "a message of %zu bytes is longer than its bound of %zu", length, room);
    if (!err)
        gcb_wbuf_take(out, length);
    return report(s, err);
}

static int read(void *state, struct gcb_rbuf *in, float *out, const struct gcb_addition *to)
{
    struct state *s = state;
    const struct gcb_own_method *own = &s->foreign->own;
    const size_t length = gcb_rbuf_left(in);

    if (to)
        return GCB_E_UNSUPPORTED; /* the coder decodes and adds */
    s->why.text[0] = '\0';
    return report(s, own->decode(own->ctx, gcb_rbuf_take(in, length), length, out,
                                 s->base.env.count, &s->why));
}

/* Counts the bytes of the payload as its symbols. Also makes the method's check, if it has one. */
static int describe(void *state, struct gcb_rbuf *in, struct gcb_parts *parts)
{
    struct state *s = state;
    const size_t length = gcb_rbuf_left(in);
    const uint8_t *payload = gcb_rbuf_take(in, length);
    uint64_t histogram[256] = {0};

    for (size_t i = 0; i < length; i++)
        histogram[payload[i]]++;
    parts->value_bytes = length;
    parts->kept = parts->positions = s->base.env.count;
    parts->entropy0_bits = gcb_entropy0(histogram, 256);
    s->why.text[0] = '\0';
    return !s->foreign->check ? 0
                              : report(s, s->foreign->check(s->foreign->own.ctx, payload, length,
                                                            s->base.env.count, &s->why));
}

static const struct gcb_codec_ops ops = {
    .state_size = sizeof(struct state),
    .init = init,
    .encode = encode,
    .read = read,
    .describe = describe,
};

/* Makes the codec of an entry, whose method, name and text are set. */
static void make_codec(struct entry *e)
{
    char all[sizeof(e->name) + sizeof(e->text)];
    const int length = snprintf(all, sizeof(all), "%s:%s", e->name, e->text);
    /* with its highest bit set, so that the parameter always takes four bytes */
    const double mark = (double)(XXH32(all, (size_t)length, 0) | UINT32_C(1) << 31);

    e->params[0] = (struct gcb_param){
        .name = "name and parameters of the plug-in",
        .help = "a number that depends on name and parameters",
        .type = GCB_PARAM_INT,
        .offset = offsetof(struct state, mark),
        .def = mark,
        .min = mark,
        .max = mark,
        .flags = GCB_PARAM_WIRE,
    };
    e->codec = (struct gcb_codec){
        .name = e->name,
        .text = e->text,
        .timed = e->foreign.timed,
        .summary = "a plug-in",
        .source = "none",
        .guarantee = "nothing is known",
        .cpu_only = true,
        .caps = GCB_CAP_FOREIGN | GCB_CAP_NO_CONTRACTION,
        .params = e->params,
        .ops = &ops,
    };
}

/* True if the text has fewer than `size` bytes, none of which gcb_escape_again would escape. */
static bool is_plain(const char *text, size_t size)
{
    char shown[256];

    return strlen(text) < size && strcmp(gcb_escape_again(shown, sizeof(shown), text), text) == 0;
}

int gcb_foreign_add(const struct gcb_codec **out, const struct gcb_foreign *foreign,
                    struct gcb_diag *diag)
{
    const char *name = foreign->own.name, *text = foreign->own.params ? foreign->own.params : "";
    const bool encodes = foreign->own.encode != NULL;
    const size_t most = encodes ? GCB_MOST_FOREIGN : MOST_NAMED;
    struct entry *e;

    for (size_t i = 0; i < count; i++) {
        e = entries[i];
        if (strcmp(e->name, name) != 0 || strcmp(e->text, text) != 0 ||
            (encodes && !e->foreign.own.encode))
            continue;
        if (encodes) {
            e->foreign = *foreign;
            e->codec.timed = foreign->timed;
        }
        *out = &e->codec;
        return 0;
    }
    if (!strchr(name, '/') || strpbrk(name, " :,=") || !is_plain(name, sizeof(e->name)) ||
        !is_plain(text, sizeof(e->text)))
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "'%s' cannot be the name of a method of your own: it has a '/', no "
                            "spaces and at most 63 bytes; its parameters have at most 127",
                            gcb_show(name).text);
    if ((encodes ? can_encode : count - can_encode) == most)
        return gcb_diag_set(diag, GCB_E_UNSUPPORTED, "a process has at most %zu methods of its own",
                            most);
    e = gcb_alloc_zero(1, sizeof(*e));
    if (!e)
        return gcb_diag_nomem(diag, sizeof(*e), "a method");
    e->foreign = *foreign;
    snprintf(e->name, sizeof(e->name), "%s", name);
    snprintf(e->text, sizeof(e->text), "%s", text);
    make_codec(e);
    if (encodes)
        e->codec.wire_id = (uint8_t)(GCB_WIRE_FOREIGN + can_encode++);
    entries[count++] = e;
    *out = &e->codec;
    return 0;
}

/* Returns what follows `begin` in a spec: the end, or one of the characters `ends`. Returns NULL if
 * anything else follows, or if the spec does not begin with `begin`. */
static const char *after(const char *spec, const char *begin, const char *ends)
{
    const size_t n = strlen(begin);

    return strncmp(spec, begin, n) == 0 && strchr(ends, spec[n]) ? spec + n : NULL;
}

const struct gcb_codec *gcb_foreign_find(const char *spec, const char **rest)
{
    const struct entry *found = NULL;

    for (size_t i = 0; i < count; i++) {
        const struct entry *e = entries[i];
        const char *p = after(spec, e->name, ":");

        if (p && *p == ':' && e->text[0])
            p = after(p + 1, e->text, ",");
        else if (p && e->text[0])
            p = NULL;
        if (!p || (found && strlen(found->text) > strlen(e->text)))
            continue;
        *rest = *p ? p + 1 : p;
        found = e;
    }
    return found ? &found->codec : NULL;
}

const struct gcb_codec *gcb_foreign_by_wire_id(uint8_t wire_id)
{
    const struct entry *e = entry_of(wire_id);

    return e ? &e->codec : NULL;
}
