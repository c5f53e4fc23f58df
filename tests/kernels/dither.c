#include <float.h>
#include <math.h>

#include "kernels/dither/dither.h"
#include "kernels/philox/philox.h"
#include "tests/kernels/check.h"

#define DRAWS (1 << 18)

/* Norms around 2^-100 and 2^100, where the factor changes, and at the ends of the range. */
static const float norms[] = {1.0f,      3.7f,       0x1p-149f,   0x1.8p-148f, 0x1.23p-130f,
                              0x1p-120f, 0x1p-126f,  0x1.ep-101f, 0x1p-100f,   0x1.1p-100f,
                              0x1p100f,  0x1.1p100f, 0x1p120f,    FLT_MAX};
#define NORMS (sizeof(norms) / sizeof(norms[0]))

static struct gcb_dither dither_of(uint32_t levels, float norm, uint64_t seed)
{
    struct gcb_dither d = {.seed = seed, .coarse = 11, .fine = 12, .levels = levels};

    gcb_dither_scale(&d, norm);
    return d;
}

/* The rule, implemented differently: 32 bits drawn at once are compared with the fraction in
 * double. */
static uint32_t restated_level(float x, uint32_t byte, uint64_t index, const struct gcb_dither *d)
{
    const float t = fminf(fabsf(x) * d->factor * d->inv, (float)d->levels);
    const double rest = (double)t - floor((double)t);
    const uint32_t drawn = byte << 24 | gcb_philox_24(d->seed, index, d->fine);

    return (uint32_t)t + ((double)drawn < floor(rest * 0x1p32) ? 1 : 0);
}

static void check_elements(void)
{
    static const uint32_t levels[] = {1, 2, 7, 127, 255, 32767};
    static float x[4096];

    for (size_t k = 0; k < NORMS * 6; k++) {
        const struct gcb_dither d = dither_of(levels[k % 6], norms[k / 6], k);

        check_fill(x, 4096, k % 2 ? FILL_HOSTILE : FILL_NOISE, k);
        for (size_t i = 0; i < 4096; i++) {
            const float v = i % 2 || !isfinite(x[i] * norms[k / 6]) ? x[i] : x[i] * norms[k / 6];
            const float t = fminf(fabsf(v) * d.factor * d.inv, (float)d.levels);
            /* Half of the draws equal the top byte of the probability. */
            const uint32_t top = (uint32_t)((double)(t - floorf(t)) * 256.0);
            const uint32_t byte = i % 4 < 2 ? top : gcb_philox_byte(k, i, d.coarse);
            const uint32_t level = gcb_dither_level(v, byte, i, &d);

            check_that(level == restated_level(v, byte, i, &d), "level of %a, byte %u, is %u",
                       (double)v, byte, level);
            check_that(level <= d.levels, "level of %a is %u of %u", (double)v, level, d.levels);
        }
    }
}

/* The nearest level in double; ties go to the even one. */
static void check_nearest(void)
{
    static const uint32_t levels[] = {1, 2, 7, 127, 255, 32767};
    static float x[4096];
    static uint16_t code[4096];
    struct gcb_dither_fns fns;

    gcb_dither_init(&fns, 0);
    for (size_t k = 0; k < NORMS * 6; k++) {
        const struct gcb_dither d = dither_of(levels[k % 6], norms[k / 6], k);

        check_fill(x, 4096, k % 2 ? FILL_HOSTILE : FILL_NOISE, k);
        for (size_t i = 0; i < 4096; i += 3) /* ties, if the norm is a power of two */
            x[i] = norms[k / 6] / (float)d.levels * (0.5f + (float)(i % d.levels));
        fns.nearest_levels(code, x, 4096, &d, 15);
        for (size_t i = 0; i < 4096; i++) {
            const double t = (double)fminf(fabsf(x[i]) * d.factor * d.inv, (float)d.levels);
            const uint32_t level = (uint32_t)nearbyint(t);

            check_that(code[i] == (level | (level && signbit(x[i]) ? 0x8000u : 0)),
                       "nearest code of %a (t = %a) is %u", (double)x[i], t, code[i]);
        }
    }
}

