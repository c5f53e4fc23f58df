#include "kernels/select/chunk_cuda.h"

#include "kernels/cuda/align.h"
#include "kernels/memory/feedback.cuh"
#include "kernels/select/chunk_cuda.cuh"
#include "kernels/select/select_cuda.cuh"

using namespace gcb;

namespace
{

constexpr unsigned kScaleThreads = 256;
/* The most threads of a block in the three instances of select_from_near_chunks. */
constexpr unsigned kFew = 32, kSome = 256, kMost = kChunkNear / kChunkEach;

template <unsigned Threads> using near_room = chunk_room<kChunkEach, Threads>;

/* A Chunk for select_from_chunk: magnitudes are in registers, elements in memory. */
struct near_chunk {
    static constexpr uint32_t each = kChunkEach;
    const float *x;
    uint32_t threads, count;
    uint32_t m[each];

    __device__ bool has(uint32_t e) const
    {
        return e * blockDim.x + threadIdx.x < count;
    }
    __device__ uint32_t magnitude_at(uint32_t pos) const
    {
        return gcb_magnitude(x[pos]);
    }
    __device__ void put(float *to, uint32_t entry, uint32_t pos, float unitary) const
    {
        to[entry] = x[pos] * unitary;
    }
};

/* Chooses from chunks whose magnitudes fit the registers of a block of up to `Threads` threads. */
template <unsigned Threads>
__global__ __launch_bounds__(Threads) void select_from_near_chunks(gcb_cuda_chosen to,
                                                                   gcb_device_input in,
                                                                   gcb_cuda_chunks cut)
{
    near_room<Threads> &room = shared<near_room<Threads>>();
    const uint64_t skip = cut.first * cut.length;

    for (uint64_t i = cut.first + blockIdx.x; i * cut.length < to.n; i += gridDim.x) {
        const chunk_place place = chunk_place_of(cut, to.n, i);
        const uint64_t first = place.from - skip;
        near_chunk c;

        c.x = in.x + first;
        c.threads = blockDim.x;
        c.count = place.count;
#pragma unroll
        for (unsigned e = 0; e < kChunkEach; e++)
            c.m[e] = c.has(e)
                         ? gcb_magnitude(load_element(in, first + e * blockDim.x + threadIdx.x))
                         : 0;
        select_from_chunk(room, c, place, to, 1.0f);
    }
    if (blockIdx.x == 0 && threadIdx.x == 0)
        end_choice(to);
}

/* ---- chunks that do not fit the registers ---- */

constexpr uint32_t kLongThreads = 1024;

/* A chunk whose elements are read from memory each time. Each warp has a stretch of it. */
struct long_chunk {
    const float *x;
    uint32_t count, stretch; /* elements of the chunk, and of a warp's stretch (a multiple of 32) */

