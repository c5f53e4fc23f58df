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


def drawn(columns, vector, step, seed, path, mean=510.0):
    data = philox_bytes(seed, stream(path, step, 0, 1 + vector), 4 * columns)
    return np.frombuffer(data, np.uint8).reshape(-1, 4).sum(axis=1) - mean


class Twin:
    mean = 510.0  # of a draw

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
                first[:, v] = drawn(self.columns, v, 0 if self.warm else step, self.seed, self.path, self.mean)
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


class TiledTwin:
    """All-reduces of tiles: each is a matrix of its own."""

    def __init__(self, shape, rank, warm, tile):
        rows, columns, h, w = sides_of(shape, tile)
        self.shape, self.tile = shape, tile
        self.twins = [Twin((h, w), rank, warm) for _ in range(rows * columns // h // w)]
        for twin in self.twins:
            twin.dense, twin.mean = False, 509.5

    def update(self, tensors, step):
        parts = [cut(x, self.tile) for x in tensors]
        update = join(np.array([twin.update(list(part), step)[0] for twin, *part in zip(self.twins, *parts)]), self.shape)
        return update, [update / sum(self.twins[0].weights)] * len(tensors)

    def floats(self):
        return list(np.sum([twin.floats() for twin in self.twins], axis=0))


def dot(a, b):
    """In double, in the library's order of additions."""
    lanes = np.zeros(8)
    for i in range(len(a)):
        lanes[i % 8] += float(a[i]) * float(b[i])
    return sum(lanes)


def exactly_orthonormal(rows):
    done = []
    for row in rows:
        v = row.astype(np.float64)
        before = np.sqrt(dot(v, v))
        for other in done:
            v = v - dot(v, other) * other
        after = np.sqrt(dot(v, v))
        done.append(v * (1 / after if after > 1e-7 * before else 0.0))
    return np.array(done).astype(np.float32)


def total(terms):
    """The sum over the last axis, in float32 and in its order."""
    out = np.zeros(terms.shape[:-1], np.float32)
    for i in range(terms.shape[-1]):
        out += terms[..., i]
    return out


def inverse(x):
    return np.divide(np.float32(1), x, out=np.zeros_like(x), where=x > 0)


def normal(x):
    return x * inverse(np.abs(x).max(axis=1, keepdims=True))


class MessageTwin:
    """Messages of tiles, in float32 and in the library's order of operations."""

    def __init__(self, shapes, tile, rank, bits=32, budget=0):
        self.shapes, self.tile, self.bits, self.budget = shapes, tile, bits, budget
        self.rank = [min(rank, *sides_of(shape, tile)[2:]) for shape in shapes]
        self.kept = [None] * len(shapes)

    def factor(self, m, first):
        """The products of each vector, what they take away for each bit, and the next step's vectors."""
        top, products, gains, kept = np.float32(2 ** (self.bits - 1) - 1), [], [], []
        for q in first:
            for step in range(4):
                if step:
                    q = total((m * p[:, :, None]).swapaxes(1, 2))
                q = normal(q)
                p = normal(total(m * q[:, None, :]))
            if self.bits == 32:
                p = p * inverse(np.sqrt(total(p * p)))[:, None]
            else:
                p = np.rint(p * top)
            q = total((m * p[:, :, None]).swapaxes(1, 2))
            scale = np.ones(len(m), np.float32)
            if self.bits < 32:
                q = q * inverse(total(p * p))[:, None]
            exact = q
            if self.bits < 32:
                scale = (np.abs(q).max(axis=1) / top).view(np.uint32)
                scale = (scale + 0xFFFF & 0xFFFF0000).astype(np.uint32).view(np.float32)
                q = np.rint(q * inverse(scale)[:, None])
            kept.append(exact)
            rounded = q.astype(np.float64) * scale[:, None]
            energy = (p.astype(np.float64) ** 2).sum(axis=1) * (rounded * (2 * exact.astype(np.float64) - rounded)).sum(axis=1)
            cost = (p.shape[1] + q.shape[1]) * self.bits + (16 if self.bits < 32 else 0)
            gain = np.sqrt(np.maximum(energy, 0) / cost).astype(np.float32)
            gains.append(np.minimum(gain, gains[-1]) if gains else gain)
            products.append((scale[:, None] * p)[:, :, None] * q[:, None, :])
            m = m - products[-1]
        return products, gains, kept

    def decoded(self, tensors, head):
        """What the decoder makes of the tensors. `head`: bytes of the payload before the ranks."""
        results, order = [], []
        for i, x in enumerate(tensors):
            m = cut(x, self.tile)
            h, w = m.shape[1:]
            first = self.kept[i] if self.kept[i] is not None else [np.zeros((len(m), w), np.float32)] * self.rank[i]
            draws = [drawn(w, v, 0, SEED, PATH, 509.5).astype(np.float32) for v in range(self.rank[i])]
            first = [np.where(f.any(axis=1, keepdims=True), f, d) for f, d in zip(first, draws)]
            first = np.array([exactly_orthonormal(rows) for rows in np.swapaxes(first, 0, 1)]).swapaxes(0, 1)
            products, gains, self.kept[i] = self.factor(m, first)
            results.append((products, (h + w) * self.bits + (16 if self.bits < 32 else 0)))
            order += [(-gain, i, t, v) for v in range(len(gains)) for t, gain in enumerate(gains[v])]
        ranks = [[self.rank[i]] * len(r[0][0]) for i, r in enumerate(results)]
        if self.budget:
            ranks = [[0] * len(r) for r in ranks]
            left = int(self.budget * sum(x.size for x in tensors) - 8 * (head + sum(map(len, ranks)) + 2))
            for gain, i, t, v in sorted(order):
                if gain == 0 or results[i][1] > left:
                    break
                ranks[i][t] += 1
                left -= results[i][1]
        out = []
        for (products, _), rank, x in zip(results, ranks, tensors):
            y = np.zeros_like(products[0])
            for v, product in enumerate(products):
                y += product * (np.array(rank) > v)[:, None, None]
            out.append(join(y, x.shape))
        return out


def check_messages(shapes, tile, rank, bits=32, budget=0):
    rng = np.random.default_rng(7)
    spec = f"powersgd:tile={tile[0]}x{tile[1]},rank={rank},factor-bits={bits},bits-per-element={budget}"
    twin, n = MessageTwin(shapes, tile, rank, bits, budget), sum(int(np.prod(shape)) for shape in shapes)
    encoder = gcbench.Encoder(spec, n, shape=shapes, seed=SEED, path=PATH)
    decoder = gcbench.Decoder(spec, n)
    for step in range(3):
        tensors = [(rng.standard_normal(shape) * rng.laplace(size=shape[:1] + (1,) * (len(shape) - 1)) * 1e-3)
                   .astype(np.float32) for shape in shapes]
        message = encoder.encode(np.concatenate([x.reshape(-1) for x in tensors]), step=step)
        got = np.asarray(decoder.decode(message))
        want = np.concatenate([x.reshape(-1) for x in twin.decoded(tensors, 4 + 3 * len(shapes) + sum(
            int(np.prod(shape[1:])) > 127 for shape in shapes) + 1)])
        far = np.linalg.norm(got - want) / np.linalg.norm(want)
        assert far < 1e-6, (spec, step, far)
        assert not budget or 8 * len(message) < budget * n + 8 * 64
    print(f"ok: messages, {spec}: {far:.1e} apart")


def check(shape, rank, start="warm", tile=None):
    rng = np.random.default_rng(5)
    spec = f"powersgd:rank={rank},start={start},memory=ef" + (f",tile={tile[0]}x{tile[1]}" if tile else "")
    party = Party(spec, shape, workers=4, weights=WEIGHTS, seed=SEED, path=PATH)
    twin = TiledTwin(shape, rank, start == "warm", tile) if tile else Twin(shape, rank, start == "warm")
    residual = [np.zeros(shape) for _ in WEIGHTS]
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
    check((96, 80), 2, tile=(64, 64))
    check((32, 16, 3, 3), 1, "cold", tile=(16, 50))
    shapes = [(96, 80), (32, 16, 3, 3), (50, 26)]
    check_messages(shapes, (64, 64), 1, 5)
    check_messages(shapes, (64, 64), 3)
    check_messages(shapes, (16, 128), 3, 4, 0.9)
    check_messages(shapes, (32, 32), 2, 32, 1.5)


if __name__ == "__main__":
    main()
