#ifndef KERNELS_SELECT_CHUNK_CUH
#define KERNELS_SELECT_CHUNK_CUH

/*
 * The k largest magnitudes of a chunk whose magnitudes a block holds in registers (src/lib/sparse/select_chunk.c). Element e of
 * thread t has position e * threads + t. No result depends on how many threads there are.
 *
 *   bound   a magnitude that at least k reach and hardly more do: about as many as k of the threads' own largest
 *   list    the positions that reach it, in order: one comparison an element, a ballot for 32
 *   cut     one warp finds the least that is kept among those, and leaves the k entries
 *
 * Where k is no small share of the threads, or ties or a cluster make the list long, the whole block halves the range of
 * magnitudes by counting what registers hold, and lists again.
 */
#include "kernels/base/hd.h"
#include "kernels/cuda/scan.cuh"
#include "kernels/cuda/tile.cuh"
#include "kernels/reduce/sum.cuh"
#include "kernels/select/chunk_cuda.h"
#include "kernels/select/chunk_search.cuh"

namespace gcb
{

constexpr unsigned kChunkEach = 16;                /* elements of a thread, at most */
constexpr unsigned kChunkNear = 1024 * kChunkEach; /* positions that registers hold */

/* For up to `Threads` threads of `Each` elements. */
template <unsigned Each, unsigned Threads> struct alignas(16) chunk_room {
    static constexpr unsigned kMost = Each * Threads;
    static constexpr unsigned kShort = kMost < 1024 ? kMost : 1024;

    uint32_t magnitude[kShort + 4]; /* first the threads' largest, then those of a short list */
    uint32_t word[Threads / kWarp][(Each + 3) / 4 * 4]; /* a bit for each position */
    uint32_t warp[2][32];
    uint32_t low, top, listed;
    uint16_t list[kMost];
};

/* Where a chunk stands, and what is wanted of it. */
struct chunk_place {
    uint32_t from, count; /* positions */
    uint32_t k;           /* 1 <= k <= count */
    uint32_t entry;       /* of the list, the first of this chunk */
};

/* Sum, or the largest, over the block of what each thread brings; `turn` alternates between calls, which saves a
 * barrier. */
template <class Room> __device__ uint32_t block_add(Room &room, uint32_t v, unsigned turn)
{
    v = warp_add(v);
    if (lane() == 0)
        room.warp[turn % 2][threadIdx.x / kWarp] = v;
    sync_block();
    return warp_add(lane() < blockDim.x / kWarp ? room.warp[turn % 2][lane()] : 0);
}

template <class Room> __device__ uint32_t block_max(Room &room, uint32_t v, unsigned turn)
{
    v = warp_max(v);
    if (lane() == 0)
        room.warp[turn % 2][threadIdx.x / kWarp] = v;
    sync_block();
    return warp_max(lane() < blockDim.x / kWarp ? room.warp[turn % 2][lane()] : 0);
}

/* Where the search begins: how many reach `low` is not known yet, but k do. Every thread of the block. */
template <class Room, class Chunk>
__device__ chunk_search begin_search(Room &room, const Chunk &c, uint32_t k)
{
    uint32_t most = 0;

#pragma unroll
    for (uint32_t e = 0; e < c.each(); e++)
        most = c.magnitude(e) > most ? c.magnitude(e) : most;
    room.magnitude[threadIdx.x] = most;
    sync_block();
    if (threadIdx.x < kWarp)
        find_bound(room, c.threads(), k);
    sync_block();
    return {room.low, room.top + 1, c.count(), 0};
}

/* Until the list is short. */
template <class Room, class Chunk>
__device__ void search_all(Room &room, const Chunk &c, chunk_search *s, uint32_t k)
{
    octaves_down next;
    uint32_t turn = 0;

    while (s->goes_on(k) && s->reach > Room::kShort) {
        const uint32_t middle = next.middle(*s);
        uint32_t mine = 0;

#pragma unroll
        for (uint32_t e = 0; e < c.each(); e++)
            mine += reaches(c.magnitude(e), middle);
        s->halve(middle, block_add(room, mine, turn++), k);
    }
}

/* A bit for each position that reaches `low`, in words of 32 positions. Every thread of the block. */
template <class Room, class Chunk>
__device__ void mark_reaching(Room &room, const Chunk &c, uint32_t low)
{
    uint4 *const to = reinterpret_cast<uint4 *>(room.word[threadIdx.x / kWarp]);

#pragma unroll
    for (uint32_t e = 0; e < c.each(); e += 4) {
        uint32_t word[4];

#pragma unroll
        for (uint32_t i = 0; i < 4; i++)
            word[i] = e + i < c.each() ? ballot(c.has(e + i) && c.magnitude(e + i) >= low) : 0;
        if (lane() == 0)
            to[e / 4] = make_uint4(word[0], word[1], word[2], word[3]);
    }
    sync_block();
}

/* The list of what reaches `low`, in order, and the magnitudes of as many as there is room for; returns how many there are.
 * Every thread of the block. */
template <class Room, class Chunk>
__device__ uint32_t list_reaching(Room &room, const Chunk &c, uint32_t low)
{
    const uint32_t warps = c.threads() / kWarp, words = c.each() * warps;
    const uint32_t mine = threadIdx.x, first = mine / kWarp * kWarp;

    mark_reaching(room, c, low);
    if (first < words) { /* a word a thread */
        uint32_t word = mine < words ? room.word[mine % warps][mine / warps] : 0, before = 0, at;

#pragma unroll 1
        for (uint32_t i = lane(); i < first; i += kWarp)
            before += popc(room.word[i % warps][i / warps]);
        at = scan_warp(popc(word)) + warp_add(before);
        if (mine == words - 1)
            room.listed = at + popc(word);
        for (; word; word &= word - 1, at++) {
            const uint32_t pos = mine * kWarp + lowest_bit(word);

            room.list[at] = static_cast<uint16_t>(pos);
            if (at < Room::kShort)
                room.magnitude[at] = c.magnitude_at(pos);
        }
    }
    sync_block();
    return room.listed;
}

/* Leaves of the list what is kept. A warp's work. */
template <class Room, class Chunk>
__device__ void keep(Room &room, const Chunk &c, uint32_t n, const chunk_cut &cut)
{
    uint32_t ties = cut.ties, at = 0;

    for (uint32_t i = 0; i < n; i += kWarp) {
        const uint32_t j = i + lane(), pos = j < n ? room.list[j] : 0;
        const uint32_t m = j < n ? c.magnitude_at(pos) : 0;
        const bool tie = j < n && ties && m == cut.sure - 1;
        const uint32_t tied = ballot(tie);
        const bool kept = j < n && (m >= cut.sure || (tie && popc(tied & lanes_before()) < ties));
        const uint32_t all = ballot(kept);

        ties -= popc(tied) < ties ? popc(tied) : ties;
        sync_warp();
        if (kept)
            room.list[at + popc(all & lanes_before())] = static_cast<uint16_t>(pos);
        at += popc(all);
    }
}

/* Tiles that begin in front of a position. */
__device__ __forceinline__ uint32_t tiles_before(uint32_t pos)
{
    return (pos + kTile - 1) / kTile;
}

/* Writes the entries of the list: each value times `unitary`, and where the tiles that begin in the chunk have theirs. */
template <class Room, class Chunk>
__device__ void write_list(const Room &room, const Chunk &c, const chunk_place &place,
                           const struct gcb_cuda_chosen &to, float unitary)
{
    for (uint32_t i = threadIdx.x; i < place.k; i += c.threads()) {
        const uint32_t pos = room.list[i], entry = place.entry + i;
        const uint32_t end = tiles_before(place.from + pos + 1);
        uint32_t tile = tiles_before(place.from + (i ? room.list[i - 1] + 1 : 0));

#pragma unroll 1
        for (; tile < end; tile++)
            to.first[tile] = entry;
        if (i + 1 == place.k)
            for (; tile < tiles_before(place.from + place.count); tile++)
                to.first[tile] = entry + 1;
        to.pos[entry] = place.from + pos;
        c.put(to.value, entry, pos, unitary);
    }
}

/*
 * Chooses, and writes what is kept. Every thread of the block; Chunk says what it has: each, threads, count, has, magnitude,
 * magnitude_at a position, and put. What magnitude_at and put read is behind a barrier. Returns a magnitude that all
 * that is kept reach, in thread 0; room.top is the largest, until the room is used again.
 */
template <class Room, class Chunk>
__device__ uint32_t choose_of_chunk(Room &room, const Chunk &c, const chunk_place &place,
                                    const struct gcb_cuda_chosen &to, float unitary)
{
    chunk_search s = begin_search(room, c, place.k);

    if (s.low)
        s.reach = list_reaching(room, c, s.low);
    if (s.low == 0 || s.reach > Room::kShort) {
        search_all(room, c, &s, place.k);
        s.reach = list_reaching(room, c, s.low);
    }
    if (threadIdx.x < kWarp && s.reach > place.k) {
        const uint32_t n = s.reach;

        if (n <= Room::kShort)
            search_list(room, n, &s, place.k);
        keep(room, c, n, s.cut(place.k));
    }
    sync_block();
    write_list(room, c, place, to, unitary);
    return s.low;
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
