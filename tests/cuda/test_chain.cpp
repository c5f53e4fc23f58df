/* gcb::chain_sums adds in order, whatever the order of threads. The test uses sums in which another
 * order changes every rounding. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

extern "C" {
#include <cmocka.h>
}

#include <vector>

#include "host.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/reduce/sum.cuh"

namespace
{

constexpr uint64_t kMost = 20000;

/* out[0]: sum of the first parts. out[1], out[2]: both sums at once, starting from 1 and from 2. */
__global__ void add(double *out, const double *first, const double *second, uint64_t count)
{
    const double *const both[] = {first, second};
    const double one = gcb::chain_sum(gcb::shared<gcb::chain_room>(), first, count);

    if (threadIdx.x == 0)
        out[0] = one;
    gcb::sync_block();
    const double two = gcb::chain_sums(gcb::shared<gcb::chain_room_of<2>>(),
                                       threadIdx.x < gcb::kWarp ? 1.0 : 2.0, both, count);
    if (threadIdx.x % gcb::kWarp == 0 && threadIdx.x < 2 * gcb::kWarp)
        out[1 + threadIdx.x / gcb::kWarp] = two;
}

double in_order(double total, const double *part, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        total += part[i];
    return total;
}

/* By the seed: values of both signs, over many binades, and -0; positive values, like sums of
 * squares; or quarters of the unit of sums above 2^52, so that many roundings are ties. */
void fill(std::vector<double> &part, uint64_t seed)
{
    const uint64_t kind = seed / 2 % 3;

    for (double &v : part) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        v = static_cast<double>(static_cast<int64_t>(seed)) / (1u << (seed >> 59));
        if (kind == 1)
            v = static_cast<double>(seed >> 12);
        if (kind == 2)
            v = &v == part.data() ? 0x1.8p52 : static_cast<double>(seed >> 54) / 4;
        if (seed % 97 == 0)
            v = -0.0;
    }
}

struct device {
    gcb_device_stream stream;
    double *dev, *host; /* each holds three sums, then the parts */
};

void check(device &d, unsigned threads, uint64_t count, uint64_t seed)
{
    std::vector<double> first(count), second(count);
    const double *got = d.host;

    fill(first, seed);
    fill(second, seed + 1);
    if (count) {
        memcpy(d.host, first.data(), count * sizeof(double));
        memcpy(d.host + kMost, second.data(), count * sizeof(double));
    }
    assert_int_equal(cudaMemcpyAsync(d.dev + 3, d.host, 2 * kMost * sizeof(double),
                                     cudaMemcpyHostToDevice, d.stream.handle),
                     0);
    gcb_host_schedule(static_cast<gcb_host_order>(seed % 3), seed);
    assert_int_equal(gcb::launch(add, 1, threads, sizeof(gcb::chain_room_of<2>), &d.stream, d.dev,
                                 d.dev + 3, d.dev + 3 + kMost, count),
                     0);
    assert_int_equal(
        cudaMemcpyAsync(d.host, d.dev, 3 * sizeof(double), cudaMemcpyDeviceToHost, d.stream.handle),
        0);
    cudaStreamSynchronize(d.stream.handle);
    assert_string_equal(gcb_host_fault(), "");
    const double want[] = {in_order(0.0, first.data(), count), in_order(1.0, first.data(), count),
                           in_order(2.0, second.data(), count)};
    assert_memory_equal(got, want, sizeof(want));
}

void sums_are_in_order(void **)
{
    const uint64_t counts[] = {0, 1, 2, 31, 32, 33, 511, 512, 513, 1023, 1024, 1025, 6145, kMost};
    uint64_t seed = 1;
    void *p = nullptr;
    device d = {};

    assert_int_equal(cudaStreamCreateWithFlags(&d.stream.handle, cudaStreamNonBlocking), 0);
    assert_int_equal(cudaMalloc(&p, (3 + 2 * kMost) * sizeof(double)), 0);
    d.dev = static_cast<double *>(p);
    assert_int_equal(cudaMallocHost(&p, 2 * kMost * sizeof(double)), 0);
    d.host = static_cast<double *>(p);
    memset(d.host, 0, 2 * kMost * sizeof(double));
    for (const unsigned threads : {96u, 128u, 256u, 1024u})
        for (const uint64_t count : counts)
            check(d, threads, count, seed++);
    cudaStreamDestroy(d.stream.handle);
    cudaFree(d.dev);
    cudaFreeHost(d.host);
}

} /* namespace */

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_in_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
