import struct

import numpy as np

from format_parts import Codec, codes_of, need, packed_bytes, philox_bytes

LEVELS = [np.array(row, np.float32) for row in (
    [0.797884583], [0.452780038, 1.51041758], [0.24509418, 0.756005287, 1.34390926, 2.15194559],
    [0.128395036, 0.388048291, 0.656759143, 0.942340434, 1.25623119, 1.6180464, 2.06901717, 2.73258948])]


def blocks_of(n, block):
    """Lengths of the blocks; the last may have zeros after its elements."""
    padded = -(-n // 128) * 128
    lengths, rest = [block] * (padded // block), padded % block
    while rest:
        lengths.append(1 << rest.bit_length() - 1)
        rest -= lengths[-1]
    return lengths


def rotate(v):
    """Butterflies, in place."""
    h = 1
    while h < len(v):
        pairs = v.reshape(-1, 2, h)
        pairs[:, 0], pairs[:, 1] = pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]
        h *= 2


def decode_eden(params, n, source):
    bits, block = params["bits"], params["block"]
    need(block & (block - 1) == 0, "a block that is no power of two")
    lengths, key = blocks_of(n, block), source.number(8)
    scales = [source.take(4) for _ in lengths]
    need(all(struct.unpack("<I", scale)[0] < 0x71800000 for scale in scales), "a scale that is too large")
    code = codes_of(source.take(packed_bytes(sum(lengths), bits)), sum(lengths), bits)
    x = np.where(code >> bits - 1, np.float32(-1), np.float32(1)) * LEVELS[bits - 1][code & (1 << bits - 1) - 1]
    at = 0
    for length, scale in zip(lengths, scales):
        v = x[at:at + length]
        v *= np.frombuffer(scale, "<f4")[0]
        rotate(v)
        at += length
    minus = codes_of(philox_bytes(key, 0, len(x) // 8), len(x), 1)
    return (x.view(np.uint32) ^ minus.astype(np.uint32) << 31).view(np.float32)[:n]


CODECS = [Codec(18, "eden", [("bits", 1, 1, 4), ("block", 2, 128, 4096)], decode_eden)]
