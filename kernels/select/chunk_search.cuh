#ifndef KERNELS_SELECT_CHUNK_SEARCH_CUH
#define KERNELS_SELECT_CHUNK_SEARCH_CUH

/* The search for the k-th largest magnitude of a chunk; the parts that a single warp does in shared
 * memory (chunk.cuh). */
#include "kernels/cuda/warp.cuh"

namespace gcb
{

/* The magnitudes to keep: all that reach `sure`, and the first `ties` that equal sure - 1. */
struct chunk_cut {
    uint32_t sure, ties;
};

/* The state of the search: at least k magnitudes reach `low`, fewer than k reach `high`. */
struct chunk_search {
    uint32_t low, high, reach, over; /* numbers of magnitudes that reach `low` and `high` */

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
    __device__ chunk_cut cut(uint32_t k) const
    {
        return reach == k ? chunk_cut{low, 0} : chunk_cut{high, k - over};
    }
};

/* The next magnitude to try: from the maximum down in octaves, doubling the step each time, because
 * the kept magnitudes are rarely far from the maximum; then by bisection. */
struct octaves_down {
    uint32_t down = 1u << 23;

    __device__ uint32_t middle(const chunk_search &s)
    {
        const uint32_t half = (s.high - s.low) / 2, by = down;

        if (s.low || by >= half)
            return s.low + half;
        down *= 2;
        return s.high - by;
    }
};

/* 1 if magnitude m reaches `middle` (above 0), else 0; without a branch or a predicate. */
__device__ __forceinline__ uint32_t reaches(uint32_t m, uint32_t middle)
{
    return (middle - 1 - m) >> 31;
}

/* The number of magnitudes in shared memory that reach `middle` (above 0). There are n of them,
 * followed by zeros up to a multiple of 4. Called by a warp. */
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

/* From the threads' maxima, finds the overall maximum and a bound that at least k of them reach;
 * few more do, if k is small. Called by a warp. */
template <class Room> __device__ void find_bound(Room &room, uint32_t threads, uint32_t k)
{
    const uint32_t enough = k + k / 8 + 1;
    chunk_search s = {0, 0, threads, 0};
    octaves_down next;

    for (uint32_t i = lane(); i < threads; i += kWarp)
        s.high = room.magnitude[i] > s.high ? room.magnitude[i] : s.high;
    s.high = warp_max(s.high);
    if (lane() == 0)
        room.top = s.high;
    s.high++;
    while (k <= threads / 4 * 3 && s.high - s.low > 1 && s.reach > enough) {
        const uint32_t middle = next.middle(s);

        s.halve(middle, count_reaching(room.magnitude, threads, middle), k);
    }
    if (lane() == 0)
        room.low = s.low;
}

/* The rest of the search, among the n magnitudes of a list. Called by a warp. */
template <class Room>
__device__ void search_list(Room &room, uint32_t n, chunk_search *s, uint32_t k)
{
    uint32_t up = 1u << 17; /* small steps up: the list is hardly longer than k */

    if (lane() < 4)
        room.magnitude[n + lane()] = 0;
    sync_warp();
    while (s->goes_on(k)) {
        const uint32_t half = (s->high - s->low) / 2, by = up < half ? up : half;

        s->halve(s->low + by, count_reaching(room.magnitude, n, s->low + by), k);
        up = 2 * by;
    }
}

} /* namespace gcb */

#endif
