#include <string.h>

#include "src/gcbench.h"
#include "tests/support/test.h"

/* All functions that take options refuse these, with this word in the message. */
static void refused(const struct gcb_options *o, const char *word)
{
    static const float x[6] = {1.0f, 2.0f};
    struct gcb_encoder *e = NULL;
    struct gcb_decoder *d = NULL;
    struct gcb_diag diag[3];
    unsigned char message[64];
    size_t length;

    assert_int_equal(gcb_encoder_open(&e, "identity", 6, NULL, NULL), 0);
    assert_int_equal(gcb_encode(e, 0, 0, x, message, sizeof(message), &length, NULL), 0);
    gcb_encoder_close(e);
    e = NULL;
    assert_int_equal(gcb_encoder_open(&e, "identity", 6, o, &diag[0]), GCB_E_INVALID);
    assert_int_equal(gcb_decoder_open(&d, "identity", 6, o, &diag[1]), GCB_E_INVALID);
    assert_int_equal(gcb_decoder_open_like(&d, message, length, o, &diag[2]), GCB_E_INVALID);
    assert_null(e);
    assert_null(d);
    for (int i = 0; i < 3; i++)
        if (!strstr(diag[i].text, word))
            fail_msg("no '%s' in: %s", word, diag[i].text);
}

static void accepted(const struct gcb_options *o)
{
    struct gcb_encoder *e = NULL;
    struct gcb_diag diag;

    if (gcb_encoder_open(&e, "identity", 6, o, &diag))
        fail_msg("%s", diag.text);
    gcb_encoder_close(e);
}

static void ranges(void **state)
{
    static const int threads[] = {-1, 257, 100000};

    accepted(NULL);
    accepted(&(struct gcb_options){.size = sizeof(struct gcb_options), .threads = 256});
    for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++)
        refused(&(struct gcb_options){.size = sizeof(struct gcb_options), .threads = threads[i]},
                "threads");
    refused(&(struct gcb_options){.size = sizeof(struct gcb_options), .source = (enum gcb_dtype)4},
            "element type");
    refused(&(struct gcb_options){.size = sizeof(struct gcb_options), .input = (enum gcb_dtype)4},
            "element type");
    refused(&(struct gcb_options){.size = sizeof(struct gcb_options), .input = GCB_F64}, "float64");
    refused(&(struct gcb_options){.size = sizeof(struct gcb_options),
                                  .nonfinite = (enum gcb_nonfinite)3},
            "nonfinite");
    refused(&(struct gcb_options){.size = 4097}, "sizeof(struct gcb_options)");
    refused(&(struct gcb_options){.size = SIZE_MAX}, "sizeof(struct gcb_options)");
}

static void shapes(void **state)
{
    static const uint64_t good[] = {3, 2}, bad[] = {3, 3},
                          huge[] = {UINT64_C(1) << 33, UINT64_C(1) << 33};
    static const uint64_t ones[33] = {6, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                      1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    struct gcb_options o = {.size = sizeof(o), .shape = good, .rank = 2};
    struct gcb_encoder *scalar = NULL;

    accepted(&o);
    o.shape = bad;
    refused(&o, "the shape is 3x3, but the tensor has 6 elements");
    o.shape = huge;
    refused(&o, "8589934592x8589934592");
    o.shape = NULL;
    refused(&o, "rank");
    o.shape = ones;
    o.rank = 32;
    accepted(&o);
    o.rank = 33;
    refused(&o, "rank");
    o.rank = 0;
    refused(&o, "the shape is ");
    assert_int_equal(gcb_encoder_open(&scalar, "identity", 1, &o, NULL), 0);
    gcb_encoder_close(scalar);
}

RUN_TESTS(cmocka_unit_test(ranges), cmocka_unit_test(shapes))
