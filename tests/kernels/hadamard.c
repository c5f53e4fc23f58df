#include <math.h>
#include <string.h>

#include "kernels/hadamard/hadamard.h"
#include "tests/kernels/check.h"

#define LONGEST ((size_t)1 << 17) /* parts that are cut into parts again */
#define GUARD 0x5a

static struct gcb_hadamard_fns ref, opt;

/* The definition: the sum of x[j] times (-1)^(number of common bits of i and j). */
static void check_definition(void)
{
    float x[64], y[64];

    for (size_t n = 1; n <= 64; n *= 2) {
        check_fill(x, n, FILL_NOISE, n);
        memcpy(y, x, sizeof(y));
        ref.transform(y, n);
        for (size_t i = 0; i < n; i++) {
            double want = 0.0, mass = 0.0;

            for (size_t j = 0; j < n; j++) {
                want += __builtin_popcountll(i & j) % 2 ? -x[j] : x[j];
                mass += fabs(x[j]);
            }
            check_that(fabs(want - y[i]) <= 1e-6 * mass, "n %zu, %zu: %g, not %g", n, i, y[i],
                       want);
        }
    }
}

static void check_variant(const char *isa)
{
    static float x[LONGEST + 1], want[LONGEST + 9], got[LONGEST + 9];
    uint8_t sign[LONGEST / 8 + 1];
    uint64_t random = 3;

    for (size_t i = 0; i < sizeof(sign); i++)
        sign[i] = (uint8_t)check_random(&random);
    for (size_t n = 1; n <= LONGEST; n *= 2) {
        for (int fill = 0; fill < FILL_NONFINITE; fill++) {
            check_fill(x, n, (enum check_fill)fill, n);
            memset(want, GUARD, sizeof(want));
            memset(got, GUARD, sizeof(got));
            memcpy(want + 1, x, n * sizeof(*x)); /* + 1: not aligned */
            memcpy(got + 1, x, n * sizeof(*x));
            ref.transform(want + 1, n);
            opt.transform(got + 1, n);
            check_equal("transform", isa, n, (enum check_fill)fill, want, got, sizeof(want));
        }
    }
    for (size_t i = 0; i < CHECK_SIZES; i++) {
        const size_t n = check_size(i);

        check_fill(x, n, FILL_NONFINITE, i);
        memset(want, GUARD, sizeof(want));
        memset(got, GUARD, sizeof(got));
        memcpy(want, x, n * sizeof(*x));
        memcpy(got, x, n * sizeof(*x));
        ref.flip(want, sign, n);
        opt.flip(got, sign, n);
        check_equal("flip", isa, n, FILL_NONFINITE, want, got, sizeof(want));
        for (size_t k = 0; k < n; k++)
            check_that((signbit(want[k]) != signbit(x[k])) == (sign[k / 8] >> (k % 8) & 1),
                       "flip of %zu", k);
    }
}

static void body(void)
{
    gcb_hadamard_init(&ref, 0);
    check_definition();
    for (const struct check_isa *isa = check_isas(); isa->name; isa++) {
        gcb_hadamard_init(&opt, isa->flags);
        check_variant(isa->name);
    }
}

int main(void)
{
    return check_main("hadamard", body);
}
