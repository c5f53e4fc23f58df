/* Arrays of NumPy in a file of their own. */
#include "tests/support/flatmake.h"
#include "tests/support/test.h"

#define HEADER(type, fortran, shape) \
    "{'descr': '" type "', 'fortran_order': " fortran ", 'shape': " shape ", }"

static const float f4[] = {1, 2, 3, 4, 5, 6};
static const struct gcb_reading none;

static void expect(const char *header, const void *data, size_t size, const char *text)
{
    for (unsigned version = 1; version <= 3; version++) {
        struct flatmake f = {.size = 0};

        flatmake_npy(&f, version, header, data, size);
        flatmake_expect(&f, "fc.weight.npy", none, text);
    }
}

static void test_types(void **state)
{
    static const double f8[] = {1, -0.5};
    static const uint16_t f2[] = {0x3c00, 0xb800};
    static const uint8_t big4[] = {0x3f, 0x80, 0, 0, 0xbf, 0, 0, 0}, big2[] = {0x3c, 0, 0xb8, 0};
    static const uint8_t big8[] = {0x3f, 0xf0, 0, 0, 0, 0, 0, 0, 0xbf, 0xe0, 0, 0, 0, 0, 0, 0};

    expect(HEADER("<f8", "False", "(2,)"), f8, sizeof(f8), "0/0/fc.weight 2 fp64: 1 -0.5");
    expect(HEADER("<f2", "False", "(2,)"), f2, sizeof(f2), "0/0/fc.weight 2 fp16: 1 -0.5");
    expect(HEADER(">f8", "False", "(2,)"), big8, sizeof(big8), "0/0/fc.weight 2 fp64: 1 -0.5");
    expect(HEADER(">f4", "False", "(2,)"), big4, sizeof(big4), "0/0/fc.weight 2 fp32: 1 -0.5");
    expect(HEADER(">f2", "True", "(2,)"), big2, sizeof(big2), "0/0/fc.weight 2 fp16: 1 -0.5");
}

static void test_shapes(void **state)
{
    expect(HEADER("<f4", "False", "(2, 3)"), f4, 24, "0/0/fc.weight 2x3 fp32: 1 2 3 4 5 6");
    expect(HEADER("<f4", "False", "(2L, 3L)"), f4, 24, "0/0/fc.weight 2x3 fp32: 1 2 3 4 5 6");
    expect(HEADER("<f4", "False", "()"), f4, 4, "0/0/fc.weight  fp32: 1");
    expect(HEADER("<f4", "False", "(0, 3)"), f4, 0, "0/0/fc.weight 0x3 fp32:");
    expect("{\"shape\":(6,),\"descr\":\"<f4\",\"fortran_order\":True}", f4, 24,
           "0/0/fc.weight 6 fp32: 1 2 3 4 5 6");
    /* as flatten() gives them */
    expect(HEADER("<f4", "True", "(2, 3)"), f4, 24, "0/0/fc.weight 2x3 fp32: 1 3 5 2 4 6");
    expect(HEADER("<f4", "True", "(3, 1, 2)"), f4, 24, "0/0/fc.weight 3x1x2 fp32: 1 4 2 5 3 6");
}

