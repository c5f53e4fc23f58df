"""The library's random draws, for twins in NumPy (docs/method.md, docs/format.md)."""
import ctypes
import ctypes.util
import functools
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "meta"))
from format_parts import philox_bytes  # noqa: E402, F401: twins take it from here


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
