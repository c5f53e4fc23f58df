#include <math.h>
#include <stdlib.h>

#include "tests/support/test.h"
#include "tests/support/trip.h"

static void counts_saturated_values(void **state)
{
    const float x[] = {65504.0f, 65519.9f, 65520.0f, -1e9f, 3.0f, -0.0f, 3.4e38f, 3.39e38f};
    struct trip t = {0};

    trip_run(&t, "fp16", x, 8, NULL);
    assert_int_equal(t.clamped, 4);
    assert_true(t.back[0] == 65504.0f && t.back[1] == 65504.0f && t.back[2] == 65504.0f);
    assert_true(t.back[3] == -65504.0f && t.back[6] == 65504.0f);
    trip_free(&t);
    trip_run(&t, "bf16", x, 8, NULL);
    assert_int_equal(t.clamped, 1); /* 3.39e38 is within half a step of the largest */
    trip_free(&t);
}

/* The count is of the last tensor alone. */
static void count_starts_anew(void **state)
{
    const struct gcb_step at = {0};
    const float large[] = {1e30f, 1e30f}, small[] = {1.0f, 1e30f};
    struct gcb_coder_config config = {.env = {.count = 2}};
    uint8_t out[64];
    struct gcb_method m;
    struct gcb_coder *c;

    assert_int_equal(gcb_method_parse(&m, "fp16", NULL), 0);
    assert_int_equal(gcb_coder_create(&c, &m, &config, NULL), 0);
    for (int i = 0; i < 2; i++) {
        struct gcb_wbuf w = {.data = out, .cap = sizeof(out)};

        assert_int_equal(
            gcb_coder_encode(c, &at, &(struct gcb_view){i ? small : large, 2}, &w, NULL), 0);
        assert_int_equal(gcb_coder_clamped(c), i ? 1 : 2);
    }
    gcb_coder_destroy(c);
}

/* Half of float32, and for a tensor that was half already, the same size and no loss. */
static void half_of_half_is_exact(void **state)
{
    float x[1000];
    struct trip t = {0};

    for (int i = 0; i < 1000; i++)
        x[i] = (float)(i - 500) / 64.0f;
    trip_run(&t, "fp16", x, 1000, &(struct trip_options){.source = GCB_F16});
    assert_memory_equal(t.back, x, sizeof(x));
    assert_int_equal(t.length, 16 + 2000);
    assert_false(t.parts.stored);
    trip_free(&t);
}

/* What is reported as entropy is counted: four values, one of them half of the time, take 1.75 bits
 * each. */
static void entropy_is_of_the_codes(void **state)
{
    static const char *const specs[] = {"fp16", "bf16"};
    float x[800];

    for (int i = 0; i < 800; i++)
        x[i] = i % 8 < 4 ? 0.0f : i % 8 < 6 ? 1.0f : i % 8 == 6 ? -2.0f : 0.5f;
    for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
        struct trip t = {0};

        trip_run(&t, specs[i], x, 800, &(struct trip_options){.threads = 1});
        assert_float_equal(t.parts.payload.entropy0_bits, 1.75 * 800.0, 1e-9);
        trip_free(&t);
    }
}

RUN_TESTS(cmocka_unit_test(counts_saturated_values), cmocka_unit_test(count_starts_anew),
          cmocka_unit_test(half_of_half_is_exact), cmocka_unit_test(entropy_is_of_the_codes))
