#!/usr/bin/env python3
"""powersgd with error feedback, compared with NumPy."""

import numpy as np

import gcbench
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


def sides_of(shape, tile):
    """Rows, columns, and the sides of a tile."""
    rows, columns = shape[0], int(np.prod(shape[1:]))
    return (rows, columns, *(max(d for d in range(1, most + 1) if side % d == 0)
                             for side, most in zip((rows, columns), tile)))


def cut(x, tile):
    """The tiles of a tensor, one after another."""
    rows, columns, h, w = sides_of(x.shape, tile)
    return x.reshape(rows // h, h, columns // w, w).swapaxes(1, 2).reshape(-1, h, w)


def join(tiles, shape):
    h, w = tiles.shape[1:]
    return tiles.reshape(shape[0] // h, -1, h, w).swapaxes(1, 2).reshape(shape)


def total(terms):
    """The sum over the last axis, in float32 and in its order."""
    out = np.zeros(terms.shape[:-1], np.float32)
    for i in range(terms.shape[-1]):
        out += terms[..., i]
    return out


def inverse(x):
    return np.divide(np.float32(1), x, out=np.zeros_like(x), where=x > 0)


def rescaled(x, top):
    """Divided by a scale of 8 significant bits; the scale."""
    scale = ((np.abs(x).max(axis=1) / top).view(np.uint32) + 0xFFFF & 0xFFFF0000).astype(np.uint32).view(np.float32)
    return x * inverse(scale)[:, None], scale


class Tiles:
    """Messages of tiles, in float32 and in the library's order of operations."""

    def __init__(self, shapes, tile, rank, bits, budget):
        self.shapes, self.tile, self.bits, self.budget = shapes, tile, bits, budget
        self.rank = [min(rank, *sides_of(shape, tile)[2:]) for shape in shapes]
        self.kept = [[None] * rank for rank in self.rank]

    def factor(self, m, kept):
        """For each vector, the products of the tiles, and the squared error that they take away. Changes `kept`."""
        top, products, gains = np.float32(2 ** (self.bits - 1) - 1), [], []
        for v, q in enumerate(kept):
            if q is None:
                drawn = np.frombuffer(philox_bytes(SEED, stream(PATH, 0, 0, 1 + v), m.shape[2]), np.uint8)
                q = np.tile(drawn - np.float32(127.5), (len(m), 1))
            for step in range(4):
                q = rescaled(q, top)[0]
                p = rescaled(total(m * q[:, None, :]), top)[0]
                p = np.rint(p) if step == 3 else p
                q = total((m * p[:, :, None]).swapaxes(1, 2))
            kept[v] = q = q / total(p * p)[:, None]
            q, scale = rescaled(q, top)
            q = np.rint(q)
            gains.append(scale.astype(np.float64) * np.sqrt((p.astype(np.float64) ** 2).sum(1) * (q.astype(np.float64) ** 2).sum(1)))
            products.append((scale[:, None] * p)[:, :, None] * q[:, None, :])
            m = m - products[-1]
        return products, gains

    def decoded(self, tensors, head):
        """What the decoder makes of the tensors. `head`: bytes of the payload before the vectors."""
        results, gains, costs, limit = [], [], [], self.budget * sum(x.size for x in tensors) // 8 - head
        for i, x in enumerate(tensors):
            m = cut(x, self.tile)
            products, taken = self.factor(m, self.kept[i])
            cost = 2 + (sum(m.shape[1:]) * self.bits + 7) // 8
            gain = np.minimum.accumulate(np.array(taken) / np.sqrt(cost)).astype(np.float32)
            gains.append(np.full_like(gain, np.inf) if 1 in m.shape[1:] else gain)
            costs.append(cost)
            results.append(products)
        for least in np.unique(np.concatenate([[0]] + [gain.reshape(-1) for gain in gains])):
            ranks = [(gain > least).sum(0) for gain in gains]
            if not self.budget or sum(np.where(rank, rank * cost, 2).sum() for rank, cost in zip(ranks, costs)) <= limit:
                break
        for i, products in enumerate(results):
            y = np.zeros_like(products[0])
            for v, product in enumerate(products):
                y += product * (ranks[i] > v)[:, None, None]
            yield join(y, self.shapes[i]).reshape(-1)


def check_tiles(shapes, tile, rank, bits=5, budget=0):
    rng = np.random.default_rng(7)
    spec = f"powersgd:tile={tile[0]}x{tile[1]},rank={rank},factor-bits={bits},bits-per-element={budget}"
    twin, n = Tiles(shapes, tile, rank, bits, budget), sum(int(np.prod(shape)) for shape in shapes)
    encoder, decoder = gcbench.Encoder(spec, n, shape=shapes, seed=SEED, path=PATH), gcbench.Decoder(spec, n)
    for step in range(3):
        tensors = [(rng.standard_normal(shape) * rng.laplace(size=shape[:1] + (1,) * (len(shape) - 1)) * 1e-3)
                   .astype(np.float32) for shape in shapes]
        message = encoder.encode(np.concatenate([x.reshape(-1) for x in tensors]), step=step)
        got = np.asarray(decoder.decode(message))
        head = 4 + sum(3 + (shape[0] > 127) + (int(np.prod(shape[1:])) > 127) for shape in shapes)
        want = np.concatenate(list(twin.decoded(tensors, head)))
        far = np.linalg.norm(got - want) / np.linalg.norm(want)
        assert far < 1e-6, (spec, step, far)
        assert not budget or 0.9 * budget * n < 8 * len(message) < budget * n + 8 * 64, len(message)
    print(f"ok: {spec}, {len(shapes)} tensors: {far:.1e} apart")


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
    shapes = [(96, 80), (32, 16, 3, 3), (50, 26)]
    check_tiles(shapes, (64, 64), 1)
    check_tiles(shapes, (64, 64), 3, 8)
    check_tiles(shapes, (16, 128), 3, 4, 0.9)
    check_tiles([(48, 64), (1, 90), (30, 44)], (32, 32), 2, 5, 0.5)


if __name__ == "__main__":
    main()
