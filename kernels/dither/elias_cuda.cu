/*
 * QSGD's Elias codings (src/codec/qsgd_elias.c). The codes of fixed width are made first, in a scratch, by the kernels
 * that make them anyway; here they become streams of bits, a block of threads to each 4096 of them, and back.
 */
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/scan.cuh"
#include "kernels/dither/dither_cuda.h"
#include "kernels/dither/elias_elem.h"
#include "kernels/index/step.cuh"
#include "src/base/status.h"

namespace
{

using gcb::bit_source;
using gcb::kTile;
using gcb::kTileEach;
using gcb::kTileThreads;
using gcb::kWarp;

constexpr unsigned kPlaceThreads = 1024;
constexpr unsigned kEntry = 2; /* bytes of a block's length in the directory */
constexpr uint64_t kMostBlocks = 1056;

/* A message of n elements, and its codes of fixed width. */
struct elias {
    uint64_t n, buckets;
    uint32_t levels, sign_bit;
    bool sparse;
    uint8_t *fixed;   /* norms, then codes */
    uint32_t *offset; /* of each block behind the directory; one more behind */
};

__device__ uint64_t blocks_of(const elias &e)
{
    return gcb::tile_count(e.n);
}

__device__ unsigned count_of(const elias &e, uint64_t b)
{
    const uint64_t left = e.n - b * kTile;

    return static_cast<unsigned>(left < kTile ? left : kTile);
}

/* Bytes in front of the directory, and of the blocks. */
__device__ uint64_t directory_at(const elias &e)
{
    return e.buckets * sizeof(float);
}

__device__ uint64_t body_at(const elias &e)
{
    return directory_at(e) + blocks_of(e) * kEntry;
}

/* Where block b's codes of fixed width stand. */
__device__ uint8_t *fixed_at(const elias &e, uint64_t b)
{
    return e.fixed + directory_at(e) + b * (kTile / 8) * (e.sign_bit + 1);
}

__device__ unsigned fixed_bytes(const elias &e, uint64_t b)
{
    return (count_of(e, b) * (e.sign_bit + 1) + 7) / 8;
}

__device__ void copy_norms(uint8_t *to, const uint8_t *from, const elias &e)
{
    for (uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; i < e.buckets;
         i += uint64_t{gridDim.x} * blockDim.x)
        reinterpret_cast<uint32_t *>(to)[i] = reinterpret_cast<const uint32_t *>(from)[i];
}

/* ---- writing ---- */

struct bits {
    uint64_t v;
    unsigned n;
};

/* b behind a. */
__device__ bits join(const bits &a, const bits &b)
{
    return {a.v | b.v << a.n, a.n + b.n};
}

__device__ bits number(uint32_t n)
{
    const struct gcb_elias_code c = gcb_elias_encode(n);

    return {c.bits, c.length};
}

/* This thread's codes of a block. */
struct code_run {
    uint32_t code[kTileEach];
    unsigned first, count; /* within the block, which has `total` */
    unsigned total;
    unsigned next; /* sparse: behind the last that is not 0 before these */
};

struct put_room {
    gcb::tile_room tile;
    gcb::scan_room scan;
    uint32_t warp_most[kTileThreads / kWarp];
};

/* The largest v of the threads in front of this one, or 0. Every thread of the block. */
__device__ uint32_t most_before(put_room &room, uint32_t v)
{
    const unsigned mine = threadIdx.x / kWarp;
    uint32_t up_to = v, most;

    for (unsigned by = 1; by < kWarp; by *= 2) {
        const uint32_t other = gcb::shfl_up(up_to, by);

        up_to = gcb::lane() >= by && other > up_to ? other : up_to;
    }
    if (gcb::lane() == kWarp - 1)
        room.warp_most[mine] = up_to;
    most = gcb::shfl_up(up_to, 1);
    most = gcb::lane() ? most : 0;
    gcb::sync_block();
    for (unsigned w = 0; w < mine; w++)
        most = room.warp_most[w] > most ? room.warp_most[w] : most;
    gcb::sync_block();
    return most;
}

/* Every thread of the block. */
__device__ void load_codes(put_room &room, code_run &r, const elias &e, uint64_t b)
{
    const unsigned skip = gcb::load_tile(room.tile, fixed_at(e, b), fixed_bytes(e, b));
    const uint32_t mask = (1u << e.sign_bit) - 1;
    uint32_t last = 0;

    gcb::sync_block();
    gcb::unpack_codes(r.code, room.tile, skip, e.sign_bit + 1);
    r.total = count_of(e, b);
    r.first = threadIdx.x * kTileEach;
    r.count = r.first < r.total ? r.total - r.first : 0;
    r.count = r.count < kTileEach ? r.count : kTileEach;
    for (unsigned i = 0; i < r.count; i++)
        last = r.code[i] & mask ? r.first + i + 1 : last;
    r.next = most_before(room, last);
}

/* What element i of the run sends; *next as above, behind it. */
__device__ bits bits_of(const elias &e, const code_run &r, unsigned i, unsigned *next)
{
    const uint32_t level = r.code[i] & ((1u << e.sign_bit) - 1);
    const bits sign = {r.code[i] >> e.sign_bit, 1};
    const unsigned at = r.first + i;
    bits out = {0, 0};

    if (!e.sparse)
        return level ? join(number(level + 1), sign) : number(1);
    if (level) {
        out = join(join(number(at - *next + 1), sign), number(level));
        *next = at + 1;
    }
    if (at + 1 == r.total && *next < r.total) /* a last gap leads behind the block */
        out = join(out, number(r.total - *next + 1));
    return out;
}

__device__ uint32_t bits_of_run(const elias &e, const code_run &r)
{
    unsigned next = r.next;
    uint32_t sum = 0;

    for (unsigned i = 0; i < r.count; i++)
        sum += bits_of(e, r, i, &next).n;
    return sum;
}

__global__ void measure_blocks(uint8_t *out, elias e)
{
    put_room &room = gcb::shared<put_room>();

    copy_norms(out, e.fixed, e);
    for (uint64_t b = blockIdx.x; b < blocks_of(e); b += gridDim.x) {
        uint32_t total;
        code_run r;

        load_codes(room, r, e, b);
        gcb::scan_block(room.scan, bits_of_run(e, r), &total);
        if (threadIdx.x == 0)
            e.offset[b] = (total + 7) / 8;
    }
}

/* One block: the directory, where each block begins, and the payload's length. */
__global__ void place_blocks(uint8_t *out, elias e, gcb_device_result *result)
{
    gcb::scan_room &room = gcb::shared<gcb::scan_room>();
    const uint64_t blocks = blocks_of(e);
    uint32_t before = 0;

    for (uint64_t from = 0; from < blocks; from += blockDim.x) {
        const uint64_t b = from + threadIdx.x;
        const uint32_t bytes = b < blocks ? e.offset[b] : 0;
        uint8_t *entry = out + directory_at(e) + b * kEntry;
        uint32_t total;
        const uint32_t mine = gcb::scan_block(room, bytes, &total);

        if (b < blocks) {
            e.offset[b] = before + mine;
            entry[0] = static_cast<uint8_t>(bytes);
            entry[1] = static_cast<uint8_t>(bytes >> 8);
        }
        before += total;
    }
    if (threadIdx.x == 0)
        result->length = body_at(e) + before;
}

struct draw_codes {
    const elias &e;
    const code_run &r;
    uint32_t at;

