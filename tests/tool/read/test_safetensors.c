/* Files of safetensors: what is read, and headers that lie. */
#include <stdio.h>
#include <string.h>

#include "tests/support/flatmake.h"
#include "tests/support/test.h"

static const struct gcb_reading none;

/* Writes a file with this header, and `size` bytes of data: 0x3c, 0, 0x3c, ... */
static void make(struct flatmake *f, const char *header, size_t size)
{
    *f = (struct flatmake){.size = 0};
    flatmake_number(f, strlen(header), 8);
    flatmake_put(f, header, strlen(header));
    for (size_t i = 0; i < size; i++)
        flatmake_number(f, i % 2 ? 0x3c : 0, 1);
}

static void expect(const char *header, size_t size, const char *text)
{
    struct flatmake f;

    make(&f, header, size);
    flatmake_expect(&f, "a.safetensors", none, text);
}

static void refuse(const char *header, size_t size, const char *words)
{
    struct flatmake f;

    make(&f, header, size);
    flatmake_expect_failure(&f, "a.safetensors", GCB_E_CORRUPT, words);
}

static void refuse_scales(const char *header, size_t size)
{
    struct flatmake f;

    make(&f, header, size);
    flatmake_expect_failure(&f, "a.safetensors", GCB_E_UNSUPPORTED,
                            "w_scale is neither one float32");
}

#define ONE(type, shape, begin, end) \
    "{\"w\":{\"dtype\":\"" type "\",\"shape\":" shape ",\"data_offsets\":[" begin "," end "]}}"

static void test_types(void **state)
{
    expect(ONE("F16", "[1,2]", "0", "4"), 4, "0/0/w 1x2 fp16: 1 1");
    expect(ONE("BF16", "[1]", "0", "2"), 2, "0/0/w 1 bf16: 0.0078125");
    expect(ONE("F32", "[]", "0", "4"), 4, "0/0/w  fp32: 0.00782681");
    expect(ONE("F64", "[1]", "0", "8"), 8, "0/0/w 1 fp64: 1.10008e-19");
    expect(ONE("F8_E4M3", "[2]", "0", "2"), 2, "0/0/w 2 fp16: 0 1.5");
    expect(ONE("F8_E5M2", "[2]", "0", "2"), 2, "0/0/w 2 fp16: 0 1");
    expect(ONE("F32", "[0]", "0", "0"), 0, "0/0/w 0 fp32:");
    refuse(ONE("I64", "[1]", "0", "8"), 8, "other types than floats");
    refuse(ONE("F8_E8M0", "[1]", "0", "1"), 1, "float format that gcbench does not read");
    refuse(ONE("U16", "[1]", "0", "2"), 2, "--as bf16 or --as fp16 reads them");
    refuse(ONE("I8", "[1]", "0", "1"), 1, "--as fp8_e4m3 or --as fp8_e5m2 reads them");
}

#define SCALED(type, shape, end, scales, kind, scales_shape, scales_end) \
    "{\"w\":{\"dtype\":\"" type "\",\"shape\":" shape ",\"data_offsets\":[0," end "]},\"w" scales \
    "\":{\"dtype\":\"" kind "\",\"shape\":" scales_shape ",\"data_offsets\":[" end "," scales_end \
    "]}}"

/* Files of fp8 with scales: 0x3c003c00 as a float32 is 0.00782681, 0x3c is 1.5 as E4M3. */
static void test_scales(void **state)
{
    expect(SCALED("F8_E4M3", "[2]", "2", "_scale", "F32", "[]", "6"), 6,
           "0/0/w 2 fp32: 0 0.0117402");
    expect(SCALED("F8_E5M2", "[2]", "2", "_scale_inv", "F32", "[1]", "6"), 6,
           "0/0/w 2 fp32: 0 0.00782681");
    expect(SCALED("F8_E4M3", "[1,2]", "2", "_scale_inv", "F32", "[1,1]", "6"), 6,
           "0/0/w 1x2 fp32: 0 0.0117402");
    expect(SCALED("F8_E4M3", "[0,2]", "0", "_scale", "F32", "[0,1]", "0"), 0, "0/0/w 0x2 fp32:");
    expect(SCALED("F16", "[1]", "2", "_scale", "F16", "[1]", "4"), 4,
           "0/0/w 1 fp16: 1; 0/0/w_scale 1 fp16: 1");
    refuse_scales(SCALED("F8_E4M3", "[2]", "2", "_scale", "F16", "[1]", "4"), 4);
    refuse_scales(SCALED("F8_E4M3", "[2]", "2", "_scale", "F32", "[2]", "10"), 10);
    refuse_scales(SCALED("F8_E4M3", "[2,1]", "2", "_scale", "F32", "[2,1]", "10"), 10);
    refuse_scales(SCALED("F8_E4M3", "[129,1]", "130", "_scale", "F32", "[2,1]", "134"), 134);
    refuse(SCALED("F8_E4M3", "[2]", "2", "_scale", "F32", "[1]", "60"), 6, "outside of the file");
}

static void test_headers(void **state)
{
    expect(
        "{ \"__metadata__\" : {\"model\":\"x\\ny\",\"a\":\"\"}, \"step_3/worker_1/w\" : { "
        "\"data_offsets\" : [ 4 , 6 ] , \"dtype\":\"F16\" , \"shape\":[ 1 ] } ,\n"
        "\"rank_2/\\u0076\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[0,4]},"
        "\"\\ud83d\\ude00\\u00e9\":{\"dtype\":\"BOOL\",\"shape\":[1],\"data_offsets\":[6,7]}}   ",
        7, "0/2/v 2 fp16: 1 1; 3/1/w 1 fp16: 1; +1 skipped");
    refuse("{\"__metadata__\":{}}", 0, "no float data");
}

