#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/hd.h"
#include "kernels/convert/convert.h"
#include "tests/kernels/check.h"

#define GUARD 0xa5
#define GUARDS 64

/* A 16-bit type: bits of its fraction, its smallest normal exponent and its largest number. */
struct half_type {
    const char *to, *from;
    int fraction_bits;
    int least_exponent;
    double largest;
};

static const struct half_type fp16 = {"to_fp16", "from_fp16", 10, -14, 65504.0};
static const struct half_type bf16 = {"to_bf16", "from_bf16", 7, -126, 0x1.fep127};

/* The encoding of a finite magnitude that the type represents exactly. */
static unsigned encode_half(const struct half_type *type, double magnitude)
{
    const double step = ldexp(1.0, type->least_exponent - type->fraction_bits);
    int exponent;
    double fraction;

    if (magnitude < ldexp(1.0, type->least_exponent))
        return (unsigned)(magnitude / step);
    fraction = 2 * frexp(magnitude, &exponent) - 1;
    exponent -= type->least_exponent; /* 1 for the smallest normal: frexp's is one too large */
    return ((unsigned)exponent << type->fraction_bits) +
           (unsigned)ldexp(fraction, type->fraction_bits);
}

/* The nearest multiple of the step at this magnitude, in double; nearbyint rounds ties to even. */
static double round_to_step(const struct half_type *type, double magnitude)
{
    int exponent;
    double step;

    frexp(magnitude, &exponent);
    exponent--;
    if (exponent < type->least_exponent)
        exponent = type->least_exponent;
    step = ldexp(1.0, exponent - type->fraction_bits);
    return nearbyint(magnitude / step) * step;
}

static uint16_t simple_narrow(const struct half_type *type, float x, size_t *saturated)
{
    const unsigned sign = signbit(x) ? 0x8000 : 0;
    const unsigned inf = encode_half(type, type->largest) + 1;
    const unsigned payload = (gcb_bits_of(x) & 0x7fffff) >> (23 - type->fraction_bits);
    double r;

    if (isnan(x))
        return (uint16_t)(sign | inf | 1u << (type->fraction_bits - 1) | payload);
    if (isinf(x))
        return (uint16_t)(sign | inf);
    r = round_to_step(type, fabs((double)x));
    if (r > type->largest) {
        ++*saturated;
        r = type->largest;
    }
    return (uint16_t)(sign | encode_half(type, r));
}

static float simple_widen(const struct half_type *type, unsigned h)
{
    const unsigned fraction = h & ((1u << type->fraction_bits) - 1);
    const unsigned exponent = (h & 0x7fff) >> type->fraction_bits;
    const unsigned top = (1u << (15 - type->fraction_bits)) - 1;
    const double unit = ldexp(1.0, type->least_exponent - type->fraction_bits);
    double value = fraction * unit;
    uint32_t bits;

    if (exponent == top) {
        bits = 0x7f800000u | fraction << (23 - type->fraction_bits);
        bits |= fraction ? 0x400000u : 0;
        return gcb_float_of(bits | (h & 0x8000u) << 16);
    }
    if (exponent > 0)
        value = ldexp((double)(fraction + (1u << type->fraction_bits)) * unit, (int)exponent - 1);
    return (float)(h & 0x8000 ? -value : value);
}

static void check_narrow(const char *isa, gcb_convert_narrow_fn *narrow,
                         const struct half_type *type, const float *x, size_t n,
                         enum check_fill fill)
{
    /* Message bytes may have any alignment. */
    const size_t bytes = 2 * n + 2 * GUARDS, at = GUARDS - n % 4;
    uint8_t *want = malloc(bytes), *got = malloc(bytes);
    size_t want_saturated = 0, saturated;

    memset(want, GUARD, bytes);
    memset(got, GUARD, bytes);
    for (size_t i = 0; i < n; i++) {
        const uint16_t h = simple_narrow(type, x[i], &want_saturated);

        want[at + 2 * i] = (uint8_t)h;
        want[at + 2 * i + 1] = (uint8_t)(h >> 8);
    }
    saturated = narrow(got + at, x, n);
    check_equal(type->to, isa, n, fill, want, got, bytes);
    check_that(saturated == want_saturated, "%s/%s: n %zu: %zu saturated, not %zu", type->to, isa,
               n, saturated, want_saturated);
    free(want);
    free(got);
}

/* Widens n random bit patterns. The input ends where its allocation ends. */
static void check_widen(const char *isa, gcb_convert_widen_fn *widen, const struct half_type *type,
                        size_t n, uint64_t seed)
{
    const size_t bytes = n * sizeof(float) + 2 * GUARDS, odd = seed % 2;
    uint8_t *in = malloc(2 * n + odd + 1);
    float *want = malloc(bytes), *got = malloc(bytes);

    memset(want, GUARD, bytes);
    memset(got, GUARD, bytes);
    for (size_t i = 0; i < n; i++) {
        const unsigned h = (unsigned)check_random(&seed) & 0xffff;
        const float value = simple_widen(type, h);

        in[odd + 2 * i] = (uint8_t)h;
        in[odd + 2 * i + 1] = (uint8_t)(h >> 8);
        memcpy(want + GUARDS / 4 + i, &value, sizeof(value));
    }
    widen(got + GUARDS / 4, in + odd, n);
    check_equal(type->from, isa, n, FILL_NONFINITE, want, got, bytes);
    free(in);
    free(want);
    free(got);
}