    __device__ void operator()(const gcb::bit_window &w) const
    {
        unsigned next = r.next;
        uint64_t to = at;

        for (unsigned i = 0; i < r.count; i++) {
            const bits piece = bits_of(e, r, i, &next);

            gcb::put_bits(w, to, piece.v, piece.n);
            to += piece.n;
        }
    }
};

__global__ void put_blocks(uint8_t *out, elias e)
{
    put_room &room = gcb::shared<put_room>();

    for (uint64_t b = blockIdx.x; b < blocks_of(e); b += gridDim.x) {
        uint32_t total, at;
        code_run r;

        load_codes(room, r, e, b);
        at = gcb::scan_block(room.scan, bits_of_run(e, r), &total);
        gcb::put_windows(room.tile, out + body_at(e) + e.offset[b], total, draw_codes{e, r, at});
    }
}

/* ---- reading ---- */

/* One block: where each block begins, from the directory. */
__global__ void open_blocks(elias e, const uint8_t *in, uint64_t length, gcb_device_result *result)
{
    gcb::scan_room &room = gcb::shared<gcb::scan_room>();
    const uint64_t blocks = blocks_of(e), body = body_at(e);
    uint64_t before = 0;

    for (uint64_t from = 0; from < blocks; from += blockDim.x) {
        const uint64_t b = from + threadIdx.x;
        const uint8_t *entry = in + directory_at(e) + b * kEntry;
        const uint32_t bytes = b < blocks ? entry[0] | static_cast<uint32_t>(entry[1]) << 8 : 0;
        uint32_t total;
        const uint32_t mine = gcb::scan_block(room, bytes, &total);
        const uint64_t start = before + mine, most = length - body;

        if (b < blocks) /* none may begin behind the payload */
            e.offset[b] = static_cast<uint32_t>(start < most ? start : most);
        before += total;
    }
    if (threadIdx.x == 0) {
        e.offset[blocks] = static_cast<uint32_t>(length - body);
        if (before != length - body)
            gcb::set_status(&result->status, GCB_E_CORRUPT);
    }
}

/* The next number, in front of the source's end, or 0 if it is above `limit`, or there is none. */
__device__ uint32_t get_number(const bit_source &in, uint64_t *at, uint32_t limit)
{
    uint32_t n = 1;

    for (;;) {
        const uint32_t next = gcb::peek_bits(in, *at);
        const unsigned more = n;

        if (*at >= in.end)
            return 0;
        *at += 1;
        if (!(next & 1))
            return n <= limit ? n : 0;
        if (more > 31 || in.end - *at < more)
            return 0;
        n = 1u << more | gcb_elias_reversed(gcb::get_bits(in, *at, more), more);
        *at += more;
        if (n > limit)
            return 0;
    }
}

__device__ bool get_sign(const bit_source &in, uint64_t *at, uint32_t *sign)
{
    if (*at >= in.end)
        return false;
    *sign = gcb::peek_bits(in, *at) & 1;
    *at += 1;
    return true;
}

struct code_reader {
    const elias &e;
    bit_source in;

