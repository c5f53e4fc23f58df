#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/test.h"
#include "tests/support/trip.h"

/* ---- a preset is its stages, with its paper's defaults ---- */

static const struct {
    const char *preset, *stages;
} defaults[] = {
    {"topk", "sparse:theta=0.85,select=topk,values=fp32,index=u32"},
    {"fft", "sparse:theta=0.85,transform=fft,select=topk,values=range,bits=10,index=bitmap"},
    {"sbc", "sparse:density=0.01,select=one-sided,values=mean,index=golomb"},
    {"stc", "sparse:density=0.001,select=topk,values=sign-mean,index=golomb"},
    {"redsync", "sparse:density=0.001,select=redsync,dense-below=131072,trimmed-below=4194304,"
                "interval=5,quant=none,values=fp32,index=u32"},
    {"redsync:quant=asq", "sparse:density=0.001,select=alternate,values=mean,index=u32"},
    {"dgc", "sparse:density=0.001,select=sampled,sample=0.01,values=fp32,index=u32"},
    {"demo",
     "sparse:density=0.0078125,transform=dct,chunk=4096,select=chunk,values=fp32,index=u32"},
    {"sparseloco", "sparse:density=0.015625,chunk=4096,select=chunk,values=bins,index=block"},
};
#define DEFAULTS (sizeof(defaults) / sizeof(*defaults))

static void presets_are_their_stages(void **state)
{
    enum { N = 40009 };
    float *x = trip_tensor(N, TRIP_STUDENT3, 3);

    for (size_t i = 0; i < DEFAULTS; i++) {
        for (uint64_t step = 0; step < 2; step++) {
            struct trip a = {0}, b = {0};

            trip_encode(&a, defaults[i].preset, x, N, &(struct trip_options){.step = step});
            trip_encode(&b, defaults[i].stages, x, N, &(struct trip_options){.step = step});
            assert_int_equal(a.length, b.length);
            assert_memory_equal(a.message, b.message, a.length);
            trip_free(&a);
            trip_free(&b);
        }
    }
    free(x);
}

/* ---- bits per element as the papers count ---- */

static double nominal(const char *spec, uint64_t n)
{
    float *x = trip_tensor(n, TRIP_GAUSS, 3);
    struct trip t = {0};
    double bits;

    trip_encode(&t, spec, x, n, NULL);
    bits = gcb_coder_nominal_bits(t.encoder);
    trip_free(&t);
    free(x);
    return bits;
}

static void assert_nominal(const char *spec, uint64_t n, double want, double tolerance)
{
    const double got = nominal(spec, n);

    if (!(fabs(got / want - 1.0) <= tolerance))
        fail_msg("%s: %.9g bits, not %.9g", spec, got, want);
}

/* SBC: mean bits of a position in the paper, with three decimals. */
static void golomb_as_in_the_table(void **state)
{
    static const double table[][2] = {{.1, 4.756},    {.05, 5.786},    {.02, 7.100},
                                      {.01, 8.108},   {.005, 9.112},   {.002, 10.494},
                                      {.001, 11.495}, {.0001, 14.788}, {.5, 2.0}};
    char spec[64];

    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        snprintf(spec, sizeof(spec), "sbc:p=%g", table[i][0]);
        assert_nominal(spec, 50000, table[i][0] * table[i][1], 0.00015);
        snprintf(spec, sizeof(spec), "stc:p=%g", table[i][0]);
        assert_nominal(spec, 50000, table[i][0] * (table[i][1] + 1.0), 0.00015);
    }
    assert_nominal("sbc:p=1", 1000, 1.0, 1e-12); /* unary: one bit each */
}

static void nominal_bits_of_the_others(void **state)
{
    assert_nominal("redsync", 50000, 0.064,
                   1e-9); /* a word for the value, a word for its position */
    assert_nominal("redsync:quant=asq", 50000, 0.032, 1e-9);
    assert_nominal("redsync", 131072 / 4 - 1, 32.0, 1e-9); /* the whole tensor is sent */
    assert_nominal("redsync:quant=asq", 131072 / 4 - 1, 32.0, 1e-9);
    assert_nominal("dgc", 50000, 0.048, 1e-9); /* run lengths of 16 bits */
    assert_nominal("demo", 50000, 32.0 * (32.0 + 12.0) / 4096.0, 1e-9);
    assert_nominal("demo", 1000, 0.0078125 * (32.0 + 10.0), 1e-9);
    assert_nominal("demo:tile=8x8", 50000, 0.0078125 * (32.0 + 6.0), 1e-9);
    assert_nominal("sparseloco", 50000, 64.0 * (2.0 + 12.0) / 4096.0, 1e-9);
    assert_nominal("topk:theta=0.85", 1000, 0.15 * 32.0, 1e-9); /* positions are not counted */
    assert_nominal("fft:theta=0.85", 1000, 1.5, 1e-9);
    assert_true(isnan(nominal("sparse:select=threshold", 1000))); /* depends on the tensor */
}

