#include "kernels/cuda/feedback.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/fft/dct_cuda.h"
#include "kernels/fft/short_real.cuh"
#include "kernels/select/chunk.cuh"
#include "kernels/select/fill.cuh"
#include "src/base/status.h"

namespace
{

using gcb::complex;
using gcb::kShortThreads;

constexpr unsigned kElements = gcb::kShortElements, kFours = gcb::kShortFours;
static_assert(kElements == GCB_CUDA_DCT_SHORT_MOST && kElements == gcb::kTile, "one block's work");

/* The three runs of a table. */
struct turns {
    const complex *fft, *split, *turn;
    unsigned m;

    __device__ turns(const struct gcb_cuda_dct &d)
        : fft(static_cast<const complex *>(d.table)), split(fft + d.length / 2),
          turn(split + d.length / 2), m(static_cast<unsigned>(d.length / 2))
    {
    }
};

struct dct_room {
    gcb::short_room fft; /* coefficients too: the same bytes, at another time */
};

struct choice_room {
    dct_room dct;
    gcb::chunk_room<gcb::kChunkEach, kShortThreads> chunk;
};

__device__ float *coefficients(dct_room &room)
{
    return &room.fft.z[0].re;
}

/*
 * Four elements that stand together are two of the complex numbers, whose real ones are evens in order, then odds in
 * reverse: number q of a chunk and number m - 1 - q.
 */
struct quad {
    unsigned first, second;

    __device__ quad(unsigned i, unsigned m)
    {
        const unsigned q = i & (m / 2 - 1), base = (i - q) * 2;

        first = base + q;
        second = base + m - 1 - q;
    }
};

__device__ void load_folded(dct_room &room, const struct gcb_device_input &in, uint64_t start,
                            unsigned m)
{
#pragma unroll
    for (unsigned i = 0; i < kFours; i++) {
        const unsigned four = threadIdx.x + i * kShortThreads;
        const quad q(four, m);
        float v[4];

        gcb::load_input(v, in, start + 4 * four);
        gcb::at(room.fft, q.first) = {v[0], v[2]};
        gcb::at(room.fft, q.second) = {v[3], v[1]};
    }
}

/* Bins k and m - k of the real transform, from those of the complex one; then the coefficients they turn to. */
struct four_coefficients {
    float k, length_k, m_k, mk; /* number k, length - k, m - k, m + k */
};

__device__ float turned(complex v, complex turn)
{
    return 2.0f * (v.re * turn.re + v.im * turn.im);
}

__device__ float turned_far(complex v, complex turn)
{
    return 2.0f * (v.re * turn.im - v.im * turn.re);
}

/* k = 0 is a pair with itself, and so is k = m / 2: one thread has both. Their four coefficients are of number 0, m, m / 2
 * and 3 m / 2. */
__device__ four_coefficients coefficients_of(gcb::short_room &room, const turns &t, unsigned base,
                                             unsigned k)
{
    const complex z = gcb::at(room, base + k);
    four_coefficients y;

    if (k == 0) {
        const complex middle = gcb::conj(gcb::at(room, base + t.m / 2)), turn = t.turn[t.m / 2];

        y.k = 2.0f * (z.re + z.im);
        y.length_k = 2.0f * ((z.re - z.im) * t.turn[t.m].re);
        y.m_k = turned(middle, turn);
        y.mk = turned_far(middle, turn);
        return y;
    }
    const gcb::complex_pair bins = gcb::split_pair(z, gcb::at(room, base + t.m - k), t.split[k]);

    y.k = turned(bins.k, t.turn[k]);
    y.length_k = turned_far(bins.k, t.turn[k]);
    y.m_k = turned(bins.m_k, t.turn[t.m - k]);
    y.mk = turned_far(bins.m_k, t.turn[t.m - k]);
    return y;
}

/* Numbers in the room to coefficients there. Every thread of the block. */
__device__ void to_coefficients(dct_room &room, const turns &t, float scale)
{
    const float first = sqrtf(0.5f);
    four_coefficients y[kFours];
    float *out = coefficients(room);

#pragma unroll
    for (unsigned i = 0; i < kFours; i++) {
        const unsigned u = threadIdx.x + i * kShortThreads, k = u & (t.m / 2 - 1);

        y[i] = coefficients_of(room.fft, t, (u - k) * 2, k);
    }
    gcb::sync_block();
#pragma unroll
    for (unsigned i = 0; i < kFours; i++) {
        const unsigned u = threadIdx.x + i * kShortThreads, k = u & (t.m / 2 - 1);
        const unsigned base = (u - k) * 4;

        out[base + k] = y[i].k * (k ? scale : scale * first);
        out[base + (k ? 2 * t.m - k : t.m)] = y[i].length_k * scale;
        out[base + (k ? t.m - k : t.m / 2)] = y[i].m_k * scale;
        out[base + (k ? t.m + k : t.m / 2 * 3)] = y[i].mk * scale;
    }
    gcb::sync_block();
}

/* The block's chunks from elements to coefficients in the room. */
__device__ void transform_block(dct_room &room, const struct gcb_device_input &in,
                                const struct gcb_cuda_dct &d)
{
    const turns t(d);

    load_folded(room, in, uint64_t{blockIdx.x} * kElements, t.m);
    gcb::sync_block();
    gcb::short_fft(room.fft, t.fft, t.m);
    to_coefficients(room, t, d.scale);
}

__global__ void short_forward(float *__restrict__ coef, struct gcb_device_input in,
                              struct gcb_cuda_dct d, gcb_device_result *result)
{
    dct_room &room = gcb::shared<dct_room>();
    const uint64_t start = uint64_t{blockIdx.x} * kElements;
    bool finite = true;

