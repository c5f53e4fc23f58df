#include "tests/kernels/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "kernels/base/hd.h"
#include "src/lib/base/cpu_flags.h"

#define PRINTED_FAILURES 20

struct tally {
    const char *family;
    size_t passed;
    size_t failed;
};

static struct tally tally;

static const char *const fill_names[FILL_COUNT] = {
    [FILL_NOISE] = "noise", [FILL_HOSTILE] = "hostile",     [FILL_TIES] = "ties",
    [FILL_ZERO] = "zero",   [FILL_NONFINITE] = "nonfinite",
};

const struct check_isa *check_isas(void)
{
    static const struct check_isa all[] = {
        {"avx2", GCB_CPU_AVX2},
        {"avx512", GCB_CPU_AVX2 | GCB_CPU_AVX512},
        {"neon", GCB_CPU_NEON},
    };
    static struct check_isa have[4];
    const unsigned flags = gcb_cpu_detect();
    size_t n = 0;

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if ((all[i].flags & flags) == all[i].flags)
            have[n++] = all[i];
    have[n] = (struct check_isa){NULL, 0};
    return have;
}

float check_weighted_sum(float acc, float x, float weight)
{
    volatile float product = weight * x, sum = acc + product; /* a store rounds */

    return sum;
}

uint64_t check_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);

    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

/* A sum of four uniform numbers, scaled by 2^-11 .. 2^4: bell-shaped, with many magnitudes. */
static float random_noise(uint64_t *state)
{
    const uint64_t r = check_random(state), scale = check_random(state);
    const int64_t sum =
        (int64_t)((r & 0xffff) + (r >> 16 & 0xffff) + (r >> 32 & 0xffff) + (r >> 48));

    return (float)(sum - 2 * 0xffff) / 65536.0f * gcb_float_of((uint32_t)(116 + scale % 16) << 23);
}

/* Magnitudes where rounding changes: zero, denormals, exact powers of two and their neighbours, the
 * largest float. */
static const uint32_t hostile_bits[] = {
    0x00000000u, 0x00000001u, 0x00000002u, 0x00400000u, 0x007fffffu, 0x00800000u, 0x00800001u,
    0x00ffffffu, 0x01000000u, 0x33800000u, 0x34000000u, 0x3e000000u, 0x3effffffu, 0x3f000000u,
    0x3f000001u, 0x3f7fffffu, 0x3f800000u, 0x3f800001u, 0x3fc00000u, 0x3fffffffu, 0x40000000u,
    0x4b000000u, 0x4b7fffffu, 0x4f000000u, 0x4f800000u, 0x477fe000u, 0x477ff000u, 0x7effffffu,
    0x7f000000u, 0x7f7ffffeu, 0x7f7fffffu, 0x38800000u,
};

static const uint32_t nonfinite_bits[] = {
    0x7f800000u, 0x7f800001u, 0x7fa00000u, 0x7fc00000u, 0x7fffffffu,
};

static float random_hostile(uint64_t *state)
{
    const uint64_t r = check_random(state);
    const size_t count = sizeof(hostile_bits) / sizeof(hostile_bits[0]);
    const uint32_t sign = (uint32_t)(r >> 63) << 31;

    switch (r >> 8 & 3) {
    case 0:
        return gcb_float_of(sign | hostile_bits[(r >> 16) % count]);
    case 1: /* any finite pattern */
        return gcb_float_of(sign | (uint32_t)(r >> 16) % GCB_INF_BITS);
    default:
        return random_noise(state);
    }
}

static float random_nonfinite(uint64_t *state)
{
    const uint64_t r = check_random(state);
    const size_t count = sizeof(nonfinite_bits) / sizeof(nonfinite_bits[0]);

    if (r % 4 != 0)
        return random_hostile(state);
    return gcb_float_of((uint32_t)(r >> 63) << 31 | nonfinite_bits[(r >> 8) % count]);
}

static float random_tie(uint64_t *state)
{
    static const float values[] = {0.0f, 0.25f, 0.5f, 1.0f};
    const uint64_t r = check_random(state);

    return r >> 63 ? -values[r % 4] : values[r % 4];
}

void check_fill(float *x, size_t n, enum check_fill fill, uint64_t seed)
{
    uint64_t state = seed * FILL_COUNT + fill;

    for (size_t i = 0; i < n; i++) {
        switch (fill) {
        case FILL_HOSTILE:
            x[i] = random_hostile(&state);
            break;
        case FILL_TIES:
            x[i] = random_tie(&state);
            break;
        case FILL_ZERO:
            x[i] = check_random(&state) >> 63 ? -0.0f : 0.0f;
            break;
        case FILL_NONFINITE:
            x[i] = random_nonfinite(&state);
            break;
        default:
            x[i] = random_noise(&state);
            break;
        }
    }
}

size_t check_size(size_t i)
{
    if (i <= 130)
        return i;
    if (i < 146)
        return 4096 - 7 + (i - 131);
    return 3 * 4096 - 7 + (i - 146);
}

static void count_failure(void)
{
    tally.failed++;
    if (tally.failed == PRINTED_FAILURES + 1)
        fprintf(stderr, "%s: further failures are counted, not printed\n", tally.family);
}

bool check_equal(const char *kernel, const char *isa, size_t n, enum check_fill fill,
                 const void *want, const void *got, size_t bytes)
{
    const unsigned char *w = want, *g = got;
    size_t at = 0;

    if (bytes == 0 || memcmp(w, g, bytes) == 0) {
        tally.passed++;
        return true;
    }
    while (w[at] == g[at])
        at++;
    count_failure();
    if (tally.failed <= PRINTED_FAILURES)
        fprintf(stderr, "%s/%s/%s: n %zu, fill %s: byte %zu of %zu is %02x, not %02x\n",
                tally.family, kernel, isa, n, fill_names[fill], at, bytes, g[at], w[at]);
    return false;
}

__attribute__((format(printf, 1, 0))) static void print_failure(const char *format, va_list args)
{
    count_failure();
    if (tally.failed > PRINTED_FAILURES)
        return;
    fprintf(stderr, "%s: ", tally.family);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
}

void check_fail(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    print_failure(format, args);
    va_end(args);
}

bool check_that(bool holds, const char *format, ...)
{
    va_list args;

    if (holds) {
        tally.passed++;
        return true;
    }
    va_start(args, format);
    print_failure(format, args);
    va_end(args);
    return false;
}

int check_main(const char *family, void (*body)(void))
{
    tally.family = family;
    body();
    printf("%s: %zu passed, %zu failed\n", family, tally.passed, tally.failed);
    return tally.failed != 0;
}
