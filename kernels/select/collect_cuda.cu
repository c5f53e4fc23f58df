#include <math.h>

#include "kernels/memory/feedback.cuh"
#include "kernels/select/select_cuda.cuh"

using namespace gcb;

namespace
{

constexpr uint64_t kSampleFrom = 1 << 16; /* fewer positions than this are all collected */
constexpr uint64_t kSampleMost = 1 << 15; /* most elements of a sample */
/* Loads that a thread starts before it uses the first: the elements are far apart in memory. */
constexpr unsigned kSampleAhead = 8;

/* Loads elements `from`, `from` + blockDim.x, ... of the sample; 0 after the last. */
__device__ void load_sample(float (&v)[kSampleAhead], const gcb_device_input &x, const sample &how,
                            uint64_t from)
{
    const bool open = needs_feedback(x);

#pragma unroll
    for (unsigned i = 0; i < kSampleAhead; i++) {
        const uint64_t mine = from + i * blockDim.x;
        const uint64_t at = (mine < how.m ? mine : from) * how.stride + how.offset;

        v[i] = open ? compensate(x, at) : x.x[at];
        v[i] = mine < how.m ? v[i] : 0.0f;
    }
}

/* Counts the digit of a magnitude, if its higher digits are those of `prefix`. Leaves zeros out:
 * there may be so many that all threads would wait for one counter. */
__device__ void count_digit(search_room &room, uint32_t bits, uint32_t prefix, unsigned level)
{
    const unsigned above = shift_of(level ? level - 1 : 0);

    if (bits && (level == 0 || bits >> above == prefix >> above))
        atomic_add(&room.digits[bits >> shift_of(level) & (digits_of(level) - 1)], 1u);
}

/* The rank-th largest magnitude of this side in the sample, rounded down to the top how.levels
 * digits; 0 if fewer than how.rank sampled elements of the side are not 0. Called by every thread
 * of the block. */
__device__ uint32_t rank_sample(search_room &room, const gcb_device_input &x, const sample &how,
                                unsigned side, unsigned sides)
{
    uint32_t prefix = 0, rank = static_cast<uint32_t>(how.rank);

    for (unsigned level = 0; level < how.levels; level++) {
        clear_counts(room.digits);
        if (threadIdx.x == 0) {
            room.digit = 0;
            room.left = 0;
        }
        sync_block();
        for (uint64_t from = threadIdx.x; from < how.m; from += kSampleAhead * blockDim.x) {
            float v[kSampleAhead];

            load_sample(v, x, how, from);
#pragma unroll
            for (unsigned i = 0; i < kSampleAhead; i++)
                count_digit(room, side_of(v[i], sides) == side ? gcb_magnitude(v[i]) : 0, prefix,
                            level);
        }
        sync_block();
        find_digit(room, room.digits, digits_of(level), rank);
        prefix |= room.digit << shift_of(level);
        rank = room.left;
        sync_block();
    }
    return prefix;
}

/* Sets the state *c of a choice, with one block of threads: clears the counts, and computes
 * c->least from the sample. */
__global__ __launch_bounds__(kOneBlock, 1) void init_selection(selection_state *c,
                                                               gcb_device_input x, sample how,
                                                               unsigned sides, uint32_t want)
{
    search_room &room = shared<search_room>();
    uint32_t least = how.m ? kAll : how.least;

    for (unsigned i = threadIdx.x; i < kSides * kLevels * kDigits; i += blockDim.x)
        c->digits[i / (kLevels * kDigits)][i / kDigits % kLevels][i % kDigits] = 0;
    clear_counts(c->count);
    for (unsigned side = 0; how.m && side < sides; side++)
        least = lesser(least, rank_sample(room, x, how, side, sides));
    if (threadIdx.x >= kSides)
        return;
    c->want[threadIdx.x] = want;
    c->keep[threadIdx.x] = {sides == kSides ? 0x80000000u : 0, threadIdx.x << 31, 0, 0};
    if (threadIdx.x)
        return;
    c->choice.kept = 0;
    c->least = how.m && sides == kSides && least == 0 ? 1 : least;
    c->again = 0;
    c->reused = 0;
    c->max_bits = 0;
    if (want == 0 && sides == 1) /* everything collected is kept */
        c->keep[0] = {0, 0, c->least, kAll};
}

struct collect_room {
    scan_room scan;
    uint32_t digits[kSides * kDigits];
};

/* Collects the elements of one tile that reach `least`: stores them in the tile's slots and counts
 * their top digits. The first read of the tensor adds error feedback, and sets the residual as if
 * nothing were kept; when values are written, the residuals of kept elements are corrected. */
__device__ void collect_tile(collect_room &room, const slots &to, const gcb_device_input &x,
                             uint64_t tile, unsigned sides, uint32_t least)
{
    const uint64_t first = tile * kTile + threadIdx.x * kTileEach;
    uint32_t pass = 0, total, at;
    float v[kTileEach];

    load_input(v, x, first);
    if (needs_feedback(x))
        store_floats(x.residual, v, first, x.n);
#pragma unroll
    for (unsigned i = 0; i < kTileEach; i++)
        pass |= static_cast<uint32_t>(gcb_magnitude(v[i]) >= least && first + i < x.n) << i;
    at = scan_block(room.scan, popc(pass), &total);
#pragma unroll
    for (unsigned i = 0; i < kTileEach; i++) {
        const uint32_t m = gcb_magnitude(v[i]);

        if (!(pass >> i & 1))
            continue;
        if (m || sides == 1)
            atomic_add(&room.digits[side_of(v[i], sides) * kDigits + (m >> shift_of(0))], 1u);
        to.bits[tile * kTile + at] = gcb_bits_of(v[i]);
        to.offset[tile * kTile + at] = static_cast<uint16_t>(threadIdx.x * kTileEach + i);
        at++;
    }
    if (threadIdx.x == 0)
        to.count[tile] = total;
}

/* Collects from all tiles. The second launch does nothing unless c->again is set. */
__global__ void collect_tiles(selection_state *c, slots to, gcb_device_input x, unsigned sides,
                              bool second)
{
    collect_room &room = shared<collect_room>();
    const uint32_t least = c->least;

    if (second && !c->again)
        return;
    for (unsigned i = threadIdx.x; i < sides * kDigits; i += blockDim.x)
        room.digits[i] = 0;
    sync_block();
    for (uint64_t tile = blockIdx.x; tile * kTile < x.n; tile += gridDim.x)
        collect_tile(room, to, x, tile, sides, least);
    sync_block();
    add_digits(c, room.digits, 0, sides);
}

} /* namespace */

