/* Types and shapes as text. */
#include <string.h>

#include "src/lib/tensor/tensor.h"
#include "tests/support/test.h"

static void test_dtype_text(void **state)
{
    enum gcb_dtype back = GCB_DTYPE_COUNT;

    for (int i = 0; i < GCB_DTYPE_COUNT; i++) {
        assert_int_equal(gcb_dtype_parse(&back, gcb_dtype_name((enum gcb_dtype)i)), 0);
        assert_int_equal(back, i);
    }
    assert_int_equal(gcb_dtype_parse(&back, "fp3"), GCB_E_INVALID);
    assert_int_equal(gcb_dtype_parse(&back, ""), GCB_E_INVALID);
    assert_int_equal(back, GCB_DTYPE_COUNT - 1);
}

static void test_shape_text(void **state)
{
    static const char *const bad[] = {
        "x",
        "1x",
        "x1",
        "1xx2",
        "01",
        "-1",
        "1 ",
        "1,2",
        "+1",
        "18446744073709551616",
        "4294967296x4294967296",
        "1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1"};
    uint64_t dims[GCB_MAX_RANK], count;
    char text[GCB_SHAPE_TEXT];
    unsigned rank;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(gcb_shape_parse(bad[i], &rank, dims, &count), GCB_E_CORRUPT);
    assert_int_equal(gcb_shape_parse("", &rank, dims, &count), 0);
    assert_true(rank == 0 && count == 1);
    assert_int_equal(gcb_shape_parse("3x0x18446744073709551615", &rank, dims, &count), 0);
    assert_true(rank == 3 && count == 0 && dims[2] == UINT64_MAX);
    for (unsigned i = 0; i < GCB_MAX_RANK; i++)
        dims[i] = UINT64_MAX;
    gcb_shape_text(text, GCB_MAX_RANK, dims); /* the longest shape */
    assert_int_equal(strlen(text), GCB_SHAPE_TEXT - 1);
}

RUN_TESTS(cmocka_unit_test(test_dtype_text), cmocka_unit_test(test_shape_text))
