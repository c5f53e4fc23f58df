/*
 * Positions in Elias-Fano code (src/lib/sparse/index_eliasfano.c). The low bits of the positions
 * have a fixed width. The high parts are in unary: their differences in ones, each ended by a zero.
 * So the place of a position's zero gives its high part, and a block's last position gives the
 * block's size.
 */
#include "kernels/index/layout_elem.h"
#include "kernels/index/stream.cuh"

using namespace gcb;

namespace
{

constexpr unsigned kMostLow = 31; /* most low bits of a position */

/* ---- writing ---- */

/* A block's positions and the number of low bits of their codes. The codes are relative to `base`,
 * the lowest position that the block may have. */
struct block_source {
    const uint32_t *pos;
    uint32_t base;
    unsigned count, low;

    __device__ block_source(const gcb_cuda_chosen &c, uint64_t b)
        : pos(c.pos + b * kTile), base(b ? c.pos[b * kTile - 1] + 1 : 0),
          count(block_count(c.choice->kept, b)),
          low(gcb_eliasfano_low_bits(pos[count - 1] - base, count))
    {
    }
    __device__ uint32_t high(unsigned i) const
    {
        return (pos[i] - base) >> low;
    }
    /* Bits before the high parts; the head is the byte with the number of low bits. */
    __device__ uint32_t head_and_low_bits() const
    {
        return 8 + count * low;
    }
    __device__ uint32_t bits() const
    {
        return head_and_low_bits() + count + high(count - 1);
    }
};

/* For place_blocks: the size of each block. */
struct block_layout {
    __device__ no_head open(const gcb_cuda_chosen &) const
    {
        return {};
    }
    __device__ uint32_t block_bytes(const gcb_cuda_chosen &c, uint64_t b) const
    {
        return (block_source(c, b).bits() + 7) / 8;
    }
};

/* For put_windows: writes a block's bits. */
struct write_block {
    const block_source &s;

