#include "src/lib/codec/blocks.h"

#include <math.h>

/*
 * Small floats with shared scales: fp8, MXFP8, MXFP4 and NVFP4. The arithmetic is in
 * kernels/block/block_elem.h.
 *
 * Payload (src/lib/codec/blocks.h): the head is the tensor's scale, with scale=tensor and
 * scale=tensor+block.
 */
static const char *const format_names[] = {"e4m3", "e5m2", "e2m1", NULL};
static const char *const scale_names[] = {"none", "tensor", "block", "tensor+block", NULL};
static const char *const scale_format_names[] = {"fp32", "e8m0", "e4m3", NULL};
static const char *const rule_names[] = {"floor", "rceil", "even", "amax", "te", NULL};

static void put_scale(const struct gcb_blocks *s, uint8_t *out, uint32_t code)
{
    if (s->scale == 1)
        *out = (uint8_t)code;
    else
        gcb_store_u32(out, code);
}

static uint32_t get_scale(const struct gcb_blocks *s, const uint8_t *in)
{
    return s->scale == 1 ? *in : gcb_load_u32(in);
}

/* Chooses the scale of the whole tensor, or what multiplies the scales of its blocks, and writes it
 * as the head. */
static void begin(struct gcb_blocks *b, uint32_t most, uint8_t *head)
{
    struct gcb_floats *s = (struct gcb_floats *)b;

    if (s->scale == GCB_FLOAT_TENSOR)
        s->scaling.tensor = gcb_float_of(gcb_scale_code(most, &s->scaling));
    else
        gcb_scale_tensor(&s->scaling, most);
    gcb_store_u32(head, gcb_bits_of(s->scaling.tensor));
}

static bool open_head(struct gcb_blocks *b, const uint8_t *head)
{
    struct gcb_floats *s = (struct gcb_floats *)b;
    const uint32_t code = gcb_load_u32(head);
    const float most = s->scaling.e4.largest * s->scaling.f.largest;

    s->scaling.tensor = gcb_float_of(code);
    if (s->scale == GCB_FLOAT_TENSOR)
        return gcb_scale_valid(code, &s->scaling);
    return code < GCB_INF_BITS && gcb_bits_of(s->scaling.tensor * most) < GCB_INF_BITS;
}

/* Sets the factors of a tile's blocks, and writes their scales. */
static void choose_scales(const struct gcb_floats *s, struct gcb_blocks_encoding *e, float *factor)
{
    const struct gcb_kernels *k = s->b.base.env.kernels;
    const size_t blocks = (size_t)gcb_blocks_count(&s->b, e->n);
    uint32_t most[GCB_TILE_BLOCKS], code[GCB_TILE_BLOCKS];

    k->block.most(most, e->x, e->n, s->b.log2);
    k->block.scales(code, factor, most, blocks, &s->scaling);
    e->most = 0;
    for (size_t i = 0; i < blocks; i++) {
        e->most = most[i] > e->most ? most[i] : e->most;
        put_scale(&s->b, e->scale + i * s->b.scale, code[i]);
    }
}

static void encode_tile(const struct gcb_blocks *b, struct gcb_blocks_encoding *e)
{
    const struct gcb_floats *s = (const struct gcb_floats *)b;
    const struct gcb_kernels *k = b->base.env.kernels;
    float factor[GCB_TILE_BLOCKS] = {s->scaling.tensor};

    if (b->scale)
        choose_scales(s, e, factor);
    if (!b->scale && !b->head)
        e->most = k->reduce.max_bits(e->x, e->n);
    e->clamped =
        e->draw ? k->block.draw_floats(e->code, e->x, e->n, b->log2, factor, &s->scaling.f, e->draw)
                : k->block.floats(e->code, e->x, e->n, b->log2, factor, &s->scaling.f);
}

static bool valid_scale(const struct gcb_blocks *b, const uint8_t *scale)
{
    return gcb_scale_valid(get_scale(b, scale), &((const struct gcb_floats *)b)->scaling);
}

