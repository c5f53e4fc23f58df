/* Encoding with QSGD's Elias codings. */
#include "kernels/dither/elias.cuh"

using namespace gcb;
using namespace gcb::elias_codes;

namespace
{

/* A string of n bits, n <= 64. The first bit of the string is the lowest bit of v. */
struct bit_string {
    uint64_t v;
    unsigned n;
};

/* Returns the bits of a, followed by the bits of b. */
__device__ bit_string join_bits(const bit_string &a, const bit_string &b)
{
    return {a.v | b.v << a.n, a.n + b.n};
}

/* The Elias code of n. */
__device__ bit_string number_bits(uint32_t n)
{
    const gcb_elias_code c = gcb_elias_encode(n);

    return {c.bits, c.length};
}

/* The codes of a block that this thread handles. */
struct code_run {
    uint32_t code[kTileEach];
    unsigned first, count; /* the first element's index in the block; number of elements */
    unsigned total;        /* elements of the block */
    unsigned next;         /* index after the last nonzero code before this run; 0 if none */
};

struct put_room {
    tile_room tile;
    scan_room scan;
    uint32_t warp_most[kTileThreads / kWarp];
};

/* The largest v of the threads before this one, or 0. Called by every thread of the block. */
__device__ uint32_t max_before(put_room &room, uint32_t v)
{
    const unsigned mine = threadIdx.x / kWarp;
    uint32_t up_to = v, most;

    for (unsigned by = 1; by < kWarp; by *= 2) {
        const uint32_t other = shfl_up(up_to, by);

        up_to = lane() >= by && other > up_to ? other : up_to;
    }
    if (lane() == kWarp - 1)
        room.warp_most[mine] = up_to;
    most = shfl_up(up_to, 1);
    most = lane() ? most : 0;
    sync_block();
    for (unsigned w = 0; w < mine; w++)
        most = room.warp_most[w] > most ? room.warp_most[w] : most;
    sync_block();
    return most;
}

/* Loads this thread's codes of block b. Called by every thread of the block. */
__device__ void load_codes(put_room &room, code_run &r, const elias_message &e, uint64_t b)
{
    const unsigned skip = load_tile(room.tile, fixed_at(e, b), fixed_bytes(e, b));
    const uint32_t mask = (1u << e.sign_bit) - 1;
    uint32_t last = 0;

    sync_block();
    unpack_codes(r.code, room.tile, skip, e.sign_bit + 1);
    r.total = count_of(e, b);
    r.first = threadIdx.x * kTileEach;
    r.count = r.first < r.total ? elements_from(r.total, r.first, kTileEach) : 0;
    for (unsigned i = 0; i < r.count; i++)
        last = r.code[i] & mask ? r.first + i + 1 : last;
    r.next = max_before(room, last);
}

/* The bits sent for element i of the run. If e.sparse, *next is the index after the last nonzero
 * code before element i; if the code of element i is not 0, *next becomes the index after it. */
__device__ bit_string bits_of(const elias_message &e, const code_run &r, unsigned i, unsigned *next)
{
    const uint32_t level = r.code[i] & ((1u << e.sign_bit) - 1);
    const bit_string sign = {r.code[i] >> e.sign_bit, 1};
    const unsigned at = r.first + i;
    bit_string out = {0, 0};

    if (!e.sparse)
        return level ? join_bits(number_bits(level + 1), sign) : number_bits(1);
    if (level) {
        out = join_bits(join_bits(number_bits(at - *next + 1), sign), number_bits(level));
        *next = at + 1;
    }
    if (at + 1 == r.total && *next < r.total) /* the last gap leads past the end of the block */
        out = join_bits(out, number_bits(r.total - *next + 1));
    return out;
}

/* The number of bits sent for the run. */
__device__ uint32_t bits_of_run(const elias_message &e, const code_run &r)
{
    unsigned next = r.next;
    uint32_t sum = 0;

    for (unsigned i = 0; i < r.count; i++)
        sum += bits_of(e, r, i, &next).n;
    return sum;
}

/* Sets e.offset[b] to the number of bytes of block b; copies the norms to the payload. */
__global__ void measure_blocks(uint8_t *out, elias_message e)
{
    put_room &room = shared<put_room>();

    copy_norms(out, e.fixed, e);
    for (uint64_t b = blockIdx.x; b < blocks_of(e); b += gridDim.x) {
        uint32_t total;
        code_run r;

        load_codes(room, r, e, b);
        scan_block(room.scan, bits_of_run(e, r), &total);
        if (threadIdx.x == 0)
            e.offset[b] = (total + 7) / 8;
    }
}

/* Turns the numbers of bytes in e.offset into offsets, with one block of threads. Writes the
 * directory and the payload's length. */
__global__ __launch_bounds__(kPlaceThreads) void place_blocks(uint8_t *out, elias_message e,
                                                              gcb_device_result *result)
{
    const auto bytes_of = [&](uint64_t b) { return static_cast<uint32_t>(e.offset[b]); };
    const auto place = [&](uint64_t b, uint64_t at, uint32_t bytes) {
        uint8_t *entry = out + directory_at(e) + b * kEntry;

        e.offset[b] = at;
        entry[0] = static_cast<uint8_t>(bytes);
        entry[1] = static_cast<uint8_t>(bytes >> 8);
    };
    const uint64_t end = scan_all(shared<scan_room>(), blocks_of(e), 0, bytes_of, place);

    if (threadIdx.x == 0)
        result->length = body_at(e) + end;
}

/* For put_windows (kernels/index/bits.cuh): writes a thread's run, which begins at bit `at` of the
 * block. */
struct write_codes {
    const elias_message &e;
    const code_run &r;
    uint32_t at;

    __device__ void operator()(const bit_window &w) const
    {
        unsigned next = r.next;
        uint64_t to = at;

        for (unsigned i = 0; i < r.count; i++) {
            const bit_string piece = bits_of(e, r, i, &next);

            put_bits(w, to, piece.v, piece.n);
            to += piece.n;
        }
    }
};

/* Writes the bits of each block at the offset that place_blocks has found. */
__global__ void put_blocks(uint8_t *out, elias_message e)
{
    put_room &room = shared<put_room>();

    for (uint64_t b = blockIdx.x; b < blocks_of(e); b += gridDim.x) {
        uint32_t total, at;
        code_run r;

        load_codes(room, r, e, b);
        at = scan_block(room.scan, bits_of_run(e, r), &total);
        put_windows(room.tile, out + body_at(e) + e.offset[b], total, write_codes{e, r, at});
    }
}

} /* namespace */

uint64_t gcb_cuda_elias_scratch(const gcb_cuda_qsgd *how, uint64_t n)
{
    elias_message e;

    return lay_out(&e, how, n, nullptr) + gcb_cuda_qsgd_scratch(how, n);
}

int gcb_cuda_elias_encode(gcb_device_stream *s, uint8_t *out, const gcb_device_input *in,
                          const gcb_cuda_qsgd *how, void *scratch, gcb_device_result *result)
{
    elias_message e;
    uint8_t *rest = static_cast<uint8_t *>(scratch) + lay_out(&e, how, in->n, scratch);

    gcb_cuda_qsgd_encode(s, e.fixed, in, how, rest, result);
    launch(measure_blocks, grid_over(tile_count(in->n)), kTileThreads, sizeof(put_room), s, out, e);
    launch(place_blocks, 1, kPlaceThreads, sizeof(scan_room), s, out, e, result);
    return launch(put_blocks, grid_over(tile_count(in->n)), kTileThreads, sizeof(put_room), s, out,
                  e);
}
