#ifndef KERNELS_INDEX_STEP_CUH
#define KERNELS_INDEX_STEP_CUH

/*
 * Reading a stream of codes that says nowhere where they begin. The threads of a block read stretches of it from a
 * guess on, and again from where the one before them ended, until none ends elsewhere than before. The first begins
 * where the stream does; so what they end with is what one reader would read, whatever the bits are. Codes fall into
 * step by themselves, so that takes a few rounds, and as many as there are threads at worst.
 */
#include "kernels/index/bits.cuh"

namespace gcb
{

/* Where a thread is: at which bit, and what it has of the past. */
struct place {
    uint64_t at, past;
};

/* Where no code begins any more: behind what cannot be read. */
constexpr uint64_t kNowhere = ~UINT64_C(0);

/* A thread's stretch: codes that begin in front of `end`, `most` of them at most; 0 where the bits end before it. */
struct stretch {
    uint64_t end;
    bool last; /* and those that take no bits at all, behind the last bit */
    unsigned most;
};

struct step_room {
    place ended[kTileThreads];
};

/* This thread's share of the bits, and a guess where it begins. */
__device__ __forceinline__ stretch stretch_of(const bit_source &in, unsigned most, place *guess)
{
    const uint64_t each = (in.end - in.from + blockDim.x - 1) / blockDim.x;
    const uint64_t step = each < 32 ? 32 : each, from = in.from + threadIdx.x * step;
    const bool last = from + step >= in.end, some = threadIdx.x == 0 || from < in.end;

    *guess = {some ? from : in.end, 0};
    return {last ? in.end : from + step, last, some ? most : 0};
}

/*
 * How many codes begin in this thread's stretch, and from where it is to be read: *start, a guess before.
 * reader.skip(place &, stretch) goes behind a code, or returns false where none begins in the stretch. Every thread
 * of the block.
 */
template <class Reader>
__device__ __forceinline__ unsigned fall_into_step(step_room &room, const Reader &reader,
                                                   const stretch &s, place *start)
{
    unsigned count = 0;
    bool changed = true;

    for (;;) {
        place p = *start, want;

        if (changed) {
            for (count = 0; count < s.most && reader.skip(p, s);)
                count++;
            room.ended[threadIdx.x] = p;
        }
        sync_block();
        want = threadIdx.x ? room.ended[threadIdx.x - 1] : *start;
        /* behind the end nobody reads, and what came of the end would go from thread to thread */
        changed = s.most && (want.at != start->at || want.past != start->past);
        *start = want;
        if (count_block(changed) == 0)
            return count;
    }
}

} /* namespace gcb */

#endif
