import numpy as np

from format_parts import Codec, codes_of, finite, finite_scale, need, packed_bytes

# exponent bits, mantissa bits, codes (without the sign) that are numbers, largest value
FORMATS = [(4, 3, 0x7E, 448.0), (5, 2, 0x7B, 57344.0), (2, 1, 0x7, 6.0)]


def small_floats(code, exponent_bits, mantissa_bits):
    sign, c = code >> (exponent_bits + mantissa_bits), code & ((1 << (exponent_bits + mantissa_bits)) - 1)
    e, m = c >> mantissa_bits, c & ((1 << mantissa_bits) - 1)
    bias = 2 ** (exponent_bits - 1) - 1
    significand = np.where(e == 0, m, m + (1 << mantissa_bits))
    value = np.ldexp(significand.astype(np.float64), np.maximum(e, 1) - bias - mantissa_bits).astype(np.float32)
    return np.where(sign == 1, -value, value)


def decode_float(params, n, source):
    exponent_bits, mantissa_bits, top, largest = FORMATS[params["element"]]
    scale, kind = params["scale"], params["scale-format"] if params["scale"] > 1 else 0
    need(scale != 3 or kind == 2, "a tensor's scale over blocks without e4m3")
    block = params["block"] if scale > 1 else max(n, 1)
    need(scale < 2 or (16 <= block and block & (block - 1) == 0), "a block that is no power of two")
    head = finite_scale(source.take(4)) if scale in (1, 3) else np.float32(1)
    blocks = -(-n // block) if scale > 1 else 0
    data = source.take(blocks * (4 if kind == 0 else 1))
    width = 1 + exponent_bits + mantissa_bits
    code = codes_of(source.take(packed_bytes(n, width)), n, width)
    need(np.all(code & (2 ** (width - 1) - 1) <= top), "a code that is not a number")
    value = small_floats(code, exponent_bits, mantissa_bits)
    if scale < 2:
        divisor, factor = np.array([head]), np.ones(1, np.float32)
    elif kind == 0:
        divisor, factor = np.array([finite(data[4 * i:4 * i + 4]) for i in range(blocks)], np.float32), np.ones(blocks, np.float32)
    elif kind == 1:
        divisor, factor = np.ones(blocks, np.float32), np.ldexp(1.0, np.frombuffer(data, np.uint8).astype(int) - 127)
        need(np.all(factor * largest < 2.0 ** 128), "a scale that overflows")
        factor = factor.astype(np.float32)
    else:
        codes = np.frombuffer(data, np.uint8).astype(np.int64)
        need(np.all(codes <= 0x7E), "a scale that is not a number")
        divisor, factor = np.ones(blocks, np.float32), head * small_floats(codes, 4, 3)
        need(np.isfinite(head * np.float32(448.0 * largest)), "a scale that overflows")
    if scale == 1 or (scale == 2 and kind == 0):
        with np.errstate(all="ignore"):
            need(np.all(divisor > 0) and np.all(np.isfinite(np.float32(largest) / divisor)), "a scale that overflows")
    at = np.arange(n) // block
    return value / divisor[at] * factor[at] if n else value


CODECS = [Codec(13, "float", [("element", 1, 0, 2), ("scale", 1, 0, 3), ("block", 2, 16, 4096), ("scale-format", 1, 0, 2)],
                decode_float)]
