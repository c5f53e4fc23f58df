#include "src/tool/base/memory.h"
#include "src/tool/run/trial.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNTS (sizeof(((struct gcb_tally *)0)->counts) / sizeof(uint64_t))
_Static_assert(offsetof(struct gcb_tally, exchanges) == COUNTS * sizeof(uint64_t),
               "`counts` has all numbers in front of `exchanges`");

/* Adds the times `other` to t. `follows`: another message of the group has already counted the
 * launches of `other`. */
static void merge_times(struct gcb_times *t, const struct gcb_times *other, bool follows)
{
    t->seconds += other->seconds;
    t->min += other->min;
    t->low += other->low;
    t->high += other->high;
    t->kernel += other->kernel;
    t->kernel_low += other->kernel_low;
    t->kernel_high += other->kernel_high;
    t->transfer += other->transfer;
    t->measured += other->measured;
    t->single += other->single;
    t->launches += follows ? 0 : other->launches;
    t->staged += other->staged;
    for (int i = 0; i < GCB_STAGES; i++)
        t->stage[i] += other->stage[i];
}

static enum gcb_stop worst(enum gcb_stop a, enum gcb_stop b)
{
    return a > b ? a : b;
}

/* Returns the smaller of two numbers. 0 means unknown and is returned only if both are unknown. */
static uint64_t least(uint64_t a, uint64_t b)
{
    return !a || (b && b < a) ? b : a;
}

void gcb_tally_merge(struct gcb_tally *t, const struct gcb_tally *other)
{
    if (t->messages == 0)
        t->dtype = other->dtype;
    t->mixed_dtypes |= other->mixed_dtypes || t->dtype != other->dtype;
    for (size_t i = 0; i < COUNTS; i++)
        t->counts[i] += other->counts[i];
    t->nominal_bits += other->nominal_bits;
    t->entropy0_bits += other->entropy0_bits;
    t->asked += other->asked;
    for (int i = 0; i < GCB_TIMED; i++)
        merge_times(&t->times[i], &other->times[i], other->follows);
    t->stop = worst(t->stop, other->stop);
    t->sum_stop = worst(t->sum_stop, other->sum_stop);
    t->sum_messages = least(t->sum_messages, other->sum_messages);
    t->group = other->group > t->group ? other->group : t->group;
    t->clock_mhz = least(t->clock_mhz, other->clock_mhz);
    gcb_fidelity_merge(&t->fidelity, &other->fidelity);
}

void gcb_tally_times(struct gcb_tally *t, const struct gcb_samples *samples)
{
    for (int i = 0; i < GCB_TIMED; i++) {
        const struct gcb_samples *s = &samples[i];
        enum gcb_stop *stop = i < GCB_TIMED_SUM ? &t->stop : &t->sum_stop;

        if (!s->count)
            continue;
        t->times[i].measured = 1;
        t->times[i].single = s->count == 1;
        t->times[i].seconds = s->stats.median;
        t->times[i].min = s->stats.min;
        t->times[i].low = s->stats.low;
        t->times[i].high = s->stats.high;
        *stop = worst(*stop, s->stop);
    }
    if (t->sum_stop == GCB_STOP_INTERRUPTED)
        t->stop = GCB_STOP_INTERRUPTED;
}

int gcb_tally_parts(struct gcb_tally *t, const struct gcb_message_parts *parts,
                    struct gcb_diag *diag)
{
    const struct gcb_parts *p = &parts->payload;

    t->wire_bytes = parts->wire_bytes;
    t->header_bytes = parts->header_bytes;
    t->scale_bytes = p->scale_bytes;
    t->value_bytes = p->value_bytes;
    t->index_bytes = p->index_bytes;
    t->stored = parts->stored;
    t->kept = t->dense ? 0 : p->kept;
    t->positions = t->dense ? 0 : p->positions;
    t->entropy0_bits = p->entropy0_bits;
    if (p->scale_bytes + p->value_bytes + p->index_bytes + parts->header_bytes != parts->wire_bytes)
        return gcb_diag_set(diag, GCB_E_INTERNAL,
                            "the parts of a message do not add up to its size");
    return 0;
}

/* Returns a rate times the number of elements. Returns 0 for an empty tensor, because its rate is
 * NAN. */
static double total(double per_element, uint64_t count)
{
    return count ? per_element * (double)count : 0.0;
}

void gcb_tally_asked(struct gcb_tally *t, const struct gcb_coder *coder,
                     const struct gcb_codec *codec)
{
    t->nominal_bits = total(gcb_coder_nominal_bits(coder), t->elements);
    t->varying = gcb_coder_length(coder) == 0;
    if (!codec->ops->drops)
        return;
    t->asked_of = t->elements;
    t->asked = total(gcb_coder_codec_state(coder)->density, t->elements);
}

