#include "src/lib/codec/blocks.h"

/* Layouts of the codecs float, affine and codebook, for the CPU and for a device. */

int gcb_blocks_check(uint64_t block, struct gcb_diag *diag)
{
    if (block >= GCB_BLOCK_LEAST && block <= GCB_BLOCK_MOST && (block & (block - 1)) == 0)
        return 0;
    return gcb_invalid(diag, "block=%llu is not a power of two from %d to %d",
                       (unsigned long long)block, GCB_BLOCK_LEAST, GCB_BLOCK_MOST);
}

/* Sets log2 from the parameter `block`, and in the base what depends on the layout. */
static int lay_out(struct gcb_blocks *s, uint64_t block, struct gcb_diag *diag)
{
    const int err = s->scale ? gcb_blocks_check(block, diag) : 0;

    if (err)
        return err;
    s->log2 = s->scale ? (unsigned)__builtin_ctzll(block) : GCB_BLOCKS_ALL;
    s->base.max_payload = gcb_blocks_codes_at(s) + gcb_packed_bytes(s->base.env.count, s->width);
    s->base.may_send_raw = s->too_much < GCB_INF_BITS;
    return 0;
}

int gcb_floats_bind(struct gcb_floats *s, struct gcb_diag *diag)
{
    const bool blocks = s->scale >= GCB_FLOAT_BLOCK;

    if (s->scale == GCB_FLOAT_TENSOR_BLOCK && s->scale_format != GCB_SCALE_E4M3)
        return gcb_invalid(diag, "scale=tensor+block needs scale-format=e4m3");
    s->scaling.f = gcb_small_float_of((enum gcb_small_format)s->format);
    s->scaling.e4 = gcb_small_float_of(GCB_E4M3);
    s->scaling.format = blocks ? (enum gcb_scale_format)s->scale_format : GCB_SCALE_FP32;
    s->scaling.rule = (enum gcb_scale_rule)s->rule;
    s->scaling.tensor = 1.0f;
    s->scaling.drawn = s->rounding != 0;
    s->b.width = s->format == GCB_E2M1 ? 4 : 8;
    s->b.head = s->scale == GCB_FLOAT_TENSOR || s->scale == GCB_FLOAT_TENSOR_BLOCK ? 4 : 0;
    s->b.scale = !blocks ? 0 : s->scaling.format == GCB_SCALE_FP32 ? 4 : 1;
    s->b.scale_top = (uint8_t)(s->scaling.format == GCB_SCALE_E8M0
                                   ? 2 * GCB_E8M0_ONE - gcb_small_exponent(&s->scaling.f)
                                   : s->scaling.e4.top);
    s->b.drawn = s->scaling.drawn;
    s->b.too_much = s->scale == GCB_FLOAT_NONE ? GCB_INF_BITS : GCB_SCALE_MOST;
    s->b.base.nominal_bits = s->b.width + (blocks ? 8.0 * s->b.scale / (double)s->block : 0.0);
    return lay_out(&s->b, s->block, diag);
}

int gcb_affines_bind(struct gcb_affines *s, struct gcb_diag *diag)
{
    s->b.width = (unsigned)s->bits;
    s->b.scale = s->offset ? 8 : 5;
    s->b.drawn = s->rounding != 0;
    s->b.too_much = GCB_SCALE_MOST;
    s->b.base.nominal_bits = (double)s->bits + 8.0 * s->b.scale / (double)s->block;
    return lay_out(&s->b, s->block, diag);
}

int gcb_books_bind(struct gcb_books *s, struct gcb_diag *diag)
{
    const bool uniform = s->book == GCB_BOOK_UNIFORM;

    s->b.width = 8;
    s->b.head = uniform ? GCB_BOOK * sizeof(float) : 0;
    s->b.scale = uniform ? 0 : sizeof(float);
    s->b.too_much = uniform ? 0 : GCB_INF_BITS;
    s->b.base.nominal_bits = uniform ? 8.0 : 8.0 + 32.0 / (double)s->block;
    return lay_out(&s->b, s->block, diag);
}