    transform_block(room, in, d);
#pragma unroll
    for (unsigned i = threadIdx.x; i < kElements; i += kShortThreads) {
        const float y = coefficients(room)[i];

        finite = finite && gcb_magnitude(y) < GCB_INF_BITS;
        if (start + i < d.count)
            coef[start + i] = y;
    }
    if (!finite)
        gcb::set_status(&result->status, GCB_E_NONFINITE);
}

/* What chunk.cuh chooses from. */
struct coefficient_chunk {
    const float *y;
    uint32_t m[gcb::kChunkEach];

    __device__ static constexpr uint32_t each()
    {
        return gcb::kChunkEach;
    }
    __device__ static constexpr uint32_t threads()
    {
        return kShortThreads;
    }
    __device__ static constexpr uint32_t count()
    {
        return kElements;
    }
    __device__ static constexpr bool has(uint32_t)
    {
        return true;
    }
    __device__ uint32_t magnitude(uint32_t e) const
    {
        return m[e];
    }
    __device__ uint32_t magnitude_at(uint32_t pos) const
    {
        return gcb_magnitude(y[pos]);
    }
    __device__ void put(float *to, uint32_t entry, uint32_t pos, float unitary) const
    {
        to[entry] = y[pos] * unitary;
    }
};

__global__ void __launch_bounds__(kShortThreads, 4)
    choose(struct gcb_cuda_chosen to, struct gcb_device_input in, struct gcb_cuda_dct d,
           struct gcb_cuda_chunks cut, gcb_device_result *result)
{
    choice_room &room = gcb::shared<choice_room>();
    coefficient_chunk c;

