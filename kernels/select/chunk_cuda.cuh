#ifndef KERNELS_SELECT_CHUNK_CUDA_CUH
#define KERNELS_SELECT_CHUNK_CUDA_CUH

/*
 * Chooses the k largest magnitudes of a chunk (src/lib/sparse/select_chunk.c). A block of threads
 * holds the magnitudes in registers: element e of thread t has position e * threads + t. No result
 * depends on the number of threads. There are three steps:
 *
 *   bound   finds a magnitude that at least k elements reach, but few more: about the k-th
 *           largest of the threads' own maxima
 *   list    lists the positions that reach the bound, in order: one comparison per element, one
 *           ballot per 32 elements
 *   cut     one warp finds the smallest magnitude to keep among those listed, and reduces the
 *           list to k
 *
 * If k is more than three quarters of the number of threads, there is no bound. If many elements
 * have similar magnitudes, the list may be too long. In both cases the whole block bisects the
 * range of magnitudes, by counting in registers, and then lists the positions.
 */
#include "kernels/cuda/tile.cuh"
#include "kernels/reduce/sum.cuh"
#include "kernels/select/chunk_cuda.h"

namespace gcb
{

constexpr unsigned kChunkEach = 16;                /* most elements of a thread */
constexpr unsigned kChunkNear = 1024 * kChunkEach; /* most positions that registers can hold */

/* ---- the search for the k-th largest magnitude ---- */

/* The magnitudes to keep: all that reach `sure`, and the first `ties` that equal sure - 1. */
struct chunk_cut {
    uint32_t sure, ties;
};

/* The state of the search: at least k magnitudes reach `low`, fewer than k reach `high`. */
struct chunk_search {
    uint32_t low, high;
    uint32_t reach, over; /* the numbers of magnitudes that reach `low` and `high` */

    __device__ bool is_unfinished(uint32_t k) const
    {
        return high - low > 1 && reach != k;
    }
    /* Takes into account that `count` magnitudes reach `middle`. */
    __device__ void narrow(uint32_t middle, uint32_t count, uint32_t k)
    {
        if (count < k) {
            high = middle;
            over = count;
        } else {
            low = middle;
            reach = count;
        }
    }
    __device__ chunk_cut cut(uint32_t k) const
    {
        return reach == k ? chunk_cut{low, 0} : chunk_cut{high, k - over};
    }
};

/* Gives the next magnitude to try. The tries go down from the maximum, by one octave and then by
 * twice the step before, because the kept magnitudes are rarely far from the maximum. Once at least
 * k elements reach a magnitude that was tried, the tries bisect the range. */
struct octaves_down {
    uint32_t down = 1u << 23; /* an octave, in bit patterns */

