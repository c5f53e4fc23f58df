#include "src/lib/sparse/stages.h"

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

const struct gcb_value_coder gcb_values_range = {
    .name = "range",
    .bits = GCB_CODER_BITS_GIVEN,
    .scale_bytes = GCB_RANGE_SCALE_BYTES,
    .measure = range_measure,
    .put_scale = range_put_scale,
    .put = range_put,
    .get_scale = range_get_scale,
    .get = range_get,
};
