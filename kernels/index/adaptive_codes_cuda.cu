/* Makes codes for gaps from their counts (src/lib/sparse/gap_codes.c). One block works in shared
 * memory. */
#include "kernels/index/adaptive_codes.cuh"
#include "kernels/index/bits.cuh"

using namespace gcb;

namespace
{

constexpr unsigned kWarps = kTileThreads / kWarp;

/* ---- groups of sums ---- */

/* Neighbouring sums of magnitudes (struct gcb_gap_past) that share a code. */
struct sum_group {
    uint32_t from; /* its lowest sum */
    uint32_t row;  /* its row of the counts */
    /* costs in 2^-16 bits: of a code for this group, and of one code for this and the next group */
    uint64_t cost, joined;
};

struct codes_room {
    uint32_t count[GCB_GAP_SUMS][GCB_PREFIX_SYMBOLS];
    sum_group group[GCB_GAP_SUMS];
    uint32_t seen[GCB_GAP_SUMS]; /* by sum: not 0 if the message has a gap after this sum */
    uint32_t groups;
    uint32_t best;     /* the group to join with the next */
    int64_t loss;      /* cost of this joining, in 2^-16 bits; negative if it saves bits */
    uint64_t gap_bits; /* bits of all symbols in their codes */
    uint32_t head[kGapHeadWords];
    uint32_t head_at[GCB_GAP_CODES + 1]; /* bit offset of each code's lengths, and the end */
    uint8_t length[GCB_GAP_CODES][GCB_PREFIX_SYMBOLS];
    uint8_t bits[GCB_GAP_CODES][GCB_PREFIX_SYMBOLS];
    uint16_t code[GCB_GAP_CODES][GCB_PREFIX_SYMBOLS];
};

/* The cost of a code for group a or, if b is not NULL, for a and b together. Called by a warp;
 * every lane gets the result. */
__device__ uint64_t cost_of(const codes_room &m, const sum_group &a, const sum_group *b)
{
    gcb_gap_cost t = {0, 0, 0, 0};

    for (unsigned s = lane(); s < GCB_PREFIX_SYMBOLS; s += kWarp)
        gcb_gap_cost_add(&t, uint64_t{m.count[a.row][s]} + (b ? m.count[b->row][s] : 0));
    t.present = warp_sum(t.present);
    t.sum = warp_sum(t.sum);
    t.inner = warp_sum(t.inner);
    t.most = warp_largest(t.most);
    return gcb_gap_cost_of(t);
}

/* Computes the cost of group g joined with the next; does nothing for the last group. Called by a
 * warp. */
__device__ void cost_joined(codes_room &m, unsigned g)
{
    uint64_t cost;

    if (g + 1 >= m.groups)
        return;
    cost = cost_of(m, m.group[g], &m.group[g + 1]);
    if (lane() == 0)
        m.group[g].joined = cost;
}

/* Makes a group of each sum that occurred before a gap, and computes the groups' costs. Called by
 * every thread of the block. */
__device__ void make_groups(codes_room &m, const gap_codes &from)
{
    for (unsigned i = threadIdx.x; i < kGapCounts; i += blockDim.x)
        m.count[i / GCB_PREFIX_SYMBOLS][i % GCB_PREFIX_SYMBOLS] = from.count[i];
    sync_block();
    for (unsigned sum = threadIdx.x; sum < GCB_GAP_SUMS; sum += blockDim.x) {
        uint32_t any = 0;

        for (unsigned s = 0; s < GCB_PREFIX_SYMBOLS; s++)
            any |= m.count[sum][s];
        m.seen[sum] = any;
    }
    sync_block();
    if (threadIdx.x == 0) {
        m.groups = 0;
        for (unsigned sum = 0; sum < GCB_GAP_SUMS; sum++)
            if (m.seen[sum])
                m.group[m.groups++] = {sum, sum, 0, 0};
    }
    sync_block();
    for (unsigned g = threadIdx.x / kWarp; g < m.groups; g += kWarps) {
        const uint64_t cost = cost_of(m, m.group[g], nullptr);

        if (lane() == 0)
            m.group[g].cost = cost;
        cost_joined(m, g);
    }
    sync_block();
}

/* Finds the group whose joining with the next costs least; among equals, the first group. Called by
 * a warp. */
__device__ void find_best_join(codes_room &m)
{
    int64_t loss = INT64_MAX;
    unsigned best = 0;

    for (unsigned g = lane(); g + 1 < m.groups; g += kWarp) {
        const int64_t more =
            static_cast<int64_t>(m.group[g].joined - m.group[g].cost - m.group[g + 1].cost);

        if (more < loss) {
            loss = more;
            best = g;
        }
    }
    for (unsigned by = kWarp / 2; by > 0; by /= 2) {
        const int64_t other = static_cast<int64_t>(shfl_xor(static_cast<uint64_t>(loss), by));
        const unsigned from = shfl_xor(best, by);

        if (other < loss || (other == loss && from < best)) {
            loss = other;
            best = from;
        }
    }
    if (lane() == 0) {
        m.loss = loss;
        m.best = best;
    }
}

/* Joins group g and the next. Each thread i > g moves group i + 1 to place i. Called by every
 * thread of the block. */
__device__ void join_next(codes_room &m, unsigned g)
{
    const unsigned i = threadIdx.x, into = m.group[g].row, from = m.group[g + 1].row;
    const bool moves = i > g && i + 1 < m.groups;
    sum_group next = {0, 0, 0, 0};

    if (moves)
        next = m.group[i + 1];
    sync_block();
    if (moves)
        m.group[i] = next;
    if (i < GCB_PREFIX_SYMBOLS)
        m.count[into][i] += m.count[from][i];
    if (i == 0) {
        m.group[g].cost = m.group[g].joined;
        m.groups--;
    }
    sync_block();
    if (i / kWarp == 0)
        cost_joined(m, g);
    else if (i / kWarp == 1 && g)
        cost_joined(m, g - 1);
    sync_block();
}

/* Joins neighbouring groups while that saves bits or there are too many groups. Called by every
 * thread of the block. */
__device__ void join_groups(codes_room &m)
{
    while (m.groups > 1) {
        if (threadIdx.x / kWarp == 0)
            find_best_join(m);
        sync_block();
        if (m.loss >= 0 && m.groups <= GCB_GAP_CODES)
            break;
        join_next(m, m.best);
    }
    sync_block();
}

/* ---- codes ---- */

/* Makes the codes, one in each warp, and adds up the bits of all symbols. Called by every thread of
 * the block. */
__device__ void make_codes(codes_room &m)
{
    const unsigned g = threadIdx.x / kWarp;
    uint64_t bits = 0;

    static_assert(kWarps >= GCB_GAP_CODES, "each code needs a warp");
    if (threadIdx.x == 0)
        m.gap_bits = 0;
    if (g < m.groups && lane() == 0) {
        gcb_prefix_lengths(m.length[g], m.count[m.group[g].row]);
        gcb_prefix_codes(m.code[g], m.bits[g], m.length[g]);
    }
    sync_block();
    for (unsigned s = lane(); g < m.groups && s < GCB_PREFIX_SYMBOLS; s += kWarp)
        bits += uint64_t{m.count[m.group[g].row][s]} * m.bits[g][s];
    bits = warp_sum(bits);
    if (lane() == 0 && bits)
        atomic_add(&m.gap_bits, bits);
    sync_block();
}

/* Writes code lengths like gcb_prefix_put. Called by one thread. */
__device__ void put_lengths(const bit_window &w, uint64_t at, const uint8_t *length)
{
    const unsigned last = gcb_prefix_last(length);
    unsigned before = GCB_PREFIX_FIRST;

    put_bits(w, at, last, GCB_PREFIX_LAST_BITS);
    at += GCB_PREFIX_LAST_BITS;
    for (unsigned s = 0; s <= last; s++) {
        const unsigned step = gcb_prefix_step_of(length[s], before);

        put_bits(w, at, (1u << step) - 1, step + 1);
        at += step + 1;
        if (step == GCB_PREFIX_GIVEN) {
            put_bits(w, at, length[s], GCB_PREFIX_LENGTH_BITS);
            at += GCB_PREFIX_LENGTH_BITS;
        }
        before = length[s] ? length[s] : before;
    }
}

/* Writes the part of the stream before its blocks. Called by every thread of the block. */
__device__ void make_head(codes_room &m)
{
    const bit_window w = {m.head, 0};
    const unsigned g = threadIdx.x / kWarp;

    clear_counts(m.head);
    sync_block();
    if (threadIdx.x == 0) {
        /* 8 bits for the first byte, and 6 bits for the lowest sum of each code except the first */
        m.head_at[0] = 2 + 6 * m.groups;
        for (unsigned i = 0; i < m.groups; i++)
            m.head_at[i + 1] = m.head_at[i] + gcb_prefix_size(m.length[i]);
        put_bits(w, 0, GCB_GAP_MARK + m.groups - 1, 8);
        for (unsigned i = 1; i < m.groups; i++)
            put_bits(w, 2 + 6 * i, m.group[i].from, 6);
    }
    sync_block();
    if (g < m.groups && lane() == 0)
        put_lengths(w, m.head_at[g], m.length[g]);
    sync_block();
}

/* True if the stream is certainly shorter in these codes than in Golomb's code. Assumes the longest
 * padding of each block for these codes (7 bits), and none for Golomb's code. Called by one
 * thread. */
__device__ bool shorter_than_golomb(const codes_room &m, const gap_codes &all, uint64_t kept)
{
    const uint64_t blocks = tile_count(kept);
    const uint64_t golomb = kept * (all.golomb + 1) + all.golomb_ones;
    const uint64_t gaps = m.gap_bits + all.low_bits;

    return m.head_at[m.groups] / 8 + 1 + (gaps + 7 * blocks) / 8 < 1 + golomb / 8;
}

/* Makes the codes of a message, with one block of threads. */
__global__ void make_adaptive_codes(gap_codes *to, gcb_cuda_chosen c)
{
    codes_room &m = shared<codes_room>();
    const uint64_t kept = c.choice->kept;

    make_groups(m, *to);
    join_groups(m);
    make_codes(m);
    make_head(m);
    for (unsigned i = threadIdx.x; i < kGapHeadWords; i += blockDim.x)
        to->head[i] = m.head[i];
    for (unsigned i = threadIdx.x; i < m.groups * GCB_PREFIX_SYMBOLS; i += blockDim.x) {
        const unsigned g = i / GCB_PREFIX_SYMBOLS, s = i % GCB_PREFIX_SYMBOLS;

        to->code[g][s] = m.code[g][s];
        to->bits[g][s] = m.bits[g][s];
    }
    for (unsigned sum = threadIdx.x; sum < GCB_GAP_SUMS; sum += blockDim.x) {
        unsigned g = 0;

        while (g + 1 < m.groups && m.group[g + 1].from <= sum)
            g++;
        to->code_of_sum[sum] = static_cast<uint8_t>(g);
    }
    if (threadIdx.x == 0) {
        to->groups = kept && shorter_than_golomb(m, *to, kept) ? m.groups : 0;
        to->head_bytes = (m.head_at[m.groups] + 7) / 8;
    }
}

} /* namespace */

int gcb::make_gap_codes(gcb_device_stream *s, gap_codes *m, const gcb_cuda_chosen &c)
{
    return launch(make_adaptive_codes, 1, kTileThreads, sizeof(codes_room), s, m, c);
}
