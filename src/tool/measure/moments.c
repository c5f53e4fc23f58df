#include "src/tool/measure/moments.h"

#include <math.h>

#include "kernels/base/hd.h"

/* Copies the finite elements of a block to `out`. Returns their number. */
static size_t pack_finite(float *out, const float *x, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        out[kept] = x[i];
        kept += isfinite(x[i]) != 0;
    }
    return kept;
}

static uint64_t count_zeros(const float *x, size_t n)
{
    uint64_t zeros = 0;

    for (size_t i = 0; i < n; i++)
        zeros += x[i] == 0.0f;
    return zeros;
}

/*
 * Sums the powers of the distance from the mean. Each sum has several accumulators, which are added in a fixed order.
 */
static void central_sums(struct gcb_moments *m, const float *x, size_t n)
{
    enum { LANES = 8 };
    double s2[LANES] = {0}, s3[LANES] = {0}, s4[LANES] = {0};

    for (size_t i = 0; i < n; i++) {
        const double d = (double)x[i] - m->mean, d2 = d * d;

        s2[i % LANES] += d2;
        s3[i % LANES] += d2 * d;
        s4[i % LANES] += d2 * d2;
    }
    for (size_t j = 0; j < LANES; j++) {
        m->m2 += s2[j];
        m->m3 += s3[j];
        m->m4 += s4[j];
    }
}

/* Adds one block of at most GCB_SUM_BLOCK elements. */
static void add_block(struct gcb_moments *m, const struct gcb_kernels *kernels, const float *x,
                      size_t n)
{
    float finite[GCB_SUM_BLOCK];
    struct gcb_moments block = {.count = n, .zeros = count_zeros(x, n)};
    uint32_t max_bits = kernels->reduce.max_bits(x, n);

    if (max_bits >= GCB_INF_BITS) {
        const size_t kept = pack_finite(finite, x, n);

        block.nonfinite = n - kept;
        x = finite;
        n = kept;
        max_bits = kernels->reduce.max_bits(x, n);
    }
    block.max_abs = (double)gcb_float_of(max_bits);
    if (n) {
        block.mean = kernels->reduce.sum(x, n) / (double)n;
        central_sums(&block, x, n);
    }
    gcb_moments_join(m, &block);
}

void gcb_moments_add(struct gcb_moments *m, const struct gcb_kernels *kernels,
                     const struct gcb_view *x)
{
    for (uint64_t i = 0; i < x->count; i += GCB_SUM_BLOCK) {
        const uint64_t left = x->count - i;

        add_block(m, kernels, x->data + i, left < GCB_SUM_BLOCK ? (size_t)left : GCB_SUM_BLOCK);
    }
}

/* Adds the central sums of `o`, which has b elements, to those of `m`, which has a elements. The result is about the
 * common mean. */
static void join_sums(struct gcb_moments *m, const struct gcb_moments *o, double a, double b)
{
    const double n = a + b, d = o->mean - m->mean, f = d / n;
    const double cross2 = d * f * a * b;

    m->m4 += o->m4 + cross2 * f * f * (a * a - a * b + b * b) +
             6.0 * f * f * (a * a * o->m2 + b * b * m->m2) + 4.0 * f * (a * o->m3 - b * m->m3);
    m->m3 += o->m3 + cross2 * f * (a - b) + 3.0 * f * (a * o->m2 - b * m->m2);
    m->m2 += o->m2 + cross2;
    m->mean += f * b;
}

void gcb_moments_join(struct gcb_moments *m, const struct gcb_moments *other)
{
    const double a = (double)(m->count - m->nonfinite);
    const double b = (double)(other->count - other->nonfinite);

    if (b > 0.0)
        join_sums(m, other, a, b);
    m->count += other->count;
    m->zeros += other->zeros;
    m->nonfinite += other->nonfinite;
    if (other->max_abs > m->max_abs)
        m->max_abs = other->max_abs;
}

void gcb_moments_figures(struct gcb_moments_figures *out, const struct gcb_moments *m)
{
    const double n = (double)(m->count - m->nonfinite);

    *out = (struct gcb_moments_figures){NAN, NAN, NAN, NAN, NAN, NAN};
    if (m->count)
        out->zeros = (double)m->zeros / (double)m->count;
    out->l2 = sqrt(m->m2 + n * m->mean * m->mean);
    if (!(n > 0.0))
        return;
    out->mean = m->mean;
    out->max_abs = m->max_abs;
    out->deviation = sqrt(m->m2 / n);
    if (m->m2 > 0.0) /* two divisions, because the square of a tiny sum underflows */
        out->kurtosis = m->m4 / m->m2 * (n / m->m2);
}

void gcb_histogram_add(struct gcb_histogram *h, const struct gcb_view *x)
{
    h->count += x->count;
    for (uint64_t i = 0; i < x->count; i++) {
        const uint32_t bits = gcb_bits_of(x->data[i]), magnitude = bits & 0x7fffffffu;
        const size_t bin = magnitude >> GCB_HISTOGRAM_SHIFT;

        if (magnitude == 0)
            h->bins[GCB_HISTOGRAM_BINS]++;
        else if (bin >= GCB_HISTOGRAM_BINS)
            h->nonfinite++;
        else
            h->bins[bits == magnitude ? GCB_HISTOGRAM_BINS + 1 + bin
                                      : GCB_HISTOGRAM_BINS - 1 - bin]++;
    }
}

void gcb_histogram_join(struct gcb_histogram *h, const struct gcb_histogram *other)
{
    for (size_t i = 0; i <= 2 * GCB_HISTOGRAM_BINS; i++)
        h->bins[i] += other->bins[i];
    h->nonfinite += other->nonfinite;
    h->count += other->count;
}

uint64_t gcb_histogram_octave(const struct gcb_histogram *h, int e)
{
    const size_t each = (size_t)1 << (23 - GCB_HISTOGRAM_SHIFT); /* bins for each exponent */
    const size_t first = 1 + (size_t)(e + 127) * each;
    uint64_t count = 0;

    for (size_t i = first; i < first + each; i++)
        count += h->bins[GCB_HISTOGRAM_BINS - i] + h->bins[GCB_HISTOGRAM_BINS + i];
    return count;
}

/* Returns the end nearer to zero of bin number `i` of a sign; of the bin after the last, 2^128. */
static double edge(size_t i)
{
    return i == GCB_HISTOGRAM_BINS ? 0x1p128
                                   : (double)gcb_float_of((uint32_t)i << GCB_HISTOGRAM_SHIFT);
}

double gcb_histogram_share(const struct gcb_histogram *h, uint64_t count)
{
    return h->count ? (double)count / (double)h->count : NAN;
}

bool gcb_histogram_bin(struct gcb_histogram_bin *out, const struct gcb_histogram *h, size_t i)
{
    const size_t middle = GCB_HISTOGRAM_BINS;

    if (i > 2 * middle)
        return false;
    *out = (struct gcb_histogram_bin){.count = h->bins[i],
                                      .share = gcb_histogram_share(h, h->bins[i])};
    if (i > middle) {
        out->low = edge(i - middle - 1);
        out->high = edge(i - middle);
    } else if (i < middle) {
        out->low = -edge(middle - i);
        out->high = -edge(middle - i - 1);
    }
    return true;
}
