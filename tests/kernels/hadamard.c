#include <math.h>
#include <string.h>

#include "kernels/hadamard/hadamard.h"
#include "tests/kernels/check.h"

static struct gcb_hadamard_fns ref;

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

static void check_flip(void)
{
    uint8_t sign[2] = {0x5a, 0x81};
    float x[16], y[16];

    check_fill(x, 16, FILL_NONFINITE, 1);
    memcpy(y, x, sizeof(y));
    ref.flip(y, sign, 16);
    for (size_t k = 0; k < 16; k++)
        check_that((signbit(y[k]) != signbit(x[k])) == (sign[k / 8] >> (k % 8) & 1), "flip of %zu",
                   k);
}

static void body(void)
{
    gcb_hadamard_init(&ref, 0);
    check_definition();
    check_flip();
}

int main(void)
{
    return check_main("hadamard", body);
}
