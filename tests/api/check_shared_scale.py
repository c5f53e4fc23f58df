#!/usr/bin/env python3
"""qsgd and terngrad in an all-reduce, compared with NumPy.

The scales are computed here. Levels that are drawn at random are taken from what the workers sent, and each one must be a
neighbour of the value that it stands for; everything that follows from the levels is computed here."""

import numpy as np

from party import MAX_F32, REDUCE, SUM_I8, SUM_I16, Party

N, STEPS = 5003, 5
WEIGHTS = [np.float32(w) for w in (0.3, 0.25, -0.5, 0.1)]


def buckets(x, size):
    return [slice(at, min(at + size, len(x))) for at in range(0, len(x), size)]


def largest(x, size):
    return np.array([np.abs(x[part]).max() for part in buckets(x, size)])


def l2(x, size):
    return np.array([np.sqrt(np.sum(x[part].astype(np.float64) ** 2)) for part in buckets(x, size)])


def check(method, size, s, norm=largest, clip=0.0, nearest=False, memory=False):
    spec = method + (":" if ":" not in method else ",") + "collective=allreduce" + (",memory=ef" if memory else "")
    rng = np.random.default_rng(5)
    party = Party(spec, (N,), workers=4, weights=WEIGHTS, seed=3)
    residual = [np.zeros(N, np.float32) for _ in WEIGHTS]
    worst = 0.0
    for step in range(STEPS):
        common = rng.laplace(size=N)
        tensors = [(common + rng.laplace(size=N)).astype(np.float32) for _ in WEIGHTS]
        updates, sent = party.step(step, tensors)
        assert all(np.array_equal(u, updates[0]) for u in updates), spec
        wide = 4 * s > 127
        assert [(r.kind, r.reduction) for r in sent] == [(REDUCE, MAX_F32), (REDUCE, SUM_I16 if wide else SUM_I8)], spec
        given = [x + r for x, r in zip(tensors, residual)] if memory else tensors

        limits = [np.abs(w) * norm(x, size) for w, x in zip(WEIGHTS, given)]
        if clip:
            limits = [np.minimum(m, np.abs(w) * clip * x.astype(np.float64).std())
                      for m, w, x in zip(limits, WEIGHTS, given)]
        for limit, data in zip(limits, sent[0].data):
            assert np.allclose(np.frombuffer(data, "<f4"), limit, rtol=1e-6), (spec, "scales")
        scale = np.max([np.frombuffer(data, "<f4") for data in sent[0].data], axis=0)
        scale = np.repeat(scale, size)[:N]

        levels = [np.frombuffer(data, "<i2" if wide else "i1").astype(np.int64) for data in sent[1].data]
        for level, w, x, limit in zip(levels, WEIGHTS, given, limits):
            t = np.clip(w * x, -limit.max(), limit.max()) if clip else w * x
            t = t.astype(np.float64) * s / scale
            assert np.all(np.abs(level - t) <= (0.5 if nearest else 1.0) + 1e-4), (spec, "a level is no neighbour")
            assert np.all(np.abs(level) <= s), spec
        own = [scale * (level / np.float32(s)).astype(np.float32) / w for level, w in zip(levels, WEIGHTS)]
        want = scale * (sum(levels) / np.float32(s)).astype(np.float32)
        assert np.allclose(want, sum(w * o for w, o in zip(WEIGHTS, own)), rtol=1e-4, atol=1e-4), spec
        if memory:
            residual = [x - o for x, o in zip(given, own)]
        worst = max(worst, np.linalg.norm(updates[0] - want) / np.linalg.norm(want))
    party.close()
    assert worst <= 1e-5, (spec, worst)
    print(f"ok: {spec}: {worst:.2g} from NumPy")


def main():
    for memory in (False, True):
        check("qsgd", 512, 7, memory=memory)
        check("qsgd:levels=40,bucket=100", 100, 40, memory=memory)
        check("qsgd:norm=l2,bits=8,bucket=64", 64, 127, norm=l2, memory=memory)
        check("qsgd:rounding=nearest,bits=5", 512, 15, nearest=True, memory=memory)
        check("qgz", 2048, 7, nearest=True, memory=memory)
        check("terngrad:clip=0", N, 1, memory=memory)
        check("terngrad", N, 1, clip=2.5, memory=memory)


if __name__ == "__main__":
    main()
