#!/usr/bin/env python3
"""powersgd with error feedback, compared with NumPy."""

import numpy as np

from draws import philox_bytes, stream
from party import REDUCE, SUM_F32, Party

STEPS, SEED, PATH = 5, 3, "layer"
WEIGHTS = [np.float32(w) for w in (0.3, 0.25, 0.5, 0.1)]


def orthonormal(a):
    """The columns of a, by the modified Gram-Schmidt process; a dependent column becomes zero."""
    out = np.zeros(a.shape)
    for i in range(a.shape[1]):
        v = a[:, i].astype(np.float64)
        before = np.linalg.norm(v)
        for j in range(i):
            v = v - (v @ out[:, j]) * out[:, j]
        if np.linalg.norm(v) > 1e-7 * before:
            out[:, i] = v / np.linalg.norm(v)
    return out


def drawn(columns, vector, step, seed, path):
    data = philox_bytes(seed, stream(path, step, 0, 1 + vector), 4 * columns)
    return np.frombuffer(data, np.uint8).reshape(-1, 4).sum(axis=1) - 510.0


class Twin:
    def __init__(self, shape, rank, warm, weights=WEIGHTS, seed=SEED, path=PATH):
        self.weights, self.seed, self.path = [float(w) for w in weights], seed, path
        self.rows, self.columns = shape[0], int(np.prod(shape[1:]))
        self.rank, self.warm = min(rank, self.rows, self.columns), warm
        self.dense = len(shape) < 2 or self.rank * (self.rows + self.columns) >= self.rows * self.columns
        self.q = np.zeros((self.columns, self.rank))

    def update(self, tensors, step):
        if self.dense:
            return sum(w * x for w, x in zip(self.weights, tensors)), tensors
        matrices = [x.reshape(self.rows, self.columns).astype(np.float64) for x in tensors]
        first = self.q.copy() if self.warm else np.zeros_like(self.q)
        for v in range(self.rank):
            if not first[:, v].any():
                first[:, v] = drawn(self.columns, v, 0 if self.warm else step, self.seed, self.path)
        first = orthonormal(first)
        p = orthonormal(sum(w * m @ first for w, m in zip(self.weights, matrices)))
        self.q = sum(w * m.T @ p for w, m in zip(self.weights, matrices))
        update = (p @ self.q.T).reshape(tensors[0].shape)
        return update, [update / sum(self.weights)] * len(tensors)

    def floats(self):
        """What each worker adds in each round."""
        if self.dense:
            return [self.rows * self.columns]
        return [self.rank * self.rows, self.rank * self.columns]


def check(shape, rank, start="warm"):
    rng = np.random.default_rng(5)
    spec = f"powersgd:rank={rank},start={start},memory=ef"
    party = Party(spec, shape, workers=4, weights=WEIGHTS, seed=SEED, path=PATH)
    twin, residual = Twin(shape, rank, start == "warm"), [np.zeros(shape) for _ in WEIGHTS]
    worst = 0.0
    for step in range(STEPS):
        common = rng.laplace(size=shape)
        tensors = [(common + rng.laplace(size=shape)).astype(np.float32) for _ in WEIGHTS]
        updates, sent = party.step(step, tensors)
        tensors = [x + r for x, r in zip(tensors, residual)]
        want, own = twin.update(tensors, step)
        residual = [x - o for x, o in zip(tensors, own)]
        assert all(np.array_equal(u, updates[0]) for u in updates)
        assert all(s.kind == REDUCE and s.reduction == SUM_F32 for s in sent)
        assert [len(s.data[0]) for s in sent] == [4 * n for n in twin.floats()], twin.floats()
        worst = max(worst, np.linalg.norm(updates[0] - want) / np.linalg.norm(want))
    party.close()
    assert worst < 1e-5, (spec, shape, worst)
    print(f"ok: {spec}, {'x'.join(map(str, shape))}, {STEPS} steps: {worst:.1e} apart")


def main():
    check((96, 80), 4)
    check((64, 300), 1)
    check((40, 70), 3, "cold")
    check((32, 16, 3, 3), 2)
    check((200, 9), 8)
    check((500,), 4)
    check((10, 12), 6)


if __name__ == "__main__":
    main()
