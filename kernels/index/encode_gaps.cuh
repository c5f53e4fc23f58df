#ifndef KERNELS_INDEX_ENCODE_GAPS_CUH
#define KERNELS_INDEX_ENCODE_GAPS_CUH

/*
 * Writes gaps in a code; each thread handles 16 gaps. A gap is the number of dropped positions
 * directly before a kept one. A code is a class constructed from (chosen, const table *), with
 *
 *   past        a type: what the code remembers of the earlier gaps of a block
 *   begin       returns the past at the beginning of a run of gaps
 *   encode      returns the bits of a gap; updates the past
 *   head_bytes, head_byte   the length and the bytes of the stream's part before its blocks
 */
#include "kernels/index/gap_elem.h"
#include "kernels/index/golomb_elem.h"
#include "kernels/index/prefix_elem.h"
#include "kernels/index/stream.cuh"

namespace gcb
{

/* The bits of a gap: `ones` ones, then the `bits` low bits of `tail`. */
struct gap_bits {
    uint32_t ones, bits;
    uint64_t tail;
};

/* A thread's gaps of a block. */
struct gap_run {
    uint32_t gap[kTileEach];
    /* the two gaps before the run, the last gap first; both are 0 in a block's first run */
    uint32_t before[2];
    unsigned count; /* number of gaps in the run */
};

/* The gap before kept position i. */
__device__ __forceinline__ uint32_t gap_at(const uint32_t *pos, uint64_t i)
{
    return i ? pos[i] - pos[i - 1] - 1 : pos[0];
}

/* Loads this thread's gaps of block b. */
__device__ __forceinline__ void load_gaps(gap_run &g, const gcb_cuda_chosen &c, uint64_t b)
{
    const uint64_t kept = c.choice->kept, first = b * kTile + threadIdx.x * kTileEach;
    uint32_t next;

    g.count = first < kept ? elements_from(kept, first, kTileEach) : 0;
    next = g.count && first ? c.pos[first - 1] + 1 : 0;
#pragma unroll
    for (unsigned i = 0; i < kTileEach; i++) {
        const uint32_t at = i < g.count ? c.pos[first + i] : next;

        g.gap[i] = at - next;
        next = i < g.count ? at + 1 : next;
    }
    for (unsigned i = 0; i < 2; i++)
        g.before[i] = g.count && threadIdx.x ? gap_at(c.pos, first - 1 - i) : 0;
}

/* A code that does not depend on earlier gaps. */
struct code_without_past {
    struct past {
    };

    __device__ past begin(const gap_run &) const
    {
        return {};
    }
};

/* Golomb's code with the divisor 2^b. */
struct golomb_code : code_without_past {
    unsigned b;

