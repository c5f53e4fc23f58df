#include "kernels/convert/convert_cuda.h"

#include "kernels/base/accumulate_elem.h"
#include "kernels/convert/convert_elem.h"
#include "kernels/cuda/group.cuh"
#include "kernels/memory/feedback.cuh"

using namespace gcb;

namespace
{

struct tuning {
    static constexpr unsigned threads = 256;
    static constexpr unsigned each = 8; /* elements per thread: two 16-byte reads */
};

constexpr uint64_t kBlockElements = tuning::threads * tuning::each;

/* The conversions of one 16-bit type. `narrow_finite` converts two values that neither saturate nor
 * are infinite or NaN. */
struct fp16 {
    static constexpr uint32_t too_large = GCB_FP16_TOO_LARGE;

    static __device__ uint32_t narrow_finite(float low, float high)
    {
        return two_halves(low, high);
    }
    static __device__ uint32_t narrow(uint32_t u)
    {
        return gcb_fp16_of_fp32(u);
    }
    static __device__ uint32_t saturates(uint32_t magnitude)
    {
        return gcb_fp16_saturates(magnitude);
    }
    static __device__ uint32_t widen(uint32_t h)
    {
        return gcb_fp32_of_fp16(h);
    }
};

struct bf16 {
    static constexpr uint32_t too_large = GCB_BF16_TOO_LARGE;

