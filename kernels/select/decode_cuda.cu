#include "kernels/cuda/align.h"
#include "kernels/select/entries.cuh"
#include "kernels/select/select_cuda.cuh"
#include "kernels/select/values_cuda.cuh"

using namespace gcb;

namespace
{

/* Reads the scales at `in`. Returns false if they are invalid. */
__device__ bool get_scale(gcb_cuda_scale *to, const uint8_t *in, const gcb_cuda_values &how)
{
    const uint32_t up = how.scale ? get_u32(in) : 0;
    const uint32_t down = how.kind == GCB_CUDA_MEANS ? get_u32(in + 4) : up;

    to->up = gcb_float_of(up);
    to->down = how.kind == GCB_CUDA_SIGN_MEAN ? -to->up : gcb_float_of(down);
    if (how.kind == GCB_CUDA_UNIFORM)
        return up < GCB_INF_BITS;
    if (how.kind != GCB_CUDA_RANGE)
        return (up & GCB_MAGNITUDE_MASK) < GCB_INF_BITS &&
               (down & GCB_MAGNITUDE_MASK) < GCB_INF_BITS;
    if (up >= GCB_INF_BITS || !gcb_range_valid(how.bits, in[4]))
        return false;
    gcb_range_format(&to->format, how.bits, in[4], to->up, GCB_ROUND_TRUNCATE);
    return true;
}

/* Reads the head of a payload, and checks its lengths and scales. Only thread 0 works. */
__global__ void open_payload(gcb_cuda_payload_head *head, gcb_cuda_payload p, gcb_cuda_values how,
                             gcb_cuda_index_length size, gcb_device_result *result)
{
    const uint64_t at = values_at(p.n, how);
    uint64_t kept, least;

    if (threadIdx.x != 0)
        return;
    *head = {};
    if (p.length < at) {
        refuse(head, result);
        return;
    }
    kept = p.n ? get_u32(p.in) : 0;
    head->kept = kept;
    head->index = index_at(p.n, kept, how);
    least = head->index + kept * size.kept_bytes + (kept ? (p.n * size.flag_bits + 7) / 8 : 0);
    if (kept > p.n || least > p.length || !get_scale(&head->scale, p.in + at - how.scale, how))
        refuse(head, result);
    else if (least < p.length && (!size.any || kept == 0))
        refuse(head, result);
}

/* Sets the head of a payload whose values have just been written. Keeps nothing if the scale is one
 * that a decoder would refuse, because such a tensor is sent raw. Only thread 0 works. */
__global__ void reopen_payload(gcb_cuda_payload_head *head, gcb_cuda_payload p, gcb_cuda_values how,
                               const gcb_cuda_choice *choice)
{
    if (threadIdx.x != 0)
        return;
    *head = {};
    head->kept = choice->kept;
    head->index = index_at(p.n, choice->kept, how);
    if (!get_scale(&head->scale, p.in + values_at(p.n, how) - how.scale, how))
        head->kept = 0;
}

/* Shared memory: a tile of decoded floats. */
template <unsigned Width> struct alignas(16) tile_canvas {
    uint32_t bits[kTile * Width];
};

/* Puts an entry at its place in the tile. */
template <unsigned Width> struct put_on_canvas {
    tile_canvas<Width> *room;

    __device__ void operator()(uint32_t at, float a, float b) const
    {
        room->bits[at * Width] = gcb_bits_of(a);
        if (Width == 2)
            room->bits[at * Width + Width - 1] = gcb_bits_of(b);
    }
};

/* Stores the first `count` floats of a canvas; `out` is aligned to 16 bytes. Called by every thread
 * of the block after a barrier. */
template <unsigned Width>
__device__ void store_canvas(float *out, const tile_canvas<Width> &room, unsigned count)
{
    for (unsigned i = 4 * threadIdx.x; i < count; i += 4 * kTileThreads) {
        if (i + 4 <= count)
            *reinterpret_cast<uint4 *>(out + i) = *reinterpret_cast<const uint4 *>(&room.bits[i]);
        else
            for (unsigned j = i; j < count; j++)
                out[j] = gcb_float_of(room.bits[j]);
    }
}

/* Decodes the tiles from number `first` on. Each tile is set to zero, filled and stored once; `out`
 * begins with the first of them. */
template <unsigned Width>
__global__ void fill_tiles(float *__restrict__ out, gcb_cuda_entries kept, uint64_t first)
{
    tile_canvas<Width> &room = shared<tile_canvas<Width>>();
    const uint64_t n = kept.p.n;

    for (uint64_t tile = first + blockIdx.x; tile * kTile < n; tile += gridDim.x) {
        const uint64_t from = tile * kTile, end = lesser(n, from + kTile);

        for (unsigned i = 4 * threadIdx.x; i < kTile * Width; i += 4 * kTileThreads)
            *reinterpret_cast<uint4 *>(&room.bits[i]) = make_uint4(0, 0, 0, 0);
        sync_block();
        each_entry<Width>(kept, from, end, put_on_canvas<Width>{&room});
        sync_block();
        store_canvas(out + (from - first * kTile) * Width, room,
                     static_cast<unsigned>(end - from) * Width);
        sync_block();
    }
}

} /* namespace */

uint64_t gcb_cuda_decoding_lay_out(gcb_cuda_decoding *f, uint64_t n, void *scratch)
{
    const uint64_t tiles = tile_count(n), head = gcb_cuda_align16(sizeof(*f->head));
    const uint64_t bytes = gcb_cuda_align16(head + (tiles + 1 + n) * sizeof(uint32_t));
    uint8_t *at = static_cast<uint8_t *>(scratch);

    f->head = reinterpret_cast<gcb_cuda_payload_head *>(at);
    f->first = at ? reinterpret_cast<uint32_t *>(at + head) : nullptr;
    f->pos = at ? f->first + tiles + 1 : nullptr;
    f->scratch = at ? at + bytes : nullptr;
    return bytes;
}

int gcb_cuda_open_payload(gcb_device_stream *s, const gcb_cuda_payload *p,
                          const gcb_cuda_values *how, const gcb_cuda_index_length *length,
                          const gcb_cuda_decoding *f, gcb_device_result *result)
{
    return launch(open_payload, 1, kWarp, 0, s, f->head, *p, *how, *length, result);
}

int gcb_cuda_reopen_payload(gcb_device_stream *s, const gcb_cuda_payload *p,
                            const gcb_cuda_values *how, const gcb_cuda_chosen *chosen,
                            void *scratch, gcb_cuda_decoding *f)
{
    *f = {static_cast<gcb_cuda_payload_head *>(scratch), chosen->first, chosen->pos, nullptr};
    static_assert(sizeof(*f->head) <= sizeof(value_measures),
                  "the head must fit the scratch of value_measures");
    return launch(reopen_payload, 1, kWarp, 0, s, f->head, *p, *how,
                  static_cast<const gcb_cuda_choice *>(chosen->choice));
}

int gcb_cuda_fill(gcb_device_stream *s, float *out, const gcb_cuda_entries *kept,
                  uint64_t first_tile)
{
    const uint64_t grid = grid_over(tile_count(kept->p.n) - first_tile);

    if (kept->how.width == 1)
        return launch(fill_tiles<1>, grid, kTileThreads, sizeof(tile_canvas<1>), s, out, *kept,
                      first_tile);
    return launch(fill_tiles<2>, grid, kTileThreads, sizeof(tile_canvas<2>), s, out, *kept,
                  first_tile);
}