/* The level, by the two steps that a device takes. */
static uint32_t level_in_two_steps(float x, uint32_t byte, uint64_t index,
                                   const struct gcb_dither *d)
{
    const float scaled = gcb_float_of(gcb_magnitude(x)) * d->factor;
    const uint32_t q = gcb_dither_256ths(scaled, d->inv * 256.0f, (float)d->levels * 256.0f);
    const uint32_t drawn = q + (255 - byte);

    if ((drawn & 0xffu) != 0xffu)
        return drawn >> 8;
    return (drawn >> 8) + gcb_dither_rounds_up(x, gcb_philox_24(d->seed, index, d->fine), d);
}

/* Every 131071st float, of both signs, infinities and NaNs included, with bytes just below, equal
 * to and just above the top byte of the probability. */
static void check_two_steps(void)
{
    static const uint32_t levels[] = {1, 2, 7, 127, 255, 32767};

    for (size_t k = 0; k < NORMS * 6; k++) {
        const struct gcb_dither d = dither_of(levels[k % 6], norms[k / 6], k);

        for (uint64_t bits = k; bits <= UINT32_MAX; bits += 131071) {
            const float x = gcb_float_of((uint32_t)bits), t = gcb_dither_t(x, &d);
            const uint32_t top = gcb_dither_fraction(t, (uint32_t)t) >> 24;

            for (uint32_t near = top + 255; near <= top + 257; near++) {
                const uint32_t byte = near & 0xffu, level = level_in_two_steps(x, byte, bits, &d);

                check_that(level == gcb_dither_level(x, byte, bits, &d) &&
                               gcb_dither_with_sign(level, x, 15) ==
                                   gcb_dither_signed(x, byte, bits, &d, 15),
                           "level of %a, byte %u, norm %a, in two steps", (double)x, byte,
                           (double)norms[k / 6]);
            }
        }
    }
}

/* The value of a code is the norm times its value for a norm of 1, except for the sign of a
 * zero. */
static void check_units(void)
{
    for (size_t k = 0; k < NORMS; k++)
        for (uint32_t code = 0; code < 1024; code++) {
            const uint32_t level = code & 511;
            const float step = level <= 300 ? (float)level / 300.0f : 0.0f;
            const float unit = gcb_dither_step_value(code, step, 1.0f, 9);

            check_that(gcb_bits_of(norms[k] * unit) ==
                           gcb_bits_of(gcb_dither_step_value(code, step, norms[k], 9)),
                       "code %u by the norm %a", code, (double)norms[k]);
        }
}

/* The last of the 32 bits counts: a draw equal to the probability rounds down, one step more rounds
 * up. */
static void check_last_bit(void)
{
    const struct gcb_dither d = dither_of(1, 1.0f, 42);

    for (uint64_t i = 0; i < 1000; i++) {
        const float drawn = (float)gcb_philox_24(d.seed, i, d.fine);

        check_that(gcb_dither_level(drawn * 0x1p-32f, 0, i, &d) == 0, "a tie rounds up");
        check_that(gcb_dither_level((drawn + 1.0f) * 0x1p-32f, 0, i, &d) == 1,
                   "one step above a tie rounds down");
    }
}

/* Both ends of the interval in which the factor is 1, and norms beyond it. */
static void check_scales(void)
{
    static const struct {
        float norm, factor, inv;
    } row[] = {{0x1p-100f, 1.0f, 0x1.8p101f},
               {0x1.fffffep-101f, 0x1p100f, 0x1.800002p1f},
               {0x1p-149f, 0x1p100f, 0x1.8p50f},
               {0x1p100f, 1.0f, 0x1.8p-99f},
               {0x1.000002p100f, 0x1p-100f, 0x1.7ffffep1f},
               {0x1p127f, 0x1p-100f, 0x1.8p-26f}};

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        const struct gcb_dither d = dither_of(3, row[i].norm, 1);

        check_that(d.factor == row[i].factor && d.inv == row[i].inv,
                   "norm %a has factor %a and inv %a", (double)row[i].norm, (double)d.factor,
                   (double)d.inv);
    }
}

/* Infinities and NaNs of either sign get the highest level, with any byte. */
static void check_nonfinite(void)
{
    const float x[] = {INFINITY, -INFINITY, NAN, -NAN};

    for (size_t k = 0; k < NORMS; k++) {
        const struct gcb_dither d = dither_of(5, norms[k], 1);

        for (size_t i = 0; i < 4 * 256; i++)
            check_that(gcb_dither_level(x[i % 4], (uint32_t)(i / 4), i, &d) == 5,
                       "level of a non-finite value is not the highest");
    }
}

