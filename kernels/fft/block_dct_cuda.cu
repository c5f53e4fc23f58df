#include "kernels/fft/block_dct.cuh"
#include "kernels/memory/feedback.cuh"
#include "kernels/select/entries.cuh"
#include "src/lib/base/status.h"

using namespace gcb;

namespace
{

/* ---- forward transform ---- */

template <bool Whole>
__global__ void __launch_bounds__(kBlockThreads, 5)
    block_forward(float *__restrict__ coef, gcb_device_input in, gcb_cuda_dct d,
                  gcb_device_result *result)
{
    dct_room &room = shared<dct_room>();
    const uint64_t start = uint64_t{blockIdx.x} * kDctElements;
    uint32_t top = 0;

    transform_block<Whole>(room, in, d);
#pragma unroll
    for (unsigned i = 0; i < kBlockFours; i++) {
        const unsigned four = threadIdx.x + i * kBlockThreads;
        float v[4];

        load_inside(v, coefficients(room), 4 * four);
#pragma unroll
        for (unsigned e = 0; e < 4; e++)
            top = larger(top, gcb_magnitude(v[e]));
        store_floats(coef, v, start + 4 * four, d.count);
    }
    if (top >= GCB_INF_BITS)
        set_status(&result->status, GCB_E_SEND_RAW);
}

/* ---- inverse transform ---- */

/* Numbers k and m - k of the complex transform, or 0 and m / 2. */
struct complex_pair {
    complex k, m_k;
};

/* Makes numbers 0 and m / 2, times two and with their parts swapped (join_pair), from coefficients
 * 0, m / 2, m and 3 m / 2. */
__device__ complex_pair numbers_of_ends(const float *y, const dct_twiddles &t)
{
    const complex end = t.rotation[t.m];
    const float zero = y[0], last = (end.re + end.im) * y[t.m];
    const complex v = unrotate(y[t.m / 2], y[t.m / 2 * 3], t.rotation[t.m / 2]);

    return {{zero - last, zero + last}, {-2.0f * v.im, 2.0f * v.re}};
}

/* Makes numbers k and m - k, times two and with their parts swapped, from coefficients k, m - k,
 * m + k and 2 m - k. */
__device__ complex_pair numbers_of(const float *y, const dct_twiddles &t, unsigned k)
{
    const float *const up = y + k, *const down = y + (t.m - k);
    complex_pair z;

    join_pair(unrotate(up[0], down[t.m], t.rotation[k]),
              unrotate(down[0], up[t.m], *(t.rotation + (t.m - k))), t.split[k], &z.k, &z.m_k);
    return z;
}

/* The pair that a thread handles in step i: numbers k and m - k of the transform that begins at
 * number `base`. */
template <bool Whole> struct number_place {
    unsigned k, base;
    bool ends; /* k is 0: the pair is 0 and m / 2 */

    __device__ number_place(unsigned i, unsigned m)
    {
        const unsigned u = threadIdx.x + i * kBlockThreads;

        k = Whole ? u : u & (m / 2 - 1);
        base = Whole ? 0 : (u - k) * 2;
        ends = Whole ? i == 0 && threadIdx.x == 0 : k == 0;
    }
};

/* Replaces the coefficients in `room` by the numbers of the FFT. Called by every thread of the
 * block; ends with a barrier. */
template <bool Whole>
__device__ __forceinline__ void coefficients_to_numbers(dct_room &room, const dct_twiddles &t)
{
    complex_pair z[kBlockFours];

#pragma unroll
    for (unsigned i = 0; i < kBlockFours; i++) {
        const number_place<Whole> p(i, t.m);
        const float *const y = coefficients(room) + 2 * p.base;

        z[i] = p.ends ? numbers_of_ends(y, t) : numbers_of(y, t, p.k);
    }
    sync_block();
#pragma unroll
    for (unsigned i = 0; i < kBlockFours; i++) {
        const number_place<Whole> p(i, t.m);

        at(room.fft, p.base + p.k) = z[i].k;
        at(room.fft, p.base + (p.ends ? t.m / 2 : t.m - p.k)) = z[i].m_k;
    }
    sync_block();
}

/* The output, and the tensor that it is subtracted from. */
struct output {
    float *x;
    const float *from; /* NULL: nothing to subtract from */
    uint64_t start, count;

