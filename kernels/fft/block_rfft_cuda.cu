#include "kernels/fft/block_rfft.cuh"
#include "kernels/memory/feedback.cuh"
#include "kernels/select/entries.cuh"

using namespace gcb;

namespace
{

static_assert(kBlockElements == GCB_CUDA_FFT_BLOCK_MOST, "one block must handle the longest chunk");

/* The index in memory of the bin at place u of this block. (If this is the first bin of a chunk,
 * the last bin, which shares the place, is m after it.) */
__device__ uint64_t bin_at(unsigned u, unsigned m)
{
    const unsigned k = u & (m - 1), chunk = (u - k) / m;

    return (blockIdx.x * uint64_t{kBlockPoints / m} + chunk) * (m + 1) + k;
}

template <bool Whole>
__global__ void __launch_bounds__(kBlockThreads, 5)
    block_forward(float2 *__restrict__ bins, gcb_device_input in, gcb_cuda_block_fft f,
                  gcb_device_result *most)
{
    block_fft_room &room = shared<block_fft_room>();
    const fft_twiddles t(f, half_of<Whole>(f.length));
    /* places that belong to existing chunks */
    const unsigned places =
        elements_from(f.count, blockIdx.x * uint64_t{kBlockElements}, kBlockElements) / 2;
    uint32_t top = transform_to_bins<Whole>(room, t, in, blockIdx.x * uint64_t{kBlockElements});

    for (unsigned u = threadIdx.x; u < places; u += kBlockThreads) {
        const complex z = at(room, u);
        const uint64_t to = bin_at(u, t.m);
        const bool first = (u & (t.m - 1)) == 0;

        bins[to] = make_float2(z.re, first ? 0.0f : z.im);
        if (first)
            bins[to + t.m] = make_float2(z.im, 0.0f);
    }
    raise_by_warp(&most->max_bits, top);
}

/* ---- inverse transform ---- */

/* Makes numbers 0 and m / 2, times two and with their parts swapped (join_pair), in place. The
 * first place has the real parts of bins 0 and m; the second has bin m / 2. */
__device__ void join_ends(complex &zero, complex &middle)
{
    zero = {zero.re - zero.im, zero.re + zero.im};
    middle = {-2.0f * middle.im, 2.0f * middle.re};
}

/* Replaces the block's bins by the numbers of the FFT. Called by every thread of the block; ends
 * with a barrier. */
template <bool Whole>
__device__ __forceinline__ void bins_to_numbers(block_fft_room &room, const fft_twiddles &t)
{
#pragma unroll
    for (unsigned i = 0; i < kBlockFours; i++) {
        const unsigned u = threadIdx.x + i * kBlockThreads, k = Whole ? u : u & (t.m / 2 - 1);
        const unsigned base = Whole ? 0 : (u - k) * 2;
        const bool ends = Whole ? i == 0 && threadIdx.x == 0 : k == 0;
        complex &near = at(room, base + k), &far = at(room, base + (ends ? t.m / 2 : t.m - k));

        if (ends)
            join_ends(near, far);
        else
            join_pair(near, far, t.split[k], &near, &far);
    }
    sync_block();
}

/* Puts a bin at its place in the block's room, in unitary scale. */
struct put_bin {
    block_fft_room *room;
    unsigned m;
    float unitary;