static void decode_tile(const struct gcb_blocks *b, float *x, const uint16_t *code, size_t n,
                        const uint8_t *scales)
{
    const struct gcb_floats *s = (const struct gcb_floats *)b;
    const bool divides = b->scale ? s->scaling.format == GCB_SCALE_FP32 : b->head != 0;
    float scale[GCB_TILE_BLOCKS] = {s->scaling.tensor};

    for (size_t i = 0; b->scale && i < gcb_blocks_count(b, n); i++)
        scale[i] = gcb_scale_value(get_scale(b, scales + i * b->scale), &s->scaling);
    b->base.env.kernels->block.from_floats(x, code, n, b->log2, scale, divides, &s->scaling.f);
}

/* Decodes the largest code with the scale of each element: these values are the limits of x. */
static int float_split(void *state, struct gcb_rbuf *in, const float *x, const float *y,
                       struct gcb_error_split *sums)
{
    const struct gcb_floats *s = state;
    const uint8_t *payload = gcb_rbuf_take(in, s->b.base.max_payload);
    uint16_t code[GCB_TILE];
    float limit[GCB_TILE];

    if (!payload || (s->b.head && !open_head(state, payload)))
        return GCB_E_CORRUPT;
    for (size_t i = 0; i < GCB_TILE; i++)
        code[i] = (uint16_t)s->scaling.f.top;
    for (uint64_t at = 0, n; at < s->b.base.env.count; at += n) {
        n = gcb_tile_length(s->b.base.env.count, at);
        decode_tile(&s->b, limit, code, n, payload + gcb_blocks_scale_at(&s->b, at));
        for (uint64_t i = at; i < at + n; i++) {
            const double error = (double)x[i] - (double)y[i], square = error * error;

            if (gcb_magnitude(x[i]) >= GCB_INF_BITS)
                continue;
            sums->dead_zone += y[i] == 0.0f ? square : 0.0;
            sums->scale += y[i] != 0.0f && fabsf(x[i]) > limit[i - at] ? square : 0.0;
            sums->grid += y[i] != 0.0f && fabsf(x[i]) <= limit[i - at] ? square : 0.0;
        }
    }
    return 0;
}

/* The functions for each format, with its largest finite code; 0: all codes are finite. */
static const struct gcb_blocks_ops formats[] = {
#define OPS(largest) \
    { \
        .begin = begin, .encode = encode_tile, .open = open_head, .valid = valid_scale, \
        .top = largest, .decode = decode_tile \
    }
    OPS(0x7e), OPS(0x7b), OPS(0)};

/* Rows of the table of parameters. */
enum { FORMAT, SCALE, BLOCK, SCALE_FORMAT, RULE, ROUNDING };

static int float_check(const double *value, struct gcb_diag *diag)
{
    const int format = (int)value[SCALE_FORMAT], rule = (int)value[RULE];

    if (value[SCALE] < GCB_FLOAT_BLOCK)
        return 0;
    if (value[SCALE] == GCB_FLOAT_TENSOR_BLOCK && format != GCB_SCALE_E4M3)
        return gcb_invalid(diag, "scale=tensor+block needs scale-format=e4m3");
    if (format == GCB_SCALE_E8M0 && rule >= GCB_SCALE_AMAX)
        return gcb_invalid(diag, "scale-format=e8m0 needs scale-rule=floor, rceil or even");
    if (rule == GCB_SCALE_TE && value[SCALE] != GCB_FLOAT_TENSOR_BLOCK)
        return gcb_invalid(diag, "scale-rule=te needs scale=tensor+block");
    if (format != GCB_SCALE_E8M0 && rule < GCB_SCALE_AMAX)
        return gcb_invalid(diag, "scale-rule=%s needs scale-format=e8m0", rule_names[rule]);
    return gcb_blocks_check((uint64_t)value[BLOCK], diag);
}

static int float_init(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag)
{
    struct gcb_floats *s = state;

    s->b.ops = &formats[s->format];
    s->b.base.sees_nonfinite = true;
    return gcb_floats_bind(s, diag);
}

/* Without a scale, or with a scale that is rounded down or to nearest, the largest element may
 * saturate. Then the mean of its decoded values over seeds is not the element. */
static unsigned float_caps(const double *value)
{
    const bool fits = value[SCALE] == GCB_FLOAT_TENSOR ||
                      (value[SCALE] == GCB_FLOAT_BLOCK &&
                       (value[SCALE_FORMAT] == GCB_SCALE_FP32 || value[RULE] == GCB_SCALE_RCEIL));

    if (value[ROUNDING] == 0.0)
        return 0;
    return fits ? GCB_CAP_RANDOMISED | GCB_CAP_UNBIASED : GCB_CAP_RANDOMISED;
}

