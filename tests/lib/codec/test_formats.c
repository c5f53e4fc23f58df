/* The codecs float, affine and codebook: values of the libraries whose rules they follow, and what
 * messages and draws promise. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/test.h"
#include "tests/support/trip.h"

#define MOST 1024 /* elements of a vector */

static const char *vectors; /* tests/lib/codec/formats.txt, from tests/trials/formats.py */

/* Reads floats as hexadecimal bytes. Returns their number. */
static size_t parse(float *x, const char *hex)
{
    const size_t n = strspn(hex, "0123456789abcdef") / 8;

    assert_true(n <= MOST);
    for (size_t i = 0; i < 4 * n; i++) {
        unsigned byte;

        assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
        ((uint8_t *)x)[i] = (uint8_t)byte;
    }
    return n;
}

/* Each row is a method and the values that the reference decodes; the first row is the input. */
static void decodes_like_references(void **state)
{
    static char line[16 * MOST];
    static float x[MOST], want[MOST];
    FILE *in = fopen(vectors, "r");
    size_t n = 0, rows = 0;

    assert_non_null(in);
    while (fgets(line, sizeof(line), in)) {
        char *values = strchr(line, ' ');
        struct trip t = {0};

        *values++ = '\0';
        if (n == 0) {
            n = parse(x, values);
            continue;
        }
        assert_int_equal(parse(want, values), n);
        trip_run(&t, line, x, n, NULL);
        for (size_t i = 0; i < n; i++)
            if (strcmp(line, "uniform8") ==
                        0 /* its sums have no order; the largest is below 2^15 */
                    ? !(fabsf(t.back[i] - want[i]) <= 0.01f)
                    : memcmp(&t.back[i], &want[i], sizeof(float)) != 0)
                fail_msg("%s: element %zu, %a, becomes %a, not %a", line, i, (double)x[i],
                         (double)t.back[i], (double)want[i]);
        trip_free(&t);
        rows++;
    }
    fclose(in);
    assert_true(rows > 10);
}

static void has_the_bits_of_its_format(void **state)
{
    static const struct {
        const char *spec;
        double bits;
    } row[] = {{"fp8", 8},         {"mxfp8", 8.25},         {"mxfp4", 4.25},
               {"nvfp4", 4.5},     {"int8", 8 + 40 / 512.}, {"int4", 4 + 40 / 512.},
               {"cgx", 4 + 0.125}, {"float:scale=none", 8}, {"blockwise8", 8 + 32 / 4096.},
               {"uniform8", 8.5}};
    enum { N = 1 << 14 };
    float *x = trip_tensor(N, TRIP_GAUSS, 1);

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        struct trip t = {0};

        trip_run(&t, row[i].spec, x, N, NULL);
        assert_true((double)t.length * 8 <= row[i].bits * N + 8 * 64);
        trip_free(&t);
    }
    free(x);
}

/* Entropy of the exponents of x as bf16, and 8 bits more for each element, in bytes. */
static double bf16_entropy(const float *x, size_t n)
{
    uint64_t histogram[256] = {0};

    for (size_t i = 0; i < n; i++)
        histogram[gcb_bits_of(x[i]) >> 23 & 0xff]++;
    return (double)n + gcb_entropy0(histogram, 256) / 8;
}

/* bf16-entropy decodes to the values of bf16, of any patterns, and is nearly as short as its
 * entropy, also in blocks that are unlike the tensor. */
static void codes_bf16_exponents(void **state)
{
    static const size_t sizes[] = {1, 2, 5, 100, 1000, 16384, 16385, 100000};
    static float x[100000];

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (int kind = 0; kind < 4; kind++) {
            const size_t n = sizes[i];
            struct trip t = {0}, plain = {0};

            trip_fill(x, n, TRIP_STUDENT3, 1);
            for (size_t j = 0; j < n && kind; j++)
                if (kind == 1 && j % 50) /* nearly all elements are zeros */
                    x[j] = 0.0f;
                else if (kind == 2 && j < 20000) /* rare exponents in the first block */
                    x[j] = 0x1p-90f;
                else if (kind == 3)
                    x[j] = gcb_float_of((uint32_t)j * 2654435761u);
            trip_run(&plain, "bf16", x, n, &(struct trip_options){.nonfinite = GCB_NONFINITE_RAW});
            trip_run(&t, "bf16-entropy", x, n,
                     &(struct trip_options){.nonfinite = GCB_NONFINITE_RAW, .threads = 2});
            assert_memory_equal(t.back, t.parts.stored ? x : plain.back, n * sizeof(float));
            assert_true(t.parts.stored ||
                        (double)t.length <= 1.01 * bf16_entropy(plain.back, n) + 40 + 24 + 8);
            trip_free(&t);
            trip_free(&plain);
        }
}

