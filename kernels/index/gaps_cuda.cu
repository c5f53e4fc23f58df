/* Decodes positions of the golomb and adaptive index (src/lib/sparse/index_golomb.c,
 * index_adaptive.c). The threads of a block find the beginning of their codes by synchronising
 * (step.cuh). */
#include "kernels/index/gap_tables.cuh"
#include "kernels/index/step.cuh"

namespace
{

using gcb::bit_source;
using gcb::gap_tables;
using gcb::kNowhere;
using gcb::place;
using gcb::stretch;

/* The past of a place is, for Golomb, the ones of a gap that began in an earlier stretch; for
 * adaptive, the state after the two gaps before. */
struct block_gaps {
    const gap_tables *t;
    bit_source source;
    uint64_t n;

    /* Golomb: reads the next gap, or n for n or more. Returns false if `end` comes before the zero
     * that ends the quotient, and at the end of the block. */
    __device__ bool golomb(place &p, uint64_t end, uint32_t *gap) const
    {
        const unsigned b = t->b;
        uint64_t quotient;

        for (;;) {
            const uint64_t left = end - p.at, skip = left < 32 ? left : 32;
            const unsigned ones = gcb::leading_ones(gcb::peek_bits(source, p.at));

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
            p.at = kNowhere;
            return false;
        }
        *gap = static_cast<uint32_t>(n);
        if (quotient <= n >> b) {
            const uint64_t v = quotient << b | gcb::get_bits(source, p.at, b);

            *gap = static_cast<uint32_t>(v < n ? v : n);
        }
        p.at += b;
        return true;
    }

    /* Adaptive: reads the next gap. Returns false at the end of the block. */
    __device__ bool prefix(place &p, uint32_t *gap) const
    {
        struct gcb_gap_past past = {static_cast<unsigned>(p.past & 0xff),
                                    static_cast<unsigned>(p.past >> 8)};
        const uint32_t next = gcb::peek_bits(source, p.at);
        const unsigned entry = t->entry[t->of_sum[past.sum]][next % GCB_PREFIX_ENTRIES];
        const unsigned symbol = entry >> 4, bits = entry & 15, low = symbol < 16 ? 0 : symbol - 12;

        if (source.end - p.at < bits + low) {
            p.at = kNowhere;
            return false;
        }
        *gap = symbol < 16 ? symbol : uint32_t{1} << low | gcb::get_bits(source, p.at + bits, low);
        p.at += bits + low;
        gcb_gap_saw(&past, symbol);
        p.past = past.last | past.sum << 8;
        return true;
    }

    __device__ bool next(place &p, const stretch &s, uint32_t *gap) const
    {
        if (p.at > s.end || (p.at == s.end && !s.last))
            return false;
        if (t->codes)
            return prefix(p, gap);
        return p.at < s.end && golomb(p, s.end, gap);
    }
    __device__ bool skip(place &p, const stretch &s) const
    {
        uint32_t gap;

        return next(p, s, &gap);
    }
};

struct gaps_reader {
    struct room {
        gcb::step_room step;
        gcb::scan_room counts;
    };
    const gap_tables *t;

    __device__ explicit gaps_reader(const gap_tables *table) : t(table)
    {
    }
    __device__ uint64_t head() const
    {
        return t->head;
    }
    __device__ bool get(room &in, uint32_t *pos, const gcb::stream_block &block, uint64_t n) const
    {
        const block_gaps r = {t, block.bits, n};
        uint32_t total, gap = 0;
        unsigned count, i;
        bool good;
        place p;
        const stretch s = gcb::stretch_of(r.source, block.count, &p);

        count = gcb::fall_into_step(in.step, r, s, &p);
        i = gcb::scan_block(in.counts, count, &total);
        good = total >= block.count;
        for (; count && i < block.count && good; count--, i++) {
            r.next(p, s, &gap);
            pos[i] = gap;
            if (i + 1 == block.count)
                good = gcb::ends_at(r.source, p.at);
        }
        return good;
    }
};

int get(struct gcb_device_stream *s, const struct gcb_cuda_payload *p,
        const struct gcb_cuda_filling *f, bool adaptive, struct gcb_device_result *result)
{
    gap_tables *t = static_cast<gap_tables *>(f->scratch);
    const int err = gcb::open_gaps(s, t, *p, *f, adaptive, result);

    return err ? err : gcb::get_stream<gaps_reader, gap_tables>(s, p, f, t, result);
}

} /* namespace */

uint64_t gcb_cuda_get_gaps_scratch(uint64_t n)
{
    (void)n;
    return sizeof(gap_tables);
}

int gcb_cuda_get_golomb(struct gcb_device_stream *s, const struct gcb_cuda_payload *p,
                        const struct gcb_cuda_filling *f, struct gcb_device_result *result)
{
    return get(s, p, f, false, result);
}

int gcb_cuda_get_adaptive(struct gcb_device_stream *s, const struct gcb_cuda_payload *p,
                          const struct gcb_cuda_filling *f, struct gcb_device_result *result)
{
    return get(s, p, f, true, result);
}
