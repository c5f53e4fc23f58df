#include <math.h>

#include "kernels/memory/feedback.cuh"
#include "kernels/select/select_cuda.cuh"

using namespace gcb;

namespace
{

constexpr uint64_t kSampleFrom = 1 << 16; /* plan_sample: fewer positions need no sample */
constexpr uint64_t kSampleMost = 1 << 15; /* plan_sample: most elements of a sample */
/* Elements of the sample that a thread loads before it uses the first. */
constexpr unsigned kSampleAhead = 8;

/* Copies the sample to `to`. Its elements are far apart in memory, so many blocks take part. */
__global__ void take_sample(uint32_t *to, gcb_device_input x, sample how)
{
    const bool open = needs_feedback(x);

    for (uint64_t i = thread_of_grid(); i < how.m; i += threads_of_grid()) {
        const uint64_t at = i * how.stride + how.offset;

        to[i] = gcb_bits_of(open ? compensate(x, at) : x.x[at]);
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
__device__ uint32_t rank_sample(search_room &room, const uint32_t *taken, const sample &how,
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
        for (uint64_t from = 0; from < how.m; from += kSampleAhead * blockDim.x) {
            uint32_t bits[kSampleAhead];

#pragma unroll
            for (unsigned i = 0; i < kSampleAhead; i++) {
                const uint64_t mine = from + i * blockDim.x + threadIdx.x;

                bits[i] = mine < how.m ? taken[mine] : 0;
            }
#pragma unroll
            for (unsigned i = 0; i < kSampleAhead; i++)
                if (side_of(gcb_float_of(bits[i]), sides) == side)
                    count_digit(room, bits[i] & GCB_MAGNITUDE_MASK, prefix, level);
        }
        sync_block();
        find_digit(room, room.digits, digits_of(level), rank);
        prefix |= room.digit << shift_of(level);
        rank = room.left;
        sync_block();
    }
    return prefix;
}

/* Sets the state *c of a choice, with one block of threads: clears the counts, and sets c->least
 * from the sample that take_sample has taken or, if there is none, to how.least. */
__global__ __launch_bounds__(kOneBlock, 1) void init_selection(selection_state *c,
                                                               const uint32_t *taken, sample how,
                                                               unsigned sides, uint32_t want)
{
    search_room &room = shared<search_room>();
    uint32_t least = how.m ? kAll : how.least;

    for (unsigned i = threadIdx.x; i < kSides * kLevels * kDigits; i += blockDim.x)
        c->digits[i / (kLevels * kDigits)][i / kDigits % kLevels][i % kDigits] = 0;
    clear_counts(c->count);
    for (unsigned side = 0; how.m && side < sides; side++)
        least = lesser(least, rank_sample(room, taken, how, side, sides));
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

/* Shared memory of a block that collects. Each warp has the places of its own 512 elements in
 * `bits` and `offset`. */
template <unsigned Sides> struct collect_room {
    uint32_t digits[Sides * kDigits];
    uint32_t bits[kTile];
    uint16_t offset[kTile];
    uint32_t total[2][kTileThreads / kWarp];
};

/* The index in its tile of this thread's element i. A thread has four runs of four elements, one in
 * each quarter of its warp's elements, so that accesses of a warp are contiguous. */
__device__ __forceinline__ unsigned spread_index(unsigned i)
{
    return threadIdx.x / kWarp * (kWarp * kTileEach) + i / 4 * (4 * kWarp) + lane() * 4 + i % 4;
}

/* Loads this thread's elements of the tile that begins at x[start]; 0 from x[n] on. */
__device__ __forceinline__ void load_spread(float (&v)[kTileEach], const float *x, uint64_t start,
                                            uint64_t n)
{
    if (start + kTile <= n) {
#pragma unroll
        for (unsigned i = 0; i < kTileEach; i += 4) {
            const float4 four = *reinterpret_cast<const float4 *>(x + start + spread_index(i));

            v[i] = four.x;
            v[i + 1] = four.y;
            v[i + 2] = four.z;
            v[i + 3] = four.w;
        }
        return;
    }
#pragma unroll
    for (unsigned i = 0; i < kTileEach; i++)
        v[i] = start + spread_index(i) < n ? x[start + spread_index(i)] : 0.0f;
}

/* Adds error feedback to this thread's elements. Stores the sums over the tensor, and over the
 * residual as if nothing were kept; when values are written, the residuals of kept elements are
 * corrected. */
__device__ __forceinline__ void add_feedback(float (&v)[kTileEach], const gcb_device_input &x,
                                             uint64_t start)
{
#pragma unroll
    for (unsigned i = 0; i < kTileEach; i += 4) {
        const uint64_t first = start + spread_index(i);
        float four[4] = {v[i], v[i + 1], v[i + 2], v[i + 3]}, r[4];

        if (first >= x.n)
            continue;
        load_floats(r, x.residual, first, x.n);
        for (unsigned j = 0; j < 4; j++)
            v[i + j] = four[j] = gcb_memory_carried(x.carry, r[j], four[j]);
        store_floats(x.x, four, first, x.n);
        store_floats(x.residual, four, first, x.n);
    }
}

/* Stores this thread's elements whose bits are set in `pass` at their places among the elements of
 * its warp that pass, in index order. Returns how many of the warp's elements pass. Called by every
 * thread of the warp. */
template <unsigned Sides>
__device__ __forceinline__ uint32_t gather_warp(collect_room<Sides> &room,
                                                const float (&v)[kTileEach], uint32_t pass)
{
    uint32_t mine = 0, all, at = threadIdx.x / kWarp * (kWarp * kTileEach);
    uint32_t before; /* byte q: elements of quarter q in the lanes before; less than 128 */

#pragma unroll
    for (unsigned q = 0; q < 4; q++)
        mine |= popc(pass >> 4 * q & 15) << 8 * q;
    before = scan_warp(mine);
    all = shfl(before + mine, kWarp - 1);
#pragma unroll
    for (unsigned q = 0; q < 4; q++) {
        uint32_t to = at + (before >> 8 * q & 255);

#pragma unroll
        for (unsigned i = 4 * q; i < 4 * q + 4; i++) {
            if (pass >> i & 1) {
                room.bits[to] = gcb_bits_of(v[i]);
                room.offset[to++] = static_cast<uint16_t>(spread_index(i));
            }
        }
        at += all >> 8 * q & 255;
    }
    sync_warp();
    return at - threadIdx.x / kWarp * (kWarp * kTileEach);
}

/* Collects the elements of one tile that reach `least`: stores them in the tile's slots and counts
 * their top digits, except those of zeros if there are two sides. The tiles of a block use the two
 * rows of room.total by turns, so that one barrier is enough for each tile. Called by every thread
 * of the block. */
template <unsigned Sides>
__device__ __forceinline__ void
collect_tile(collect_room<Sides> &room, uint32_t (&total)[kTileThreads / kWarp], const slots &to,
             const gcb_device_input &x, uint64_t tile, uint32_t least)
{
    const unsigned warp = threadIdx.x / kWarp, own = warp * (kWarp * kTileEach);
    const uint64_t start = tile * kTile;
    uint32_t pass = 0, mine;
    uint64_t at = start;
    float v[kTileEach];

    load_spread(v, x.x, start, x.n);
    if (needs_feedback(x))
        add_feedback(v, x, start);
#pragma unroll
    for (unsigned i = 0; i < kTileEach; i++)
        pass |= static_cast<uint32_t>(gcb_magnitude(v[i]) >= least) << i;
    if (start + kTile > x.n)
        for (unsigned i = 0; i < kTileEach; i++)
            pass &= ~(static_cast<uint32_t>(start + spread_index(i) >= x.n) << i);
    mine = gather_warp(room, v, pass);
    if (lane() == 0)
        total[warp] = mine;
    sync_block();
    for (unsigned w = 0; w < warp; w++)
        at += total[w];
    for (uint32_t i = lane(); i < mine; i += kWarp) {
        const uint32_t bits = room.bits[own + i], m = bits & GCB_MAGNITUDE_MASK;

        to.bits[at + i] = bits;
        to.offset[at + i] = room.offset[own + i];
        if (m || Sides == 1)
            atomic_add(
                &room.digits[side_of(gcb_float_of(bits), Sides) * kDigits + (m >> shift_of(0))],
                1u);
    }
    if (threadIdx.x == kTileThreads - kWarp)
        to.count[tile] = static_cast<uint32_t>(at - start) + mine;
    sync_warp();
}

/* Collects from all tiles. The second launch does nothing unless c->again is set. The launch bound
 * limits the registers so that five thread blocks fit a multiprocessor. */
template <unsigned Sides>
__global__ __launch_bounds__(kTileThreads, 5) void collect_tiles(selection_state *c, slots to,
                                                                 gcb_device_input x, bool second)
{
    collect_room<Sides> &room = shared<collect_room<Sides>>();
    const uint32_t least = c->least;
    unsigned turn = 0;

    if (second && !c->again)
        return;
    clear_counts(room.digits);
    sync_block();
    for (uint64_t tile = blockIdx.x; tile * kTile < x.n; tile += gridDim.x, turn ^= 1)
        collect_tile(room, room.total[turn], to, x, tile, least);
    sync_block();
    add_digits(c, room.digits, 0, Sides);
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
    if (how.m)
        launch(take_sample, grid_over(pieces_of(how.m, kTileThreads)), kTileThreads, 0, s,
               w.in.bits, w.x, how);
    return launch(init_selection, 1, kOneBlock, sizeof(search_room), s, w.c, w.in.bits, how, sides,
                  want);
}

int gcb::collect_candidates(gcb_device_stream *s, const selection &w, unsigned sides, bool second)
{
    const uint64_t grid = grid_over(tile_count(w.x.n), second ? kMostBlocks : kManyBlocks);
    gcb_device_input x = w.x;

    x.compensated = x.compensated || second; /* the first collection has added the residual */
    if (sides == kSides)
        return launch(collect_tiles<kSides>, grid, kTileThreads, sizeof(collect_room<kSides>), s,
                      w.c, w.in, x, second);
    return launch(collect_tiles<1>, grid, kTileThreads, sizeof(collect_room<1>), s, w.c, w.in, x,
                  second);
}