    __device__ golomb_code(const gcb_cuda_chosen &c, const no_table *)
        : b(gcb_golomb_parameter(c.choice->kept, c.n))
    {
    }
    __device__ explicit golomb_code(unsigned parameter) : b(parameter)
    {
    }
    __device__ gap_bits encode(past &, uint32_t gap) const
    {
        return {gap >> b, b + 1, (gap & ((1u << b) - 1)) * uint64_t{2}};
    }
    __device__ uint32_t head_bytes() const
    {
        return 1;
    }
    __device__ uint8_t head_byte(uint32_t) const
    {
        return static_cast<uint8_t>(b);
    }
};

/* The number of bits of a thread's run. */
template <class Code>
__device__ __forceinline__ uint32_t bits_of_run(const Code &code, const gap_run &g)
{
    typename Code::past past = code.begin(g);
    uint32_t bits = 0;

#pragma unroll
    for (unsigned i = 0; i < kTileEach; i++) {
        if (i < g.count) {
            const gap_bits piece = code.encode(past, g.gap[i]);

            bits += piece.ones + piece.bits;
        }
    }
    return bits;
}

/* Step 1 of writing a stream (stream.cuh): computes the number of bytes of each block. A thread's
 * gaps are in registers; the launch bound limits the registers so that six thread blocks fit a
 * multiprocessor. */
template <class Code, class Table>
__global__ __launch_bounds__(kTileThreads, 6) void measure_gaps(uint32_t *bytes, gcb_cuda_chosen c,
                                                                const Table *table)
{
    scan_room &room = shared<scan_room>();
    const uint64_t kept = c.choice->kept;
    const Code code(c, table);

    for (uint64_t b = blockIdx.x; b * kTile < kept; b += gridDim.x) {
        uint32_t total;
        gap_run g;

        load_gaps(g, c, b);
        scan_block(room, bits_of_run(code, g), &total);
        if (threadIdx.x == 0)
            bytes[b] = (total + 7) / 8;
    }
}

/* Writes a thread's run; it begins at bit `at` of the block. */
template <class Code> struct write_gaps {
    const Code &code;
    const gap_run &g;
    uint64_t at;

    __device__ void operator()(const bit_window &w) const
    {
        typename Code::past past = code.begin(g);
        uint64_t to = at;

        /* All threads take part, because a warp writes long runs of ones together. */
        for (unsigned i = 0; i < kTileEach; i++) {
            gap_bits piece = {0, 0, 0};

            if (i < g.count)
                piece = code.encode(past, g.gap[i]);
            put_ones(w, to, piece.ones);
            put_bits(w, to + piece.ones, piece.tail, piece.bits);
            to += piece.ones + piece.bits;
        }
    }
};

struct put_room {
    tile_room tile;
    scan_room scan;
};

/* Step 3: writes the bits of each block. */
template <class Code, class Table>
__global__ void put_gaps(uint8_t *out, gcb_cuda_chosen c, gcb_cuda_values how,
                         const uint32_t *offset, const Table *table)
{
    put_room &room = shared<put_room>();
    const uint64_t kept = c.choice->kept;
    const Code code(c, table);

    for (uint64_t b = blockIdx.x; b * kTile < kept; b += gridDim.x) {
        uint32_t total, at;
        gap_run g;

        load_gaps(g, c, b);
        at = scan_block(room.scan, bits_of_run(code, g), &total);
        if (threadIdx.x == 0)
            put_entry(out, c, how, b, offset[b]);
        put_windows(room.tile, out + stream_at(c, how) + offset[b], total,
                    write_gaps<Code>{code, g, at});
    }
}

/* For step 2 (place_blocks): the bytes of each block that step 1 measured, and the code's head. */
template <class Code, class Table> struct measured_layout {
    const uint32_t *bytes;
    const Table *table;

    __device__ Code open(const gcb_cuda_chosen &c) const
    {
        return {c, table};
    }
    __device__ uint32_t block_bytes(const gcb_cuda_chosen &, uint64_t b) const
    {
        return bytes[b];
    }
};

/* Queues the three steps. `offset` has room for tile_count(c->most) numbers, one for each block.
 * Step 1 writes the size of each block there, and step 2 replaces the sizes by offsets. */
template <class Code, class Table>
int put_stream(gcb_device_stream *s, uint8_t *out, const gcb_cuda_chosen *c,
               const gcb_cuda_values *how, uint32_t *offset, const Table *table,
               gcb_device_result *result)
{
    const uint64_t grid = grid_over(tile_count(c->most));
    const measured_layout<Code, Table> layout = {offset, table};

    launch(measure_gaps<Code, Table>, grid, kTileThreads, sizeof(scan_room), s, offset, *c, table);
    launch(place_blocks<measured_layout<Code, Table>>, 1, kPlaceThreads, sizeof(scan_room), s,
           offset, out, *c, *how, layout, result);
    return launch(put_gaps<Code, Table>, grid, kTileThreads, sizeof(put_room), s, out, *c, *how,
                  offset, table);
}

} /* namespace gcb */

#endif
