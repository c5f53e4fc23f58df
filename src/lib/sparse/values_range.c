#include "src/lib/sparse/values.h"

static uint64_t range_bytes(const struct gcb_values_state *v, uint64_t n)
{
    return gcb_packed_bytes(n, (unsigned)v->range.bits);
}

static void range_measure(struct gcb_values_state *v, const float *x, size_t n)
{
    gcb_range_measure(&v->stats, &v->range, v->kernels, x, n);
}

static void range_put_scale(struct gcb_values_state *v, struct gcb_wbuf *out)
{
    gcb_range_choose(&v->format, &v->range, &v->stats);
    gcb_range_put_scale(out, &v->format);
}

static void range_put(struct gcb_values_state *v, uint8_t *out, const float *x, size_t n)
{
    v->clamped += gcb_range_put(out, x, n, &v->format, v->kernels);
}

static int range_get_scale(struct gcb_values_state *v, struct gcb_rbuf *in)
{
    return gcb_range_get_scale(&v->format, &v->range, in);
}

static void range_get(const struct gcb_values_state *v, float *x, const uint8_t *in, size_t n)
{
    gcb_range_get(x, in, n, &v->format, v->kernels);
}

static int range_entropy(const struct gcb_values_state *v, double *bits, const uint8_t *in,
                         uint64_t n)
{
    return gcb_packed_entropy(bits, in, n, (unsigned)v->range.bits, v->kernels);
}

static double range_nominal(const struct gcb_values_state *v)
{
    return (double)v->range.bits;
}

const struct gcb_values gcb_values_range = {
    .name = "range",
    .scale_bytes = GCB_RANGE_SCALE_BYTES,
    .bytes = range_bytes,
    .measure = range_measure,
    .put_scale = range_put_scale,
    .put = range_put,
    .get_scale = range_get_scale,
    .get = range_get,
    .entropy = range_entropy,
    .nominal_bits = range_nominal,
};
