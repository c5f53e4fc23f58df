#ifndef KERNELS_SELECT_SELECT_CUDA_CUH
#define KERNELS_SELECT_SELECT_CUDA_CUH

/* What the files that implement select_cuda.h share. */
#include "kernels/cuda/align.h"
#include "kernels/cuda/tile.cuh"
#include "kernels/select/select_cuda.h"

namespace gcb
{

/* Radix selection has 3 levels of digits: the top 11, the middle 10 and the low 10 bits of a
 * magnitude. A digit of the top level has kDigits values; at the other levels it has half as
 * many. */
constexpr unsigned kDigits = 2048;
constexpr unsigned kLevels = 3;
constexpr unsigned kSides = 2;       /* positive values, then negative ones */
constexpr unsigned kRatios = 1024;   /* ratios of a threshold search, i / kRatios */
constexpr unsigned kOneBlock = 1024; /* threads of a block that works alone on a tensor or a side */

/* Which elements of a side to keep. A side has the elements whose bits, masked with `mask`, equal
 * `sign`. All magnitudes above `prefix` are kept, and the first `left` that equal it. During the
 * search for the k-th largest magnitude, `prefix` has the leading digits found so far, and `left`
 * is the rank among the elements that share them. */
struct kept_side {
    uint32_t mask, sign;
    uint32_t prefix, left;
};
constexpr uint32_t kAll = 0xffffffffu; /* `left`: keeps all that equal `prefix` */

/* The state of a choice, in device memory. */
struct selection_state {
    gcb_cuda_choice choice;     /* chosen.choice points here */
    uint32_t max_bits;          /* pattern of the largest magnitude, if a search needs it */
    uint32_t least;             /* elements of at least this magnitude are collected */
    uint32_t again;             /* 1: all elements are collected, in the second collection */
    uint32_t reused;            /* 1: an earlier step's threshold is used */
    uint32_t want[kSides];      /* rank to find on each side; 0: `keep` is already set */
    kept_side keep[kSides + 1]; /* of each side; the last: what gcb_cuda_select_side keeps */
    uint32_t kept[kSides];      /* lengths of the lists of make_lists */
    /* for each list, what each block of count_tiles counted */
    uint64_t counts[kSides][kMostBlocks];
    uint32_t side; /* the side whose list is kept */
    uint32_t digits[kSides][kLevels][kDigits];
    /* thresholds to try; count[i]: the elements that reach table[i] but no higher threshold */
    uint32_t table[kRatios], count[kRatios];
};

/* The collected elements: tile t has count[t] entries, from entry kTile * t on. */
struct slots {
    uint32_t *bits;   /* the element's bit pattern */
    uint16_t *offset; /* the element's index in its tile */
    uint32_t *count;
    uint32_t *above; /* per tile: entries above the kept magnitude */
    /* per tile: entries that equal the kept magnitude; in write_tiles, the number of these entries
     * in the tiles before */
    uint32_t *ties;
    double *sums; /* one for each sum block (kernels/reduce/reduce.h) */
};

/* The number of thread blocks that together have a warp for each tile. */
inline uint64_t warps_over(uint64_t tiles)
{
    return pieces_of(tiles, kTileThreads / kWarp);
}

/* ---- the steps of a choice ----
 *
 * Functions that return an int queue kernels, and return what launch returns.
 */

/* A choice in progress. All pointers are device memory. */
struct selection {
    selection_state *c;
    slots in;
    gcb_device_input x;
};

/* Hands out the parts of a scratch, one after the other, each aligned to 16 bytes. If `at` is NULL,
 * the parts are NULL and only their bytes are added up. */
struct scratch_parts {
    uint8_t *at;
    uint64_t bytes;

