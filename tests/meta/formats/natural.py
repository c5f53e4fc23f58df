import numpy as np

from format_parts import Codec, codes_of, need, packed_bytes


def decode_natural(params, n, source):
    code = codes_of(source.take(packed_bytes(n, 9)), n, 9)
    need(not np.any(code & 255 == 255), "an exponent field of ones")
    return (code << 23).astype(np.uint32).view(np.float32)


CODECS = [Codec(7, "natural", [], decode_natural)]
