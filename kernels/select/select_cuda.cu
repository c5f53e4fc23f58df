#include "kernels/select/select.cuh"

#include <math.h>

namespace
{

using gcb::choosing;
using gcb::kDigits;
using gcb::kTile;
using gcb::kTileEach;
using gcb::kTileThreads;
using gcb::slots;

constexpr uint64_t kSampleFrom = 1 << 16; /* below this many positions all of them are collected */
constexpr uint64_t kSampleMost = 1 << 15;
constexpr unsigned kSampleThreads = 1024;

/* Where the digit of a level stands. */
__device__ unsigned shift_of(unsigned level)
{
    return level == 0 ? 20 : level == 1 ? 10 : 0;
}

__device__ unsigned digits_of(unsigned level)
{
    return level == 0 ? kDigits : kDigits / 2;
}

struct search_room {
    gcb::scan_room scan;
    uint32_t digits[kDigits];
    uint32_t digit, left;
};

/*
 * The largest digit that, with those above it, at least `rank` were counted for: to room.digit; the rank among those
 * that have it to room.left. Nothing is found for rank 0 or one that exceeds the count. Every thread of the block.
 */
__device__ void find_digit(search_room &room, const uint32_t *count, unsigned digits, uint32_t rank)
{
    const unsigned each = (digits + blockDim.x - 1) / blockDim.x;
    const unsigned end = digits - (threadIdx.x * each < digits ? threadIdx.x * each : digits);
    const unsigned from = end > each ? end - each : 0;
    uint32_t mine = 0, total, above;

    for (unsigned d = from; d < end; d++)
        mine += count[d];
    above = gcb::scan_block(room.scan, mine, &total);
    if (above < rank && rank <= above + mine) {
        unsigned d = end - 1;

        for (; above + count[d] < rank; d--)
            above += count[d];
        room.digit = d;
        room.left = rank - above;
    }
    gcb::sync_block();
}

/* The first kernel of a choice: zeroes, and what to collect from. m = 0: no sample, from `least`. */
__global__ void begin(choosing *c, const float *__restrict__ x, uint64_t stride, uint32_t m,
                      uint32_t rank, uint32_t least)
{
    search_room &room = gcb::shared<search_room>();
    uint32_t prefix = 0;

    for (unsigned i = threadIdx.x; i < gcb::kLevels * kDigits; i += blockDim.x)
        c->digits[i / kDigits][i % kDigits] = 0;
    for (unsigned level = 0; m && level < 2; level++) { /* the last bits do not matter */
        for (unsigned i = threadIdx.x; i < kDigits; i += blockDim.x)
            room.digits[i] = 0;
        gcb::sync_block();
        for (uint32_t i = threadIdx.x; i < m; i += blockDim.x) {
            const uint32_t bits = gcb_magnitude(x[i * stride]);

            if (level == 0 || bits >> shift_of(0) == prefix >> shift_of(0))
                gcb::atomic_add(&room.digits[bits >> shift_of(level) & (digits_of(level) - 1)], 1u);
        }
        gcb::sync_block();
        find_digit(room, room.digits, digits_of(level), rank);
        prefix |= room.digit << shift_of(level);
        rank = room.left;
        gcb::sync_block();
    }
    if (threadIdx.x == 0) {
        c->choice.kept = 0;
        c->least = m ? prefix : least;
        c->again = 0;
        c->prefix = 0;
        c->left = 0;
    }
}

struct collecting {
    gcb::scan_room scan;
    uint32_t digits[kDigits];
};

/* Of one tile: what reaches `least`, to its slots and among the digits. */
__device__ void collect_tile(collecting &room, const slots &to, const float *x, uint64_t n,
                             uint64_t tile, uint32_t least)
{
    const uint64_t first = tile * kTile + threadIdx.x * kTileEach;
    uint32_t pass = 0, total, at;
    float v[kTileEach];

    gcb::load_floats(v, x, first, n);
#pragma unroll
    for (unsigned i = 0; i < kTileEach; i++)
        pass |= static_cast<uint32_t>(gcb_magnitude(v[i]) >= least && first + i < n) << i;
    at = gcb::scan_block(room.scan, gcb::popc(pass), &total);
#pragma unroll
    for (unsigned i = 0; i < kTileEach; i++) {
        if (!(pass >> i & 1))
            continue;
        gcb::atomic_add(&room.digits[gcb_magnitude(v[i]) >> 20], 1u);
        to.bits[tile * kTile + at] = gcb_bits_of(v[i]);
        to.offset[tile * kTile + at] = static_cast<uint16_t>(threadIdx.x * kTileEach + i);
        at++;
    }
    if (threadIdx.x == 0)
        to.count[tile] = total;
}

__global__ void collect(choosing *c, slots to, const float *__restrict__ x, uint64_t n, bool second)
{
    collecting &room = gcb::shared<collecting>();
    const uint32_t least = c->least;

    if (second && !c->again)
        return;
    for (unsigned i = threadIdx.x; i < kDigits; i += blockDim.x)
        room.digits[i] = 0;
    gcb::sync_block();
    for (uint64_t tile = blockIdx.x; tile * kTile < n; tile += gridDim.x)
        collect_tile(room, to, x, n, tile, least);
    gcb::sync_block();
    for (unsigned i = threadIdx.x; i < kDigits; i += blockDim.x)
        if (room.digits[i])
            gcb::atomic_add(&c->digits[0][i], room.digits[i]);
}

struct judging {
    gcb::scan_room scan;
};

/* One block: were fewer collected than are asked for, all are. */
__global__ void judge(choosing *c, uint32_t k)
{
    judging &room = gcb::shared<judging>();
    uint32_t mine = 0, total;

    for (unsigned i = threadIdx.x; i < kDigits; i += blockDim.x)
        mine += c->digits[0][i];
    gcb::scan_block(room.scan, mine, &total);
    if (total >= k)
        return;
    for (unsigned i = threadIdx.x; i < kDigits; i += blockDim.x)
        c->digits[0][i] = 0;
    if (threadIdx.x == 0) {
        c->again = 1;
        c->least = 0;
    }
}

/* One block: the k-th largest's digit of this level. */
__global__ void pick(choosing *c, unsigned level, uint32_t k)
{
    search_room &room = gcb::shared<search_room>();
    const uint32_t rank = level ? c->left : k;

    if (threadIdx.x == 0) {
        room.digit = 0;
        room.left = 0;
    }
    gcb::sync_block();
    find_digit(room, c->digits[level], digits_of(level), rank);
    if (threadIdx.x == 0) {
        c->prefix |= room.digit << shift_of(level);
        c->left = room.left;
    }
}

struct counting {
    uint32_t digits[kDigits];
};

/* Counts this level's digits of what has the digits above it in common with the k-th largest. */
__global__ void count_digits(choosing *c, slots in, uint64_t tiles, unsigned level)
{
    counting &room = gcb::shared<counting>();
    const unsigned shift = shift_of(level), above = shift_of(level - 1);
    const uint32_t prefix = c->prefix >> above;

    for (unsigned i = threadIdx.x; i < kDigits; i += blockDim.x)
        room.digits[i] = 0;
    gcb::sync_block();
    for (uint64_t tile = gcb::warp_of_grid(); tile < tiles; tile += gcb::warps_of_grid()) {
        const uint32_t count = in.count[tile];

        for (uint32_t i = gcb::lane(); i < count; i += gcb::kWarp) {
            const uint32_t m = in.bits[tile * kTile + i] & GCB_MAGNITUDE_MASK;

            if (m >> above == prefix)
                gcb::atomic_add(&room.digits[m >> shift & (digits_of(level) - 1)], 1u);
        }
    }
    gcb::sync_block();
    for (unsigned i = threadIdx.x; i < kDigits; i += blockDim.x)
        if (room.digits[i])
            gcb::atomic_add(&c->digits[level][i], room.digits[i]);
}

/* All that was collected is kept. */
__global__ void keep_all(choosing *c)
{
    if (threadIdx.x == 0) {
        c->prefix = c->least;
        c->left = 0xffffffffu;
    }
}

uint64_t rounded(uint64_t bytes)
{
    return (bytes + 15) / 16 * 16;
}

/* Where everything stands in a scratch; returns its size. */
uint64_t lay_out(uint8_t *at, uint64_t n, uint64_t most, choosing **c, slots *in,
                 struct gcb_cuda_chosen *chosen)
{
    const uint64_t tiles = gcb::tiles_for(n), room = tiles * kTile;
    uint64_t end = 0;
    const auto take = [&](uint64_t bytes) {
        const uint64_t from = end;

        end += rounded(bytes);
        return at ? at + from : nullptr;
    };

