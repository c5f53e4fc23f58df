#ifndef KERNELS_SELECT_ENTRIES_CUH
#define KERNELS_SELECT_ENTRIES_CUH

/* Reads the entries of a payload that lie in one range of positions. */
#include "kernels/convert/convert_elem.h"
#include "kernels/cuda/tile.cuh"
#include "kernels/select/uniform_elem.h"
#include "kernels/select/values_cuda.cuh"
#include "kernels/select/values_cuda.h"

namespace gcb
{

/* Code i of an array of codes of `bits` <= 16 bits. */
__device__ __forceinline__ uint32_t code_at(const uint8_t *in, uint64_t i, unsigned bits)
{
    const uint64_t bit = i * bits, last = (bit + bits - 1) / 8;
    uint32_t v = 0;

    in += bit / 8;
    for (unsigned b = 0; b <= last - bit / 8; b++)
        v |= static_cast<uint32_t>(in[b]) << 8 * b;
    return v >> bit % 8 & ((1u << bits) - 1);
}

/* Decodes value i of the values that begin at `in`. */
__device__ __forceinline__ float value_at(const uint8_t *in, uint64_t i, const gcb_cuda_values &how,
                                          const gcb_cuda_scale &scale)
{
    switch (how.kind) {
    case GCB_CUDA_FP32:
        return gcb_float_of(get_u32(in + 4 * i));
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

/*
 * Calls put(at, a, b) for each entry with a position in [from, end). `at` is position - from; the
 * value is a, or (a, b) if Width is 2. Called by every thread of the block; each entry is passed to
 * one of them. Wrong tables and positions, of a damaged payload, do no harm.
 */
template <unsigned Width, class Put>
__device__ __forceinline__ void each_entry(const gcb_cuda_entries &kept, uint64_t from,
                                           uint64_t end, const Put &put)
{
    const gcb_cuda_decoding &f = kept.f;
    const gcb_cuda_scale scale = f.head->scale;
    const uint64_t tile = from / kTile, last = (end - 1) / kTile, all = sound_kept(f.head);
    const uint64_t first = all ? f.first[tile] : 0, next = all ? f.first[last + 1] : 0;
    const uint64_t stop = lesser(next, lesser(first + (last - tile + 1) * kTile, all));
    const uint8_t *in = kept.p.in + values_at(kept.p.n, kept.how);

    for (uint64_t j = first + threadIdx.x; j < stop; j += blockDim.x) {
        const uint64_t pos = f.pos[j];

        if (pos >= from && pos < end)
            put(static_cast<uint32_t>(pos - from), value_at(in, j * Width, kept.how, scale),
                Width == 2 ? value_at(in, j * Width + Width - 1, kept.how, scale) : 0.0f);
    }
}

} /* namespace gcb */

#endif
