#ifndef KERNELS_INDEX_SELF_SYNC_CUH
#define KERNELS_INDEX_SELF_SYNC_CUH

/*
 * Reads a stream of codes that has no marks where codes begin, with all threads of a block. In the
 * first round, each thread reads a stretch of the stream from a guessed beginning. In each later
 * round, a thread reads again from where the thread before it ended, until no end changes. Thread 0
 * starts at the true beginning, so the result is that of a sequential reader, whatever the bits
 * are. A reader of a prefix code that starts at a wrong bit soon reaches a true beginning, so a few
 * rounds are usually enough. The worst case takes as many rounds as there are threads.
 */
#include "kernels/index/bits.cuh"

namespace gcb
{

/* The place of a reader: the bit it has reached, and what it remembers of earlier codes. */
struct code_place {
    uint64_t at, past;
};

/* The place after bits that cannot be read: no code begins there. */
constexpr uint64_t kNoCode = ~UINT64_C(0);

/* The stretch that one thread reads: the bits from its place to before `end`, with at most `most`
 * codes. `most` is 0 if the stretch lies after the end of the stream. */
struct stretch {
    uint64_t end;
    bool last; /* the stretch ends the stream, so codes without bits may begin at `end` */
    unsigned most;
};

struct sync_room {
    code_place ended[kTileThreads];
};

/* This thread's stretch of `in`. All stretches have the same length, at least 32 bits, except that
 * the last stretch ends where `in` ends, and the threads after it have empty stretches. *guess
 * becomes the place where the stretch begins. */
__device__ __forceinline__ stretch stretch_of(const bit_source &in, unsigned most,
                                              code_place *guess)
{
    const uint64_t each = pieces_of(in.end - in.from, blockDim.x);
    const uint64_t step = each < 32 ? 32 : each, from = in.from + threadIdx.x * step;
    const bool last = from + step >= in.end, some = threadIdx.x == 0 || from < in.end;

    *guess = {some ? from : in.end, 0};
    return {last ? in.end : from + step, last, some ? most : 0};
}

/*
 * Returns the number of codes that belong to this thread's stretch. Before the call *start is a
 * guess; after the call *start is the place of the first code. reader.skip(place, stretch) moves
 * `place` past one code, or returns false if the code at `place` does not belong to the stretch.
 * Called by every thread of the block.
 */
template <class Reader>
__device__ __forceinline__ unsigned synchronise(sync_room &room, const Reader &reader,
                                                const stretch &s, code_place *start)
{
    unsigned count = 0;
    bool changed = true;

    for (;;) {
        code_place p = *start, want;

        if (changed) {
            for (count = 0; count < s.most && reader.skip(p, s);)
                count++;
            room.ended[threadIdx.x] = p;
        }
        sync_block();
        want = threadIdx.x ? room.ended[threadIdx.x - 1] : *start;
        /* A stretch after the end of the stream (most = 0) counts as unchanged, so that changes of
         * the last place do not pass from thread to thread through many rounds. */
        changed = s.most && (want.at != start->at || want.past != start->past);
        *start = want;
        if (count_block(changed) == 0)
            return count;
    }
}

} /* namespace gcb */

#endif
