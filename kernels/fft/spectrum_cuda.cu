#include "kernels/fft/spectrum_cuda.h"

#include "kernels/cuda/grid.cuh"
#include "kernels/select/select_elem.h"
#include "src/lib/base/status.h"

using namespace gcb;

/* Each thread handles one bin at a time. */
namespace
{

constexpr unsigned kThreads = 256;

__global__ void reset_max(gcb_device_result *most)
{
    if (threadIdx.x == 0)
        most->max_bits = 0;
}

__global__ void compute_powers(float *__restrict__ power, const float2 *__restrict__ bins,
                               gcb_cuda_spectrum how, const gcb_device_result *most,
                               gcb_device_result *result)
{
    const float scale = gcb_select_power_scale(most->max_bits);
    const float weight =
        how.rest ? static_cast<float>(how.length) / static_cast<float>(how.rest) : 1.0f;

    if (blockIdx.x == 0 && threadIdx.x == 0 && most->max_bits >= GCB_INF_BITS)
        set_status(&result->status, GCB_E_SEND_RAW);
    for (uint64_t i = how.first + thread_of_grid(); i < how.bins; i += threads_of_grid()) {
        const float2 z = bins[i - how.first];

        power[i - how.first] = gcb_select_power(z.x, z.y, scale, i < how.tail ? 1.0f : weight);
    }
}

__global__ void gather_bins(float2 *__restrict__ value, const float2 *__restrict__ bins,
                            gcb_cuda_chosen chosen, gcb_cuda_spectrum how, uint64_t from)
{
    const uint64_t kept = chosen.choice->kept;

    for (uint64_t j = from + thread_of_grid(); j < kept; j += threads_of_grid()) {
        const uint32_t pos = chosen.pos[j];
        const float unitary = pos < how.tail ? how.unitary : how.unitary_rest;
        const float2 z = bins[pos - how.first];

        value[j] = make_float2(z.x * unitary, z.y * unitary);
    }
}

/* True if bin i is the first bin of a chunk, or the last bin of a chunk of even length. These bins
 * are real. */
__device__ bool is_real(uint64_t i, const gcb_cuda_spectrum &how)
{
    const uint64_t length = i < how.tail ? how.length : how.rest;
    const uint64_t k = i < how.tail ? i % (how.length / 2 + 1) : i - how.tail;

    return k == 0 || 2 * k == length;
}

__global__ void scale_bins(float2 *bins, gcb_cuda_spectrum how)
{
    for (uint64_t i = how.first + thread_of_grid(); i < how.bins; i += threads_of_grid()) {
        const float unitary = i < how.tail ? how.unitary : how.unitary_rest;
        const float2 z = bins[i - how.first];

        bins[i - how.first] = make_float2(z.x * unitary, is_real(i, how) ? 0.0f : z.y * unitary);
    }
}

__global__ void elements_to_bins(float2 *__restrict__ bins, const float *__restrict__ x, uint64_t n)
{
    for (uint64_t i = thread_of_grid(); i < n; i += threads_of_grid())
        bins[i] = make_float2(x[i], 0.0f);
}

__global__ void bins_to_elements(float *__restrict__ x, const float2 *__restrict__ bins, uint64_t n)
{
    for (uint64_t i = thread_of_grid(); i < n; i += threads_of_grid())
        x[i] = bins[i].x;
}

} /* namespace */

int gcb_cuda_spectrum_reset(gcb_device_stream *s, gcb_device_result *most)
{
    return launch(reset_max, 1, kWarp, 0, s, most);
}

int gcb_cuda_spectrum_powers(gcb_device_stream *s, float *power, const float *bins,
                             const gcb_cuda_spectrum *how, const gcb_device_result *most,
                             gcb_device_result *result)
{
    return launch(compute_powers,
                  grid_over(pieces_of(how->bins - how->first, kThreads), kManyBlocks), kThreads, 0,
                  s, power, reinterpret_cast<const float2 *>(bins), *how, most, result);
}

int gcb_cuda_spectrum_gather(gcb_device_stream *s, float *value, const float *bins,
                             const gcb_cuda_chosen *chosen, const gcb_cuda_spectrum *how,
                             uint64_t from)
{
    return launch(gather_bins, grid_over(pieces_of(chosen->most - from, kThreads), kManyBlocks),
                  kThreads, 0, s, reinterpret_cast<float2 *>(value),
                  reinterpret_cast<const float2 *>(bins), *chosen, *how, from);
}

int gcb_cuda_spectrum_scale(gcb_device_stream *s, float *bins, const gcb_cuda_spectrum *how)
{
    return launch(scale_bins, grid_over(pieces_of(how->bins - how->first, kThreads), kManyBlocks),
                  kThreads, 0, s, reinterpret_cast<float2 *>(bins), *how);
}

int gcb_cuda_spectrum_from_elements(gcb_device_stream *s, float *bins, const float *x, uint64_t n)
{
    return launch(elements_to_bins, grid_over(pieces_of(n, kThreads), kManyBlocks), kThreads, 0, s,
                  reinterpret_cast<float2 *>(bins), x, n);
}

int gcb_cuda_spectrum_to_elements(gcb_device_stream *s, float *x, const float *bins, uint64_t n)
{
    return launch(bins_to_elements, grid_over(pieces_of(n, kThreads), kManyBlocks), kThreads, 0, s,
                  x, reinterpret_cast<const float2 *>(bins), n);
}
