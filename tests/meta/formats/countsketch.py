import numpy as np

from format_parts import Codec, need, philox_bytes


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


CODECS = [Codec(11, "countsketch", [("rows", 1, 1, 31)], decode_countsketch)]
