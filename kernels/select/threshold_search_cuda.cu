#include "kernels/memory/feedback.cuh"
#include "kernels/reduce/sum.cuh"
#include "kernels/select/select_cuda.cuh"
#include "kernels/select/select_elem.h"

using namespace gcb;

namespace
{

/* The result of a search that later steps may reuse, in device memory; all zero at first. */
struct search_memory {
    uint64_t step;
    uint32_t worker, threshold; /* threshold: 0 if k elements were ranked instead */
    uint32_t found, pad;        /* found: 1 after a search */
};
static_assert(sizeof(search_memory) <= GCB_CUDA_SEARCH_STATE,
              "the state must have room for search_memory");

/* Keeps the elements that reach the threshold. If the threshold is 0, the search found none, and
 * the k largest elements are kept. */
__device__ void set_threshold(selection_state *c, uint32_t threshold, uint32_t k)
{
    c->want[0] = threshold ? 0 : k;
    c->keep[0] = {0, 0, threshold, threshold ? kAll : 0};
}

/* Uses an earlier step's threshold if it still applies, as select_redsync.c does. */
__global__ void reuse_threshold(selection_state *c, const search_memory *r, gcb_cuda_search how)
{
    if (threadIdx.x || !r || !r->found || r->worker != how.worker || how.step <= r->step ||
        how.step - r->step >= how.interval)
        return;
    c->reused = 1;
    c->least = r->threshold;
    set_threshold(c, r->threshold, static_cast<uint32_t>(how.k));
}

/* Sums the magnitudes by sum blocks, and finds the largest. Each warp handles one sum block at a
 * time. Error feedback is added here but stored later, when positions are collected. */
__global__ void measure_magnitudes(selection_state *c, double *sums, gcb_device_input x)
{
    uint32_t most = 0;

    if (c->reused)
        return;
    for (uint64_t b = warp_of_grid(); b * GCB_SUM_BLOCK < x.n; b += warps_of_grid()) {
        const unsigned n = sum_block_size(x.n, b);
        double sum = 0.0;

        for (unsigned i = lane(); i < n; i += kWarp) {
            const uint64_t at = b * GCB_SUM_BLOCK + i;
            const float v = needs_feedback(x) ? compensate(x, at) : x.x[at];

            sum += gcb_reduce_abs(v);
            most = larger(most, gcb_magnitude(v));
        }
        sum = join_lanes(sum);
        if (lane() == 0)
            sums[b] = sum;
    }
    raise_by_warp(&c->max_bits, most);
}

struct mean_room {
    chain_room sum;
    double mean;
};

/* Fills the table with every threshold that a search may try, in ascending order. Launched with one
 * block of threads. */
__global__ void tabulate_thresholds(selection_state *c, const double *sums, uint64_t n)
{
    mean_room &room = shared<mean_room>();
    double sum;

    if (c->reused)
        return;
    sum = chain_sum(room.sum, sums, sum_blocks_of(n));
    if (threadIdx.x == 0)
        room.mean = n ? sum / static_cast<double>(n) : 0.0;
    sync_block();
    for (unsigned i = threadIdx.x; i < kRatios; i += blockDim.x)
        c->table[i] = i ? gcb_search_threshold(room.mean, gcb_float_of(c->max_bits),
                                               static_cast<double>(i) / kRatios)
                        : 0;
}

struct count_room {
    uint32_t table[kRatios], count[kRatios];
};

/* Counts each collected element at the highest threshold that it reaches. */
__global__ void count_between(selection_state *c, slots in, uint64_t tiles, bool second)
{
    count_room &room = shared<count_room>();

    if (c->reused || (second && !c->again))
        return;
    for (unsigned i = threadIdx.x; i < kRatios; i += blockDim.x) {
        room.table[i] = c->table[i];
        room.count[i] = 0;
    }
    sync_block();
    for (uint64_t tile = warp_of_grid(); tile < tiles; tile += warps_of_grid())
        each_collected(in, tile, [&](uint32_t bits) {
            unsigned at = 0;

            for (unsigned step = kRatios / 2; step; step /= 2)
                at += room.table[at + step] <= (bits & GCB_MAGNITUDE_MASK) ? step : 0;
            atomic_add(&room.count[at], 1u);
        });
    sync_block();
    add_counts(c->count, room.count);
}

struct bisect_room {
    scan_room scan;
    uint32_t reach[kRatios];
    uint32_t unsure;
};

/*
 * Searches for a threshold as select_redsync.c does, but counts only the collected elements. These
 * are all elements of magnitude c->least or more. So the count for a threshold of c->least or more
 * is exact. For a lower threshold, the true count is at least the number of collected elements. If
 * this number is above 2k, it is enough to continue the search. reach[i] is the number of collected
 * elements that reach threshold i. Sets *best to the threshold found, or to 0 if there is none.
 * Returns false if the counts do not decide, or if elements that have to be kept were not
 * collected.
 */
__device__ bool bisect(const selection_state *c, const uint32_t *reach, uint32_t k, uint32_t *best)
{
    unsigned low = 0, high = kRatios;

    *best = 0;
    while (static_cast<double>(high - low) / kRatios > GCB_SEARCH_END) {
        const unsigned middle = (low + high) / 2;
        const uint32_t threshold = c->table[middle];
        const uint64_t count = threshold < c->least ? reach[0] : reach[middle];

        if (threshold < c->least && count <= 2 * uint64_t{k})
            return false;
        if (count < k) {
            high = middle;
            continue;
        }
        *best = threshold;
        if (count <= 2 * uint64_t{k})
            break;
        low = middle;
    }
    return *best ? *best >= c->least : reach[0] >= k;
}

/* Searches with one block of threads. If the counts do not decide, the first search asks to collect
 * all elements. */
__global__ __launch_bounds__(kOneBlock) void search_thresholds(selection_state *c, search_memory *r,
                                                               gcb_cuda_search how, bool second)
{
    bisect_room &room = shared<bisect_room>();
    const uint32_t k = static_cast<uint32_t>(how.k);
    const unsigned mine = kRatios - 1 - threadIdx.x;
    uint32_t total, best = 0;

    if (c->reused || (second && !c->again))
        return;
    room.reach[mine] = c->count[mine] + scan_block(room.scan, c->count[mine], &total);
    sync_block();
    if (threadIdx.x == 0)
        room.unsure = !bisect(c, room.reach, k, &best) && !second && c->least;
    sync_block();
    if (room.unsure) {
        c->count[mine] = 0;
        collect_again(c);
    } else if (threadIdx.x == 0) {
        set_threshold(c, best, k);
        if (r && c->max_bits < GCB_INF_BITS) /* otherwise this tensor is not encoded */
            *r = {how.step, how.worker, best, 1, 0};
    }
}
static_assert(kOneBlock == kRatios, "each ratio needs a thread");

/* Queues the steps of the first or the second search. */
int search_collected(gcb_device_stream *s, const selection &w, const gcb_cuda_search *how,
                     bool second)
{
    const uint64_t tiles = tile_count(w.x.n);

    collect_candidates(s, w, 1, second);
    launch(count_between, grid_over(warps_over(tiles)), kTileThreads, sizeof(count_room), s, w.c,
           w.in, tiles, second);
    return launch(search_thresholds, 1, kOneBlock, sizeof(bisect_room), s, w.c,
                  static_cast<search_memory *>(how->state_dev), *how, second);
}

} /* namespace */

int gcb_cuda_select_search(gcb_device_stream *s, gcb_cuda_chosen *chosen,
                           const gcb_device_input *in, const gcb_cuda_search *how, void *scratch)
{
    const selection w = start_selection(scratch, chosen, in);
    const sample sample = plan_sample(chosen->n, 2 * how->k + 1);

    begin_selection(s, w, sample, 1, how->k);
    launch(reuse_threshold, 1, kWarp, 0, s, w.c, static_cast<search_memory *>(how->state_dev),
           *how);
    launch(measure_magnitudes, grid_over(warps_over(tile_count(chosen->n))), kTileThreads, 0, s,
           w.c, w.in.sums, w.x);
    launch(tabulate_thresholds, 1, kTileThreads, sizeof(mean_room), s, w.c, w.in.sums, chosen->n);
    search_collected(s, w, how, false);
    if (sample.m)
        search_collected(s, w, how, true);
    rank_candidates(s, w, 1);
    return compact_list(s, w, *chosen, 0);
}
