import numpy as np

from format_parts import SIDE, Bytes, Codec, codes_of, need, packed_bytes, read_parts


def decode_tiles(params, n, source):
    bits = params.get("factor-bits", 5)
    need(params["tile"], "factor-bits without tiles")
    x = [np.zeros(0, np.float32)]
    parts = read_parts(Bytes(source.take(source.number(4))), n, params["tile"])
    for matrices, rows, cols, h, w in parts:
        tiles = np.zeros((matrices * rows * cols // h // w, h, w), np.float32)
        for tile in tiles:
            rank, more = 0, True
            while more:
                need(rank < min(params["rank"], h, w), "too many vectors")
                scale, more = source.number(2), False
                if scale or rank:
                    scale, more = scale & 0x7fff, scale >> 15 == 1
                    need(0 < scale <= 0x7180, "a scale that is 0 or too large")
                    values = codes_of(source.take(packed_bytes(h + w, bits)), h + w, bits) - (2 ** (bits - 1) - 1)
                    p, q = values[:h].astype(np.float32), values[h:].astype(np.float32)
                    tile += (np.uint32(scale << 16).view(np.float32) * p)[:, None] * q
                rank += 1
        x.append(tiles.reshape(matrices, rows // h, cols // w, h, w).transpose(0, 1, 3, 2, 4).reshape(-1))
    need(source.left() == 0, "bytes that are left over")
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
                added=[("tile", 4, 1, SIDE << 16 | SIDE), ("factor-bits", 1, 2, 8)],
                library_math=lambda params: "tile" not in params)]
