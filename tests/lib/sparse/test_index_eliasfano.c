/* Elias-Fano positions: round trips, hostile bytes, and the promised size. */
#include <stdlib.h>

#include "tests/support/positions.h"
#include "tests/support/test.h"

static void test_round_trip(void **state)
{
    index_trip_all(&gcb_index_eliasfano);
}

static void test_hostile(void **state)
{
    index_hostile(&gcb_index_eliasfano);
}

static uint64_t ceil_log2(uint64_t a, uint64_t b)
{
    uint64_t e = 0;

    while (b << e < a)
        e++;
    return e;
}

/* 2 + ceil(log2(n / k)) bits per position, and 15 bits per block for its byte and padding. */
static void check_size(const struct positions *p)
{
    const uint64_t blocks = (p->kept + GCB_TILE - 1) / GCB_TILE;
    const uint64_t most = p->kept * (2 + ceil_log2(p->n, p->kept)) + 15 * blocks;
    const size_t bytes = index_trip(&gcb_index_eliasfano, p);

    assert_true((bytes - 4 - gcb_directory_bytes(p->kept)) * 8 <= most);
}

static void test_size(void **state)
{
    struct positions p = {0};

    for (double density = 1; density > 1e-6; density *= 0.77) {
        for (uint64_t n = 1; n < 3000000; n = n * 4 + 3) {
            positions_random(&p, n, density, n);
            if (p.kept)
                check_size(&p);
            positions_clustered(&p, n, 30, 1 + (unsigned)(n % 100), n);
            if (p.kept)
                check_size(&p);
        }
    }
    for (uint64_t kept = 1; kept < 10000; kept = 2 * kept + 1) {
        positions_few(&p, UINT64_C(1) << 31, kept, 5);
        check_size(&p);
        p.pos[p.kept - 1] = UINT32_C(0x7fffffff);
        check_size(&p);
    }
    positions_fini(&p);
}

/* 3, 5, 12 of 20: l = 1, low bits 1 1 0, high parts 1 2 6. */
static void test_by_hand(void **state)
{
    static const uint8_t want[] = {3, 0, 0, 0, 1, 0xab, 0x07};
    struct positions p = {0};
    size_t length;
    uint8_t *data;

    positions_every(&p, 20, 17, 1);
    p.pos[0] = 3;
    p.pos[1] = 5;
    p.pos[2] = 12;
    data = index_encode(&gcb_index_eliasfano, &p, &length);
    assert_int_equal(length, sizeof(want));
    assert_memory_equal(data, want, sizeof(want));
    free(data);
    positions_fini(&p);
}

static void test_refused(void **state)
{
    uint8_t data[] = {3, 0, 0, 0, 1, 0xab, 0x07};
    uint8_t wide[] = {7, 0, 0, 0, 40, 0, 0, 0, 0, 0, 0}; /* l = 40 */
    uint32_t pos[3];

    assert_int_equal(index_decode(&gcb_index_eliasfano, data, sizeof(data), 3, 13, pos), 0);
    assert_int_equal(index_decode(&gcb_index_eliasfano, data, sizeof(data), 3, 12, pos),
                     GCB_E_CORRUPT);
    data[6] |= 0x80; /* padding */
    assert_int_equal(index_decode(&gcb_index_eliasfano, data, sizeof(data), 3, 20, pos),
                     GCB_E_CORRUPT);
    assert_int_equal(index_decode(&gcb_index_eliasfano, wide, sizeof(wide), 1, 20, pos),
                     GCB_E_CORRUPT);
}

RUN_TESTS(cmocka_unit_test(test_round_trip), cmocka_unit_test(test_hostile),
          cmocka_unit_test(test_size), cmocka_unit_test(test_by_hand),
          cmocka_unit_test(test_refused))
