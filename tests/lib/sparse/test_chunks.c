#include <math.h>
#include <stdio.h>

#include "src/lib/codec/probe.h"
#include "tests/lib/sparse/choices.h"

/*
 * Messages of many chunks are transformed, selected from and decoded chunk by chunk; messages of
 * several segments are not. Both keep the same coefficients.
 */

#define COUNT 70003 /* many chunks of 512, and a shorter last one */

enum input {
    SCALES = CHOICE_INPUTS, /* each tenth has a scale of its own */
    HUGE_CHUNK,             /* one chunk is far larger than all others */
    TINY_SAMPLE,            /* the chunks that a sample takes are far smaller */
    WEIGHTED,               /* a bin of a shorter last chunk equals others at one scale only */
    INPUTS
};

/*
 * For chunks of 1000. The first chunk has 501 equal bins, and another has 501 far larger ones. The
 * last chunk, of four elements, has one bin whose weighted power equals that of the first chunk's
 * bins. But at the scale of the largest bin, a square in this power is denormal, and its rounding
 * makes the power larger.
 */
static void fill_weighted(float *x)
{
    memset(x, 0, COUNT * sizeof(*x));
    x[0] = 0x1.9e14eep+2f;
    x[7000] = 0x1p50f;
    x[COUNT - 3] = 0x1.a30572p-3f;
    x[COUNT - 2] = 0x1.6a09e6p-14f;
    x[COUNT - 1] = -0x1.a30572p-3f;
}

static float *tensor(int in)
{
    float *x = choice_tensor(COUNT, in < CHOICE_INPUTS ? (enum choice_input)in : GAUSS, 5);

    for (uint64_t i = 0; i < COUNT; i++) {
        if (in == SCALES)
            x[i] *= ldexpf(1.0f, (int)(i / (COUNT / 10)) * 7 % 10 * 3);
        if (in == HUGE_CHUNK)
            x[i] = 1.0f + x[i] * 0x1p-10f;
        if (in == HUGE_CHUNK && i / 512 == 7)
            x[i] *= 0x1p58f; /* at its scale, most powers of other chunks are denormal */
        if (in == TINY_SAMPLE && i / 512 % 8 == 0)
            x[i] *= 1e-20f;
    }
    if (in == WEIGHTED)
        fill_weighted(x);
    return x;
}

static const char *const specs[] = {
    "fft:chunk=512,values=fp32,theta=0.85",
    "fft:chunk=512,values=fp32,theta=0.999",
    "fft:chunk=512,values=fp32,theta=0.1",
    "fft:chunk=64,values=fp32,theta=0.4",
    "fft:chunk=1000,values=fp32,theta=0.9",
    "fft:chunk=512,values=fp32,theta=0.9,select=chunk",
    "sparse:transform=dct,chunk=512,theta=0.95",
    "sparse:transform=dct,chunk=512,theta=0.95,select=chunk",
    "sparse:transform=dct,chunk=64,theta=0.7,select=chunk",
    "sparse:transform=dct,chunk=60,theta=0.9",
    "fft:chunk=1000,values=fp32,theta=0.98568",
    "sparse:transform=dct,chunk=512,theta=0.95,select=one-sided",
    "sparse:transform=dct,chunk=512,select=threshold,threshold=2",
    "sparse:transform=hadamard,chunk=512,theta=0.95,select=alternate",
    "sparse:transform=hadamard,chunk=1024,theta=0.8",
};
#define SPECS (sizeof(specs) / sizeof(*specs))

static void keeps_what_whole_transforms_keep(void **state)
{
    static const struct trip_options plans[] = {{.threads = 1}, {.threads = 3}};

    for (int in = 0; in < INPUTS; in++) {
        float *x = tensor(in);

        for (size_t i = 0; i < SPECS; i++) {
            struct trip whole = {0};

            trip_run(&whole, specs[i], x, COUNT, &(struct trip_options){.segment = 30000});
            for (size_t p = 0; p < 2; p++) {
                struct trip t = {0};

                trip_run(&t, specs[i], x, COUNT, &plans[p]);
                assert_int_equal(t.parts.payload.kept, whole.parts.payload.kept);
                if (memcmp(t.back, whole.back, COUNT * sizeof(float)))
                    fail_msg("input %d, %s, %d threads", in, specs[i], plans[p].threads);
                trip_free(&t);
            }
            trip_free(&whole);
        }
        free(x);
    }
}

static void count_transforms(void *ctx, enum gcb_stage stage)
{
    *(unsigned *)ctx += stage == GCB_STAGE_TRANSFORM;
}

/* The number of times that an encoder transformed something. */
static unsigned transforms_of(const char *spec, const float *x)
{
    unsigned count = 0;
    const struct gcb_probe probe = {count_transforms, &count};
    const struct gcb_view in = {.data = x, .count = COUNT};
    struct gcb_coder_config config;
    struct gcb_kernels kernels;
    struct gcb_queue queue;
    struct gcb_method method;
    struct gcb_coder *coder;
    struct gcb_wbuf out = {0};

    trip_configure(&config, &queue, &kernels, &(struct trip_options){.threads = 1}, COUNT);
    config.env.probe = &probe;
    assert_int_equal(gcb_method_parse(&method, spec, NULL), 0);
    assert_int_equal(gcb_coder_create(&coder, &method, &config, NULL), 0);
    out.cap = gcb_coder_bound(coder);
    out.data = malloc(out.cap);
    assert_int_equal(gcb_coder_encode(coder, &(struct gcb_step){0}, &in, &out, NULL), 0);
    free(out.data);
    gcb_coder_destroy(coder);
    return count;
}

static void takes_chunks_apart(void **state)
{
    float *x = tensor(GAUSS);

    assert_true(transforms_of(specs[0], x) > 10);
    assert_true(transforms_of(specs[6], x) > 10);
    assert_true(transforms_of(specs[7], x) > 10);
    for (size_t i = 11; i < SPECS; i++)
        assert_true(transforms_of(specs[i], x) > 10);
    assert_int_equal(transforms_of("fft:theta=0.9", x), 1);
    free(x);
}

/* A sample of the first chunks would not see the value. */
static void finds_what_is_not_finite(void **state)
{
    float *x = tensor(GAUSS);

    for (size_t i = 0; i < SPECS; i++) {
        struct trip t = {0};

        x[COUNT - 3 - i * 4001] = i % 2 ? NAN : INFINITY;
        trip_run(&t, specs[i], x, COUNT, &(struct trip_options){.nonfinite = GCB_NONFINITE_RAW});
        assert_true(t.parts.stored);
        assert_memory_equal(t.back, x, COUNT * sizeof(float));
        trip_free(&t);
    }
    free(x);
}

RUN_TESTS(cmocka_unit_test(keeps_what_whole_transforms_keep), cmocka_unit_test(takes_chunks_apart),
          cmocka_unit_test(finds_what_is_not_finite))
