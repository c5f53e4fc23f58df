#include <string.h>

#include "kernels/select/uniform_elem.h"
#include "src/lib/sparse/stages.h"

/* ---- fp32 and fp16 ---- */

static void fp32_put(struct gcb_values_state *v, uint8_t *out, const float *x, size_t n)
{
    memcpy(out, x, n * sizeof(float));
}

static void fp32_get(const struct gcb_values_state *v, float *x, const uint8_t *in, size_t n)
{
    memcpy(x, in, n * sizeof(float));
}

static void fp16_put(struct gcb_values_state *v, uint8_t *out, const float *x, size_t n)
{
    v->clamped += v->kernels->convert.to_fp16(out, x, n);
}

static void fp16_get(const struct gcb_values_state *v, float *x, const uint8_t *in, size_t n)
{
    v->kernels->convert.from_fp16(x, in, n);
}

/* ---- range floats ---- */

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

/*
 * ---- uniform ----
 *
 * Divides the range from 0 to max, the parameter or the largest kept magnitude, into equal steps,
 * and rounds magnitudes to the nearest level (kernels/select/uniform_elem.h). The error is at most
 * half a step, except for magnitudes larger than max, which become max.
 */

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
        const size_t m = gcb_tile_length(n, i);

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
        const size_t m = gcb_tile_length(n, i);

        v->kernels->bitpack.unpack(code, in + i / 8 * bits, m, bits);
        for (size_t j = 0; j < m; j++)
            x[i + j] = gcb_uniform_decode(code[j], v->up, bits);
    }
}

/*
 * ---- means ----
 *
 * These coders replace values by a mean:
 *   mean       one mean for all values, in selections of one sign: SBC, RedSync's quantisation
 *   sign-mean  the mean magnitude, and a sign bit per value: STC
 *   means      the mean of the positive values, the mean of the others, and a bit per value
 *
 * Sums are in the order of positions and follow the rule of kernels/reduce/reduce.h. That needs
 * tiles that begin at a whole sum block.
 */

/* Adds a tile to the sum of the positive values and to the sum of the others. A value adds +0 to
 * the sum to which it does not belong. */
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

/* Reads a mean. Sets in->failed if it is not finite. */
static float get_mean(struct gcb_rbuf *in)
{
    const float mean = gcb_get_f32(in);

    in->failed |= gcb_magnitude(mean) >= GCB_INF_BITS;
    return mean;
}

static void mean_put_scale(struct gcb_values_state *v, struct gcb_wbuf *out)
{
    v->up = mean_of(v->sum_up + v->sum_down, v->count);
    gcb_put_f32(out, v->up);
}

static int mean_get_scale(struct gcb_values_state *v, struct gcb_rbuf *in)
{
    v->up = get_mean(in);
    return in->failed ? GCB_E_CORRUPT : 0;
}

static void mean_get(const struct gcb_values_state *v, float *x, const uint8_t *in, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = v->up;
}

/* A bit for each value. 1 means `up`, 0 means `down`. */
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
    v->up = get_mean(in);
    v->down = -v->up;
    return in->failed ? GCB_E_CORRUPT : 0;
}

static void means_put_scale(struct gcb_values_state *v, struct gcb_wbuf *out)
{
    gcb_put_f32(out, mean_of(v->sum_up, v->positive));
    gcb_put_f32(out, mean_of(v->sum_down, v->count - v->positive));
}

static int means_get_scale(struct gcb_values_state *v, struct gcb_rbuf *in)
{
    v->up = get_mean(in);
    v->down = get_mean(in);
    return in->failed ? GCB_E_CORRUPT : 0;
}

/*
 * ---- bins ----
 *
 * Four bins by standard deviation (kernels/block/book_elem.h). Each value is sent as its bin, and
 * becomes the mean of the bin's values. The means are known only after the last tile, so each call
 * of bins_put writes the means of the values so far.
 */

static void bins_measure(struct gcb_values_state *v, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i += GCB_SUM_BLOCK) {
        const size_t m = n - i < GCB_SUM_BLOCK ? n - i : GCB_SUM_BLOCK;

        v->sum_up += v->kernels->reduce.sum(x + i, m);
        v->sum_down += v->kernels->reduce.sum_sq(x + i, m);
    }
    v->count += n;
}

