#include <string.h>

#include "src/lib/sparse/values.h"

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
    return gcb_packed_entropy(bits, in, n, 16, v->kernels);
}

static double fp16_nominal(const struct gcb_values_state *v)
{
    (void)v;
    return 16.0;
}

/* ---- the descriptors ---- */

const struct gcb_values gcb_values_fp32 = {
    .name = "fp32",
    .bytes = fp32_bytes,
    .put = fp32_put,
    .get_scale = no_scale,
    .get = fp32_get,
    .entropy = fp32_entropy,
    .nominal_bits = fp32_nominal,
};

const struct gcb_values gcb_values_fp16 = {
    .name = "fp16",
    .bytes = fp16_bytes,
    .put = fp16_put,
    .get_scale = no_scale,
    .get = fp16_get,
    .entropy = fp16_entropy,
    .nominal_bits = fp16_nominal,
};
