#include <float.h>
#include <math.h>

#include "kernels/range/range.h"
#include "tests/kernels/check.h"

#define SAMPLES (1 << 20)

static const enum gcb_range_rounding roundings[] = {GCB_ROUND_NEAREST, GCB_ROUND_TRUNCATE};

/* Maxima for each case of the closed form: ordinary, all mantissa bits set, subnormal, largest. */
static const float maxima[] = {1.0f,      0.7f,      0x1.fffffep0f, 0x1.fcp3f, 7168.0f, 0x1p-60f,
                               0x1p-126f, 0x1p-140f, 0x1p-149f,     0.0f,      FLT_MAX, 0x1.0p127f};
#define MAXIMA (sizeof(maxima) / sizeof(maxima[0]))

/* The example of section 3.3: N = 8, m = 3, eps = 0.125 has base 0x3E0; 0.256 has code 9 and value
 * 0.25. */
static void check_worked_example(void)
{
    struct gcb_range_format f;
    uint32_t code;

    gcb_range_format(&f, 8, 3, 7168.0f, GCB_ROUND_TRUNCATE);
    code = gcb_range_encode(0.256f, &f);
    check_that(f.base == 0x3E0, "example: base is %x", f.base);
    check_that(code == 9, "example: 0.256 has code %u", code);
    check_that(gcb_range_decode(code, &f) == 0.25f, "example: code 9 is another value");
    check_that(gcb_range_decode(1, &f) == 0.125f, "example: code 1 is not eps");
    check_that(gcb_range_decode(127, &f) == 7168.0f, "example: code 127 is not max");
    check_that(gcb_range_decode(9 + 127, &f) == -0.25f, "example: code 9 + P is not -0.25");
}

static void check_closed_form(void)
{
    static const struct {
        unsigned bits, mantissa;
        double eps;
    } row[] = {{8, 3, 1.907e-5},  {8, 4, 4.395e-3},  {8, 5, 6.641e-2},
               {10, 5, 1.621e-5}, {10, 6, 4.028e-3}, {10, 7, 6.348e-2}};

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
        for (size_t r = 0; r < 2; r++) {
            struct gcb_range_format f;
            double eps;

            gcb_range_format(&f, row[i].bits, row[i].mantissa, 1.0f, roundings[r]);
            eps = (double)gcb_range_decode(1, &f);
            check_that(fabs(eps - row[i].eps) < 5e-4 * row[i].eps, "N %u, m %u: eps is %.4g",
                       row[i].bits, row[i].mantissa, eps);
            check_that(gcb_range_decode(f.top, &f) == 1.0f, "N %u, m %u: the top code is not 1",
                       row[i].bits, row[i].mantissa);
        }
}

static void check_validity(void)
{
    static const unsigned least[17] = {
        [8] = 0, [9] = 2, [10] = 3, [11] = 4, [12] = 5, [13] = 6, [14] = 7, [15] = 8, [16] = 9};

    for (unsigned bits = 0; bits <= 40; bits++)
        for (unsigned m = 0; m <= 40; m++) {
            const bool want = bits >= 2 && bits <= 16 && m < bits && m >= least[bits];

            check_that(!gcb_range_valid(bits, m) == !want, "valid(%u, %u) is wrong", bits, m);
        }
}

/*
 * The bound that range_elem.h promises for the distance between |x| and its decoded magnitude. The
 * paper's format stays strictly below its bound; rounding to nearest may reach half of it.
 */
static double allowed_error(double a, const struct gcb_range_format *f)
{
    const double eps = (double)gcb_float_of(f->base << f->shift);
    const double highest = (double)gcb_float_of(GCB_MAX_FINITE_BITS >> f->shift << f->shift);
    const double share = f->half && a <= highest ? 0.5 : 1.0;

    if (a < eps)
        return share * eps;
    if (a < 0x1p-126)
        return share * ldexp(1.0, -126 - (int)f->mantissa);
    return share * ldexp(a, -(int)f->mantissa);
}

static void check_bound(float x, const struct gcb_range_format *f, float max)
{
    const uint32_t code = gcb_range_encode(x, f);
    const float y = gcb_range_decode(code, f);
    const double a = fabs((double)x), top = (double)gcb_range_decode(f->top, f);
    const double error = fabs((double)x - (double)y), limit = allowed_error(a, f);
    bool holds;

    check_that(code <= 2 * f->negative, "N %u, m %u: %a has code %u", f->bits, f->mantissa,
               (double)x, code);
    check_that(y == 0.0f || signbit(x) == signbit(y), "N %u, m %u: %a changes sign", f->bits,
               f->mantissa, (double)x);
    check_that(gcb_range_encode(y, f) == code, "N %u, m %u: %a does not keep its code", f->bits,
               f->mantissa, (double)y);
    if (isnan(x))
        return;
    if (a > (double)max)
        holds = f->top == 0 || fabs((double)y) == top;
    else
        holds = f->half ? error <= limit : error < limit || error == 0.0;
    check_that(holds, "N %u, m %u, half %x, max %a: %a becomes %a", f->bits, f->mantissa, f->half,
               (double)max, (double)x, (double)y);
}

/* Values around max and eps, where the encoder's cases change, then random values scaled into the
 * range. */
