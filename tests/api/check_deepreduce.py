#!/usr/bin/env python3
"""Bloom filters and fitted values, compared with NumPy."""
import math

import numpy as np

import gcbench
from draws import philox_bytes  # noqa: F401: also finds formats
from formats.sparse import bits_of, choose

N = 20000


def decoded(spec, x):
    message = gcbench.Encoder(spec, N).encode(x)
    return gcbench.Decoder.like(message).decode(message)


def check_filter(x, density, policy):
    """Which positions a filter of the largest finds."""
    k = round(density * N)
    top = np.sort(np.argsort(-np.abs(x), kind="stable")[:k])
    hashes = math.ceil(math.log2(10 / density))
    bits = min(N, math.ceil(hashes * k / math.log(2)))
    flags = np.zeros(bits, bool)
    flags[bits_of(top, hashes, bits)] = True
    all_bits = bits_of(np.arange(N), hashes, bits)
    found = np.flatnonzero(np.all(flags[all_bits], axis=0))
    if policy:
        found = choose(policy, found, all_bits[:, found].T, k)
    want = np.zeros(N, np.float32)
    want[found] = x[found]
    name = ("all", "random", "conflict")[policy]
    np.testing.assert_array_equal(decoded(f"topk:density={density},index=bloom,positives={name}", x), want)
    return np.isin(top, found).mean()


def check_fit(x, density):
    """Pieces of polynomials that least squares cannot improve; as few bits of error as 8 pieces allow."""
    y = decoded(f"topk:density={density},values=fit,index=golomb", x)
    kept = np.flatnonzero(decoded(f"topk:density={density}", x))
    order = kept[np.argsort(x[kept], kind="stable")]
    values, fitted = x[order].astype(np.float64), y[order].astype(np.float64)
    message = gcbench.Encoder(f"topk:density={density},values=fit,index=golomb", N, checksum=False).encode(x)
    at = 16 + 8 + 4  # frame, parameters, number of kept elements
    ends = [int.from_bytes(message[at + 28 * p:at + 28 * p + 4], "little") for p in range(8)]
    best, begin = np.zeros(len(kept)), 0
    for end in ends:
        n = end - begin
        u = (2 * np.arange(n) + 1) / n - 1 if n else np.zeros(0)
        basis = np.polynomial.legendre.legvander(u, min(5, n - 1)) if n else np.zeros((0, 1))
        best[begin:end] = basis @ np.linalg.lstsq(basis, values[begin:end], rcond=None)[0] if n else []
        begin = end
    assert np.linalg.norm(best - fitted) <= 1e-6 * np.linalg.norm(best), density
    assert np.linalg.norm(values - fitted) <= 0.05 * np.linalg.norm(values), density


def main():
    x = np.random.default_rng(9).laplace(size=N).astype(np.float32)
    for density in (0.3, 0.1, 0.01, 0.002):
        shares = [check_filter(x, density, policy) for policy in range(3)]
        assert shares[0] == 1 and shares[1] <= shares[2], shares
        check_fit(x, density)
    print("ok: filters and fits as NumPy's")


if __name__ == "__main__":
    main()
