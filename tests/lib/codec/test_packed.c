/* Passes over all elements that threads share. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/hd.h"
#include "src/lib/codec/packed.h"
#include "tests/support/test.h"
#include "tests/support/trip.h"

static const uint64_t counts[] = {0, 1, GCB_SPAN, 2 * GCB_SPAN + 77};
enum { COUNTS = sizeof(counts) / sizeof(*counts) };

static void threads_share_weighing(void **state)
{
    for (size_t c = 0; c < COUNTS; c++)
        for (int threads = 1; threads <= 3; threads += 2) {
            const struct gcb_queue queue = {.threads = threads};
            const uint64_t n = counts[c];
            float *x = trip_tensor(n, TRIP_LAPLACE, 5), *out = calloc(n + 1, sizeof(*out));

            out[n] = 7.0f;
            gcb_weigh(out, x, 0.3f, n, &queue);
            for (uint64_t i = 0; i < n; i++)
                assert_true(out[i] == 0.3f * x[i]);
            gcb_unweigh(x, out, -0.7f, n, &queue);
            for (uint64_t i = 0; i < n; i++)
                assert_true(x[i] == out[i] / -0.7f);
            gcb_unweigh(out, x, 0.0f, n, &queue);
            for (uint64_t i = 0; i < n; i++)
                assert_true(out[i] == 0.0f);
            assert_true(out[n] == 7.0f);
            free(x);
            free(out);
        }
}

/* The largest magnitude is found at both ends and in the middle, and so are infinities and NaNs. */
static void threads_share_a_maximum(void **state)
{
    const float largest[] = {1e9f, -1e9f, INFINITY, -NAN};
    struct gcb_kernels kernels;

    gcb_kernels_init(&kernels, gcb_cpu_detect());
    for (size_t c = 0; c < COUNTS; c++)
        for (size_t k = 0; k < 3 * sizeof(largest) / sizeof(*largest); k++) {
            const struct gcb_queue queue = {.threads = 1 + (int)k % 3};
            const uint64_t n = counts[c], at = k % 3 * (n - 1) / 2;
            float *x = trip_tensor(n, TRIP_LAPLACE, 5);

            assert_int_equal(gcb_max_bits(x, 0, &kernels, &queue), 0);
            if (n) {
                x[at] = largest[k / 3];
                assert_int_equal(gcb_max_bits(x, n, &kernels, &queue), gcb_magnitude(x[at]));
            }
            free(x);
        }
}

RUN_TESTS(cmocka_unit_test(threads_share_weighing), cmocka_unit_test(threads_share_a_maximum))
