#include <string.h>

#include "src/lib/sparse/stages.h"

/*
 * Replaces values by a mean. Sums go over the kept values in the order of their positions, by the rule of
 * kernels/reduce/reduce.h, because tiles begin at whole sum blocks.
 *
 *   mean       one float32 for all values: SBC and RedSync's quantisation, for selections of one sign
 *   sign-mean  the mean magnitude, and a sign bit per value: STC
 *   means      the mean of the positive values, the mean of the others, and a bit per value: adaptive threshold
 */

/* Adds a tile to the sums of positive values and of other values; a masked-out value adds +0. */
static void add_tile(struct gcb_values_state *v, const float *x, size_t n)
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

static float mean_of(double sum, uint64_t n)
{
    return n ? (float)(sum / (double)n) : 0.0f;
}

/* Reads one mean or two, and checks that they are finite. */
static int get_means(struct gcb_values_state *v, struct gcb_rbuf *in, bool two)
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
    v->up = mean_of(v->sum_up + v->sum_down, v->count);
    gcb_put_f32(out, v->up);
}

static int mean_get_scale(struct gcb_values_state *v, struct gcb_rbuf *in)
{
    return get_means(v, in, false);
}

static void mean_get(const struct gcb_values_state *v, float *x, const uint8_t *in, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = v->up;
}

/* ---- two means, and a bit for each value: 1 means `up` ---- */

static void bits_put(struct gcb_values_state *v, uint8_t *out, const float *x, size_t n)
{
    memset(out, 0, (n + 7) / 8);
    for (size_t i = 0; i < n; i++)
        out[i / 8] |= (uint8_t)((x[i] > 0.0f) << i % 8);
}

static void bits_get(const struct gcb_values_state *v, float *x, const uint8_t *in, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = in[i / 8] >> i % 8 & 1 ? v->up : v->down;
}

static void sign_mean_put_scale(struct gcb_values_state *v, struct gcb_wbuf *out)
{
    v->up = mean_of(v->sum_up - v->sum_down, v->count);
    gcb_put_f32(out, v->up);
}

static int sign_mean_get_scale(struct gcb_values_state *v, struct gcb_rbuf *in)
{
    const int err = get_means(v, in, false);

    v->down = -v->up;
    return err;
}

static void means_put_scale(struct gcb_values_state *v, struct gcb_wbuf *out)
{
    gcb_put_f32(out, mean_of(v->sum_up, v->positive));
    gcb_put_f32(out, mean_of(v->sum_down, v->count - v->positive));
}

static int means_get_scale(struct gcb_values_state *v, struct gcb_rbuf *in)
{
    return get_means(v, in, true);
}

const struct gcb_value_coder gcb_values_mean = {
    .name = "mean",
    .one_sign = true,
    .scale_bytes = sizeof(float),
    .measure = add_tile,
    .put_scale = mean_put_scale,
    .get_scale = mean_get_scale,
    .get = mean_get,
};

const struct gcb_value_coder gcb_values_sign_mean = {
    .name = "sign-mean",
    .bits = 1,
    .scale_bytes = sizeof(float),
    .measure = add_tile,
    .put_scale = sign_mean_put_scale,
    .put = bits_put,
    .get_scale = sign_mean_get_scale,
    .get = bits_get,
};

const struct gcb_value_coder gcb_values_means = {
    .name = "means",
    .bits = 1,
    .scale_bytes = 2 * sizeof(float),
    .measure = add_tile,
    .put_scale = means_put_scale,
    .put = bits_put,
    .get_scale = means_get_scale,
    .get = bits_get,
};