    __device__ uint32_t each() const
    {
        return stretch / kWarp;
    }
    __device__ uint32_t index(uint32_t e) const
    {
        return threadIdx.x / kWarp * stretch + e * kWarp + lane();
    }
    __device__ float value(uint32_t e) const
    {
        return index(e) < count ? x[index(e)] : 0.0f;
    }
    __device__ uint32_t magnitude(uint32_t e) const
    {
        return gcb_magnitude(value(e));
    }
};

struct long_room {
    scan_room scan;
    search_room search;
};

/* Counts the digits of this level among the magnitudes that share the higher digits of `prefix`.
 * Called by every thread of the block. */
__device__ void count_digits(search_room &room, const long_chunk &c, unsigned level,
                             uint32_t prefix)
{
    const unsigned shift = shift_of(level), above = level ? shift_of(level - 1) : 31;

    clear_counts(room.digits);
    sync_block();
    for (uint32_t e = 0; e < c.each(); e++) {
        const uint32_t m = c.magnitude(e);

        if (c.index(e) < c.count && m >> above == prefix >> above)
            atomic_add(&room.digits[m >> shift & (digits_of(level) - 1)], 1u);
    }
    sync_block();
}

/* Finds the k-th largest magnitude digit by digit, with one read of the chunk per digit. Stops as
 * soon as all magnitudes with the digits found are kept. Called by every thread of the block. */
__device__ chunk_cut find_long_cut(search_room &room, const long_chunk &c, uint32_t k)
{
    uint32_t prefix = 0, left = k;

    for (unsigned level = 0; level < kLevels; level++) {
        uint32_t equal;

        count_digits(room, c, level, prefix);
        find_digit(room, room.digits, digits_of(level), left);
        prefix |= room.digit << shift_of(level);
        left = room.left;
        equal = room.digits[room.digit];
        sync_block();
        if (equal == left)
            return {prefix, 0};
    }
    return {prefix + 1, left};
}

/* The number of ties (magnitudes that equal cut.sure - 1) in the warps before this one; 0 if no
 * ties are kept. Called by every thread of the block. */
__device__ uint32_t ties_before(scan_room &room, const long_chunk &c, const chunk_cut &cut)
{
    uint32_t mine = 0, total;

    if (cut.ties == 0)
        return 0;
    for (uint32_t e = 0; e < c.each(); e++)
        mine += c.index(e) < c.count && c.magnitude(e) == cut.sure - 1;
    mine = scan_block(room, mine, &total);
    return shfl(mine, 0);
}

/* True if element e is kept. If any ties are kept, *ties is the number of ties before the warp's 32
 * elements e, and the function adds the ties among these 32. Called by every lane. */
__device__ bool is_kept(const long_chunk &c, const chunk_cut &cut, uint32_t e, uint32_t *ties)
{
    const bool there = c.index(e) < c.count;
    const uint32_t m = c.magnitude(e);
    uint32_t tied;
    bool kept;

    if (cut.ties == 0)
        return there && m >= cut.sure;
    tied = gcb::ballot(there && m == cut.sure - 1);
    kept = there &&
           (m >= cut.sure || (m == cut.sure - 1 && *ties + popc(tied & lanes_before()) < cut.ties));
    *ties += popc(tied);
    return kept;
}

/* Writes the entries of the chunk, and the first entry of each tile that begins in it. Called by
 * every thread of the block. */
__device__ void write_kept(scan_room &room, const long_chunk &c, const chunk_cut &cut,
                           const chunk_place &place, const gcb_cuda_chosen &to)
{
    const uint32_t tied = ties_before(room, c, cut);
    uint32_t ties = tied, mine = 0, total, at;

    for (uint32_t e = 0; e < c.each(); e++)
        mine += is_kept(c, cut, e, &ties);
    at = place.entry + shfl(scan_block(room, mine, &total), 0);
    ties = tied;
    for (uint32_t e = 0; e < c.each(); e++) {
        const bool kept = is_kept(c, cut, e, &ties);
        const uint32_t all = gcb::ballot(kept), rank = at + popc(all & lanes_before());
        const uint32_t pos = place.from + c.index(e);

        if (kept) {
            to.pos[rank] = pos;
            to.value[rank] = c.value(e);
        }
        if (c.index(e) < c.count && pos % kTile == 0)
            to.first[pos / kTile] = rank;
        at += popc(all);
    }
}

__global__ __launch_bounds__(kLongThreads) void select_from_long_chunks(gcb_cuda_chosen to,
                                                                        gcb_device_input in,
                                                                        gcb_cuda_chunks cut)
{
    long_room &room = shared<long_room>();
    const uint64_t skip = cut.first * cut.length;

    for (uint64_t i = cut.first + blockIdx.x; i * cut.length < to.n; i += gridDim.x) {
        const chunk_place place = chunk_place_of(cut, to.n, i);
        long_chunk c;

        c.x = in.x + (place.from - skip);
        c.count = place.count;
        c.stretch = pieces_of(place.count, blockDim.x) * kWarp;
        for (uint32_t e = 0; needs_feedback(in) && e < c.each(); e++)
            if (c.index(e) < c.count)
                load_element(in, place.from - skip + c.index(e));
        write_kept(room.scan, c, find_long_cut(room.search, c, place.k), place, to);
    }
    if (blockIdx.x == 0 && threadIdx.x == 0)
        end_choice(to);
}

/* ---- the functions of chunk_cuda.h ---- */

__global__ void scale_values(gcb_cuda_chosen c, uint64_t from, float factor)
{
    const uint64_t kept = c.choice->kept;

    for (uint64_t i = from + thread_of_grid(); i < kept; i += threads_of_grid())
        c.value[i] *= factor;
}

/* The number of chunks from number cut->first on. */
uint64_t chunks_of(const gcb_cuda_chosen *to, const gcb_cuda_chunks *cut)
{
    return pieces_of(to->n, cut->length) - cut->first;
}

/* Queues the choice from chunks that fit the registers of `Threads` threads. */
template <unsigned Threads>
int launch_near(gcb_device_stream *s, const gcb_cuda_chosen *chosen, const gcb_device_input *in,
                const gcb_cuda_chunks *cut)
{
    const uint64_t warps = pieces_of(cut->length, kChunkEach * kWarp);

    return launch(select_from_near_chunks<Threads>, grid_over(chunks_of(chosen, cut), kManyBlocks),
                  static_cast<unsigned>(warps) * kWarp, sizeof(near_room<Threads>), s, *chosen, *in,
                  *cut);
}

} /* namespace */

uint64_t gcb_cuda_chosen_lay_out(gcb_cuda_chosen *chosen, uint64_t n, uint64_t most, void *scratch)
{
    const uint64_t list = gcb_cuda_align16(most * sizeof(uint32_t));
    uint8_t *at = static_cast<uint8_t *>(scratch);

    if (at) {
        chosen->choice = reinterpret_cast<gcb_cuda_choice *>(at);
        at += gcb_cuda_align16(sizeof(gcb_cuda_choice));
        chosen->pos = reinterpret_cast<uint32_t *>(at);
        chosen->value = reinterpret_cast<float *>(at + list);
        chosen->first = reinterpret_cast<uint32_t *>(at + 2 * list);
        chosen->n = n;
        chosen->most = most;
    }
    return gcb_cuda_align16(sizeof(gcb_cuda_choice)) + 2 * list +
           gcb_cuda_align16((tile_count(n) + 1) * sizeof(uint32_t));
}

int gcb_cuda_select_chunks(gcb_device_stream *s, const gcb_cuda_chosen *chosen,
                           const gcb_device_input *in, const gcb_cuda_chunks *cut)
{
    if (cut->length > kChunkNear)
        return launch(select_from_long_chunks, grid_over(chunks_of(chosen, cut)), kLongThreads,
                      sizeof(long_room), s, *chosen, *in, *cut);
    if (cut->length > kSome * kChunkEach)
        return launch_near<kMost>(s, chosen, in, cut);
    return cut->length > kFew * kChunkEach ? launch_near<kSome>(s, chosen, in, cut)
                                           : launch_near<kFew>(s, chosen, in, cut);
}

int gcb_cuda_scale_chosen(gcb_device_stream *s, const gcb_cuda_chosen *chosen, uint64_t from,
                          float factor)
{
    return launch(scale_values,
                  grid_over(pieces_of(chosen->most - from, kScaleThreads), kManyBlocks),
                  kScaleThreads, 0, s, *chosen, from, factor);
}
