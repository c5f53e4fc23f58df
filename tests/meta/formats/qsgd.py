import numpy as np

from format_parts import BLOCK, Bits, Codec, codes_of, finite_scale, packed_bytes


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


CODECS = [Codec(5, "qsgd", [("bits", 1, 2, 16), ("levels", 2, 0, 32767), ("bucket", 4, 1, 2 ** 32 - 1), ("coding", 1, 0, 2)],
                decode_qsgd)]
