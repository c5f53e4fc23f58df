#include "kernels/reduce/reduce_cuda.h"

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/vector.cuh"
#include "kernels/cuda/warp.cuh"
#include "kernels/hd.h"

namespace
{

struct tuning {
    static constexpr unsigned threads = 256;
    static constexpr unsigned each = 16;
    static constexpr uint64_t blocks = 2048; /* beyond so many, a block takes several tiles */
};

constexpr uint64_t kTile = tuning::threads * tuning::each;

__global__ void max_bits(const float *__restrict__ x, uint64_t n, gcb_device_result *result)
{
    uint32_t most = 0;

    for (uint64_t tile = blockIdx.x; tile * kTile < n; tile += gridDim.x) {
        float v[tuning::each];

        gcb::load_floats(v, x, tile * kTile + threadIdx.x * tuning::each, n);
        for (unsigned i = 0; i < tuning::each; i++) {
            const uint32_t m = gcb_magnitude(v[i]);

            most = m > most ? m : most;
        }
    }
    for (unsigned by = gcb::kWarp / 2; by > 0; by /= 2) {
        const uint32_t other = gcb::shfl_xor(most, by);

        most = other > most ? other : most;
    }
    if (gcb::lane() == 0 && most)
        gcb::atomic_max(&result->max_bits, most);
}

} /* namespace */

int gcb_cuda_max_bits(struct gcb_device_stream *s, const float *x, uint64_t n,
                      struct gcb_device_result *result)
{
    const uint64_t tiles = n ? (n + kTile - 1) / kTile : 1;

    return gcb::launch(max_bits, tiles < tuning::blocks ? tiles : tuning::blocks, tuning::threads,
                       0, s, x, n, result);
}