    __device__ uint32_t middle(const chunk_search &s)
    {
        const uint32_t half = (s.high - s.low) / 2, by = down;

        if (s.low || by >= half)
            return s.low + half;
        down *= 2;
        return s.high - by;
    }
};

/* 1 if magnitude m reaches `middle` (above 0), else 0; computed without a branch or a predicate. */
__device__ __forceinline__ uint32_t reaches(uint32_t m, uint32_t middle)
{
    return (middle - 1 - m) >> 31;
}

/* The number of magnitudes v that reach `middle` (above 0). v is in shared memory: n magnitudes,
 * then zeros up to a multiple of 4. Called by a warp. */
__device__ __forceinline__ uint32_t count_reaching(const uint32_t *v, uint32_t n, uint32_t middle)
{
    uint32_t mine = 0;

#pragma unroll 2
    for (uint32_t i = 4 * lane(); i < n; i += 4 * kWarp) {
        const uint4 four = *reinterpret_cast<const uint4 *>(v + i);

        mine += reaches(four.x, middle) + reaches(four.y, middle) + reaches(four.z, middle) +
                reaches(four.w, middle);
    }
    return warp_add(mine);
}

/* Finds from the threads' maxima the overall maximum (room.top), and a bound that at least k of the
 * maxima reach (room.low). Usually few more than k maxima reach the bound. It is 0 if k is more
 * than three quarters of the number of threads. Called by a warp. */
template <class Room> __device__ void find_bound(Room &room, uint32_t threads, uint32_t k)
{
    const uint32_t enough = k + k / 8 + 1; /* the search stops if s.reach is at most this */
    chunk_search s = {0, 0, threads, 0};
    octaves_down next;

    for (uint32_t i = lane(); i < threads; i += kWarp)
        s.high = larger(s.high, room.magnitude[i]);
    s.high = warp_max(s.high);
    if (lane() == 0)
        room.top = s.high;
    s.high++;
    while (k <= threads / 4 * 3 && s.high - s.low > 1 && s.reach > enough) {
        const uint32_t middle = next.middle(s);

        s.narrow(middle, count_reaching(room.magnitude, threads, middle), k);
    }
    if (lane() == 0)
        room.low = s.low;
}

/* Finishes the search among the n magnitudes of a short list. Called by a warp. */
template <class Room>
__device__ void search_list(Room &room, uint32_t n, chunk_search *s, uint32_t k)
{
    /* The first step is small (2^-6 octaves), because the list is hardly longer than k. */
    uint32_t up = 1u << 17;

    if (lane() < 4)
        room.magnitude[n + lane()] = 0;
    sync_warp();
    while (s->is_unfinished(k)) {
        const uint32_t by = lesser(up, (s->high - s->low) / 2);

        s->narrow(s->low + by, count_reaching(room.magnitude, n, s->low + by), k);
        up = 2 * by;
    }
}

/* ---- the choice from a chunk ---- */

/* Shared memory for up to `Threads` threads with `Each` elements. */
template <unsigned Each, unsigned Threads> struct alignas(16) chunk_room {
    static constexpr unsigned kMost = Each * Threads;
    static constexpr unsigned kShort = kMost < 1024 ? kMost : 1024;

    uint32_t magnitude[kShort + 4]; /* the threads' maxima; later magnitudes of a short list */
    uint32_t word[Threads / kWarp][(Each + 3) / 4 * 4]; /* one bit per position */
    uint32_t warp[2][32];      /* a number per warp, for block_add and block_max */
    uint32_t low, top, listed; /* the bound, the largest magnitude, the length of the list */
    uint16_t list[kMost];      /* positions in the chunk */
};

/* A chunk, and how much of it is kept. */
struct chunk_place {
    uint32_t from, count; /* first position, and number of positions */
    uint32_t k;           /* 1 <= k <= count */
    uint32_t entry;       /* index of the chunk's first entry in gcb_cuda_chosen */
};

/* Returns the sum of v over the block. Called by every thread of the block. Two calls of block_add
 * or block_max without a barrier between them need values of `turn` that differ by 1. */
template <class Room> __device__ uint32_t block_add(Room &room, uint32_t v, unsigned turn)
{
    v = warp_add(v);
    if (lane() == 0)
        room.warp[turn % 2][threadIdx.x / kWarp] = v;
    sync_block();
    return warp_add(lane() < blockDim.x / kWarp ? room.warp[turn % 2][lane()] : 0);
}

/* Like block_add, but returns the maximum. */
template <class Room> __device__ uint32_t block_max(Room &room, uint32_t v, unsigned turn)
{
    v = warp_max(v);
    if (lane() == 0)
        room.warp[turn % 2][threadIdx.x / kWarp] = v;
    sync_block();
    return warp_max(lane() < blockDim.x / kWarp ? room.warp[turn % 2][lane()] : 0);
}

/* The state at the beginning of the search. At least k elements reach `low`; the exact number is
 * not known yet. Called by every thread of the block. */
template <class Room, class Chunk>
__device__ chunk_search begin_search(Room &room, const Chunk &c, uint32_t k)
{
    uint32_t most = 0;

#pragma unroll
    for (uint32_t e = 0; e < c.each; e++)
        most = larger(most, c.m[e]);
    room.magnitude[threadIdx.x] = most;
    sync_block();
    if (threadIdx.x < kWarp)
        find_bound(room, c.threads, k);
    sync_block();
    return {room.low, room.top + 1, c.count, 0};
}

/* Continues the search with the whole block, until a list of the magnitudes that reach s->low is
 * short, or the search is finished. Called by every thread of the block. */
template <class Room, class Chunk>
__device__ void search_all(Room &room, const Chunk &c, chunk_search *s, uint32_t k)
{
    octaves_down next;
    uint32_t turn = 0;

    while (s->is_unfinished(k) && s->reach > Room::kShort) {
        const uint32_t middle = next.middle(*s);
        uint32_t mine = 0;

#pragma unroll
        for (uint32_t e = 0; e < c.each; e++)
            mine += reaches(c.m[e], middle);
        s->narrow(middle, block_add(room, mine, turn++), k);
    }
}

/* Sets a bit for each position that reaches `low`, in words of 32 positions. Called by every thread
 * of the block. */
template <class Room, class Chunk>
__device__ void mark_reaching(Room &room, const Chunk &c, uint32_t low)
{
    uint4 *const to = reinterpret_cast<uint4 *>(room.word[threadIdx.x / kWarp]);

#pragma unroll
    for (uint32_t e = 0; e < c.each; e += 4) {
        uint32_t word[4];

#pragma unroll
        for (uint32_t i = 0; i < 4; i++)
            word[i] = e + i < c.each ? ballot(c.has(e + i) && c.m[e + i] >= low) : 0;
        if (lane() == 0)
            to[e / 4] = make_uint4(word[0], word[1], word[2], word[3]);
    }
    sync_block();
}

/* Lists the positions that reach `low`, in order, and the magnitudes of as many as there is room
 * for. Returns the number of positions. Called by every thread of the block. */
template <class Room, class Chunk>
__device__ uint32_t list_reaching(Room &room, const Chunk &c, uint32_t low)
{
    const uint32_t warps = c.threads / kWarp, words = c.each * warps;
    const uint32_t mine = threadIdx.x, first = mine / kWarp * kWarp;

    mark_reaching(room, c, low);
    if (first < words) { /* one word per thread */
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

/* Removes from the list of n positions those that are not kept. Called by one warp. */
template <class Room, class Chunk>
__device__ void trim_list(Room &room, const Chunk &c, uint32_t n, const chunk_cut &cut)
{
    uint32_t ties = cut.ties, at = 0;

    for (uint32_t i = 0; i < n; i += kWarp) {
        const uint32_t j = i + lane(), pos = j < n ? room.list[j] : 0;
        const uint32_t m = j < n ? c.magnitude_at(pos) : 0;
        const bool tie = j < n && ties && m == cut.sure - 1;
        const uint32_t tied = ballot(tie);
        const bool kept = j < n && (m >= cut.sure || (tie && popc(tied & lanes_before()) < ties));
        const uint32_t all = ballot(kept);

        ties -= lesser(popc(tied), ties);
        sync_warp();
        if (kept)
            room.list[at + popc(all & lanes_before())] = static_cast<uint16_t>(pos);
        at += popc(all);
    }
}

/* The number of tiles that begin before a position. */
__device__ __forceinline__ uint32_t tiles_before(uint32_t pos)
{
    return pieces_of(pos, kTile);
}

/* Writes the entries of the list, each value times `unitary`, and the first entry of each tile that
 * begins in the chunk. */
template <class Room, class Chunk>
__device__ void write_list(const Room &room, const Chunk &c, const chunk_place &place,
                           const gcb_cuda_chosen &to, float unitary)
{
    for (uint32_t i = threadIdx.x; i < place.k; i += c.threads) {
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
 * Chooses from a chunk and writes its entries. Called by every thread of the block. `Chunk` has
 *
 *   each, threads, count     elements of a thread, threads of the block, positions of the chunk
 *   m                        the thread's magnitudes
 *   has(e)                   true if the thread has an element e
 *   magnitude_at(position)   the magnitude at a position
 *   put(to, entry, position, unitary)   writes a value, times `unitary`: the factor that makes the
 *                            transform unitary, or 1 without a transform
 *
 * All threads meet at a barrier before magnitude_at and put are called, so these functions may read
 * what other threads wrote before. Returns, in thread 0, a magnitude that all kept elements reach.
 * room.top is the largest magnitude, until `room` is used again.
 */
template <class Room, class Chunk>
__device__ uint32_t select_from_chunk(Room &room, const Chunk &c, const chunk_place &place,
                                      const gcb_cuda_chosen &to, float unitary)
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
        trim_list(room, c, n, s.cut(place.k));
    }
    sync_block();
    write_list(room, c, place, to, unitary);
    return s.low;
}

/* The place of chunk i of n positions; `cut` describes the chunks. */
__device__ __forceinline__ chunk_place chunk_place_of(const gcb_cuda_chunks &cut, uint64_t n,
                                                      uint64_t i)
{
    const uint64_t from = i * cut.length, left = n - from;
    chunk_place p;

    p.from = static_cast<uint32_t>(from);
    p.count = static_cast<uint32_t>(lesser(left, cut.length));
    p.k = left < cut.length ? cut.rest_k : cut.k;
    p.entry = static_cast<uint32_t>(i * cut.k);
    return p;
}

/* Writes the number of kept positions of all chunks, which is known beforehand. Called by one
 * thread. */
__device__ __forceinline__ void end_choice(const gcb_cuda_chosen &to)
{
    to.choice->kept = to.most;
    to.first[tile_count(to.n)] = static_cast<uint32_t>(to.most);
}

} /* namespace gcb */

#endif