    static __device__ uint32_t narrow_finite(float low, float high)
    {
        return gcb_round_off(gcb_bits_of(low), 16) | gcb_round_off(gcb_bits_of(high), 16) << 16;
    }
    static __device__ uint32_t narrow(uint32_t u)
    {
        return gcb_bf16_of_fp32(u);
    }
    static __device__ uint32_t saturates(uint32_t magnitude)
    {
        return gcb_bf16_saturates(magnitude);
    }
    static __device__ uint32_t widen(uint32_t h)
    {
        return gcb_fp32_of_bf16(h);
    }
};

/* Narrows a thread's elements, two to a word. Returns the number of values that saturated. */
template <class Half>
__device__ uint32_t narrow_all(uint32_t (&word)[tuning::each / 2], const float (&v)[tuning::each])
{
    uint32_t clamped = 0;

    if (largest_of(v) < Half::too_large) {
        for (unsigned i = 0; i < tuning::each; i += 2)
            word[i / 2] = Half::narrow_finite(v[i], v[i + 1]);
        return 0;
    }
    for (unsigned i = 0; i < tuning::each; i += 2) {
        word[i / 2] = Half::narrow(gcb_bits_of(v[i])) | Half::narrow(gcb_bits_of(v[i + 1])) << 16;
        clamped += Half::saturates(gcb_magnitude(v[i])) + Half::saturates(gcb_magnitude(v[i + 1]));
    }
    return clamped;
}

template <class Half>
__device__ void widen_all(float (&v)[tuning::each], const uint32_t (&word)[tuning::each / 2])
{
    for (unsigned i = 0; i < tuning::each; i++)
        v[i] = gcb_float_of(Half::widen(word[i / 2] >> (16 * (i % 2)) & 0xffffu));
}

/* Encodes a block's elements. item.result is NULL for a tensor that is sent raw. */
template <class Half, class Where> __global__ void put_half(Where where)
{
    const block_work at = find_work(where);
    const gcb_device_input &in = at.item.in;
    const uint64_t first = at.block * kBlockElements + threadIdx.x * tuning::each;
    uint32_t word[tuning::each / 2], clamped;
    float v[tuning::each], decoded[tuning::each];

    if (at.item.result && at.block == 0 && threadIdx.x == 0)
        at.item.result->length = 2 * in.n;
    load_input(v, in, first);
    clamped = narrow_all<Half>(word, v);
    if (at.item.result)
        add_by_warp(&at.item.result->clamped, clamped);
    store_halves(at.item.payload, word, first, in.n);
    if (in.residual) {
        widen_all<Half>(decoded, word);
        store_residual(in, decoded, first);
    }
}

template <class Half, class Where> __global__ void get_half(Where where)
{
    const block_work at = find_work(where);
    const uint64_t first = at.block * kBlockElements + threadIdx.x * tuning::each;
    uint32_t word[tuning::each / 2];
    float v[tuning::each];

    load_halves(word, at.item.payload, first, at.item.in.n);
    widen_all<Half>(v, word);
    store_floats(at.item.in.x, v, first, at.item.in.n);
}

template <class Where> __global__ void put_floats(Where where)
{
    const block_work at = find_work(where);
    const gcb_device_input &in = at.item.in;
    const uint64_t first = at.block * kBlockElements + threadIdx.x * tuning::each;
    float v[tuning::each];

    if (at.item.result && at.block == 0 && threadIdx.x == 0)
        at.item.result->length = in.n * sizeof(float);
    load_input(v, in, first);
    store_floats(reinterpret_cast<float *>(at.item.payload), v, first, in.n);
    if (in.residual)
        store_residual(in, v, first);
}

template <class Where> __global__ void get_floats(Where where)
{
    const block_work at = find_work(where);
    const uint64_t first = at.block * kBlockElements + threadIdx.x * tuning::each;
    float v[tuning::each];

    load_floats(v, reinterpret_cast<const float *>(at.item.payload), first, at.item.in.n);
    store_floats(at.item.in.x, v, first, at.item.in.n);
}

/* Classes that load this thread's elements of a message, for sum_messages. */
struct float_elements {
    static __device__ void load(float (&v)[tuning::each], const uint8_t *in, uint64_t first,
                                uint64_t n)
    {
        load_floats(v, reinterpret_cast<const float *>(in), first, n);
    }
};

template <class Half> struct half_elements {
    static __device__ void load(float (&v)[tuning::each], const uint8_t *in, uint64_t first,
                                uint64_t n)
    {
        uint32_t word[tuning::each / 2];

        load_halves(word, in, first, n);
        widen_all<Half>(v, word);
    }
};

/* Writes the sum of the messages `p` to `out`; if p.joins, adds it to what is there. */
template <class Elements> __global__ void sum_messages(float *out, uint64_t n, gcb_cuda_payloads p)
{
    const uint64_t first = blockIdx.x * kBlockElements + threadIdx.x * tuning::each;
    float sum[tuning::each] = {}, v[tuning::each];

    if (p.joins)
        load_floats(sum, out, first, n);
    for (unsigned i = 0; i < p.count; i++) {
        Elements::load(v, p.first + i * p.apart, first, n);
        for (unsigned e = 0; e < tuning::each; e++)
            sum[e] = gcb_accumulated(sum[e], v[e], p.weight[i]);
    }
    store_floats(out, sum, first, n);
}

/* ---- launches ---- */

uint64_t blocks_of(uint64_t n)
{
    return blocks_over(n, kBlockElements);
}

template <void (*kernel)(single)>
int put(gcb_device_stream *s, uint8_t *out, const gcb_device_input *in, gcb_device_result *result)
{
    return launch(kernel, blocks_of(in->n), tuning::threads, 0, s,
                  single_encode(out, in, nullptr, result));
}

template <void (*kernel)(single)>
int get(gcb_device_stream *s, float *out, const uint8_t *in, uint64_t n)
{
    return launch(kernel, blocks_of(n), tuning::threads, 0, s, single_decode(out, in, n, nullptr));
}

template <void (*kernel)(message_group)>
int convert_group(gcb_device_stream *s, const gcb_device_group *g)
{
    const uint64_t grid =
        cut_grid(g, 1, [](const gcb_device_item &item) { return blocks_of(item.in.n); });

    cut_tiles(g);
    send_table(s, g);
    return launch(kernel, grid, tuning::threads, 0, s, grid_of(g, 1));
}

template <class Elements>
int sum(gcb_device_stream *s, float *out, uint64_t n, const gcb_cuda_payloads *p)
{
    return launch(sum_messages<Elements>, blocks_of(n), tuning::threads, 0, s, out, n, *p);
}

template <class Half>
constexpr gcb_cuda_convert half_launchers = {
    2,
    put<put_half<Half, single>>,
    get<get_half<Half, single>>,
    convert_group<put_half<Half, message_group>>,
    convert_group<get_half<Half, message_group>>,
    sum<half_elements<Half>>,
};

} /* namespace */

const gcb_cuda_convert gcb_cuda_fp32 = {
    4,
    put<put_floats<single>>,
    get<get_floats<single>>,
    convert_group<put_floats<message_group>>,
    convert_group<get_floats<message_group>>,
    sum<float_elements>,
};
const gcb_cuda_convert gcb_cuda_fp16 = half_launchers<fp16>;
const gcb_cuda_convert gcb_cuda_bf16 = half_launchers<bf16>;
