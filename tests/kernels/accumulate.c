#include <stdlib.h>
#include <string.h>

#include "kernels/accumulate/accumulate.h"
#include "kernels/base/hd.h"
#include "tests/kernels/check.h"

#define LONGEST (3 * 4096 + 64)
#define GUARD 0x5a

static struct gcb_accumulate_fns opt;

static float simple_add(float acc, float x, float weight)
{
    const float sum = check_weighted_sum(acc, x, weight);

    return sum == sum ? sum : 0x1.5p100f; /* which NaN is not promised */
}

static void name_nans(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = x[i] == x[i] ? x[i] : 0x1.5p100f;
}

static void check_add(const char *isa, const float *x, size_t n, enum check_fill fill, float weight)
{
    static float want[LONGEST + 9], got[LONGEST + 9];

    memset(want, GUARD, sizeof(want));
    check_fill(want + 1, n, FILL_HOSTILE, n + 7); /* + 1: not aligned */
    memcpy(got, want, sizeof(got));
    for (size_t i = 0; i < n; i++)
        want[1 + i] = simple_add(want[1 + i], x[i], weight);
    opt.add(got + 1, x, n, weight);
    name_nans(got + 1, n);
    check_equal("add", isa, n, fill, want, got, sizeof(want));
}

/* Scatters to every third position, pairs too. */
static void check_scatter(const char *isa, const float *x, size_t n, enum check_fill fill)
{
    static float want[3 * LONGEST], got[3 * LONGEST];
    static uint32_t pos[LONGEST];
    const size_t pairs = n / 2;

    for (size_t j = 0; j < n; j++)
        pos[j] = (uint32_t)(3 * j);
    check_fill(want, 3 * n, FILL_NOISE, n);
    memcpy(got, want, 3 * n * sizeof(*got));
    for (size_t j = 0; j < n; j++)
        want[3 * j] = simple_add(want[3 * j], x[j], 0.3f);
    opt.scatter(got, pos, x, n, 0.3f);
    name_nans(got, 3 * n);
    check_equal("scatter", isa, n, fill, want, got, 3 * n * sizeof(*got));
    for (size_t j = 0; j < 2 * pairs; j++)
        want[6 * (j / 2) + j % 2] = simple_add(want[6 * (j / 2) + j % 2], x[j], -1.0f);
    opt.scatter2(got, pos, x, pairs, -1.0f);
    name_nans(got, 3 * n);
    check_equal("scatter2", isa, n, fill, want, got, 3 * n * sizeof(*got));
}

/* Codes of all exponents, with bits above the ninth that must not matter. */
static void check_exponents(const char *isa, size_t n, float weight)
{
    static float want[LONGEST + 9], got[LONGEST + 9];
    static uint16_t code[LONGEST];

    memset(want, GUARD, sizeof(want));
    check_fill(want + 1, n, FILL_HOSTILE, n + 7);
    memcpy(got, want, sizeof(got));
    for (size_t i = 0; i < n; i++) {
        code[i] = (uint16_t)(i * 40503 + n);
        want[1 + i] = simple_add(want[1 + i], gcb_float_of((uint32_t)code[i] << 23), weight);
    }
    opt.add_exponents(got + 1, code, n, weight);
    name_nans(got + 1, n);
    check_equal("add_exponents", isa, n, FILL_HOSTILE, want, got, sizeof(want));
}

static void check_variant(const char *isa)
{
    static float x[LONGEST];

    for (size_t i = 0; i < CHECK_SIZES; i++) {
        const size_t n = check_size(i);

        check_exponents(isa, n, 1.0f);
        check_exponents(isa, n, -0.1f);
        for (enum check_fill fill = 0; fill < FILL_COUNT; fill++) {
            check_fill(x, n, fill, i);
            check_add(isa, x, n, fill, 1.0f);
            check_add(isa, x, n, fill, -0.1f);
            check_scatter(isa, x, n, fill);
        }
    }
}

static void body(void)
{
    gcb_accumulate_init(&opt, 0);
    check_variant("c");
    for (const struct check_isa *isa = check_isas(); isa->name; isa++) {
        gcb_accumulate_init(&opt, isa->flags);
        check_variant(isa->name);
    }
}

int main(void)
{
    return check_main("accumulate", body);
}
