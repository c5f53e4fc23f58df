#include "src/lib/codec/blocks.h"

const char *const gcb_block_rounding_names[] = {"nearest", "stochastic", NULL};

/* What parallel tasks share. Encoding and decoding set only the fields that they use. */
struct job {
    struct gcb_blocks *s;
    uint64_t stream; /* number of the Philox stream */
    const float *from;
    float *to;
    const struct gcb_addition *add; /* NULL: decode to `to` */
    uint8_t *out;
    const uint8_t *in;
    uint32_t most; /* bits of the largest magnitude so far */
    bool failed;   /* set if a scale or a code is invalid */
};

/* Byte offset of the code of element i in a payload. i is a multiple of 8. */
static uint64_t code_at(const struct gcb_blocks *s, uint64_t i)
{
    return gcb_blocks_codes_at(s) + gcb_packed_bytes(i, s->width);
}

static void encode_span(void *ctx, uint64_t span)
{
    struct job *job = ctx;
    const struct gcb_blocks *s = job->s;
    const struct gcb_codec_env *env = &s->base.env;
    const uint64_t end = span * GCB_SPAN + gcb_span_length(env->count, span);
    uint16_t code[GCB_TILE];
    struct gcb_tile_draw draw;
    struct gcb_blocks_encoding e = {.code = code, .draw = s->drawn ? &draw : NULL};
    size_t clamped = 0;

    for (uint64_t i = span * GCB_SPAN; i < end; i += GCB_TILE) {
        e.x = job->from + i;
        e.n = gcb_tile_length(end, i);
        e.scale = job->out + gcb_blocks_scale_at(s, i);
        draw = gcb_tile_draw(env->seed, i, job->stream);
        s->ops->encode(s, &e);
        env->kernels->bitpack.pack(job->out + code_at(s, i), code, e.n, s->width);
        clamped += e.clamped;
        gcb_raise_max(&job->most, e.most);
    }
    if (clamped)
        __atomic_fetch_add(&job->s->base.clamped, clamped, __ATOMIC_RELAXED);
}

int gcb_blocks_encode(void *state, const struct gcb_step *at, const struct gcb_view *in,
                      struct gcb_wbuf *out)
{
    struct gcb_blocks *s = state;
    const struct gcb_codec_env *env = &s->base.env;
    struct job job = {.s = s,
                      .stream = gcb_draw_stream(env, at, GCB_DRAW_COARSE),
                      .from = in->data,
                      .out = gcb_wbuf_take(out, s->base.max_payload)};

    s->base.clamped = 0;
    s->base.nonfinite = false;
    if (!job.out)
        return GCB_E_NOSPACE;
    if (s->ops->begin && s->head) {
        job.most = gcb_max_bits(in->data, in->count, env->kernels, env->queue);
        s->ops->begin(s, job.most, job.out);
    }
    gcb_parallel(env->queue, gcb_span_count(env->count), encode_span, &job);
    s->base.nonfinite = job.most >= GCB_INF_BITS;
    if (!s->base.may_send_raw || job.most < s->too_much)
        return 0;
    s->base.clamped = 0;
    return GCB_E_SEND_RAW;
}

/* Returns the largest of n bytes, after the bits outside `mask` were cleared. */
static uint8_t largest_byte(const uint8_t *byte, uint64_t n, uint8_t mask)
{
    uint8_t most = 0;

    for (uint64_t i = 0; i < n; i++)
        most = (byte[i] & mask) > most ? byte[i] & mask : most;
    return most;
}

/* Sets job->failed if a scale is invalid, or if a code of 8 bits is. */
static void check_span(void *ctx, uint64_t span)
{
    struct job *job = ctx;
    const struct gcb_blocks *s = job->s;
    const uint64_t first = span * GCB_SPAN, n = gcb_span_length(s->base.env.count, span);
    const uint64_t blocks = s->scale ? gcb_blocks_count(s, n) : 0;
    const uint8_t *scale = job->in + gcb_blocks_scale_at(s, first),
                  *code = job->in + code_at(s, first);
    bool valid = true;

    for (uint64_t b = 0; b < blocks && s->scale > 1; b++)
        valid &= s->ops->valid(s, scale + b * s->scale);
    if (s->scale == 1)
        valid = largest_byte(scale, blocks, 0xff) <= s->scale_top;
    if (!valid || (s->ops->top && largest_byte(code, n, 0x7f) > s->ops->top))
        __atomic_store_n(&job->failed, true, __ATOMIC_RELAXED);
}

static void decode_span(void *ctx, uint64_t span)
{
    const struct job *job = ctx;
    const struct gcb_blocks *s = job->s;
    const struct gcb_kernels *k = s->base.env.kernels;
    const uint64_t count = s->base.env.count;
    const uint64_t end = span * GCB_SPAN + gcb_span_length(count, span);
    _Alignas(64) float room[GCB_TILE], *x;
    uint16_t code[GCB_TILE];

    for (uint64_t i = span * GCB_SPAN, n; i < end; i += n) {
        n = gcb_room_length(count, end, i);
        k->bitpack.unpack(code, job->in + code_at(s, i), n, s->width);
        x = job->add ? room : gcb_room(room, job->to + i, count);
        s->ops->decode(s, x, code, n, job->in + gcb_blocks_scale_at(s, i));
        if (job->add)
            k->accumulate.add(job->add->acc + i, x, n, job->add->weight);
        else
            gcb_room_done(job->to + i, x, n);
    }
}

int gcb_blocks_read(void *state, struct gcb_rbuf *in, float *out, const struct gcb_addition *to)
{
    struct gcb_blocks *s = state;
    const uint64_t spans = gcb_span_count(s->base.env.count);
    struct job job = {.s = s, .to = out, .add = to};

    job.in = gcb_rbuf_take(in, s->base.max_payload);
    if (!job.in || gcb_rbuf_left(in) || (s->head && !s->ops->open(s, job.in)))
        return GCB_E_CORRUPT;
    gcb_parallel(s->base.env.queue, spans, check_span, &job);
    if (!job.failed)
        gcb_parallel(s->base.env.queue, spans, decode_span, &job);
    return job.failed ? GCB_E_CORRUPT : 0;
}

int gcb_blocks_describe(void *state, struct gcb_rbuf *in, struct gcb_parts *parts)
{
    const struct gcb_blocks *s = state;

    return gcb_packed_describe(parts, in, code_at(s, 0), s->width, &s->base.env);
}
