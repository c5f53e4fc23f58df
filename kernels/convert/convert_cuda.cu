#include "kernels/convert/convert_cuda.h"

#include "kernels/convert/convert_elem.h"
#include "kernels/cuda/feedback.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/vector.cuh"
#include "kernels/cuda/warp.cuh"

namespace
{

struct tuning {
    static constexpr unsigned threads = 256;
    static constexpr unsigned each = 8; /* elements a thread takes: two 16-byte reads */
};

constexpr uint64_t kTile = tuning::threads * tuning::each;

struct fp16 {
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

/* Adds each thread's count to *total, a warp at a time. */
__device__ void add_counts(uint64_t *total, uint32_t count)
{
    for (unsigned by = gcb::kWarp / 2; by > 0; by /= 2)
        count += gcb::shfl_xor(count, by);
    if (gcb::lane() == 0 && count)
        gcb::atomic_add(total, static_cast<uint64_t>(count));
}

template <class Half>
__global__ void put_half(uint8_t *__restrict__ out, struct gcb_device_input in,
                         gcb_device_result *result)
{
    const uint64_t first = blockIdx.x * kTile + threadIdx.x * tuning::each;
    uint32_t word[tuning::each / 2] = {}, clamped = 0;
    float v[tuning::each], decoded[tuning::each];

    if (result && blockIdx.x == 0 && threadIdx.x == 0)
        result->length = 2 * in.n;
    gcb::load_input(v, in, first);
    for (unsigned i = 0; i < tuning::each; i++) {
        const uint32_t u = gcb_bits_of(v[i]), h = Half::narrow(u);

        word[i / 2] |= h << (16 * (i % 2));
        clamped += Half::saturates(u & GCB_MAGNITUDE_MASK);
        decoded[i] = gcb_float_of(Half::widen(h));
    }
    if (result)
        add_counts(&result->clamped, clamped);
    gcb::store_halves(out, word, first, in.n);
    if (in.residual)
        gcb::store_residual(in, v, decoded, first);
}

template <class Half>
__global__ void get_half(float *__restrict__ out, const uint8_t *__restrict__ in, uint64_t n)
{
    const uint64_t first = blockIdx.x * kTile + threadIdx.x * tuning::each;
    uint32_t word[tuning::each / 2];
    float v[tuning::each];

    gcb::load_halves(word, in, first, n);
    for (unsigned i = 0; i < tuning::each; i++)
        v[i] = gcb_float_of(Half::widen(word[i / 2] >> (16 * (i % 2)) & 0xffffu));
    gcb::store_floats(out, v, first, n);
}

__global__ void put_floats(float *__restrict__ out, struct gcb_device_input in,
                           gcb_device_result *result)
{
    const uint64_t first = blockIdx.x * kTile + threadIdx.x * tuning::each;
    float v[tuning::each];

    if (result && blockIdx.x == 0 && threadIdx.x == 0)
        result->length = in.n * sizeof(float);
    gcb::load_input(v, in, first);
    gcb::store_floats(out, v, first, in.n);
    if (in.residual)
        gcb::store_residual(in, v, v, first);
}

__global__ void get_floats(float *__restrict__ out, const float *__restrict__ x, uint64_t n)
{
    const uint64_t first = blockIdx.x * kTile + threadIdx.x * tuning::each;
    float v[tuning::each];

    gcb::load_floats(v, x, first, n);
    gcb::store_floats(out, v, first, n);
}

uint64_t blocks_of(uint64_t n)
{
    return n ? (n + kTile - 1) / kTile : 1;
}

} /* namespace */

int gcb_cuda_put_fp32(struct gcb_device_stream *s, uint8_t *out, const struct gcb_device_input *in,
                      struct gcb_device_result *result)
{
    return gcb::launch(put_floats, blocks_of(in->n), tuning::threads, 0, s,
                       reinterpret_cast<float *>(out), *in, result);
}

int gcb_cuda_put_fp16(struct gcb_device_stream *s, uint8_t *out, const struct gcb_device_input *in,
                      struct gcb_device_result *result)
{
    return gcb::launch(put_half<fp16>, blocks_of(in->n), tuning::threads, 0, s, out, *in, result);
}

int gcb_cuda_put_bf16(struct gcb_device_stream *s, uint8_t *out, const struct gcb_device_input *in,
                      struct gcb_device_result *result)
{
    return gcb::launch(put_half<bf16>, blocks_of(in->n), tuning::threads, 0, s, out, *in, result);
}

int gcb_cuda_get_fp32(struct gcb_device_stream *s, float *out, const uint8_t *in, uint64_t n)
{
    return gcb::launch(get_floats, blocks_of(n), tuning::threads, 0, s, out,
                       reinterpret_cast<const float *>(in), n);
}

int gcb_cuda_get_fp16(struct gcb_device_stream *s, float *out, const uint8_t *in, uint64_t n)
{
    return gcb::launch(get_half<fp16>, blocks_of(n), tuning::threads, 0, s, out, in, n);
}

int gcb_cuda_get_bf16(struct gcb_device_stream *s, float *out, const uint8_t *in, uint64_t n)
{
    return gcb::launch(get_half<bf16>, blocks_of(n), tuning::threads, 0, s, out, in, n);
}
