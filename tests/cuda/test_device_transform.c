/* Transforms and chunk-local selection of the sparse codec, on the stand-in. */
#include <stdio.h>

#include "tests/cuda/device_test.h"
#include "tests/support/device_coder.h"

static void largest_of_each_chunk(void **state)
{
    static const char *const specs[] = {
        "sparse:select=chunk,chunk=100,density=0.1",
        "sparse:select=chunk,chunk=4096,density=0.3,index=bitmap,values=fp16",
        "sparse:select=chunk,chunk=4096,density=0.01",
        "sparse:select=chunk,chunk=500,density=0.9",
        "sparse:select=chunk,density=0.2",
    };
    static const uint64_t sizes[] = {0, 33, 4097, END}, few[] = {0, 33, END};

    same_all(specs, COUNT(specs), sizes);
    device_same_all(&device, "sparse:select=chunk,chunk=1,density=0.5", few);
}

/* A tensor for which the threads' maxima are a poor bound: 192 of 256 threads hold all large
 * values, some of them equal. */
static void clusters_within_chunks(void **state)
{
    enum { N = 3 * 4096 + 100 };
    static const char *const specs[] = {
        "sparse:select=chunk,chunk=4096,density=0.0464",
        "sparse:select=chunk,chunk=4096,density=0.2,index=bitmap",
        "sparse:select=chunk,chunk=1024,density=0.06",
    };
    float *x = malloc(N * sizeof(float));

    check_fill(x, N, FILL_NOISE, 5);
    for (size_t i = 0; i < N; i++)
        if (i % 256 < 192)
            x[i] = i < 4096 ? 1000.0f : x[i] * (i < 8192 ? 1000.0f : 1e-30f) + (float)(i / 8 % 16);
    gcb_host_schedule(GCB_HOST_SHUFFLED, 6);
    for (size_t i = 0; i < COUNT(specs); i++)
        device_same(&device, specs[i], x, N, NULL);
    gcb_host_schedule(GCB_HOST_FORWARD, 1);
    free(x);
}

/* Chunks that do not fit into registers. */
static void largest_of_long_chunks(void **state)
{
    enum { N = 50000 };
    float *x = malloc(N * sizeof(float));

    gcb_host_schedule(GCB_HOST_SHUFFLED, 3);
    for (int fill = FILL_HOSTILE; fill <= FILL_TIES; fill++) {
        check_fill(x, N, (enum check_fill)fill, 7);
        device_same(&device, "sparse:select=chunk,chunk=16384,density=0.05", x, N, NULL);
        device_same(&device, "sparse:select=chunk,chunk=20001,density=0.05,index=bitmap", x, N,
                    NULL);
    }
    gcb_host_schedule(GCB_HOST_FORWARD, 1);
    free(x);
}

static void hadamard(void **state)
{
    static const char *const specs[] = {
        "sparse:transform=hadamard,density=0.3",
        "sparse:transform=hadamard,chunk=64,select=chunk,density=0.1,index=bitmap",
        "sparse:transform=hadamard,chunk=4096,values=range,bits=6",
        "sparse:transform=hadamard,chunk=1,values=sign-mean",
        "sparse:transform=hadamard,chunk=8,select=threshold,threshold=0.5,values=fp16",
    };
    static const uint64_t sizes[] = {0, 7, 5000, END};

    same_all(specs, COUNT(specs), sizes);
}

/* One, two and three passes after that over tiles; the last pass has all of its stages or only
 * some. */
static void long_hadamard(void **state)
{
    static const struct {
        const char *spec;
        uint64_t n;
    } cases[] = {
        {"sparse:transform=hadamard,density=0.01", 8192 + 4096 + 77},
        {"sparse:transform=hadamard,density=0.01", 65536},
        {"sparse:transform=hadamard,density=0.01", 131072 + 3},
        {"sparse:transform=hadamard,density=0.01,chunk=16384", 50001},
    };
    float *x = malloc(200000 * sizeof(float));

    for (size_t i = 0; i < COUNT(cases); i++) {
        gcb_host_schedule((enum gcb_host_order)(i % 3), i);
        check_fill(x, cases[i].n, i % 2 ? FILL_TIES : FILL_NOISE, i);
        device_same(&device, cases[i].spec, x, cases[i].n, NULL);
    }
    gcb_host_schedule(GCB_HOST_FORWARD, 1);
    free(x);
}

