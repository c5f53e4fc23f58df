/* Decoding of QSGD's Elias codings. */
#include "kernels/dither/elias.cuh"

using namespace gcb;
using namespace gcb::elias_codes;

namespace
{

/* Sets e.offset from the directory, with one block of threads. Sets the status if the blocks do not
 * fill the payload exactly. */
__global__ __launch_bounds__(kPlaceThreads) void open_blocks(elias_message e, const uint8_t *in,
                                                             uint64_t length,
                                                             gcb_device_result *result)
{
    const uint64_t most = length - body_at(e); /* no block may begin after the payload's end */
    const auto bytes_of = [&](uint64_t b) {
        const uint8_t *entry = in + directory_at(e) + b * kEntry;

        return entry[0] | static_cast<uint32_t>(entry[1]) << 8;
    };
    const auto place = [&](uint64_t b, uint64_t at, uint32_t) { e.offset[b] = lesser(at, most); };
    const uint64_t end = scan_all(shared<scan_room>(), blocks_of(e), 0, bytes_of, place);

    if (threadIdx.x == 0) {
        e.offset[blocks_of(e)] = most;
        if (end != most)
            set_status(&result->status, GCB_E_CORRUPT);
    }
}

/* Reads the number at *at and moves *at past it. A number n is followed by a zero, which ends the
 * code, or by the next number, whose first bit is a one with n bits after it. Returns 0 if the
 * number is above `limit` or the source ends within the code. */
__device__ uint32_t get_number(const bit_source &in, uint64_t *at, uint32_t limit)
{
    uint32_t n = 1;

    for (;;) {
        const uint32_t next = peek_bits(in, *at);
        const unsigned more = n;

        if (*at >= in.end)
            return 0;
        *at += 1;
        if (!(next & 1))
            return n <= limit ? n : 0;
        if (more > 31 || in.end - *at < more) /* a number has at most 32 bits */
            return 0;
        n = 1u << more | gcb_elias_reversed(get_bits(in, *at, more), more);
        *at += more;
        if (n > limit)
            return 0;
    }
}

__device__ bool get_sign(const bit_source &in, uint64_t *at, uint32_t *sign)
{
    if (*at >= in.end)
        return false;
    *sign = peek_bits(in, *at) & 1;
    *at += 1;
    return true;
}

/* Reads the codes of a block. The functions move a position, in bits, past what they read, and
 * return false if a code is damaged. */
struct code_reader {
    const elias_message &e;
    bit_source in;