    __device__ void operator()(uint32_t bin, float re, float im) const
    {
        const unsigned chunk = bin / (m + 1), k = bin - chunk * (m + 1);
        complex &z = at(*room, chunk * m + (k & (m - 1)));

        if (k == 0)
            z.re = re * unitary;
        else if (k == m)
            z.im = re * unitary;
        else
            z = {re * unitary, im * unitary};
    }
};

/* Fills the block's room with the message's bins; 0 if a bin was not kept. Called by every thread
 * of the block; a barrier must follow. */
__device__ void fill_bins(block_fft_room &room, const gcb_cuda_entries &kept,
                          const gcb_cuda_block_fft &f, float unitary)
{
    const unsigned m = static_cast<unsigned>(f.length / 2);
    const uint64_t per = kBlockPoints / m * (m + 1), all = f.count / f.length * (m + 1);
    const uint64_t from = blockIdx.x * per, end = lesser(from + per, all);

    for (unsigned u = threadIdx.x; u < kBlockPoints; u += kBlockThreads)
        at(room, u) = {0.0f, 0.0f};
    sync_block();
    each_entry<2>(kept, from, end, put_bin{&room, m, unitary});
}

/* Stores the block's numbers as elements or, if `from` is not NULL, stores from - element. */
__device__ void store_numbers(float *__restrict__ x, const float *__restrict__ from,
                              block_fft_room &room, uint64_t start, uint64_t count)
{
#pragma unroll
    for (unsigned i = 0; i < kBlockFours; i++) {
        const unsigned four = threadIdx.x + i * kBlockThreads;
        const complex a = at(room, 2 * four), b = at(room, 2 * four + 1);
        float v[4] = {a.im, a.re, b.im, b.re}; /* real and imaginary parts are swapped */

        if (from)
            subtract_run(v, from, start + 4 * four, count);
        store_floats(x, v, start + 4 * four, count);
    }
}

/* Transforms all numbers of the block as one, and stores the elements from the registers of the
 * last round or, if `from` is not NULL, stores from - element. x and from point to the block's
 * first element. Called by every thread of the block, after a barrier. */
__device__ void transform_whole(float *__restrict__ x, const float *__restrict__ from,
                                block_fft_room &room, const complex *twiddles)
{
    last_pair v;
    float2 *to = reinterpret_cast<float2 *>(x) + threadIdx.x;

    fft_round<8, true>(room, twiddles, kBlockPoints, 1);
    middle_rounds(room, twiddles);
    read_last_pair(&v, room, twiddles, threadIdx.x, threadIdx.x + kBlockThreads);
#pragma unroll
    for (unsigned i = 0; i < kBlockEach; i++) {
        const complex z = i % 2 ? v.far[i / 2] : v.near[i / 2];
        float2 two = make_float2(z.im, z.re);

        if (from) {
            const float2 was =
                reinterpret_cast<const float2 *>(from)[threadIdx.x + i * kBlockThreads];

            two = make_float2(was.x - two.x, was.y - two.y);
        }
        to[i * kBlockThreads] = two;
    }
}

template <bool Whole>
__global__ void __launch_bounds__(kBlockThreads, 5)
    block_inverse(float *__restrict__ x, gcb_cuda_entries kept, gcb_cuda_block_fft f,
                  gcb_cuda_fft_inversion how)
{
    block_fft_room &room = shared<block_fft_room>();
    const fft_twiddles t(f, half_of<Whole>(f.length));
    const uint64_t start = blockIdx.x * uint64_t{kBlockElements};

    fill_bins(room, kept, f, how.unitary);
    sync_block();
    bins_to_numbers<Whole>(room, t);
    if (Whole) {
        transform_whole(x + start, how.from ? how.from + start : nullptr, room, t.fft);
    } else {
        block_fft(room, t.fft, t.m);
        store_numbers(x, how.from, room, start, f.count);
    }
}

} /* namespace */

uint64_t gcb_cuda_fft_block_bytes(uint64_t length)
{
    return length * sizeof(complex);
}

void gcb_cuda_fft_block_table(void *table, uint64_t length)
{
    const uint64_t m = length / 2;
    complex *to = static_cast<complex *>(table);

    fill_rounds(to, m);
    fill_twiddles(to + m, m, length - 1, length);
}

int gcb_cuda_fft_block_forward(gcb_device_stream *s, float *bins, const gcb_device_input *in,
                               const gcb_cuda_block_fft *f, gcb_device_result *most)
{
    float2 *to = reinterpret_cast<float2 *>(bins);

    return launch(f->length == kBlockElements ? block_forward<true> : block_forward<false>,
                  pieces_of(f->count, kBlockElements), kBlockThreads, sizeof(block_fft_room), s, to,
                  *in, *f, most);
}

int gcb_cuda_fft_block_inverse(gcb_device_stream *s, float *x, const gcb_cuda_entries *kept,
                               const gcb_cuda_block_fft *f, const gcb_cuda_fft_inversion *how)
{
    return launch(f->length == kBlockElements ? block_inverse<true> : block_inverse<false>,
                  pieces_of(f->count, kBlockElements), kBlockThreads, sizeof(block_fft_room), s, x,
                  *kept, *f, *how);
}
