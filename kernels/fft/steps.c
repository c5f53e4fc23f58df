#include "kernels/fft/steps.h"

#define TERMS 7 /* terms that a series needs for the precision of a double, up to pi/4 */

/* Returns c[0] + c[1] y + c[2] y^2 + ... */
static double series(const double c[TERMS], double y)
{
    double sum = c[TERMS - 1];

    for (int i = TERMS - 2; i >= 0; i--)
        sum = c[i] + y * sum;
    return sum;
}

/* sin and cos of x in [0, pi/4], by their series. */
static double sine(double x)
{
    static const double c[TERMS] = {
        -1.0 / 6,        1.0 / 120,        -1.0 / 5040,         1.0 / 362880,
        -1.0 / 39916800, 1.0 / 6227020800, -1.0 / 1307674368000};
    const double y = x * x;

    return x + x * (y * series(c, y));
}

static double cosine(double x)
{
    static const double c[TERMS] = {-1.0 / 2,       1.0 / 24,        -1.0 / 720,        1.0 / 40320,
                                    -1.0 / 3628800, 1.0 / 479001600, -1.0 / 87178291200};
    const double y = x * x;

    return 1.0 + y * series(c, y);
}

/* As gcb_fft_unit, in doubles. */
static void unit_of(double *to, uint64_t a, uint64_t b)
{
    const double pi = 3.14159265358979323846, diagonal = 0.70710678118654752440; /* sqrt(1/2) */
    const uint64_t octant = 8 * (a % b) / b;
    /* near: distance from the angle to a multiple of a quarter turn, in 1/b of an octant */
    const uint64_t rest = 8 * (a % b) - octant * b, near = octant % 2 ? b - rest : rest;
    const double x = pi / 4 * ((double)near / (double)b);
    const double c = near == b ? diagonal : cosine(x), s = near == b ? diagonal : sine(x);

    to[0] = c;
    to[1] = octant % 2 ? -s : s;
    for (uint64_t quarter = 0; quarter < (octant + 1) / 2 % 4; quarter++) {
        const double re = to[0];

        to[0] = -to[1];
        to[1] = re;
    }
}

void gcb_fft_unit(float *to, uint64_t a, uint64_t b)
{
    double exact[2];

    unit_of(exact, a, b);
    to[0] = (float)exact[0];
    to[1] = (float)exact[1];
}

bool gcb_fft_is_own(uint64_t length)
{
    static const unsigned primes[] = {2, 3, 5, 7};

    if (length == 0 || length % 2)
        return false;
    for (unsigned i = 0; i < 4; i++)
        while (length % primes[i] == 0)
            length /= primes[i];
    return length == 1;
}

uint64_t gcb_fft_tables(uint32_t m, bool dct)
{
    return 2 * ((uint64_t)m + m / 2 + 1 + (dct ? (uint64_t)m + 1 : 0)) + 2 * GCB_FFT_LANES;
}

/* Writes exp(2 pi i a k / b) for k < count: the real parts, then the imaginary parts. Returns the
 * end. A negative angle -a is given as b - a. */
static float *put_units(float *to, uint64_t a, uint64_t b, uint64_t count)
{
    for (uint64_t k = 0; k < count; k++) {
        float unit[2];

        gcb_fft_unit(unit, a * k, b);
        to[k] = unit[0];
        to[count + k] = unit[1];
    }
    return to + 2 * count;
}

void gcb_fft_steps_lay_out(struct gcb_fft_steps *steps, uint32_t m, bool dct, const float *tables)
{
    static const unsigned radices[] = {8, 4, 2, 3, 5, 7};
    uint32_t left = m;

    *steps = (struct gcb_fft_steps){.m = m, .twiddle = tables + GCB_FFT_LANES};
    for (unsigned i = 0; i < 6; i++)
        for (; left % radices[i] == 0; left /= radices[i])
            steps->radix[steps->rounds++] = (uint8_t)radices[i];
    if (m == 1)
        steps->radix[steps->rounds++] = 1;
    /* The rounds after the first have m - radix[0] twiddle factors in all. */
    steps->split_re = steps->twiddle + 2 * (size_t)(m - steps->radix[0]);
    steps->split_im = steps->split_re + m / 2 + 1;
    steps->cosine = dct ? steps->split_im + m / 2 + 1 : NULL;
    steps->sine = dct ? steps->cosine + m + 1 : NULL;
}