    /* A level and its sign. */
    __device__ bool dense(uint64_t *at, uint32_t *code) const
    {
        const uint32_t number = get_number(in, at, e.levels + 1);
        uint32_t sign = 0;

        *code = 0;
        if (number == 0 || (number > 1 && !get_sign(in, at, &sign)))
            return false;
        *code = number > 1 ? (number - 1) | sign << e.sign_bit : 0;
        return true;
    }
    /* A gap has been read; what stands at its end. */
    __device__ bool sparse(uint64_t *at, uint32_t *code) const
    {
        uint32_t sign = 0, level;

        if (!get_sign(in, at, &sign))
            return false;
        level = get_number(in, at, e.levels);
        *code = level | sign << e.sign_bit;
        return level != 0;
    }
    /* What the threads fall into step by; the past counts the elements gone over. */
    __device__ bool skip(gcb::place &p, const gcb::stretch &s) const
    {
        uint32_t code, gap = 1;
        bool good;

        if (p.at >= s.end)
            return false;
        if (e.sparse)
            gap = get_number(in, &p.at, kTile + 1);
        good = gap && (e.sparse ? sparse(&p.at, &code) : dense(&p.at, &code));
        if (!good)
            p.at = gcb::kNowhere;
        return good;
    }
};

struct get_room {
    gcb::step_room step;
    gcb::scan_room scan;
    gcb::tile_room tile;
    uint16_t code[kTile];
};

/* Elements that this thread's codes go over, from *start on. */
__device__ uint32_t elements_of(const code_reader &r, const gcb::stretch &s,
                                const gcb::place &start, unsigned count)
{
    uint64_t at = start.at;
    uint32_t sum = 0, code;

    if (!r.e.sparse)
        return count;
    for (; count; count--) {
        sum += get_number(r.in, &at, kTile + 1);
        r.sparse(&at, &code);
    }
    (void)s;
    return sum;
}

/* This thread's codes to their places, the first being element `next` of `total`. *done: the block ends here, as it
 * should. False if it cannot. */
__device__ bool get_codes(uint16_t *to, const code_reader &r, const gcb::stretch &s, uint64_t at,
                          uint32_t next, unsigned total, bool *done)
{
    while (next < total && at < s.end) {
        uint32_t code;

        if (r.e.sparse) {
            const uint32_t gap = get_number(r.in, &at, total - next + 1);

            if (gap == 0)
                return false;
            next += gap - 1;
            if (next == total)
                return *done = gcb::ends_at(r.in, at);
        }
        if (!(r.e.sparse ? r.sparse(&at, &code) : r.dense(&at, &code)))
            return false;
        to[next++] = static_cast<uint16_t>(code);
        if (next == total)
            return *done = gcb::ends_at(r.in, at);
    }
    return true;
}

/* A block's codes, in shared memory; false, in every thread, if it does not consist of them. */
__device__ bool get_block(get_room &room, const code_reader &r, unsigned total)
{
    uint32_t elements, all, next;
    bool good = true, done = false;
    gcb::stretch s;
    gcb::place p;
    unsigned count;

    for (unsigned i = threadIdx.x; i < kTile; i += blockDim.x)
        room.code[i] = 0;
    s = gcb::stretch_of(r.in, total, &p);
    count = gcb::fall_into_step(room.step, r, s, &p);
    elements = elements_of(r, s, p, count);
    next = gcb::scan_block(room.scan, elements < kTile ? elements : kTile + 1, &all);
    good = get_codes(room.code, r, s, p.at, next, total, &done);
    return gcb::count_block(!good) == 0 && gcb::count_block(done) == 1;
}

__global__ void get_blocks(elias e, const uint8_t *in, gcb_device_result *result)
{
    get_room &room = gcb::shared<get_room>();
    const uint64_t body = body_at(e);

    copy_norms(e.fixed, in, e);
    for (uint64_t b = blockIdx.x; b < blocks_of(e); b += gridDim.x) {
        const uint64_t from = e.offset[b], to = e.offset[b + 1];
        const code_reader r = {e, {in, 8 * (body + from), 8 * (body + (to > from ? to : from))}};
        uint32_t code[kTileEach];

        if (!get_block(room, r, count_of(e, b)) && threadIdx.x == 0)
            gcb::set_status(&result->status, GCB_E_CORRUPT);
        for (unsigned i = 0; i < kTileEach; i++)
            code[i] = room.code[threadIdx.x * kTileEach + i];
        gcb::pack_codes(room.tile, code, e.sign_bit + 1);
        gcb::sync_block();
        gcb::store_tile(fixed_at(e, b), room.tile, fixed_bytes(e, b));
        gcb::sync_block();
    }
}

/* ---- launches ---- */

uint64_t rounded(uint64_t bytes)
{
    return (bytes + 15) / 16 * 16;
}

uint64_t tiles_of(uint64_t n)
{
    return (n + kTile - 1) / kTile;
}

/* Returns what stands in front of the other kernels' scratch. */
uint64_t lay_out(elias *e, const struct gcb_cuda_qsgd *how, uint64_t n, void *scratch)
{
    const uint64_t buckets = (n + how->bucket - 1) / how->bucket;
    const uint64_t fixed = rounded(buckets * sizeof(float) + (n * (how->sign_bit + 1) + 7) / 8);
    uint8_t *at = static_cast<uint8_t *>(scratch);

    memset(e, 0, sizeof(*e)); /* what stands between its members travels too */
    e->n = n;
    e->buckets = buckets;
    e->levels = how->levels;
    e->sign_bit = how->sign_bit;
    e->sparse = how->coding == GCB_CUDA_ELIAS_SPARSE;
    e->fixed = at;
    e->offset = at ? reinterpret_cast<uint32_t *>(at + fixed) : nullptr;
    return fixed + rounded((tiles_of(n) + 1) * sizeof(uint32_t));
}

uint64_t grid_of(uint64_t n)
{
    const uint64_t tiles = tiles_of(n);

    return tiles == 0 ? 1 : tiles < kMostBlocks ? tiles : kMostBlocks;
}

} /* namespace */

