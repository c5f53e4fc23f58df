/* Adaptive positions: round trips, hostile bytes, and never longer than Golomb's stream. */
#include <stdlib.h>

#include "src/lib/sparse/gap_codes.h"
#include "tests/support/positions.h"
#include "tests/support/test.h"

static void test_round_trip(void **state)
{
    index_trip_all(&gcb_index_adaptive);
}

static void test_hostile(void **state)
{
    index_hostile(&gcb_index_adaptive);
}

/* Never longer than Golomb's stream, with few and with many positions. */
static void test_random_within_golomb(void **state)
{
    struct positions p = {0};

    for (double density = 1; density > 1e-6; density *= 0.7) {
        for (uint64_t n = 1; n < 3000000; n = n * 3 + 1) {
            positions_random(&p, n, density, n);
            if (p.kept)
                assert_true(index_trip(&gcb_index_adaptive, &p) <=
                            index_trip(&gcb_index_golomb, &p));
        }
    }
    positions_fini(&p);
}

/* Runs, and gaps that only the gaps before them predict: far below Golomb. */
static void test_structure_pays(void **state)
{
    struct positions p = {0};

    positions_clustered(&p, 1000000, 50, 20, 7);
    assert_true(index_bits(&gcb_index_adaptive, &p) < 0.4 * index_bits(&gcb_index_golomb, &p));
    positions_every(&p, 1000000, 0, 7);
    assert_true(index_bits(&gcb_index_adaptive, &p) < 0.01);
    positions_every(&p, 500000, 0, 1);
    p.n = 1000000; /* all of the first half */
    assert_true(index_bits(&gcb_index_adaptive, &p) < 0.01);
    p.kept = 0;
    for (uint64_t at = 0; p.kept < 100000; at += p.kept % 3 ? 2 : 15)
        p.pos[p.kept++] = (uint32_t)at; /* gaps 15 2 2 15 2 2: each follows from the two before */
    assert_true(index_bits(&gcb_index_adaptive, &p) < 0.7);
    positions_fini(&p);
}

/* Counts like the Fibonacci numbers make the deepest tree. The code stays complete and within its
 * limit. */
static void test_deep_tree(void **state)
{
    uint32_t count[GCB_PREFIX_SYMBOLS] = {1, 1};
    uint8_t length[GCB_PREFIX_SYMBOLS];
    uint16_t table[GCB_PREFIX_ENTRIES], value[GCB_PREFIX_SYMBOLS];

    for (unsigned s = 0; s < GCB_PREFIX_SYMBOLS; s++)
        value[s] = (uint16_t)(s << 4);
    for (unsigned s = 2; s < GCB_PREFIX_SYMBOLS; s++)
        count[s] = count[s - 1] + count[s - 2];
    gcb_prefix_lengths(length, count);
    for (unsigned s = 0; s < GCB_PREFIX_SYMBOLS; s++)
        assert_in_range(length[s], 1, GCB_PREFIX_BITS);
    assert_int_equal(gcb_prefix_table(table, length, value), 0);
}

