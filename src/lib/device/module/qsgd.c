#include "src/lib/codec/qsgd.h"

#include "kernels/dither/dither_cuda.h"
#include "src/lib/device/module/codecs.h"
#include "src/lib/device/module/draw.h"

struct qsgd {
    struct gcb_qsgd_layout l;
    const struct gcb_codec_env *env;
    struct gcb_cuda_qsgd how; /* random streams are not set: each message has its own */
};

static int qsgd_init(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag)
{
    struct qsgd *s = state;

    s->env = env;
    gcb_qsgd_lay_out(&s->l);
    s->how = (struct gcb_cuda_qsgd){
        .draw.keys = gcb_philox_keys_of(env->seed),
        .bucket = s->l.bucket,
        .levels = s->l.s,
        .sign_bit = s->l.sign_bit,
        .l2 = s->l.norm == GCB_QSGD_L2,
        .nearest = s->l.rounding == GCB_QSGD_NEAREST,
        .coding = (enum gcb_cuda_coding)s->l.coding,
    };
    return 0;
}

static uint64_t qsgd_scratch(const void *state)
{
    const struct qsgd *s = state;

    if (s->l.coding != GCB_QSGD_FIXED)
        return gcb_cuda_elias_scratch(&s->how, s->env->count);
    return s->env->decoding ? 0 : gcb_cuda_qsgd_scratch(&s->how, s->env->count);
}

/* Returns s->how with the random streams of a step. */
static struct gcb_cuda_qsgd how_at(const struct qsgd *s, const struct gcb_step *at)
{
    const struct gcb_rounding_draw draw = gcb_rounding_draw(s->env, at);
    struct gcb_cuda_qsgd how = s->how;

    how.draw.coarse = draw.coarse;
    how.draw.fine = draw.fine;
    return how;
}

static int qsgd_encode(void *state, const struct gcb_device_input *in, uint8_t *out_dev,
                       const struct gcb_device_call *call)
{
    const struct qsgd *s = state;
    const struct gcb_cuda_qsgd how = how_at(s, &call->at);

    return (s->l.coding == GCB_QSGD_FIXED ? gcb_cuda_qsgd_encode : gcb_cuda_elias_encode)(
        call->stream, out_dev, in, &how, call->scratch_dev, call->result_dev);
}

static int qsgd_decode(void *state, const uint8_t *payload_dev, uint64_t length, float *out_dev,
                       const struct gcb_device_call *call)
{
    const struct qsgd *s = state;
    const uint64_t tiles = (s->env->count + GCB_TILE - 1) / GCB_TILE;
    /* Elias codings: bytes of the norms and the directory, which come before the codes */
    const uint64_t head = s->l.buckets * sizeof(float) + tiles * sizeof(uint16_t);

    if (s->l.coding == GCB_QSGD_FIXED ? length != s->l.q.base.max_payload : length < head)
        return GCB_E_CORRUPT;
    if (s->l.coding == GCB_QSGD_FIXED)
        return gcb_cuda_qsgd_decode(call->stream, out_dev, payload_dev, s->env->count, &s->how,
                                    call->result_dev);
    return gcb_cuda_elias_decode(call->stream, out_dev, payload_dev, length, s->env->count, &s->how,
                                 call->scratch_dev, call->result_dev);
}

static int qsgd_sum(const void *state, const struct gcb_cuda_payloads *p, float *out_dev,
                    struct gcb_device_stream *stream)
{
    const struct qsgd *s = state;

    return gcb_cuda_qsgd_sum(stream, out_dev, s->env->count, &s->how, p);
}

/* Only codes of fixed width can be in a group. The bucket lengths may differ, because each item of
 * a group has its own. */
static bool qsgd_alike(const void *state, const void *other)
{
    const struct qsgd *a = state, *b = other;

    return a->l.coding == GCB_QSGD_FIXED && b->l.coding == GCB_QSGD_FIXED &&
           a->env->seed == b->env->seed && a->how.levels == b->how.levels &&
           a->how.sign_bit == b->how.sign_bit && a->how.l2 == b->how.l2 &&
           a->how.nearest == b->how.nearest;
}

static void qsgd_fill(const void *state, const struct gcb_step *at, struct gcb_device_item *item)
{
    const struct qsgd *s = state;

    item->bucket = s->how.bucket;
    gcb_device_fill_draw(s->env, at, item);
}

static int qsgd_code_group(const void *state, bool decode, const struct gcb_device_group *group,
                           struct gcb_device_stream *stream)
{
    const struct qsgd *s = state;

    return (decode ? gcb_cuda_qsgd_decode_group : gcb_cuda_qsgd_encode_group)(stream, group,
                                                                              &s->how);
}

static const struct gcb_device_group_ops qsgd_group = {
    .alike = qsgd_alike,
    .fill = qsgd_fill,
    .code_async = qsgd_code_group,
};

const struct gcb_device_ops gcb_device_qsgd = {
    .state_size = sizeof(struct qsgd),
    .init = qsgd_init,
    .scratch = qsgd_scratch,
    .feedback = true,
    .encode_async = qsgd_encode,
    .decode_async = qsgd_decode,
    .sum_async = qsgd_sum,
    .group = &qsgd_group,
};
