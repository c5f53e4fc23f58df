/* Index coders of the sparse codec, on the stand-in. */
#include <stdio.h>

#include "src/lib/coder/coder.h"
#include "tests/cuda/device_test.h"

static void hostile_tensors(void **state)
{
    static const uint64_t sizes[] = {1, 4097, END};
    static const char *const specs[] = {
        "sparse:index=golomb,theta=0.5,values=sign-mean",
        "sparse:index=golomb,select=threshold,threshold=1e-60", /* keeps all except zeros */
        "sparse:index=adaptive,theta=0.5,values=sign-mean",
        "sparse:index=elias-fano,theta=0.5,values=sign-mean",
        "sparse:index=varint,theta=0.5,values=sign-mean",
        "sparse:index=block,theta=0.5,values=sign-mean",
    };

    same_all(specs, COUNT(specs), sizes);
}

/* Length of the CPU's message in bytes. */
static size_t length_of(const char *spec, const float *x, uint64_t n)
{
    const struct gcb_coder_config config = {.env = {.count = n}};
    const struct gcb_view in = {.data = x, .count = n};
    const struct gcb_step at = {.step = 1};
    struct gcb_coder *c = NULL;
    struct gcb_wbuf w = {0};
    struct gcb_method m;

    assert_int_equal(gcb_method_parse(&m, spec, NULL), 0);
    assert_int_equal(gcb_coder_create(&c, &m, &config, NULL), 0);
    w.cap = gcb_coder_bound(c);
    w.data = malloc(w.cap);
    assert_int_equal(gcb_coder_encode(c, &at, &in, &w, NULL), 0);
    free(w.data);
    gcb_coder_destroy(c);
    return w.len;
}

/* Large elements in clusters, as in real gradients, over several blocks of the stream: adaptive
 * makes its own codes. */
static void clusters(void **state)
{
    static const char *const specs[] = {
        "sparse:theta=0.8,values=sign-mean,index=adaptive",
        "sparse:theta=0.8,values=sign-mean,index=golomb",
        "sparse:theta=0.8,values=sign-mean,index=elias-fano",
        "sparse:theta=0.8,values=sign-mean,index=varint",
        "sparse:theta=0.8,values=sign-mean,index=block",
        "sparse:theta=0.8,select=chunk,chunk=64,values=sign-mean,index=block",
        "sparse:theta=0.8,transform=hadamard,values=fp16,index=golomb",
    };
    enum { N = 25000 };
    float *x = malloc(N * sizeof(float));

    check_fill(x, N, FILL_NOISE, 3);
    for (size_t i = 0; i < N; i++)
        x[i] *= (uint32_t)(i / 97) * 2654435761u >> 30 ? 1.0f / 64 : 1.0f;
    assert_true(length_of(specs[0], x, N) + 100 < length_of(specs[1], x, N));
    for (size_t i = 0; i < COUNT(specs); i++) {
        gcb_host_schedule((enum gcb_host_order)(i % 3), i);
        device_same(&device, specs[i], x, N, NULL);
        device_same_damage(&device, specs[i], x, N, 10, 40 + i);
    }
    gcb_host_schedule(GCB_HOST_FORWARD, 1);
    free(x);
}

/* A gap of more bits than a block writes at a time; many threads read a part of it. */
static void one_long_gap(void **state)
{
    static const char *const specs[] = {
        "sparse:select=threshold,index=golomb,values=sign-mean",
        "sparse:select=threshold,index=adaptive,values=sign-mean",
        "sparse:select=threshold,index=elias-fano,values=sign-mean",
    };
    enum { N = 130000, FROM = 75000 };
    float *x = calloc(N, sizeof(float));

    for (size_t i = FROM; i < N; i++)
        x[i] = i % 11 ? 1.0f : 0.0f;
    for (size_t i = 0; i < COUNT(specs); i++)
        device_same(&device, specs[i], x, N, NULL);
    free(x);
}

/* Equal gaps, which take no bits; few positions far apart; no positions. */
static void extremes(void **state)
{
    static const char *const coders[] = {"golomb", "adaptive", "elias-fano", "varint", "block"};
    enum { N = 40000 };
    float *x = calloc(N, sizeof(float));

    for (size_t i = 0; i < COUNT(coders); i++) {
        char spec[64];

        snprintf(spec, sizeof(spec), "sparse:select=threshold,values=sign-mean,index=%s",
                 coders[i]);
        memset(x, 0, N * sizeof(float));
        device_same(&device, spec, x, N, NULL);
        x[5] = x[N / 2] = x[N - 1] = 1.0f;
        device_same(&device, spec, x, N, NULL);
        for (size_t j = 0; j < 6000; j++)
            x[j] = 1.0f;
        device_same(&device, spec, x, 6000, NULL);
        device_same_damage(&device, spec, x, 6000, 8, 70 + i);
        for (size_t j = 0; j < 6000; j++)
            x[j] = j % 4 == 3 ? 1.0f : 0.0f;
        device_same(&device, spec, x, 6000, NULL);
    }
    free(x);
}

/* Changes every byte of small streams and of a directory entry to what no encoder writes. */
static void every_byte(void **state)
{
    static const char *const coders[] = {"golomb", "adaptive", "elias-fano", "varint", "block"};
    enum { N = 8200, KEPT = 8192, FRONT = 4 + 4 + KEPT / 8 };
    float *x = calloc(N, sizeof(float));

    for (size_t i = 0; i < COUNT(coders); i++) {
        char spec[64];

        snprintf(spec, sizeof(spec), "sparse:select=threshold,values=sign-mean,index=%s",
                 coders[i]);
        for (size_t j = 150; j < 1500; j += j)
            x[j] = 1.0f;
        device_same_each_byte(&device, spec, x, 1500, 9, END);
    }
    for (size_t j = 0; j < N; j++)
        x[j] = j % 1024 ? 1.0f : 0.0f;
    x[0] = 1.0f;
    device_same_each_byte(&device, "sparse:select=threshold,values=sign-mean,index=elias-fano", x,
                          N, FRONT, FRONT + 12);
    free(x);
}

RUN_TESTS_BETWEEN(open_device, NULL, cmocka_unit_test(hostile_tensors), cmocka_unit_test(clusters),
                  cmocka_unit_test(one_long_gap), cmocka_unit_test(extremes),
                  cmocka_unit_test(every_byte))
