#include "kernels/select/select_cuda.cuh"

using namespace gcb;

namespace
{

/* Finds each side's digit of this level, with one block of threads per side. */
__global__ __launch_bounds__(kOneBlock) void pick_digit(selection_state *c, unsigned level)
{
    search_room &room = shared<search_room>();
    const unsigned side = blockIdx.x;
    kept_side *keep = &c->keep[side];

    if (c->want[side] == 0)
        return;
    if (threadIdx.x == 0) {
        room.digit = 0;
        room.left = 0;
    }
    sync_block();
    find_digit(room, c->digits[side][level], digits_of(level), level ? keep->left : c->want[side]);
    if (threadIdx.x == 0) {
        keep->prefix |= room.digit << shift_of(level);
        keep->left = room.left;
    }
}

struct count_room {
    uint32_t digits[kSides * kDigits];
};

/* Counts this level's digits among the elements that share the digits found so far. */
__global__ void count_digits(selection_state *c, slots in, uint64_t tiles, unsigned level,
                             unsigned sides)
{
    count_room &room = shared<count_room>();
    const unsigned shift = shift_of(level), above = shift_of(level - 1);
    const uint32_t prefix[] = {c->keep[0].prefix >> above, c->keep[1].prefix >> above};
    const auto count = [&](uint32_t bits) {
        const uint32_t m = bits & GCB_MAGNITUDE_MASK;
        const unsigned side = side_of(gcb_float_of(bits), sides);

        if ((m || sides == 1) && m >> above == prefix[side])
            atomic_add(&room.digits[side * kDigits + (m >> shift & (digits_of(level) - 1))], 1u);
    };

    if (c->want[0] == 0 && (sides == 1 || c->want[1] == 0))
        return;
    for (unsigned i = threadIdx.x; i < sides * kDigits; i += blockDim.x)
        room.digits[i] = 0;
    sync_block();
    for (uint64_t tile = warp_of_grid(); tile < tiles; tile += warps_of_grid())
        each_collected(in, tile, count);
    sync_block();
    add_digits(c, room.digits, level, sides);
}

} /* namespace */

int gcb::rank_candidates(gcb_device_stream *s, const selection &w, unsigned sides)
{
    const uint64_t tiles = tile_count(w.x.n);

    for (unsigned level = 0; level < kLevels; level++) {
        if (level)
            launch(count_digits, grid_over(warps_over(tiles)), kTileThreads, sizeof(count_room), s,
                   w.c, w.in, tiles, level, sides);
        launch(pick_digit, sides, kOneBlock, sizeof(search_room), s, w.c, level);
    }
    return status_of(s);
}