/* ---- RedSync's quantisation ---- */

/* Encodes x as a tensor of a role at a step and decodes into y. Returns the message's length. */
static size_t encode_as(enum gcb_role role, uint64_t step, const float *x, float *y, uint64_t n)
{
    const struct gcb_step at = {.step = step};
    struct gcb_coder_config config;
    struct gcb_kernels kernels;
    struct gcb_queue queue;
    struct gcb_method method;
    struct gcb_coder *encoder, *decoder;
    struct gcb_wbuf w = {0};

    trip_configure(&config, &queue, &kernels, &(struct trip_options){.threads = 1}, n);
    config.env.role = role;
    assert_int_equal(gcb_method_parse(&method, "redsync:quant=asq,density=0.01", NULL), 0);
    assert_int_equal(gcb_coder_create(&encoder, &method, &config, NULL), 0);
    w.cap = gcb_coder_bound(encoder);
    w.data = malloc(w.cap);
    assert_int_equal(
        gcb_coder_encode(encoder, &at, &(struct gcb_view){.data = x, .count = n}, &w, NULL), 0);
    assert_int_equal(gcb_coder_create_decoder(&decoder, w.data, w.len, &config, NULL), 0);
    assert_int_equal(
        gcb_coder_decode(decoder, w.data, w.len, &(struct gcb_mview){.data = y, .count = n}, NULL),
        0);
    gcb_coder_destroy(encoder);
    gcb_coder_destroy(decoder);
    free(w.data);
    return w.len;
}

/* Even steps send positive values, odd steps negative values, all as one mean. */
static void asq_alternates(void **state)
{
    enum { N = 40000 };
    float *x = trip_tensor(N, TRIP_LAPLACE, 1), *y = malloc(N * sizeof(float));

    for (uint64_t step = 10; step < 14; step++) {
        uint64_t sent = 0;
        float mean = 0.0f;

        encode_as(GCB_ROLE_HIDDEN, step, x, y, N);
        for (uint64_t i = 0; i < N; i++) {
            if (y[i] == 0.0f)
                continue;
            assert_true((x[i] < 0.0f) == step % 2 && (y[i] < 0.0f) == step % 2);
            assert_true(sent++ == 0 || y[i] == mean);
            mean = y[i];
        }
        assert_int_equal(sent, N / 100);
    }
    free(x);
    free(y);
}

/* Values of the output layer are sent unchanged in each step; small tensors are sent whole. */
static void asq_never_on_the_output_layer(void **state)
{
    enum { N = 40000 };
    float *x = trip_tensor(N, TRIP_LAPLACE, 1), *y = malloc(N * sizeof(float));

    for (uint64_t step = 10; step < 12; step++) {
        uint64_t sent = 0, negative = 0;

        encode_as(GCB_ROLE_OUTPUT, step, x, y, N);
        for (uint64_t i = 0; i < N; i++) {
            assert_true(y[i] == 0.0f || y[i] == x[i]);
            sent += y[i] != 0.0f;
            negative += y[i] < 0.0f;
        }
        assert_int_equal(sent, N / 100);
        assert_true(negative > sent / 3 && negative < 2 * sent / 3);
        assert_true(encode_as(GCB_ROLE_HIDDEN, step, x, y, 1000) >= 1000 * sizeof(float));
        assert_memory_equal(x, y, 1000 * sizeof(float));
    }
    free(x);
    free(y);
}

static void senseless_combinations(void **state)
{
    static const char *const specs[] = {
        "redsync:quant=asq,transform=fft",
        "sbc:transform=fft",
        "stc:values=mean",
        "dgc:values=mean",
        "sbc:interval=2",
        "dgc:quant=asq",
        "demo:transform=hadamard,chunk=100",
        "demo:transform=none,select=topk,chunk=64",
    };
    struct gcb_method m;

    for (size_t i = 0; i < sizeof(specs) / sizeof(*specs); i++) {
        struct gcb_diag diag = {0};

        if (gcb_method_parse(&m, specs[i], &diag) != GCB_E_INVALID)
            fail_msg("%s is taken", specs[i]);
        assert_true(strlen(diag.text) > 20); /* with the reason */
    }
}

RUN_TESTS(cmocka_unit_test(presets_are_their_stages), cmocka_unit_test(golomb_as_in_the_table),
          cmocka_unit_test(nominal_bits_of_the_others), cmocka_unit_test(asq_alternates),
          cmocka_unit_test(asq_never_on_the_output_layer), cmocka_unit_test(senseless_combinations))