/*
 * Compares the mean level of DRAWS equal values with |x| levels / norm. A difference of 5 standard
 * deviations fails. By chance that happens in 6e-7 of the cases, and with a probability below 4e-4
 * in any case; with this seed it never does. The error that float arithmetic may cause is allowed
 * on top: 2^-22 of t.
 */
static void check_mean(const struct gcb_dither_fns *fns, const struct gcb_philox_fns *philox,
                       const struct gcb_dither *d, float x, float norm)
{
    static float same[DRAWS];
    static uint8_t byte[DRAWS];
    static uint16_t code[DRAWS];
    const double t = fabs((double)x) / (double)norm * d->levels, rest = t - floor(t);
    const double deviation = sqrt(rest * (1.0 - rest) / DRAWS);
    double sum = 0.0;

    for (size_t i = 0; i < DRAWS; i++)
        same[i] = x;
    philox->bytes(byte, DRAWS, d->seed, 0, d->coarse);
    fns->signed_levels(code, same, DRAWS, byte, 0, d, 15);
    for (size_t i = 0; i < DRAWS; i++)
        sum += code[i] & 0x7fff;
    check_that(fabs(sum / DRAWS - t) <= 5.0 * deviation + t * 0x1p-22 + 1e-9,
               "norm %a, %u levels: mean level of %a is %.6f, not %.6f", (double)norm, d->levels,
               (double)x, sum / DRAWS, t);
}

static void check_unbiased(unsigned flags)
{
    static const float share[] = {0x1p-20f, 0x1p-12f, 0.001f, 0.0039f, 0.11f,
                                  0.25f,    0.5f,     0.77f,  0.9999f, 1.0f};
    static const uint32_t levels[] = {1, 4, 15, 127};
    struct gcb_dither_fns fns;
    struct gcb_philox_fns philox;

    gcb_dither_init(&fns, flags);
    gcb_philox_init(&philox, flags);
    for (size_t k = 0; k < NORMS * 4; k++)
        for (size_t i = 0; i < sizeof(share) / sizeof(share[0]); i++) {
            const float norm = norms[k / 4];
            const struct gcb_dither d = dither_of(levels[k % 4], norm, 1000 + 10 * k + i);

            check_mean(&fns, &philox, &d, norm * share[i], norm);
        }
}

/* Small cases by hand: the meaning of each code. */
static void check_meanings(const char *isa, unsigned flags)
{
    const uint16_t code[17] = {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7, 8};
    const float step[4] = {9.0f, 0.5f, 1.0f, 0.0f}; /* step[0] is never read */
    const float want[17] = {0,    1.5f, 3, 0, 0,     -1.5f, -3,    -0.0f, 0,
                            1.5f, 3,    0, 0, -1.5f, -3,    -0.0f, 0};
    const float trits[17] = {-3, 0, 3, 0, 0, 0, 0, 0, -3, 0, 3, 0, 0, 0, 0, 0, 0};
    struct gcb_dither_fns fns;
    float got[17], sum[17] = {0};

    gcb_dither_init(&fns, flags);
    fns.from_levels(got, code, 17, step, 3.0f, 2);
    check_equal("from_levels by hand", isa, 17, FILL_NOISE, want, got, sizeof(want));
    fns.from_trits(got, code, 17, 3.0f);
    check_equal("from_trits by hand", isa, 17, FILL_NOISE, trits, got, sizeof(trits));
    fns.add_levels(sum, code, 17, step, 3.0f, 2, 2.0f);
    fns.add_trits(sum, code, 17, 3.0f, -1.0f);
    for (size_t i = 0; i < 17; i++)
        check_that(sum[i] == 2.0f * want[i] - trits[i], "%s: the sum of code %zu is %a", isa, i,
                   (double)sum[i]);
}

static void body(void)
{
    check_elements();
    check_nearest();
    check_two_steps();
    check_units();
    check_last_bit();
    check_scales();
    check_nonfinite();
    check_unbiased(0);
    check_meanings("c", 0);
    for (const struct check_isa *isa = check_isas(); isa->name; isa++) {
        check_unbiased(isa->flags);
        check_meanings(isa->name, isa->flags);
    }
}

int main(void)
{
    return check_main("dither", body);
}
