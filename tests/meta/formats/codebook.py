from fractions import Fraction

import numpy as np

from format_parts import Codec, finite, finite_scale, need


def tree():
    """The 256 values of the dynamic book, in order."""
    up = [Fraction(2 ** (i + 1) + 9 * (2 * j + 1), 2 ** (i + 1) * 10 ** (7 - i)) for i in range(7) for j in range(2 ** i)]
    return np.array([-float(v) for v in reversed(up)] + [0.0] + [float(v) for v in up] + [1.0], np.float32)


def decode_codebook(params, n, source):
    uniform, block = params["book"] == 1, params["block"]
    need(uniform or block & (block - 1) == 0, "a block that is no power of two")
    if uniform:
        book, scale = np.array([finite(source.take(4)) for _ in range(256)], np.float32), np.ones(n, np.float32)
    else:
        scales = np.array([finite_scale(source.take(4)) for _ in range(-(-n // block))], np.float32)
        book, scale = tree(), scales[np.arange(n) // block]
    return book[np.frombuffer(source.take(n), np.uint8)] * scale


CODECS = [Codec(15, "codebook", [("book", 1, 0, 1), ("block", 2, 16, 4096)], decode_codebook)]