    /* Stores elements 4 * four to 4 * four + 3. They come from numbers q and m - 1 - q (dct_quad),
     * a and b, whose real and imaginary parts are swapped. If Inside, all four elements exist. */
    template <bool Inside> __device__ void store(unsigned four, complex a, complex b) const
    {
        float v[4] = {a.im, b.re, a.re, b.im};
        const uint64_t first = start + 4 * four;

        if (from)
            subtract_run(v, from, first, Inside ? first + 4 : count);
        store_floats(x, v, first, Inside ? first + 4 : count);
    }
};

__device__ void store_unfolded(const output &to, dct_room &room, unsigned m)
{
#pragma unroll
    for (unsigned i = 0; i < kBlockFours; i++) {
        const unsigned four = threadIdx.x + i * kBlockThreads;
        const dct_quad q(four, m);

        to.store<false>(four, at(room.fft, q.first), at(room.fft, q.second));
    }
}

/* Transforms all numbers of the block as one, and stores the elements from the registers of the
 * last round. Called by every thread of the block, after a barrier. */
__device__ void transform_whole(const output &to, dct_room &room, const complex *twiddles)
{
    constexpr unsigned kPart = kLastPart;
    const unsigned near = threadIdx.x, far = kPart - 1 - near;
    last_pair v;

    fft_round<8, true>(room.fft, twiddles, kBlockPoints, 1);
    middle_rounds(room.fft, twiddles);
    read_last_pair(&v, room.fft, twiddles, near, far);
    to.store<true>(near, v.near[0], v.far[3]);
    to.store<true>(near + kPart, v.near[1], v.far[2]);
    to.store<true>(far + kPart, v.far[1], v.near[2]);
    to.store<true>(far, v.far[0], v.near[3]);
}

/* Puts a coefficient into the block's room, in the scale that numbers_of expects. */
struct put_coefficient {
    float *room;
    unsigned last; /* last index of a chunk, used as a mask */
    float unitary;

    __device__ void operator()(uint32_t at, float y, float) const
    {
        room[at] = at & last ? y * unitary : y * unitary * sqrtf(2.0f);
    }
};

/* Fills the block's room with the message's coefficients from position `start` on; 0 if a
 * coefficient was not kept. Called by every thread of the block; ends with a barrier. */
__device__ void fill_coefficients(dct_room &room, const gcb_cuda_entries &kept,
                                  const gcb_cuda_dct &d, uint64_t start)
{
    const uint64_t end = lesser<uint64_t>(start + kDctElements, d.count);
    const unsigned last = static_cast<unsigned>(d.length) - 1;
    float4 *to = reinterpret_cast<float4 *>(coefficients(room));

#pragma unroll
    for (unsigned i = 0; i < kBlockFours; i++)
        to[threadIdx.x + i * kBlockThreads] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    sync_block();
    each_entry<1>(kept, start, end, put_coefficient{coefficients(room), last, d.unitary});
    sync_block();
}

template <bool Whole>
__global__ void __launch_bounds__(kBlockThreads, 5)
    block_inverse(float *__restrict__ x, gcb_cuda_entries kept, const float *__restrict__ from,
                  gcb_cuda_dct d)
{
    dct_room &room = shared<dct_room>();
    const uint64_t start = uint64_t{blockIdx.x} * kDctElements;
    const dct_twiddles t(d, half_of<Whole>(d.length));
    const output to = {x, from, start, d.count};

    fill_coefficients(room, kept, d, start);
    coefficients_to_numbers<Whole>(room, t);
    if (Whole) {
        transform_whole(to, room, t.fft);
    } else {
        block_fft(room.fft, t.fft, t.m);
        store_unfolded(to, room, t.m);
    }
}

} /* namespace */

uint64_t gcb_cuda_dct_block_bytes(uint64_t length)
{
    return (3 * (length / 2) + 1) * sizeof(complex);
}

void gcb_cuda_dct_block_table(void *table, uint64_t length)
{
    const uint64_t m = length / 2;
    complex *to = static_cast<complex *>(table);

    fill_rounds(to, m);
    fill_twiddles(to + m, m, length - 1, length);
    fill_twiddles(to + 2 * m, m + 1, 1, 4 * length);
}

int gcb_cuda_dct_block_forward(gcb_device_stream *s, float *coef, const gcb_device_input *in,
                               const gcb_cuda_dct *d, gcb_device_result *result)
{
    return launch(d->length == kDctElements ? block_forward<true> : block_forward<false>,
                  pieces_of(d->count, kDctElements), kBlockThreads, sizeof(dct_room), s, coef, *in,
                  *d, result);
}

int gcb_cuda_dct_block_inverse(gcb_device_stream *s, float *x, const gcb_cuda_entries *kept,
                               const float *from, const gcb_cuda_dct *d)
{
    return launch(d->length == kDctElements ? block_inverse<true> : block_inverse<false>,
                  pieces_of(d->count, kDctElements), kBlockThreads, sizeof(dct_room), s, x, *kept,
                  from, *d);
}
