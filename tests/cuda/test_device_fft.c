/* FFTs and DCTs of chunks in shared memory, and the selection from them, on the stand-in. */
#include <math.h>
#include <stdio.h>

#include "kernels/fft/steps.h"
#include "tests/cuda/device_test.h"

static void ways_of_selection(void **state)
{
    static const struct {
        const char *spec;
        uint64_t n;
    } cases[] = {
        {"sparse:transform=fft,chunk=4096,select=chunk,density=0.0078125", 8192},
        {"sparse:transform=fft,chunk=4096,select=chunk,density=0.3,index=bitmap", 4097},
        {"sparse:transform=fft,chunk=4096,select=chunk,density=1,values=range", 8192 + 100},
        {"sparse:transform=fft,chunk=4096,select=chunk,density=0.9,values=fp16", 12288 + 1000},
        {"sparse:transform=fft,chunk=4096,density=0.05", 10000},
        {"sparse:transform=fft,chunk=512,select=chunk,density=0.1", 5000},
        {"sparse:transform=fft,chunk=8,density=0.2,values=sign-mean", 4100},
        {"sparse:transform=fft,chunk=16,select=threshold,threshold=0.1", 333},
    };
    float *x = malloc(20000 * sizeof(float));

    for (size_t i = 0; i < COUNT(cases); i++)
        for (int fill = 0; fill < FILL_NONFINITE; fill++) {
            gcb_host_schedule((enum gcb_host_order)((i + (size_t)fill) % 3), i);
            check_fill(x, cases[i].n, (enum check_fill)fill, i);
            device_same(&device, cases[i].spec, x, cases[i].n, NULL);
        }
    gcb_host_schedule(GCB_HOST_FORWARD, 1);
    free(x);
}

/* If a chunk is so much smaller than another that its squares underflow at that chunk's scale, its
 * positions are selected a second time. The shorter last chunk may be the large one. */
static void chunks_of_other_scales(void **state)
{
    static const int down[] = {1, 30, 36, 45, 54, 60, 65, 120};
    enum { CHUNK = 4096, REST = 17, N = 4 * CHUNK + REST };
    float *x = malloc(N * sizeof(float));

    for (size_t i = 0; i < COUNT(down); i++) {
        const bool rest_is_large = i % 3 == 0;
        const float large = 0x1p+20f, small = ldexpf(large, -down[i]);

        check_fill(x, N, FILL_NOISE, i);
        for (size_t j = 0; j < N; j++)
            x[j] *= j / CHUNK == (rest_is_large ? 4 : 2) ? large : j / CHUNK == 3 ? 0.0f : small;
        gcb_host_schedule((enum gcb_host_order)(i % 3), i);
        device_same(&device, "sparse:transform=fft,chunk=4096,select=chunk,density=0.2", x, N,
                    NULL);
    }
    gcb_host_schedule(GCB_HOST_FORWARD, 1);
    free(x);
}

/* Every power of two, and every fifth of the other even lengths with the factors 2, 3, 5 and 7; each
 * with a shorter last chunk, and as the length of a whole message. */
static void all_lengths(void **state)
{
    enum { MOST = 4096 };
    float *x = malloc(3 * MOST * sizeof(float));
    unsigned found = 0;

    for (unsigned length = 2; length <= MOST; length += 2) {
        const char *transform = found % 2 ? "fft" : "dct";
        char spec[96];

        if (!gcb_fft_is_own(length) || (found++ % 5 && (length & (length - 1)) != 0 && length > 20))
            continue;
        gcb_host_schedule((enum gcb_host_order)(found % 3), found);
        for (int i = 0; i < 2; i++, transform = transform[0] == 'f' ? "dct" : "fft") {
            check_fill(x, 3 * MOST, i ? FILL_NOISE : (enum check_fill)(found % FILL_NONFINITE),
                       length);
            snprintf(spec, sizeof(spec), "sparse:transform=%s,chunk=%u,density=%s", transform,
                     length, i ? "1" : "0.3");
            device_same(&device, spec, x, length + length * (found % 7) / 7 + 1, NULL);
            snprintf(spec, sizeof(spec), "sparse:transform=%s,chunk=4096,select=chunk,density=1",
                     transform);
            device_same(&device, spec, x, length, NULL);
        }
    }
    for (int i = 0; i < 2; i++)
        device_same_feedback(&device,
                             i ? "sparse:transform=dct,chunk=60" : "sparse:transform=fft,chunk=90",
                             1000, GCB_F32, 0.7);
    gcb_host_schedule(GCB_HOST_FORWARD, 1);
    free(x);
}

/* Lengths that cuFFT transforms, beside others or alone. */
static void lengths_of_cufft(void **state)
{
    static const char *const specs[] = {
        "sparse:transform=fft,chunk=1,density=0.4,index=bitmap",
        "sparse:transform=fft,chunk=22,density=0.4,index=bitmap",
        "sparse:transform=fft,chunk=8192,density=0.4,index=bitmap",
        "sparse:transform=fft,chunk=64,pad=none,density=0.4,index=bitmap",
        "sparse:transform=fft,chunk=4096,select=chunk,pad=none,density=0.4,index=bitmap",
        "sparse:transform=fft,chunk=30,pad=none,density=0.4,index=bitmap",
        "sparse:transform=dct,chunk=22,density=0.4,index=bitmap",
        "sparse:transform=dct,chunk=8192,density=0.4,index=bitmap",
        "sparse:transform=dct,chunk=64,pad=none,density=0.4,index=bitmap",
        "sparse:transform=dct,chunk=4096,select=chunk,pad=none,density=0.4,index=bitmap",
        "sparse:transform=dct,chunk=30,pad=none,density=0.4,index=bitmap",
    };
    enum { N = 8192 + 11 };
    float *x = malloc(N * sizeof(float));

    check_fill(x, N, FILL_NOISE, 3);
    gcb_host_schedule(GCB_HOST_SHUFFLED, 4);
    for (size_t i = 0; i < COUNT(specs); i++) {
        device_near_spectrum(&device, specs[i], x, N);
        device_same(&device, specs[i], x, N, NULL);
        device_same_feedback(&device, specs[i], 200, GCB_F32, 0.7);
    }
    gcb_host_schedule(GCB_HOST_FORWARD, 1);
    free(x);
}

/* Even chunks with the factors 2, 3, 5 and 7 need no cuFFT, and neither do single elements. */
static void without_cufft(void **state)
{
    float x[8193];

    check_fill(x, COUNT(x), FILL_NOISE, 1);
    gcb_host_fft(GCB_HOST_FFT_MISSING);
    device_same(&device, "fft:chunk=4096", x, 8192, NULL);
    device_same(&device, "sparse:transform=fft,chunk=4096,select=chunk", x, 8193, NULL);
    device_same(&device, "sparse:transform=dct,chunk=60", x, 1000, NULL);
    device_same(&device, "fft:chunk=1", x, 100, NULL);
    device_same(&device, "fft", x, 1, NULL);
    gcb_host_fft(GCB_HOST_FFT_EXACT);
    device_same(&device, "fft:chunk=3", x, 100, NULL);
}

RUN_TESTS_BETWEEN(open_device, NULL, cmocka_unit_test(ways_of_selection),
                  cmocka_unit_test(chunks_of_other_scales), cmocka_unit_test(all_lengths),
                  cmocka_unit_test(lengths_of_cufft), cmocka_unit_test(without_cufft),
                  cmocka_unit_test(nothing_is_left))
