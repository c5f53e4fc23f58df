#include "kernels/select/values_cuda.h"

#include "kernels/convert/convert_elem.h"
#include "kernels/reduce/sum.cuh"
#include "kernels/select/uniform_elem.h"
#include "kernels/select/values_cuda.cuh"

using namespace gcb;

namespace
{

/*
 * The codes of all kinds of values except fp32. Each class has
 *
 *   code        the code of a value
 *   decode      the value of a code
 *   clamps      1 if a value is outside the range of codes, else 0
 *   put_scale   writes the scales
 */
struct half_code {
    __device__ half_code(const value_measures *, const gcb_cuda_values &)
    {
    }
    __device__ uint32_t code(float x) const
    {
        return gcb_fp16_of_fp32(gcb_bits_of(x));
    }
    __device__ float decode(uint32_t code) const
    {
        return gcb_float_of(gcb_fp32_of_fp16(code));
    }
    __device__ uint32_t clamps(float x) const
    {
        return gcb_fp16_saturates(gcb_magnitude(x));
    }
    __device__ void put_scale(uint8_t *) const
    {
    }
};

struct range_code {
    struct gcb_range_format f;

    __device__ range_code(const value_measures *m, const gcb_cuda_values &) : f(m->scale.format)
    {
    }
    __device__ uint32_t code(float x) const
    {
        return gcb_range_encode(x, &f);
    }
    __device__ float decode(uint32_t code) const
    {
        return gcb_range_decode(code, &f);
    }
    __device__ uint32_t clamps(float x) const
    {
        return gcb_magnitude(x) > f.clamp;
    }
    __device__ void put_scale(uint8_t *out) const
    {
        put_u32(out, gcb_bits_of(gcb_range_decode(f.top, &f)));
        out[4] = static_cast<uint8_t>(f.mantissa);
    }
};

struct uniform_code {
    float max;
    unsigned bits;

    __device__ uniform_code(const value_measures *m, const gcb_cuda_values &how)
        : max(m->scale.up), bits(how.bits)
    {
    }
    __device__ uint32_t code(float x) const
    {
        return gcb_uniform_encode(x, max, bits);
    }
    __device__ float decode(uint32_t code) const
    {
        return gcb_uniform_decode(code, max, bits);
    }
    __device__ uint32_t clamps(float x) const
    {
        return gcb_magnitude(x) > gcb_bits_of(max);
    }
    __device__ void put_scale(uint8_t *out) const
    {
        put_u32(out, gcb_bits_of(max));
    }
};

/* values=mean (which sends no codes, only a scale), sign-mean and means. */
struct sign_code {
    float up, down;
    bool single_mean; /* all values are `up` */
    bool two_means;   /* both scales are sent */

