#include "src/lib/codec/blocks.h"
#include "kernels/block/blocks_cuda.h"
#include "src/lib/device/module/codecs.h"
#include "src/lib/device/module/draw.h"

/* The codecs float, affine and codebook. Their states begin with struct gcb_blocks. */
struct state {
    union {
        struct gcb_blocks b;
        struct gcb_floats f;
        struct gcb_affines a;
        struct gcb_books k;
    } s;
    struct gcb_cuda_blocks how;
};

static void set_layout(struct gcb_cuda_blocks *how, const struct gcb_blocks *b)
{
    how->keys = gcb_philox_keys_of(b->base.env.seed);
    how->width = b->width;
    how->head = b->head;
    how->scale = b->scale;
    how->log2 = b->log2;
    how->too_much = b->too_much;
    how->drawn = b->drawn;
}

static int floats_init(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag)
{
    struct state *s = state;
    const struct gcb_floats *f = &s->s.f;
    const int err = gcb_floats_bind(&s->s.f, diag);

    if (err)
        return err;
    set_layout(&s->how, &f->b);
    s->how.scaling = f->scaling;
    s->how.divides = f->b.scale ? f->scaling.format == GCB_SCALE_FP32 : f->b.head != 0;
    return 0;
}

static int affines_init(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag)
{
    struct state *s = state;
    const int err = gcb_affines_bind(&s->s.a, diag);

    if (err)
        return err;
    set_layout(&s->how, &s->s.b);
    s->how.kind = GCB_CUDA_INTEGERS;
    s->how.minimum = s->s.a.offset != 0;
    s->how.top = (float)((1u << s->s.b.width) - 1);
    return 0;
}

static int books_init(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag)
{
    struct state *s = state;
    const int err = gcb_books_bind(&s->s.k, diag);

    set_layout(&s->how, &s->s.b);
    s->how.kind = s->s.k.book == GCB_BOOK_UNIFORM ? GCB_CUDA_BINS : GCB_CUDA_DYNAMIC;
    s->how.too_much = GCB_INF_BITS; /* no finite magnitude; bins check the sum of squares */
    return err;
}

static const struct gcb_cuda_blocks *how_of(const void *state)
{
    return &((const struct state *)state)->how;
}

static uint64_t blocks_scratch(const void *state)
{
    const struct gcb_codec_env *env = &((const struct gcb_codec_base *)state)->env;

    return env->decoding ? 0 : gcb_cuda_blocks_scratch(how_of(state), env->count);
}

static int blocks_encode(void *state, const struct gcb_device_input *in, uint8_t *out_dev,
                         const struct gcb_device_call *call)
{
    const struct gcb_codec_base *base = state;

    return gcb_cuda_blocks_encode(call->stream, out_dev, in, how_of(state),
                                  gcb_draw_stream(&base->env, &call->at, GCB_DRAW_COARSE),
                                  call->scratch_dev, call->result_dev);
}

static int blocks_decode(void *state, const uint8_t *payload_dev, uint64_t length, float *out_dev,
                         const struct gcb_device_call *call)
{
    const struct gcb_codec_base *base = state;

    if (length != base->max_payload)
        return GCB_E_CORRUPT;
    return gcb_cuda_blocks_decode(call->stream, out_dev, payload_dev, base->env.count,
                                  how_of(state), call->result_dev);
}

static int blocks_sum(const void *state, const struct gcb_cuda_payloads *p, float *out_dev,
                      struct gcb_device_stream *stream)
{
    const struct gcb_codec_base *base = state;

    return gcb_cuda_blocks_sum(stream, out_dev, base->env.count, how_of(state), p);
}

/* True if the kernels' parameters, a struct without padding, are equal. Random streams are not
 * among the parameters, because each message has its own streams. */
static bool blocks_alike(const void *state, const void *other)
{
    return memcmp(how_of(state), how_of(other), sizeof(struct gcb_cuda_blocks)) == 0;
}

static void blocks_fill(const void *state, const struct gcb_step *at, struct gcb_device_item *item)
{
    gcb_device_fill_draw(&((const struct gcb_codec_base *)state)->env, at, item);
}

static int blocks_code_group(const void *state, bool decode, const struct gcb_device_group *group,
                             struct gcb_device_stream *stream)
{
    const struct gcb_cuda_blocks *how = how_of(state);

    return decode ? gcb_cuda_blocks_decode_group(stream, group, how)
                  : gcb_cuda_blocks_encode_group(stream, group, how);
}

static const struct gcb_device_group_ops blocks_group = {
    .alike = blocks_alike,
    .fill = blocks_fill,
    .code_async = blocks_code_group,
};

const struct gcb_device_ops gcb_device_float = {
    .state_size = sizeof(struct state),
    .init = floats_init,
    .feedback = true,
    .encode_async = blocks_encode,
    .decode_async = blocks_decode,
    .sum_async = blocks_sum,
    .group = &blocks_group,
};

const struct gcb_device_ops gcb_device_affine = {
    .state_size = sizeof(struct state),
    .init = affines_init,
    .feedback = true,
    .encode_async = blocks_encode,
    .decode_async = blocks_decode,
    .sum_async = blocks_sum,
    .group = &blocks_group,
};

const struct gcb_device_ops gcb_device_codebook = {
    .state_size = sizeof(struct state),
    .init = books_init,
    .scratch = blocks_scratch,
    .feedback = true,
    .encode_async = blocks_encode,
    .decode_async = blocks_decode,
    .sum_async = blocks_sum,
    .group = &blocks_group,
};
