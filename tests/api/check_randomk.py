#!/usr/bin/env python3
"""randomk, whose all-reduce sums values at places that all workers draw alike, compared with NumPy."""

import numpy as np

from draws import philox_bytes, stream
from party import GATHER, REDUCE, SUM_F32, Party

N, STEPS, SEED, PATH = 5003, 6, 3, "layer"
WEIGHTS = [np.float32(w) for w in (0.3, 0.25, 0.5, 0.1)]


def places(step, k, n=N, seed=SEED, path=PATH):
    """docs/format.md"""
    key = stream(path, step, 0, 18) ^ seed
    offset = int.from_bytes(philox_bytes(key, 1, 8), "little") * n >> 64
    draw = np.frombuffer(philox_bytes(key, 0, 8 * k), "<u8")
    each, more = n // k, n % k
    return np.array([(offset + j * each + min(j, more) + (int(u) * (each + (j < more)) >> 64)) % n
                     for j, u in enumerate(draw)])


def check(spec, k, factor=1, memory=False, gathers=False):
    rng = np.random.default_rng(5)
    party = Party(spec, (N,), workers=4, weights=WEIGHTS, seed=SEED, path=PATH)
    residual = [np.zeros(N, np.float32) for _ in WEIGHTS]
    worst = 0.0
    for step in range(STEPS):
        common = rng.laplace(size=N)
        tensors = [(common + rng.laplace(size=N)).astype(np.float32) for _ in WEIGHTS]
        updates, sent = party.step(step, tensors)
        assert len(sent) == 1 and sent[0].kind == (GATHER if gathers else REDUCE), spec
        assert gathers or (sent[0].reduction == SUM_F32 and len(sent[0].data[0]) == 4 * k), spec
        kept = np.zeros(N, np.float32)
        kept[places(step, k)] = factor
        given = [x + r for x, r in zip(tensors, residual)] if memory else tensors
        own = [x * kept for x in given]
        want = sum(w * o for w, o in zip(WEIGHTS, own))
        if memory:
            residual = [x - o for x, o in zip(given, own)]
        worst = max(worst, np.linalg.norm(updates[0] - want) / np.linalg.norm(want))
        assert all(np.array_equal(u, updates[0]) for u in updates), spec
    party.close()
    assert worst <= 1e-5, (spec, worst)
    print(f"ok: {spec}: {worst:.2g} from NumPy")


def main():
    check("randomk:theta=0.99,memory=ef", 50, memory=True)
    check("randomk:theta=0.99,memory=ef,collective=allgather", 50, memory=True, gathers=True)
    check("randomk:p=0.3", 1501)
    check("randomk:p=0.3,scaling=unbiased", 1501, factor=np.float32(N / 1501))


if __name__ == "__main__":
    main()