static const char *float_rule(const double *value)
{
    return value[ROUNDING] == 0.0 ? "small-float" : "drawn-float";
}

static const struct gcb_param float_params[] = {
    [FORMAT] = {GCB_PARAM("element", CHOICE, struct gcb_floats, format),
                .help = "exponent and mantissa bits of an element", .choices = format_names,
                .flags = GCB_PARAM_WIRE},
    [SCALE] = {GCB_PARAM("scale", CHOICE, struct gcb_floats, scale), .help = "what shares a scale",
               .choices = scale_names, .def = GCB_FLOAT_TENSOR, .flags = GCB_PARAM_WIRE},
    [BLOCK] = {GCB_PARAM("block", SIZE, struct gcb_floats, block),
               .help = "elements of a block, a power of two", .def = 32, .min = GCB_BLOCK_LEAST,
               .max = GCB_BLOCK_MOST, .flags = GCB_PARAM_WIRE, .needs = "scale=block|tensor+block"},
    [SCALE_FORMAT] = {GCB_PARAM("scale-format", CHOICE, struct gcb_floats, scale_format),
                      .help = "format of a block's scale", .choices = scale_format_names,
                      .flags = GCB_PARAM_WIRE, .needs = "scale=block|tensor+block"},
    [RULE] = {GCB_PARAM("scale-rule", CHOICE, struct gcb_floats, rule),
              .help = "how a block's largest magnitude gives its scale", .choices = rule_names,
              .def = GCB_SCALE_AMAX, .needs = "scale=block|tensor+block"},
    [ROUNDING] = {GCB_PARAM("rounding", CHOICE, struct gcb_floats, rounding),
                  .help = "how a value becomes a code", .choices = gcb_block_rounding_names},
    {.name = NULL},
};

static const struct gcb_codec_ops float_ops = {
    .state_size = sizeof(struct gcb_floats),
    .init = float_init,
    .clamps = true,
    .encode = gcb_blocks_encode,
    .read = gcb_blocks_read,
    .describe = gcb_blocks_describe,
    .split = float_split,
};

#define GUARANTEE \
    "half a step of the format at |x| over the scale, a step if stochastic, unless saturated"

static const struct gcb_preset float_presets[] = {
    {.name = "fp8",
     .summary = "e4m3 with a scale for the tensor",
     .source = "Micikevicius et al., arXiv 2209.05433; the scale of torchft",
     .defaults = "element=e4m3,scale=tensor",
     .guarantee = GUARANTEE},
    {.name = "mxfp8",
     .summary = "e4m3 with a power of two for each 32 elements",
     .source = "OCP Microscaling Formats 1.0; torchao 0.18",
     .defaults = "element=e4m3,scale=block,block=32,scale-format=e8m0,scale-rule=rceil",
     .guarantee = GUARANTEE},
    {.name = "mxfp4",
     .summary = "e2m1 with a power of two for each 32 elements",
     .source = "OCP Microscaling Formats 1.0; torchao 0.18",
     .defaults = "element=e2m1,scale=block,block=32,scale-format=e8m0,scale-rule=rceil",
     .guarantee = GUARANTEE},
    {.name = "nvfp4",
     .summary = "e2m1 with an e4m3 scale for each 16 elements, and a scale for the tensor",
     .source = "NVIDIA NVFP4; torchao 0.18",
     .defaults = "element=e2m1,scale=tensor+block,block=16,scale-format=e4m3,scale-rule=amax",
     .guarantee = GUARANTEE},
    {.name = NULL},
};

const struct gcb_codec gcb_codec_float = {
    .name = "float",
    .summary = "small floats with shared scales: fp8, MXFP8, MXFP4, NVFP4 and others",
    .source = "OCP Microscaling Formats 1.0; Micikevicius et al., arXiv 2209.05433",
    .guarantee = GUARANTEE,
    .error_rule_of = float_rule,
    .wire_id = 13,
    .caps_of = float_caps,
    .params = float_params,
    .check = float_check,
    .ops = &float_ops,
    .collectives = GCB_COLLECTIVES_DENSE,
    .presets = float_presets,
};
