/* Writes and reads gaps in bytes of seven bits each (src/lib/sparse/index_varint.c). The top bit of
 * a byte is 0 if a gap ends with this byte, so each thread can find the gaps that end in its share
 * of the bytes. */
#include "kernels/index/encode_gaps.cuh"

using namespace gcb;

namespace
{

constexpr unsigned kMostBytes = 5; /* bytes of the longest gap */

/* A code for encode_gaps.cuh. Low bits come first. If a byte's top bit (128) is set, another byte
 * follows. */
struct varint_code : code_without_past, no_head {
    __device__ varint_code(const gcb_cuda_chosen &, const no_table *)
    {
    }
    __device__ gap_bits encode(past &, uint32_t gap) const
    {
        uint64_t tail = gap & 127;
        unsigned bits = 8;

        for (; gap >= 128; bits += 8) {
            gap >>= 7;
            tail |= uint64_t{128} << (bits - 8) | static_cast<uint64_t>(gap & 127) << bits;
        }
        return {0, bits, tail};
    }
};

/* ---- reading ---- */

/* True if a gap ends with byte i of a block. */
__device__ bool ends_gap(const bit_source &in, uint64_t i)
{
    return !(in.in[in.from / 8 + i] & 128);
}

/* The gap whose last byte is byte i, at most n. Sets *ok to false if the gap has too many bytes. */
__device__ uint32_t gap_ending_at(const bit_source &in, uint64_t i, uint64_t n, bool *ok)
{
    uint64_t gap = 0;

    for (unsigned bytes = 0; bytes < kMostBytes; bytes++) {
        gap = gap << 7 | (in.in[in.from / 8 + i - bytes] & 127);
        if (i == bytes || ends_gap(in, i - bytes - 1))
            return static_cast<uint32_t>(lesser(gap, n));
    }
    *ok = false;
    return 0;
}

/* A Reader for get_gaps (stream.cuh). */
struct varint_reader {
    using room = scan_room;

    __device__ explicit varint_reader(const no_table *)
    {
    }
    __device__ uint64_t head() const
    {
        return 0;
    }
    __device__ bool get(room &counts, uint32_t *pos, const stream_block &block, uint64_t n) const
    {
        const bit_source &in = block.bits;
        const uint64_t bytes = (in.end - in.from) / 8;
        const uint64_t each = pieces_of(bytes, blockDim.x), from = threadIdx.x * each;
        const uint64_t to = lesser(from + each, bytes);
        uint32_t count = 0, total, i;
        bool good = bytes && ends_gap(in, bytes - 1);

        /* A count above block.count is an error. Counting stops there, so that the sum over all
         * threads fits 32 bits. */
        for (uint64_t at = from; at < to; at++)
            count += ends_gap(in, at) && count <= block.count;
        i = scan_block(counts, count, &total);
        good = good && total == block.count;
        for (uint64_t at = from; good && at < to; at++)
            if (ends_gap(in, at))
                pos[i++] = gap_ending_at(in, at, n, &good);
        return good;
    }
};

/* ---- every stream (kernels/index/stream.cuh) ---- */

/* Refuses a payload that keeps positions if its stream does not fill the rest of it. Only thread 0
 * works. */
__global__ void check_stream(gcb_cuda_payload p, gcb_cuda_payload_head *head,
                             gcb_device_result *result)
{
    if (threadIdx.x == 0 && head->kept && !stream_fills_payload(p, *head))
        refuse(head, result);
}

} /* namespace */

int gcb::check_length(gcb_device_stream *s, const gcb_cuda_payload &p, const gcb_cuda_decoding &f,
                      gcb_device_result *result)
{
    return launch(check_stream, 1, kWarp, 0, s, p, f.head, result);
}

uint64_t gcb_cuda_put_stream_scratch(uint64_t n, uint64_t most)
{
    return tile_count(most) * sizeof(uint32_t);
}

int gcb_cuda_put_varint(gcb_device_stream *s, uint8_t *out, const gcb_cuda_chosen *chosen,
                        const gcb_cuda_values *how, void *scratch, gcb_device_result *result)
{
    return put_stream<varint_code, no_table>(s, out, chosen, how, static_cast<uint32_t *>(scratch),
                                             nullptr, result);
}

int gcb_cuda_get_varint(gcb_device_stream *s, const gcb_cuda_payload *p, const gcb_cuda_decoding *f,
                        gcb_device_result *result)
{
    check_length(s, *p, *f, result);
    return get_stream<varint_reader, no_table>(s, p, f, nullptr, result);
}
