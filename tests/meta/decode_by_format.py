#!/usr/bin/env python3
"""
Decodes messages as docs/format.md and docs/codecs/index-coding.md describe them, and compares with the library's decoder.

    PYTHONPATH=python decode_by_format.py GCBENCH SAMPLE.h5

The decoder below (from `class Damaged` to `decode`) was written from these pages and calls nothing of the library. The
checks after it let the library encode with every method that `gcbench methods` lists and every choice of its parameters.
Both decoders must give the same bits (for FFT, DCT and matrix products: the same values within 1e-6 of the norm). Then messages are
damaged, and both decoders must refuse them or give the same values. Containers are read back too, if h5py is there.

To add a codec: write its section of docs/format.md, then a function decode_<name> from that section and a row of CODECS.

Exit: 0 all agree, 1 not, 77 skipped because NumPy is missing.
"""
import ctypes
import ctypes.util
import itertools
import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("skipped: the decoder needs NumPy (python3-numpy)")
    sys.exit(77)

import gcbench


# ---- the decoder: docs/format.md, section by section ----

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
        self.bits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little").tolist()
        self.at = 0

    def one(self):
        need(self.at < len(self.bits), "a bit stream ends early")
        self.at += 1
        return self.bits[self.at - 1]

    def low_first(self, n):
        return sum(self.one() << i for i in range(n))

    def elias(self, limit):
        n = 1
        while self.one():
            need(n <= 31, "an Elias code without end")
            value = 1
            for _ in range(n):
                value = 2 * value + self.one()
            n = value
            need(n <= limit, "an Elias code above its limit")
        need(n <= limit, "an Elias code above its limit")
        return n

    def close(self):
        """No byte more than needed, and zeros after the last code."""
        need(len(self.bits) - self.at < 8, "bytes that no code needs")
        need(not any(self.bits[self.at:]), "bits after the last code")


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


def decode_identity(params, n, source):
    return raw(source, n, 0)


def decode_fp16(params, n, source):
    return raw(source, n, 1)


def decode_bf16(params, n, source):
    return raw(source, n, 2)


def decode_range(params, n, source):
    scale = RangeFloat(params["bits"], source)
    return scale.values(source.take(packed_bytes(n, scale.bits)), n)


BLOCK = 4096


def qsgd_dense(bits, count, s, level, minus):
    for i in range(count):
        level[i] = bits.elias(s + 1) - 1
        if level[i]:
            minus[i] = bits.one()


def qsgd_sparse(bits, count, s, level, minus):
    at = -1
    while at < count - 1:
        at += bits.elias(count - at)
        if at == count:
            break
        minus[at] = bits.one()
        level[at] = bits.elias(s)


