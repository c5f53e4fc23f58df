#include "src/lib/exchange/shares.h"

#include <math.h>

#include "kernels/base/hd.h"
#include "src/lib/base/alloc.h"
#include "src/lib/codec/packed.h"

uint64_t gcb_share_begin(const struct gcb_shares *s, uint64_t share)
{
    const uint64_t count = s->env->coder.env.count, units = (count + s->unit - 1) / s->unit;
    const uint64_t each = units / s->count, more = units % s->count;
    const uint64_t at = share * s->run, begin = s->unit * (at * each + (at < more ? at : more));

    return begin < count ? begin : count;
}

uint64_t gcb_share_length(const struct gcb_shares *s, uint64_t share)
{
    return gcb_share_begin(s, share + 1) - gcb_share_begin(s, share);
}

#define UNIT 64 /* elements: four cache lines */

static uint64_t choose_unit(const struct gcb_collective_env *env, uint32_t count)
{
    const uint64_t average = env->coder.env.count / count;
    double unit;

    if (!gcb_method_value(&env->method, "bucket", &unit) || unit < 1)
        unit = UNIT;
    return unit <= (double)average ? (uint64_t)unit : 1;
}

/* If no share of this length has coders yet, returns the first entry without coders. */
struct gcb_share_coders *gcb_share_coders(struct gcb_shares *s, uint64_t share)
{
    const uint64_t count = gcb_share_length(s, share);
    struct gcb_share_coders *c = s->coders;

    while (c->encoder && c->count != count)
        c++;
    return c;
}

struct gcb_coder_config gcb_share_config(const struct gcb_shares *s, uint64_t length)
{
    struct gcb_coder_config config = s->env->coder;

    config.env.count = length;
    config.env.shape = config.env.joined = NULL;
    config.env.rank = 0;
    return config;
}

/* Makes the coders for the length of a share, unless an earlier share has the same length. */
static int make_coders(struct gcb_shares *s, uint32_t share, struct gcb_diag *diag)
{
    struct gcb_share_coders *c = gcb_share_coders(s, share);
    struct gcb_coder_config config = gcb_share_config(s, gcb_share_length(s, share));
    size_t raw;
    int err;

    if (c->encoder)
        return 0;
    c->count = config.env.count;
    err = gcb_coder_create(&c->encoder, &s->env->method, &config, diag);
    if (err)
        return err;
    c->room = gcb_coder_bound(c->encoder);
    raw = gcb_coder_raw_bytes(c->encoder);
    c->room = c->room > raw ? c->room : raw;
    config.env.decoding = true;
    return gcb_coder_create(&c->decoder, &s->env->method, &config, diag);
}

int gcb_shares_init(struct gcb_shares *s, const struct gcb_collective_env *env, uint32_t count,
                    uint32_t run, struct gcb_diag *diag)
{
    int err = 0;

    if (env->workers > GCB_SHARE_WORKERS)
        return gcb_invalid(diag, "collective=%s works with at most %u workers, not with %u",
                           gcb_collective_names[gcb_method_collective(&env->method)],
                           GCB_SHARE_WORKERS, env->workers);
    s->env = env;
    s->count = count;
    s->run = run;
    s->unit = choose_unit(env, count);
    for (uint32_t share = 0; !err && share < count / run; share++)
        if (gcb_share_length(s, share))
            err = make_coders(s, share, diag);
    return err;
}

void gcb_shares_fini(struct gcb_shares *s)
{
    for (size_t i = 0; i < GCB_SHARE_LENGTHS; i++) {
        gcb_coder_destroy(s->coders[i].encoder);
        gcb_coder_destroy(s->coders[i].decoder);
    }
}

int gcb_share_encode(struct gcb_shares *s, uint64_t share, const struct gcb_step *at,
                     const float *x, bool raw, struct gcb_wbuf *out, struct gcb_diag *diag)
{
    const struct gcb_share_coders *c = gcb_share_coders(s, share);
    const struct gcb_view view = {.data = x, .count = c->count};
    const size_t start = out->len;
    const int err = raw ? gcb_coder_encode_raw(c->encoder, &view, out, diag)
                        : gcb_coder_encode_finite(c->encoder, at, &view, out, diag);

    if (!err)
        gcb_message_seal(out->data + start, out->len - start, 0);
    return err;
}

int gcb_share_decode(struct gcb_shares *s, uint64_t share, const void *data, size_t length,
                     float *x, struct gcb_diag *diag)
{
    const struct gcb_share_coders *c = gcb_share_coders(s, share);
    const struct gcb_mview view = {.data = x, .count = c->count};
    const int err = gcb_message_check(data, length, 0, diag);

    return err ? err : gcb_coder_decode(c->decoder, data, length, &view, diag);
}

int gcb_share_describe(struct gcb_shares *s, uint64_t share, const void *message, size_t length,
                       struct gcb_message_parts *parts, struct gcb_diag *diag)
{
    struct gcb_message_parts one;
    const int err =
        gcb_coder_describe(gcb_share_coders(s, share)->decoder, message, length, &one, diag);

    if (err)
        return err;
    parts->wire_bytes += one.wire_bytes;
    parts->header_bytes += one.header_bytes;
    parts->stored |= one.stored;
    parts->payload.scale_bytes += one.payload.scale_bytes;
    parts->payload.value_bytes += one.payload.value_bytes;
    parts->payload.index_bytes += one.payload.index_bytes;
    parts->payload.kept += one.payload.kept;
    parts->payload.positions += one.payload.positions;
    parts->payload.entropy0_bits += one.payload.entropy0_bits;
    return 0;
}

float gcb_weights_magnitude(const struct gcb_collective_env *env)
{
    double magnitudes = 0.0;
    bool mixed = false;
    float scale;

    for (unsigned w = 0; w < env->workers; w++) {
        magnitudes += fabs((double)env->weights[w]);
        mixed |= env->weights[w] < 0.0f;
    }
    scale = mixed ? (float)magnitudes : env->total;
    return scale > 0.0f ? scale : 1.0f;
}

bool gcb_stays_finite(const struct gcb_collective_env *env, const float *x, float factor,
                      uint64_t n)
{
    const struct gcb_codec_env *codec = &env->coder.env;

    return n == 0 ||
           isfinite(gcb_float_of(gcb_max_bits(x, n, codec->kernels, codec->queue)) * factor);
}

void *gcb_exchange_allocate(uint64_t count, size_t size, int *err, struct gcb_diag *diag)
{
    void *p = *err ? NULL : gcb_alloc_array(count, size);

    if (!*err && !p)
        *err = gcb_diag_nomem(diag, count * size, "an exchange");
    return p;
}