/* Spectra are the CPU's here, so messages must be too: order of bins, their scale, pairs of
 * floats. */
static void fft_of_the_cpus_spectra(void **state)
{
    static const struct {
        const char *spec;
        uint64_t n;
    } cases[] = {
        {"fft", 0},
        {"fft", 1},
        {"fft", 4099},
        {"sparse:transform=fft,theta=0.5,index=u32", 2},
        {"sparse:transform=fft,chunk=100,density=0.1", 250},
        {"sparse:transform=fft,chunk=4095,select=chunk,density=0.02,values=fp16", 10001},
        {"sparse:transform=fft,chunk=63,values=sign-mean,index=bitmap", 1000},
        {"sparse:transform=fft,chunk=7,select=threshold,threshold=0.2", 333},
        {"fft:pad=smooth", 0},
        {"fft:pad=smooth", 1},
        {"fft:pad=smooth", 1094},
        {"fft:pad=smooth", 4096 + 3},
        {"fft:pad=smooth,chunk=100,select=chunk,values=fp16", 291},
    };
    const struct device_setting setting = {.seed = 1, .same_spectra = true};
    float *x = malloc(20000 * sizeof(float));

    for (size_t i = 0; i < COUNT(cases); i++)
        for (int fill = 0; fill < FILL_NONFINITE; fill++) {
            gcb_host_schedule((enum gcb_host_order)((i + (size_t)fill) % 3), i);
            check_fill(x, cases[i].n, (enum check_fill)fill, i);
            device_same(&device, cases[i].spec, x, cases[i].n, &setting);
        }
    gcb_host_schedule(GCB_HOST_FORWARD, 1);
    free(x);
}

/* Spectra differ from the CPU's as those of another library do: errors and decoded floats stay
 * within their tolerances. */
static void fft_of_other_spectra(void **state)
{
    static const char *const specs[] = {
        "fft",
        "fft:pad=none",
        "sparse:transform=fft,chunk=64,pad=none,select=chunk,density=0.1",
        "sparse:transform=fft,chunk=4096,pad=none,select=chunk,density=0.1",
        "sparse:transform=dct,density=0.3",
    };
    static const uint64_t sizes[] = {0, 1, 33, 1000, 4099, END};

    gcb_host_fft(GCB_HOST_FFT_NEAR);
    same_all(specs, COUNT(specs), sizes);
    gcb_host_fft(GCB_HOST_FFT_EXACT);
}

static void dct(void **state)
{
    static const char *const specs[] = {
        "demo:density=0.02",                         /* selected while in shared memory */
        "sparse:transform=dct,chunk=64,density=0.2", /* several chunks per block */
        "sparse:transform=dct,chunk=48,select=chunk,density=0.1",
        "sparse:transform=dct,chunk=101,density=0.1,values=range", /* by cuFFT */
        "sparse:transform=dct,pad=smooth,density=0.1",
        "demo:pad=smooth,chunk=60,density=0.05",
    };
    static const uint64_t sizes[] = {0, 100, 4500, END};

    same_all(specs, COUNT(specs), sizes);
}

/* A coder that cannot be made says why, and leaks nothing. */
static void refuses(const char *spec, enum gcb_host_fft how, int status, const char *words)
{
    const struct gcb_coder_config config = {.env = {.count = 302}};
    struct gcb_coder *c = NULL;
    struct gcb_host_counts before, after;
    struct gcb_diag diag = {0};
    struct gcb_method m;

    gcb_host_count(&before);
    gcb_host_fft(how);
    assert_int_equal(gcb_method_parse(&m, spec, NULL), 0);
    assert_int_equal(device_coder_create(&c, &device, &m, &config, &diag), status);
    gcb_host_fft(GCB_HOST_FFT_EXACT);
    gcb_host_count(&after);
    if (!strstr(diag.text, words))
        fail_msg("%s: '%s' lacks '%s'", spec, diag.text, words);
    assert_null(c);
    assert_int_equal(before.bytes, after.bytes);
}