    template <typename T> void take(T **part, uint64_t count)
    {
        *part = at ? reinterpret_cast<T *>(at + bytes) : nullptr;
        bytes += gcb_cuda_align16(count * sizeof(T));
    }
};

/* Lay out *chosen, whose n and most are set, and the state of a choice in the scratch
 * (select_cuda.cu). lay_out returns the number of bytes; scratch is NULL if only this is wanted.
 * start_selection also sets chosen->residual, and returns the choice from *x. */
uint64_t lay_out(void *scratch, gcb_cuda_chosen *chosen, selection_state **c, slots *in);
selection start_selection(void *scratch, gcb_cuda_chosen *chosen, const gcb_device_input *x);

/* The sample that the first kernel takes: m elements, `stride` apart, from `offset` on. Its rank-th
 * largest magnitude becomes the least magnitude to collect; if there are two sides, the smaller of
 * the sides' rank-th largest magnitudes, but never 0. The magnitude is rounded down to the top
 * `levels` of kLevels digits. If m is 0, `least` is the least magnitude to collect. */
struct sample {
    uint64_t stride, offset;
    uint64_t m, rank;
    unsigned levels;
    uint32_t least;
};

/* Plans a sample of n elements whose rank-th largest magnitude a few more than k elements should
 * reach, as for `low` of gcb_select_bracket. m is 0 if n is too small, or k too large a share of n,
 * for a sample to be useful. */
sample plan_sample(uint64_t n, uint64_t k);

/* Takes the sample, and sets the state of a choice (collect_cuda.cu). `want` is the rank to find on
 * each side; 0 with one side: all collected elements are kept. If there are two sides, zeros belong
 * to none and are not counted. */
int begin_selection(gcb_device_stream *s, const selection &w, const sample &how, unsigned sides,
                    uint64_t want);
/* Collects the elements that reach the least magnitude to collect. If `second`, does nothing unless
 * a kernel has called collect_again (collect_cuda.cu). */
int collect_candidates(gcb_device_stream *s, const selection &w, unsigned sides, bool second);

/* Finds the want-th largest magnitude of each side among the collected elements (rank_cuda.cu). */
int rank_candidates(gcb_device_stream *s, const selection &w, unsigned sides);

/* A list to make of the collected elements that keep[which] describes. The arrays are those of
 * struct gcb_cuda_chosen. If there is a message, values and positions go there, and the residuals
 * of kept elements are set to 0. */
struct kept_list {
    slots in; /* the collected elements; `above` and `ties` are written */
    uint32_t *pos;
    float *value;
    uint32_t *first;
    unsigned which;
    gcb_cuda_message message;
    float *residual; /* NULL: no message, or no error feedback */
};

struct list_set {
    kept_list list[kSides];
    unsigned count;
};

/* Makes lists from the collected elements of n positions. Their lengths go to kept[]; the length of
 * a single list also goes to the choice. compact_list makes a single list (compact_cuda.cu). */
int make_lists(gcb_device_stream *s, const selection &w, const list_set &to, uint64_t n);
int compact_list(gcb_device_stream *s, const selection &w, const gcb_cuda_chosen &to,
                 unsigned which);

/* ---- device functions ---- */

/* Entries of a tile that a lane loads before it uses the first, so that the loads overlap. */
constexpr unsigned kEntriesAhead = 8;

/* Loads entries `from` + lane(), 32 apart, of an array with a tile's entries; 0 after the last. */
template <typename T>
__device__ __forceinline__ void load_entries(uint32_t (&v)[kEntriesAhead], const T *entry,
                                             uint32_t from, uint32_t count)
{
#pragma unroll
    for (unsigned j = 0; j < kEntriesAhead; j++) {
        const uint32_t i = from + j * kWarp + lane();

        v[j] = i < count ? entry[i] : 0;
    }
}

/* Calls take(bits) for each collected element of a tile. Called by every thread of a warp; each
 * element is passed to one of them. */
template <class Take>
__device__ __forceinline__ void each_collected(const slots &in, uint64_t tile, const Take &take)
{
    const uint32_t count = in.count[tile];

    for (uint32_t from = 0; from < count; from += kEntriesAhead * kWarp) {
        uint32_t bits[kEntriesAhead];

        load_entries(bits, in.bits + tile * kTile, from, count);
#pragma unroll
        for (unsigned j = 0; j < kEntriesAhead; j++)
            if (from + j * kWarp + lane() < count)
                take(bits[j]);
    }
}

/* The number of the lowest bit of a level's digit. */
__device__ __forceinline__ unsigned shift_of(unsigned level)
{
    return 10 * (kLevels - 1 - level);
}

/* The number of values of a level's digit. */
__device__ __forceinline__ unsigned digits_of(unsigned level)
{
    return level == 0 ? kDigits : kDigits / 2;
}

/* The side that x belongs to, if there are `sides` sides. */
__device__ __forceinline__ unsigned side_of(float x, unsigned sides)
{
    return sides == kSides ? gcb_bits_of(x) >> 31 : 0;
}

struct search_room {
    scan_room scan;
    uint32_t digits[kDigits]; /* the number of elements with each digit */
    uint32_t digit, left;     /* results of find_digit */
};

/*
 * Finds the rank-th largest element from the counts of digits: sets room.digit to its digit, and
 * room.left to its rank among the elements with this digit. Changes neither if rank is 0 or above
 * the number of elements. Called by every thread of the block.
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

/* Adds a block's counts of the digits of a level to those of the choice. Called by every thread of
 * the block, after a barrier. */
__device__ __forceinline__ void add_digits(selection_state *c, const uint32_t *digits,
                                           unsigned level, unsigned sides)
{
    for (unsigned i = threadIdx.x; i < sides * kDigits; i += blockDim.x)
        if (digits[i])
            atomic_add(&c->digits[i / kDigits][level][i % kDigits], digits[i]);
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
