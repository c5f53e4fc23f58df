#!/usr/bin/env python3
"""countsketch, compared with NumPy.

FetchSGD keeps its error, and its momentum, in sketches at the server. The twin does that. The library keeps them in the
workers' memories, as tensors. Because sketches are linear, both must give the same updates.
"""

import numpy as np

from draws import philox_bytes, stream
from party import REDUCE, SUM_F32, Party

N, STEPS, SEED, PATH, ROWS, COLUMNS, K = 6000, 8, 3, "layer", 5, 240, 60
WEIGHTS = [np.float32(w) for w in (0.3, 0.25, 0.5, 0.1)]


def hashes():
    """docs/format.md: the column and the sign of each element in each row."""
    key, u = stream(PATH, 0, 0, 19) ^ SEED, np.uint64
    words = np.frombuffer(philox_bytes(key, 0, 16 * ROWS), "<u4").astype(u).reshape(ROWS, 4)
    x = np.arange(N, dtype=u) ^ words[:, :1]
    x = (x ^ x >> u(16)) * u(0x7FEB352D) & u(0xFFFFFFFF)
    x = (x ^ x >> u(15) ^ words[:, 1:2]) * u(0x846CA68B) & u(0xFFFFFFFF)
    x ^= x >> u(16)
    return ((x >> u(1)) * u(COLUMNS) >> u(31)).astype(np.int64), 1.0 - 2.0 * (x % u(2)).astype(np.float64)


def sketch(x, column, sign):
    table = np.zeros((ROWS, COLUMNS))
    for r in range(ROWS):
        np.add.at(table[r], column[r], sign[r] * x)
    return table


def largest(table, column, sign):
    estimate = np.median([sign[r] * table[r, column[r]] for r in range(ROWS)], axis=0)
    estimate[np.argsort(-np.abs(estimate), kind="stable")[K:]] = 0
    return estimate


def check(spec, momentum=0.0, error=True):
    rng = np.random.default_rng(5)
    party = Party(spec, (N,), workers=4, weights=WEIGHTS, seed=SEED, path=PATH)
    column, sign = hashes()
    velocity, owed = np.zeros((ROWS, COLUMNS)), np.zeros((ROWS, COLUMNS))
    worst = 0.0
    for step in range(STEPS):
        common = rng.standard_t(2, size=N)
        tensors = [(common + rng.laplace(size=N)).astype(np.float32) for _ in WEIGHTS]
        updates, sent = party.step(step, tensors)
        assert len(sent) == 1 and (sent[0].kind, sent[0].reduction) == (REDUCE, SUM_F32), spec
        assert len(sent[0].data[0]) == 4 * ROWS * COLUMNS, spec
        velocity = momentum * velocity + sum(float(w) * sketch(x.astype(np.float64), column, sign)
                                             for w, x in zip(WEIGHTS, tensors))
        owed = owed + velocity if error else velocity
        want = largest(owed, column, sign)
        owed = owed - sketch(want, column, sign)
        worst = max(worst, np.linalg.norm(updates[0] - want) / np.linalg.norm(want))
        assert all(np.array_equal(u, updates[0]) for u in updates), spec
    party.close()
    assert worst <= 1e-5, (spec, worst)
    print(f"ok: {spec}: {worst:.2g} from FetchSGD in NumPy")


def main():
    check("countsketch:theta=0.99", error=False)
    check("countsketch:theta=0.99,memory=ef")
    check("countsketch:theta=0.99,memory=dgc,momentum=0.9,masking=no", momentum=0.9)


if __name__ == "__main__":
    main()
