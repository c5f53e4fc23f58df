"""What the formats of several codecs share, and the row that a file of formats/ has for each codec (docs/format.md)."""
import struct
from typing import Callable, NamedTuple

import numpy as np


class Codec(NamedTuple):
    wire_id: int
    name: str
    parameters: list  # (name, bytes, least, most) of each; added ones may be absent, and stand at the end
    decode: Callable  # (parameters, n, payload) -> n values as float32
    added: list = []
    library_math: Callable = lambda params: False  # True if an FFT, DCT or matrix product has the last bits


class Damaged(Exception):
    """Not a message of version 1, or one that contradicts itself."""


def need(condition, why):
    if not condition:
        raise Damaged(why)


class Bytes:
    """Takes fields from the front."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n):
        need(len(self.data) - self.at >= n, "cut")
        self.at += n
        return self.data[self.at - n:self.at]

    def number(self, n):
        return int.from_bytes(self.take(n), "little")

    def left(self):
        return len(self.data) - self.at


class Bits:
    """The first bit is the lowest bit of the first byte."""

    def __init__(self, data):
        self.bits = format(int.from_bytes(data, "little"), f"0{8 * len(data)}b")[::-1] if data else ""
        self.at = 0

    def take(self, n):
        need(self.at + n <= len(self.bits), "a bit stream ends early")
        self.at += n
        return self.bits[self.at - n:self.at]

    def one(self):
        return int(self.take(1))

    def ones(self):
        """How many ones stand before the next zero, which is taken too."""
        zero = self.bits.find("0", self.at)
        need(zero >= 0, "a bit stream ends early")
        return len(self.take(zero + 1 - self.at)) - 1

    def low_first(self, n):
        return int("0" + self.take(n)[::-1], 2)

    def elias(self, limit):
        n = 1
        while self.one():
            need(n <= 31, "an Elias code without end")
            n = int("1" + self.take(n), 2)
            need(n <= limit, "an Elias code above its limit")
        need(n <= limit, "an Elias code above its limit")
        return n

    def close(self):
        """No byte more than needed, and zeros after the last code."""
        need(len(self.bits) - self.at < 8, "bytes that no code needs")
        need("1" not in self.bits[self.at:], "bits after the last code")


def codes_of(data, n, width):
    """n codes of `width` bits in a bit stream."""
    bits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")[:n * width]
    return bits.reshape(n, width).astype(np.int64) @ (1 << np.arange(width, dtype=np.int64))


def finite_scale(data):
    """An f32 that is finite and not negative."""
    need(struct.unpack("<I", data)[0] < 0x7F800000, "a scale that is not finite, or negative")
    return np.frombuffer(data, "<f4")[0]


def finite(data):
    """An f32 of either sign."""
    need(struct.unpack("<I", data)[0] & 0x7FFFFFFF < 0x7F800000, "a scale that is not finite")
    return np.frombuffer(data, "<f4")[0]


class RangeFloat:
    def __init__(self, bits, source):
        top = source.take(4)
        finite_scale(top)
        self.bits, m = bits, source.number(1)
        self.p = 2 ** (bits - 1) - 1
        need(m < bits and self.p - 1 <= 126 * 2 ** m, "mantissa bits that do not fit")
        pattern = struct.unpack("<I", top)[0]
        self.shift = 23 - m
        largest = pattern >> self.shift
        self.base = largest - self.p + 1 if largest > self.p else 1
        self.used = 0 if pattern == 0 else largest - self.base + 1

    def values(self, data, n):
        code = codes_of(data, n, self.bits)
        minus = code > self.p
        c = np.where(minus, code - self.p, code)
        pattern = ((c + self.base - 1) << self.shift) | (minus.astype(np.int64) << 31)
        pattern = np.where((c == 0) | (c > self.used), 0, pattern)
        return pattern.astype(np.uint32).view(np.float32)


def packed_bytes(n, width):
    return (n * width + 7) // 8


def raw(source, n, kind):
    size = {0: 4, 1: 2, 2: 2, 3: 4}[kind]
    data = source.take(n * size)
    if kind == 1:
        return np.frombuffer(data, "<f2").astype(np.float32)
    if kind == 2:
        return (np.frombuffer(data, "<u2").astype(np.uint32) << 16).view(np.float32)
    return np.frombuffer(data, "<f4")


BLOCK = 4096


def philox_bytes(key, stream, count):
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


def philox_draws(key, stream, count):
    """Numbers of 64 bits, as Python's, whose products are exact."""
    return [int(u) for u in np.frombuffer(philox_bytes(key, stream, 8 * count), "<u8")]


KERNEL, SIDE = 1, 128

def read_long(source):
    number = shift = 0
    while True:
        byte = source.number(1)
        need(shift < 63, "a number without end")
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return number


def read_parts(source, n, tile):
    """(matrices, rows, columns, height and width of a tile) of each part."""
    limits = (SIDE, SIDE) if tile == KERNEL else (tile >> 16, tile & 0xFFFF)
    need(all(1 <= limit <= SIDE for limit in limits), "tiles that are too large")
    parts = []
    while source.left():
        matrices, rows, cols = (read_long(source) for _ in range(3))
        n -= matrices * rows * cols
        need(matrices and rows and cols and n >= 0, "parts of another size")
        sides = [max(d for d in range(1, most + 1) if size % d == 0) for size, most in zip((rows, cols), limits)]
        parts.append((matrices, rows, cols, *sides))
    need(n == 0, "too few parts")
    return parts
