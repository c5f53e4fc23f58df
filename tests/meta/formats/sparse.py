import math

import numpy as np

from format_parts import (BLOCK, SIDE, Bits, Bytes, Codec, RangeFloat, codes_of, finite, finite_scale, need, packed_bytes, philox_bytes,
                          raw, read_parts)


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


U32, BITMAP, VARINT, GOLOMB, ADAPTIVE, ELIAS_FANO, IN_BLOCKS, BLOOM = range(8)


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
    if index == BLOOM:
        return read_bloom(source, length, kept)
    return read_gaps(index, source, length, kept)


def hash_of(x):
    x = (np.asarray(x, np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ x >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ x >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return x ^ x >> np.uint64(31)


def bits_of(position, hashes, bits):
    """The bits of positions, hashes x positions."""
    h, low, half = hash_of(position), np.uint64(0xFFFFFFFF), np.uint64(32)
    step = h >> half | np.uint64(1)
    rows = [((h & low) + np.uint64(i) * step & low) * np.uint64(bits) >> half for i in range(hashes)]
    return np.array(rows, np.int64)


def read_bloom(source, length, kept):
    head, bits = source.number(1), source.number(4)
    policy, hashes = head >> 5, head & 31
    need(policy <= 2 and hashes and 1 <= bits <= length, "no filter")
    need(not policy or bits == min(length, math.ceil(hashes * kept * 1.4426950408889634)), "another size")
    flags = codes_of(source.take((bits + 7) // 8), bits, 1)
    found = np.flatnonzero(np.all(flags[bits_of(np.arange(length), hashes, bits)], axis=0))
    if policy and len(found) > kept:
        found = choose(policy, found, bits_of(found, hashes, bits).T, kept)
    need(len(found) == kept, "another number of positives")
    return found


ALL, AT_RANDOM, BY_CONFLICT = range(3)


def choose(policy, found, bits, kept):
    chosen, state = set(), {}
    if policy == BY_CONFLICT:
        for row in bits:
            for b in set(row):
                state[b] = min(state.get(b, 0) + 1, 2)
        for most in (1, 2):
            for i, row in enumerate(bits):
                if i not in chosen and len(chosen) < kept and min(state[b] for b in row) <= most:
                    chosen.add(i)
                    state.update(dict.fromkeys(row, 3))
    left, want = len(found) - len(chosen), kept - len(chosen)
    draws = hash_of(found.astype(np.uint64) ^ np.uint64(kept << 32)) >> np.uint64(32)
    for i, draw in enumerate(draws):
        if i not in chosen:
            if int(draw) * left >> 32 < want:
                chosen.add(i)
                want -= 1
            left -= 1
    return found[sorted(chosen)]


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
            yield bits.ones() << b | bits.low_first(b)
        bits.close()
    return gaps


def elias_fano_gaps(data, count):
    need(data and data[0] < 32, "too many low bits")
    bits, last, high = Bits(data[1:]), -1, 0
    low = [bits.low_first(data[0]) for _ in range(count)]
    for part in low:
        high += bits.ones()
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
        ones = bits.ones()
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


NONE, FFT, DCT, HADAMARD, TRANSFORM_MEAN, HAAR, RANDOM = range(7)


def basis_of(transform, n, key):
    """n x n: coefficients = basis @ elements."""
    k, j = np.arange(n)[:, None], np.arange(n)[None]
    if n == 1:
        return np.ones((1, 1))
    if transform == DCT:
        m = np.cos(np.pi * (2 * j + 1) * k / (2 * n)) * np.sqrt(np.where(k, 2, 1) / n)
    elif transform == FFT:
        turn = 2 * np.pi * ((k + 1) // 2) * j / n
        m = np.where((k % 2 == 0) & (k > 0), np.sin(turn), np.cos(turn))
        m *= np.sqrt(np.where((k == 0) | ((k + 1) // 2 * 2 == n), 1, 2) / n)
    elif transform == HADAMARD:
        m, piece = np.ones((1, 1)), n & -n
        while len(m) < piece:
            m = np.block([[m, m], [m, -m]])
        m = np.kron(np.eye(n // piece), m) / math.sqrt(piece)
    elif transform == HAAR:
        rows, spans = [np.full(n, 1 / math.sqrt(n))], [(0, n)]
        for first, length in spans:
            if length > 1:
                right = length // 2
                left = length - right
                rows.append(np.zeros(n))
                rows[-1][first:first + left] = math.sqrt(right / left / length)
                rows[-1][first + left:first + length] = -math.sqrt(left / right / length)
                spans += [(first, left), (first + left, right)]
        m = np.array(rows)
    else:
        drawn = np.frombuffer(philox_bytes(key, n, 16 * n * n), np.uint8).reshape(n, n, 16)
        m = np.sum(drawn[:, :, :12] - 127.5, axis=2)
        for row in range(n):
            for _ in range(2):
                for before in range(row):
                    m[row] -= (m[row] @ m[before]) * m[before]
                m[row] /= np.linalg.norm(m[row])
    return m


def inverse_tile(transform, c, key):
    """Coefficients of tiles, height x width x number, to their elements."""
    height, width, number = c.shape
    if transform != TRANSFORM_MEAN:
        return np.einsum("ui,vj,uvt->ijt", basis_of(transform, height, key), basis_of(transform, width, key), c,
                         optimize=True)
    n = height * width
    v = np.full(n, 1 / math.sqrt(n)) - np.eye(n)[0]
    flat = c.reshape(n, number)
    return c if n == 1 else (flat - np.outer(v, v @ flat) * 2 / (v @ v)).reshape(c.shape)


def inverse_tiles(transform, c, parts, key):
    out = [np.zeros(0)]
    for matrices, rows, cols, height, width in parts:
        size = matrices * rows * cols
        planes, c = c[:size].reshape(height, width, -1), c[size:]
        x = inverse_tile(transform, planes.astype(np.float64), key)
        x = x.reshape(height, width, matrices, rows // height, cols // width).transpose(2, 3, 0, 4, 1)
        out.append(x.reshape(-1))
    return np.concatenate(out).astype(np.float32)


def read_fit(source, n):
    ends, curves = [0], []
    for _ in range(8):
        ends.append(source.number(4))
        curves.append([finite(source.take(4)) for _ in range(6)])
    need(ends == sorted(ends) and ends[-1] == n, "pieces of other ranks")
    need(not np.any(np.abs(curves) > 2.0 ** 125), "a coefficient that is too large")
    width = max(n - 1, 0).bit_length()
    rank = np.minimum(codes_of(source.take(packed_bytes(n, width)), n, width), n - 1)
    piece = np.searchsorted(ends[1:], rank, side="right")
    begin, length = np.array(ends)[piece], np.diff(ends)[piece]
    u = (2 * (rank - begin) + 1) / length - 1.0
    basis = [np.ones(n), u]
    for j in range(1, 5):
        basis.append(((2 * j + 1) * u * basis[j] - j * basis[j - 1]) / (j + 1))
    x, curves = np.zeros(n), np.array(curves, np.float64)
    for j in range(6):
        x += curves[piece, j] * basis[j]
    return x.astype(np.float32)


FP32, FP16, RANGE, UNIFORM, MEAN, SIGN_MEAN, MEANS, BINS, FIT = range(9)


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
    if kind == BINS:
        means = np.array([finite(source.take(4)) for _ in range(4)], np.float32)
        return means[codes_of(source.take(packed_bytes(n, 2)), n, 2)]
    if kind == FIT:
        return read_fit(source, n)
    up = finite(source.take(4))
    if kind == MEAN:
        return np.full(n, up, np.float32)
    down = finite(source.take(4)) if kind == MEANS else -up
    return np.where(codes_of(source.take(packed_bytes(n, 1)), n, 1) == 1, up, down)


def decode_sparse(params, n, source):
    transform = params["transform"]
    tile = params.get("tile", 0)
    fft = transform == FFT and not tile
    lengths = chunks_of(n, params["chunk"], params.get("pad", 0)) if transform in (FFT, DCT) and not tile else []
    need(not params.get("pad", 0) or lengths or not n and not tile and transform in (FFT, DCT), "padding without such a transform")
    need(transform != NONE if tile else transform <= HADAMARD, "tiles without a transform, or the other way round")
    if transform == HADAMARD and not tile:
        common, lengths = hadamard_lengths(n, params["chunk"])
    positions = sum(length // 2 + 1 if fft else length for length in lengths) if lengths else n
    width = 2 if fft else 1
    segments = [min(SEGMENT, positions - at) for at in range(0, positions, SEGMENT)]
    kept = [source.number(4) for _ in segments]
    need(all(k <= length for k, length in zip(kept, segments)), "more kept than there are")
    numbers = sum(kept) * width
    key = source.number(8) if transform == HADAMARD and not tile else 0
    if tile:
        side = Bytes(source.take(source.number(4)))
        key = side.number(8) if transform == RANDOM else 0
        parts = read_parts(side, n, tile)
    values = read_values(params["values"], params["bits"], source, numbers)
    position = [np.zeros(0, np.int64)]
    for g, length in enumerate(segments):
        if kept[g]:
            position.append(g * SEGMENT + read_positions(params["index"], source, length, kept[g]))
    position = np.concatenate(position)
    if transform == HADAMARD and not tile:
        return inverse_hadamard(values, position, n, lengths, common, key)
    if not fft:
        out = np.zeros(positions, np.float32)
        out[position] = values
        if tile:
            return inverse_tiles(transform, out, parts, key)
        return inverse_dct(out, lengths)[:n] if transform == DCT else out
    each = [np.full(length // 2 + 1, 1 / math.sqrt(length)).astype(np.float32) for length in lengths]
    unit = np.concatenate(each + [np.zeros(0, np.float32)])
    part = values.reshape(-1, 2) * unit[position][:, None]
    bins = np.zeros(positions, np.complex64)
    bins[position] = part[:, 0] + 1j * part[:, 1]
    return inverse_fft(bins, lengths)[:n]


CODECS = [Codec(16, "sparse", [("transform", 1, 0, 6), ("chunk", 4, 0, 2 ** 32 - 1), ("values", 1, 0, 8), ("bits", 1, 2, 16),
                               ("index", 1, 0, 7)], decode_sparse, added=[("pad", 1, 1, 1), ("tile", 4, 1, SIDE << 16 | SIDE)],
                library_math=lambda params: params["transform"] in (FFT, DCT) or params.get("tile", 0))]
