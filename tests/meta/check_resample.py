#!/usr/bin/python3
"""The statistics of src/tool/measure/stats.h against NumPy, on random inputs.

    check_resample.py libgcbench.so
"""

import ctypes
import math
import sys
from ctypes import c_double, c_size_t, c_uint64, c_void_p
from fractions import Fraction

try:
    import numpy as np
except ImportError:
    print("skipped: NumPy is not installed")
    sys.exit(77)

ROUNDS = 300
DRAWS = 400
STREAM = 0x7265736D


def load(path):
    lib = ctypes.CDLL(path)
    reals = np.ctypeslib.ndpointer(dtype=np.float64, flags="C_CONTIGUOUS")
    lib.gcb_quantile.argtypes, lib.gcb_quantile.restype = [reals, c_size_t, c_double], c_double
    lib.gcb_resample_medians.argtypes = [reals, c_size_t, reals, c_size_t, c_uint64]
    lib.gcb_sign_test.argtypes, lib.gcb_sign_test.restype = [c_size_t, c_size_t], c_double
    lib.gcb_holm.argtypes = [reals, reals, c_size_t]
    return lib


def philox_words(key, first, count):
    """Words first..first+count of the generator, written down a second time."""
    words = np.arange(first, first + count, dtype=np.uint64)
    block, low = words // np.uint64(4), np.uint64(0xFFFFFFFF)
    c = [block & low, block >> np.uint64(32), np.full_like(block, STREAM), np.zeros_like(block)]
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(p1 >> np.uint64(32)) ^ c[1] ^ np.uint64(k0), p1 & low,
             (p0 >> np.uint64(32)) ^ c[3] ^ np.uint64(k1), p0 & low]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return np.choose((words % np.uint64(4)).astype(int), c)


def holm(p):
    order = np.argsort(p)
    steps = np.maximum.accumulate((len(p) - np.arange(len(p))) * p[order])
    out = np.empty(len(p))
    out[order] = np.minimum(steps, 1)
    return out


def check_medians(lib, x, seed):
    n, medians = len(x), np.empty(DRAWS)
    lib.gcb_resample_medians(medians, DRAWS, x, n, seed)
    picks = (philox_words(seed, 0, DRAWS * n) * np.uint64(n) >> np.uint64(32)).astype(int)
    samples = np.sort(x)[picks].reshape(DRAWS, n)
    want = np.sort(np.median(samples, axis=1))
    assert np.allclose(medians, want, rtol=1e-15, atol=0), (n, seed)
    for q in (0.025, 0.975):
        assert np.isclose(lib.gcb_quantile(medians, DRAWS, q), np.quantile(want, q), rtol=1e-12)


def check_sign(lib):
    for n in range(0, 121, 7):
        for k in range(n + 1):
            want = Fraction(sum(math.comb(n, i) for i in range(k, n + 1)), 2**n)
            assert np.isclose(lib.gcb_sign_test(k, n), float(want), rtol=1e-11, atol=0), (k, n)


def check_coverage(lib, rng):
    """A 95 % interval holds the true median in about 95 % of the cases."""
    held, rounds, medians = 0, 600, np.empty(1000)
    for seed in range(rounds):
        x = rng.lognormal(0, 0.5, 21)
        lib.gcb_resample_medians(medians, 1000, x, len(x), 1 + seed)
        held += lib.gcb_quantile(medians, 1000, 0.025) <= 1 <= lib.gcb_quantile(medians, 1000, 0.975)
    print(f"coverage of the 95 % interval over {rounds} samples of 21: {held / rounds:.3f}")
    assert 0.9 < held / rounds < 0.99


def main(path):
    lib, rng = load(path), np.random.default_rng(1)
    for _ in range(ROUNDS):
        n = int(rng.integers(1, 60))
        x = rng.lognormal(0, rng.uniform(0.01, 3), n)
        if rng.random() < 0.3:
            x = np.round(x, 1)  # ties
        q = float(rng.choice([0, 1, 0.5, rng.random()]))
        got = lib.gcb_quantile(np.sort(x), n, q)
        assert np.isclose(got, np.quantile(x, q), rtol=1e-12, atol=0), (n, q)
        check_medians(lib, x, int(rng.integers(1, 2**63)))
        p, adjusted = rng.random(n) ** 3, np.empty(n)
        lib.gcb_holm(adjusted, p, n)
        assert np.allclose(adjusted, holm(p), rtol=1e-14, atol=0)
    check_sign(lib)
    check_coverage(lib, rng)
    print(f"{3 * ROUNDS + 2} passed, 0 failed, 0 skipped")


if __name__ == "__main__":
    main(sys.argv[1])
