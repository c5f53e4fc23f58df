#include "kernels/select/select_cuda.cuh"

using namespace gcb;

namespace
{

/* Asks to collect all elements if fewer than k were collected. Launched with one block of
 * threads. */
__global__ void check_enough(selection_state *c, uint32_t k)
{
    scan_room &room = shared<scan_room>();

    if (count_collected(room, c, 0) < k)
        collect_again(c);
}

} /* namespace */

uint64_t gcb::lay_out(void *scratch, gcb_cuda_chosen *chosen, selection_state **c, slots *in)
{
    const uint64_t tiles = tile_count(chosen->n), room = tiles * kTile;
    scratch_parts parts = {static_cast<uint8_t *>(scratch), 0};

    parts.take(c, 1);
    parts.take(&in->bits, room);
    parts.take(&in->offset, room);
    parts.take(&in->count, tiles);
    parts.take(&in->above, tiles);
    parts.take(&in->ties, tiles);
    parts.take(&in->sums, tiles);
    chosen->choice = scratch ? &(*c)->choice : nullptr;
    parts.take(&chosen->pos, chosen->most);
    parts.take(&chosen->value, chosen->most);
    parts.take(&chosen->first, tiles + 1);
    return parts.bytes;
}

selection gcb::start_selection(void *scratch, gcb_cuda_chosen *chosen, const gcb_device_input *x)
{
    selection w;

    lay_out(scratch, chosen, &w.c, &w.in);
    chosen->residual = x->residual;
    w.x = *x;
    return w;
}

uint64_t gcb_cuda_select_scratch(uint64_t n, uint64_t most)
{
    gcb_cuda_chosen chosen = {};
    selection_state *c;
    slots in;

    chosen.n = n;
    chosen.most = most;
    return lay_out(nullptr, &chosen, &c, &in);
}

int gcb_cuda_select_largest(gcb_device_stream *s, gcb_cuda_chosen *chosen,
                            const gcb_device_input *in, uint64_t k, void *scratch)
{
    const selection w = start_selection(scratch, chosen, in);
    const sample how = plan_sample(chosen->n, k);

    begin_selection(s, w, how, 1, k);
    collect_candidates(s, w, 1, false);
    if (how.m) {
        launch(check_enough, 1, kTileThreads, sizeof(scan_room), s, w.c, k);
        collect_candidates(s, w, 1, true);
    }
    rank_candidates(s, w, 1);
    return compact_list(s, w, *chosen, 0);
}

int gcb_cuda_select_above(gcb_device_stream *s, gcb_cuda_chosen *chosen, const gcb_device_input *in,
                          uint32_t threshold, void *scratch)
{
    const selection w = start_selection(scratch, chosen, in);

    begin_selection(s, w, {1, 0, 0, 0, 2, threshold}, 1, 0);
    collect_candidates(s, w, 1, false);
    return compact_list(s, w, *chosen, 0);
}
