#include "src/lib/codec/blocks.h"

/*
 * Integers with an offset: the range from a block's smallest to its largest value is cut into
 * 2^bits - 1 equal steps. With offset=zero, the range is extended to include 0. The arithmetic is
 * in kernels/block/block_elem.h.
 *
 * Payload (src/lib/codec/blocks.h): there is no head. A scale is the step as a float32, then the
 * code of 0 in a byte (offset=zero), or the smallest value as a float32.
 */
static const char *const offset_names[] = {"zero", "minimum", NULL};

static float top_of(const struct gcb_blocks *s)
{
    return (float)((1u << s->width) - 1);
}

/* True with offset=minimum: only then a scale has 8 bytes. */
static bool by_minimum(const struct gcb_blocks *s)
{
    return s->scale == 8;
}

static void put_scale(const struct gcb_blocks *s, uint8_t *out, const struct gcb_affine *a)
{
    gcb_store_u32(out, gcb_bits_of(a->step));
    if (by_minimum(s))
        gcb_store_u32(out + 4, gcb_bits_of(a->base));
    else
        out[4] = (uint8_t)a->base;
}

static struct gcb_affine get_scale(const struct gcb_blocks *s, const uint8_t *in)
{
    return (struct gcb_affine){gcb_float_of(gcb_load_u32(in)),
                               by_minimum(s) ? gcb_float_of(gcb_load_u32(in + 4)) : (float)in[4]};
}

static void encode_tile(const struct gcb_blocks *s, struct gcb_blocks_encoding *e)
{
    const struct gcb_kernels *k = s->base.env.kernels;
    const bool minimum = by_minimum(s);
    const float top = top_of(s);
    float lo[GCB_TILE_BLOCKS], hi[GCB_TILE_BLOCKS];
    struct gcb_affine a[GCB_TILE_BLOCKS];

    e->most = k->block.ends(lo, hi, e->x, e->n, s->log2);
    for (size_t i = 0; i < gcb_blocks_count(s, e->n); i++) {
        a[i] = gcb_affine_of(lo[i], hi[i], top, minimum);
        put_scale(s, e->scale + i * s->scale, &a[i]);
    }
    if (e->draw)
        k->block.draw_integers(e->code, e->x, e->n, s->log2, a, top, minimum, e->draw);
    else
        k->block.integers(e->code, e->x, e->n, s->log2, a, top, minimum);
}

static bool valid_scale(const struct gcb_blocks *s, const uint8_t *scale)
{
    const struct gcb_affine a = get_scale(s, scale);

    return gcb_affine_valid(&a, top_of(s), by_minimum(s));
}

static void decode_tile(const struct gcb_blocks *s, float *x, const uint16_t *code, size_t n,
                        const uint8_t *scale)
{
    struct gcb_affine a[GCB_TILE_BLOCKS];

    for (size_t i = 0; i < gcb_blocks_count(s, n); i++)
        a[i] = get_scale(s, scale + i * s->scale);
    s->base.env.kernels->block.from_integers(x, code, n, s->log2, a, by_minimum(s));
}

static const struct gcb_blocks_ops block_ops = {
    .encode = encode_tile,
    .valid = valid_scale,
    .decode = decode_tile,
};

static int affine_init(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag)
{
    struct gcb_affines *s = state;

    s->b.ops = &block_ops;
    s->b.base.sees_nonfinite = true;
    return gcb_affines_bind(s, diag);
}

/* Rows of the table of parameters. */
enum { BITS, BLOCK, OFFSET, ROUNDING };

static int affine_check(const double *value, struct gcb_diag *diag)
{
    return gcb_blocks_check((uint64_t)value[BLOCK], diag);
}

/* With offset=minimum zeros do not stay zeros, so the error may exceed the norm of x. With
 * offset=zero the block's smallest or largest value may be half a step beyond the codes. Then the
 * value is clamped, so the mean of its decoded values over seeds is not the value. */
static unsigned affine_caps(const double *value)
{
    const unsigned zeros = value[OFFSET] != 0.0 ? GCB_CAP_NO_CONTRACTION : 0;

    if (value[ROUNDING] == 0.0)
        return zeros;
    return zeros | GCB_CAP_RANDOMISED | (value[OFFSET] != 0.0 ? GCB_CAP_UNBIASED : 0);
}

static const char *affine_rule(const double *value)
{
    return value[ROUNDING] == 0.0 ? "affine" : "drawn-affine";
}

static const struct gcb_param affine_params[] = {
    [BITS] = {GCB_PARAM("bits", INT, struct gcb_affines, bits), .help = "bits of a code", .def = 8,
              .min = 2, .max = 8, .flags = GCB_PARAM_WIRE, .rate = GCB_RATE_UP},
    [BLOCK] = {GCB_PARAM("block", SIZE, struct gcb_affines, block),
               .help = "elements of a block, a power of two", .def = 512, .min = GCB_BLOCK_LEAST,
               .max = GCB_BLOCK_MOST, .flags = GCB_PARAM_WIRE},
    [OFFSET] = {GCB_PARAM("offset", CHOICE, struct gcb_affines, offset),
                .help = "what is exact: zero, or the block's smallest value",
                .choices = offset_names, .flags = GCB_PARAM_WIRE},
    [ROUNDING] = {GCB_PARAM("rounding", CHOICE, struct gcb_affines, rounding),
                  .help = "how a value becomes a code", .choices = gcb_block_rounding_names},
    {.name = NULL},
};

static const struct gcb_codec_ops affine_ops = {
    .state_size = sizeof(struct gcb_affines),
    .init = affine_init,
    .encode = gcb_blocks_encode,
    .read = gcb_blocks_read,
    .describe = gcb_blocks_describe,
};

#define GUARANTEE \
    "half a step, a step if stochastic; steps are (max - min) / (2^bits - 1) of the block"

static const struct gcb_preset affine_presets[] = {
    {.name = "int8",
     .summary = "8-bit integers for blocks of 512, zero exact",
     .source = "PyTorch, quantization_perchannel_hook",
     .defaults = "bits=8,block=512,offset=zero",
     .guarantee = GUARANTEE},
    {.name = "int4",
     .summary = "4-bit integers for blocks of 512, zero exact",
     .source = "PyTorch, quantization_perchannel_hook, with 4 bits",
     .defaults = "bits=4,block=512,offset=zero",
     .guarantee = GUARANTEE},
    {.name = "cgx",
     .summary = "4-bit integers for blocks of 512, the smallest value exact",
     .source = "Markov et al., Middleware 2022 (CGX), min-max quantisation",
     .defaults = "bits=4,block=512,offset=minimum",
     .guarantee = GUARANTEE},
    {.name = NULL},
};

const struct gcb_codec gcb_codec_affine = {
    .name = "affine",
    .summary = "integers between each block's smallest and largest value",
    .source = "PyTorch, quantization_hooks; Markov et al., Middleware 2022 (CGX)",
    .guarantee = GUARANTEE,
    .error_rule_of = affine_rule,
    .wire_id = 14,
    .caps_of = affine_caps,
    .params = affine_params,
    .check = affine_check,
    .ops = &affine_ops,
    .collectives = GCB_COLLECTIVES_DENSE,
    .presets = affine_presets,
};
