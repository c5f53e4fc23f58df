import numpy as np

from format_parts import Bits, Codec, need

BLOCK, TOTAL = 16384, 4096


def read_table(source):
    least, largest = source.number(1), source.number(1)
    need(least <= largest, "a table of no exponents")
    bits, counts = Bits(source.data[source.at:]), {}
    e = least
    while e <= largest:
        width = bits.low_first(4)
        counts[e] = (1 << (width - 1)) + bits.low_first(width - 1) if width else 0
        e += 1 if width else 1 + bits.low_first(8)
    need("1" not in bits.take(-bits.at % 8), "bits after a table")
    need(sum(counts.values()) == TOTAL and counts[least] and counts.get(largest), "shares that do not make the whole")
    source.take(bits.at // 8)
    return np.repeat(list(counts), list(counts.values())), counts


def read_block(n, words, source, symbol, counts, start):
    raw = np.frombuffer(source.take(n), np.uint8).astype(np.uint32)
    states = [source.number(4) for _ in range(4)]
    need(min(states) >= 1 << 16, "a state that is too small")
    stream, exponents = iter(np.frombuffer(source.take(2 * words), "<u2").tolist()), []
    for i in range(n):
        x = states[i % 4]
        e = int(symbol[x % TOTAL])
        x = counts[e] * (x // TOTAL) + x % TOTAL - start[e]
        if x < 1 << 16:
            x = x << 16 | next(stream, 0)
        states[i % 4] = x
        exponents.append(e)
    need(states == [1 << 16] * 4 and next(stream, None) is None, "a block that ends elsewhere")
    return (raw & 0x80) << 24 | np.array(exponents, np.uint32) << 23 | (raw & 0x7F) << 16


def decode_entropy(params, n, source):
    if n == 0:
        return np.zeros(0, np.float32)
    symbol, counts = read_table(source)
    start = dict(zip(counts, np.cumsum([0, *counts.values()]).tolist()))
    blocks = -(-n // BLOCK)
    words = [source.number(2) for _ in range(blocks)]
    bits = np.concatenate([read_block(min(BLOCK, n - BLOCK * b), words[b], source, symbol, counts, start) for b in range(blocks)])
    return np.where((bits & 0x7FFFFFFF) > 0x7F800000, bits | 0x400000, bits).astype(np.uint32).view(np.float32)


CODECS = [Codec(17, "bf16-entropy", [], decode_entropy)]
