import numpy as np

from format_parts import SIDE, Bytes, Codec, codes_of, need, packed_bytes, read_parts


def read_factors(source, n, bits):
    if bits == 32:
        return np.frombuffer(source.take(4 * n), "<f4")
    code, top = codes_of(source.take(packed_bytes(n, bits)), n, bits), 2 ** (bits - 1) - 1
    need(np.all(code <= 2 * top), "an unused code")
    return (code - top).astype(np.float32)


def decode_tiles(params, n, source):
    bits = params.get("factor-bits", 32)
    need(params["tile"] and (bits <= 16 or bits == 32), "factor-bits without tiles or of another size")
    parts = read_parts(Bytes(source.take(source.number(4))), n, params["tile"])
    tiles = [(h, w) for matrices, rows, cols, h, w in parts for _ in range(matrices * rows * cols // h // w)]
    most = [min(params["rank"], h, w) for h, w in tiles]
    differ = source.number(1)
    need(differ <= 1, "neither 0 nor 1")
    ranks = list(source.take(len(tiles))) if differ else most
    need(all(r <= m for r, m in zip(ranks, most)), "a rank that is too high")
    p_count, q_count = (sum(r * tile[side] for r, tile in zip(ranks, tiles)) for side in (0, 1))
    need(p_count + q_count < n, "too many factors")
    scale = np.ones(sum(ranks), np.float32)
    if bits < 32:
        upper = np.frombuffer(source.take(2 * sum(ranks)), "<u2")
        need(np.all(upper <= 0x7180), "a scale that is too large")
        scale = (upper.astype(np.uint32) << 16).view(np.float32)
    p, q = read_factors(source, p_count, bits), read_factors(source, q_count, bits)
    need(source.left() == 0, "bytes that are left over")
    need(bits < 32 or np.all(np.abs(p) <= 2) and np.all(np.abs(q) <= 2.0 ** 100), "factors that are too large")
    out = np.zeros((len(tiles), SIDE, SIDE), np.float32)
    v = i = j = 0
    for tile, (h, w), rank in zip(out, tiles, ranks):
        for _ in range(rank):
            tile[:h, :w] += (scale[v] * p[i:i + h])[:, None] * q[j:j + w]
            v, i, j = v + 1, i + h, j + w
    x, first = [np.zeros(0, np.float32)], 0
    for matrices, rows, cols, h, w in parts:
        count = matrices * rows * cols // h // w
        part = out[first:first + count, :h, :w].reshape(matrices, rows // h, cols // w, h, w)
        x.append(part.transpose(0, 1, 3, 2, 4).reshape(-1))
        first += count
    return np.concatenate(x)


def decode_powersgd(params, n, source):
    if "tile" in params:
        return decode_tiles(params, n, source)
    cols = source.number(4)
    need(1 <= cols <= n and cols < 2 ** 31 and -(-n // cols) < 2 ** 31, "columns that do not fit")
    rows = -(-n // cols)
    rank = min(params["rank"], rows, cols)
    need(source.left() == 4 * rank * (rows + cols) < 4 * n, "factors of another size")
    p = np.frombuffer(source.take(4 * rank * rows), "<f4").reshape(rank, rows)
    q = np.frombuffer(source.take(4 * rank * cols), "<f4").reshape(rank, cols)
    need(np.all(np.abs(p) <= 2) and np.all(np.abs(q) <= 2.0 ** 100), "factors that are too large")
    return (p.T.astype(np.float64) @ q).astype(np.float32).reshape(-1)[:n]


CODECS = [Codec(9, "powersgd", [("rank", 2, 1, 1024)], decode_powersgd,
                added=[("tile", 4, 1, SIDE << 16 | SIDE), ("factor-bits", 1, 2, 31)],
                library_math=lambda params: "tile" not in params)]
