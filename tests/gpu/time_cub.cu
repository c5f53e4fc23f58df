/*
 * Times CUB's primitives on a GPU, beside which the kernels stand: rows for the report of `./dev
 * gpu`. As in bench, a time is the median by events, with cold caches.
 *
 *   time_cub ELEMENTS     rows, JSON Lines, on standard output
 */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_select.cuh>

static void check(cudaError_t err)
{
    if (err == cudaSuccess)
        return;
    fprintf(stderr, "time_cub: %s\n", cudaGetErrorString(err));
    exit(1);
}

struct magnitude {
    __device__ float operator()(float x) const
    {
        return fabsf(x);
    }
};

struct larger {
    __device__ float operator()(float a, float b) const
    {
        return a > b ? a : b;
    }
};

struct is_kept {
    float least;
    __device__ bool operator()(float x) const
    {
        return fabsf(x) > least;
    }
};

/* Uniform in -1 to 1. */
__global__ void fill(float *x, long long n)
{
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n;
         i += gridDim.x * (long long)blockDim.x)
        x[i] = (float)((unsigned)(i + 1) * 2654435761u ^ (unsigned)i * 40503u) / 2147483648.0f - 1;
}

/* work(scratch, &bytes) sets bytes if scratch is NULL. */
template <typename Work> static void time_work(const char *name, long long n, Work work)
{
    enum { SAMPLES = 15, FLUSH = 256 << 20 };
    void *scratch, *flush;
    size_t bytes = 0;
    cudaEvent_t from, to;
    float ms[SAMPLES];

    check(work((void *)NULL, bytes));
    check(cudaMalloc(&scratch, bytes));
    check(cudaMalloc(&flush, FLUSH));
    check(cudaEventCreate(&from));
    check(cudaEventCreate(&to));
    check(work(scratch, bytes));
    for (float &sample : ms) {
        check(cudaMemset(flush, 0, FLUSH));
        check(cudaEventRecord(from));
        check(work(scratch, bytes));
        check(cudaEventRecord(to));
        check(cudaEventSynchronize(to));
        check(cudaEventElapsedTime(&sample, from, to));
    }
    std::sort(ms, ms + SAMPLES);
    printf("{\"record\":\"torch\",\"schema\":1,\"spec\":\"%s\",\"status\":\"ok\",\"seconds\":%.9g,"
           "\"elements\":%lld}\n",
           name, ms[SAMPLES / 2] / 1e3, n);
    check(cudaFree(scratch));
    check(cudaFree(flush));
}

int main(int argc, char **argv)
{
    const long long n = argc > 1 ? atoll(argv[1]) : 1 << 26;
    float *x, *out;
    long long *count;

    check(cudaMalloc(&x, n * sizeof(float)));
    check(cudaMalloc(&out, n * sizeof(float)));
    check(cudaMalloc(&count, sizeof(*count)));
    fill<<<1024, 256>>>(x, n);
    check(cudaGetLastError());
    time_work("CUB's reduction to the maximum", n, [=](void *scratch, size_t &bytes) {
        return cub::DeviceReduce::TransformReduce(scratch, bytes, x, out, n, larger(), magnitude(),
                                                  0.0f);
    });
    time_work("CUB's selection of 15 %", n, [=](void *scratch, size_t &bytes) {
        return cub::DeviceSelect::If(scratch, bytes, x, out, count, n, is_kept{0.85f});
    });
    return fflush(stdout) != 0;
}