/* Returns part / whole, or NAN if `whole` is not above 0. */
static double over(double part, double whole)
{
    return whole > 0.0 ? part / whole : NAN;
}

double gcb_tally_ratio(const struct gcb_tally *t)
{
    return over((double)t->input_bytes, (double)t->wire_bytes);
}

double gcb_tally_bits(const struct gcb_tally *t)
{
    return over(8.0 * (double)t->wire_bytes, (double)t->elements);
}

double gcb_tally_header_share(const struct gcb_tally *t)
{
    return over((double)t->header_bytes, (double)t->wire_bytes);
}

double gcb_tally_density(const struct gcb_tally *t)
{
    return t->asked_of ? over((double)t->kept, (double)t->positions) : NAN;
}

double gcb_tally_density_asked(const struct gcb_tally *t)
{
    char text[32];

    /* round to 12 digits, because the sum over messages has rounding errors */
    snprintf(text, sizeof(text), "%.12g", over(t->asked, (double)t->asked_of));
    return strtod(text, NULL);
}

double gcb_tally_gbps(const struct gcb_tally *t, const struct gcb_times *times)
{
    return times->single ? NAN : over((double)t->input_bytes / 1e9, times->seconds);
}

struct gcb_times gcb_tally_sum(const struct gcb_tally *t, enum gcb_timed_work work)
{
    const uint64_t measured = t->times[work].measured;

    if (measured && measured == t->messages)
        return t->times[work];
    return (struct gcb_times){.seconds = NAN, .min = NAN, .low = NAN, .high = NAN};
}

struct gcb_fidelity_figures gcb_tally_figures(const struct gcb_tally *t)
{
    struct gcb_fidelity_figures figures;

    gcb_fidelity_figures(&figures, &t->fidelity, gcb_tally_bits(t));
    return figures;
}

/* Sets *out to the figure of a field. Returns false if tallies do not have the figure. */
static bool find_figure(double *out, const struct gcb_tally *t, enum gcb_field field)
{
    const struct gcb_fidelity_figures fidelity = gcb_tally_figures(t);
    const double *figure = gcb_fidelity_figure(&fidelity, field);
    const struct {
        enum gcb_field field;
        double value;
    } figures[] = {
        {GCB_FIELD_ELEMENTS, (double)t->elements},
        {GCB_FIELD_INPUT_BYTES, (double)t->input_bytes},
        {GCB_FIELD_WIRE_BYTES, (double)t->wire_bytes},
        {GCB_FIELD_RATIO, gcb_tally_ratio(t)},
        {GCB_FIELD_BITS_PER_ELEMENT, gcb_tally_bits(t)},
        {GCB_FIELD_DENSITY, gcb_tally_density(t)},
        {GCB_FIELD_ERROR_OF_MEAN, t->mean_known ? t->error_of_mean : (double)NAN},
        {GCB_FIELD_ENCODE_SECONDS, t->encode.seconds},
        {GCB_FIELD_DECODE_SECONDS, t->decode.seconds},
        {GCB_FIELD_ENCODE_GBPS, gcb_tally_gbps(t, &t->encode)},
        {GCB_FIELD_DECODE_GBPS, gcb_tally_gbps(t, &t->decode)},
    };

    for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
        if (figures[i].field == field) {
            *out = figures[i].value;
            return true;
        }
    if (figure)
        *out = *figure;
    return figure != NULL;
}

bool gcb_tally_has_figure(enum gcb_field field)
{
    const struct gcb_tally none = {0};
    double value;

    return find_figure(&value, &none, field);
}

double gcb_tally_figure(const struct gcb_tally *t, enum gcb_field field)
{
    double value = NAN;

    find_figure(&value, t, field);
    return value;
}

void gcb_sample_sums_add(struct gcb_sample_sums *sums, const struct gcb_samples *samples)
{
    if (!sums->seconds) {
        sums->seconds = gcb_must_zero(samples->count, sizeof(double));
        sums->count = samples->count;
    }
    if (samples->count < sums->count)
        sums->count = samples->count;
    for (size_t i = 0; i < sums->count; i++)
        sums->seconds[i] += samples->seconds[i];
}

double gcb_sample_sums_mad(const struct gcb_sample_sums *sums)
{
    return gcb_stats_make(sums->seconds, sums->count).mad;
}

void gcb_sample_sums_fini(struct gcb_sample_sums *sums)
{
    gcb_free(sums->seconds);
    memset(sums, 0, sizeof(*sums));
}
