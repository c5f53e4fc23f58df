#include "kernels/select/select_cuda.cuh"
#include "kernels/select/select_elem.h"

using namespace gcb;

namespace
{

constexpr unsigned kThresholds = GCB_SAMPLED_ADAPTATIONS + 1;

/* Fills the table of thresholds to try. If too few elements reach the sample's threshold, asks to
 * collect all elements. Launched with one block of threads. */
__global__ void check_sampled(selection_state *c, uint32_t k)
{
    scan_room &room = shared<scan_room>();
    const bool enough = gcb_sampled_enough(count_collected(room, c, 0), k);

    if (threadIdx.x == 0) {
        c->table[0] = c->least;
        for (unsigned i = 1; i < kThresholds; i++)
            c->table[i] = gcb_sampled_lower(c->table[i - 1]);
    }
    sync_block();
    if (!enough)
        collect_again(c);
}

/* If the sample's threshold is 0, raises it to the smallest magnitude above 0. */
__global__ void raise_zero_threshold(selection_state *c)
{
    if (threadIdx.x == 0 && c->least == 0)
        c->least = 1;
}

/* After a second collection, counts for each threshold the elements that reach it but not the
 * threshold before. */
__global__ void count_reaching(selection_state *c, slots in, uint64_t tiles)
{
    if (!c->again)
        return;
    for (uint64_t tile = warp_of_grid(); tile < tiles; tile += warps_of_grid()) {
        uint32_t mine[kThresholds] = {};

        each_collected(in, tile, [&](uint32_t bits) {
            bool higher = false;

            for (unsigned j = 0; j < kThresholds; j++) {
                const bool reaches = (bits & GCB_MAGNITUDE_MASK) >= c->table[j];

                mine[j] += reaches && !higher;
                higher = reaches;
            }
        });
        for (unsigned j = 0; j < kThresholds; j++)
            if (mine[j])
                atomic_add(&c->count[j], mine[j]);
    }
}

/* Chooses the threshold as select_sampled.c does. If no threshold keeps a suitable number of
 * elements, asks for the k largest instead. Launched with one block of threads. */
__global__ void choose_threshold(selection_state *c, uint32_t k)
{
    scan_room &room = shared<scan_room>();
    const uint32_t collected = count_collected(room, c, 0);
    uint32_t kept = c->again ? 0 : collected;
    unsigned i = 0;

    if (threadIdx.x)
        return;
    if (c->again)
        for (kept = c->count[0]; i + 1 < kThresholds && !gcb_sampled_enough(kept, k); i++)
            kept += c->count[i + 1];
    c->want[0] = k;
    if (!gcb_sampled_enough(kept, k) || gcb_sampled_too_many(kept, k))
        return; /* the k largest are selected exactly */
    c->want[0] = 0;
    c->keep[0].prefix = c->table[i];
    c->keep[0].left = kAll;
}

} /* namespace */

int gcb_cuda_select_sampled(gcb_device_stream *s, gcb_cuda_chosen *chosen,
                            const gcb_device_input *in, const gcb_cuda_sample *how, void *scratch)
{
    const selection w = start_selection(scratch, chosen, in);
    /* all levels of digits, so that the threshold is exact */
    const sample sample = {how->stride, how->offset, how->m, how->rank, kLevels, 0};
    const uint64_t tiles = tile_count(chosen->n);

    begin_selection(s, w, sample, 1, how->k);
    launch(raise_zero_threshold, 1, kWarp, 0, s, w.c);
    collect_candidates(s, w, 1, false);
    launch(check_sampled, 1, kTileThreads, sizeof(scan_room), s, w.c, how->k);
    collect_candidates(s, w, 1, true);
    launch(count_reaching, grid_over(warps_over(tiles)), kTileThreads, 0, s, w.c, w.in, tiles);
    launch(choose_threshold, 1, kTileThreads, sizeof(scan_room), s, w.c, how->k);
    rank_candidates(s, w, 1);
    return compact_list(s, w, *chosen, 0);
}
