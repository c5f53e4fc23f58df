#include "kernels/cuda/launch.cuh"
#include "kernels/fft/dct_forward.cuh"
#include "src/lib/base/status.h"

namespace
{

using gcb::complex;
using gcb::dct_room;
using gcb::kDctElements;
using gcb::kShortThreads;

template <bool Whole>
__global__ void __launch_bounds__(kShortThreads, 5)
    short_forward(float *__restrict__ coef, struct gcb_device_input in, struct gcb_cuda_dct d,
                  gcb_device_result *result)
{
    dct_room &room = gcb::shared<dct_room>();
    const uint64_t start = uint64_t{blockIdx.x} * kDctElements;
    uint32_t top = 0;

    gcb::transform_block<Whole>(room, in, d);
#pragma unroll
    for (unsigned i = 0; i < gcb::kShortFours; i++) {
        const unsigned four = threadIdx.x + i * kShortThreads;
        float v[4];

        gcb::load_inside(v, gcb::coefficients(room), 4 * four);
#pragma unroll
        for (unsigned e = 0; e < 4; e++)
            top = gcb_magnitude(v[e]) > top ? gcb_magnitude(v[e]) : top;
        gcb::store_floats(coef, v, start + 4 * four, d.count);
    }
    if (top >= GCB_INF_BITS)
        gcb::set_status(&result->status, GCB_E_SEND_RAW);
}

uint64_t blocks_of(const struct gcb_cuda_dct *d)
{
    return (d->count + kDctElements - 1) / kDctElements;
}

} /* namespace */

uint64_t gcb_cuda_dct_short_bytes(uint64_t length)
{
    return (3 * (length / 2) + 1) * sizeof(complex);
}

void gcb_cuda_dct_short_table(void *table, uint64_t length)
{
    const uint64_t m = length / 2;
    const double pi = acos(-1.0);
    complex *to = static_cast<complex *>(table);

    gcb::fill_rounds(to, m);
    gcb::fill_turns(to + m, m, -2.0 * pi / static_cast<double>(length));
    gcb::fill_turns(to + 2 * m, m + 1, pi / (2.0 * static_cast<double>(length)));
}

int gcb_cuda_dct_short_forward(struct gcb_device_stream *s, float *coef,
                               const struct gcb_device_input *in, const struct gcb_cuda_dct *d,
                               struct gcb_device_result *result)
{
    return d->length == kDctElements
               ? gcb::launch(short_forward<true>, blocks_of(d), kShortThreads, sizeof(dct_room), s,
                             coef, *in, *d, result)
               : gcb::launch(short_forward<false>, blocks_of(d), kShortThreads, sizeof(dct_room), s,
                             coef, *in, *d, result);
}
