#include "kernels/select/uniform_elem.h"
#include "src/lib/sparse/stages.h"

/* Divides the range from 0 to max, the largest kept magnitude, into s equal steps and rounds to the nearest level
 * (kernels/select/uniform_elem.h). The error is at most max / (2 s). */

static void uniform_measure(struct gcb_values_state *v, const float *x, size_t n)
{
    const uint32_t top = v->kernels->reduce.max_bits(x, n);

    if (v->range.max == 0.0 && top > v->stats.max_bits)
        v->stats.max_bits = top;
}

static void uniform_put_scale(struct gcb_values_state *v, struct gcb_wbuf *out)
{
    v->up = v->range.max != 0.0 ? (float)v->range.max : gcb_float_of(v->stats.max_bits);
    gcb_put_f32(out, v->up);
}

static void uniform_put(struct gcb_values_state *v, uint8_t *out, const float *x, size_t n)
{
    const unsigned bits = (unsigned)v->range.bits;
    uint16_t code[GCB_TILE];

    for (size_t i = 0; i < n; i += GCB_TILE) {
        const size_t m = n - i < GCB_TILE ? n - i : GCB_TILE;

        for (size_t j = 0; j < m; j++) {
            code[j] = (uint16_t)gcb_uniform_encode(x[i + j], v->up, bits);
            v->clamped += gcb_magnitude(x[i + j]) > gcb_bits_of(v->up);
        }
        v->kernels->bitpack.pack(out + i / 8 * bits, code, m, bits);
    }
}

static int uniform_get_scale(struct gcb_values_state *v, struct gcb_rbuf *in)
{
    v->up = gcb_get_f32(in);
    return in->failed || gcb_bits_of(v->up) >= GCB_INF_BITS ? GCB_E_CORRUPT : 0;
}

static void uniform_get(const struct gcb_values_state *v, float *x, const uint8_t *in, size_t n)
{
    const unsigned bits = (unsigned)v->range.bits;
    uint16_t code[GCB_TILE];

    for (size_t i = 0; i < n; i += GCB_TILE) {
        const size_t m = n - i < GCB_TILE ? n - i : GCB_TILE;

        v->kernels->bitpack.unpack(code, in + i / 8 * bits, m, bits);
        for (size_t j = 0; j < m; j++)
            x[i + j] = gcb_uniform_decode(code[j], v->up, bits);
    }
}

const struct gcb_value_coder gcb_values_uniform = {
    .name = "uniform",
    .bits = GCB_CODER_BITS_GIVEN,
    .scale_bytes = sizeof(float),
    .measure = uniform_measure,
    .put_scale = uniform_put_scale,
    .put = uniform_put,
    .get_scale = uniform_get_scale,
    .get = uniform_get,
};