static void bins_put_scale(struct gcb_values_state *v, struct gcb_wbuf *out)
{
    memset(v->parts, 0, sizeof(v->parts));
    memset(v->in_bin, 0, sizeof(v->in_bin));
    v->bins = gcb_bins_of(v->sum_up, v->sum_down, v->count, GCB_VALUE_BINS);
    v->scale = gcb_wbuf_take(out, GCB_VALUE_BINS * sizeof(float));
    if (v->scale)
        memset(v->scale, 0, GCB_VALUE_BINS * sizeof(float));
}

static void bins_put(struct gcb_values_state *v, uint8_t *out, const float *x, size_t n)
{
    uint16_t code[GCB_TILE];

    for (size_t i = 0; i < n; i += GCB_TILE) {
        const size_t m = gcb_tile_length(n, i);

        v->kernels->block.bins(code, v->parts, v->in_bin, x + i, m, &v->bins);
        v->kernels->bitpack.pack(out + i / 4, code, m, 2);
    }
    for (uint32_t c = 0; c < GCB_VALUE_BINS; c++)
        gcb_store_f32(v->scale + c * sizeof(float),
                      gcb_bin_mean(&v->bins, c, v->parts[c], v->in_bin[c]));
}

static int bins_get_scale(struct gcb_values_state *v, struct gcb_rbuf *in)
{
    for (unsigned c = 0; c < GCB_VALUE_BINS; c++)
        v->mean[c] = get_mean(in);
    return in->failed ? GCB_E_CORRUPT : 0;
}

static void bins_get(const struct gcb_values_state *v, float *x, const uint8_t *in, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = v->mean[in[i / 4] >> 2 * (i % 4) & 3];
}

const struct gcb_value_coder gcb_value_coders[] = {
    [GCB_VALUES_FP32] =
        {
            .bits = 32,
            .put = fp32_put,
            .get = fp32_get,
        },
    [GCB_VALUES_FP16] =
        {
            .bits = 16,
            .put = fp16_put,
            .get = fp16_get,
        },
    [GCB_VALUES_RANGE] =
        {
            .bits = GCB_CODER_BITS_GIVEN,
            .scale_bytes = GCB_RANGE_SCALE_BYTES,
            .measure = range_measure,
            .put_scale = range_put_scale,
            .put = range_put,
            .get_scale = range_get_scale,
            .get = range_get,
        },
    [GCB_VALUES_UNIFORM] =
        {
            .bits = GCB_CODER_BITS_GIVEN,
            .scale_bytes = sizeof(float),
            .measure = uniform_measure,
            .put_scale = uniform_put_scale,
            .put = uniform_put,
            .get_scale = uniform_get_scale,
            .get = uniform_get,
        },
    [GCB_VALUES_MEAN] =
        {
            .one_sign = true,
            .scale_bytes = sizeof(float),
            .measure = add_tile,
            .put_scale = mean_put_scale,
            .get_scale = mean_get_scale,
            .get = mean_get,
        },
    [GCB_VALUES_SIGN_MEAN] =
        {
            .bits = 1,
            .scale_bytes = sizeof(float),
            .measure = add_tile,
            .put_scale = sign_mean_put_scale,
            .put = bits_put,
            .get_scale = sign_mean_get_scale,
            .get = bits_get,
        },
    [GCB_VALUES_MEANS] =
        {
            .bits = 1,
            .scale_bytes = 2 * sizeof(float),
            .measure = add_tile,
            .put_scale = means_put_scale,
            .put = bits_put,
            .get_scale = means_get_scale,
            .get = bits_get,
        },
    [GCB_VALUES_BINS] =
        {
            .bits = 2,
            .scale_bytes = GCB_VALUE_BINS * sizeof(float),
            .measure = bins_measure,
            .put_scale = bins_put_scale,
            .put = bins_put,
            .get_scale = bins_get_scale,
            .get = bins_get,
        },
    [GCB_VALUES_FIT] =
        {
            .bits = GCB_CODER_BITS_RANK,
            .scale_bytes = GCB_FIT_PIECES * (sizeof(uint32_t) + GCB_FIT_TERMS * sizeof(float)),
            .measure = gcb_fit_measure,
            .put_scale = gcb_fit_put_scale,
            .put = gcb_fit_put,
            .get_scale = gcb_fit_get_scale,
            .get = gcb_fit_get,
        },
};

const char *const gcb_values_names[] = {"fp32",      "fp16",  "range", "uniform", "mean",
                                        "sign-mean", "means", "bins",  "fit",     NULL};
