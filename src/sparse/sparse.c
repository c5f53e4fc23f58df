#include "src/sparse/sparse.h"

#include <string.h>

#include "src/codec/codecs.h"
#include "src/sparse/presets.h"

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

static int sparse_init(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag)
{
    struct gcb_sparse *s = state;
    int err;

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
    s->k = gcb_kept_of(1.0 - s->theta, s->t.positions);
    s->most =
        s->selector_ops->most ? s->selector_ops->most(&s->selection.p, s->t.positions, s->k) : s->k;
    s->segments = (s->t.positions + env->segment - 1) / env->segment;
    err = s->transform_ops->init(&s->t, env, diag);
    if (err || env->decoding)
        return err;
    return gcb_selection_init(&s->selection, s->t.positions, env, diag);
}

static uint64_t sparse_bound(const void *state)
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

static double sparse_density(const void *state)
{
    const struct gcb_sparse *s = state;

    return 1.0 - s->theta;
}

/* As the papers count: the kept values alone, a real transform having as many numbers as its input. */
static double sparse_nominal_bits(const void *state)
{
    const struct gcb_sparse *s = state;

    return (1.0 - s->theta) * s->values_ops->nominal_bits(&s->v);
}

enum row { ROW_THETA, ROW_TRANSFORM, ROW_CHUNK, ROW_SELECT, ROW_VALUES, ROW_BITS, ROW_MANTISSA };

static int sparse_check(const double *value, struct gcb_diag *diag)
{
    const uint64_t chunk = (uint64_t)value[ROW_CHUNK];

    if (strcmp(gcb_transform_names[(int)value[ROW_TRANSFORM]], "hadamard") == 0 &&
        chunk & (chunk - 1))
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "transform=hadamard needs a chunk that is a power of two");
    return gcb_range_check((unsigned)value[ROW_BITS], (unsigned)value[ROW_MANTISSA], diag);
}

static const struct gcb_param sparse_params[] = {
    [ROW_THETA] = {.name = "theta",
                   .help = "share of positions dropped",
                   .type = GCB_PARAM_REAL,
                   .offset = offsetof(struct gcb_sparse, theta),
                   .def = 0.85,
                   .min = 0,
                   .max = 1,
                   .flags = GCB_PARAM_LABEL | GCB_PARAM_OPEN_MAX,
                   .complement = {"density", "p"}},
    [ROW_TRANSFORM] = {.name = "transform",
                       .help = "what the tensor goes through first",
                       .type = GCB_PARAM_CHOICE,
                       .offset = offsetof(struct gcb_sparse, transform),
                       .flags = GCB_PARAM_WIRE,
                       .choices = gcb_transform_names},
    [ROW_CHUNK] = {.name = "chunk",
                   .help = "elements of a transform; 0: the whole message",
                   .type = GCB_PARAM_SIZE,
                   .offset = offsetof(struct gcb_sparse, chunk),
                   .def = 0,
                   .min = 0,
                   .max = 4294967295.0,
                   .flags = GCB_PARAM_WIRE,
                   .needs = "transform=fft|dct|hadamard"},
    [ROW_SELECT] = {.name = "select",
                    .help = "how positions are chosen",
                    .type = GCB_PARAM_CHOICE,
                    .offset = offsetof(struct gcb_sparse, select),
                    .choices = gcb_selector_names},
    [ROW_VALUES] = {.name = "values",
                    .help = "how kept values are sent",
                    .type = GCB_PARAM_CHOICE,
                    .offset = offsetof(struct gcb_sparse, values),
                    .flags = GCB_PARAM_WIRE,
                    .choices = gcb_values_names},
    [ROW_BITS] = {.name = "bits",
                  .help = "bits of a range float",
                  .type = GCB_PARAM_INT,
                  .offset = offsetof(struct gcb_sparse, v.range.bits),
                  .def = 10,
                  .min = 2,
                  .max = 16,
                  .flags = GCB_PARAM_WIRE | GCB_PARAM_LABEL,
                  .needs = "values=range"},
    [ROW_MANTISSA] = {.name = "mantissa",
                      .help = "its mantissa bits; 0: the best for the kept values",
                      .type = GCB_PARAM_INT,
                      .offset = offsetof(struct gcb_sparse, v.range.mantissa),
                      .def = 0,
                      .min = 0,
                      .max = 15,
                      .needs = "values=range"},
    {.name = "max",
     .help = "its largest value, beyond which values clamp; 0: from the kept values",
     .type = GCB_PARAM_REAL,
     .offset = offsetof(struct gcb_sparse, v.range.max),
     .def = 0,
     .min = 0,
     .max = 3.4028234663852886e38,
     .needs = "values=range"},
    {.name = "rounding",
     .help = "how a value becomes a range float; the paper truncates",
     .type = GCB_PARAM_CHOICE,
     .offset = offsetof(struct gcb_sparse, v.range.rounding),
     .choices = gcb_range_rounding_names,
     .needs = "values=range"},
    {.name = "index",
     .help = "how kept positions are sent",
     .type = GCB_PARAM_CHOICE,
     .offset = offsetof(struct gcb_sparse, index),
     .flags = GCB_PARAM_WIRE,
     .choices = gcb_index_names},
    {.name = NULL},
};

static const struct gcb_codec_ops sparse_ops = {
    .state_size = sizeof(struct gcb_sparse),
    .init = sparse_init,
    .fini = sparse_fini,
    .bound = sparse_bound,
    .encode = gcb_sparse_encode,
    .decode = gcb_sparse_decode,
    .describe = gcb_sparse_describe,
    .clamped = sparse_clamped,
    .nominal_bits = sparse_nominal_bits,
    .density = sparse_density,
};

const struct gcb_codec gcb_codec_sparse = {
    .name = "sparse",
    .summary = "any transform, selection, values and index coder together",
    .source = "the stages of the methods below",
    .bound = "contraction: ||x - x'||^2 <= (1 - k/n) ||x||^2 with unquantised values",
    .wire_id = 16,
    .caps = GCB_CAP_LIBRARY_MATH,
    .params = sparse_params,
    .check = sparse_check,
    .ops = &sparse_ops,
    .presets = gcb_sparse_presets,
};
