#include "kernels/hadamard/hadamard_cuda.h"

#include "kernels/cuda/tile.cuh"
#include "kernels/hadamard/hadamard_elem.h"
#include "kernels/memory/feedback.cuh"
#include "kernels/philox/philox_elem.h"
#include "src/lib/base/status.h"

#include <math.h>

using namespace gcb;

namespace
{

constexpr unsigned kStages = 4;             /* stages among a thread's 16 values */
constexpr unsigned kSignWords = kTile / 32; /* words of a tile's sign bits */
static_assert(kTileEach == 1u << kStages, "kStages stages must use all values of a thread");

/* Arguments of one call. */
struct job {
    uint64_t n, length;
    const uint8_t *side; /* inverse: address of the key */
    const float *from;   /* inverse: elements are subtracted from this; NULL: they are stored */
    uint64_t key;        /* forward: the key */
    float unitary;       /* inverse: factor of coefficients */
    uint32_t unused;     /* makes the padding explicit, so that every byte of the argument is set */
};

/* What a pass does besides its stages. The first pass (tile_pass) flips signs (forward) or scales
 * (inverse). The last pass scales shorter pieces and, in the inverse, flips signs and subtracts the
 * elements from job.from. */
struct pass {
    bool inverse, last;
};

/* The key of the signs; an inverse reads it from the payload. */
__device__ uint64_t key_of(const job &j, bool inverse)
{
    return inverse ? static_cast<uint64_t>(get_u32(j.side + 4)) << 32 | get_u32(j.side) : j.key;
}

/* Sign bits of the 32 elements from `first` (a multiple of 32) on. */
__device__ uint32_t signs_of(uint64_t key, uint64_t first)
{
    const gcb_philox_block b = gcb_philox(key, first / 128, 0);
    const bool odd = first / 32 % 2 != 0, upper = first / 64 % 2 != 0;
    const uint32_t low = odd ? b.word[1] : b.word[0], high = odd ? b.word[3] : b.word[2];

    return upper ? high : low; /* an index would put the words into local memory */
}

/* Brings an element of a shorter piece to the scale of the whole pieces. */
__device__ float scale_piece(float x, const job &j, uint64_t i)
{
    const uint64_t piece = gcb_hadamard_piece(j.n, j.length, i);

    if (piece == j.length)
        return x;
    return x * static_cast<float>(sqrt(static_cast<double>(j.length) / static_cast<double>(piece)));
}

/*
 * Does `Stages` stages, of distance `half`, 2 * half, ..., among v. Element e of v is element
 * at + e * half of the message. A pair is joined only if both elements are in one piece.
 */
template <unsigned Stages>
__device__ void run_stages(float (&v)[kTileEach], const job &j, uint64_t at, uint64_t half)
{
    const uint64_t end = at + (kTileEach - 1) * half;
    const bool whole = end < (j.n & ~(j.length - 1));

#pragma unroll
    for (unsigned stage = 0; stage < Stages; stage++) {
        const unsigned apart = 1u << stage;

#pragma unroll
        for (unsigned e = 0; e < kTileEach; e++) {
            const uint64_t i = at + e * half;

            if (e & apart)
                continue;
            if (whole ? apart * half < j.length
                      : i < j.n && apart * half < gcb_hadamard_piece(j.n, j.length, i))
                gcb_hadamard_pair(&v[e], &v[e + apart]);
        }
    }
}

/* ---- a tile: distances below 4096 ---- */

/* Shared memory: a tile's values while they are rearranged, and its sign bits. */
struct tile_signs {
    float v[kTile + kTile / 32]; /* one float of padding after every 32, against bank conflicts */
    uint32_t sign[kSignWords];
};

/* The place of value i in tile_signs.v. */
__device__ unsigned padded(unsigned i)
{
    return i + i / 32;
}

/* The index in the tile of this thread's element e, in arrangement `round`. A thread has a run of
 * 16 elements in arrangement 0, every 16th element of 256 in arrangement 1, and every 256th element
 * in arrangement 2. So each arrangement gives it the partners of four more stages. */
__device__ unsigned element_index(unsigned round, unsigned e)
{
    const unsigned t = threadIdx.x;

    if (round == 0)
        return t * 16 + e;
    return round == 1 ? t / 16 * 256 + e * 16 + t % 16 : e * 256 + t;
}

/* Exchanges elements between threads: from arrangement `round` to the next. Called by every thread
 * of the block. */
__device__ void rearrange(tile_signs &room, float (&v)[kTileEach], unsigned round)
{
#pragma unroll
    for (unsigned e = 0; e < kTileEach; e++)
        room.v[padded(element_index(round, e))] = v[e];
    sync_block();
#pragma unroll
    for (unsigned e = 0; e < kTileEach; e++)
        v[e] = room.v[padded(element_index(round + 1, e))];
    sync_block();
}

/* Reads this thread's run of the tile at `start`. Scales it (inverse) or flips signs (forward). */
__device__ void load_run(float (&v)[kTileEach], const gcb_device_input &from, uint64_t start,
                         const tile_signs &room, const job &j, const pass &p)
{
    const unsigned mine = threadIdx.x * kTileEach;
    const uint32_t bits = p.inverse ? 0 : room.sign[mine / 32] >> mine % 32;

    load_input(v, from, start + mine);
#pragma unroll
    for (unsigned e = 0; e < kTileEach; e++)
        v[e] = p.inverse ? v[e] * j.unitary : gcb_hadamard_flip(v[e], bits >> e & 1);
}

/* Does the stages of distances 1 to 2048. Each block handles a tile. If `side` is not NULL, the key
 * is written there. If `result` is not NULL and a value is not finite, sets result->status. */
__global__ void tile_pass(float *to, gcb_device_input from, job j, pass p, uint8_t *side,
                          gcb_device_result *result)
{
    tile_signs &room = shared<tile_signs>();
    const uint64_t start = uint64_t{blockIdx.x} * kTile, key = key_of(j, p.inverse);
    float v[kTileEach];
    bool bad = false;

    if (side && blockIdx.x == 0 && threadIdx.x < GCB_CUDA_HADAMARD_SIDE)
        side[threadIdx.x] = static_cast<uint8_t>(key >> 8 * threadIdx.x);
    if (threadIdx.x < kSignWords)
        room.sign[threadIdx.x] = signs_of(key, start + threadIdx.x * 32);
    sync_block();
    load_run(v, from, start, room, j, p);
    run_stages<kStages>(v, j, start + element_index(0, 0), 1);
    rearrange(room, v, 0);
    run_stages<kStages>(v, j, start + element_index(1, 0), 16);
    rearrange(room, v, 1);
    run_stages<kStages>(v, j, start + element_index(2, 0), 256);
#pragma unroll
    for (unsigned e = 0; e < kTileEach; e++) {
        const unsigned i = element_index(2, e);
        const uint64_t at = start + i;

        if (at >= j.n)
            continue;
        if (p.last)
            v[e] = scale_piece(v[e], j, at);
        if (p.last && p.inverse)
            v[e] = gcb_hadamard_flip(v[e], room.sign[i / 32] >> i % 32 & 1);
        bad |= gcb_magnitude(v[e]) >= GCB_INF_BITS;
        to[at] = decoded_or_residual(p.last ? j.from : nullptr, at, v[e]);
    }
    if (bad && result)
        set_status(&result->status, GCB_E_SEND_RAW);
}

/* ---- distances of a tile and more ---- */

/* Does the stages of distances `half` to 8 * half that the pieces have. Each thread handles 16
 * elements that are `half` apart; neighbouring threads handle neighbouring elements. */
__global__ void strided_pass(float *to, const float *from, job j, pass p, uint64_t half,
                             gcb_device_result *result)
{
    const uint64_t column = thread_of_grid();
    const uint64_t at = column / half * half * kTileEach + column % half;
    const uint64_t key = p.last && p.inverse ? key_of(j, true) : 0;
    uint32_t signs = 0; /* in lane e: the sign bits of element e of each of the warp's threads */
    float v[kTileEach];
    bool bad = false;

    if (p.last && p.inverse && lane() < kTileEach)
        signs = signs_of(key, at - lane() + lane() * half);
#pragma unroll
    for (unsigned e = 0; e < kTileEach; e++)
        v[e] = at + e * half < j.n ? from[at + e * half] : 0.0f;
    run_stages<kStages>(v, j, at, half);
#pragma unroll
    for (unsigned e = 0; e < kTileEach; e++) {
        const uint32_t minus = shfl(signs, e) >> lane() & 1;
        const uint64_t i = at + e * half;

        if (i >= j.n)
            continue;
        if (p.last)
            v[e] = gcb_hadamard_flip(scale_piece(v[e], j, i), minus);
        bad |= gcb_magnitude(v[e]) >= GCB_INF_BITS;
        to[i] = decoded_or_residual(p.last ? j.from : nullptr, i, v[e]);
    }
    if (bad && result)
        set_status(&result->status, GCB_E_SEND_RAW);
}

/* Queues all passes; `between` holds the values between two passes. */
int transform(gcb_device_stream *s, float *to, float *between, const gcb_device_input &from,
              const job &j, bool inverse, uint8_t *side, gcb_device_result *result)
{
    const bool one = j.length <= kTile;

    launch(tile_pass, blocks_over(j.n, kTile), kTileThreads, sizeof(tile_signs), s,
           one ? to : between, from, j, pass{inverse, one}, side, one ? result : nullptr);
    for (uint64_t half = kTile; half < j.length; half *= kTileEach) {
        const bool last = half * kTileEach >= j.length;
        const uint64_t groups = pieces_of(j.n, half * kTileEach);

        launch(strided_pass, groups * (half / kTileThreads), kTileThreads, 0, s,
               last ? to : between, between, j, pass{inverse, last}, half, last ? result : nullptr);
    }
    return status_of(s);
}

} /* namespace */

int gcb_cuda_hadamard_forward(gcb_device_stream *s, float *coef, const gcb_device_input *in,
                              uint64_t length, uint64_t key, uint8_t *side,
                              gcb_device_result *result)
{
    const job j = {in->n, length, nullptr, nullptr, key, 1.0f, 0};

    return transform(s, coef, coef, *in, j, false, side, result);
}

int gcb_cuda_hadamard_inverse(gcb_device_stream *s, float *out, float *coef, uint64_t n,
                              const gcb_cuda_hadamard_inversion *how)
{
    const job j = {n, how->length, how->side, how->from, 0, how->unitary, 0};

    return transform(s, out, coef, gcb_device_plain(coef, n), j, true, nullptr, nullptr);
}