static void check_bounds_of(const struct gcb_range_format *f, float max)
{
    static float x[512];
    const uint32_t edge[] = {gcb_bits_of(max), f->base << f->shift, f->floor};

    for (size_t k = 0; k < 3; k++)
        for (uint32_t d = 0; d < 5; d++) {
            const uint32_t u = edge[k] + d - 2;

            if (u <= GCB_MAX_FINITE_BITS) {
                check_bound(gcb_float_of(u), f, max);
                check_bound(-gcb_float_of(u), f, max);
            }
        }
    for (enum check_fill fill = 0; fill < FILL_COUNT; fill++) {
        check_fill(x, 512, fill, f->bits * 100 + f->mantissa);
        for (size_t i = 0; i < 512; i++) {
            check_bound(x[i], f, max);
            if (isfinite(x[i] * max))
                check_bound(x[i] * max, f, max);
        }
    }
}

static void check_bounds(void)
{
    for (unsigned bits = 2; bits <= 16; bits++)
        for (unsigned m = 0; m < bits; m++)
            for (size_t i = 0; i < 2 * MAXIMA && gcb_range_valid(bits, m); i++) {
                struct gcb_range_format f;

                gcb_range_format(&f, bits, m, maxima[i / 2], roundings[i % 2]);
                check_bounds_of(&f, maxima[i / 2]);
            }
}

static double random_uniform(uint64_t *state)
{
    return ((double)(check_random(state) >> 11) + 0.5) * 0x1p-53;
}

static double random_gaussian(uint64_t *state)
{
    const double r = sqrt(-2.0 * log(random_uniform(state)));

    return r * cos(6.283185307179586 * random_uniform(state));
}

static double random_student_3(uint64_t *state)
{
    const double g = random_gaussian(state), a = random_gaussian(state), b = random_gaussian(state),
                 c = random_gaussian(state);

    return g / sqrt((a * a + b * b + c * c) / 3.0);
}

static double error_of(const float *x, size_t n, const struct gcb_range_format *f)
{
    double sum = 0.0;

    for (size_t i = 0; i < n; i++) {
        const double d = (double)x[i] - (double)gcb_range_decode(gcb_range_encode(x[i], f), f);

        sum += d * d;
    }
    return sum;
}

/* Compares the chosen width with every other width: its L2 error is within 3% of the smallest. */
static void check_best_of(const char *name, const float *x, unsigned bits, unsigned expected)
{
    for (size_t r = 0; r < 2; r++) {
        uint64_t count[256] = {0};
        double error[16], least = HUGE_VAL;
        float max = 0.0f;
        unsigned m;

        for (size_t i = 0; i < SAMPLES; i++) {
            count[gcb_magnitude(x[i]) >> 23]++;
            max = fmaxf(max, fabsf(x[i]));
        }
        for (m = 0; m < bits; m++) {
            struct gcb_range_format f;

            if (!gcb_range_valid(bits, m))
                continue;
            gcb_range_format(&f, bits, m, max, roundings[r]);
            error[m] = error_of(x, SAMPLES, &f);
            least = fmin(least, error[m]);
        }
        m = gcb_range_best_mantissa(count, max, bits, roundings[r]);
        check_that(sqrt(error[m]) <= 1.03 * sqrt(least),
                   "%s, N %u: m %u has %.3f of the least error", name, bits, m,
                   sqrt(error[m] / least));
        check_that(expected == 99 || m == expected, "%s, N %u: m is %u", name, bits, m);
    }
}

static void check_best_mantissa(void)
{
    static float x[SAMPLES];
    uint64_t state = 5;

    for (size_t i = 0; i < SAMPLES; i++)
        x[i] = (float)random_gaussian(&state);
    for (unsigned bits = 4; bits <= 16; bits++)
        check_best_of("gaussian", x, bits, bits == 8 ? 4 : 99);
    for (size_t i = 0; i < SAMPLES; i++)
        x[i] = (float)(1e-4 * random_student_3(&state));
    for (unsigned bits = 4; bits <= 16; bits++)
        check_best_of("student", x, bits, bits == 8 ? 3 : 99);
}

/* Counts magnitudes above max, not all that get the top code; adds what a code is decoded to. */
static void check_counts(const char *isa, const struct gcb_range_fns *fns)
{
    const float x[] = {1.0f, -1.0f, 1.01f, -1.5f, 0.99f, INFINITY, -NAN, 0.0f};
    struct gcb_range_format f;
    uint16_t code[8];
    float sum[8], want[8];

    gcb_range_format(&f, 8, 3, 1.0f, GCB_ROUND_NEAREST);
    check_that(fns->encode(code, x, 8, &f) == 4, "%s: the count of clamped values is not 4", isa);
    check_that(code[2] == 127 && code[3] == 254 && code[7] == 0, "%s: clamped codes are wrong",
               isa);
    for (size_t i = 0; i < 8; i++)
        sum[i] = want[i] = (float)i;
    for (size_t i = 0; i < 8; i++)
        want[i] = check_weighted_sum(want[i], gcb_range_decode(code[i], &f), -0.3f);
    fns->add(sum, code, 8, &f, -0.3f);
    check_equal("add", isa, 8, FILL_NOISE, want, sum, sizeof(want));
}

static void body(void)
{
    struct gcb_range_fns fns;

    check_worked_example();
    check_closed_form();
    check_validity();
    check_bounds();
    check_best_mantissa();
    gcb_range_init(&fns, 0);
    check_counts("c", &fns);
    for (const struct check_isa *isa = check_isas(); isa->name; isa++) {
        gcb_range_init(&fns, isa->flags);
        check_counts(isa->name, &fns);
    }
}

int main(void)
{
    return check_main("range", body);
}