/* Decodes a message after one byte of its payload was changed. */
static int decode_changed(const char *spec, size_t at, uint8_t byte)
{
    float x[64], back[64];
    struct trip t = {0};
    size_t header;
    int err;

    for (int i = 0; i < 64; i++)
        x[i] = (float)(i - 20);
    trip_run(&t, spec, x, 64, NULL);
    header = t.length - (size_t)(t.parts.payload.value_bytes + t.parts.payload.scale_bytes);
    t.message[header + at] = byte;
    err = gcb_coder_decode(t.decoder, t.message, t.length, &(struct gcb_mview){back, 64}, NULL);
    for (int i = 0; !err && i < 64; i++)
        assert_true(isfinite(back[i]));
    trip_free(&t);
    return err;
}

static void refuses_what_is_not_finite(void **state)
{
    for (size_t i = 0; i < 2; i++) { /* the scale of either block */
        assert_int_equal(decode_changed("mxfp8", i, 0xff), GCB_E_CORRUPT);
        assert_int_equal(decode_changed("mxfp8", i, 247), GCB_E_CORRUPT);
        assert_int_equal(decode_changed("mxfp8", i, 246), 0);
        assert_int_equal(decode_changed("mxfp4", i, 253), GCB_E_CORRUPT);
        assert_int_equal(decode_changed("mxfp4", i, 252), 0);
    }
    assert_int_equal(decode_changed("nvfp4", 3, 0x7f), GCB_E_CORRUPT); /* the tensor's scale */
    assert_int_equal(decode_changed("nvfp4", 4, 0x7f), GCB_E_CORRUPT);
    assert_int_equal(decode_changed("nvfp4", 4, 0x80), GCB_E_CORRUPT);
    assert_int_equal(decode_changed("nvfp4", 4, 0x7e), 0);
    assert_int_equal(decode_changed("fp8", 3, 0x7f), 0);
    assert_int_equal(decode_changed("fp8", 3, 0x80), GCB_E_CORRUPT);
    assert_int_equal(decode_changed("fp8", 3, 0), GCB_E_CORRUPT);
    for (size_t i = 4; i < 68; i += 63) { /* the first and the last code */
        assert_int_equal(decode_changed("fp8", i, 0x7f), GCB_E_CORRUPT);
        assert_int_equal(decode_changed("fp8", i, 0xff), GCB_E_CORRUPT);
        assert_int_equal(decode_changed("fp8", i, 0xfe), 0);
        assert_int_equal(decode_changed("fp8:element=e5m2", i, 0x7c), GCB_E_CORRUPT);
        assert_int_equal(decode_changed("fp8:element=e5m2", i, 0x7b), 0);
    }
    assert_int_equal(decode_changed("blockwise8", 3, 0x7f), 0);
    assert_int_equal(decode_changed("blockwise8", 3, 0x80), GCB_E_CORRUPT);
    assert_int_equal(decode_changed("int8", 3, 0x7f), GCB_E_CORRUPT);
    assert_int_equal(decode_changed("int8", 3, 0x80), GCB_E_CORRUPT);
    assert_int_equal(decode_changed("int4", 4, 16), GCB_E_CORRUPT);
    assert_int_equal(decode_changed("int4", 4, 15), 0);
    assert_int_equal(decode_changed("cgx", 7, 0x7f), GCB_E_CORRUPT);
    assert_int_equal(decode_changed("cgx", 7, 0x7e), 0);
    assert_int_equal(decode_changed("affine:offset=minimum", 3, 0x7f), GCB_E_CORRUPT);
    for (size_t i = 0; i < 2; i++) /* the range of exponents, then a count */
        assert_int_equal(decode_changed("bf16-entropy", i, 0xff), GCB_E_CORRUPT);
    assert_int_equal(decode_changed("bf16-entropy", 2, 0x0f), GCB_E_CORRUPT);
}

/* Elements above 2^126 might be decoded as infinities. Elements below 2^-122 may become zeros. */
static void sends_extremes(void **state)
{
    static const char *const specs[] = {"fp8", "mxfp8", "mxfp4", "nvfp4", "int8", "cgx"};
    float x[64] = {0};

    for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++)
        for (int e = -149; e < 128; e++) {
            struct trip t = {0};

            x[63] = ldexpf(-1.5f, e);
            trip_run(&t, specs[i], x, 64, NULL);
            assert_int_equal(t.parts.stored, e >= 126);
            assert_true(fabsf(t.back[63]) <= 1.34f * fabsf(x[63]));
            assert_true(e < -100 || fabsf(t.back[63]) >= 0.66f * fabsf(x[63]));
            for (int k = 0; k < 63; k++) /* cgx has no code for 0 */
                assert_true(fabsf(t.back[k]) <= (i == 5 ? 1e-6f * fabsf(x[63]) + 0x1p-146f : 0.0f));
            trip_free(&t);
        }
}

