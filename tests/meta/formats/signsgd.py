import numpy as np

from format_parts import Codec, codes_of, finite_scale, packed_bytes


def decode_signsgd(params, n, source):
    d = min(params["bucket"], n) or n
    buckets = -(-n // d) if n else 0
    two = source.left() == 8 * buckets + packed_bytes(n, 1)
    scales = np.array([finite_scale(source.take(4)) for _ in range(buckets * (1 + two))], np.float32)
    minus = codes_of(source.take(packed_bytes(n, 1)), n, 1)
    at = np.arange(n) // max(d, 1)
    return np.where(minus == 1, -scales[at + buckets * two], scales[at])


CODECS = [Codec(12, "signsgd", [("bucket", 4, 0, 2 ** 32 - 1)], decode_signsgd)]
