#include "tests/lib/sparse/choices.h"

#include <math.h>
#include <stdio.h>

/* ---- inputs ---- */

float *choice_tensor(uint64_t n, enum choice_input in, uint64_t seed)
{
    static const enum trip_law laws[] = {TRIP_GAUSS, TRIP_LAPLACE, TRIP_STUDENT3};
    float *x = trip_tensor(n, in < UNIFORM ? laws[in] : TRIP_LAPLACE, seed);

    for (uint64_t i = 0; i < n; i++) {
        if (in == UNIFORM)
            x[i] = copysignf(expf(-fabsf(x[i])), x[i]);
        if (in == MOSTLY_ZERO && (i * 40503u + seed) % 1000)
            x[i] = i % 2 ? 0.0f : -0.0f;
        if (in == TIES)
            x[i] = roundf(x[i]) / 4.0f;
        if (in == ZERO || in == ONE_HOT)
            x[i] = 0.0f;
        if (in == CONSTANT)
            x[i] = -0.1f;
        if (in == TWO_LEVELS)
            x[i] = (float)((int)(i % 10) == 3) * (x[i] > 0.0f ? 1.0f : -1.0f);
        if (in == DENORMAL)
            x[i] *= 1e-43f;
        if (in == MISLEADING && i % 16 == 0)
            x[i] *= 1000.0f;
    }
    if (in == ONE_HOT)
        x[n / 3] = -2.5f;
    return x;
}

/* ---- what a message with float32 values and u32 positions keeps ---- */

char *choice_flags(const struct trip *t, uint64_t segment)
{
    const uint64_t cut = segment ? segment : UINT64_C(1) << 31, segments = (t->n + cut - 1) / cut;
    const uint8_t *kept = t->message + t->parts.header_bytes;
    const uint8_t *pos = kept + 4 * segments + 4 * t->parts.payload.kept;
    char *flags = calloc(t->n + 1, 1);

    for (uint64_t g = 0; g < segments && !t->parts.stored; g++)
        for (uint32_t i = 0; i < gcb_load_u32(kept + 4 * g); i++, pos += 4)
            flags[g * cut + gcb_load_u32(pos)] = 1;
    if (t->parts.stored)
        memset(flags, 1, t->n);
    return flags;
}

uint64_t choice_count(const char *flags, uint64_t n)
{
    uint64_t count = 0;

    for (uint64_t i = 0; i < n; i++)
        count += (uint64_t)flags[i];
    return count;
}

char *choice_of(const char *spec, const float *x, uint64_t n, const struct trip_options *o)
{
    struct trip t = {0};
    char *flags;

    trip_run(&t, spec, x, n, o);
    flags = choice_flags(&t, o ? o->segment : 0);
    trip_free(&t);
    return flags;
}

void choice_assert(const char *spec, const float *x, uint64_t n, const char *want,
                   const struct trip_options *o)
{
    char *flags = choice_of(spec, x, n, o);

    for (uint64_t i = 0; i < n; i++)
        if (flags[i] != want[i])
            fail_msg("%s: n = %llu, position %llu is %s", spec, (unsigned long long)n,
                     (unsigned long long)i, want[i] ? "missing" : "not to be kept");
    free(flags);
}

/* ---- independent selections, by sorting ---- */

static int larger_first(const void *a, const void *b)
{
    const struct choice_place *p = a, *q = b;

    if (p->magnitude != q->magnitude)
        return p->magnitude < q->magnitude ? 1 : -1;
    return p->index > q->index ? 1 : -1;
}

/* Places of x[0..n) whose sign is `sign` (0 and not zero: positive, 1: negative, 2: any), largest
 * first. */
uint64_t choice_sorted(struct choice_place *places, const float *x, uint64_t n, int sign)
{
    uint64_t count = 0;

    for (uint64_t i = 0; i < n; i++)
        if (sign == 2 || (x[i] != 0.0f && (x[i] < 0.0f) == sign))
            places[count++] = (struct choice_place){gcb_magnitude(x[i]), i};
    qsort(places, count, sizeof(*places), larger_first);
    return count;
}

uint64_t choice_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Sets the flags of the k largest of x[0..n) of a sign to 1. Returns the sum of their
 * magnitudes. */
double choice_largest(char *flags, const float *x, uint64_t n, int sign, uint64_t k)
{
    struct choice_place *places = malloc((n + 1) * sizeof(*places));
    const uint64_t count = choice_least(choice_sorted(places, x, n, sign), k);
    double sum = 0.0;

    memset(flags, 0, n);
    for (uint64_t i = 0; i < count; i++) {
        flags[places[i].index] = 1;
        sum += gcb_float_of(places[i].magnitude);
    }
    free(places);
    return sum;
}

uint64_t choice_count_from(const float *x, uint64_t n, uint32_t threshold)
{
    uint64_t count = 0;

    for (uint64_t i = 0; i < n; i++)
        count += gcb_magnitude(x[i]) >= threshold;
    return count;
}

void choice_flag_from(char *flags, const float *x, uint64_t n, uint32_t threshold)
{
    for (uint64_t i = 0; i < n; i++)
        flags[i] = gcb_magnitude(x[i]) >= threshold;
}

const struct trip_options choice_plans[CHOICE_PLANS] = {
    {.threads = 1}, {.threads = 3}, {.threads = 2, .segment = 1000}, {.threads = 1, .segment = 64}};
