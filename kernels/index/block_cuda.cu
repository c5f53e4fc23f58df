/* Block-local positions (src/lib/sparse/index_block.c): a count for each block, then positions of
 * fixed width. */
#include "kernels/index/layout_elem.h"
#include "kernels/index/stream.cuh"

using namespace gcb;

namespace
{

constexpr unsigned kNarrow = 12, kWide = 16; /* the two widths of a position, in bits */
constexpr unsigned kSumThreads = 1024;

/* The number of blocks of 2^width positions. */
__device__ uint64_t blocks_of(uint64_t n, unsigned width)
{
    return (n + (uint64_t{1} << width) - 1) >> width;
}

/* ---- writing ---- */

/* The number of kept positions before tile t; all of them if t is above the number of tiles. */
__device__ uint32_t kept_before(const gcb_cuda_chosen &c, uint64_t t)
{
    return c.first[lesser(t, tile_count(c.n))];
}

/* Writes the number of kept positions of each block: 2 bytes at the narrow width, 4 at the wide
 * width. A block of the narrow width is a tile, so kept_before gives the counts. */
__device__ void put_counts(uint8_t *out, const gcb_cuda_chosen &c, unsigned width)
{
    const unsigned tiles = 1u << (width - kNarrow);

    for (uint64_t b = thread_of_grid(); b < blocks_of(c.n, width); b += threads_of_grid()) {
        const uint32_t count = kept_before(c, (b + 1) * tiles) - kept_before(c, b * tiles);

        if (width == kWide) {
            put_u32(out + 4 * b, count);
            continue;
        }
        out[2 * b] = static_cast<uint8_t>(count);
        out[2 * b + 1] = static_cast<uint8_t>(count >> 8);
    }
}

/* Writes the whole index: the width, the counts, the local positions. */
__global__ void put_locals(uint8_t *out, gcb_cuda_chosen c, gcb_cuda_values how,
                           gcb_device_result *result)
{
    tile_room &room = shared<tile_room>();
    const uint64_t kept = c.choice->kept;
    const unsigned width = gcb_block_width(c.n, kept);
    const uint64_t head = index_at(c.n, kept, how);
    const uint64_t locals = head + gcb_block_bytes(c.n, 0, width);

    if (blockIdx.x == 0 && threadIdx.x == 0) {
        if (kept)
            out[head] = static_cast<uint8_t>(width);
        result->length = kept ? head + gcb_block_bytes(c.n, kept, width) : head;
    }
    if (kept)
        put_counts(out + head + 1, c, width);
    for (uint64_t start = blockIdx.x * uint64_t{kTile}; start < kept;
         start += uint64_t{gridDim.x} * kTile) {
        const uint64_t here = lesser<uint64_t>(kept - start, kTile);
        uint32_t code[kTileEach];

        for (unsigned i = 0; i < kTileEach; i++) {
            const uint64_t at = threadIdx.x * kTileEach + i;

            code[i] = at < here ? c.pos[start + at] & ((1u << width) - 1) : 0;
        }
        pack_codes(room, code, width);
        sync_block();
        store_tile(out + locals + start / 8 * width, room,
                   static_cast<unsigned>((here * width + 7) / 8));
        sync_block();
    }
}

/* ---- reading ---- */

/* Where the parts of the index are. */
struct index_parts {
    unsigned width;
    uint64_t counts, locals; /* byte offsets in the payload */
};

/* Returns false if the width is wrong or the parts do not fill the payload exactly. */
__device__ bool find_parts(index_parts *to, const gcb_cuda_payload &p,
                           const gcb_cuda_payload_head &head)
{
    const unsigned width = head.index < p.length ? p.in[head.index] : 0;

    if (width != kNarrow && width != kWide)
        return false;
    to->width = width;
    to->counts = head.index + 1;
    to->locals = head.index + gcb_block_bytes(p.n, 0, width);
    return head.index + gcb_block_bytes(p.n, head.kept, width) == p.length;
}

/* Reads the number of kept positions of block b. */
__device__ uint64_t count_at(const uint8_t *counts, uint64_t b, unsigned width)
{
    if (width == kWide)
        return get_u32(counts + 4 * b);
    return counts[2 * b] | static_cast<uint32_t>(counts[2 * b + 1]) << 8;
}

/* Computes from the counts where the positions of each block begin, with one block of threads. */
__global__ __launch_bounds__(kSumThreads) void sum_counts(uint32_t *starts, gcb_cuda_payload p,
                                                          gcb_cuda_payload_head *head,
                                                          gcb_device_result *result)
{
    const uint64_t kept = head->kept;
    index_parts in;

    sync_block(); /* all threads have read head->kept, which refuse() may change */
    if (kept == 0)
        return;
    if (!find_parts(&in, p, *head)) {
        sync_block(); /* all threads have read *head */
        if (threadIdx.x == 0)
            refuse(head, result);
        return;
    }
    const uint64_t blocks = blocks_of(p.n, in.width);
    const auto count_in = [&](uint64_t b) { return count_at(p.in + in.counts, b, in.width); };
    const auto place = [&](uint64_t b, uint64_t start, uint64_t) {
        starts[b] = static_cast<uint32_t>(lesser(start, kept)); /* wrong counts are found below */
    };
    const uint64_t all = scan_all(shared<scan_room_of<uint64_t>>(), blocks, 0, count_in, place);

    if (threadIdx.x == 0) {
        starts[blocks] = static_cast<uint32_t>(kept);
        if (all != kept)
            refuse(head, result);
    }
}

/* Reads the local positions, makes positions of them, and checks their order. */
__global__ void get_locals(gcb_cuda_decoding f, gcb_cuda_payload p, const uint32_t *starts,
                           gcb_device_result *result)
{
    const uint64_t kept = f.head->kept;
    index_parts in;

    if (kept == 0 || !find_parts(&in, p, *f.head))
        return;
    const uint64_t blocks = blocks_of(p.n, in.width);
    const bit_source bits = {p.in, 8 * in.locals, 8 * p.length};

    if (blockIdx.x == 0 && threadIdx.x == 0 && !is_block_end(bits, bits.from + kept * in.width))
        damage(f.head, result);
    for (uint64_t i = thread_of_grid(); i < kept; i += threads_of_grid()) {
        /* the last block whose first entry is entry i or an earlier entry */
        const uint64_t b = count_below(starts, blocks, i + 1) - 1;
        const uint64_t at = bits.from + i * in.width;
        const uint32_t local = get_bits(bits, at, in.width);
        const uint64_t pos = b << in.width | local;

        f.pos[i] = static_cast<uint32_t>(pos);
        if (pos >= p.n || (i > starts[b] && local <= get_bits(bits, at - in.width, in.width)))
            damage(f.head, result);
    }
}

} /* namespace */

int gcb_cuda_put_block(gcb_device_stream *s, uint8_t *out, const gcb_cuda_chosen *chosen,
                       const gcb_cuda_values *how, void *scratch, gcb_device_result *result)
{
    return launch(put_locals, grid_over(tile_count(chosen->most)), kTileThreads, sizeof(tile_room),
                  s, out, *chosen, *how, result);
}

uint64_t gcb_cuda_get_block_scratch(uint64_t n)
{
    return (tile_count(n) + 1) * sizeof(uint32_t);
}

int gcb_cuda_get_block(gcb_device_stream *s, const gcb_cuda_payload *p, const gcb_cuda_decoding *f,
                       gcb_device_result *result)
{
    uint32_t *starts = static_cast<uint32_t *>(f->scratch);

    launch(sum_counts, 1, kSumThreads, sizeof(scan_room_of<uint64_t>), s, starts, *p, f->head,
           result);
    launch(get_locals, grid_over(tile_count(p->n)), kTileThreads, 0, s, *f, *p, starts, result);
    return find_tiles(s, *f, p->n);
}
