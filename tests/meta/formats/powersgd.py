import numpy as np

from format_parts import Codec, need


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


CODECS = [Codec(9, "powersgd", [("rank", 2, 1, 1024)], decode_powersgd, library_math=lambda params: True)]
