#include "src/cuda/module/sparse.h"

#include <string.h>

#include "src/cuda/module/codecs.h"

static int refuse(struct gcb_diag *diag, const char *parameter, const char *name)
{
    return gcb_diag_set(diag, GCB_E_UNSUPPORTED, "device cuda: %s=%s runs on the CPU only",
                        parameter, name);
}

/* The rows of the stages; an encoder's choice of positions is no matter of a decoder's. */
static int find_stages(struct gcb_device_sparse *s, bool decoding, struct gcb_diag *diag)
{
    const struct gcb_sparse *p = &s->p;

    if (strcmp(p->transform_ops->name, "none") != 0)
        return refuse(diag, "transform", p->transform_ops->name);
    s->selector = gcb_device_selector_find(p->selector_ops->name);
    if (!s->selector && !decoding)
        return refuse(diag, "select", p->selector_ops->name);
    if (!gcb_device_values_bind(&s->values, p))
        return refuse(diag, "values", p->values_ops->name);
    s->index = gcb_device_index_find(p->index_ops->name);
    return s->index ? 0 : refuse(diag, "index", p->index_ops->name);
}

static int sparse_init(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag)
{
    struct gcb_device_sparse *s = state;
    int err;

    gcb_sparse_bind(&s->p, env);
    err = find_stages(s, env->decoding, diag);
    if (!err && s->p.t.positions > env->segment)
        return gcb_diag_set(diag, GCB_E_UNSUPPORTED,
                            "device cuda: more than %llu positions run on the CPU only",
                            (unsigned long long)env->segment);
    return err;
}

/* ---- scratch: of the choice, of the values, and of the positions ---- */

static uint64_t rounded(uint64_t bytes)
{
    return (bytes + 15) / 16 * 16;
}

static uint64_t values_scratch_at(const struct gcb_device_sparse *s)
{
    return rounded(s->selector->scratch(&s->p));
}

static uint64_t index_scratch_at(const struct gcb_device_sparse *s)
{
    return values_scratch_at(s) + rounded(gcb_cuda_values_scratch(&s->values, s->p.most));
}

static uint64_t sparse_scratch(const void *state)
{
    const struct gcb_device_sparse *s = state;
    const struct gcb_device_index *index = s->index;
    const uint64_t n = s->p.t.positions;
    struct gcb_cuda_filling f;

    if (s->p.t.env.decoding)
        return gcb_cuda_fill_scratch(&f, n, NULL) +
               (index->get_scratch ? index->get_scratch(n) : 0);
    return index_scratch_at(s) + (index->put_scratch ? index->put_scratch(n, s->p.most) : 0);
}

/* ---- encoding and decoding ---- */

static int sparse_encode(void *state, const struct gcb_step *at, const float *in_dev,
                         uint8_t *out_dev, const struct gcb_device_call *call)
{
    const struct gcb_device_sparse *s = state;
    const struct gcb_device_input in = gcb_device_plain(in_dev, s->p.count);
    uint8_t *scratch = call->scratch_dev;
    struct gcb_cuda_chosen chosen;
    int err = s->selector->select(s, at, &in, &chosen, call);

    if (!err)
        err = gcb_cuda_put_values(call->stream, out_dev, &chosen, &s->values,
                                  scratch + values_scratch_at(s), call->result_dev);
    return err ? err
               : s->index->put(call->stream, out_dev, &chosen, &s->values,
                               scratch + index_scratch_at(s), call->result_dev);
}

static int sparse_decode(void *state, const uint8_t *payload_dev, uint64_t length, float *out_dev,
                         const struct gcb_device_call *call)
{
    const struct gcb_device_sparse *s = state;
    const struct gcb_cuda_payload p = {payload_dev, length, s->p.t.positions};
    struct gcb_cuda_filling f;
    int err;

    gcb_cuda_fill_scratch(&f, p.n, call->scratch_dev);
    err = gcb_cuda_open(call->stream, &p, &s->values, &s->index->length, &f, call->result_dev);
    if (!err)
        err = s->index->get(call->stream, &p, &f, call->result_dev);
    return err ? err : gcb_cuda_fill(call->stream, out_dev, &p, &s->values, &f);
}

const struct gcb_device_ops gcb_device_sparse = {
    .state_size = sizeof(struct gcb_device_sparse),
    .init = sparse_init,
    .bound = gcb_sparse_bound,
    .scratch = sparse_scratch,
    .encode_async = sparse_encode,
    .decode_async = sparse_decode,
};
