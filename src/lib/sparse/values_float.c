#include <string.h>

#include "src/lib/sparse/stages.h"

static void fp32_put(struct gcb_values_state *v, uint8_t *out, const float *x, size_t n)
{
    memcpy(out, x, n * sizeof(float));
}

static void fp32_get(const struct gcb_values_state *v, float *x, const uint8_t *in, size_t n)
{
    memcpy(x, in, n * sizeof(float));
}

const struct gcb_value_coder gcb_values_fp32 = {
    .name = "fp32",
    .bits = 32,
    .put = fp32_put,
    .get = fp32_get,
};

static void fp16_put(struct gcb_values_state *v, uint8_t *out, const float *x, size_t n)
{
    v->clamped += v->kernels->convert.to_fp16(out, x, n);
}

static void fp16_get(const struct gcb_values_state *v, float *x, const uint8_t *in, size_t n)
{
    v->kernels->convert.from_fp16(x, in, n);
}

const struct gcb_value_coder gcb_values_fp16 = {
    .name = "fp16",
    .bits = 16,
    .put = fp16_put,
    .get = fp16_get,
};
