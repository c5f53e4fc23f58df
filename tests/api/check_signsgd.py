#!/usr/bin/env python3
"""signsgd and its majority vote, compared with NumPy."""

import numpy as np

from check_twoshot import twoshot
from draws import philox_bytes, stream
from party import GATHER, SCATTER, Party

N, STEPS, SEED, PATH = 5000, 6, 3, "layer"
WEIGHTS = [np.float32(w) for w in (0.3, 0.25, 0.5, 0.1)]


def coins(step, n, seed, path):
    draw = np.frombuffer(philox_bytes(seed, stream(path, step, 0, 17), -(-n // 8)), np.uint8)
    return np.unpackbits(draw, bitorder="little")[:n]


def signs(x, step, mean=False, bucket=0, seed=SEED, path=PATH):
    """What the message of x decodes to."""
    minus = np.where(x == 0, coins(step, len(x), seed, path), np.signbit(x)).astype(bool)
    out = np.empty_like(x)
    for at in range(0, len(x), bucket or len(x)):
        part = slice(at, at + (bucket or len(x)))
        average = np.float32(np.abs(x[part]).astype(np.float64).mean())
        scale = average if mean else np.float32(np.any(x[part] != 0))
        out[part] = np.where(minus[part], -scale, scale)
    return out


def allgather(tensors, code):
    own = [code(x) for x in tensors]
    return sum(w * x for w, x in zip(WEIGHTS, own)), own


def check(spec, mean=False, bucket=0, votes=False, memory=False):
    rng = np.random.default_rng(5)
    party = Party(spec, (N,), workers=4, weights=WEIGHTS, seed=SEED, path=PATH)
    residual = [np.zeros(N, np.float32) for _ in WEIGHTS]
    worst = 0.0
    for step in range(STEPS):
        common = rng.laplace(size=N)
        tensors = [(common + rng.laplace(size=N)).astype(np.float32) for _ in WEIGHTS]
        for x in tensors:
            x[rng.integers(0, N, N // 10)] = 0
        updates, sent = party.step(step, tensors)
        assert [s.kind for s in sent] == ([SCATTER, GATHER] if votes else [GATHER]), spec
        given = [x + r for x, r in zip(tensors, residual)] if memory else tensors
        code = lambda x, *_: signs(x, step, mean, bucket)
        want, own = twoshot(given, WEIGHTS, bucket or 64, code) if votes else allgather(given, code)
        if memory:
            residual = [x - o for x, o in zip(given, own)]
        worst = max(worst, np.linalg.norm(updates[0] - want) / np.linalg.norm(want))
        assert all(np.array_equal(u, updates[0]) for u in updates), spec
    party.close()
    assert worst <= 1e-5, (spec, worst)
    print(f"ok: {spec}: {worst:.2g} from NumPy")


def main():
    check("signsgd", votes=True)
    check("signsgd:collective=allgather")
    check("signsgd:scale=mean,memory=ef", mean=True, votes=True, memory=True)
    check("signsgd:scale=mean,bucket=100,memory=ef", mean=True, bucket=100, votes=True, memory=True)
    check("signsgd:scale=mean,bucket=77,memory=ef,collective=allgather", mean=True, bucket=77, memory=True)


if __name__ == "__main__":
    main()