uint64_t gcb_cuda_elias_scratch(const struct gcb_cuda_qsgd *how, uint64_t n)
{
    elias e;

    return lay_out(&e, how, n, nullptr) + gcb_cuda_qsgd_scratch(how, n);
}

int gcb_cuda_elias_encode(struct gcb_device_stream *s, uint8_t *out,
                          const struct gcb_device_input *in, const struct gcb_cuda_qsgd *how,
                          void *scratch, struct gcb_device_result *result)
{
    elias e;
    uint8_t *behind = static_cast<uint8_t *>(scratch) + lay_out(&e, how, in->n, scratch);
    int err = gcb_cuda_qsgd_encode(s, e.fixed, in, how, behind, result);

    if (!err)
        err =
            gcb::launch(measure_blocks, grid_of(in->n), kTileThreads, sizeof(put_room), s, out, e);
    if (!err)
        err =
            gcb::launch(place_blocks, 1, kPlaceThreads, sizeof(gcb::scan_room), s, out, e, result);
    return err ? err
               : gcb::launch(put_blocks, grid_of(in->n), kTileThreads, sizeof(put_room), s, out, e);
}

int gcb_cuda_elias_decode(struct gcb_device_stream *s, float *out, const uint8_t *in,
                          uint64_t length, uint64_t n, const struct gcb_cuda_qsgd *how,
                          void *scratch, struct gcb_device_result *result)
{
    elias e;
    int err;

    lay_out(&e, how, n, scratch);
    err = gcb::launch(open_blocks, 1, kPlaceThreads, sizeof(gcb::scan_room), s, e, in, length,
                      result);
    if (!err)
        err = gcb::launch(get_blocks, grid_of(n), kTileThreads, sizeof(get_room), s, e, in, result);
    return err ? err : gcb_cuda_qsgd_decode(s, out, e.fixed, n, how, result);
}
