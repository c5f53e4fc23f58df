import numpy as np

from format_parts import Codec, codes_of, finite, finite_scale, need, packed_bytes


def decode_affine(params, n, source):
    bits, block, minimum = params["bits"], params["block"], params["offset"] == 1
    top = np.float32(2 ** bits - 1)
    need(block & (block - 1) == 0, "a block that is no power of two")
    step, base = [], []
    for _ in range(-(-n // block)):
        step.append(finite_scale(source.take(4)))
        base.append(finite(source.take(4)) if minimum else np.float32(source.number(1)))
        with np.errstate(over="ignore"):
            need(np.isfinite(step[-1] * top + (base[-1] if minimum else np.float32(0))), "values that overflow")
        need(minimum or base[-1] <= top, "a code of 0 that is no code")
    code = codes_of(source.take(packed_bytes(n, bits)), n, bits).astype(np.float32)
    at = np.arange(n) // block
    step, base = np.array(step, np.float32)[at], np.array(base, np.float32)[at]
    return base + step * code if minimum else step * (code - base)


CODECS = [Codec(14, "affine", [("bits", 1, 2, 8), ("block", 2, 16, 4096), ("offset", 1, 0, 1)], decode_affine)]
