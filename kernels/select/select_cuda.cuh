#ifndef KERNELS_SELECT_SELECT_CUDA_CUH
#define KERNELS_SELECT_SELECT_CUDA_CUH

/* Shared by the files that implement select_cuda.h. */
#include "kernels/cuda/tile.cuh"
#include "kernels/select/select_cuda.h"

namespace gcb
{

/* Radix selection has 3 levels of digits: the top 11, the middle 10 and the low 10 bits of a
 * magnitude. A digit of the top level has kDigits values; at the other levels it has half as
 * many. */
constexpr unsigned kDigits = 2048;
constexpr unsigned kLevels = 3;
constexpr unsigned kSides = 2;     /* positive values, then negative ones */
constexpr unsigned kRatios = 1024; /* ratios of a search; its thresholds are fewer */
constexpr unsigned kOneBlock = 1024;

/* The elements of one side to keep. A side has the elements whose sign bit, masked with `mask`,
 * equals `sign`. All magnitudes above `prefix` are kept, and the first `left` that equal it. While
 * `prefix` is being searched for, it holds the leading digits found so far, and `left` the rank
 * among the elements that share them. */
struct kept_side {
    uint32_t mask, sign;
    uint32_t prefix, left;
};
constexpr uint32_t kAll = 0xffffffffu; /* `left`: keeps all that equal `prefix` */

struct selection_state {
    gcb_cuda_choice choice; /* must be first: chosen.choice points here */
    double mean;
    uint32_t max_bits;
    uint32_t least;             /* elements of at least this magnitude are collected */
    uint32_t again;             /* collect a second time */
    uint32_t reused;            /* an earlier step's threshold is used */
    uint32_t want[kSides];      /* rank to find on each side; 0: `keep` is already set */
    kept_side keep[kSides + 1]; /* one for each side; the last says what is finally kept */
    uint32_t kept[kSides];      /* lengths of lists that are made together */
    uint32_t side;              /* the side whose list is kept */
    uint32_t digits[kSides][kLevels][kDigits];
    uint32_t table[kRatios], count[kRatios]; /* thresholds, and number of elements between two */
};

/* The collected elements: tile t has count[t] entries from entry 4096 t on. */
struct slots {
    uint32_t *bits;
    uint16_t *offset; /* offset of the entry in its tile */
    uint32_t *count;
    uint32_t *above; /* per tile: entries above the kept magnitude */
    uint32_t *ties;  /* per tile: entries that equal it */
    double *sums;    /* one for each block of the project's sum */
};

/* Blocks of threads for a grid in which each warp handles a tile. */
inline uint64_t warps_over(uint64_t tiles)
{
    return pieces_of(tiles, kTileThreads / kWarp);
}

/* ---- the steps of a choice: each queues kernels and returns 0 or GCB_E_DEVICE ---- */

/* A choice in progress. All pointers are device memory. */
struct selection {
    selection_state *c;
    slots in;
    gcb_device_input x;
};

/* select_cuda.cu: lays out *chosen, whose n and most are set, and the scratch that a choice needs.
 * lay_out returns the bytes. */
uint64_t lay_out(void *scratch, gcb_cuda_chosen *chosen, selection_state **c, slots *in);
selection start_selection(void *scratch, gcb_cuda_chosen *chosen, const gcb_device_input *x);

/* The sample that the first kernel reads: m elements, `stride` apart, from `offset` on. Elements of
 * at least its rank-th largest magnitude are collected. With two sides, the smaller of the two
 * sides' rank-th largest magnitudes is used, but never 0. With 3 levels of digits the magnitude is
 * exact, with 2 it is rounded down a little. With m = 0, elements of magnitude `least` or more are
 * collected. */
struct sample {
    uint64_t stride, offset;
    uint64_t m, rank;
    unsigned levels;
    uint32_t least;
};

/* A sample whose rank-th magnitude a few more than k elements should reach, like gcb_select_guess;
 * m = 0 if n is too small. */
sample plan_sample(uint64_t n, uint64_t k);

/* collect_cuda.cu: begin_selection comes first. `want` is the rank to find on each side. With two
 * sides, zeros have no side and are not counted. */
int begin_selection(gcb_device_stream *s, const selection &w, const sample &how, unsigned sides,
                    uint64_t want);
int collect_candidates(gcb_device_stream *s, const selection &w, unsigned sides, bool second);

/* rank_cuda.cu: finds the want-th largest magnitude of each side among the collected
 * elements. */
int rank_candidates(gcb_device_stream *s, const selection &w, unsigned sides);

/* A list to make of the elements that keep[which] describes: output arrays as in gcb_cuda_chosen,
 * and the counts made on the way. */
struct kept_list {
    slots in;
    uint32_t *pos;
    float *value;
    uint32_t *first;
    unsigned which;
};

struct list_set {
    kept_list list[kSides];
    unsigned count;
};

/* compact_cuda.cu: makes lists of n positions. Their lengths go to kept[]; the length of a single
 * list also goes to the choice. compact_list makes a single list. */
int make_lists(gcb_device_stream *s, const selection &w, const list_set &to, uint64_t n);
int compact_list(gcb_device_stream *s, const selection &w, const gcb_cuda_chosen &to,
                 unsigned which);

/* ---- device functions ---- */

/* The lowest bit of a level's digit. */
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
 * Finds the digit of the rank-th largest element from the counts of digits: room.digit, and its
 * rank among the elements with that digit: room.left. Finds nothing if rank is 0 or exceeds the
 * count. Called by every thread of the block.
 */
__device__ __forceinline__ void find_digit(search_room &room, const uint32_t *count,
                                           unsigned digits, uint32_t rank)
{
    const unsigned each = pieces_of(digits, blockDim.x);
    const unsigned end = digits - lesser(threadIdx.x * each, digits);
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

/* The number of elements collected from a side. Called by every thread of the block. */
__device__ __forceinline__ uint32_t count_collected(scan_room &room, const selection_state *c,
                                                    unsigned side)
{
    uint32_t mine = 0, total;

    for (unsigned i = threadIdx.x; i < kDigits; i += blockDim.x)
        mine += c->digits[side][0][i];
    scan_block(room, mine, &total);
    return total;
}

/* Asks for a second collection, of all magnitudes. Called by every thread of the block, after a
 * barrier. */
__device__ __forceinline__ void collect_again(selection_state *c)
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
