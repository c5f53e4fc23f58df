#ifndef KERNELS_SELECT_CHUNK_CUH
#define KERNELS_SELECT_CHUNK_CUH

/*
 * The k largest magnitudes of a chunk, a block's work (src/sparse/select_chunk.c): where registers hold it, the range of
 * magnitudes is halved by counting what reaches its middle, until exactly k do, or one magnitude is left, whose first ones
 * fill up; once few are in question, they are counted apart, one a thread. A warp has a stretch of the chunk, its lanes
 * every 32nd of that, so ranks follow from ballots. No result depends on how many threads there are.
 */
#include "kernels/cuda/scan.cuh"
#include "kernels/cuda/sum.cuh"
#include "kernels/cuda/tile.cuh"
#include "kernels/hd.h"
#include "kernels/select/chunk_cuda.h"

namespace gcb
{

constexpr unsigned kChunkEach = 16; /* of a thread's, where they stay in registers */

constexpr unsigned kChunkFew = 256;

struct chunk_room {
    scan_room scan;
    uint32_t warp[2][32];
    uint32_t few[kChunkFew]; /* magnitudes */
};

/* Where a chunk stands, and what is wanted of it. */
struct chunk_place {
    uint32_t from, count; /* positions */
    uint32_t k;           /* 1 <= k <= count */
    uint32_t entry;       /* of the list, the first of this chunk */
};

/* A chunk in registers: 16 elements a thread. */
struct near_chunk {
    float v[kChunkEach];
    uint32_t count;

    __device__ static constexpr uint32_t each()
    {
        return kChunkEach;
    }
    __device__ uint32_t index(uint32_t e) const
    {
        return threadIdx.x / kWarp * (kChunkEach * kWarp) + e * kWarp + lane();
    }
    __device__ uint32_t magnitude(uint32_t e) const /* 0 of one that there is not */
    {
        return gcb_magnitude(v[e]);
    }
    __device__ void put(float *to, uint32_t entry, uint32_t e, float unitary) const
    {
        to[entry] = v[e] * unitary;
    }
};

/* Sum, or the largest, over the block of what each thread brings; `turn` alternates between calls, which saves a
 * barrier. */
__device__ __forceinline__ uint32_t block_add(chunk_room &room, uint32_t v, unsigned turn)
{
    uint32_t sum = 0;

    v = warp_add(v);
    if (lane() == 0)
        room.warp[turn % 2][threadIdx.x / kWarp] = v;
    sync_block();
    for (unsigned w = 0; w < blockDim.x / kWarp; w++)
        sum += room.warp[turn % 2][w];
    return sum;
}

__device__ __forceinline__ uint32_t block_max(chunk_room &room, uint32_t v, unsigned turn)
{
    uint32_t most = 0;

    v = warp_max(v);
    if (lane() == 0)
        room.warp[turn % 2][threadIdx.x / kWarp] = v;
    sync_block();
    for (unsigned w = 0; w < blockDim.x / kWarp; w++)
        most = room.warp[turn % 2][w] > most ? room.warp[turn % 2][w] : most;
    return most;
}

/* What is kept: all that reach `sure`, and the first `ties` that equal sure - 1. */
struct chunk_cut {
    uint32_t sure, ties;

    __device__ uint32_t least() const /* no magnitude that is kept is below this */
    {
        return ties ? sure - 1 : sure;
    }
};

/* A search for the k-th largest magnitude, the same in every thread: at least k reach `low`, fewer than k `high`. */
struct chunk_search {
    uint32_t low, high, reach, over; /* how many reach `low` and `high` */