/* Lengths of an incomplete code are refused; lengths that were written are read back. */
static void test_prefix_lengths(void **state)
{
    static const uint8_t good[GCB_PREFIX_SYMBOLS] = {2, 0, 2, 0, 0, 1};
    static const uint8_t lone[GCB_PREFIX_SYMBOLS] = {[42] = 1};
    static const uint8_t eight[GCB_PREFIX_SYMBOLS] = {3, 3, 3, 3, 3, 3, 3, 3};
    static const uint8_t bad[][GCB_PREFIX_SYMBOLS] = {{0}, {2, 2, 2}, {1, 1, 1},
                                                      {2}, {10, 1},   {1, 1, 10}};
    const uint8_t *const codes[] = {good, lone};
    uint16_t table[GCB_PREFIX_ENTRIES], value[GCB_PREFIX_SYMBOLS];

    for (unsigned s = 0; s < GCB_PREFIX_SYMBOLS; s++)
        value[s] = (uint16_t)(s << 4);
    assert_int_equal(gcb_prefix_size(eight), 6 + 4 + 7); /* one below 4, then the same */
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_int_equal(gcb_prefix_table(table, bad[i], value), GCB_E_CORRUPT);
    for (size_t i = 0; i < 2; i++) {
        uint8_t data[64], back[GCB_PREFIX_SYMBOLS];
        struct gcb_bitw w = {.p = data};
        struct gcb_bitr r = {.p = data};

        gcb_prefix_put(&w, codes[i]);
        r.end = gcb_bitw_finish(&w);
        assert_int_equal(r.end - data, (gcb_prefix_size(codes[i]) + 7) / 8);
        assert_int_equal(gcb_prefix_get(&r, back), 0);
        assert_memory_equal(back, codes[i], sizeof(back));
        assert_int_equal(gcb_prefix_table(table, back, value), 0);
        assert_int_equal(table[0] & 15, i == 0 ? 1 : 0);
        assert_int_equal(table[0] >> 4, i == 0 ? 5 : 42);
    }
}

/*
 * A stream written out by hand from the description: one code with symbols 0 (0), 3 (10) and 16
 * (11, then 4 bits); gaps 0 3 0 21.
 */
static void test_by_hand(void **state)
{
    static const uint32_t want[] = {0, 4, 5, 27};
    uint8_t data[] = {9, 0, 0, 0, 0x20, 0xd0, 0x8b, 0x5a, 0x55, 0x55, 0x15, 0x72, 0x01};
    uint32_t pos[4];

    assert_int_equal(index_decode(&gcb_index_adaptive, data, sizeof(data), 4, 28, pos), 0);
    assert_memory_equal(pos, want, sizeof(pos));
    assert_int_equal(index_decode(&gcb_index_adaptive, data, sizeof(data), 4, 27, pos),
                     GCB_E_CORRUPT);
    data[sizeof(data) - 1] |= 0x80; /* padding */
    assert_int_equal(index_decode(&gcb_index_adaptive, data, sizeof(data), 4, 28, pos),
                     GCB_E_CORRUPT);
}

/* A stream of position 0 with `codes` codes, which begin at the sums 1 2 3 ... or, except the
 * first, all at `again`. */
static int decode_codes(unsigned codes, unsigned again)
{
    static const uint8_t lone[GCB_PREFIX_SYMBOLS] = {1};
    uint8_t data[64];
    struct gcb_bitw w = {.p = data + 4};
    uint32_t pos;

    gcb_bitw_put(&w, 31 + codes, 8);
    for (unsigned c = 1; c < codes; c++)
        gcb_bitw_put(&w, again ? again : c, 6);
    for (unsigned c = 0; c < codes; c++)
        gcb_prefix_put(&w, lone);
    gcb_bitw_finish(&w);
    gcb_store_u32(data, (uint32_t)(w.p - data - 4));
    return index_decode(&gcb_index_adaptive, data, (size_t)(w.p - data), 1, 10, &pos);
}

static void test_codes(void **state)
{
    assert_int_equal(decode_codes(1, 0), 0);
    assert_int_equal(decode_codes(8, 0), 0);
    assert_int_equal(decode_codes(9, 0), GCB_E_CORRUPT);
    assert_int_equal(decode_codes(2, 60), 0);
    assert_int_equal(decode_codes(2, 61), GCB_E_CORRUPT);
    assert_int_equal(decode_codes(3, 5), GCB_E_CORRUPT);
}

RUN_TESTS(cmocka_unit_test(test_round_trip), cmocka_unit_test(test_hostile),
          cmocka_unit_test(test_random_within_golomb), cmocka_unit_test(test_structure_pays),
          cmocka_unit_test(test_deep_tree), cmocka_unit_test(test_prefix_lengths),
          cmocka_unit_test(test_by_hand), cmocka_unit_test(test_codes))
