/* Bounded buffers: little-endian; a failure lasts; nothing outside the buffer is touched. */
#include <string.h>

#include "src/lib/wire/buf.h"
#include "tests/support/test.h"

static void put_all(struct gcb_wbuf *w)
{
    gcb_put_u8(w, 0x01);
    gcb_put_u8(w, 0x02);
    gcb_put_u8(w, 0x03);
    gcb_put_u32(w, 0x07060504u);
    gcb_put_u64(w, UINT64_C(0x0f0e0d0c0b0a0908));
    gcb_put_f32(w, 1.0f);
}

static const uint8_t all[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 0, 0x80, 0x3f};

static void test_little_endian(void **state)
{
    uint8_t data[32];
    struct gcb_wbuf w = {.data = data, .cap = sizeof(data)};
    struct gcb_rbuf r = {.data = all, .len = sizeof(all)};

    put_all(&w);
    assert_int_equal(w.len, sizeof(all));
    assert_memory_equal(data, all, sizeof(all));
    assert_int_equal(gcb_get_u8(&r), 0x01);
    assert_int_equal(gcb_get_u8(&r), 0x02);
    assert_int_equal(gcb_get_u8(&r), 0x03);
    assert_int_equal(gcb_get_u32(&r), 0x07060504u);
    assert_true(gcb_get_u64(&r) == UINT64_C(0x0f0e0d0c0b0a0908));
    assert_true(gcb_get_f32(&r) == 1.0f);
    assert_int_equal(gcb_rbuf_left(&r), 0);
    assert_false(r.failed);
}

static void test_write_past_end(void **state)
{
    for (size_t cap = 0; cap < sizeof(all); cap++) {
        uint8_t data[32];
        struct gcb_wbuf w = {.data = data, .cap = cap};

        memset(data, 0xa5, sizeof(data));
        put_all(&w);
        assert_true(w.failed);
        assert_memory_equal(data, all, w.len);
        for (size_t i = w.len; i < sizeof(data); i++)
            assert_int_equal(data[i], 0xa5);
    }
}

static void test_write_failure_sticks(void **state)
{
    uint8_t data[4] = {9, 9, 9, 9};
    struct gcb_wbuf w = {.data = data, .cap = 4};

    gcb_put_u8(&w, 1);
    gcb_put_u32(&w, 5); /* does not fit */
    gcb_put_u8(&w, 2);  /* would fit */
    assert_true(w.failed);
    assert_int_equal(w.len, 1);
    assert_int_equal(data[1], 9);
    assert_null(gcb_wbuf_take(&w, 0));
}

static void test_read_past_end(void **state)
{
    struct gcb_rbuf r = {.data = all, .len = 3};

    assert_int_equal(gcb_get_u8(&r), 1);
    assert_int_equal(gcb_get_u8(&r), 2);
    assert_int_equal(gcb_get_u32(&r), 0);
    assert_true(r.failed);
    assert_int_equal(gcb_get_u8(&r), 0); /* still failed, although one byte is left */
    assert_int_equal(gcb_rbuf_left(&r), 0);
    assert_true(gcb_get_f32(&r) == 0.0f);
    assert_true(gcb_get_u64(&r) == 0);
    assert_null(gcb_rbuf_take(&r, 0));
}

static void test_take(void **state)
{
    uint8_t data[4];
    struct gcb_wbuf w = {.data = data, .cap = 4};
    struct gcb_rbuf r = {.data = data, .len = 4};

    assert_ptr_equal(gcb_wbuf_take(&w, 0), data);
    assert_ptr_equal(gcb_wbuf_take(&w, 3), data);
    assert_ptr_equal(gcb_wbuf_take(&w, 1), data + 3);
    assert_ptr_equal(gcb_wbuf_take(&w, 0), data + 4);
    assert_null(gcb_wbuf_take(&w, UINT64_MAX)); /* len + n would wrap */
    assert_true(w.failed);
    assert_ptr_equal(gcb_rbuf_take(&r, 1), data);
    assert_null(gcb_rbuf_take(&r, UINT64_MAX));
    assert_true(r.failed);
}

static void test_unaligned(void **state)
{
    uint8_t data[16] = {0};

    gcb_store_u32(data + 1, 0xdeadbeefu);
    gcb_store_u64(data + 5, UINT64_C(0x0123456789abcdef));
    assert_int_equal(data[1], 0xef);
    assert_int_equal(gcb_load_u32(data + 1), 0xdeadbeefu);
    assert_true(gcb_load_u64(data + 5) == UINT64_C(0x0123456789abcdef));
    gcb_store_f32(data + 3, -2.5f);
    assert_true(gcb_load_f32(data + 3) == -2.5f);
}

RUN_TESTS(cmocka_unit_test(test_little_endian), cmocka_unit_test(test_write_past_end),
          cmocka_unit_test(test_write_failure_sticks), cmocka_unit_test(test_read_past_end),
          cmocka_unit_test(test_take), cmocka_unit_test(test_unaligned))
