#include "kernels/select/payload.cuh"
#include "kernels/select/select.cuh"

namespace
{

using gcb::kTile;
using gcb::kTileThreads;

constexpr unsigned kWords =
    kTile / 2; /* positions of a tile of u32, as many bytes as its room has */
constexpr unsigned kFlagWords = kTile / 32;

__global__ void put_words(uint8_t *out, struct gcb_cuda_chosen c, struct gcb_cuda_values how,
                          gcb_device_result *result)
{
    gcb::tile_room &room = gcb::shared<gcb::tile_room>();
    const uint64_t kept = c.choice->kept, at = gcb::index_at(c.n, kept, how);

    if (blockIdx.x == 0 && threadIdx.x == 0)
        result->length = at + kept * sizeof(uint32_t);
    for (uint64_t start = blockIdx.x * uint64_t{kWords}; start < kept;
         start += uint64_t{gridDim.x} * kWords) {
        const uint64_t left = kept - start;
        const unsigned here = static_cast<unsigned>(left < kWords ? left : kWords);

        for (unsigned i = threadIdx.x; i < here; i += blockDim.x)
            room.word[i] = c.pos[start + i];
        gcb::sync_block();
        gcb::store_tile(out + at + start * sizeof(uint32_t), room, here * 4);
        gcb::sync_block();
    }
}

/* Bytes of a tile's flags. */
__device__ unsigned flag_bytes(uint64_t n, uint64_t tile)
{
    const uint64_t left = n - tile * kTile;

    return static_cast<unsigned>(((left < kTile ? left : kTile) + 7) / 8);
}

__global__ void put_flags(uint8_t *out, struct gcb_cuda_chosen c, struct gcb_cuda_values how,
                          gcb_device_result *result)
{
    gcb::tile_room &room = gcb::shared<gcb::tile_room>();
    const uint64_t kept = c.choice->kept, at = gcb::index_at(c.n, kept, how);

    if (blockIdx.x == 0 && threadIdx.x == 0)
        result->length = at + (kept ? (c.n + 7) / 8 : 0);
    for (uint64_t tile = blockIdx.x; kept && tile * kTile < c.n; tile += gridDim.x) {
        for (unsigned i = threadIdx.x; i < kFlagWords; i += blockDim.x)
            room.word[i] = 0;
        gcb::sync_block();
        for (uint32_t j = c.first[tile] + threadIdx.x; j < c.first[tile + 1]; j += blockDim.x) {
            const uint32_t bit = c.pos[j] % kTile;

            gcb::atomic_or(&room.word[bit / 32], 1u << bit % 32);
        }
        gcb::sync_block();
        gcb::store_tile(out + at + tile * (kTile / 8), room, flag_bytes(c.n, tile));
        gcb::sync_block();
    }
}

} /* namespace */

int gcb_cuda_put_u32(struct gcb_device_stream *s, uint8_t *out,
                     const struct gcb_cuda_chosen *chosen, const struct gcb_cuda_values *how,
                     struct gcb_device_result *result)
{
    return gcb::launch(put_words, gcb::blocks_for((chosen->most + kWords - 1) / kWords),
                       kTileThreads, sizeof(gcb::tile_room), s, out, *chosen, *how, result);
}

int gcb_cuda_put_bitmap(struct gcb_device_stream *s, uint8_t *out,
                        const struct gcb_cuda_chosen *chosen, const struct gcb_cuda_values *how,
                        struct gcb_device_result *result)
{
    return gcb::launch(put_flags, gcb::blocks_for(gcb::tiles_for(chosen->n)), kTileThreads,
                       sizeof(gcb::tile_room), s, out, *chosen, *how, result);
}
