#include <math.h>
#include <stdlib.h>

#include "tests/kernels/check.h"
#include "tests/support/device_trip.h"
#include "tests/support/test.h"

/* Fills a tensor whose last eighth has nearly all of its energy; there, positive elements come
 * first and negative ones are larger. A kernel that forgets the last pieces selects other
 * positions. */
static void fill_late(float *x, uint64_t n, uint64_t seed)
{
    check_fill(x, n, FILL_NOISE, seed);
    for (uint64_t i = 0; i < n; i++)
        if (i < n - n / 8)
            x[i] *= 0x1p-6f;
        else if (i < n - n / 32)
            x[i] *= x[i] < 0.0f ? 0.5f : 1.0f;
        else
            x[i] *= x[i] < 0.0f ? 8.0f : 0.5f;
}

void device_same_wide(const struct gcb_device *device, const char *spec, uint64_t n, uint64_t seed)
{
    struct device_setting setting = {.seed = seed, .step = seed, .coded = true};
    float *x = malloc((n + 1) * sizeof(*x));

    assert_non_null(x);
    check_fill(x, n, FILL_NOISE, seed);
    device_same(device, spec, x, n, &setting);
    fill_late(x, n, seed);
    device_same(device, spec, x, n, &setting);
    setting.coded = false;
    x[n - 1] = INFINITY; /* both sides refuse it */
    device_same(device, spec, x, n, &setting);
    free(x);
}
