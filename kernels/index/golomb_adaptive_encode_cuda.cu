/*
 * Encodes positions for the golomb and the adaptive index (src/lib/sparse/index_golomb.c,
 * index_adaptive.c). For the adaptive index there are three steps. Gaps are counted separately for
 * each sum of the magnitudes of the two gaps before. Codes are made from the counts
 * (adaptive_codes_cuda.cu). The stream is written in these codes if that certainly makes it shorter
 * than Golomb's code does; otherwise it is written in Golomb's code.
 */
#include "kernels/cuda/align.h"
#include "kernels/index/adaptive_codes.cuh"
#include "kernels/index/encode_gaps.cuh"

using namespace gcb;

namespace
{

/* The past at the beginning of a thread's run. */
__device__ gcb_gap_past past_of(const gap_run &g)
{
    gcb_gap_past past = {0, 0};
    unsigned low;

    for (unsigned i = 2; i-- > 0;)
        gcb_gap_update_past(&past, gcb_gap_symbol(g.before[i], &low));
    return past;
}

/* ---- counting ---- */

/* Sets m->golomb to the parameter of Golomb's code, and all counts and totals to 0. Runs in one
 * block of threads. */
__global__ void reset_codes(gap_codes *m, gcb_cuda_chosen c)
{
    clear_counts(m->count);
    if (threadIdx.x == 0) {
        m->golomb = gcb_golomb_parameter(c.choice->kept, c.n);
        m->golomb_ones = m->low_bits = 0;
    }
}

struct count_room {
    uint32_t count[kGapCounts];
};

/* Counts symbols by the sum of magnitudes before them. Adds up m->golomb_ones and m->low_bits. */
__global__ void count_gaps(gap_codes *m, gcb_cuda_chosen c)
{
    count_room &room = shared<count_room>();
    const uint64_t kept = c.choice->kept;
    const unsigned b = m->golomb;
    uint64_t ones = 0, low_bits = 0;

    clear_counts(room.count);
    sync_block();
    for (uint64_t block = blockIdx.x; block * kTile < kept; block += gridDim.x) {
        gcb_gap_past past;
        gap_run g;

        load_gaps(g, c, block);
        past = past_of(g);
        for (unsigned i = 0; i < g.count; i++) {
            unsigned low;
            const unsigned symbol = gcb_gap_symbol(g.gap[i], &low);

            atomic_add(&room.count[past.sum * GCB_PREFIX_SYMBOLS + symbol], 1u);
            ones += g.gap[i] >> b;
            low_bits += low;
            gcb_gap_update_past(&past, symbol);
        }
    }
    ones = warp_sum(ones);
    low_bits = warp_sum(low_bits);
    if (lane() == 0 && ones)
        atomic_add(&m->golomb_ones, ones);
    if (lane() == 0 && low_bits)
        atomic_add(&m->low_bits, low_bits);
    sync_block();
    add_counts(m->count, room.count);
}

/* ---- writing ---- */

/* The code of the adaptive index: the codes made from the counts or, if !own, Golomb's code. */
struct adaptive_code {
    using past = struct gcb_gap_past;
    const gap_codes *m;
    golomb_code golomb;
    bool own;

    __device__ adaptive_code(const gcb_cuda_chosen &, const gap_codes *table)
        : m(table), golomb(table->golomb), own(table->groups != 0)
    {
    }
    __device__ past begin(const gap_run &g) const
    {
        return past_of(g);
    }
    __device__ gap_bits encode(past &p, uint32_t gap) const
    {
        golomb_code::past none;
        unsigned low, g, symbol, bits;
        uint64_t low_bits;

        if (!own)
            return golomb.encode(none, gap);
        g = m->code_of_sum[p.sum];
        symbol = gcb_gap_symbol(gap, &low);
        bits = m->bits[g][symbol];
        low_bits = gap & ((uint32_t{1} << low) - 1);
        gcb_gap_update_past(&p, symbol);
        return {0, bits + low, m->code[g][symbol] | low_bits << bits};
    }
    __device__ uint32_t head_bytes() const
    {
        return own ? m->head_bytes : golomb.head_bytes();
    }
    __device__ uint8_t head_byte(uint32_t i) const
    {
        return own ? static_cast<uint8_t>(m->head[i / 4] >> 8 * (i % 4)) : golomb.head_byte(i);
    }
};

uint64_t codes_bytes()
{
    return gcb_cuda_align16(sizeof(gap_codes));
}

} /* namespace */

uint64_t gcb_cuda_put_adaptive_scratch(uint64_t n, uint64_t most)
{
    return codes_bytes() + gcb_cuda_put_stream_scratch(n, most);
}

int gcb_cuda_put_adaptive(gcb_device_stream *s, uint8_t *out, const gcb_cuda_chosen *chosen,
                          const gcb_cuda_values *how, void *scratch, gcb_device_result *result)
{
    gap_codes *m = static_cast<gap_codes *>(scratch);
    uint32_t *offset =
        reinterpret_cast<uint32_t *>(static_cast<uint8_t *>(scratch) + codes_bytes());

    launch(reset_codes, 1, kTileThreads, 0, s, m, *chosen);
    launch(count_gaps, grid_over(tile_count(chosen->most)), kTileThreads, sizeof(count_room), s, m,
           *chosen);
    make_gap_codes(s, m, *chosen);
    return put_stream<adaptive_code>(s, out, chosen, how, offset, m, result);
}

int gcb_cuda_put_golomb(gcb_device_stream *s, uint8_t *out, const gcb_cuda_chosen *chosen,
                        const gcb_cuda_values *how, void *scratch, gcb_device_result *result)
{
    return put_stream<golomb_code, no_table>(s, out, chosen, how, static_cast<uint32_t *>(scratch),
                                             nullptr, result);
}
