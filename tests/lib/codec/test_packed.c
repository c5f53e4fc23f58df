/* Passes over all elements that threads share, and decoders of large tensors. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/hd.h"
#include "kernels/base/stream.h"
#include "src/gcbench.h"
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

/* Copies of every length to every position in a cache line write what they should and no more. */
static void copies_past_the_caches_are_copies(void **state)
{
    enum { MOST = 200, LINE = 64 };
    uint8_t from[MOST], to[MOST + 2 * LINE], want[sizeof(to)];

    for (size_t k = 0; k < MOST; k++)
        from[k] = (uint8_t)(k * 7 + 1);
    for (size_t at = 0; at < LINE; at++)
        for (size_t n = 0; n <= MOST; n++) {
            memset(to, 0, sizeof(to));
            memset(want, 0, sizeof(want));
            gcb_stream(to + at, from, n);
            memcpy(want + at, from, n);
            assert_memory_equal(to, want, sizeof(to));
        }
}

/* A tensor so large that decoders write past the caches has the values that a sum of one message
 * has, and nothing after it is written. */
static void large_tensors_are_decoded(void **state)
{
    static const char *const specs[] = {"fp16", "range:bits=8", "natural", "terngrad", "qsgd"};
    const struct gcb_options options = {.size = sizeof(options), .threads = 2};
    const uint64_t n = GCB_LARGE + 77;
    float *x = malloc(n * sizeof(*x)), *sum = malloc(n * sizeof(*sum));
    float *room = malloc((n + 2) * sizeof(*room)), *back = room + 1;

    assert_true(x && sum && room);
    for (uint64_t i = 0; i < n; i++)
        x[i] = (float)((int)(i * 2654435761u % 20011) - 10005) / (float)(1 + i % 7);
    for (size_t k = 0; k < sizeof(specs) / sizeof(*specs); k++) {
        struct gcb_encoder *encoder;
        struct gcb_decoder *decoder;
        struct gcb_sum *of_one;
        size_t length, bound;
        void *message;

        assert_int_equal(gcb_encoder_open(&encoder, specs[k], n, &options, NULL), 0);
        assert_int_equal(gcb_decoder_open(&decoder, specs[k], n, &options, NULL), 0);
        assert_int_equal(gcb_sum_open(&of_one, specs[k], n, NULL, &options, NULL), 0);
        bound = gcb_encoder_bound(encoder);
        message = malloc(bound);
        assert_int_equal(gcb_encode(encoder, 1, 0, x, message, bound, &length, NULL), 0);
        room[0] = back[n] = 7.0f;
        assert_int_equal(gcb_decode(decoder, message, length, back, NULL), 0);
        assert_int_equal(gcb_sum_add(of_one, message, length, 1.0f, NULL), 0);
        assert_int_equal(gcb_sum_finish(of_one, sum, NULL), 0);
        for (uint64_t i = 0; i < n; i++)
            if (back[i] != sum[i])
                fail_msg("%s, element %llu: %g, not %g", specs[k], (unsigned long long)i,
                         (double)back[i], (double)sum[i]);
        assert_true(room[0] == 7.0f && back[n] == 7.0f);
        gcb_encoder_close(encoder);
        gcb_decoder_close(decoder);
        gcb_sum_close(of_one);
        free(message);
    }
    free(x);
    free(sum);
    free(room);
}

RUN_TESTS(cmocka_unit_test(threads_share_weighing), cmocka_unit_test(threads_share_a_maximum),
          cmocka_unit_test(copies_past_the_caches_are_copies),
          cmocka_unit_test(large_tensors_are_decoded))