/* All 65536 patterns are widened correctly and narrowed back to themselves, except that NaNs become
 * quiet. */
static void check_round_trip(const char *isa, gcb_convert_widen_fn *widen,
                             gcb_convert_narrow_fn *narrow, const struct half_type *type)
{
    static uint8_t in[131072], want[131072], out[131072];
    static float wide[65536], want_wide[65536];
    const unsigned inf = encode_half(type, type->largest) + 1;

    for (unsigned h = 0; h < 65536; h++) {
        const bool is_nan = (h & 0x7fff) > inf;
        const unsigned back = is_nan ? h | 1u << (type->fraction_bits - 1) : h;
        const float value = simple_widen(type, h);

        in[2 * h] = (uint8_t)h;
        in[2 * h + 1] = (uint8_t)(h >> 8);
        want[2 * h] = (uint8_t)back;
        want[2 * h + 1] = (uint8_t)(back >> 8);
        memcpy(want_wide + h, &value, sizeof(value));
    }
    widen(wide, in, 65536);
    check_equal(type->from, isa, 65536, FILL_NONFINITE, want_wide, wide, sizeof(wide));
    check_that(narrow(out, wide, 65536) == 0, "%s/%s: a round trip saturates", type->to, isa);
    check_equal(type->to, isa, 65536, FILL_NONFINITE, want, out, sizeof(out));
}

/* For every number of the type: the number, half a step further, and the floats next to both. */
static void check_ties(const char *isa, gcb_convert_narrow_fn *narrow, const struct half_type *type)
{
    static float x[6 * 32768];
    size_t n = 0;

    for (unsigned h = 0; h < 32768; h++) {
        const float low = simple_widen(type, h), high = simple_widen(type, h + 1);
        const float middle = isfinite(high) ? (low + high) / 2 : low * (1 + 0x1p-12f);
        const float sign = h % 3 ? 1.0f : -1.0f;

        if (!isfinite(low))
            break;
        x[n++] = sign * low;
        x[n++] = sign * nextafterf(low, INFINITY);
        x[n++] = sign * nextafterf(middle, 0);
        x[n++] = sign * middle;
        x[n++] = sign * nextafterf(middle, INFINITY);
        x[n++] = sign * nextafterf(high, 0);
    }
    check_narrow(isa, narrow, type, x, n, FILL_TIES);
}

/* The last number that rounds to the largest finite value, and the first that saturates. */
static void check_limits(const char *isa, gcb_convert_narrow_fn *narrow,
                         const struct half_type *type)
{
    const uint32_t tie = gcb_bits_of((float)type->largest) | 1u << (22 - type->fraction_bits);
    float x[64];

    for (uint32_t i = 0; i < 64; i++) {
        const uint32_t sign = i << 31;

        x[i] = gcb_float_of(sign | (tie + i / 2 % 3 - 1));
        if (i >= 48)
            x[i] = gcb_float_of(sign | (GCB_MAX_FINITE_BITS + i / 2 % 3));
    }
    for (size_t n = 0; n <= 64; n++)
        check_narrow(isa, narrow, type, x + 64 - n, n, FILL_HOSTILE);
}

static void check_type(const char *isa, gcb_convert_narrow_fn *narrow, gcb_convert_widen_fn *widen,
                       const struct half_type *type)
{
    for (size_t i = 0; i < CHECK_SIZES; i++) {
        const size_t n = check_size(i), offset = i % 8;
        float *memory = malloc((n + offset) * sizeof(*memory) + 1);

        for (enum check_fill fill = 0; fill < FILL_COUNT; fill++) {
            check_fill(memory + offset, n, fill, i);
            check_narrow(isa, narrow, type, memory + offset, n, fill);
        }
        check_widen(isa, widen, type, n, i);
        free(memory);
    }
    check_round_trip(isa, widen, narrow, type);
    check_ties(isa, narrow, type);
    check_limits(isa, narrow, type);
}

static void check_variant(const char *isa, unsigned flags)
{
    struct gcb_convert_fns f;

    gcb_convert_init(&f, flags);
    check_type(isa, f.to_fp16, f.from_fp16, &fp16);
    check_type(isa, f.to_bf16, f.from_bf16, &bf16);
}

static void body(void)
{
    check_variant("c", 0);
    for (const struct check_isa *isa = check_isas(); isa->name; isa++)
        check_variant(isa->name, isa->flags);
}

int main(void)
{
    return check_main("convert", body);
}
