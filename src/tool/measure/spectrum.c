#include "src/tool/measure/spectrum.h"

#include <math.h>
#include <string.h>

#include "kernels/base/hd.h"
#include "src/lib/base/alloc.h"
#include "src/lib/base/diag.h"

#define LEVEL_SHIFT 21 /* gives four levels for each power of two */

void gcb_spectrum_init(struct gcb_spectrum *s, uint64_t count)
{
    memset(s, 0, sizeof(*s));
    s->count = count;
    s->bins = gcb_fft_bins(count, 0);
}

int gcb_spectrum_plan_for(struct gcb_spectrum_plan *plan, uint64_t count,
                          const struct gcb_queue *queue, struct gcb_diag *diag)
{
    const uint64_t bins = gcb_fft_bins(count, 0);
    const struct gcb_fft_config config = {
        .n = count, .threads = queue->threads, .rigor = GCB_FFT_ESTIMATE};

    if (plan->count != count) {
        gcb_spectrum_plan_fini(plan);
        if (bins == 0)
            return 0;
        plan->count = count;
        plan->work = gcb_alloc_array(2 * bins, sizeof(*plan->work));
        if (plan->work)
            gcb_fft_create(&plan->fft, &config);
    }
    if (bins == 0 || (plan->fft && gcb_fft_has_room(plan->fft)))
        return 0;
    gcb_spectrum_plan_fini(plan);
    return gcb_diag_nomem(diag, 2 * bins * sizeof(*plan->work), "a spectrum");
}

void gcb_spectrum_plan_fini(struct gcb_spectrum_plan *plan)
{
    gcb_fft_destroy(plan->fft);
    gcb_free(plan->work);
    *plan = (struct gcb_spectrum_plan){0};
}

static size_t level_of(double magnitude)
{
    const float value = magnitude < (double)0x1.fffffep127f ? (float)magnitude : 0x1.fffffep127f;

    return gcb_bits_of(value) >> LEVEL_SHIFT;
}

static size_t bands(const struct gcb_spectrum *s)
{
    return s->bins < GCB_SPECTRUM_BANDS ? (size_t)s->bins : GCB_SPECTRUM_BANDS;
}

/* Returns the first bin of band i. If i is the number of bands, returns the number of bins. */
static uint64_t band_start(const struct gcb_spectrum *s, size_t i)
{
    const uint64_t n = bands(s), each = s->bins / n, rest = s->bins % n;

    return i * each + (i < rest ? i : rest);
}

/* Returns 2 for a bin that has a mirror image, else 1. The first bin has no mirror image, nor has the last bin if the
 * tensor's length is even. */
static double weight(const struct gcb_spectrum *s, uint64_t bin)
{
    return bin == 0 || (s->count % 2 == 0 && bin == s->bins - 1) ? 1.0 : 2.0;
}

static void add_bin(struct gcb_spectrum *s, size_t band, uint64_t bin, const float *work)
{
    const double re = (double)work[2 * bin], im = (double)work[2 * bin + 1];
    const double square = (re * re + im * im) / (double)s->count;
    const double energy = weight(s, bin) * square, magnitude = sqrt(square);
    const size_t level = level_of(magnitude);

    s->energy[band] += energy;
    s->total += energy;
    if (magnitude > s->largest[band])
        s->largest[band] = magnitude;
    s->by_level[level] += energy;
    s->bins_by_level[level]++;
}

void gcb_spectrum_add(struct gcb_spectrum *s, const struct gcb_spectrum_plan *plan,
                      const struct gcb_view *x)
{
    if (s->bins == 0)
        return;
    s->tensors++;
    gcb_fft_forward(plan->fft, x->data, plan->work);
    for (size_t band = 0; band < bands(s); band++)
        for (uint64_t bin = band_start(s, band); bin < band_start(s, band + 1); bin++)
            add_bin(s, band, bin, plan->work);
}

bool gcb_spectrum_band(struct gcb_spectrum_band *out, const struct gcb_spectrum *s, size_t i)
{
    uint64_t first, last;

    if (s->bins == 0 || i >= bands(s))
        return false;
    first = band_start(s, i);
    last = band_start(s, i + 1);
    out->bins = last - first;
    out->low = (double)first / (double)s->count;
    out->high = (double)last / (double)s->count;
    out->energy = s->energy[i];
    out->largest = s->largest[i];
    out->share = s->total > 0.0 ? s->energy[i] / s->total : NAN;
    return true;
}

size_t gcb_spectrum_curve(struct gcb_spectrum_point out[GCB_SPECTRUM_LEVELS],
                          const struct gcb_spectrum *s)
{
    const double all = (double)s->bins * (double)s->tensors;
    double energy = 0.0;
    uint64_t kept = 0;
    size_t n = 0;

    for (size_t level = GCB_SPECTRUM_LEVELS; level-- > 0;) {
        if (s->bins_by_level[level] == 0)
            continue;
        kept += s->bins_by_level[level];
        energy += s->by_level[level];
        out[n++] = (struct gcb_spectrum_point){
            .density = (double)kept / all,
            .energy_share = s->total > 0.0 ? energy / s->total : NAN,
            .threshold = (double)gcb_float_of((uint32_t)level << LEVEL_SHIFT),
        };
    }
    return n;
}

double gcb_spectrum_kept(const struct gcb_spectrum *s, double density)
{
    struct gcb_spectrum_point points[GCB_SPECTRUM_LEVELS], last = {.density = 0.0};
    const size_t n = gcb_spectrum_curve(points, s);

    for (size_t i = 0; i < n; last = points[i++])
        if (points[i].density >= density)
            return last.energy_share + (points[i].energy_share - last.energy_share) *
                                           (density - last.density) /
                                           (points[i].density - last.density);
    return s->total > 0.0 ? 1.0 : NAN;
}