void gcb_fft_steps_fill(struct gcb_fft_steps *steps, uint32_t m, bool dct, float *tables)
{
    const uint64_t twice = 2 * (uint64_t)m;
    float *to = tables + GCB_FFT_LANES;
    uint64_t p;

    gcb_fft_steps_lay_out(steps, m, dct, tables);
    p = steps->radix[0];
    for (unsigned t = 1; t < steps->rounds; t++) {
        const uint64_t whole = steps->radix[t] * p;

        for (uint64_t r = 1; r < steps->radix[t]; r++)
            to = put_units(to, whole - r, whole, p);
        p = whole;
    }
    to = put_units(to, twice - 1, twice, m / 2 + 1);
    if (dct)
        put_units(to, 1, 4 * twice, (uint64_t)m + 1);
}

/* ---- long DFTs ---- */

/* n1 of struct gcb_fft_long, the numbers in a column: the largest divisor of m that is not above
 * the square root of m. */
static uint32_t column_length(uint64_t m)
{
    uint64_t best = 1;

    for (uint64_t d = 1; d * d <= m; d++)
        best = m % d == 0 ? d : best;
    return (uint32_t)best;
}

/* `bits` of struct gcb_fft_long: half of the bits of 2 m, so that `low` and `high` have similar
 * sizes. */
static unsigned low_bits(uint64_t m)
{
    return (65 - (unsigned)__builtin_clzll(m)) / 2;
}

/* The number of floats in the tables before the tables of doubles, rounded up to a multiple of 16
 * for the doubles' alignment. */
static uint64_t long_floats(uint64_t n1, uint64_t n2)
{
    const uint64_t floats = 2 * GCB_FFT_LANES * (n1 + 1) + gcb_fft_tables((uint32_t)n1, false) +
                            gcb_fft_tables((uint32_t)n2, false);

    return (floats + 15) / 16 * 16;
}

/* The number of doubles in `low` and `high` of struct gcb_fft_long. */
static uint64_t long_doubles(uint64_t m)
{
    const unsigned bits = low_bits(m);

    return 2 * ((UINT64_C(1) << bits) + (2 * m >> bits) + 1);
}

uint64_t gcb_fft_long_tables(uint64_t m)
{
    const uint64_t n1 = column_length(m);

    return long_floats(n1, m / n1) * sizeof(float) + long_doubles(m) * sizeof(double);
}

void gcb_fft_long_fill(struct gcb_fft_long *f, uint64_t m, void *tables)
{
    const uint32_t n1 = column_length(m);
    float *to = tables;
    double *low = (double *)(void *)(to + long_floats(n1, m / n1));
    double *high = low + 2 * (UINT64_C(1) << low_bits(m));

    *f = (struct gcb_fft_long){.m = m, .bits = low_bits(m), .low = low, .high = high};
    f->step_re = to;
    f->step_im = to + (size_t)n1 * GCB_FFT_LANES;
    for (uint64_t k = 0; k < n1; k++)
        for (uint64_t l = 0; l < GCB_FFT_LANES; l++, to++) {
            float unit[2];

            gcb_fft_unit(unit, (m - k * l) % m, m);
            to[0] = unit[0];
            to[(size_t)n1 * GCB_FFT_LANES] = unit[1];
        }
    to += (size_t)n1 * GCB_FFT_LANES;
    f->split_re = to;
    f->split_im = to + GCB_FFT_LANES;
    to = put_units(to, 2 * m - 1, 2 * m, GCB_FFT_LANES);
    gcb_fft_steps_fill(&f->columns, n1, false, to);
    gcb_fft_steps_fill(&f->rows, (uint32_t)(m / n1), false, to + gcb_fft_tables(n1, false));
    for (uint64_t e = 0; e >> f->bits == 0; e++)
        unit_of(low + 2 * e, 2 * m - e, 2 * m);
    for (uint64_t e = 0; e << f->bits <= 2 * m; e++)
        unit_of(high + 2 * e, 2 * m - (e << f->bits) % (2 * m), 2 * m);
}
