#ifndef KERNELS_SELECT_SELECT_CUH
#define KERNELS_SELECT_SELECT_CUH

/* What the files of select_cuda.h share. */
#include "kernels/base/hd.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/scan.cuh"
#include "kernels/cuda/tile.cuh"
#include "kernels/select/select_cuda.h"

namespace gcb
{

constexpr unsigned kDigits =
    2048; /* of the topmost 11 bits of a magnitude; the two levels below have half */
constexpr unsigned kLevels = 3;
constexpr unsigned kSides = 2;     /* positive values, then negative ones */
constexpr unsigned kRatios = 1024; /* of a search: its thresholds are fewer */
constexpr unsigned kOneBlock = 1024;

/* What is kept of those whose sign bit, under `mask`, equals `sign`: all above the magnitude `prefix`, and the first
 * `left` that equal it. While one is searched for: its digits so far, and which one it is among those that have
 * them. */
struct keeping {
    uint32_t mask, sign;
    uint32_t prefix, left;
};
constexpr uint32_t kAll = 0xffffffffu; /* of those that equal it */

struct choosing {
    struct gcb_cuda_choice choice; /* first: chosen.choice points here */
    double mean;
    uint32_t max_bits;
    uint32_t least;                  /* magnitude that is collected from */
    uint32_t again;                  /* collect once more */
    uint32_t reused;                 /* a threshold of an earlier step */
    uint32_t want[kSides];           /* how many are ranked; 0: none, `keep` is there already */
    struct keeping keep[kSides + 1]; /* for each side; at last what is kept */
    uint32_t kept[kSides];           /* in lists that are made together */
    uint32_t side;                   /* of those, the one that is kept */
    uint32_t digits[kSides][kLevels][kDigits];
    uint32_t table[kRatios], count[kRatios]; /* thresholds, and how many lie between two */
};

/* What was collected: tile t has count[t] entries from entry 4096 t on. */
struct slots {
    uint32_t *bits;
    uint16_t *offset; /* within the tile */
    uint32_t *count;
    uint32_t *above,
        *ties;    /* of the entries, how many lie above what is kept, and how many equal it */
    double *sums; /* for each block of the project's sums */
};

/* Pieces of a grid each of whose warps takes a tile. */
inline uint64_t warps_over(uint64_t tiles)
{
    return (tiles + kTileThreads / kWarp - 1) / (kTileThreads / kWarp);
}

/* ---- the steps of a choice: each queues kernels; 0 or GCB_E_DEVICE ---- */

/* A choice under way; device memory but for n. */
struct choice {
    struct choosing *c;
    struct slots in;
    struct gcb_device_input x;
};

/* select_cuda.cu: lays out *chosen, whose n and most are there, and what a choice needs; returns the bytes. */
uint64_t lay_out(void *scratch, struct gcb_cuda_chosen *chosen, choosing **c, slots *in);
choice start(void *scratch, struct gcb_cuda_chosen *chosen, const struct gcb_device_input *x);

/* What the first kernel looks at: m elements, `stride` apart from `offset` on. Collected is from their rank-th largest
 * magnitude on (of one side's, the lesser of the two, and not from 0), exactly with 3 levels of digits, a little below
 * with 2; with m = 0 from `least` on. */
struct sample {
    uint64_t stride, offset;
    uint64_t m, rank;
    unsigned levels;
    uint32_t least;
};

/* A sample that a few more than k are expected to reach, as gcb_select_guess; m = 0 if it would not tell. */
sample guess(uint64_t n, uint64_t k);

/* select_collect_cuda.cu: begin is first. `want`: of each side, ranked later. With two sides zeros are no digits. */
int begin(struct gcb_device_stream *s, const choice &w, const sample &how, unsigned sides,
          uint64_t want);
int collect(struct gcb_device_stream *s, const choice &w, unsigned sides, bool second);

/* select_rank_cuda.cu: the want-th largest of each side, of what was collected. */
int rank(struct gcb_device_stream *s, const choice &w, unsigned sides);

/* A list to make, of what keep[which] says: room as in gcb_cuda_chosen, and what is counted on the way. */
struct listing {
    struct slots in;
    uint32_t *pos;
    float *value;
    uint32_t *first;
    unsigned which;
};

struct lists {
    struct listing of[kSides];
    unsigned count;
};

/* select_compact_cuda.cu: makes them, of n positions; how long each is goes to kept[], that of a single one also to the
 * choice. compact: one. */
int make_lists(struct gcb_device_stream *s, const choice &w, const lists &to, uint64_t n);
int compact(struct gcb_device_stream *s, const choice &w, const struct gcb_cuda_chosen &to,
            unsigned which);

/* ---- what kernels share ---- */

/* Where the digit of a level stands. */
__device__ __forceinline__ unsigned shift_of(unsigned level)
{
    return level == 0 ? 20 : level == 1 ? 10 : 0;
}

__device__ __forceinline__ unsigned digits_of(unsigned level)
{
    return level == 0 ? kDigits : kDigits / 2;
}

__device__ __forceinline__ unsigned side_of(float x, unsigned sides)
{
    return sides == kSides ? gcb_bits_of(x) >> 31 : 0;
}

struct search_room {
    scan_room scan;
    uint32_t digits[kDigits];
    uint32_t digit, left;
};

/*
 * The largest digit that, with those above it, at least `rank` were counted for: to room.digit; the rank among those
 * that have it to room.left. Nothing is found for rank 0 or one that exceeds the count. Every thread of the block.
 */
__device__ __forceinline__ void find_digit(search_room &room, const uint32_t *count,
                                           unsigned digits, uint32_t rank)
{
    const unsigned each = (digits + blockDim.x - 1) / blockDim.x;
    const unsigned end = digits - (threadIdx.x * each < digits ? threadIdx.x * each : digits);
    const unsigned from = end > each ? end - each : 0;
    uint32_t mine = 0, total, above;

    for (unsigned d = from; d < end; d++)
        mine += count[d];
    above = scan_block(room.scan, mine, &total);
    if (above < rank && rank <= above + mine) {
        unsigned d = end - 1;

        for (; above + count[d] < rank; d--)
            above += count[d];
        room.digit = d;
        room.left = rank - above;
    }
    sync_block();
}

/* How many of a side were collected. Every thread of the block. */
__device__ __forceinline__ uint32_t count_collected(scan_room &room, const choosing *c,
                                                    unsigned side)
{
    uint32_t mine = 0, total;

    for (unsigned i = threadIdx.x; i < kDigits; i += blockDim.x)
        mine += c->digits[side][0][i];
    scan_block(room, mine, &total);
    return total;
}

/* All is to be collected once more, from the lowest magnitude. Every thread of the block, after a barrier. */
__device__ __forceinline__ void collect_again(choosing *c)
{
    for (unsigned i = threadIdx.x; i < kSides * kDigits; i += blockDim.x)
        c->digits[i / kDigits][0][i % kDigits] = 0;
    if (threadIdx.x == 0) {
        c->again = 1;
        c->least = 0;
    }
}

} /* namespace gcb */

#endif
