#include "kernels/fft/dct_cuda.h"
#include "kernels/memory/feedback.cuh"
#include "kernels/reduce/sum.cuh"
#include "src/lib/base/status.h"

#include <math.h>

using namespace gcb;

namespace
{

constexpr unsigned kThreads = 256, kWarps = kThreads / kWarp;

/* Each warp computes one sum: every lane adds its terms in double, and the project's tree joins the
 * lanes. */
template <class Term> __device__ double warp_sum(uint32_t length, const Term &term)
{
    double acc = 0.0;

    for (uint32_t i = lane(); i < length; i += kWarp)
        acc += term(i);
    return join_lanes(acc);
}

/* The part of element j in coefficient k. */
struct forward_term {
    const float *x;
    const double *cosine;
    uint32_t k, length;

    __device__ double operator()(uint32_t j) const
    {
        return static_cast<double>(x[j]) * cosine[(2 * j + 1) * k % (4 * length)];
    }
};

/* The part of coefficient k in element j. Coefficients are scaled first, as on the CPU. */
struct inverse_term {
    const float *coef;
    const double *cosine;
    uint32_t j, length;
    float unitary, scale, first;

    __device__ double operator()(uint32_t k) const
    {
        const float y = coef[k] * unitary * (k ? 1.0f : first) * scale;

        return (k ? 2.0 : 1.0) * static_cast<double>(y) * cosine[(2 * j + 1) * k % (4 * length)];
    }
};

__global__ void sum_forward(float *__restrict__ coef, const float *__restrict__ x, gcb_cuda_dct d,
                            gcb_device_result *result)
{
    const uint32_t length = static_cast<uint32_t>(d.length);
    const float first = sqrtf(0.5f);

    for (uint64_t i = warp_of_grid(); i < d.count; i += warps_of_grid()) {
        const uint32_t k = static_cast<uint32_t>(i % length);
        const forward_term term = {x + (i - k), static_cast<const double *>(d.table), k, length};
        const float y = static_cast<float>(2.0 * warp_sum(length, term)) * (k ? 1.0f : first);

        if (lane() == 0) {
            coef[i] = y * d.scale;
            if (gcb_magnitude(y * d.scale) >= GCB_INF_BITS)
                set_status(&result->status, GCB_E_SEND_RAW);
        }
    }
}

__global__ void sum_inverse(float *__restrict__ x, const float *__restrict__ coef,
                            const float *__restrict__ from, gcb_cuda_dct d)
{
    const uint32_t length = static_cast<uint32_t>(d.length);

    for (uint64_t i = warp_of_grid(); i < d.count; i += warps_of_grid()) {
        const uint32_t j = static_cast<uint32_t>(i % length);
        const inverse_term term = {
            coef + (i - j), static_cast<const double *>(d.table), j, length, d.unitary, d.scale,
            sqrtf(2.0f)};
        const double sum = warp_sum(length, term);

        if (lane() == 0)
            x[i] = decoded_or_residual(from, i, static_cast<float>(sum));
    }
}

} /* namespace */

uint64_t gcb_cuda_dct_sums_bytes(uint64_t length)
{
    return 4 * length * sizeof(double);
}

void gcb_cuda_dct_sums_table(void *table, uint64_t length)
{
    const double step = acos(-1.0) / (2.0 * static_cast<double>(length));
    double *to = static_cast<double *>(table);

    for (uint64_t i = 0; i < 4 * length; i++)
        to[i] = cos(step * static_cast<double>(i));
}

int gcb_cuda_dct_sums_forward(gcb_device_stream *s, float *coef, const float *x,
                              const gcb_cuda_dct *d, gcb_device_result *result)
{
    return launch(sum_forward, grid_over(pieces_of(d->count, kWarps), kManyBlocks), kThreads, 0, s,
                  coef, x, *d, result);
}

int gcb_cuda_dct_sums_inverse(gcb_device_stream *s, float *x, const float *coef, const float *from,
                              const gcb_cuda_dct *d)
{
    return launch(sum_inverse, grid_over(pieces_of(d->count, kWarps), kManyBlocks), kThreads, 0, s,
                  x, coef, from, *d);
}
