#include "kernels/cpu_flags.h"
#include "kernels/range/range_variants.h"

static size_t encode_c(uint16_t *code, const float *x, size_t n, const struct gcb_range_format *f)
{
    const struct gcb_range_format local = *f; /* code may not alias it: lets it live in registers */
    size_t clamped = 0;

    for (size_t i = 0; i < n; i++) {
        code[i] = (uint16_t)gcb_range_encode(x[i], &local);
        clamped += gcb_magnitude(x[i]) > local.clamp;
    }
    return clamped;
}

static void decode_c(float *x, const uint16_t *code, size_t n, const struct gcb_range_format *f)
{
    const struct gcb_range_format local = *f;

    for (size_t i = 0; i < n; i++)
        x[i] = gcb_range_decode(code[i], &local);
}

void gcb_range_init(struct gcb_range_fns *fns, unsigned cpu_flags)
{
    (void)cpu_flags;
    fns->encode = encode_c;
    fns->decode = decode_c;
#if defined(__x86_64__)
    if (cpu_flags & GCB_CPU_AVX2) {
        fns->encode = gcb_range_encode_avx2;
        fns->decode = gcb_range_decode_avx2;
    }
    if (cpu_flags & GCB_CPU_AVX512) {
        fns->encode = gcb_range_encode_avx512;
        fns->decode = gcb_range_decode_avx512;
    }
#endif
}

/* The largest code of one sign, P. */
static uint32_t codes_per_sign(unsigned bits)
{
    return (1u << (bits - 1)) - 1;
}

int gcb_range_valid(unsigned bits, unsigned mantissa)
{
    if (bits < 2 || bits > 16 || mantissa >= bits)
        return 0;
    return codes_per_sign(bits) - 1 <= 126u << mantissa;
}

void gcb_range_format(struct gcb_range_format *f, unsigned bits, unsigned mantissa, float max,
                      enum gcb_range_rounding rounding)
{
    const uint32_t a = gcb_magnitude(max), shift = 23 - mantissa;
    const uint32_t half = rounding == GCB_ROUND_NEAREST ? 1u << (shift - 1) : 0;
    const uint32_t highest = GCB_MAX_FINITE_BITS >> shift, codes = codes_per_sign(bits);
    uint32_t largest = (a + half) >> shift;
    float eps;

    largest = largest > highest ? highest : largest;
    f->bits = bits;
    f->mantissa = mantissa;
    f->shift = shift;
    f->half = half;
    f->base = largest > codes ? largest - codes + 1 : 1;
    f->top = a == 0 ? 0 : largest - f->base + 1;
    f->negative = codes;
    f->clamp = a;
    /* Half of eps is exact even where eps is subnormal: its pattern ends in `shift` zeros. */
    eps = gcb_float_of(f->base << shift);
    f->floor = gcb_bits_of(half ? eps * 0.5f : eps);
}

/* 3 times the integral of (x - centre)^2 from a to b. */
static double cubes(double a, double b, double centre)
{
    const double low = a - centre, high = b - centre;

    return high * high * high - low * low * low;
}

static double between(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

/*
 * 12 times the expected squared error of a value in the octave with biased exponent e, for each of the
 * three stretches it may fall into: below `zero` it becomes 0, from there to eps it becomes eps, above
 * it is on the grid.
 */
static double octave_error(unsigned e, const struct gcb_range_format *f)
{
    const double width = (double)gcb_float_of((e ? e : 1u) << 23);
    const double low = e ? width : 0.0, high = low + width;
    const double step = width / (double)(1u << f->mantissa);
    const double eps = (double)gcb_float_of(f->base << f->shift);
    const double to_zero = between(f->half ? 0.5 * eps : eps, low, high);
    const double to_eps = between(eps, low, high);
    const double grid = (f->half ? 1.0 : 4.0) * step * step * ((high - to_eps) / width);

    return 4.0 * (cubes(low, to_zero, 0.0) + cubes(to_zero, to_eps, eps)) / width + grid;
}

static double expected_error(const uint64_t count[256], const struct gcb_range_format *f)
{
    double sum = 0.0;

    for (unsigned e = 0; e < 255; e++)
        if (count[e])
            sum += (double)count[e] * octave_error(e, f);
    return sum;
}

unsigned gcb_range_best_mantissa(const uint64_t count[256], float max, unsigned bits,
                                 enum gcb_range_rounding rounding)
{
    unsigned best = bits - 1;
    double least = 0.0;

    for (unsigned m = bits; m-- > 0;) {
        struct gcb_range_format f;
        double error;

        if (!gcb_range_valid(bits, m))
            break;
        gcb_range_format(&f, bits, m, max, rounding);
        error = expected_error(count, &f);
        if (m == bits - 1 || error <= least) {
            least = error;
            best = m;
        }
    }
    return best;
}
