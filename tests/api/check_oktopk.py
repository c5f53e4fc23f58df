#!/usr/bin/env python3
"""Ok-Topk in NumPy, compared with the library over several steps."""

import numpy as np

from party import GATHER, REDUCE, SCATTER, Party

ESTIMATE_EVERY, DIVIDE_EVERY, DRIFT = 32, 64, np.float32(1.008)


def largest(x, k):
    """The positions of the k largest magnitudes; among equal ones, the first."""
    return np.sort(np.argsort(-np.abs(x), kind="stable")[:k])


def piece_bytes(k):
    """A head, a number of elements, and values and positions of 4 bytes each."""
    return 4 + 4 + 8 * k


class Twin:
    """All workers, each with error feedback."""
    def __init__(self, n, density, weights):
        self.k, self.weights = max(1, round(density * n)), np.float32(weights)
        self.residual = np.zeros((len(weights), n), np.float32)
        self.threshold, self.estimated_at = None, None
        self.ends, self.divided_at = None, None

    def kth(self, x):
        return np.sort(np.abs(x))[-min(self.k, len(x))]

    def divide(self, step, chosen):
        """The regions: owner w has the positions from ends[w] to ends[w + 1] - 1."""
        workers, n = chosen.shape
        self.divided = workers > 1 and (self.ends is None or step // DIVIDE_EVERY != self.divided_at // DIVIDE_EVERY)
        if not self.divided:
            self.ends = [0, n] if self.ends is None else self.ends
            return
        sums = np.zeros(workers - 1, np.float32)
        for mask, weight in zip(chosen, self.weights):
            at, w = np.flatnonzero(mask) if weight else [], np.arange(1, workers)
            sums += np.float32(at[len(at) // workers * w + len(at) % workers * w // workers] if len(at) else
                               np.float32(n) / np.float32(workers) * w)
        means = (sums / np.float32(workers)).astype(int)
        self.ends, self.divided_at = [0, *np.maximum.accumulate(means), n], step

    def count(self, mask):
        """How many elements are in each region."""
        return [int(mask[a:b].sum()) for a, b in zip(self.ends, self.ends[1:])]

    def step(self, step, tensors):
        """Returns the update. self.scattered[w][v]: elements that worker w sends to v; self.gathered[w]: sums that w sends;
        self.divided: the step begins with a round for the boundaries."""
        input = self.residual + np.float32(tensors)
        chosen = np.zeros(input.shape, bool)
        for x, mask in zip(input, chosen):
            mask[largest(x, self.k)] = True
        union = chosen[self.weights != 0].any(0)
        self.divide(step, chosen)
        self.scattered = [self.count(mask & (weight != 0)) for mask, weight in zip(chosen, self.weights)]
        total = np.zeros(input.shape[1], np.float32)
        for x, mask, weight in zip(input, chosen, self.weights):
            total[mask] += weight * x[mask]
        if self.threshold is None or step // ESTIMATE_EVERY != self.estimated_at // ESTIMATE_EVERY:
            self.threshold, self.estimated_at = self.kth(total[union]), step
            kept = union & (np.abs(total) >= self.threshold)
            self.gathered = self.count(union)
        else:
            kept = union & (np.abs(total) >= self.threshold)
            self.gathered = self.count(kept)
            if 3 * kept.sum() > 4 * self.k:
                self.threshold = self.kth(total[kept])
            elif 3 * kept.sum() < 2 * self.k:
                self.threshold /= DRIFT
        arrived = chosen & (kept | (self.weights == 0)[:, None])
        self.residual = np.where(arrived, np.float32(0), input)
        return np.where(kept, total, np.float32(0))


def check(workers, weights, steps, n=3000, density=0.01, options=""):
    rng = np.random.default_rng(workers)
    spec = f"topk:density={density},memory=ef,collective=oktopk{options}"
    party, twin = Party(spec, (n,), workers, weights), Twin(n, density, weights)
    shared = rng.laplace(size=n)
    worst = 0.0
    for step in steps:
        tensors = [(shared + rng.laplace(size=n)).astype(np.float32) for _ in range(workers)]
        updates, sent = party.step(step, tensors)
        want = twin.step(step, tensors)
        assert all(np.array_equal(u, updates[0]) for u in updates)
        worst = max(worst, np.linalg.norm(updates[0] - want) / np.linalg.norm(want))
        kinds = [round.kind for round in sent]
        assert kinds == [REDUCE] * twin.divided + [SCATTER, GATHER], (step, kinds)
        if not options:
            assert [[len(part) for part in parts] for parts in sent[-2].data] == [
                [piece_bytes(k) for k in parts] for parts in twin.scattered], step
            assert [len(part) for part in sent[-1].data] == [8 + piece_bytes(k) for k in twin.gathered], step
    party.close()
    assert worst < 1e-5, (spec, workers, worst)
    print(f"ok: {workers} workers, {len(steps)} steps, differ by {worst:.1e}{options}")


def main():
    check(3, [0.5, 0.25, 0.25], range(70))
    check(4, [0.25] * 4, range(40))
    check(4, [0.25] * 4, [5, 6, 31, 32, 33, 63, 64, 65, 200, 7, 8])
    check(5, [0.3, 0.1, -0.2, 0.0, 1.0], range(20, 50))
    check(1, [1.0], range(5))
    check(3, [1.0, 1.0, 1.0], range(40), density=0.1, options=",index=bitmap")


if __name__ == "__main__":
    main()
