/* Reads the codes at the beginning of a stream of gaps (src/lib/sparse/index_golomb.c,
 * index_adaptive.c), checks them, and makes tables of them. */
#include "kernels/index/gap_tables.cuh"

namespace
{

/* A bit reader for one thread. */
struct reader {
    gcb::bit_source source;
    uint64_t at;
    bool failed;

    __device__ unsigned get(unsigned n)
    {
        const unsigned v = gcb::get_bits(source, at, n);

        at += n;
        failed = failed || at > source.end;
        return v;
    }
    __device__ unsigned ones(unsigned limit)
    {
        const unsigned n = gcb::leading_ones(gcb::peek_bits(source, at));

        at += n + 1;
        failed = failed || n > limit || at > source.end;
        return failed ? 0 : n;
    }
};

/* Reads code lengths like gcb_prefix_get. */
__device__ bool get_lengths(reader *r, uint8_t *length)
{
    const unsigned last = r->get(6);
    unsigned before = GCB_PREFIX_FIRST;

    for (unsigned s = 0; s < GCB_PREFIX_SYMBOLS; s++)
        length[s] = 0;
    for (unsigned s = 0; s <= last && last < GCB_PREFIX_SYMBOLS; s++) {
        const unsigned step = r->ones(GCB_PREFIX_GIVEN);
        const unsigned given = step == GCB_PREFIX_GIVEN ? r->get(4) : 0;
        const unsigned l = gcb_prefix_length_of(step, before, given);

        if (r->failed || l > GCB_PREFIX_BITS)
            return false;
        length[s] = static_cast<uint8_t>(l);
        before = l ? l : before;
    }
    return last < GCB_PREFIX_SYMBOLS && length[last];
}

struct opening {
    uint8_t length[GCB_GAP_CODES][GCB_PREFIX_SYMBOLS];
    uint32_t ok, codes;
};

/* Reads sums and lengths. Returns false if no encoder writes them. Called by one thread. */
__device__ bool get_codes(gcb::gap_tables *t, opening &room, const gcb::stream &s)
{
    const uint64_t from = 8 * (s.body + 1);
    reader r = {{s.in, from, 8 * s.end}, from, false};
    unsigned below = 0;

    for (unsigned sum = 0; sum < GCB_GAP_SUMS; sum++)
        t->of_sum[sum] = 0;
    for (unsigned g = 1; g < room.codes; g++) {
        const unsigned start = r.get(6);

        if (start <= below || start >= GCB_GAP_SUMS)
            return false;
        for (below = start; below < GCB_GAP_SUMS; below++)
            t->of_sum[below] = static_cast<uint8_t>(g);
        below = start;
    }
    for (unsigned g = 0; g < room.codes; g++)
        if (!get_lengths(&r, room.length[g]) || !gcb_prefix_is_complete(room.length[g]))
            return false;
    if (r.get(static_cast<unsigned>(-r.at % 8)) || r.failed)
        return false;
    t->head = r.at / 8 - s.body;
    return true;
}

/* Makes a table like gcb_prefix_table. Called by a warp. */
__device__ void make_table(uint16_t *entry, const uint8_t *length)
{
    uint16_t code[GCB_PREFIX_SYMBOLS];
    uint8_t bits[GCB_PREFIX_SYMBOLS];

    gcb_prefix_codes(code, bits, length);
    for (unsigned s = 0; s < GCB_PREFIX_SYMBOLS; s++)
        for (unsigned at = code[s] + (gcb::lane() << bits[s]); length[s] && at < GCB_PREFIX_ENTRIES;
             at += gcb::kWarp << bits[s])
            entry[at] = static_cast<uint16_t>(s << 4 | bits[s]);
}

/* Reads the first byte. Returns false if no encoder writes it. Called by one thread. */
__device__ bool get_head(gcb::gap_tables *t, opening &room, const struct gcb_cuda_payload &p,
                         const struct gcb_cuda_opened &head, bool adaptive)
{
    unsigned mark;
    gcb::stream s;

    if (!gcb::is_stream(p, head))
        return false;
    s = gcb::stream_of(p, head);
    if (s.body == s.end)
        return false;
    mark = s.in[s.body];
    room.codes = mark < GCB_GAP_MARK ? 0 : mark - GCB_GAP_MARK + 1;
    t->codes = room.codes;
    t->b = mark;
    t->head = 1;
    if (!room.codes)
        return true;
    return adaptive && room.codes <= GCB_GAP_CODES && get_codes(t, room, s);
}

/* Launched with one block. */
__global__ void read_tables(gcb::gap_tables *t, struct gcb_cuda_payload p,
                            struct gcb_cuda_opened *head, bool adaptive, gcb_device_result *result)
{
    opening &room = gcb::shared<opening>();

    if (head->kept == 0)
        return;
    gcb::sync_block(); /* all threads have read head->kept */
    if (threadIdx.x == 0) {
        room.codes = 0;
        room.ok = get_head(t, room, p, *head, adaptive);
        if (!room.ok)
            gcb::refuse(head, result);
    }
    gcb::sync_block();
    for (unsigned g = threadIdx.x / gcb::kWarp; room.ok && g < room.codes;
         g += blockDim.x / gcb::kWarp)
        make_table(t->entry[g], room.length[g]);
}

} /* namespace */

int gcb::open_gaps(struct gcb_device_stream *s, gap_tables *t, const struct gcb_cuda_payload &p,
                   const struct gcb_cuda_filling &f, bool adaptive,
                   struct gcb_device_result *result)
{
    return launch(read_tables, 1, kTileThreads, sizeof(opening), s, t, p, f.head, adaptive, result);
}
