#include "src/lib/sparse/sparse.h"

#include <math.h>

#include "kernels/base/hd.h"
#include "src/lib/codec/codecs.h"
#include "src/lib/sparse/presets.h"

uint64_t gcb_sparse_segment(const struct gcb_sparse *s, uint64_t g)
{
    const uint64_t left = s->t.positions - g * s->segment;

    return left < s->segment ? left : s->segment;
}

static void sparse_fini(void *state)
{
    struct gcb_sparse *s = state;

    if (s->transform_ops)
        s->transform_ops->fini(&s->t);
    gcb_selection_fini(&s->selection);
}

/* RedSync's quantisation: one sign a step and its mean, except for the output layer and tensors sent
 * whole; thresholds are not reused then. */
static void apply_quant(struct gcb_sparse *s, const struct gcb_codec_env *env)
{
    if (s->quant == GCB_QUANT_NONE || env->decoding || env->role == GCB_ROLE_OUTPUT ||
        env->count * sizeof(float) < s->selection.p.dense_below)
        return;
    s->select = gcb_choice(gcb_selector_names, "alternate");
    s->values = gcb_choice(gcb_values_names, "mean");
}

static void bind_selection(struct gcb_sparse *s)
{
    struct gcb_selection_params *p = &s->selection.p;

    p->density = 1.0 - s->theta;
    p->chunk = s->transform_ops->width == 2 && s->chunk ? s->chunk / 2 + 1 : s->chunk;
    s->k = gcb_kept_of(p->density, s->t.positions);
    s->most = s->selector_ops->most ? s->selector_ops->most(p, s->t.positions, s->k) : s->k;
}

void gcb_sparse_bind(struct gcb_sparse *s, const struct gcb_codec_env *env)
{
    apply_quant(s, env);
    s->transform_ops = gcb_transform_at(s->transform);
    s->selector_ops = gcb_selector_at(s->select);
    s->values_ops = gcb_values_at(s->values);
    s->index_ops = gcb_index_at(s->index);
    s->count = env->count;
    s->segment = env->segment;
    s->t.count = env->count;
    s->t.chunk = s->chunk;
    s->t.positions = s->transform_ops->positions(env->count, s->chunk);
    s->t.kernels = s->v.kernels = env->kernels;
    s->t.queue = env->queue;
    s->t.env = *env;
    bind_selection(s);
    s->segments = (s->t.positions + env->segment - 1) / env->segment;
}

static int sparse_init(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag)
{
    struct gcb_sparse *s = state;
    int err;

    gcb_sparse_bind(s, env);
    err = s->transform_ops->init(&s->t, env, diag);
    if (err || env->decoding)
        return err;
    return gcb_selection_init(&s->selection, s->t.positions, env, diag);
}

uint64_t gcb_sparse_max_payload(const void *state)
{
    const struct gcb_sparse *s = state;
    uint64_t bytes =
        s->segments * sizeof(uint32_t) + s->transform_ops->side_bytes + s->values_ops->scale_bytes;

    bytes += s->values_ops->bytes(&s->v, s->most * s->transform_ops->width);
    for (uint64_t g = 0; g < s->segments; g++) {
        const uint64_t n = gcb_sparse_segment(s, g);

        bytes += s->index_ops->bound(n, s->most < n ? s->most : n);
    }
    return bytes;
}

static uint64_t sparse_clamped(const void *state)
{
    const struct gcb_sparse *s = state;

    return s->v.clamped;
}

/* Only values with a range look for the largest, unless it is fixed. */
static double sparse_largest(const void *state)
{
    const struct gcb_sparse *s = state;

    return s->v.stats.max_bits && s->v.range.max == 0.0 ? (double)gcb_float_of(s->v.stats.max_bits)
                                                        : NAN;
}

static double sparse_density(const void *state)
{
    const struct gcb_sparse *s = state;

    return s->selector_ops->by_magnitude ? NAN : 1.0 - s->theta;
}

/* As the papers count: the kept values alone, a real transform having as many numbers as its input. */
static double sparse_nominal_bits(const void *state)
{
    const struct gcb_sparse *s = state;

    return sparse_density(state) * s->values_ops->nominal_bits(&s->v);
}

static const struct gcb_codec_ops sparse_ops = {
    .state_size = sizeof(struct gcb_sparse),
    .init = sparse_init,
    .fini = sparse_fini,
    .max_payload = gcb_sparse_max_payload,
    .encode = gcb_sparse_encode,
    .decode = gcb_sparse_decode,
    .describe = gcb_sparse_describe,
    .clamped = sparse_clamped,
    .largest = sparse_largest,
    .nominal_bits = sparse_nominal_bits,
    .density = sparse_density,
};

const struct gcb_codec gcb_codec_sparse = {
    .name = "sparse",
    .summary = "any transform, selection, values and index coder together",
    .source = "the stages of the methods below",
    .guarantee = "contraction: ||x - x'||^2 <= (1 - k/n) ||x||^2 with unquantised values",
    .wire_id = 16,
    .caps_of = gcb_sparse_caps,
    .params = gcb_sparse_params,
    .check = gcb_sparse_check,
    .ops = &sparse_ops,
    .presets = gcb_sparse_presets,
};
