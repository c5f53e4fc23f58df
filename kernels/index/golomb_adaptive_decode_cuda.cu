/*
 * Decodes positions of the golomb and adaptive index (src/lib/sparse/index_golomb.c,
 * index_adaptive.c). One thread block reads the codes at the beginning of a stream, checks them and
 * makes tables of them. Then each thread block reads blocks of the stream. Its threads find out
 * where their gaps begin by synchronising (self_sync.cuh).
 */
#include "kernels/index/gap_elem.h"
#include "kernels/index/prefix_elem.h"
#include "kernels/index/self_sync.cuh"
#include "kernels/index/stream.cuh"

using namespace gcb;

namespace
{

/* The codes of a stream, in device memory. */
struct gap_tables {
    uint64_t head;  /* bytes before the first block */
    uint32_t codes; /* number of prefix codes; 0: Golomb's code, with parameter b */
    uint32_t b;
    uint8_t code_of_sum[GCB_GAP_SUMS + 3];             /* 3 bytes of padding */
    uint16_t entry[GCB_GAP_CODES][GCB_PREFIX_ENTRIES]; /* as gcb_prefix_table */
};

/* ---- the codes at the beginning of a stream ---- */

/* Reads bits one after the other, in one thread. `failed` becomes true, and stays so, if the source
 * ends too early or a run of ones is too long. */
struct bit_reader {
    bit_source source;
    uint64_t at;
    bool failed;