    __device__ bool goes_on(uint32_t k) const
    {
        return high - low > 1 && reach != k;
    }
    __device__ void halve(uint32_t middle, uint32_t count, uint32_t k)
    {
        if (count < k) {
            high = middle;
            over = count;
        } else {
            low = middle;
            reach = count;
        }
    }
};

/* Until few are in question. From the largest down in octaves, twice as many each time, for those kept are rarely far from
 * it; then by halves. */
template <class Chunk>
__device__ void search_all(chunk_room &room, const Chunk &c, chunk_search *s, uint32_t k,
                           uint32_t few)
{
    uint32_t down = 1u << 23, turn = 1;

    while (s->goes_on(k) && s->reach - s->over > few) {
        const uint32_t half = (s->high - s->low) / 2;
        const uint32_t middle = s->low == 0 && down < half ? s->high - down : s->low + half;
        uint32_t mine = 0;

#pragma unroll
        for (uint32_t e = 0; e < c.each(); e++)
            mine += c.magnitude(e) >= middle;
        s->halve(middle, block_add(room, mine, turn++), k);
        down *= down < half ? 2 : 1;
    }
}

/* The rest, those in question being one a thread at most; magnitude 0 has no part in it. */
template <class Chunk>
__device__ void search_few(chunk_room &room, const Chunk &c, chunk_search *s, uint32_t k)
{
    const uint32_t from = s->low ? s->low : 1, to = s->high, over = s->over;
    uint32_t mine = 0, total, at;

#pragma unroll
    for (uint32_t e = 0; e < c.each(); e++)
        mine += c.magnitude(e) - from < to - from;
    at = scan_block(room.scan, mine, &total);
#pragma unroll
    for (uint32_t e = 0; e < c.each(); e++)
        if (c.magnitude(e) - from < to - from)
            room.few[at++] = c.magnitude(e);
    sync_block();
    mine = threadIdx.x < total ? room.few[threadIdx.x] : 0;
    while (s->goes_on(k)) {
        const uint32_t middle = s->low + (s->high - s->low) / 2;

        s->halve(middle, over + count_block(mine >= middle), k);
    }
}

template <class Chunk> __device__ chunk_cut find_cut(chunk_room &room, const Chunk &c, uint32_t k)
{
    chunk_search s = {0, 0, c.count, 0};
    uint32_t most = 0;

#pragma unroll
    for (uint32_t e = 0; e < c.each(); e++)
        most = c.magnitude(e) > most ? c.magnitude(e) : most;
    s.high = block_max(room, most, 0) + 1;
    search_all(room, c, &s, k, blockDim.x < kChunkFew ? blockDim.x : kChunkFew);
    if (s.goes_on(k))
        search_few(room, c, &s, k);
    sync_block();
    if (s.reach == k)
        return {s.low, 0};
    return {s.high, k - s.over};
}

/* How many ties the warps in front of this one have. Every thread of the block. */
template <class Chunk>
__device__ uint32_t ties_before(chunk_room &room, const Chunk &c, const chunk_cut &cut)
{
    uint32_t mine = 0, total;

    if (cut.ties == 0)
        return 0;
#pragma unroll
    for (uint32_t e = 0; e < c.each(); e++)
        mine += c.index(e) < c.count && c.magnitude(e) == cut.sure - 1;
    mine = scan_block(room.scan, mine, &total);
    return shfl(mine, 0);
}

/* Is element e kept? *ties: how many stand in front of the warp's 32, and then of its next. Every lane. */
template <class Chunk>
__device__ bool is_kept(const Chunk &c, const chunk_cut &cut, uint32_t e, uint32_t *ties)
{
    const bool there = c.index(e) < c.count;
    const uint32_t m = c.magnitude(e);
    uint32_t tied;
    bool kept;

    if (cut.ties == 0)
        return there && m >= cut.sure;
    tied = ballot(there && m == cut.sure - 1);
    kept = there &&
           (m >= cut.sure || (m == cut.sure - 1 && *ties + popc(tied & lanes_before()) < cut.ties));
    *ties += popc(tied);
    return kept;
}

/*
 * Writes what is kept of the chunk: its entries, each value times `unitary`, and where the tiles that begin in it have
 * theirs. Every thread of the block; Chunk is near_chunk, or has what that has.
 */
template <class Chunk>
__device__ void write_of_chunk(chunk_room &room, const Chunk &c, const chunk_cut &cut,
                               const chunk_place &place, const struct gcb_cuda_chosen &to,
                               float unitary)
{
    const uint32_t tied = ties_before(room, c, cut);
    uint32_t ties = tied, mine = 0, total, at;

#pragma unroll
    for (uint32_t e = 0; e < c.each(); e++)
        mine += is_kept(c, cut, e, &ties);
    at = place.entry + shfl(scan_block(room.scan, mine, &total), 0);
    ties = tied;
#pragma unroll
    for (uint32_t e = 0; e < c.each(); e++) {
        const bool kept = is_kept(c, cut, e, &ties);
        const uint32_t all = ballot(kept), rank = at + popc(all & lanes_before());
        const uint32_t pos = place.from + c.index(e);

        if (kept) {
            to.pos[rank] = pos;
            c.put(to.value, rank, e, unitary);
        }
        if (c.index(e) < c.count && pos % kTile == 0)
            to.first[pos / kTile] = rank;
        at += popc(all);
    }
}

/* Chooses and writes. */
template <class Chunk>
__device__ chunk_cut choose_of_chunk(chunk_room &room, const Chunk &c, const chunk_place &place,
                                     const struct gcb_cuda_chosen &to, float unitary)
{
    const chunk_cut cut = find_cut(room, c, place.k);

    write_of_chunk(room, c, cut, place, to, unitary);
    return cut;
}

/* Chunk `i` of those that gcb_cuda_chunks cuts positions into. */
__device__ __forceinline__ chunk_place place_of(const struct gcb_cuda_chunks &cut, uint64_t n,
                                                uint64_t i)
{
    const uint64_t from = i * cut.length, left = n - from;
    chunk_place p;

    p.from = static_cast<uint32_t>(from);
    p.count = static_cast<uint32_t>(left < cut.length ? left : cut.length);
    p.k = left < cut.length ? cut.rest_k : cut.k;
    p.entry = static_cast<uint32_t>(i * cut.k);
    return p;
}

/* What all chunks together come to, known before; one thread. */
__device__ __forceinline__ void end_choice(const struct gcb_cuda_chosen &to)
{
    to.choice->kept = to.most;
    to.first[(to.n + kTile - 1) / kTile] = static_cast<uint32_t>(to.most);
}

} /* namespace gcb */

#endif