    /* Reads a level and its sign. */
    __device__ bool read_dense(uint64_t *at, uint32_t *code) const
    {
        const uint32_t number = get_number(in, at, e.levels + 1);
        uint32_t sign = 0;

        *code = 0;
        if (number == 0 || (number > 1 && !get_sign(in, at, &sign)))
            return false;
        *code = number > 1 ? (number - 1) | sign << e.sign_bit : 0;
        return true;
    }
    /* Reads the sign and the level that follow a gap. */
    __device__ bool read_sparse(uint64_t *at, uint32_t *code) const
    {
        uint32_t sign = 0, level;

        if (!get_sign(in, at, &sign))
            return false;
        level = get_number(in, at, e.levels);
        *code = level | sign << e.sign_bit;
        return level != 0;
    }
    /* Moves p.at past one code, for the function `synchronise` (kernels/index/self_sync.cuh).
     * Returns false if p.at is at the end of the stretch, or if the code is damaged; then p.at
     * becomes kNoCode. */
    __device__ bool skip(code_place &p, const stretch &s) const
    {
        uint32_t code, gap = 1;
        bool good;

        if (p.at >= s.end)
            return false;
        if (e.sparse)
            gap = get_number(in, &p.at, kTile + 1);
        good = gap && (e.sparse ? read_sparse(&p.at, &code) : read_dense(&p.at, &code));
        if (!good)
            p.at = kNoCode;
        return good;
    }
};

struct get_room {
    sync_room step;
    scan_room scan;
    tile_room tile;
    uint16_t code[kTile];
};

/* The number of elements that this thread's `count` codes cover; the first code is at `start`. */
__device__ uint32_t elements_of(const code_reader &r, const code_place &start, unsigned count)
{
    uint64_t at = start.at;
    uint32_t sum = 0, code;

    if (!r.e.sparse)
        return count;
    for (; count; count--) {
        sum += get_number(r.in, &at, kTile + 1);
        r.read_sparse(&at, &code);
    }
    return sum;
}

/* Writes this thread's codes to their places; the first element that they cover is `next` of
 * `total`. Sets *done if the codes reach the last element and the block ends after them. Returns
 * false if a code is damaged, or if the block does not end after the last element. */
__device__ bool get_codes(uint16_t *to, const code_reader &r, const stretch &s, uint64_t at,
                          uint32_t next, unsigned total, bool *done)
{
    while (next < total && at < s.end) {
        uint32_t code;

        if (r.e.sparse) {
            const uint32_t gap = get_number(r.in, &at, total - next + 1);

            if (gap == 0)
                return false;
            next += gap - 1;
        }
        if (next < total) {
            if (!(r.e.sparse ? r.read_sparse(&at, &code) : r.read_dense(&at, &code)))
                return false;
            to[next++] = static_cast<uint16_t>(code);
        }
        if (next == total) {
            *done = is_block_end(r.in, at);
            return *done;
        }
    }
    return true;
}

/* Reads a block's codes into shared memory. Returns false in every thread if the bits are not a
 * valid block. Called by every thread of the block. */
__device__ bool get_block(get_room &room, const code_reader &r, unsigned total)
{
    uint32_t elements, all, next;
    bool good = true, done = false;
    stretch s;
    code_place p;
    unsigned count;

    for (unsigned i = threadIdx.x; i < kTile; i += blockDim.x)
        room.code[i] = 0;
    s = stretch_of(r.in, total, &p);
    count = synchronise(room.step, r, s, &p);
    elements = elements_of(r, p, count);
    /* A block has at most kTile elements. The limit keeps the sum of a damaged block in 32 bits. */
    next = scan_block(room.scan, lesser(elements, kTile), &all);
    good = get_codes(room.code, r, s, p.at, next, total, &done);
    return count_block(!good) == 0 && count_block(done) == 1;
}

__global__ void get_blocks(elias_message e, const uint8_t *in, gcb_device_result *result)
{
    get_room &room = shared<get_room>();
    const uint64_t body = body_at(e);

    copy_norms(e.fixed, in, e);
    for (uint64_t b = blockIdx.x; b < blocks_of(e); b += gridDim.x) {
        const uint64_t from = e.offset[b], to = e.offset[b + 1];
        const code_reader r = {e, {in, 8 * (body + from), 8 * (body + larger(from, to))}};
        uint32_t code[kTileEach];

        if (!get_block(room, r, count_of(e, b)) && threadIdx.x == 0)
            set_status(&result->status, GCB_E_CORRUPT);
        for (unsigned i = 0; i < kTileEach; i++)
            code[i] = room.code[threadIdx.x * kTileEach + i];
        pack_codes(room.tile, code, e.sign_bit + 1);
        sync_block();
        store_tile(fixed_at(e, b), room.tile, fixed_bytes(e, b));
        sync_block();
    }
}

} /* namespace */

int gcb_cuda_elias_decode(gcb_device_stream *s, float *out, const uint8_t *in, uint64_t length,
                          uint64_t n, const gcb_cuda_qsgd *how, void *scratch,
                          gcb_device_result *result)
{
    elias_message e;

    lay_out(&e, how, n, scratch);
    launch(open_blocks, 1, kPlaceThreads, sizeof(scan_room), s, e, in, length, result);
    launch(get_blocks, grid_over(tile_count(n)), kTileThreads, sizeof(get_room), s, e, in, result);
    return gcb_cuda_qsgd_decode(s, out, e.fixed, n, how, result);
}
