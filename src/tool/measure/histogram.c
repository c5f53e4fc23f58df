#include "src/tool/measure/histogram.h"

#include <math.h>

#include "kernels/base/hd.h"

void gcb_histogram_add(struct gcb_histogram *h, const struct gcb_view *x)
{
    h->count += x->count;
    for (uint64_t i = 0; i < x->count; i++) {
        const uint32_t bits = gcb_bits_of(x->data[i]), magnitude = bits & 0x7fffffffu;

        if (magnitude == 0)
            h->zeros++;
        else if (magnitude >> GCB_HISTOGRAM_SHIFT >= GCB_HISTOGRAM_BINS)
            h->nonfinite++;
        else if (bits == magnitude)
            h->positive[magnitude >> GCB_HISTOGRAM_SHIFT]++;
        else
            h->negative[magnitude >> GCB_HISTOGRAM_SHIFT]++;
    }
}

void gcb_histogram_join(struct gcb_histogram *h, const struct gcb_histogram *other)
{
    for (size_t i = 0; i < GCB_HISTOGRAM_BINS; i++) {
        h->negative[i] += other->negative[i];
        h->positive[i] += other->positive[i];
    }
    h->zeros += other->zeros;
    h->nonfinite += other->nonfinite;
    h->count += other->count;
}

uint64_t gcb_histogram_octave(const struct gcb_histogram *h, int e)
{
    const size_t each = (size_t)1 << (23 - GCB_HISTOGRAM_SHIFT); /* bins for each exponent */
    const size_t first = (size_t)(e + 127) * each;
    uint64_t count = 0;

    for (size_t i = first; i < first + each; i++)
        count += h->negative[i] + h->positive[i];
    return count;
}

/* Returns the smallest magnitude of a bin. GCB_HISTOGRAM_BINS gives 2^128, the upper end of the last bin. */
static double edge(size_t bin)
{
    if (bin == GCB_HISTOGRAM_BINS)
        return 0x1p128;
    return (double)gcb_float_of((uint32_t)bin << GCB_HISTOGRAM_SHIFT);
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
    if (i == middle) {
        *out = (struct gcb_histogram_bin){0.0, 0.0, h->zeros, 0.0};
    } else if (i > middle) {
        const size_t bin = i - middle - 1;

        *out = (struct gcb_histogram_bin){edge(bin), edge(bin + 1), h->positive[bin], 0.0};
    } else {
        const size_t bin = middle - 1 - i;

        *out = (struct gcb_histogram_bin){-edge(bin + 1), -edge(bin), h->negative[bin], 0.0};
    }
    out->share = gcb_histogram_share(h, out->count);
    return true;
}