/* The folders of a file, and its name, give step and worker. */
static void test_places(void **state)
{
    static const struct {
        const char *name, *text;
    } cases[] = {
        {"step_000100/worker_3/fc.weight.npy", "100/3/fc.weight  fp32: 1"},
        {"a/iter=7/b/fc/weight.npy", "7/0/b/fc/weight  fp32: 1"},
        {"a/b/weight", "0/0/weight  fp32: 1"},
        {"2024/w.npy", "0/0/w  fp32: 1"},
        {"rank1/w_step20_rank_3.npy", "20/3/w  fp32: 1"},
        {"worker3/step_0010_rank_2.npy", "10/2/arr_0  fp32: 1"},
        {"resnet50_step7.npy", "7/0/resnet50  fp32: 1"},
        {"step_2/fc/rank1.npy", "2/1/fc  fp32: 1"},
        {"global_step7-fc.weight.npy", "7/0/fc.weight  fp32: 1"},
        {"a_step7_b.step.npy", "7/0/a_b.step  fp32: 1"},
        {"step1_step2Rank3.npy", "2/3/step1  fp32: 1"},
        {"writer1_lowrank4.npy", "0/0/writer1_lowrank4  fp32: 1"}, /* ends of other words */
        {"w_step99999999999999999999.npy", "0/0/w_step99999999999999999999  fp32: 1"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct flatmake f = {.size = 0};

        flatmake_npy(&f, 1, HEADER("<f4", "False", "()"), f4, 4);
        flatmake_expect(&f, cases[i].name, none, cases[i].text);
    }
}

/* Integers and bytes are floats only if --as says so. */
static void test_reading(void **state)
{
    static const uint8_t bf16[] = {0x80, 0x3f, 0x00, 0xbf}, big[] = {0x3f, 0x80, 0xbf, 0x00};
    static const struct {
        const char *header;
        const uint8_t *data;
    } cases[] = {
        {HEADER("<u2", "False", "(2,)"), bf16},
        {HEADER("|V2", "False", "(2,)"), bf16},
        {HEADER(">i2", "False", "(2,)"), big},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct flatmake f = {.size = 0};

        flatmake_npy(&f, 1, cases[i].header, cases[i].data, 4);
        flatmake_expect_failure(&f, "w.npy", GCB_E_CORRUPT, "--as bf16 or --as fp16 reads them");
        flatmake_expect(&f, "w.npy", (struct gcb_reading){.words = GCB_ELEMENT_BF16},
                        "0/0/w 2 bf16: 1 -0.5");
    }
}

static void test_refused(void **state)
{
    static const struct {
        unsigned version;
        const char *header, *words;
    } cases[] = {
        {1, HEADER("<f16", "False", "(1,)"), "float format that gcbench does not read"},
        {1, HEADER("<c8", "False", "(1,)"), "other types than floats"},
        {1, HEADER("|O", "False", "(1,)"), "other types than floats"},
        {1, HEADER("<i4", "False", "(2,)"), "other types than floats"},
        {1,
         "{'descr': [('a', '<f4'), ('shape', ('<i4', (2,)))], 'fortran_order': False, 'shape': "
         "(1,)}",
         "other types than floats"},
        {4, HEADER("<f4", "False", "(2,)"), "not valid"},
        {0, HEADER("<f4", "False", "(2,)"), "not valid"},
        {1, HEADER("<f4", "False", "(1,)"), "does not fit its 8 bytes"},
        {1, HEADER("<f4", "False", "(3,)"), "does not fit its 8 bytes"},
        {1, HEADER("<f4", "False", "(0,)"), "does not fit its 8 bytes"},
        {1, HEADER("<f4", "False", "(4611686018427387906,)"), "does not fit its 8 bytes"},
        {1, HEADER("<f4", "False", "(2147483649, 2147483650)"), "does not fit its 8 bytes"},
        {1, HEADER("<f4", "False", "(18446744073709551618,)"), "not valid"},
        {1, HEADER("<f4", "False", "(-2,)"), "not valid"},
        {1, HEADER("<f4", "False", "(2,,)"), "not valid"},
        {1, HEADER("<f4", "False", "(1 2)"), "not valid"},
        {1,
         HEADER("<f4", "False",
                "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2)"),
         "not valid"},
        {1, HEADER("<f4", "Maybe", "(2,)"), "not valid"},
        {1, "{'descr': '<f4', 'shape': (2,)}", "not valid"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'shape': (2,)}", "not valid"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'more': 1}", "not valid"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x", "not valid"},
        {1, "{'descr': '<f4, 'fortran_order': False, 'shape': (2,)}", "not valid"},
        {1, "{'descr': [[[[[[[[[[[[[[[['a', 'fortran_order': False, 'shape': (2,)}", "not valid"},
        {1, "", "not valid"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct flatmake f = {.size = 0};

        flatmake_npy(&f, cases[i].version, cases[i].header, f4, 8);
        flatmake_expect_failure(&f, "w.npy", GCB_E_CORRUPT, cases[i].words);
    }
}

/* A file that is cut anywhere, and a length that is a lie. */
static void test_cut(void **state)
{
    struct flatmake f = {.size = 0};

    flatmake_npy(&f, 2, HEADER(">f4", "False", "(2,)"), f4, 8);
    for (size_t size = f.size; size-- > 0;) {
        struct gcb_diag diag = {0};
        struct flatmake cut = f;
        char out[1024];

        cut.size = size;
        assert_int_equal(flatmake_read(out, &cut, "w.npy", none, true, &diag), GCB_E_CORRUPT);
    }
    f.bytes[11] = 0x7f;
    flatmake_expect_failure(&f, "w.npy", GCB_E_CORRUPT, "not valid");
}

RUN_TESTS_BETWEEN(NULL, flatmake_clean, cmocka_unit_test(test_types), cmocka_unit_test(test_shapes),
                  cmocka_unit_test(test_places), cmocka_unit_test(test_reading),
                  cmocka_unit_test(test_refused), cmocka_unit_test(test_cut))