    __device__ void operator()(const bit_window &w) const
    {
        const uint32_t mask = (uint32_t{1} << s.low) - 1;

        if (threadIdx.x == 0)
            put_bits(w, 0, s.low, 8);
        /* All threads take part, because a warp writes long runs of ones together. */
        for (unsigned k = 0; k < kTileEach; k++) {
            const unsigned i = threadIdx.x + k * kTileThreads;
            const bool here = i < s.count;
            const uint32_t before = here && i ? s.high(i - 1) : 0;

            if (here)
                put_bits(w, 8 + uint64_t{i} * s.low, (s.pos[i] - s.base) & mask, s.low);
            put_ones(w, uint64_t{s.head_and_low_bits()} + before + i,
                     here ? s.high(i) - before : 0);
        }
    }
};

__global__ void put_blocks(uint8_t *out, gcb_cuda_chosen c, gcb_cuda_values how,
                           const uint32_t *offset)
{
    tile_room &room = shared<tile_room>();
    const uint64_t kept = c.choice->kept;

    for (uint64_t b = blockIdx.x; b * kTile < kept; b += gridDim.x) {
        const block_source s(c, b);

        if (threadIdx.x == 0)
            put_entry(out, c, how, b, offset[b]);
        put_windows(room, out + stream_at(c, how) + offset[b], s.bits(), write_block{s});
    }
}

/* ---- reading ---- */

/* Where a block's parts begin, in bits: `low` bits of each position, then the unary high parts. */
struct block_parts {
    uint64_t low_at, high_at;
    unsigned low;
};

/* Finds the parts of a block. Returns false if the number of low bits is wrong or the block is too
 * short. */
__device__ bool find_parts(block_parts *to, const stream_block &block)
{
    const bit_source &in = block.bits;
    const unsigned low = in.from < in.end ? in.in[in.from / 8] : kMostLow + 1;

    to->low = low;
    to->low_at = in.from + 8;
    to->high_at = to->low_at + uint64_t{block.count} * low;
    return low <= kMostLow && to->high_at <= in.end;
}

/* Returns a mask of the zeros among the 32 bits from `at` on. Bits from `to` on count as ones. */
__device__ uint32_t zeros_at(const bit_source &in, uint64_t at, uint64_t to)
{
    const uint64_t left = to - at;

    return ~peek_bits(in, at) & (left < 32 ? (1u << left) - 1 : 0xffffffffu);
}

/* Returns position number i of the block; its zero is at bit `at`. Returns n if the position is n
 * or more, which is invalid. */
__device__ uint32_t read_position(const stream_block &block, const block_parts &in, unsigned i,
                                  uint64_t at, uint64_t n)
{
    const uint64_t high = at - in.high_at - i;
    uint64_t pos = n;

    if (high <= n >> in.low)
        pos = block.next +
              (high << in.low | get_bits(block.bits, in.low_at + uint64_t{i} * in.low, in.low));
    return static_cast<uint32_t>(lesser(pos, n));
}

/* Reads a block's positions; threads share the block's bits. At least one thread returns false if a
 * position is n or more, the block ends before its last position, or more than padding follows that
 * position. Does not check the order of the positions. Called by every thread of the block. */
__device__ bool get_block(scan_room &room, uint32_t *pos, const stream_block &block,
                          const block_parts &in, uint64_t n)
{
    const bit_source &bits = block.bits;
    const uint64_t each = ((bits.end - in.high_at) / 32 / blockDim.x + 1) * 32;
    const uint64_t from = in.high_at + threadIdx.x * each;
    const uint64_t to = lesser(from + each, bits.end);
    uint32_t count = 0, total, i;
    bool good;

    for (uint64_t at = from; at < to && count < block.count; at += 32)
        count += popc(zeros_at(bits, at, to));
    i = scan_block(room, count, &total);
    good = total >= block.count;
    for (uint64_t at = from; good && at < to && i < block.count; at += 32) {
        for (uint32_t z = zeros_at(bits, at, to); z && i < block.count; z &= z - 1, i++) {
            const uint64_t zero = at + lowest_bit(z);

            pos[i] = read_position(block, in, i, zero, n);
            good = good && pos[i] < n;
            if (i + 1 == block.count)
                good = good && is_block_end(bits, zero + 1);
        }
    }
    return good;
}

/* True if the positions that this thread compares ascend, and the directory agrees. If the block's
 * positions do not ascend, at least one thread returns false. */
__device__ bool is_in_order(const uint32_t *pos, const stream &s, uint64_t b,
                            const stream_block &block)
{
    bool good = pos[0] >= block.next && directory_agrees(s, b, pos[block.count - 1]);

    for (unsigned i = threadIdx.x + 1; i < block.count; i += blockDim.x)
        good = good && pos[i - 1] < pos[i];
    return good;
}

__global__ void get_blocks(gcb_cuda_decoding f, gcb_cuda_payload p, gcb_device_result *result)
{
    scan_room &room = shared<scan_room>();
    const stream s = stream_of(p, *f.head);

    for (uint64_t b = blockIdx.x; b * kTile < s.kept; b += gridDim.x) {
        uint32_t *pos = f.pos + b * kTile;
        stream_block block;
        block_parts in;
        bool good = find_block(&block, s, b, 0) && find_parts(&in, block);

        if (good)
            good = get_block(room, pos, block, in, s.n);
        good = count_block(!good) == 0;
        if (!good || !is_in_order(pos, s, b, block))
            damage(f.head, result);
    }
}

} /* namespace */

int gcb_cuda_put_eliasfano(gcb_device_stream *s, uint8_t *out, const gcb_cuda_chosen *chosen,
                           const gcb_cuda_values *how, void *scratch, gcb_device_result *result)
{
    uint32_t *offset = static_cast<uint32_t *>(scratch);

    launch(place_blocks<block_layout>, 1, kPlaceThreads, sizeof(scan_room), s, offset, out, *chosen,
           *how, block_layout{}, result);
    return launch(put_blocks, grid_over(tile_count(chosen->most)), kTileThreads, sizeof(tile_room),
                  s, out, *chosen, *how, offset);
}

int gcb_cuda_get_eliasfano(gcb_device_stream *s, const gcb_cuda_payload *p,
                           const gcb_cuda_decoding *f, gcb_device_result *result)
{
    check_length(s, *p, *f, result);
    launch(get_blocks, grid_over(tile_count(p->n)), kTileThreads, sizeof(scan_room), s, *f, *p,
           result);
    return find_tiles(s, *f, p->n);
}