    __device__ sign_code(const value_measures *m, const gcb_cuda_values &how)
        : up(m->scale.up), down(m->scale.down), single_mean(how.kind == GCB_CUDA_MEAN),
          two_means(how.kind == GCB_CUDA_MEANS)
    {
    }
    __device__ uint32_t code(float x) const
    {
        return single_mean || x > 0.0f;
    }
    __device__ float decode(uint32_t code) const
    {
        return code ? up : down;
    }
    __device__ uint32_t clamps(float) const
    {
        return 0;
    }
    __device__ void put_scale(uint8_t *out) const
    {
        put_u32(out, gcb_bits_of(up));
        if (two_means)
            put_u32(out + 4, gcb_bits_of(down));
    }
};

/* Writes the number of kept positions, which is absent if the tensor has no positions. */
__device__ void put_kept(uint8_t *out, const gcb_cuda_chosen &c)
{
    if (c.n)
        put_u32(out, static_cast<uint32_t>(c.choice->kept));
}

/* Arguments of the kernels below: the payload, the chosen entries, and how to code their values. */
struct value_output {
    uint8_t *out;
    gcb_cuda_chosen chosen;
    gcb_cuda_values how;
    const value_measures *m;
};

/* Writes the residuals of this thread's values, if there is feedback. `first` is the number of the
 * thread's first value. */
template <class Code>
__device__ void put_residual(const gcb_cuda_chosen &c, const Code &coder, const float *v,
                             const uint32_t *code, uint64_t first)
{
    for (unsigned i = 0; c.residual && i < kTileEach && first + i < c.choice->kept; i++)
        c.residual[c.pos[first + i]] = v[i] - coder.decode(code[i]);
}

/* Writes the number of kept positions, the scales and the codes of the values (values=mean has no
 * codes), for all kinds of values except fp32. */
template <class Code> __global__ void put_codes(value_output p, gcb_device_result *result)
{
    tile_room &room = shared<tile_room>();
    const gcb_cuda_chosen &c = p.chosen;
    const uint64_t kept = values_of(c, p.how.width);
    uint8_t *out = p.out + values_at(c.n, p.how);
    const Code coder(p.m, p.how);
    uint32_t clamped = 0;

    if (blockIdx.x == 0 && threadIdx.x == 0) {
        put_kept(p.out, c);
        coder.put_scale(out - p.how.scale);
    }
    for (uint64_t start = blockIdx.x * uint64_t{kTile}; start < kept;
         start += uint64_t{gridDim.x} * kTile) {
        const unsigned here = elements_from(kept, start, kTile);
        const uint64_t first = start + threadIdx.x * kTileEach;
        uint32_t code[kTileEach];
        float v[kTileEach];

        load_floats(v, c.value, first, kept);
        for (unsigned i = 0; i < kTileEach; i++) {
            code[i] = coder.code(v[i]); /* past the last value: 0, or no bits (mean) */
            clamped += coder.clamps(v[i]);
        }
        put_residual(c, coder, v, code, first);
        if (p.how.bits == 0)
            continue;
        pack_codes(room, code, p.how.bits);
        sync_block();
        store_tile(out + start / 8 * p.how.bits, room, (here * p.how.bits + 7) / 8);
        sync_block();
    }
    add_by_warp(&result->clamped, clamped);
}

/* Writes floats out[at] to out[at + 3] of the payload, as far as they are values; out[at] is
 * aligned to 16 bytes. The first value is out[lead]. */
__device__ void put_four(float *out, const gcb_cuda_chosen &c, uint64_t at, unsigned lead,
                         uint64_t kept)
{
    if (at >= lead && at - lead + 4 <= kept) {
        const float *from = c.value + (at - lead);

        *reinterpret_cast<float4 *>(out + at) = make_float4(from[0], from[1], from[2], from[3]);
        return;
    }
    for (uint64_t i = at; i < at + 4; i++)
        if (i >= lead && i - lead < kept)
            out[i] = c.value[i - lead];
}

/* Writes the number of kept positions and the values, for values=fp32. Their residuals are 0. */
__global__ void put_floats(value_output p)
{
    const gcb_cuda_chosen &c = p.chosen;
    const uint64_t kept = values_of(c, p.how.width);
    uint8_t *at = p.out + values_at(c.n, p.how); /* a multiple of four bytes from the start */
    const unsigned lead = static_cast<unsigned>(reinterpret_cast<uintptr_t>(at) % 16 / 4);
    float *out = reinterpret_cast<float *>(at - lead * sizeof(float));

    if (blockIdx.x == 0 && threadIdx.x == 0)
        put_kept(p.out, c);
    for (uint64_t i = thread_of_grid(); 4 * i < kept + lead; i += threads_of_grid())
        put_four(out, c, 4 * i, lead, kept);
    for (uint64_t i = thread_of_grid(); c.residual && i < kept; i += threads_of_grid())
        c.residual[c.pos[i]] = 0.0f;
}

measure_arrays lay_out(void *scratch, uint64_t most)
{
    const uint64_t blocks = sum_blocks_of(most);
    measure_arrays m;

    m.all = static_cast<value_measures *>(scratch);
    m.up = reinterpret_cast<double *>(m.all + 1);
    m.down = m.up + blocks;
    m.positive = reinterpret_cast<uint32_t *>(m.down + blocks);
    return m;
}

} /* namespace */

uint64_t gcb_cuda_values_scratch(const gcb_cuda_values *how, uint64_t most)
{
    return sizeof(value_measures) +
           sum_blocks_of(most * how->width) * (2 * sizeof(double) + sizeof(uint32_t));
}

int gcb_cuda_put_values(gcb_device_stream *s, uint8_t *out, const gcb_cuda_chosen *chosen,
                        const gcb_cuda_values *how, void *scratch, gcb_device_result *result)
{
    const uint64_t most = chosen->most * how->width, grid = grid_over(tile_count(most));
    const measure_arrays m = lay_out(scratch, most);
    const value_output p = {out, *chosen, *how, m.all};
    auto put = put_codes<sign_code>;

    if (how->kind == GCB_CUDA_FP32)
        return launch(put_floats, grid, kTileThreads, 0, s, p);
    if (how->kind == GCB_CUDA_FP16)
        put = put_codes<half_code>;
    else if (how->kind == GCB_CUDA_RANGE)
        put = put_codes<range_code>;
    else if (how->kind == GCB_CUDA_UNIFORM)
        put = put_codes<uniform_code>;
    measure_values(s, m, chosen, how);
    return launch(put, grid, kTileThreads, sizeof(tile_room), s, p, result);
}
