#ifndef KERNELS_INDEX_STREAM_CUH
#define KERNELS_INDEX_STREAM_CUH

/*
 * Writes and reads a stream of positions (src/lib/sparse/index.h). Its layout is: the stream's
 * length in bytes, a directory of blocks, the stream itself. A stream has a head, if its code needs
 * one, and then blocks of 4096 positions. It is written in three steps: compute the size of each
 * block, add up the sizes, write the bits of each block at its place.
 */
#include "kernels/index/bits.cuh"
#include "kernels/index/index_cuda.h"
#include "kernels/select/select_cuda.cuh"
#include "kernels/select/values_cuda.cuh"

namespace gcb
{

constexpr unsigned kPlaceThreads = 1024;
/* bytes of a block's entry: the last position of the block before, and the offset in the stream */
constexpr unsigned kDirectoryEntry = 8;
constexpr unsigned kStreamLength = 4; /* bytes of the stream's length */

/* The bytes of the directory. It has an entry for each block except the first. */
__device__ __forceinline__ uint64_t directory_bytes(uint64_t kept)
{
    return kept ? (kept - 1) / kTile * kDirectoryEntry : 0;
}

/* The number of positions in block b. */
__device__ __forceinline__ unsigned block_count(uint64_t kept, uint64_t b)
{
    return elements_from(kept, b * kTile, kTile);
}

/* ---- writing ---- */

/* Offset of the stream in the payload. */
__device__ __forceinline__ uint64_t stream_at(const gcb_cuda_chosen &c, const gcb_cuda_values &how)
{
    const uint64_t kept = c.choice->kept;

    return index_at(c.n, kept, how) + kStreamLength + directory_bytes(kept);
}

/*
 * Step 2, with one block of threads. Computes the offset of each block in the stream. Sets the
 * payload's length and, if a position is kept, writes the stream's length and its head.
 * layout.block_bytes(c, b) returns the bytes of block b; layout.open(c) returns an object with the
 * functions head_bytes and head_byte.
 */
template <class Layout>
__global__ __launch_bounds__(kPlaceThreads) void place_blocks(uint32_t *offset, uint8_t *out,
                                                              gcb_cuda_chosen c,
                                                              gcb_cuda_values how, Layout layout,
                                                              gcb_device_result *result)
{
    const uint64_t kept = c.choice->kept, at = index_at(c.n, kept, how), body = stream_at(c, how);
    const auto front = layout.open(c);
    const uint32_t head = front.head_bytes();
    const auto bytes_of = [&](uint64_t b) { return layout.block_bytes(c, b); };
    const auto place = [&](uint64_t b, uint64_t start, uint32_t) {
        offset[b] = static_cast<uint32_t>(start);
    };
    const uint64_t end = scan_all(shared<scan_room>(), tile_count(kept), head, bytes_of, place);

    for (uint32_t i = threadIdx.x; kept && i < head; i += blockDim.x)
        out[body + i] = front.head_byte(i);
    if (threadIdx.x == 0) {
        if (kept)
            put_u32(out + at, static_cast<uint32_t>(end));
        result->length = kept ? body + end : at;
    }
}

/* The head of a stream that begins with its first block. */
struct no_head {
    __device__ uint32_t head_bytes() const
    {
        return 0;
    }
    __device__ uint8_t head_byte(uint32_t) const
    {
        return 0;
    }
};

/* Writes the directory entry of block b; block 0 has none. Called by one thread. */
__device__ __forceinline__ void put_entry(uint8_t *out, const gcb_cuda_chosen &c,
                                          const gcb_cuda_values &how, uint64_t b, uint32_t offset)
{
    if (b == 0)
        return;
    uint8_t *const entry =
        out + index_at(c.n, c.choice->kept, how) + kStreamLength + (b - 1) * kDirectoryEntry;

    put_u32(entry, c.pos[b * kTile - 1]);
    put_u32(entry + 4, offset);
}

/* ---- reading ---- */

/* A stream whose length has been checked. */
struct stream {
    const uint8_t *in;
    uint64_t kept, n;              /* number of positions, which are below n */
    uint64_t directory, body, end; /* byte offsets in the payload */
};

__device__ __forceinline__ stream stream_of(const gcb_cuda_payload &p,
                                            const gcb_cuda_payload_head &head)
{
    const uint64_t directory = head.index + kStreamLength;

    return {p.in, head.kept, p.n, directory, directory + directory_bytes(head.kept), p.length};
}

/* True if a stream fills the rest of the payload. */
__device__ __forceinline__ bool stream_fills_payload(const gcb_cuda_payload &p,
                                                     const gcb_cuda_payload_head &head)
{
    const uint64_t front = kStreamLength + directory_bytes(head.kept);

    return p.length - head.index >= front &&
           get_u32(p.in + head.index) == p.length - head.index - front;
}

/* Queues a kernel that refuses a payload that keeps positions if stream_fills_payload is false
 * (varint_cuda.cu). */
int check_length(gcb_device_stream *s, const gcb_cuda_payload &p, const gcb_cuda_decoding &f,
                 gcb_device_result *result);

/* A block of up to kTile positions. It can be read without the blocks before it. */
struct stream_block {
    bit_source bits; /* its part of the payload */
    uint64_t next;   /* the lowest position that the block may have */
    unsigned count;  /* number of its positions */
};

/* Finds block b. The first block begins after `head` bytes. Returns false if the directory is
 * damaged. */
__device__ __forceinline__ bool find_block(stream_block *block, const stream &s, uint64_t b,
                                           uint64_t head)
{
    const uint8_t *entry = s.in + s.directory + b * kDirectoryEntry; /* entry of the next block */
    const bool last = (b + 1) * kTile >= s.kept;
    const uint64_t from = b ? get_u32(entry - 4) : head;
    const uint64_t to = last ? s.end - s.body : get_u32(entry + 4);

    block->next = b ? get_u32(entry - 8) + uint64_t{1} : 0;
    block->count = block_count(s.kept, b);
    block->bits = {s.in, 8 * (s.body + from), 8 * (s.body + to)};
    return from <= to && to <= s.end - s.body;
}

/* True if the directory gives `last` as the last position of block b, or gives none because b is
 * the last block. */
__device__ __forceinline__ bool directory_agrees(const stream &s, uint64_t b, uint32_t last)
{
    return (b + 1) * kTile >= s.kept || get_u32(s.in + s.directory + b * kDirectoryEntry) == last;
}

/*
 * Replaces the gaps in `pos` by the positions of block b. A gap is the number of dropped positions
 * directly before a kept one. Returns false in every thread if a position is not below n, or the
 * directory gives another last position. Called by every thread of the block, after a barrier.
 */
__device__ __forceinline__ bool add_gaps(scan_room_of<uint64_t> &room, uint32_t *pos,
                                         const stream &s, uint64_t b, const stream_block &block)
{
    const unsigned first = threadIdx.x * kTileEach;
    uint64_t sum = 0, total, at;
    bool bad = false;

    for (unsigned i = first; i < first + kTileEach && i < block.count; i++)
        sum += pos[i] + uint64_t{1};
    at = block.next + scan_block(room, sum, &total);
    for (unsigned i = first; i < first + kTileEach && i < block.count; i++) {
        at += pos[i];
        bad = bad || at >= s.n;
        pos[i] = static_cast<uint32_t>(at++);
    }
    if (first < block.count && first + kTileEach >= block.count)
        bad = bad || !directory_agrees(s, b, pos[block.count - 1]);
    return count_block(bad) == 0;
}

/* An empty table, for codes that need no table. */
struct no_table {
};

template <class Reader> struct get_room {
    typename Reader::room own;
    scan_room_of<uint64_t> sums;
};

/*
 * Reads the positions of a stream; each of its blocks is read by a block of threads. A Reader is a
 * class constructed from (const Table *), with
 *
 *   room   a type: the shared memory that the reader needs
 *   head   returns the number of bytes before the first block
 *   get    writes a block's gaps (add_gaps) to the places of its positions. n is the number of the
 *          tensor's positions; a gap of n or more may be written as n. If the bits are not a valid
 *          block, at least one thread returns false. Called by every thread of the block.
 */
template <class Reader, class Table>
__global__ void get_gaps(gcb_cuda_decoding f, gcb_cuda_payload p, const Table *table,
                         gcb_device_result *result)
{
    get_room<Reader> &room = shared<get_room<Reader>>();
    const stream s = stream_of(p, *f.head);
    const Reader reader(table);

    for (uint64_t b = blockIdx.x; b * kTile < s.kept; b += gridDim.x) {
        uint32_t *pos = f.pos + b * kTile;
        stream_block block;
        bool good = find_block(&block, s, b, reader.head());

        if (good)
            good = reader.get(room.own, pos, block, s.n);
        good = count_block(!good) == 0;
        if (good)
            good = add_gaps(room.sums, pos, s, b, block);
        if (!good && threadIdx.x == 0)
            damage(f.head, result);
    }
}

/* Reads the positions of a stream whose length has been checked, and finds each tile's first
 * entry. */
template <class Reader, class Table>
int get_stream(gcb_device_stream *s, const gcb_cuda_payload *p, const gcb_cuda_decoding *f,
               const Table *table, gcb_device_result *result)
{
    launch(get_gaps<Reader, Table>, grid_over(tile_count(p->n)), kTileThreads,
           sizeof(get_room<Reader>), s, *f, *p, table, result);
    return find_tiles(s, *f, p->n);
}

} /* namespace gcb */

#endif