    transform_block(room.dct, in, d);
    c.y = coefficients(room.dct);
#pragma unroll
    for (unsigned e = 0; e < gcb::kChunkEach; e++)
        c.m[e] = c.magnitude_at(e * kShortThreads + threadIdx.x);
    gcb::choose_of_chunk(room.chunk, c, gcb::place_of(cut, to.n, blockIdx.x), to, d.unitary);
    if (threadIdx.x == 0 && room.chunk.top >= GCB_INF_BITS)
        gcb::set_status(&result->status, GCB_E_NONFINITE);
    if (blockIdx.x == 0 && threadIdx.x == 0)
        gcb::end_choice(to);
}

/* ---- back ---- */

__device__ complex bin_of(float a, float b, complex turn)
{
    return {turn.re * a + turn.im * b, turn.im * a - turn.re * b};
}

/* Two numbers of the complex transform, k and m - k (for k = 0: 0 and m / 2), from four coefficients. */
__device__ gcb::complex_pair numbers_of(const float *y, const turns &t, unsigned k)
{
    if (k == 0) {
        const complex end = t.turn[t.m];
        const float zero = y[0], last = (end.re + end.im) * y[t.m];
        const complex v = bin_of(y[t.m / 2], y[t.m / 2 * 3], t.turn[t.m / 2]);

        return {{zero - last, zero + last}, {-2.0f * v.im, 2.0f * v.re}};
    }
    return gcb::join_pair(bin_of(y[k], y[2 * t.m - k], t.turn[k]),
                          bin_of(y[t.m - k], y[t.m + k], t.turn[t.m - k]), t.split[k]);
}

__device__ void to_numbers(dct_room &room, const turns &t)
{
    gcb::complex_pair z[kFours];

#pragma unroll
    for (unsigned i = 0; i < kFours; i++) {
        const unsigned u = threadIdx.x + i * kShortThreads, k = u & (t.m / 2 - 1);

        z[i] = numbers_of(coefficients(room) + (u - k) * 4, t, k);
    }
    gcb::sync_block();
#pragma unroll
    for (unsigned i = 0; i < kFours; i++) {
        const unsigned u = threadIdx.x + i * kShortThreads, k = u & (t.m / 2 - 1);
        const unsigned base = (u - k) * 2;

        gcb::at(room.fft, base + k) = z[i].k;
        gcb::at(room.fft, base + (k ? t.m - k : t.m / 2)) = z[i].m_k;
    }
    gcb::sync_block();
}

__device__ void store_unfolded(float *x, const float *from, dct_room &room, uint64_t start,
                               const struct gcb_cuda_dct &d, unsigned m)
{
#pragma unroll
    for (unsigned i = 0; i < kFours; i++) {
        const unsigned four = threadIdx.x + i * kShortThreads;
        const quad q(four, m);
        const complex a = gcb::at(room.fft, q.first), b = gcb::at(room.fft, q.second);
        float v[4] = {a.im, b.re, a.re, b.im}; /* parts have changed places */

        if (from)
            gcb::take_from(v, from, start + 4 * four, d.count);
        gcb::store_floats(x, v, start + 4 * four, d.count);
    }
}

/* An entry of the block's coefficients to its place, scaled as numbers_of wants it. */
struct put_coefficient {
    float *room;
    unsigned last; /* of a chunk */
    float unitary;

    __device__ void operator()(uint32_t at, float y, float) const
    {
        room[at] = at & last ? y * unitary : y * unitary * sqrtf(2.0f);
    }
};

__global__ void short_inverse(float *__restrict__ x, struct gcb_cuda_entries kept,
                              const float *__restrict__ from, struct gcb_cuda_dct d)
{
    dct_room &room = gcb::shared<dct_room>();
    const uint64_t start = uint64_t{blockIdx.x} * kElements;
    const uint64_t end = start + kElements < d.count ? start + kElements : d.count;
    const turns t(d);

    for (unsigned i = threadIdx.x; i < kElements; i += kShortThreads)
        coefficients(room)[i] = 0.0f;
    gcb::sync_block();
    gcb::each_entry<1>(kept, start, end,
                       put_coefficient{coefficients(room), 2 * t.m - 1, d.unitary});
    gcb::sync_block();
    to_numbers(room, t);
    gcb::short_fft(room.fft, t.fft, t.m);
    store_unfolded(x, from, room, start, d, t.m);
}

uint64_t blocks_of(const struct gcb_cuda_dct *d)
{
    return (d->count + kElements - 1) / kElements;
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

    gcb::fill_turns(to, m, -2.0 * pi / static_cast<double>(m));
    gcb::fill_turns(to + m, m, -2.0 * pi / static_cast<double>(length));
    gcb::fill_turns(to + 2 * m, m + 1, pi / (2.0 * static_cast<double>(length)));
}

int gcb_cuda_dct_short_forward(struct gcb_device_stream *s, float *coef,
                               const struct gcb_device_input *in, const struct gcb_cuda_dct *d,
                               struct gcb_device_result *result)
{
    return gcb::launch(short_forward, blocks_of(d), kShortThreads, sizeof(dct_room), s, coef, *in,
                       *d, result);
}

int gcb_cuda_dct_choose(struct gcb_device_stream *s, const struct gcb_cuda_chosen *chosen,
                        const struct gcb_device_input *in, const struct gcb_cuda_dct *d,
                        const struct gcb_cuda_chunks *cut, struct gcb_device_result *result)
{
    return gcb::launch(choose, blocks_of(d), kShortThreads, sizeof(choice_room), s, *chosen, *in,
                       *d, *cut, result);
}

int gcb_cuda_dct_short_inverse(struct gcb_device_stream *s, float *x,
                               const struct gcb_cuda_entries *kept, const float *from,
                               const struct gcb_cuda_dct *d)
{
    return gcb::launch(short_inverse, blocks_of(d), kShortThreads, sizeof(dct_room), s, x, *kept,
                       from, *d);
}
