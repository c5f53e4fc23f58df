#include "kernels/cuda/sum.cuh"
#include "kernels/select/select.cuh"

namespace
{

using gcb::choosing;
using gcb::kSides;

/* One block: has each side that must have k of them too few, all is collected. */
__global__ void judge_sides(choosing *c, uint32_t k, unsigned sides)
{
    gcb::scan_room &room = gcb::shared<gcb::scan_room>();
    bool enough = true;

    for (unsigned side = 0; side < kSides; side++)
        if (gcb::count_collected(room, c, side) < k && sides >> side & 1)
            enough = false;
    if (!enough)
        gcb::collect_again(c);
}

/* One block: a side gives k, or what it has. */
__global__ void settle(choosing *c, uint32_t k)
{
    gcb::scan_room &room = gcb::shared<gcb::scan_room>();

    for (unsigned side = 0; side < kSides; side++) {
        const uint32_t there = gcb::count_collected(room, c, side);

        if (threadIdx.x == 0)
            c->want[side] = there < k ? there : k;
    }
}

/* A warp sums a block of the project's sums. */
__global__ void sum_list(double *sums, struct gcb_cuda_chosen list)
{
    const uint64_t kept = list.choice->kept;

    for (uint64_t b = gcb::warp_of_grid(); b * GCB_SUM_BLOCK < kept; b += gcb::warps_of_grid()) {
        const uint64_t left = kept - b * GCB_SUM_BLOCK;
        const unsigned n = static_cast<unsigned>(left < GCB_SUM_BLOCK ? left : GCB_SUM_BLOCK);
        const double sum =
            gcb::join_lanes(gcb::lane_sum(list.value + b * GCB_SUM_BLOCK, n, gcb::abs_term{}));

        if (gcb::lane() == 0)
            sums[b] = sum;
    }
}

/* One block. */
__global__ void join_sums(choosing *c, const double *sums, unsigned side)
{
    const uint64_t blocks = (c->choice.kept + GCB_SUM_BLOCK - 1) / GCB_SUM_BLOCK;
    const double sum = gcb::chain_sum(gcb::shared<gcb::chain_room>(), sums, blocks);

    if (threadIdx.x == 0)
        c->sum[side] = sum;
}

/* One thread: this side, or the other if it has nothing; if that has nothing either all is zero, and the first k
 * positions stand for the tensor. */
__device__ void keep_side(choosing *c, unsigned side, uint32_t k)
{
    if (c->want[side] == 0)
        side ^= 1;
    if (c->want[side])
        c->keep[kSides] = c->keep[side];
    else
        c->keep[kSides] = {0, 0, 0, k};
}

/* SBC's choice: the side with the larger sum, the positive one if they are equal. */
__global__ void keep_larger(choosing *c, uint32_t k)
{
    if (threadIdx.x == 0)
        keep_side(c, c->sum[0] - c->sum[1] >= 0.0 ? 0 : 1, k);
}

__global__ void keep_turn(choosing *c, unsigned turn, uint32_t k)
{
    if (threadIdx.x == 0)
        keep_side(c, turn, k);
}

/* Up to what is ranked of each side; `sides`: a bit for each that has to have k. */
int rank_sides(struct gcb_device_stream *s, const gcb::choice &w, uint64_t k, unsigned sides)
{
    const gcb::sample how = gcb::guess(w.x.n, k);
    int err = gcb::begin(s, w, how, kSides, 0);

    if (!err)
        err = gcb::collect(s, w, kSides, false);
    if (!err && how.m)
        err = gcb::launch(judge_sides, 1, gcb::kTileThreads, sizeof(gcb::scan_room), s, w.c, k,
                          sides);
    if (!err && how.m)
        err = gcb::collect(s, w, kSides, true);
    if (!err)
        err = gcb::launch(settle, 1, gcb::kTileThreads, sizeof(gcb::scan_room), s, w.c, k);
    return err ? err : gcb::rank(s, w, kSides);
}

/* The sum of what a side would give; the list is only room for it. */
int sum_side(struct gcb_device_stream *s, const gcb::choice &w, const struct gcb_cuda_chosen &list,
             unsigned side)
{
    int err = gcb::compact(s, w, list, side);

    if (!err)
        err = gcb::launch(sum_list, gcb::grid_over(gcb::warps_over(gcb::tile_count(list.most))),
                          gcb::kTileThreads, 0, s, w.in.sums, list);
    return err ? err
               : gcb::launch(join_sums, 1, gcb::kTileThreads, sizeof(gcb::chain_room), s, w.c,
                             w.in.sums, side);
}

} /* namespace */

int gcb_cuda_select_one_sided(struct gcb_device_stream *s, struct gcb_cuda_chosen *chosen,
                              const struct gcb_device_input *in, uint64_t k, void *scratch)
{
    const gcb::choice w = gcb::start(scratch, chosen, in);
    int err = rank_sides(s, w, k, 3);

    for (unsigned side = 0; side < kSides && !err; side++)
        err = sum_side(s, w, *chosen, side);
    if (!err)
        err = gcb::launch(keep_larger, 1, gcb::kWarp, 0, s, w.c, k);
    return err ? err : gcb::compact(s, w, *chosen, kSides);
}

int gcb_cuda_select_side(struct gcb_device_stream *s, struct gcb_cuda_chosen *chosen,
                         const struct gcb_device_input *in, uint64_t k, unsigned side,
                         void *scratch)
{
    const gcb::choice w = gcb::start(scratch, chosen, in);
    int err = rank_sides(s, w, k, 1u << side);

    if (!err)
        err = gcb::launch(keep_turn, 1, gcb::kWarp, 0, s, w.c, side, k);
    return err ? err : gcb::compact(s, w, *chosen, kSides);
}
