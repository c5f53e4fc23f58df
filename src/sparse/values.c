#include <string.h>

#include "src/sparse/stages.h"

/* ---- fp32 ---- */

static uint64_t fp32_bytes(const struct gcb_values_state *v, uint64_t n)
{
    (void)v;
    return n * sizeof(float);
}

static void fp32_put(struct gcb_values_state *v, uint8_t *out, const float *x, size_t n)
{
    (void)v;
    memcpy(out, x, n * sizeof(float));
}

static int no_scale(struct gcb_values_state *v, struct gcb_rbuf *in)
{
    (void)v;
    (void)in;
    return 0;
}

static void fp32_get(const struct gcb_values_state *v, float *x, const uint8_t *in, size_t n)
{
    (void)v;
    memcpy(x, in, n * sizeof(float));
}

static int fp32_entropy(const struct gcb_values_state *v, double *bits, const uint8_t *in,
                        uint64_t n)
{
    (void)v;
    (void)in;
    *bits = 32.0 * (double)n;
    return 0;
}

static double fp32_nominal(const struct gcb_values_state *v)
{
    (void)v;
    return 32.0;
}

/* ---- fp16 ---- */

static uint64_t fp16_bytes(const struct gcb_values_state *v, uint64_t n)
{
    (void)v;
    return n * 2;
}

static void fp16_put(struct gcb_values_state *v, uint8_t *out, const float *x, size_t n)
{
    v->clamped += v->kernels->convert.to_fp16(out, x, n);
}

static void fp16_get(const struct gcb_values_state *v, float *x, const uint8_t *in, size_t n)
{
    v->kernels->convert.from_fp16(x, in, n);
}

static int fp16_entropy(const struct gcb_values_state *v, double *bits, const uint8_t *in,
                        uint64_t n)
{
    (void)v;
    (void)in;
    *bits = 16.0 * (double)n;
    return 0;
}

static double fp16_nominal(const struct gcb_values_state *v)
{
    (void)v;
    return 16.0;
}

/* ---- range float ---- */

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

/* ---- the table ---- */

static const struct gcb_values values[] = {
    {
        .name = "fp32",
        .bytes = fp32_bytes,
        .put = fp32_put,
        .get_scale = no_scale,
        .get = fp32_get,
        .entropy = fp32_entropy,
        .nominal_bits = fp32_nominal,
    },
    {
        .name = "fp16",
        .bytes = fp16_bytes,
        .put = fp16_put,
        .get_scale = no_scale,
        .get = fp16_get,
        .entropy = fp16_entropy,
        .nominal_bits = fp16_nominal,
    },
    {
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
    },
};

const char *const gcb_values_names[] = {"fp32", "fp16", "range", NULL};

const struct gcb_values *gcb_values_at(int id)
{
    return &values[id];
}
