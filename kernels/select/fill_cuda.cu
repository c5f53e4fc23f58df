#include "kernels/convert/convert_elem.h"
#include "kernels/cuda/align.h"
#include "kernels/select/payload.cuh"
#include "kernels/select/select.cuh"
#include "kernels/select/uniform_elem.h"
#include "kernels/select/values.cuh"

namespace
{

using gcb::kTile;
using gcb::kTileEach;
using gcb::kTileThreads;

/* Scales; false if no encoder writes them. */
__device__ bool get_scale(struct gcb_cuda_scale *to, const uint8_t *in,
                          const struct gcb_cuda_values &how)
{
    const uint32_t up = how.scale ? gcb::get_u32(in) : 0;
    const uint32_t down = how.kind == GCB_CUDA_MEANS ? gcb::get_u32(in + 4) : up;

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

/* One thread. */
__global__ void open_payload(struct gcb_cuda_opened *head, struct gcb_cuda_payload p,
                             struct gcb_cuda_values how, struct gcb_cuda_index_length size,
                             gcb_device_result *result)
{
    const uint64_t at = gcb::values_at(p.n, how);
    uint64_t kept, least;

    if (threadIdx.x != 0)
        return;
    if (p.length < at) {
        gcb::refuse(head, result);
        return;
    }
    kept = p.n ? gcb::get_u32(p.in) : 0;
    head->kept = kept;
    head->index = gcb::index_at(p.n, kept, how);
    least = head->index + kept * size.kept_bytes + (kept ? (p.n * size.flag_bits + 7) / 8 : 0);
    if (kept > p.n || least > p.length || !get_scale(&head->scale, p.in + at - how.scale, how))
        gcb::refuse(head, result);
    else if (least < p.length && (!size.any || kept == 0))
        gcb::refuse(head, result);
}

/* One thread. A scale that nobody would read is of a tensor that goes raw. */
__global__ void reopen_payload(struct gcb_cuda_opened *head, struct gcb_cuda_payload p,
                               struct gcb_cuda_values how, const struct gcb_cuda_choice *choice)
{
    if (threadIdx.x != 0)
        return;
    head->kept = choice->kept;
    head->index = gcb::index_at(p.n, choice->kept, how);
    if (!get_scale(&head->scale, p.in + gcb::values_at(p.n, how) - how.scale, how))
        head->kept = 0;
}

/* ---- values ---- */

/* Code i of a run of codes of `bits` <= 16. */
__device__ uint32_t code_at(const uint8_t *in, uint64_t i, unsigned bits)
{
    const uint64_t bit = i * bits, last = (bit + bits - 1) / 8;
    uint32_t v = 0;

    in += bit / 8;
    for (unsigned b = 0; b <= last - bit / 8; b++)
        v |= static_cast<uint32_t>(in[b]) << 8 * b;
    return v >> bit % 8 & ((1u << bits) - 1);
}

__device__ float value_at(const uint8_t *in, uint64_t i, const struct gcb_cuda_values &how,
                          const struct gcb_cuda_scale &scale)
{
    switch (how.kind) {
    case GCB_CUDA_FP32:
        return gcb_float_of(gcb::get_u32(in + 4 * i));
    case GCB_CUDA_FP16:
        return gcb_float_of(gcb_fp32_of_fp16(code_at(in, i, 16)));
    case GCB_CUDA_RANGE:
        return gcb_range_decode(code_at(in, i, how.bits), &scale.format);
    case GCB_CUDA_UNIFORM:
        return gcb_uniform_decode(code_at(in, i, how.bits), scale.up, how.bits);
    case GCB_CUDA_MEAN:
        return scale.up;
    default:
        return code_at(in, i, 1) ? scale.up : scale.down;
    }
}

template <unsigned Width> struct canvas {
    uint32_t bits[kTile * Width];
};

/* Each tile is zeroed, filled and written once. Ranges and positions may be anything. */
template <unsigned Width>
__global__ void fill(float *__restrict__ out, struct gcb_cuda_filling f, struct gcb_cuda_payload p,
                     struct gcb_cuda_values how)
{
    canvas<Width> &room = gcb::shared<canvas<Width>>();
    const uint64_t kept = f.head->kept;
    const struct gcb_cuda_scale scale = f.head->scale;
    const uint8_t *in = p.in + gcb::values_at(p.n, how);

    for (uint64_t tile = blockIdx.x; tile * kTile < p.n; tile += gridDim.x) {
        const uint64_t from = f.first[tile], to = f.first[tile + 1];
        const uint64_t most = from + kTile < kept ? from + kTile : kept;
        const uint64_t end = to < most ? to : most;

        for (unsigned i = threadIdx.x; i < kTile * Width; i += blockDim.x)
            room.bits[i] = 0;
        gcb::sync_block();
        for (uint64_t j = from + threadIdx.x; j < end; j += blockDim.x)
            for (unsigned w = 0; w < Width && f.pos[j] / kTile == tile; w++)
                room.bits[f.pos[j] % kTile * Width + w] =
                    gcb_bits_of(value_at(in, j * Width + w, how, scale));
        gcb::sync_block();
        for (unsigned w = 0; w < Width; w++) {
            const unsigned first = w * kTile + threadIdx.x * kTileEach;
            float v[kTileEach];

            for (unsigned i = 0; i < kTileEach; i++)
                v[i] = gcb_float_of(room.bits[first + i]);
            gcb::store_floats(out, v, tile * kTile * Width + first, p.n * Width);
        }
        gcb::sync_block();
    }
}

} /* namespace */

uint64_t gcb_cuda_fill_scratch(struct gcb_cuda_filling *f, uint64_t n, void *scratch)
{
    const uint64_t tiles = gcb::tiles_for(n), head = gcb_cuda_align16(sizeof(*f->head));
    const uint64_t bytes = gcb_cuda_align16(head + (tiles + 1 + n) * sizeof(uint32_t));
    uint8_t *at = static_cast<uint8_t *>(scratch);

    f->head = reinterpret_cast<struct gcb_cuda_opened *>(at);
    f->first = at ? reinterpret_cast<uint32_t *>(at + head) : nullptr;
    f->pos = at ? f->first + tiles + 1 : nullptr;
    f->scratch = at ? at + bytes : nullptr;
    return bytes;
}

int gcb_cuda_open(struct gcb_device_stream *s, const struct gcb_cuda_payload *p,
                  const struct gcb_cuda_values *how, const struct gcb_cuda_index_length *length,
                  const struct gcb_cuda_filling *f, struct gcb_device_result *result)
{
    return gcb::launch(open_payload, 1, gcb::kWarp, 0, s, f->head, *p, *how, *length, result);
}

int gcb_cuda_reopen(struct gcb_device_stream *s, const struct gcb_cuda_payload *p,
                    const struct gcb_cuda_values *how, const struct gcb_cuda_chosen *chosen,
                    void *scratch, struct gcb_cuda_filling *f)
{
    *f = {static_cast<struct gcb_cuda_opened *>(scratch), chosen->first, chosen->pos, nullptr};
    static_assert(sizeof(*f->head) <= sizeof(gcb::measures),
                  "it has room where values have theirs");
    return gcb::launch(reopen_payload, 1, gcb::kWarp, 0, s, f->head, *p, *how,
                       static_cast<const struct gcb_cuda_choice *>(chosen->choice));
}

int gcb_cuda_fill(struct gcb_device_stream *s, float *out, const struct gcb_cuda_payload *p,
                  const struct gcb_cuda_values *how, const struct gcb_cuda_filling *f)
{
    const uint64_t grid = gcb::blocks_for(gcb::tiles_for(p->n));

    if (how->width == 1)
        return gcb::launch(fill<1>, grid, kTileThreads, sizeof(canvas<1>), s, out, *f, *p, *how);
    return gcb::launch(fill<2>, grid, kTileThreads, sizeof(canvas<2>), s, out, *f, *p, *how);
}