    __device__ unsigned get(unsigned n)
    {
        const unsigned v = get_bits(source, at, n);

        at += n;
        failed = failed || at > source.end;
        return v;
    }
    /* Reads a run of at most `limit` ones and the zero after it. Returns the number of ones;
     * 0 if `failed`. */
    __device__ unsigned ones(unsigned limit)
    {
        const unsigned n = trailing_ones(peek_bits(source, at));

        at += n + 1;
        failed = failed || n > limit || at > source.end;
        return failed ? 0 : n;
    }
};

/* Reads code lengths as gcb_prefix_get does. Returns false if the bits end too early, a step or a
 * length is too large, or the symbol that is given as the last does not exist or does not occur. */
__device__ bool get_lengths(bit_reader *r, uint8_t *length)
{
    const unsigned last = r->get(GCB_PREFIX_LAST_BITS);
    unsigned before = GCB_PREFIX_FIRST;

    for (unsigned s = 0; s < GCB_PREFIX_SYMBOLS; s++)
        length[s] = 0;
    for (unsigned s = 0; s <= last && last < GCB_PREFIX_SYMBOLS; s++) {
        const unsigned step = r->ones(GCB_PREFIX_GIVEN);
        const unsigned given = step == GCB_PREFIX_GIVEN ? r->get(GCB_PREFIX_LENGTH_BITS) : 0;
        const unsigned l = gcb_prefix_length_of(step, before, given);

        if (r->failed || l > GCB_PREFIX_BITS)
            return false;
        length[s] = static_cast<uint8_t>(l);
        before = l ? l : before;
    }
    return last < GCB_PREFIX_SYMBOLS && length[last];
}

struct tables_room {
    uint8_t length[GCB_GAP_CODES][GCB_PREFIX_SYMBOLS];
    uint32_t ok, codes;
};

/* Reads the rest of the head after its first byte: the lowest sum of each code except the first,
 * whose lowest sum is 0, and the code lengths. Returns false if they are invalid. Called by one
 * thread. */
__device__ bool get_codes(gap_tables *t, tables_room &room, const stream &s)
{
    const uint64_t from = 8 * (s.body + 1);
    bit_reader r = {{s.in, from, 8 * s.end}, from, false};
    unsigned before = 0;

    for (unsigned sum = 0; sum < GCB_GAP_SUMS; sum++)
        t->code_of_sum[sum] = 0;
    for (unsigned g = 1; g < room.codes; g++) {
        const unsigned start = r.get(6);

        if (start <= before || start >= GCB_GAP_SUMS)
            return false;
        for (unsigned sum = start; sum < GCB_GAP_SUMS; sum++)
            t->code_of_sum[sum] = static_cast<uint8_t>(g);
        before = start;
    }
    for (unsigned g = 0; g < room.codes; g++)
        if (!get_lengths(&r, room.length[g]) || !gcb_prefix_is_complete(room.length[g]))
            return false;
    /* the bits up to the next whole byte must be 0 */
    if (r.get(static_cast<unsigned>(-r.at % 8)) || r.failed)
        return false;
    t->head = r.at / 8 - s.body;
    return true;
}

/* Makes a decoding table as gcb_prefix_table does: for each value of the next GCB_PREFIX_BITS bits,
 * the symbol and its number of bits. Called by a warp. */
__device__ void make_table(uint16_t *entry, const uint8_t *length)
{
    uint16_t code[GCB_PREFIX_SYMBOLS];
    uint8_t bits[GCB_PREFIX_SYMBOLS];

    gcb_prefix_codes(code, bits, length);
    for (unsigned s = 0; s < GCB_PREFIX_SYMBOLS; s++)
        for (unsigned at = code[s] + (lane() << bits[s]); length[s] && at < GCB_PREFIX_ENTRIES;
             at += kWarp << bits[s])
            entry[at] = static_cast<uint16_t>(s << 4 | bits[s]);
}

/* Reads the head of the stream. Returns false if the head is invalid, the stream does not fill the
 * payload, or the stream has prefix codes although !adaptive. Called by one thread. */
__device__ bool get_head(gap_tables *t, tables_room &room, const gcb_cuda_payload &p,
                         const gcb_cuda_payload_head &head, bool adaptive)
{
    unsigned mark;
    stream s;

    if (!stream_fills_payload(p, head))
        return false;
    s = stream_of(p, head);
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

/* Fills *t with one block of threads, or refuses the payload. */
__global__ void read_tables(gap_tables *t, gcb_cuda_payload p, gcb_cuda_payload_head *head,
                            bool adaptive, gcb_device_result *result)
{
    tables_room &room = shared<tables_room>();

    if (head->kept == 0)
        return;
    sync_block(); /* all threads have read head->kept */
    if (threadIdx.x == 0) {
        room.codes = 0;
        room.ok = get_head(t, room, p, *head, adaptive);
        if (!room.ok)
            refuse(head, result);
    }
    sync_block();
    for (unsigned g = threadIdx.x / kWarp; room.ok && g < room.codes; g += blockDim.x / kWarp)
        make_table(t->entry[g], room.length[g]);
}

/* ---- the gaps ---- */

/* Reads a block's gaps. In Golomb's code, `past` of a code_place is the number of ones of the next
 * gap that earlier stretches have. In prefix codes, `past` is a struct gcb_gap_past as one number:
 * last + 256 * sum. */
struct block_gaps {
    const gap_tables *t;
    bit_source source;
    uint64_t n;

    /* Reads the next gap in Golomb's code; a gap of n or more gives n. Returns false if the zero
     * that ends the quotient is not before bit `end`, or the block ends before the last of
     * the gap's low bits. */
    __device__ bool next_golomb(code_place &p, uint64_t end, uint32_t *gap) const
    {
        const unsigned b = t->b;
        uint64_t quotient;

        for (;;) {
            const uint64_t left = end - p.at, skip = left < 32 ? left : 32;
            const unsigned ones = trailing_ones(peek_bits(source, p.at));

            if (ones < skip) {
                quotient = p.past + ones;
                p.at += ones + 1;
                break;
            }
            p.at += skip;
            p.past += skip;
            if (p.at == end)
                return false;
        }
        p.past = 0;
        if (source.end - p.at < b) {
            p.at = kNoCode;
            return false;
        }
        *gap = static_cast<uint32_t>(n);
        if (quotient <= n >> b)
            *gap = static_cast<uint32_t>(lesser(quotient << b | get_bits(source, p.at, b), n));
        p.at += b;
        return true;
    }

    /* Reads the next gap in prefix codes. Returns false if the block ends before the gap does. */
    __device__ bool next_prefix(code_place &p, uint32_t *gap) const
    {
        gcb_gap_past past = {static_cast<unsigned>(p.past & 0xff),
                             static_cast<unsigned>(p.past >> 8)};
        const uint32_t next = peek_bits(source, p.at);
        const unsigned entry = t->entry[t->code_of_sum[past.sum]][next % GCB_PREFIX_ENTRIES];
        const unsigned symbol = entry >> 4, bits = entry & 15, low = symbol < 16 ? 0 : symbol - 12;

        if (source.end - p.at < bits + low) {
            p.at = kNoCode;
            return false;
        }
        *gap = symbol < 16 ? symbol : uint32_t{1} << low | get_bits(source, p.at + bits, low);
        p.at += bits + low;
        gcb_gap_update_past(&past, symbol);
        p.past = past.last | past.sum << 8;
        return true;
    }

    /* Reads the next gap if it belongs to the stretch: in Golomb's code, if the zero that ends its
     * quotient is in the stretch; in prefix codes, if the gap begins there. Otherwise, or if the
     * block ends before the gap does, returns false. */
    __device__ bool next(code_place &p, const stretch &s, uint32_t *gap) const
    {
        if (p.at > s.end || (p.at == s.end && !s.last))
            return false;
        if (t->codes)
            return next_prefix(p, gap);
        return p.at < s.end && next_golomb(p, s.end, gap);
    }
    __device__ bool skip(code_place &p, const stretch &s) const
    {
        uint32_t gap;

        return next(p, s, &gap);
    }
};

/* A Reader for get_gaps (stream.cuh). */
struct gaps_reader {
    struct room {
        sync_room step;
        scan_room counts;
    };
    const gap_tables *t;

    __device__ explicit gaps_reader(const gap_tables *table) : t(table)
    {
    }
    __device__ uint64_t head() const
    {
        return t->head;
    }
    __device__ bool get(room &in, uint32_t *pos, const stream_block &block, uint64_t n) const
    {
        const block_gaps r = {t, block.bits, n};
        uint32_t total, gap = 0;
        unsigned count, i;
        bool good;
        code_place p;
        const stretch s = stretch_of(r.source, block.count, &p);

        count = synchronise(in.step, r, s, &p);
        i = scan_block(in.counts, count, &total);
        good = total >= block.count;
        for (; count && i < block.count && good; count--, i++) {
            r.next(p, s, &gap);
            pos[i] = gap;
            if (i + 1 == block.count)
                good = is_block_end(r.source, p.at);
        }
        return good;
    }
};

int decode_gaps(gcb_device_stream *s, const gcb_cuda_payload *p, const gcb_cuda_decoding *f,
                bool adaptive, gcb_device_result *result)
{
    gap_tables *t = static_cast<gap_tables *>(f->scratch);

    launch(read_tables, 1, kTileThreads, sizeof(tables_room), s, t, *p, f->head, adaptive, result);
    return get_stream<gaps_reader, gap_tables>(s, p, f, t, result);
}

} /* namespace */

uint64_t gcb_cuda_get_gaps_scratch(uint64_t n)
{
    return sizeof(gap_tables);
}

int gcb_cuda_get_golomb(gcb_device_stream *s, const gcb_cuda_payload *p, const gcb_cuda_decoding *f,
                        gcb_device_result *result)
{
    return decode_gaps(s, p, f, false, result);
}

int gcb_cuda_get_adaptive(gcb_device_stream *s, const gcb_cuda_payload *p,
                          const gcb_cuda_decoding *f, gcb_device_result *result)
{
    return decode_gaps(s, p, f, true, result);
}
