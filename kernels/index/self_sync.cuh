#ifndef KERNELS_INDEX_SELF_SYNC_CUH
#define KERNELS_INDEX_SELF_SYNC_CUH

/*
 * Reads a stream of codes that has no marks where codes begin. Each thread of a block reads a
 * stretch of the stream, starting from a guess. Then it reads again from where the thread before it
 * ended, until no end changes any more. Thread 0 starts at the true beginning, so the result is
 * that of a sequential reader, whatever the bits are. Readers of prefix codes soon synchronise by
 * themselves, so this takes a few rounds; at worst, as many as there are threads.
 */
#include "kernels/index/bits.cuh"

namespace gcb
{

/* The place of a thread: the bit it has reached, and its state that depends on earlier codes. */
struct code_place {
    uint64_t at, past;
};

/* The place after bits that cannot be read: no code begins there. */
constexpr uint64_t kNoCode = ~UINT64_C(0);

/* The part of the stream that one thread reads: the codes that begin before bit `end`, but no more
 * than `most` codes. If the part lies after the end of the stream, `most` is 0. */
struct stretch {
    uint64_t end;
    bool last; /* codes that take no bits also count after the last bit */
    unsigned most;
};

struct sync_room {
    code_place ended[kTileThreads];
};

/* This thread's share of the bits, and a guess where its first code begins. */
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
 * Returns how many codes begin in this thread's stretch. *start is a guess before the call, and the
 * place of the first code after the call. reader.skip(code_place &, stretch) moves past one code,
 * or returns false if none begins in the stretch. Called by every thread of the block.
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
        /* a stretch after the end of the stream is not read; otherwise changes would spread through
         * it from thread to thread */
        changed = s.most && (want.at != start->at || want.past != start->past);
        *start = want;
        if (count_block(changed) == 0)
            return count;
    }
}

} /* namespace gcb */

#endif
