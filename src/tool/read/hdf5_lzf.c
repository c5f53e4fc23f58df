/* The filter LZF of h5py, which HDF5 does not have. */
#include <string.h>

#include "src/tool/read/hdf5.h"

/*
 * The format of LibLZF is a sequence of runs. A run begins with a byte b. If b is below 32, the
 * next b + 1 bytes are copied to the output as they are. If not, the upper 3 bits of b are a length
 * (7: the next byte is added to it), and its lower 5 bits are the upper bits of a distance, whose
 * lower 8 bits are the last byte of the run. Then length + 2 bytes are copied from the output,
 * beginning distance + 1 bytes before its end.
 */
uint64_t gcb_h5lzf_unpack(const uint8_t *in, uint64_t n, uint8_t *out, uint64_t limit)
{
    const uint8_t *end = in + n;
    uint64_t done = 0;

    while (in < end) {
        const unsigned first = *in++;
        uint64_t length = first >> 5, distance;

        if (length == 0) {
            length = first + 1;
            if (length > (uint64_t)(end - in) || length > limit - done)
                return limit + 1;
            if (out)
                memcpy(out + done, in, length);
            in += length;
            done += length;
            continue;
        }
        if (length == 7 && in < end)
            length += *in++;
        length += 2;
        if (in == end)
            return limit + 1;
        distance = ((uint64_t)(first & 31) << 8 | *in++) + 1;
        if (distance > done || length > limit - done)
            return limit + 1;
        for (; length > 0; length--, done++)
            if (out)
                out[done] = out[done - distance];
    }
    return done;
}

/* Unpacks a chunk for HDF5. The reader has checked before that the chunk unpacks to its size,
 * perhaps with a checksum. */
static size_t unpack(unsigned flags, size_t count, const unsigned *values, size_t n, size_t *size,
                     void **bytes)
{
    const uint64_t unpacked = gcb_h5lzf_unpack(*bytes, n, NULL, UINT32_MAX);
    void *out;

    if (!(flags & H5Z_FLAG_REVERSE) || unpacked == 0 || unpacked > UINT32_MAX)
        return 0;
    out = H5allocate_memory(unpacked, 0);
    if (!out)
        return 0;
    gcb_h5lzf_unpack(*bytes, n, out, unpacked);
    H5free_memory(*bytes);
    *bytes = out;
    *size = unpacked;
    return unpacked;
}

bool gcb_h5lzf_register(void)
{
    static const H5Z_class2_t filter = {.version = H5Z_CLASS_T_VERS,
                                        .id = GCB_H5_LZF,
                                        .decoder_present = 1,
                                        .name = "lzf",
                                        .filter = unpack};

    return H5Zregister(&filter) >= 0;
}