static void saturates_and_counts(void **state)
{
    float x[64] = {464.0f, 465.0f, -1e30f, 448.0f, 449.0f};
    struct trip t = {0};

    trip_run(&t, "float:scale=none", x, 64, NULL);
    assert_int_equal(t.clamped, 2); /* 464 is a tie, and 448 is even */
    assert_true(t.back[0] == 448.0f && t.back[1] == 448.0f && t.back[2] == -448.0f);
    trip_free(&t);
    trip_run(&t, "float:scale=none,element=e2m1", x, 64, NULL);
    assert_int_equal(t.clamped, 5);
    trip_free(&t);
}

/* The shares of the values below and above the first element, over many copies of it. The last
 * element fixes the scale. */
static void check_shares(const char *spec, float x, float last, float below, float above,
                         double share)
{
    enum { N = 1 << 16 };
    float *all = malloc(N * sizeof(float));
    struct trip t = {0};
    double up = 0.0;

    for (int i = 0; i < N; i++)
        all[i] = i % 16 == 15 ? last : x;
    trip_run(&t, spec, all, N, NULL);
    for (int i = 0; i < N; i++) {
        if (i % 16 == 15)
            continue;
        if (t.back[i] != below && t.back[i] != above)
            fail_msg("%s: %a becomes %a", spec, (double)x, (double)t.back[i]);
        up += t.back[i] == above;
    }
    assert_true(fabs(up / (N / 16 * 15) - share) <=
                6.0 * sqrt(share * (1.0 - share) / N * 16 / 15));
    free(all);
    trip_free(&t);
}

static void draws_the_values_beside(void **state)
{
    check_shares("float:scale=none,rounding=stochastic", 1.03125f, 448, 1, 1.125f, 0.25);
    check_shares("float:scale=none,rounding=stochastic", -0x1.8p-10f, 448, -0.0f, -0x1p-9f, 0.75);
    check_shares("float:scale=none,rounding=stochastic", 0x1.0004p0f, 448, 1, 1.125f, 0x1p-11);
    check_shares("float:scale=none,element=e5m2,rounding=stochastic", -7, 0, -7, -8, 0);
    check_shares("bf16:rounding=stochastic", 0x1.0080p0f, 1, 1, 0x1.02p0f, 0.25);
    check_shares("bf16:rounding=stochastic", -0x1p-134f, 1, -0.0f, -0x1p-133f, 0.5);
    check_shares("fp16:rounding=stochastic", 0x1.003p0f, 1, 1, 0x1.004p0f, 0.75);
    check_shares("fp16:rounding=stochastic", 0x1p-26f, 1, 0, 0x1p-24f, 0.25);
    check_shares("fp16:rounding=stochastic", 1e9f, 1, 65504, 65504, 1);
    check_shares("mxfp4:rounding=stochastic", 5, 6, 4, 6, 0.5);
    check_shares("mxfp4:rounding=stochastic", 0.125f, 6, 0, 0.5f, 0.25);
    check_shares("nvfp4:rounding=stochastic", 2.25f, 6, 2, 3, 0.25);
    check_shares("fp8:rounding=stochastic", 0x1p-138f, 0, 0, 0x1p-137f, 0.5);
    check_shares("mxfp8:rounding=stochastic", 0x1p-137f, 0, 0, 0x1p-136f, 0.5);
    check_shares("mxfp4:rounding=stochastic,scale-rule=floor", 0x1p-129f, 0, 0, 0x1p-128f, 0.5);
    check_shares("int8:rounding=stochastic", 64.25f, 255, 64, 65, 0.25);
    check_shares("affine:offset=minimum,rounding=stochastic", 12.75f, 255 + 12, 12.75f, 12.75f, 1);
    check_shares("affine:bits=2,rounding=stochastic", 0x1p-12f, 3, 0, 1, 0x1p-12);
}

static void refuses_senseless_settings(void **state)
{
    static const char *const specs[] = {"float:scale=tensor+block",
                                        "float:scale=block,scale-format=e8m0",
                                        "mxfp8:scale-rule=amax",
                                        "mxfp8:scale-rule=te",
                                        "nvfp4:scale-rule=even",
                                        "mxfp8:block=33",
                                        "int8:block=24",
                                        "fp8:block=32",
                                        "affine:bits=9"};
    struct gcb_method m;

    for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++)
        if (gcb_method_parse(&m, specs[i], NULL) == 0)
            fail_msg("%s is accepted", specs[i]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(codes_bf16_exponents),
                                       cmocka_unit_test(decodes_like_references),
                                       cmocka_unit_test(has_the_bits_of_its_format),
                                       cmocka_unit_test(refuses_what_is_not_finite),
                                       cmocka_unit_test(sends_extremes),
                                       cmocka_unit_test(saturates_and_counts),
                                       cmocka_unit_test(draws_the_values_beside),
                                       cmocka_unit_test(refuses_senseless_settings)};

    vectors = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
