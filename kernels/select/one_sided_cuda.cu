#include "kernels/reduce/sum.cuh"
#include "kernels/select/select_cuda.cuh"

using namespace gcb;

namespace
{

/* Asks to collect all elements if a side that must have k elements has fewer. `sides` has a bit for
 * each side that must have k elements. Launched with one block of threads. */
__global__ void check_sides(selection_state *c, uint32_t k, unsigned sides)
{
    scan_room &room = shared<scan_room>();
    bool enough = true;

    for (unsigned side = 0; side < kSides; side++)
        if (count_collected(room, c, side) < k && sides >> side & 1)
            enough = false;
    if (!enough)
        collect_again(c);
}

/* Sets the rank to find on each side: k, or the number of the side's collected elements if this is
 * less. If neither side has any, the tensor is all zero, and the first k positions are kept.
 * Launched with one block of threads. */
__global__ void set_ranks(selection_state *c, uint32_t k)
{
    scan_room &room = shared<scan_room>();

    for (unsigned side = 0; side < kSides; side++) {
        const uint32_t there = count_collected(room, c, side);

        if (threadIdx.x == 0)
            c->want[side] = lesser(there, k);
    }
    if (threadIdx.x == 0 && c->want[0] == 0 && c->want[1] == 0)
        c->keep[0] = c->keep[1] = {0, 0, 0, k};
}

/* The number of sum blocks of the longer list; the shorter list gets as many sums.
 * gcb_cuda_select_one_sided makes a list of each side and then keeps one of the two. */
__device__ uint64_t sum_blocks(const selection_state *c)
{
    return sum_blocks_of(larger(c->kept[0], c->kept[1]));
}

/* Sums the magnitudes of each list by sum blocks. Each warp handles one sum block at a time. A
 * block past the end of the shorter list sums to zero. */
__global__ void sum_lists(const selection_state *c, list_set both)
{
    const uint64_t blocks = sum_blocks(c);

    for (uint64_t i = warp_of_grid(); i < kSides * blocks; i += warps_of_grid()) {
        const unsigned side = i % kSides;
        const kept_list &list = both.list[side];
        const uint64_t b = i / kSides;
        const unsigned n = sum_block_size(c->kept[side], b);
        const double sum = join_lanes(
            lane_sum(list.value + b * GCB_SUM_BLOCK, n, [](float v) { return gcb_reduce_abs(v); }));

        if (lane() == 0)
            list.in.sums[b] = sum;
    }
}

struct compare_room {
    chain_room_of<kSides> chain;
    double negative;
};

/* Keeps the side with the larger sum, as SBC does; the positive side if the sums are equal.
 * Launched with one block of threads. */
__global__ void keep_larger(selection_state *c, list_set both)
{
    compare_room &room = shared<compare_room>();
    const double *const parts[] = {both.list[0].in.sums, both.list[1].in.sums};
    const double sum = chain_sums(room.chain, 0.0, parts, sum_blocks(c));

    /* the first thread of warp 0 has the positive side's sum, that of warp 1 the negative side's */
    if (threadIdx.x == kWarp)
        room.negative = sum;
    sync_block();
    if (threadIdx.x == 0) {
        c->side = sum - room.negative >= 0.0 ? 0 : 1;
        c->choice.kept = c->kept[c->side];
    }
}

/* Copies the list of the negative side over that of the positive side, if the negative side is
 * kept. */
__global__ void copy_negative(const selection_state *c, list_set both, uint64_t tiles)
{
    const kept_list &from = both.list[1], &to = both.list[0];
    const uint64_t begin = thread_of_grid(), step = threads_of_grid();

    if (c->side == 0)
        return;
    for (uint64_t i = begin; i < c->kept[1]; i += step) {
        to.pos[i] = from.pos[i];
        to.value[i] = from.value[i];
    }
    for (uint64_t i = begin; i <= tiles; i += step)
        to.first[i] = from.first[i];
}

/* Lays out the list of the negative side in the scratch `at`. Returns the number of bytes of the
 * list; `at` is NULL if only this number is wanted. */
uint64_t lay_out_second(uint8_t *at, uint64_t n, uint64_t most, kept_list *other)
{
    const uint64_t tiles = tile_count(n);
    scratch_parts parts = {at, 0};

    parts.take(&other->in.above, tiles);
    parts.take(&other->in.ties, tiles);
    parts.take(&other->in.sums, tiles);
    parts.take(&other->pos, most);
    parts.take(&other->value, most);
    parts.take(&other->first, tiles + 1);
    return parts.bytes;
}

/* Sets c->keep[kSides] to what is kept of side `turn`, or of the other side if `turn` is empty.
 * For gcb_cuda_select_side. */
__global__ void choose_side(selection_state *c, unsigned turn)
{
    if (threadIdx.x == 0)
        c->keep[kSides] = c->keep[c->want[turn] ? turn : turn ^ 1];
}

/* Queues the steps of a choice until both sides are ranked. `sides` has a bit for each side that
 * must have k elements. */
int rank_sides(gcb_device_stream *s, const selection &w, uint64_t k, unsigned sides)
{
    const sample how = plan_sample(w.x.n, k);

    begin_selection(s, w, how, kSides, 0);
    collect_candidates(s, w, kSides, false);
    if (how.m) {
        launch(check_sides, 1, kTileThreads, sizeof(scan_room), s, w.c, k, sides);
        collect_candidates(s, w, kSides, true);
    }
    launch(set_ranks, 1, kTileThreads, sizeof(scan_room), s, w.c, k);
    return rank_candidates(s, w, kSides);
}

} /* namespace */

uint64_t gcb_cuda_select_one_sided_scratch(uint64_t n, uint64_t most)
{
    kept_list other;

    return gcb_cuda_select_scratch(n, most) + lay_out_second(nullptr, n, most, &other);
}

int gcb_cuda_select_one_sided(gcb_device_stream *s, gcb_cuda_chosen *chosen,
                              const gcb_device_input *in, uint64_t k, void *scratch)
{
    const selection w = start_selection(scratch, chosen, in);
    const uint64_t n = chosen->n, most = chosen->most, tiles = tile_count(n);
    uint8_t *const rest = static_cast<uint8_t *>(scratch) + gcb_cuda_select_scratch(n, most);
    list_set both = {{{w.in, chosen->pos, chosen->value, chosen->first, 0, {}, nullptr}, {}},
                     kSides};
    kept_list &other = both.list[1];

    rank_sides(s, w, k, (1u << kSides) - 1);
    lay_out_second(rest, n, most, &other);
    other.in.bits = w.in.bits;
    other.in.offset = w.in.offset;
    other.in.count = w.in.count;
    other.which = 1;
    make_lists(s, w, both, n);
    launch(sum_lists, grid_over(warps_over(kSides * tile_count(most))), kTileThreads, 0, s, w.c,
           both);
    launch(keep_larger, 1, kTileThreads, sizeof(compare_room), s, w.c, both);
    return launch(copy_negative, grid_over(tile_count(larger(most, tiles))), kTileThreads, 0, s,
                  w.c, both, tiles);
}

int gcb_cuda_select_side(gcb_device_stream *s, gcb_cuda_chosen *chosen, const gcb_device_input *in,
                         uint64_t k, unsigned side, void *scratch)
{
    const selection w = start_selection(scratch, chosen, in);

    rank_sides(s, w, k, 1u << side);
    launch(choose_side, 1, kWarp, 0, s, w.c, side);
    return compact_list(s, w, *chosen, kSides);
}