static void without_cufft(void **state)
{
    const char *const whole = "fft:pad=none", *const chunks = "sparse:transform=dct,chunk=101";
    float x[5000];

    refuses(whole, GCB_HOST_FFT_MISSING, GCB_E_BACKEND,
            "transform=fft of this length needs cuFFT, and neither libcufft.so.12 nor");
    refuses(chunks, GCB_HOST_FFT_MISSING, GCB_E_BACKEND, "transform=dct of this length");
    refuses(whole, GCB_HOST_FFT_NO_PLAN, GCB_E_UNSUPPORTED,
            "cuFFT has no plan for 1 transforms of 302 floats: no such length (8)");
    refuses(chunks, GCB_HOST_FFT_NO_PLAN, GCB_E_UNSUPPORTED, "2 transforms of 101 floats");
    gcb_host_limit(1);
    refuses("demo", GCB_HOST_FFT_EXACT, GCB_E_NOMEM, "bytes of a method's tables");
    gcb_host_limit(0);
    /* methods without it still run */
    gcb_host_fft(GCB_HOST_FFT_MISSING);
    check_fill(x, COUNT(x), FILL_NOISE, 1);
    device_same(&device, "demo", x, COUNT(x), NULL);
    device_same(&device, "sparse:transform=hadamard", x, 100, NULL);
    gcb_host_fft(GCB_HOST_FFT_EXACT);
}

/* A failure of queued work is reported by the wait. From then on the stream takes no launches. */
static void cufft_fails(void **state)
{
    const struct gcb_coder_config config = {.env = {.count = 97}};
    const struct gcb_step at = {0};
    struct gcb_device_batch_config room = {.messages = 1};
    struct gcb_coder *c = NULL;
    struct gcb_device_batch *b = NULL;
    struct gcb_device_message m = {0};
    struct gcb_diag diag = {0};
    struct gcb_method method;
    uint64_t launches;
    void *in, *out;

    assert_int_equal(gcb_method_parse(&method, "fft:pad=none", NULL), 0);
    assert_int_equal(device_coder_create(&c, &device, &method, &config, NULL), 0);
    room.scratch = gcb_device_coder_scratch(c);
    assert_int_equal(gcb_device_batch_create(&b, &device, &room, NULL), 0);
    assert_int_equal(device.module->memory.alloc(&in, 400, NULL), 0);
    assert_int_equal(device.module->memory.alloc(&out, gcb_coder_max_payload(c), NULL), 0);
    m.batch = b;
    m.in_dev = in;
    m.payload_dev = out;
    gcb_host_fft(GCB_HOST_FFT_FAILS);
    assert_int_equal(gcb_device_batch_begin(b), 0);
    assert_int_equal(gcb_device_coder_encode_async(c, &at, &m, &diag), GCB_E_DEVICE);
    gcb_host_fft(GCB_HOST_FFT_EXACT);
    launches = device.module->stream.launches(gcb_device_batch_stream(b));
    assert_int_equal(gcb_device_coder_encode_async(c, &at, &m, &diag), GCB_E_DEVICE);
    assert_int_equal(device.module->stream.launches(gcb_device_batch_stream(b)), launches);
    assert_int_equal(gcb_device_batch_finish(b, &diag), GCB_E_DEVICE);
    assert_non_null(strstr(diag.text, "unknown error (cufftExecR2C, fft.cu:"));
    device.module->memory.free(in);
    device.module->memory.free(out);
    gcb_device_batch_destroy(b);
    gcb_coder_destroy(c);
}

RUN_TESTS_BETWEEN(open_device, NULL, cmocka_unit_test(largest_of_each_chunk),
                  cmocka_unit_test(clusters_within_chunks),
                  cmocka_unit_test(largest_of_long_chunks), cmocka_unit_test(hadamard),
                  cmocka_unit_test(long_hadamard), cmocka_unit_test(fft_of_the_cpus_spectra),
                  cmocka_unit_test(fft_of_other_spectra), cmocka_unit_test(dct),
                  cmocka_unit_test(without_cufft), cmocka_unit_test(cufft_fails),
                  cmocka_unit_test(nothing_is_left))
