#include <string.h>

#include "src/lib/sparse/values.h"

/*
 * Values replaced by a mean. Sums follow the project's rule on the kept values in the order of their
 * positions (kernels/reduce/reduce.h): tiles begin at whole sum blocks.
 *
 *   mean       one float32 for all: SBC and RedSync's quantisation, for selections of one sign
 *   sign-mean  the mean magnitude, and a sign bit each: STC
 *   means      the mean of the positive and of the other values, and a bit each: adaptive threshold
 */

/* Adds the n values of a tile: of all, or of one sign with the others masked to +0. */
static void add_blocks(struct gcb_values_state *v, const float *x, size_t n)
{
    float up[GCB_SUM_BLOCK], down[GCB_SUM_BLOCK];

    for (size_t i = 0; i < n; i += GCB_SUM_BLOCK) {
        const size_t m = n - i < GCB_SUM_BLOCK ? n - i : GCB_SUM_BLOCK;

        for (size_t j = 0; j < m; j++) {
            const int positive = x[i + j] > 0.0f;

            up[j] = positive ? x[i + j] : 0.0f;
            down[j] = positive ? 0.0f : x[i + j];
            v->positive += (uint64_t)positive;
        }
        v->sum_up += v->kernels->reduce.sum(up, m);
        v->sum_down += v->kernels->reduce.sum(down, m);
        v->count += m;
    }
}

static float ratio(double sum, uint64_t n)
{
    return n ? (float)(sum / (double)n) : 0.0f;
}

static uint64_t no_bytes(const struct gcb_values_state *v, uint64_t n)
{
    (void)v;
    (void)n;
    return 0;
}

static uint64_t sign_bytes(const struct gcb_values_state *v, uint64_t n)
{
    (void)v;
    return (n + 7) / 8;
}

static int get_two(struct gcb_values_state *v, struct gcb_rbuf *in, bool two)
{
    v->up = gcb_get_f32(in);
    v->down = two ? gcb_get_f32(in) : v->up;
    if (gcb_magnitude(v->up) >= GCB_INF_BITS || gcb_magnitude(v->down) >= GCB_INF_BITS)
        return GCB_E_CORRUPT;
    return in->failed ? GCB_E_CORRUPT : 0;
}

/* ---- mean ---- */

static void mean_put_scale(struct gcb_values_state *v, struct gcb_wbuf *out)
{
    v->up = ratio(v->sum_up + v->sum_down, v->count);
    gcb_put_f32(out, v->up);
}

static void mean_put(struct gcb_values_state *v, uint8_t *out, const float *x, size_t n)
{
    (void)v;
    (void)out;
    (void)x;
    (void)n;
}

static int mean_get_scale(struct gcb_values_state *v, struct gcb_rbuf *in)
{
    return get_two(v, in, false);
}

static void mean_get(const struct gcb_values_state *v, float *x, const uint8_t *in, size_t n)
{
    (void)in;
    for (size_t i = 0; i < n; i++)
        x[i] = v->up;
}

static int mean_entropy(const struct gcb_values_state *v, double *bits, const uint8_t *in,
                        uint64_t n)
{
    (void)v;
    (void)in;
    (void)n;
    *bits = 0.0;
    return 0;
}

static double mean_nominal(const struct gcb_values_state *v)
{
    (void)v;
    return 0.0;
}

/* ---- two values and a bit: 1 for up ---- */

static void bits_put(struct gcb_values_state *v, uint8_t *out, const float *x, size_t n)
{
    (void)v;
    memset(out, 0, (n + 7) / 8);
    for (size_t i = 0; i < n; i++)
        out[i / 8] |= (uint8_t)((x[i] > 0.0f) << i % 8);
}

static void bits_get(const struct gcb_values_state *v, float *x, const uint8_t *in, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = in[i / 8] >> i % 8 & 1 ? v->up : v->down;
}

static int bits_entropy(const struct gcb_values_state *v, double *bits, const uint8_t *in,
                        uint64_t n)
{
    return gcb_packed_entropy(bits, in, n, 1, v->kernels);
}

static double bits_nominal(const struct gcb_values_state *v)
{
    (void)v;
    return 1.0;
}

static void sign_mean_put_scale(struct gcb_values_state *v, struct gcb_wbuf *out)
{
    v->up = ratio(v->sum_up - v->sum_down, v->count);
    gcb_put_f32(out, v->up);
}

static int sign_mean_get_scale(struct gcb_values_state *v, struct gcb_rbuf *in)
{
    const int err = get_two(v, in, false);

    v->down = -v->up;
    return err;
}

static void means_put_scale(struct gcb_values_state *v, struct gcb_wbuf *out)
{
    gcb_put_f32(out, ratio(v->sum_up, v->positive));
    gcb_put_f32(out, ratio(v->sum_down, v->count - v->positive));
}

static int means_get_scale(struct gcb_values_state *v, struct gcb_rbuf *in)
{
    return get_two(v, in, true);
}

const struct gcb_values gcb_values_mean = {
    .name = "mean",
    .one_sign = true,
    .scale_bytes = sizeof(float),
    .bytes = no_bytes,
    .measure = add_blocks,
    .put_scale = mean_put_scale,
    .put = mean_put,
    .get_scale = mean_get_scale,
    .get = mean_get,
    .entropy = mean_entropy,
    .nominal_bits = mean_nominal,
};

const struct gcb_values gcb_values_sign_mean = {
    .name = "sign-mean",
    .scale_bytes = sizeof(float),
    .bytes = sign_bytes,
    .measure = add_blocks,
    .put_scale = sign_mean_put_scale,
    .put = bits_put,
    .get_scale = sign_mean_get_scale,
    .get = bits_get,
    .entropy = bits_entropy,
    .nominal_bits = bits_nominal,
};

const struct gcb_values gcb_values_means = {
    .name = "means",
    .scale_bytes = 2 * sizeof(float),
    .bytes = sign_bytes,
    .measure = add_blocks,
    .put_scale = means_put_scale,
    .put = bits_put,
    .get_scale = means_get_scale,
    .get = bits_get,
    .entropy = bits_entropy,
    .nominal_bits = bits_nominal,
};
