import numpy as np

from format_parts import Codec, codes_of, finite_scale, packed_bytes


def decode_terngrad(params, n, source):
    scale = finite_scale(source.take(4))
    if params["packing"] == 0:
        code = codes_of(source.take(packed_bytes(n, 2)), n, 2)
    else:
        byte = np.frombuffer(source.take(-(-n // 5)), np.uint8).astype(np.int64)
        code = (byte[:, None] // 3 ** np.arange(5) % 3).reshape(-1)[:n]
    return np.array([-scale, 0, scale, 0], np.float32)[code]


CODECS = [Codec(6, "terngrad", [("packing", 1, 0, 1)], decode_terngrad)]
