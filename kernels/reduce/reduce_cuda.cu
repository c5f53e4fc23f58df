#include "kernels/reduce/reduce_cuda.h"

#include "kernels/cuda/group.cuh"
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
static_assert(kTile == gcb::kTile, "grid 0 of a group");

template <class Where> __global__ void max_bits(Where where)
{
    const gcb::place at = gcb::find(where);
    uint32_t most = 0;

    for (uint64_t tile = at.block; tile * kTile < at.item.in.n; tile += at.blocks) {
        float v[tuning::each];

        gcb::load_floats(v, at.item.in.x, tile * kTile + threadIdx.x * tuning::each, at.item.in.n);
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
        gcb::atomic_max(&at.item.result->max_bits, most);
}

} /* namespace */

int gcb_cuda_max_bits(struct gcb_device_stream *s, const float *x, uint64_t n,
                      struct gcb_device_result *result)
{
    const uint64_t tiles = gcb::tiles_of(n);

    return gcb::launch(max_bits<gcb::one>, tiles < tuning::blocks ? tiles : tuning::blocks,
                       tuning::threads, 0, s,
                       gcb::decoded(const_cast<float *>(x), nullptr, n, result));
}

int gcb_cuda_max_bits_group(struct gcb_device_stream *s, const struct gcb_device_group *g)
{
    uint64_t tiles = 0;

    for (unsigned i = 0; i < g->count; i++)
        tiles += gcb::tiles_of(g->items[i].in.n);
    return gcb::launch(max_bits<gcb::many>, tiles, tuning::threads, 0, s, gcb::grid_of(g, 0));
}