static void test_offsets(void **state)
{
#define TWO(begin, end) \
    "{\"a\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[0,4]}," \
    "\"b\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[" begin "," end "]}}"

    expect(TWO("4", "8"), 8, "0/0/a 2 fp16: 1 1; 0/0/b 2 fp16: 1 1");
    refuse(TWO("2", "6"), 6, "same bytes of the file");
    refuse(TWO("0", "4"), 4, "same bytes of the file");
    refuse(TWO("6", "10"), 10, "belong to no tensor");
    refuse(TWO("4", "8"), 9, "belong to no tensor");
    refuse(TWO("4", "8"), 7, "outside of the file");
    refuse(TWO("8", "4"), 8, "outside of the file");
    refuse(TWO("9223372036854775804", "9223372036854775807"), 8, "outside of the file");
    refuse(TWO("-4", "4"), 8, "outside of the file");
    refuse(TWO("4", "9223372036854775808"), 8, "header is not valid");
    refuse(ONE("F16", "[3]", "0", "4"), 4, "does not fit its 4 bytes");
    refuse(ONE("F16", "[1]", "0", "4"), 4, "does not fit its 4 bytes");
    refuse(ONE("F16", "[4294967296,4294967296,2]", "0", "4"), 4, "does not fit its 4 bytes");
    refuse(ONE("F16", "[9223372036854775807]", "0", "4"), 4, "does not fit its 4 bytes");
    refuse("{\"a\":{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[0,2]},"
           "\"a\":{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[2,4]}}",
           4, "header is not valid");
}

static void test_names(void **state)
{
    static const char *const names[] = {
        "", "/", "a//b", "../a", "a/.",
    };
    char header[256], deep[6000];

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(header, sizeof(header),
                 "{\"%s\":{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[0,2]}}", names[i]);
        refuse(header, 2, "impossible name");
    }
    snprintf(deep, sizeof(deep), "{\"%05000d\":{\"dtype\":\"F16\"}}", 0);
    refuse(deep, 2, "longer than 4095 bytes");
    snprintf(deep, sizeof(deep), "{\"%02000d\":{\"dtype\":\"F16\"}}", 0);
    refuse(deep, 2, "impossible name");
}

static void test_json(void **state)
{
    static const char *const headers[] = {
        "{",
        "{\"",
        "{\"w\"}",
        "{\"w\":1}",
        "{\"w\":{}}",
        "{\"w\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
        "{\"w\":{\"w\":{\"w\":{\"w\":{\"w\":{\"w\":{\"w\":{\"w\":{\"w\":{",
        ONE("F16", "[1]", "0", "2") ",",
        ONE("F16", "[1]", "0", "2") "{}",
        ONE("F16", "[1,]", "0", "2"),
        ONE("F16", "[01]", "0", "2"),
        ONE("F16", "[-1]", "0", "2"),
        ONE("F16", "[1.0]", "0", "2"),
        ONE("F16", "[1e0]", "0", "2"),
        ONE("F16", "[\"1\"]", "0", "2"),
        ONE("F16", "[1]", "0", "2,3"),
        ONE("F16", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "0", "2"),
        "{\"w\":{\"dtype\":\"F16\",\"shape\":[1]}}",
        "{\"w\":{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[2]}}",
        "{\"w\":{\"dtype\":\"F16\",\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[0,2]}}",
        "{\"w\":{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[0,2],\"x\":1}}",
        "{\"a\\u0000b\":{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[0,2]}}",
        "{\"\xff\":{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[0,2]}}",
        "{\"\\ud800\":{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[0,2]}}",
        "{\"\\udc00\":{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[0,2]}}",
        "{\"\\ud800\\u0041\":{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[0,2]}}",
        "{\"\\u00g0\":{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[0,2]}}",
        "{\"\\x\":{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[0,2]}}",
        "{\"\n\":{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[0,2]}}",
        "{\"__metadata__\":{\"a\"}}",
    };
    struct flatmake f;

    for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
        refuse(headers[i], 2, "header is not valid");
    make(&f, ONE("F16", "[1]", "0", "2"), 2);
    f.bytes[f.size - 3] = 0; /* the end of the header */
    flatmake_expect_failure(&f, "a.safetensors", GCB_E_CORRUPT, "header is not valid");
}

static void test_cut(void **state)
{
    struct flatmake f, cut;

    make(&f, ONE("F16", "[1]", "0", "2"), 2);
    for (cut = f; cut.size-- > 0;) {
        struct gcb_diag diag = {0};
        char out[1024];

        assert_int_equal(flatmake_read(out, &cut, "w", none, true, &diag), GCB_E_CORRUPT);
    }
    memcpy(f.bytes, "\x00\xe0\xf5\x05", 4);
    flatmake_expect_failure(&f, "w", GCB_E_CORRUPT, "header is not complete");
}

RUN_TESTS_BETWEEN(NULL, flatmake_clean, cmocka_unit_test(test_types), cmocka_unit_test(test_scales),
                  cmocka_unit_test(test_headers), cmocka_unit_test(test_offsets),
                  cmocka_unit_test(test_names), cmocka_unit_test(test_json),
                  cmocka_unit_test(test_cut))
