#include <stdlib.h>
#include <string.h>

#include "src/lib/codec/elias.h"
#include "tests/support/test.h"

#define LARGEST 65536

/* The code as text, by the recursive definition: a zero; before it n in binary, before that n's
 * length less one in binary, and so on down to 1. */
static void omega(char *out, uint32_t n)
{
    char code[64] = "0";

    while (n > 1) {
        char longer[64], digits[40];
        int width = 0;

        for (uint32_t v = n; v; v >>= 1)
            width++;
        for (int i = 0; i < width; i++)
            digits[i] = n >> (width - 1 - i) & 1 ? '1' : '0';
        digits[width] = '\0';
        strcpy(longer, digits);
        strcat(longer, code);
        strcpy(code, longer);
        n = (uint32_t)width - 1;
    }
    strcpy(out, code);
}

static void as_text(char *out, struct gcb_elias_code code)
{
    for (uint32_t i = 0; i < code.length; i++)
        out[i] = code.bits >> i & 1 ? '1' : '0';
    out[code.length] = '\0';
}

static void codes_follow_the_definition(void **state)
{
    char want[64], have[64];

    for (uint32_t n = 1; n <= LARGEST; n++) {
        omega(want, n);
        as_text(have, gcb_elias_encode(n));
        assert_string_equal(have, want);
        assert_true(strlen(want) <= 28);
    }
}

/* All numbers in one stream, through the table and without it. */
static void round_trip(void **state)
{
    uint8_t *bytes = malloc(LARGEST * 4 + GCB_BITS_SLACK);
    struct gcb_elias_table *table = malloc(sizeof(*table));
    struct gcb_bitw w = {.p = bytes};
    struct gcb_bitr fast, slow;

    gcb_elias_table_init(table);
    for (uint32_t n = 1; n <= LARGEST; n++) {
        const struct gcb_elias_code code = gcb_elias_encode(n);

        gcb_bitw_put(&w, code.bits, code.length);
    }
    fast = slow = (struct gcb_bitr){.p = bytes, .end = gcb_bitw_finish(&w)};
    for (uint32_t n = 1; n <= LARGEST; n++) {
        assert_int_equal(gcb_elias_decode(&fast, table, LARGEST), n);
        assert_int_equal(gcb_elias_decode_long(&slow, LARGEST), n);
    }
    assert_false(fast.failed || slow.failed);
    assert_true(fast.p == fast.end && fast.fill < 8 && fast.acc == 0);
    free(table);
    free(bytes);
}

/* Decodes the bits of a text both ways, which must agree; 0 and failed alike. */
static uint32_t decode_text(const char *text, uint32_t limit)
{
    uint8_t bytes[32] = {0};
    struct gcb_elias_table *table = malloc(sizeof(*table));
    const size_t n = strlen(text);
    struct gcb_bitr fast, slow;
    uint32_t value;

    for (size_t i = 0; i < n; i++)
        bytes[i / 8] |= (uint8_t)((text[i] == '1') << i % 8);
    gcb_elias_table_init(table);
    fast = slow = (struct gcb_bitr){.p = bytes, .end = bytes + (n + 7) / 8};
    value = gcb_elias_decode(&fast, table, limit);
    assert_int_equal(gcb_elias_decode_long(&slow, limit), value);
    assert_int_equal(fast.failed, slow.failed);
    assert_int_equal(fast.failed, value == 0);
    free(table);
    return value;
}

static void refuses_bad_streams(void **state)
{
    assert_int_equal(decode_text("", 9), 0);
    assert_int_equal(decode_text("11111111", LARGEST), 0); /* cut */
    assert_int_equal(decode_text("1010010000000000", LARGEST), 16);
    assert_int_equal(decode_text("1010010000000000", 16), 16);
    assert_int_equal(decode_text("1010010000000000", 15), 0); /* above the limit */
    assert_int_equal(decode_text("11000000", 3), 3);
    assert_int_equal(decode_text("11000000", 2), 0);
    /* 10 101 100000 0 is 32; a one in place of the last zero promises 33 more bits, so no number at
     * all */
    assert_int_equal(decode_text("1010110000000000", LARGEST), 32);
    assert_int_equal(decode_text("1010110000010000000000000000000000000000000000000000000000000000"
                                 "00000000000000000000000000000000",
                                 LARGEST),
                     0);
    assert_int_equal(decode_text("1010110000010000000000000000000000000000000000000000000000000000"
                                 "00000000000000000000000000000000",
                                 UINT32_MAX),
                     0);
}

/* Every code cut to fewer bytes than it needs fails, wherever the cut is. */
static void refuses_cut_codes(void **state)
{
    struct gcb_elias_table *table = malloc(sizeof(*table));

    gcb_elias_table_init(table);
    for (uint32_t n = 2; n <= LARGEST; n += n < 300 ? 1 : 37) {
        const struct gcb_elias_code code = gcb_elias_encode(n);
        uint8_t bytes[16];
        struct gcb_bitw w = {.p = bytes};

        gcb_bitw_put(&w, code.bits, code.length);
        gcb_bitw_finish(&w);
        for (size_t cut = 0; cut < (code.length + 7) / 8; cut++) {
            struct gcb_bitr r = {.p = bytes, .end = bytes + cut};
            const uint32_t value = gcb_elias_decode(&r, table, LARGEST);

            assert_true(r.failed && value == 0);
        }
    }
    free(table);
}

RUN_TESTS(cmocka_unit_test(codes_follow_the_definition), cmocka_unit_test(round_trip),
          cmocka_unit_test(refuses_bad_streams), cmocka_unit_test(refuses_cut_codes))