    *c = reinterpret_cast<choosing *>(take(sizeof(choosing)));
    in->bits = reinterpret_cast<uint32_t *>(take(room * sizeof(uint32_t)));
    in->offset = reinterpret_cast<uint16_t *>(take(room * sizeof(uint16_t)));
    in->count = reinterpret_cast<uint32_t *>(take(tiles * sizeof(uint32_t)));
    in->above = reinterpret_cast<uint32_t *>(take(tiles * sizeof(uint32_t)));
    in->ties = reinterpret_cast<uint32_t *>(take(tiles * sizeof(uint32_t)));
    chosen->choice = &(*c)->choice;
    chosen->pos = reinterpret_cast<uint32_t *>(take(most * sizeof(uint32_t)));
    chosen->value = reinterpret_cast<float *>(take(most * sizeof(float)));
    chosen->first = reinterpret_cast<uint32_t *>(take((tiles + 1) * sizeof(uint32_t)));
    chosen->n = n;
    chosen->most = most;
    return end;
}

/* Queues begin, with a sample where it tells something: as gcb_select_guess. *sampled: whether. */
int queue_begin(struct gcb_device_stream *s, choosing *c, const float *x, uint64_t n,
                const struct gcb_cuda_select *how, bool *sampled)
{
    const uint64_t m = n / 16 < kSampleMost ? n / 16 : kSampleMost;
    const double share =
        n ? static_cast<double>(how->k) / static_cast<double>(n) * static_cast<double>(m) : 0.0;
    const double rank = share + 4.0 * sqrt(share) + 8.0;

    *sampled = how->exact && n >= kSampleFrom && rank < static_cast<double>(m);
    return gcb::launch(begin, 1, kSampleThreads, sizeof(search_room), s, c, x, *sampled ? n / m : 1,
                       *sampled ? m : 0, rank, how->exact ? 0 : how->threshold);
}

int queue_collect(struct gcb_device_stream *s, choosing *c, const slots &to, const float *x,
                  uint64_t n, bool second)
{
    return gcb::launch(collect, gcb::blocks_for(gcb::tiles_for(n)), kTileThreads,
                       sizeof(collecting), s, c, to, x, n, second);
}

/* Queues the search for the k-th largest of what was collected. */
int queue_rank(struct gcb_device_stream *s, choosing *c, const slots &in, uint64_t n, uint64_t k)
{
    const uint64_t tiles = gcb::tiles_for(n);
    int err = 0;

    for (unsigned level = 0; !err && level < gcb::kLevels; level++) {
        if (level)
            err = gcb::launch(count_digits, gcb::blocks_of_warps_for(tiles), kTileThreads,
                              sizeof(counting), s, c, in, tiles, level);
        if (!err)
            err = gcb::launch(pick, 1, kSampleThreads, sizeof(search_room), s, c, level, k);
    }
    return err;
}

} /* namespace */

