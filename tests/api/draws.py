"""The library's random draws, for twins in NumPy (docs/method.md, docs/format.md)."""
import ctypes
import ctypes.util
import functools
import sys

import numpy as np


def philox_bytes(key, stream, count):
    """The first `count` bytes of a stream of Philox 4x32-10."""
    block = np.arange(-(-count // 16), dtype=np.uint64)
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    c = [block & low, block >> half]
    c += [np.full_like(block, word) for word in (stream & 0xFFFFFFFF, stream >> 32)]
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        p, q = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [q >> half ^ c[1] ^ np.uint64(k0), q & low, p >> half ^ c[3] ^ np.uint64(k1), p & low]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack(c, axis=1).astype("<u4").tobytes()[:count]


@functools.cache
def xxhash():
    name = ctypes.util.find_library("xxhash") or "libxxhash.so.0"
    try:
        f = ctypes.CDLL(name).XXH3_64bits_withSeed
    except (OSError, AttributeError):
        print("skipped: the twin needs the xxHash library")
        sys.exit(77)
    f.argtypes, f.restype = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64], ctypes.c_uint64
    return f


def xxh3(data, seed=0):
    return xxhash()(data, len(data), seed)


def stream(path, step, worker, purpose):
    """The number of the stream of a draw. What all workers share is drawn as worker 0."""
    tail = step.to_bytes(8, "little") + worker.to_bytes(4, "little") + purpose.to_bytes(4, "little")
    return xxh3(tail, xxh3(path.encode()))
