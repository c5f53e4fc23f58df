#include "src/sparse/sparse.h"

#include <string.h>

#include "kernels/select/values_cuda.h"
#include "src/cuda/module/codecs.h"

/*
 * The sparse codec on the device: transform -> select -> values -> index, as on the CPU (src/sparse/sparse.h). The
 * stages behind the transform take one float per position, so a transform's spectrum can stand where the tensor
 * does now.
 */
struct sparse {
    struct gcb_sparse p; /* the CPU's state: parameters, and the sizes that follow from them */
    struct gcb_cuda_select select;
    struct gcb_cuda_values values;
    enum gcb_cuda_index_kind index;
};

static const char *const selectors_here[] = {"topk", "threshold", NULL};
static const char *const values_here[] = {"fp32", "fp16", "range", "sign-mean", "means", NULL};
static const char *const indices_here[] = {"u32", "bitmap", NULL};

static bool among(const char *const *names, const char *name)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

static int refuse(struct gcb_diag *diag, const char *parameter, const char *name)
{
    return gcb_diag_set(diag, GCB_E_UNSUPPORTED, "device cuda: %s=%s runs on the CPU only",
                        parameter, name);
}

/* What the parameters ask for and this file lacks. An encoder's choice of positions is no matter of a decoder's. */
static int check(const struct gcb_sparse *p, const struct gcb_codec_env *env, struct gcb_diag *diag)
{
    const char *transform = gcb_transform_names[p->transform];
    const char *select = gcb_selector_names[p->select];

    if (strcmp(transform, "none") != 0)
        return refuse(diag, "transform", transform);
    if (!env->decoding && !among(selectors_here, select))
        return refuse(diag, "select", select);
    if (!among(values_here, gcb_values_names[p->values]))
        return refuse(diag, "values", gcb_values_names[p->values]);
    if (!among(indices_here, gcb_index_names[p->index]))
        return refuse(diag, "index", gcb_index_names[p->index]);
    if (env->count > env->segment)
        return gcb_diag_set(diag, GCB_E_UNSUPPORTED,
                            "device cuda: more than %llu positions run on the CPU only",
                            (unsigned long long)env->segment);
    return 0;
}

static void bind_values(struct sparse *s)
{
    const struct gcb_range_params *range = &s->p.v.range;

    s->values = (struct gcb_cuda_values){
        .kind = (enum gcb_cuda_value_kind)s->p.values,
        .scale = (uint32_t)s->p.values_ops->scale_bytes,
        .bits = (uint32_t)(s->p.values_ops->bytes(&s->p.v, 8)), /* 8 of them take as many bytes */
        .mantissa = (uint32_t)range->mantissa,
        .max_given = range->max != 0.0,
        .max = (float)range->max,
        .rounding = (enum gcb_range_rounding)range->rounding,
    };
}

static void bind_select(struct sparse *s)
{
    const uint32_t bits = gcb_bits_of((float)s->p.selection.p.threshold);

    s->select = (struct gcb_cuda_select){
        .exact = !s->p.selector_ops->by_magnitude,
        .threshold = bits ? bits : 1,
        .k = s->p.k,
    };
}

static int sparse_init(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag)
{
    struct sparse *s = state;
    struct gcb_sparse *p = &s->p;
    const int err = check(p, env, diag);

    if (err)
        return err;
    gcb_sparse_bind(p, env);
    s->index = (enum gcb_cuda_index_kind)p->index;
    bind_values(s);
    bind_select(s);
    return 0;
}

/* Where the values' scratch stands: behind the choice's. */
static uint64_t select_scratch(const struct sparse *s)
{
    return (gcb_cuda_select_scratch(s->p.count, s->p.most) + 15) / 16 * 16;
}

static uint64_t sparse_scratch(const void *state)
{
    const struct sparse *s = state;

    if (s->p.t.env.decoding)
        return gcb_cuda_fill_scratch(s->p.count);
    return select_scratch(s) + gcb_cuda_values_scratch(&s->values, s->p.most);
}

static int sparse_encode(void *state, const struct gcb_step *at, const float *in_dev,
                         uint8_t *out_dev, const struct gcb_device_call *call)
{
    const struct sparse *s = state;
    struct gcb_cuda_chosen chosen;
    int err = gcb_cuda_select(call->stream, &chosen, in_dev, s->p.count, s->p.most, &s->select,
                              call->scratch_dev);

    (void)at;
    if (!err)
        err =
            gcb_cuda_put_values(call->stream, out_dev, &chosen, &s->values,
                                (uint8_t *)call->scratch_dev + select_scratch(s), call->result_dev);
    if (err)
        return err;
    return (s->index == GCB_CUDA_U32 ? gcb_cuda_put_u32 : gcb_cuda_put_bitmap)(
        call->stream, out_dev, &chosen, &s->values, call->result_dev);
}

static int sparse_decode(void *state, const uint8_t *payload_dev, uint64_t length, float *out_dev,
                         const struct gcb_device_call *call)
{
    const struct sparse *s = state;

    return gcb_cuda_fill(call->stream, out_dev, s->p.count, payload_dev, length, &s->values,
                         s->index, call->scratch_dev, call->result_dev);
}

const struct gcb_device_ops gcb_device_sparse = {
    .state_size = sizeof(struct sparse),
    .init = sparse_init,
    .bound = gcb_sparse_bound,
    .scratch = sparse_scratch,
    .encode_async = sparse_encode,
    .decode_async = sparse_decode,
};
