#!/usr/bin/env python3
"""EDEN and DRIVE, compared with NumPy in float64."""
import numpy as np

import gcbench
from draws import philox_bytes, stream
from formats.eden import LEVELS, blocks_of, rotate


def estimate(x, bits, block, least, key):
    """What the message decodes to."""
    levels, lengths = LEVELS[bits - 1].astype(np.float64), blocks_of(len(x), block)
    z = np.zeros(sum(lengths))
    z[:len(x)] = x
    sign = 1.0 - 2.0 * np.unpackbits(np.frombuffer(philox_bytes(key, 0, len(z) // 8), np.uint8), bitorder="little")
    z *= sign
    at = 0
    for n in lengths:
        v = z[at:at + n]
        rotate(v)
        v /= np.sqrt(n)
        c = np.abs(np.abs(v)[:, None] / np.sqrt(np.mean(v * v)) - levels).argmin(axis=1)
        c = np.copysign(levels[c], v)
        v[:] = c * ((c @ v) / (c @ c) if least else (v @ v) / (c @ v))
        rotate(v)
        v /= np.sqrt(n)
        at += n
    return (z * sign)[:len(x)]


def main():
    rng = np.random.default_rng(2)
    x = (rng.laplace(size=9001) * np.where(np.arange(9001) % 700 < 300, 1e-3, 1)).astype(np.float32)
    for bits in range(1, 5):
        for rest in ("", ",block=256", ",scale=least"):
            spec = f"eden:bits={bits}{rest}"
            encoder = gcbench.Encoder(spec, len(x), seed=5, path="layer")
            message = encoder.encode(x, step=3, worker=2)
            key = stream("layer", 3, 2, 16) ^ 5
            want = estimate(x, bits, 256 if "256" in rest else 4096, "least" in rest, key)
            got = gcbench.Decoder.like(message).decode(message)
            error = np.linalg.norm(got - want) / np.linalg.norm(want)
            assert error <= 1e-6, (spec, error)
            print(f"ok: {spec}: {error:.2g} from NumPy")


if __name__ == "__main__":
    main()
