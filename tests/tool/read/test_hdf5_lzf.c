/* The filter LZF: what unpacks, and that no input writes or reads outside of its memory. */
#include <stdlib.h>
#include <string.h>

#include "src/tool/read/hdf5.h"
#include "tests/support/test.h"

static void test_unpack(void **state)
{
    static const uint8_t packed[] = {1, 'a', 'b', 0x20, 1, 0xe0, 3, 0, 0, 'c'};
    uint8_t out[64] = "";

    /* "ab", 3 bytes from 2 before, 12 bytes from 1 before, "c" */
    assert_int_equal(gcb_h5lzf_unpack(packed, sizeof(packed), NULL, 64), 18);
    assert_int_equal(gcb_h5lzf_unpack(packed, sizeof(packed), out, 18), 18);
    assert_memory_equal(out, "ababaaaaaaaaaaaaac", 18);
    assert_int_equal(gcb_h5lzf_unpack(packed, sizeof(packed), out, 17), 18);
    assert_int_equal(gcb_h5lzf_unpack(packed, 0, NULL, 64), 0);
}

static void test_damaged(void **state)
{
    static const struct {
        uint8_t bytes[8];
        uint64_t n;
    } cases[] = {
        {{2, 'a', 'b'}, 3},     /* fewer bytes than announced */
        {{0, 'a', 0x20}, 3},    /* no distance */
        {{0, 'a', 0xe0}, 3},    /* no length */
        {{0, 'a', 0xe0, 1}, 4}, /* no distance */
        {{0, 'a', 0x20, 1}, 4}, /* before the first byte */
        {{0x20, 0}, 2},         /* before the first byte */
        {{0, 'a', 0xff, 255, 255}, 5},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(gcb_h5lzf_unpack(cases[i].bytes, cases[i].n, NULL, 1000), 1001);
}

/* Random bytes: both ways of calling agree. */
static void test_random(void **state)
{
    uint32_t seed = 1;
    unsigned sound = 0;

    for (unsigned i = 0; i < 20000; i++) {
        uint8_t *in = malloc(1 + i % 40), *out;
        uint64_t n;

        for (unsigned k = 0; k < 1 + i % 40; k++) {
            seed = seed * 1664525u + 1013904223u;
            in[k] = (uint8_t)(seed >> (seed % 2 ? 24 : 28));
        }
        n = gcb_h5lzf_unpack(in, 1 + i % 40, NULL, 300);
        assert_true(n <= 301);
        out = malloc(n + 1);
        if (n <= 300) {
            assert_int_equal(gcb_h5lzf_unpack(in, 1 + i % 40, out, n), n);
            sound++;
        }
        free(out);
        free(in);
    }
    assert_true(sound > 0);
}

RUN_TESTS(cmocka_unit_test(test_unpack), cmocka_unit_test(test_damaged),
          cmocka_unit_test(test_random))