sample gcb::plan_sample(uint64_t n, uint64_t k)
{
    const uint64_t m = lesser(n / 16, kSampleMost);
    const double share =
        n ? static_cast<double>(k) / static_cast<double>(n) * static_cast<double>(m) : 0.0;
    /* four standard deviations above the expected rank, so that too few are collected only
     * rarely */
    const double rank = share + 4.0 * sqrt(share) + 8.0;

    /* two levels of digits are enough, because the exact magnitude is found later */
    if (n < kSampleFrom || rank >= static_cast<double>(m))
        return {1, 0, 0, 0, 2, 0};
    return {n / m, 0, m, static_cast<uint64_t>(rank), 2, 0};
}

int gcb::begin_selection(gcb_device_stream *s, const selection &w, const sample &how,
                         unsigned sides, uint64_t want)
{
    return launch(init_selection, 1, kOneBlock, sizeof(search_room), s, w.c, w.x, how, sides, want);
}

int gcb::collect_candidates(gcb_device_stream *s, const selection &w, unsigned sides, bool second)
{
    gcb_device_input x = w.x;

    x.compensated = x.compensated || second; /* the first collection has added the residual */
    return launch(collect_tiles, grid_over(tile_count(x.n)), kTileThreads, sizeof(collect_room), s,
                  w.c, w.in, x, sides, second);
}