uint64_t gcb_cuda_select_scratch(uint64_t n, uint64_t most)
{
    struct gcb_cuda_chosen chosen;
    choosing *c;
    slots in;

    return lay_out(nullptr, n, most, &c, &in, &chosen);
}

int gcb_cuda_select(struct gcb_device_stream *s, struct gcb_cuda_chosen *chosen,
                    const struct gcb_device_input *input, const struct gcb_cuda_select *how,
                    void *scratch)
{
    const uint64_t n = chosen->n;
    bool sampled = false;
    choosing *c;
    slots in;
    int err;

    lay_out(static_cast<uint8_t *>(scratch), n, chosen->most, &c, &in, chosen);
    err = queue_begin(s, c, input->x, n, how, &sampled);
    if (!err)
        err = queue_collect(s, c, in, input->x, n, false);
    if (!err && sampled)
        err = gcb::launch(judge, 1, kTileThreads, sizeof(judging), s, c, how->k);
    if (!err && sampled)
        err = queue_collect(s, c, in, input->x, n, true);
    if (!err)
        err = how->exact ? queue_rank(s, c, in, n, how->k)
                         : gcb::launch(keep_all, 1, gcb::kWarp, 0, s, c);
    return err ? err : gcb::compact(s, *chosen, c, in);
}
