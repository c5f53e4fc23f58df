import numpy as np

from format_parts import Codec, need, philox_draws


def decode_randomk(params, n, source):
    key = source.number(8)
    data = source.take(source.left())
    need(len(data) % 4 == 0, "a value that is cut")
    value, x = np.frombuffer(data, "<f4"), np.zeros(n, np.float32)
    k = len(value)
    need(k <= n and (k or not n) and np.all(np.isfinite(value)), "too many values, or infinities")
    if k:
        offset, each, more = philox_draws(key, 1, 1)[0] * n >> 64, n // k, n % k
        for j, draw in enumerate(philox_draws(key, 0, k)):
            place = offset + j * each + min(j, more) + (draw * (each + (j < more)) >> 64)
            x[place % n] = value[j]
    return x


CODECS = [Codec(10, "randomk", [], decode_randomk)]