def decode_qsgd(params, n, source):
    s = params["levels"] or 2 ** (params["bits"] - 1) - 1
    w = s.bit_length()
    d = min(params["bucket"], n) or 1
    buckets = -(-n // d)
    norms = np.array([finite_scale(source.take(4)) for _ in range(buckets)], np.float32)
    if params["coding"] == 0:
        code = codes_of(source.take(packed_bytes(n, w + 1)), n, w + 1)
        level, minus = code & (2 ** w - 1), code >> w
    else:
        level, minus = np.zeros(n, np.int64), np.zeros(n, np.int64)
        lengths = [source.number(2) for _ in range(-(-n // BLOCK))]
        for b, length in enumerate(lengths):
            bits = Bits(source.take(length))
            part = slice(b * BLOCK, min(n, (b + 1) * BLOCK))
            (qsgd_dense if params["coding"] == 1 else qsgd_sparse)(
                bits, part.stop - part.start, s, level[part], minus[part])
            bits.close()
    quotient = np.where(level > s, np.float32(0), level.astype(np.float32) / np.float32(s))
    value = norms[np.arange(n) // d] * quotient
    value = np.where(minus == 1, -value, value)
    return np.where(level == 0, np.float32(0), value)


def decode_terngrad(params, n, source):
    scale = finite_scale(source.take(4))
    if params["packing"] == 0:
        code = codes_of(source.take(packed_bytes(n, 2)), n, 2)
    else:
        byte = np.frombuffer(source.take(-(-n // 5)), np.uint8).astype(np.int64)
        code = (byte[:, None] // 3 ** np.arange(5) % 3).reshape(-1)[:n]
    return np.array([-scale, 0, scale, 0], np.float32)[code]


def decode_natural(params, n, source):
    code = codes_of(source.take(packed_bytes(n, 9)), n, 9)
    need(not np.any(code & 255 == 255), "an exponent field of ones")
    return (code << 23).astype(np.uint32).view(np.float32)


def philox_draws(key, stream, count):
    """Numbers of 64 bits, as Python's, whose products are exact."""
    return [int(u) for u in np.frombuffer(philox_bytes(key, stream, 8 * count), "<u8")]


def decode_randomk(params, n, source):
    key = source.number(8)
    data = source.take(source.left())
    need(len(data) % 4 == 0, "a value that is cut")
    value, x = np.frombuffer(data, "<f4"), np.zeros(n, np.float32)
    k = len(value)
    need(k <= n and (k or not n) and np.all(np.isfinite(value)), "too many values, or infinities")
    if k:
        offset, each, more = philox_draws(key, 1, 1)[0] * n >> 64, n // k, n % k
        for j, draw in enumerate(philox_draws(key, 0, k)):
            place = offset + j * each + min(j, more) + (draw * (each + (j < more)) >> 64)
            x[place % n] = value[j]
    return x


def sketch_hashes(key, row, n, columns):
    """Of each element: its column, and its sign."""
    words = np.frombuffer(philox_bytes(key, 0, 16 * (row + 1)), "<u4").astype(np.uint64)[4 * row:]
    low = np.uint64(0xFFFFFFFF)
    s15, s16 = np.uint64(15), np.uint64(16)
    x = np.arange(n, dtype=np.uint64) ^ words[0]
    x = (x ^ x >> s16) * np.uint64(0x7FEB352D) & low
    x = (x ^ x >> s15 ^ words[1]) * np.uint64(0x846CA68B) & low
    x ^= x >> s16
    return ((x >> np.uint64(1)) * np.uint64(columns) >> np.uint64(31)).astype(np.int64), x % np.uint64(2) == 1


def decode_countsketch(params, n, source):
    key, k, rows = source.number(8), source.number(8), params["rows"]
    data = source.take(source.left())
    need(len(data) % (4 * rows) == 0 and k <= n, "a table of another size")
    cells = np.frombuffer(data, "<f4").reshape(rows, -1)
    columns = cells.shape[1]
    need(columns < 2 ** 31 and (columns and k if n else not columns), "no cells, or too many")
    need(np.all(np.isfinite(cells)), "an infinity")
    if not n:
        return np.zeros(0, np.float32)
    estimates = []
    for row in range(rows):
        column, minus = sketch_hashes(key, row, n, columns)
        estimates.append(np.where(minus, -cells[row, column], cells[row, column]))
    estimates = np.sort(np.array(estimates), axis=0)
    half = np.float32(0.5)
    x = estimates[rows // 2] if rows % 2 else half * estimates[rows // 2 - 1] + half * estimates[rows // 2]
    x = x + np.float32(0)
    dropped = np.argsort(-np.abs(x), kind="stable")[k:]
    x[dropped] = 0
    return x


def decode_signsgd(params, n, source):
    d = min(params["bucket"], n) or n
    buckets = -(-n // d) if n else 0
    scales = np.array([finite_scale(source.take(4)) for _ in range(buckets)], np.float32)
    minus = codes_of(source.take(packed_bytes(n, 1)), n, 1)
    scale = scales[np.arange(n) // max(d, 1)]
    return np.where(minus == 1, -scale, scale)


def decode_powersgd(params, n, source):
    cols = source.number(4)
    need(1 <= cols <= n and cols < 2 ** 31 and -(-n // cols) < 2 ** 31, "columns that do not fit")
    rows = -(-n // cols)
    rank = min(params["rank"], rows, cols)
    need(source.left() == 4 * rank * (rows + cols) < 4 * n, "factors of another size")
    p = np.frombuffer(source.take(4 * rank * rows), "<f4").reshape(rank, rows)
    q = np.frombuffer(source.take(4 * rank * cols), "<f4").reshape(rank, cols)
    need(np.all(np.abs(p) <= 2) and np.all(np.abs(q) <= 2.0 ** 100), "factors that are too large")
    return (p.T.astype(np.float64) @ q).astype(np.float32).reshape(-1)[:n]


SEGMENT = 2 ** 31


def smooth(n):
    """The next even number whose prime factors are 2, 3, 5 and 7."""
    while True:
        rest = n
        for prime in (2, 3, 5, 7):
            while rest % prime == 0:
                rest //= prime
        if rest == 1 and n % 2 == 0:
            return n
        n += 1


def chunks_of(n, chunk, pad=0):
    """Lengths of the transforms."""
    if n == 0:
        return []
    if chunk == 0 or chunk >= n:
        lengths = [n]
    else:
        lengths = [chunk] * (n // chunk) + ([n % chunk] if n % chunk else [])
    if pad:
        lengths[-1] = min(smooth(lengths[-1]), chunk or math.inf)
    return lengths


def read_varint(stream, at, end):
    gap, shift = 0, 0
    while True:
        need(at < end and shift <= 28, "a gap without end")
        gap |= (stream[at] & 127) << shift
        shift += 7
        at += 1
        if not stream[at - 1] & 128:
            return gap, at


U32, BITMAP, VARINT, GOLOMB, ADAPTIVE, ELIAS_FANO, IN_BLOCKS = range(7)


def read_positions(index, source, length, kept):
    if index == U32:
        position = np.frombuffer(source.take(4 * kept), "<u4").astype(np.int64)
        need(np.all(np.diff(position) > 0) and position[-1] < length, "positions out of order")
        return position
    if index == BITMAP:
        flags = codes_of(source.take((length + 7) // 8), (length + 7) // 8 * 8, 1)
        position = np.flatnonzero(flags)
        need(len(position) == kept and position[-1] < length, "another number of flags")
        return position
    if index == IN_BLOCKS:
        return read_in_blocks(source, length, kept)
    return read_gaps(index, source, length, kept)


def read_in_blocks(source, length, kept):
    width = source.number(1)
    need(width in (12, 16), "a block of another size")
    blocks = -(-length // 2 ** width)
    counts = [source.number(2 if width == 12 else 4) for _ in range(blocks)]
    need(sum(counts) == kept, "counts that do not add up")
    data = source.take(packed_bytes(kept, width))
    need(int.from_bytes(data, "little") >> kept * width == 0, "bits after the last code")
    position = np.repeat(np.arange(blocks) << width, counts) + codes_of(data, kept, width)
    need(np.all(np.diff(position) > 0) and position[-1] < length, "positions out of order")
    return position


def read_gaps(index, source, length, kept):
    """All that have the envelope."""
    size = source.number(4)
    blocks = -(-kept // BLOCK)
    directory = [(source.number(4), source.number(4)) for _ in range(blocks - 1)]
    stream = source.take(size)
    first, read = 0, {VARINT: varint_gaps, ELIAS_FANO: elias_fano_gaps}.get(index)
    if index in (GOLOMB, ADAPTIVE):
        need(size > 0 and stream[0] < (32 if index == GOLOMB else 40), "an unknown parameter")
        if stream[0] < 32:
            first, read = 1, golomb_gaps(stream[0])
        else:
            codes, first = read_gap_codes(stream, stream[0] - 31)
            read = coded_gaps(codes)
    starts = [0] + [offset for _, offset in directory] + [size]
    need(first <= starts[1], "a first block that begins after its end")
    position, last = [], -1
    for b in range(blocks):
        need(starts[b] <= starts[b + 1] <= size, "a directory out of order")
        need(b == 0 or directory[b - 1][0] == last, "a directory that disagrees")
        count = min(BLOCK, kept - b * BLOCK)
        for gap in read(stream[starts[b] if b else first:starts[b + 1]], count):
            last += gap + 1
            need(last < length, "a position after the end")
            position.append(last)
    return np.array(position, np.int64)


def varint_gaps(data, count):
    at = 0
    for _ in range(count):
        gap, at = read_varint(data, at, len(data))
        yield gap
    need(at == len(data), "bytes that no gap needs")


def golomb_gaps(b):
    def gaps(data, count):
        bits = Bits(data)
        for _ in range(count):
            ones = 0
            while bits.one():
                ones += 1
            yield ones << b | bits.low_first(b)
        bits.close()
    return gaps


def elias_fano_gaps(data, count):
    need(data and data[0] < 32, "too many low bits")
    bits, last, high = Bits(data[1:]), -1, 0
    low = [bits.low_first(data[0]) for _ in range(count)]
    for part in low:
        while bits.one():
            high += 1
        value = high << data[0] | part
        need(value > last, "positions out of order")
        yield value - last - 1
        last = value
    bits.close()


SYMBOLS, LONGEST, MAGNITUDES = 43, 10, 61


def read_gap_codes(stream, count):
    """[(lowest sum, {(length, number): symbol})], and where the blocks begin."""
    bits = Bits(stream[1:])
    lowest = [0] + [bits.low_first(6) for _ in range(count - 1)]
    need(all(a < b < MAGNITUDES for a, b in zip(lowest, lowest[1:])), "sums out of order")
    codes = [(start, read_code(bits)) for start in lowest]
    while bits.at % 8:
        need(not bits.one(), "bits after the codes")
    return codes, 1 + bits.at // 8


def read_code(bits):
    top, before, lengths = bits.low_first(6), 4, []
    need(top < SYMBOLS, "an unknown symbol")
    for _ in range(top + 1):
        ones = 0
        while bits.one():
            ones += 1
        need(ones <= 4, "an unknown step of lengths")
        length = (before, 0, before + 1, before - 1)[ones] if ones < 4 else bits.low_first(4)
        need(length <= LONGEST, "a code that is too long")
        lengths.append(length)
        before = length or before
    need(lengths[-1] > 0, "a last symbol that does not occur")
    if sum(lengths) == 1:
        return {(0, 0): top}
    need(sum(2 ** (LONGEST - length) for length in lengths if length) == 2 ** LONGEST,
         "lengths that are no code")
    code, number = {}, 0
    for length in range(1, LONGEST + 1):
        for symbol, its in enumerate(lengths):
            if its == length:
                code[length, number] = symbol
                number += 1
        number *= 2
    return code


def coded_gaps(codes):
    def gaps(data, count):
        bits, magnitudes = Bits(data), (0, 0)
        for _ in range(count):
            code = [c for lowest, c in codes if lowest <= sum(magnitudes)][-1]
            length = number = 0
            while (length, number) not in code:
                length, number = length + 1, 2 * number + bits.one()
            symbol = code[length, number]
            yield symbol if symbol < 16 else 1 << symbol - 12 | bits.low_first(symbol - 12)
            size = (symbol + 1).bit_length() - 1 if symbol < 16 else symbol - 12
            magnitudes = (magnitudes[1], size)
        bits.close()
    return gaps


def inverse_fft(bins, lengths):
    out, at = [], 0
    for length in lengths:
        z = bins[at:at + length // 2 + 1].astype(np.complex128)
        at += len(z)
        z[0] = z[0].real
        if length % 2 == 0:
            z[-1] = z[-1].real
        out.append(np.fft.irfft(z, length) * length if length > 1 else z.real)
    return np.concatenate(out).astype(np.float32) if out else np.zeros(0, np.float32)


def inverse_dct(c, lengths):
    out, at = [], 0
    for length in lengths:
        z = c[at:at + length].astype(np.complex128) * math.sqrt(2 / length)
        at += length
        z[0] /= math.sqrt(2)
        z *= np.exp(1j * np.pi * np.arange(length) / (2 * length))
        out.append((np.fft.ifft(z, 2 * length) * 2 * length).real[:length])
    return np.concatenate(out).astype(np.float32) if out else np.zeros(0, np.float32)


def power_below(n):
    return 1 << n.bit_length() - 1


def hadamard_lengths(n, chunk):
    """Common length, and the lengths of all chunks."""
    need(chunk & (chunk - 1) == 0, "a chunk that is not a power of two")
    if n == 0:
        return 1, []
    common = power_below(n) if chunk == 0 or chunk > n else chunk
    lengths, rest = [common] * (n // common), n % common
    while rest:
        lengths.append(power_below(rest))
        rest -= lengths[-1]
    return common, lengths


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


def inverse_hadamard(values, position, n, lengths, common, key):
    x = np.zeros(n, np.float32)
    x[position] = values * np.float32(1 / math.sqrt(common))
    at = 0
    for r in lengths:
        v, h = x[at:at + r], 1
        while h < r:
            pairs = v.reshape(-1, 2, h)
            pairs[:, 0], pairs[:, 1] = pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]
            h *= 2
        if r < common:
            v *= np.float32(math.sqrt(common / r))
        at += r
    minus = codes_of(philox_bytes(key, 0, (n + 7) // 8), n, 1)
    return (x.view(np.uint32) ^ minus.astype(np.uint32) << 31).view(np.float32)


NONE, FFT, DCT, HADAMARD = range(4)
FP32, FP16, RANGE, UNIFORM, MEAN, SIGN_MEAN, MEANS = range(7)


def read_values(kind, bits, source, n):
    if kind in (FP32, FP16):
        return raw(source, n, kind)
    if kind == RANGE:
        scale = RangeFloat(bits, source)
        return scale.values(source.take(packed_bytes(n, bits)), n)
    if kind == UNIFORM:
        top = finite_scale(source.take(4))
        code = codes_of(source.take(packed_bytes(n, bits)), n, bits)
        m = 2 ** (bits - 1) - 1
        value = top * ((code & m).astype(np.float32) / np.float32(m))
        return np.where(code > m, -value, value)
    up = finite(source.take(4))
    if kind == MEAN:
        return np.full(n, up, np.float32)
    down = finite(source.take(4)) if kind == MEANS else -up
    return np.where(codes_of(source.take(packed_bytes(n, 1)), n, 1) == 1, up, down)


def decode_sparse(params, n, source):
    transform = params["transform"]
    fft = transform == FFT
    lengths = chunks_of(n, params["chunk"], params.get("pad", 0)) if transform in (FFT, DCT) else []
    need("pad" not in params or transform in (FFT, DCT), "padding without such a transform")
    if transform == HADAMARD:
        common, lengths = hadamard_lengths(n, params["chunk"])
    positions = sum(length // 2 + 1 if fft else length for length in lengths) if lengths else n
    width = 2 if fft else 1
    segments = [min(SEGMENT, positions - at) for at in range(0, positions, SEGMENT)]
    kept = [source.number(4) for _ in segments]
    need(all(k <= length for k, length in zip(kept, segments)), "more kept than there are")
    numbers = sum(kept) * width
    key = source.number(8) if transform == HADAMARD else 0
    values = read_values(params["values"], params["bits"], source, numbers)
    position = [np.zeros(0, np.int64)]
    for g, length in enumerate(segments):
        if kept[g]:
            position.append(g * SEGMENT + read_positions(params["index"], source, length, kept[g]))
    position = np.concatenate(position)
    if transform == HADAMARD:
        return inverse_hadamard(values, position, n, lengths, common, key)
    if not fft:
        out = np.zeros(positions, np.float32)
        out[position] = values
        return inverse_dct(out, lengths)[:n] if transform == DCT else out
    each = [np.full(length // 2 + 1, 1 / math.sqrt(length)).astype(np.float32) for length in lengths]
    unit = np.concatenate(each + [np.zeros(0, np.float32)])
    part = values.reshape(-1, 2) * unit[position][:, None]
    bins = np.zeros(positions, np.complex64)
    bins[position] = part[:, 0] + 1j * part[:, 1]
    return inverse_fft(bins, lengths)[:n]


# wire id: codec, parameters (name, bytes, least, most), decoder. ADDED: parameters that may be
# absent, at the end
CODECS = {
    1: ("identity", [], decode_identity),
    2: ("fp16", [], decode_fp16),
    3: ("bf16", [], decode_bf16),
    4: ("range", [("bits", 1, 2, 16)], decode_range),
    5: ("qsgd", [("bits", 1, 2, 16), ("levels", 2, 0, 32767), ("bucket", 4, 1, 2 ** 32 - 1),
                 ("coding", 1, 0, 2)], decode_qsgd),
    6: ("terngrad", [("packing", 1, 0, 1)], decode_terngrad),
    7: ("natural", [], decode_natural),
    9: ("powersgd", [("rank", 2, 1, 1024)], decode_powersgd),
    10: ("randomk", [], decode_randomk),
    11: ("countsketch", [("rows", 1, 1, 31)], decode_countsketch),
    12: ("signsgd", [("bucket", 4, 0, 2 ** 32 - 1)], decode_signsgd),
    16: ("sparse", [("transform", 1, 0, 3), ("chunk", 4, 0, 2 ** 32 - 1), ("values", 1, 0, 6),
                    ("bits", 1, 2, 16), ("index", 1, 0, 6)], decode_sparse),
}

ADDED = {16: [("pad", 1, 1, 1)]}

STORED, CHECKSUM, WIDE = 1, 2, 4


class Frame:
    def __init__(self, message):
        source = Bytes(message)
        need(source.take(3) == b"GCB" and source.number(1) == 1, "not a message of version 1")
        self.codec, self.flags = source.number(1), source.number(1)
        self.source, self.param_bytes = source.number(1), source.number(1)
        need(self.flags <= 7 and self.source <= 3 and self.param_bytes <= 64, "an unknown field")
        size = 8 if self.flags & WIDE else 4
        self.n, self.payload_bytes = source.number(size), source.number(size)
        self.params = Bytes(source.take(self.param_bytes))
        tail = 8 if self.flags & CHECKSUM else 0
        need(source.left() == self.payload_bytes + tail, "another length than announced")
        self.payload = Bytes(source.take(self.payload_bytes))
        self.checksum = source.number(8) if tail else None


def decode(message):
    """The values of a message, as float32. The checksum is the caller's matter."""
    frame = Frame(message)
    if frame.flags & STORED:
        out = raw(frame.payload, frame.n, frame.source)
    else:
        need(frame.codec in CODECS, "an unknown codec")
        _, fields, decoder = CODECS[frame.codec]
        added = ADDED.get(frame.codec, [])
        if added and frame.param_bytes == sum(width for _, width, _, _ in fields + added):
            fields = fields + added
        need(frame.param_bytes == sum(width for _, width, _, _ in fields), "other parameters")
        params = {name: frame.params.number(width) for name, width, _, _ in fields}
        need(all(least <= params[name] <= most for name, _, least, most in fields),
             "a parameter out of range")
        out = decoder(params, frame.n, frame.payload)
    need(frame.payload.left() == 0, "bytes left over")
    return out


# ---- the library ----

SOURCES = ("f32", "f16", "bf16", "f64")


def encode(spec, x, checksum=True, source="f32"):
    return gcbench.Encoder(spec, len(x), checksum=checksum, source=source, nonfinite="raw", path="w").encode(x, 3, 1)


def decode_in_library(message, most=1 << 20):
    """None where the library refuses it."""
    try:
        return gcbench.Decoder.like(message, max_elements=most).decode(message)
    except gcbench.Error:
        return None


def xxh3():
    """XXH3-64 from the xxHash library, or None."""
    name = ctypes.util.find_library("xxhash") or "libxxhash.so.0"
    try:
        f = ctypes.CDLL(name).XXH3_64bits_withSeed
    except (OSError, AttributeError):
        return None
    f.argtypes, f.restype = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64], ctypes.c_uint64
    return lambda data, seed=0: f(data, len(data), seed)


# ---- the checks ----

class Report:
    def __init__(self):
        self.checks, self.failures = 0, []

    def expect(self, good, what):
        self.checks += 1
        if not good:
            self.failures.append(what)
            print(f"FAILED {what}")


def in_library_math(message):
    """Whether a library's FFT, DCT or matrix product has the last bits."""
    frame = Frame(message)
    return (not frame.flags & STORED and
            (frame.codec == 9 or frame.codec == 16 and frame.params.data[0] in (FFT, DCT)))


def same(mine, theirs, tolerant):
    if len(mine) != len(theirs):
        return False
    if not tolerant:
        return mine.tobytes() == theirs.tobytes()
    if not len(mine):
        return True
    difference = mine.astype(np.float64) - theirs
    return (np.max(np.abs(difference)) <= len(mine) * 2.0 ** -149 or
            np.linalg.norm(difference) <= 1e-6 * np.linalg.norm(theirs.astype(np.float64)))


# Numbers to try beside the choices; a spec that the method refuses is left out.
NUMBERS = ["", "theta=0.99", "theta=0", "theta=0.5", "chunk=64", "chunk=100,theta=0.5", "chunk=1",
           "chunk=5000", "bits=2", "bits=3", "bits=5", "bits=8,mantissa=4", "bits=11", "bits=16",
           "bits=8,max=0.01", "bits=8,rounding=truncate", "levels=1", "levels=5", "levels=32767",
           "rank=1", "rank=16", "bucket=1", "bucket=100", "bucket=7,bits=7", "norm=l2,levels=1,bucket=3000", "clip=0"]

def listed_methods(command):
    """The rows of `gcbench methods`."""
    lines = subprocess.run([command, "methods", "--format", "json"], check=True,
                           stdout=subprocess.PIPE, text=True).stdout.splitlines()
    return [row for row in map(json.loads, lines) if row["record"] == "method"]


def check_codecs(methods, report):
    for row in methods:
        codec, number = row["codec"], row["wire_id"]
        report.expect(number in CODECS and CODECS[number][0] == codec,
                      f"codec {codec} has no decoder: write its section of docs/format.md, then decode_{codec} in "
                      f"{sys.argv[0]} from that section, and the row {number}: (\"{codec}\", ...) of CODECS")


def spec(method, *parts):
    pairs = ",".join(part for part in parts if part)
    return method + (":" + pairs if pairs else "")


def specs_of(methods):
    """For each codec every combination of the choices that are on the wire; other choices and numbers in turn."""
    for row in methods:
        method, fields = row["method"], [field[0] for field in CODECS[row["wire_id"]][1]]
        params = {p["name"]: p["choices"] for p in row["parameters"] if "choices" in p}
        names = [name for name in params if name in fields and method == row["codec"]]
        for i, values in enumerate(itertools.product(*(params[name] for name in names))):
            pairs = ",".join(f"{name}={value}" for name, value in zip(names, values))
            one_sign = "select=one-sided" if "values=mean" in pairs.split(",") else ""
            some = NUMBERS if not names else [""] + [NUMBERS[(7 * i + j) % len(NUMBERS)]
                                                     for j in range(7)]
            for numbers in some:
                yield spec(method, pairs, one_sign, numbers)
        for name in params:
            for value in params[name]:
                if name not in names:
                    yield spec(method, f"{name}={value}")


def clusters(n):
    """Large magnitudes stand together, as in real gradients, so that adaptive makes codes of its own."""
    rng = np.random.default_rng(8)
    near = np.repeat(rng.random(-(-n // 30)) < 0.1, 30)[:n]
    return (np.abs(rng.standard_normal(n)) * np.where(near, 50, 1) + 1e-3).astype(np.float32)


def inputs():
    rng = np.random.default_rng(5)
    for n in (0, 1, 2, 3, 5, 31, 257, 4096, 9001):
        yield f"normal {n}", rng.standard_normal(n).astype(np.float32)
    heavy = (rng.standard_t(2, 6000) * 1e-4).astype(np.float32)
    heavy[rng.random(6000) < 0.3] = 0
    yield "heavy 6000", heavy
    yield "zeros 300", np.zeros(300, np.float32)
    yield "negative zeros 9", np.full(9, -0.0, np.float32)
    yield "constant 513", np.full(513, -0.125, np.float32)
    yield "tiny 77", (rng.standard_normal(77) * 1e-42).astype(np.float32)
    yield "huge 500", (rng.standard_normal(500) * 1e38).clip(-3e38, 3e38).astype(np.float32)
    yield "clusters 9000", clusters(9000)
    late = np.zeros(70000, np.float32)
    late[[5, 4097, 69999]] = [1, -2, 3]
    yield "late 70000", late


def check_methods(methods, report):
    done, tried = set(), list(inputs())
    for i, spec in enumerate(specs_of(methods)):
        for k, (name, x) in enumerate(tried):
            if len(x) > 9001 and not spec.startswith(("topk", "sparse", "qsgd:coding")):
                continue
            if ":" in spec and (i + k) % (8 if len(x) > 4000 else 2):
                continue  # each combination comes with several numbers, which take the inputs in turn
            try:
                message = encode(spec, x)
            except gcbench.Error:
                break  # a number that this method does not have
            done.add(spec.split(":")[0])
            theirs = decode_in_library(message)
            try:
                mine = decode(message)
            except Damaged as error:
                report.expect(False, f"{spec} {name}: {error}")
                continue
            report.expect(theirs is not None and same(mine, theirs, in_library_math(message)),
                          f"{spec} {name}")
    report.expect(done == {row["method"] for row in methods}, f"every method was tried, not only {sorted(done)}")


def check_frames(hash_of, report):
    x = np.linspace(-3, 3, 1001, dtype=np.float32)
    for spec, source in itertools.product(("identity", "fp16", "qsgd", "fft:chunk=64"), SOURCES):
        message = encode(spec, x, source=source)
        report.expect(Frame(message).source == SOURCES.index(source), f"{spec}: source type {source}")
        report.expect(same(decode(message), decode_in_library(message), in_library_math(message)),
                      f"{spec} from source type {source}")
        if hash_of:
            report.expect(hash_of(message[:-8]) == Frame(message).checksum, f"{spec}: checksum")
        plain = encode(spec, x, checksum=False, source=source)
        report.expect(Frame(plain).checksum is None and
                      Frame(plain).payload.data == Frame(message).payload.data,
                      f"{spec}: the payload does not depend on the checksum")
    odd = x.copy()
    odd[[3, 700, 1000]] = [np.inf, -np.inf, np.nan]
    for source in SOURCES:
        message = encode("qsgd", odd, source=source)
        report.expect(Frame(message).flags & STORED and Frame(message).param_bytes == 0 and
                      decode(message).tobytes() == decode_in_library(message).tobytes(),
                      f"stored, source type {source}")


def damage(hash_of, report, spec, message, places):
    """Either both refuse a message that was damaged at these places or both give the same values."""
    rng, refused = random.Random(11), 0
    for at in places:
        for _ in range(3):
            bad = bytearray(message)
            bad[at] ^= rng.choice((1, 2, 128, rng.randrange(1, 256)))
            bad[-8:] = hash_of(bytes(bad[:-8])).to_bytes(8, "little")
            bad = bytes(bad)
            theirs = decode_in_library(bad)
            try:
                if Frame(bad).n > 1 << 20:
                    continue  # the library was told to refuse so many
                with np.errstate(all="ignore"):
                    mine = decode(bad)
            except Damaged:
                mine = None
            refused += mine is None
            if mine is None or theirs is None:
                report.expect(mine is None and theirs is None,
                              f"{spec}: byte {at} is {bad[at]:#x}: "
                              f"{'the page' if mine is None else 'the library'} refuses")
            elif not np.all(np.isfinite(theirs)):
                report.expect(np.array_equal(np.isfinite(mine), np.isfinite(theirs)) or
                              in_library_math(bad), f"{spec}: byte {at}: not finite")
            else:
                report.expect(same(mine, theirs, in_library_math(bad)), f"{spec}: byte {at}")
    return refused


def check_damage(hash_of, report):
    x = np.random.default_rng(3).standard_normal(300).astype(np.float32)
    x[::3] = 0
    specs = ["identity", "fp16", "bf16", "range:bits=7", "qsgd:levels=5", "qsgd:coding=elias",
             "qsgd:coding=elias-sparse,bits=3", "terngrad", "terngrad:packing=base3",
             "fft:chunk=64", "fft:chunk=64,pad=smooth", "topk:transform=dct,chunk=100", "topk:transform=hadamard,chunk=64"]
    specs += [f"sparse:theta=0.6,values={v},index={i}"
              for v in ("fp32", "fp16", "range", "uniform", "sign-mean", "means",
                        "mean,select=one-sided")
              for i in ("u32", "bitmap", "varint", "golomb", "elias-fano", "block")]
    specs += [name for name, _, _ in CODECS.values() if not any(spec.split(":")[0] == name for spec in specs)]
    refused = 0
    for spec in specs:
        message = encode(spec, x)
        refused += damage(hash_of, report, spec, message, range(len(message) - 8))
    # messages of little but positions; the second has a directory, with two entries
    for n, density in ((4000, 0.1), (90000, 0.1)):
        length = {}
        for index in ("varint", "golomb", "adaptive", "elias-fano", "block"):
            spec = f"sparse:select=one-sided,values=mean,p={density},index={index}"
            message = encode(spec, clusters(n))
            length[index] = len(message)
            places = list(range(min(len(message) - 8, 200)))
            places += list(range(200, len(message) - 8, 37 if n > 4000 else 23))
            if n > 4000:
                places = places[::12]
            refused += damage(hash_of, report, spec, message, places)
        report.expect(length["adaptive"] < length["golomb"], f"{n}: adaptive has codes of its own")
    print(f"damaged messages: {refused} refused by both")


def text_of(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def container_messages(file, hash_of):
    """(message, seed of its checksum, path of its dataset, tensors) of each message in a container."""
    import h5py
    names = []
    file.visititems(lambda name, node: names.append("/" + name)
                    if isinstance(node, h5py.Dataset) and node.dtype == np.uint8 else None)
    for name in names:
        node = file[name]
        if "layout_xxh3" in node.attrs:
            rows = [(text_of(r["path"]), text_of(r["dtype"]), text_of(r["shape"]), int(r["index"]),
                     int(r["offset"])) for r in file[name + "_layout"][()]]
        else:
            rows = [(name, text_of(node.attrs["dtype"]), text_of(node.attrs["shape"]),
                     int(node.attrs.get("index", -1)), 0)]
        salt = 0
        for path, dtype, shape, index, _ in rows:
            for text in (path, dtype, shape, str(index)):
                salt = hash_of(text.encode(), salt)
        if "layout_xxh3" in node.attrs:
            need(text_of(node.attrs["layout_xxh3"]) == f"{salt:016x}", "another layout")
        yield node[()].tobytes(), salt, name, rows


def check_container(command, sample, hash_of, report, folder):
    import h5py
    for number, (method, scope) in enumerate([("topk", "tensor"), ("qsgd:coding=elias", "model"),
                                              ("range", "bucket")]):
        packed, restored = (os.path.join(folder, f"{kind}{number}.h5") for kind in ("m", "r"))
        for args in (["compress", sample, "--method", method, "--scope", scope, "-o", packed],
                     ["decompress", packed, "-o", restored]):
            subprocess.run([command] + args, check=True, stdout=subprocess.DEVNULL)
        total, seen = 0, 0
        with h5py.File(packed) as file, h5py.File(restored) as tree:
            for message, salt, path, rows in container_messages(file, hash_of):
                frame, x = Frame(message), decode(message)
                seen, total = seen + 1, (total + hash_of(path.encode(), salt)) % 2 ** 64
                report.expect(frame.checksum == hash_of(message[:-8], salt), f"{path}: checksum")
                for name, dtype, shape, _, offset in rows:
                    dims = [int(d) for d in shape.split("x")] if shape else []
                    part = x[offset:offset + math.prod(dims)].reshape(dims)
                    report.expect(dtype == "fp32" and
                                  part.tobytes() == tree[name][()].astype("<f4").tobytes(),
                                  f"{scope}: {name}")
            report.expect(text_of(file.attrs["gcbench_container"]) == "1" and
                          int(file.attrs["gcbench_messages"]) == seen and
                          text_of(file.attrs["gcbench_xxh3"]) == f"{total:016x}",
                          f"{scope}: root attributes")


def main(argv):
    command, sample, report, hash_of = argv[1], argv[2], Report(), xxh3()
    methods = listed_methods(command)
    check_codecs(methods, report)
    check_methods([row for row in methods if row["wire_id"] in CODECS], report)
    check_frames(hash_of, report)
    if hash_of:
        check_damage(hash_of, report)
    else:
        print("skipped: damaged messages and checksums (no xxHash library)")
    try:
        import h5py  # noqa: F401
        if hash_of:
            with tempfile.TemporaryDirectory() as folder:
                check_container(command, sample, hash_of, report, folder)
    except ImportError:
        print("skipped: containers (Debian package python3-h5py)")
    print(f"{report.checks} checks, {len(report.failures)} failed")
    if report.failures:
        print("If the layout of a message is new: describe it in docs/format.md, then write its decoder in "
              f"{argv[0]} from the description. If not: a decoder here or in the library is wrong.")
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
