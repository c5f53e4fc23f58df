#include "kernels/select/select_cuda.cuh"

#include "kernels/cuda/align.h"

using namespace gcb;

namespace
{

/* Launched with one block. If fewer than k elements were collected, asks to collect all. */
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
    uint8_t *at = static_cast<uint8_t *>(scratch);
    uint64_t end = 0;
    const auto take = [&](uint64_t bytes) {
        const uint64_t from = end;

        end += gcb_cuda_align16(bytes);
        return at ? at + from : nullptr;
    };

    *c = reinterpret_cast<selection_state *>(take(sizeof(selection_state)));
    in->bits = reinterpret_cast<uint32_t *>(take(room * sizeof(uint32_t)));
    in->offset = reinterpret_cast<uint16_t *>(take(room * sizeof(uint16_t)));
    in->count = reinterpret_cast<uint32_t *>(take(tiles * sizeof(uint32_t)));
    in->above = reinterpret_cast<uint32_t *>(take(tiles * sizeof(uint32_t)));
    in->ties = reinterpret_cast<uint32_t *>(take(tiles * sizeof(uint32_t)));
    in->sums = reinterpret_cast<double *>(take(tiles * sizeof(double)));
    chosen->choice = at ? &(*c)->choice : nullptr; /* without scratch only the size is computed */
    chosen->pos = reinterpret_cast<uint32_t *>(take(chosen->most * sizeof(uint32_t)));
    chosen->value = reinterpret_cast<float *>(take(chosen->most * sizeof(float)));
    chosen->first = reinterpret_cast<uint32_t *>(take((tiles + 1) * sizeof(uint32_t)));
    return end;
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
