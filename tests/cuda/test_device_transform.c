/* Transforms and chunk-local selection of the sparse codec on the device, by the module's own sources on the CPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/kernels/check.h"
#include "tests/support/cuda_host/host.h"
#include "tests/support/device_trip.h"

#define END (~UINT64_C(0))
#define COUNT(list) (sizeof(list) / sizeof(*(list)))

static struct gcb_device device;

static int open_device(void **state)
{
    (void)state;
    device_here(&device);
    return 0;
}

static void same_all(const char *const *specs, size_t count, const uint64_t *sizes)
{
    for (size_t i = 0; i < count; i++)
        device_same_all(&device, specs[i], sizes);
}

static void largest_of_each_chunk(void **state)
{
    static const char *const specs[] = {
        "sparse:select=chunk,chunk=100,density=0.1",
        "sparse:select=chunk,chunk=4096,density=0.3,index=bitmap,values=fp16",
        "sparse:select=chunk,chunk=1,density=0.5",
        "sparse:select=chunk,density=0.2",
    };
    static const uint64_t sizes[] = {0, 1, 33, 100, 4097, END};

    (void)state;
    same_all(specs, COUNT(specs), sizes);
}

/* Chunks that registers do not hold. */
static void largest_of_long_chunks(void **state)
{
    enum { N = 50000 };
    float *x = malloc(N * sizeof(float));

    (void)state;
    gcb_host_schedule(GCB_HOST_SHUFFLED, 3);
    for (int fill = 0; fill < 3; fill++) {
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
    static const uint64_t sizes[] = {0, 1, 7, 100, 4096, 5000, END};

    (void)state;
    same_all(specs, COUNT(specs), sizes);
}

/* One, two and three passes behind the tiles', the last with all of its stages and with some. */
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

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        gcb_host_schedule((enum gcb_host_order)(i % 3), i);
        check_fill(x, cases[i].n, i % 2 ? FILL_HOSTILE : FILL_NOISE, i);
        device_same(&device, cases[i].spec, x, cases[i].n, NULL);
    }
    gcb_host_schedule(GCB_HOST_FORWARD, 1);
    free(x);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(largest_of_each_chunk),
        cmocka_unit_test(largest_of_long_chunks),
        cmocka_unit_test(hadamard),
        cmocka_unit_test(long_hadamard),
    };

    if (argc > 1) /* only the tests of this name, with * and ? */
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, open_device, NULL);
}
