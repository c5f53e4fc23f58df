/* Block-local positions: round trips, hostile bytes, and the narrower of the two widths. */
#include <stdlib.h>

#include "tests/support/positions.h"
#include "tests/support/test.h"

static void test_round_trip(void **state)
{
    index_trip_all(&gcb_index_block);
}

static void test_hostile(void **state)
{
    index_hostile(&gcb_index_block);
}

/* 1 byte + 2 per block of 4096 + 12 bits per position, or 1 + 4 per block of 65536 + 16 bits: the
 * shorter. */
static void test_width(void **state)
{
    struct positions p = {0};
    size_t length;
    uint8_t *data;

    positions_every(&p, 1 << 20, 5, 100);
    data = index_encode(&gcb_index_block, &p, &length);
    assert_int_equal(data[0], 12);
    assert_int_equal(length, 1 + 256 * 2 + (p.kept * 12 + 7) / 8);
    free(data);
    positions_every(&p, 1 << 20, 5, 5000);
    data = index_encode(&gcb_index_block, &p, &length);
    assert_int_equal(data[0], 16);
    assert_int_equal(length, 1 + 16 * 4 + p.kept * 2);
    free(data);
    positions_fini(&p);
}

/* 1, 4097, 4098 of 5000. */
static void test_by_hand(void **state)
{
    static const uint8_t want[] = {16, 3, 0, 0, 0, 1, 0, 0x01, 0x10, 0x02, 0x10};
    static const uint8_t narrow[] = {12, 1, 0, 2, 0, 0x01, 0x10, 0x00, 0x02, 0x00};
    struct positions p = {0};
    uint32_t pos[3];
    size_t length;
    uint8_t *data;

    positions_every(&p, 5000, 4997, 1);
    p.pos[0] = 1;
    p.pos[1] = 4097;
    p.pos[2] = 4098;
    data = index_encode(&gcb_index_block, &p, &length);
    assert_int_equal(length, sizeof(narrow));
    assert_memory_equal(data, narrow, sizeof(narrow));
    assert_int_equal(index_decode(&gcb_index_block, want, sizeof(want), 3, 5000, pos), 0);
    assert_memory_equal(pos, p.pos, sizeof(pos));
    free(data);
    positions_fini(&p);
}

/* Counts that declare more or fewer positions than there are. */
static void test_counts(void **state)
{
    uint8_t data[] = {12, 1, 0, 2, 0, 0x01, 0x10, 0x00, 0x02, 0x00};
    uint32_t pos[3];

    assert_int_equal(index_decode(&gcb_index_block, data, sizeof(data), 3, 5000, pos), 0);
    data[3] = 3;
    assert_int_equal(index_decode(&gcb_index_block, data, sizeof(data), 3, 5000, pos),
                     GCB_E_CORRUPT);
    data[3] = 1;
    assert_int_equal(index_decode(&gcb_index_block, data, sizeof(data), 3, 5000, pos),
                     GCB_E_CORRUPT);
    data[3] = 2;
    data[9] = 0x10; /* padding */
    assert_int_equal(index_decode(&gcb_index_block, data, sizeof(data), 3, 5000, pos),
                     GCB_E_CORRUPT);
}

RUN_TESTS(cmocka_unit_test(test_round_trip), cmocka_unit_test(test_hostile),
          cmocka_unit_test(test_width), cmocka_unit_test(test_by_hand),
          cmocka_unit_test(test_counts))
