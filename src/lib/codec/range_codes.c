#include "src/lib/codec/range_codes.h"

const char *const gcb_range_rounding_names[] = {"nearest", "truncate", NULL};

int gcb_range_check(unsigned bits, unsigned mantissa, struct gcb_diag *diag)
{
    if (mantissa == 0 || gcb_range_valid(bits, mantissa))
        return 0;
    if (mantissa >= bits)
        return gcb_diag_set(diag, GCB_E_INVALID, "mantissa=%u does not fit %u bits; at most %u do",
                            mantissa, bits, bits - 1);
    return gcb_diag_set(diag, GCB_E_INVALID,
                        "mantissa=%u is too small for %u bits: the codes would cover more octaves "
                        "than float32 has below 1",
                        mantissa, bits);
}

void gcb_range_measure(struct gcb_range_stats *stats, const struct gcb_range_params *p,
                       const struct gcb_kernels *kernels, const float *x, uint64_t n)
{
    uint32_t count[256] = {0};
    uint32_t top = 0;

    if (p->mantissa == 0)
        top = kernels->reduce.exponents(count, x, n);
    else if (p->max == 0.0)
        top = kernels->reduce.max_bits(x, n);
    stats->max_bits = top > stats->max_bits ? top : stats->max_bits;
    if (p->mantissa == 0)
        for (size_t i = 0; i < 256; i++)
            stats->exponents[i] += count[i];
}

void gcb_range_join(struct gcb_range_stats *stats, const struct gcb_range_stats *from)
{
    uint32_t seen = __atomic_load_n(&stats->max_bits, __ATOMIC_RELAXED);

    while (seen < from->max_bits &&
           !__atomic_compare_exchange_n(&stats->max_bits, &seen, from->max_bits, false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        continue;
    for (size_t i = 0; i < 256; i++)
        if (from->exponents[i])
            __atomic_fetch_add(&stats->exponents[i], from->exponents[i], __ATOMIC_RELAXED);
}

void gcb_range_choose(struct gcb_range_format *format, const struct gcb_range_params *p,
                      const struct gcb_range_stats *stats)
{
    const float max = p->max != 0.0 ? (float)p->max : gcb_float_of(stats->max_bits);
    const unsigned mantissa =
        p->mantissa ? (unsigned)p->mantissa
                    : gcb_range_best_mantissa(stats->exponents, max, (unsigned)p->bits,
                                              (enum gcb_range_rounding)p->rounding);

    gcb_range_format(format, (unsigned)p->bits, mantissa, max,
                     (enum gcb_range_rounding)p->rounding);
}

void gcb_range_put_scale(struct gcb_wbuf *out, const struct gcb_range_format *format)
{
    gcb_put_f32(out, gcb_range_decode(format->top, format));
    gcb_put_u8(out, (uint8_t)format->mantissa);
}

int gcb_range_get_scale(struct gcb_range_format *format, const struct gcb_range_params *p,
                        struct gcb_rbuf *in)
{
    const float max = gcb_get_f32(in);
    const unsigned mantissa = gcb_get_u8(in);

    if (in->failed || gcb_bits_of(max) >= GCB_INF_BITS ||
        !gcb_range_valid((unsigned)p->bits, mantissa))
        return GCB_E_CORRUPT;
    gcb_range_format(format, (unsigned)p->bits, mantissa, max, GCB_ROUND_TRUNCATE);
    return 0;
}

uint64_t gcb_range_put(uint8_t *out, const float *x, uint64_t n,
                       const struct gcb_range_format *format, const struct gcb_kernels *kernels)
{
    uint16_t code[GCB_TILE];
    uint64_t clamped = 0;

    for (uint64_t i = 0; i < n; i += GCB_TILE) {
        const size_t m = n - i < GCB_TILE ? n - i : GCB_TILE;

        clamped += kernels->range.encode(code, x + i, m, format);
        kernels->bitpack.pack(out + i / 8 * format->bits, code, m, format->bits);
    }
    return clamped;
}

void gcb_range_get(float *x, const uint8_t *in, uint64_t n, const struct gcb_range_format *format,
                   const struct gcb_kernels *kernels)
{
    uint16_t code[GCB_TILE];

    for (uint64_t i = 0; i < n; i += GCB_TILE) {
        const size_t m = n - i < GCB_TILE ? n - i : GCB_TILE;

        kernels->bitpack.unpack(code, in + i / 8 * format->bits, m, format->bits);
        kernels->range.decode(x + i, code, m, format);
    }
}
