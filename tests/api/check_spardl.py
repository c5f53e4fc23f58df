#!/usr/bin/env python3
"""SparDL in NumPy, compared with the library over several steps."""

import numpy as np

from check_oktopk import largest
from party import GATHER, SCATTER, Party


def piece_bytes(blocks):
    """A head, and for each block a number of elements, and values and positions of 4 bytes each."""
    return 4 + sum(4 + 8 * np.count_nonzero(values) for values in blocks)


class Twin:
    """All workers, each with error feedback. `sums[w]` are worker w's sums of all positions."""
    def __init__(self, n, density, weights):
        self.n, self.k, self.weights = n, max(1, round(density * n)), np.float32(weights)
        self.residual = np.zeros((len(weights), n), np.float32)

    def thin(self, w, block, sums):
        """Worker w makes a block sparse: what is dropped goes to its memory. Returns what it sends."""
        block = np.array(block)
        kept = np.zeros(len(block), np.float32)
        best = largest(sums[w, block], -(-self.k // len(self.weights))) if self.weights[w] else range(len(block))
        kept[best] = sums[w, block][best]
        if self.weights[w]:
            self.residual[w, block] += (sums[w, block] - kept) / self.weights[w]
        return kept

    def step(self, step, tensors):
        count = len(self.weights)
        input = self.residual + np.float32(tensors)
        self.residual = input.copy()
        sums = np.zeros_like(input)
        for w, x in enumerate(input):
            chosen = largest(x, self.k)
            self.residual[w, chosen] = 0
            sums[w, chosen] = self.weights[w] * x[chosen]
        blocks = np.array_split(np.arange(self.n), count)
        distance = 1 << (count - 1).bit_length() >> 1
        self.sent = []
        while distance:
            sent = [[(b % count, self.thin(w, blocks[b % count], sums))
                     for b in range(w + distance, w + min(2 * distance, count))] for w in range(count)]
            self.sent.append([piece_bytes(values for _, values in bag) for bag in sent])
            for w, bag in enumerate(sent):
                for b, values in bag:
                    sums[(w + distance) % count, blocks[b]] += values
            distance //= 2
        own = [self.thin(w, blocks[w], sums) for w in range(count)]
        self.sent.append([piece_bytes([values]) for values in own])
        return np.concatenate(own)


def check(workers, weights, steps, n=3001, density=0.01, options=""):
    rng = np.random.default_rng(workers)
    spec = f"topk:density={density},memory=ef,collective=spardl{options}"
    party, twin = Party(spec, (n,), workers, weights), Twin(n, density, weights)
    shared = rng.laplace(size=n)
    worst = 0.0
    for step in range(steps):
        tensors = [(shared + rng.laplace(size=n)).astype(np.float32) for _ in range(workers)]
        updates, sent = party.step(step, tensors)
        want = twin.step(step, tensors)
        assert all(np.array_equal(u, updates[0]) for u in updates)
        worst = max(worst, np.linalg.norm(updates[0] - want) / np.linalg.norm(want))
        if not options and all(weights):
            assert [[len(b"".join(data)) for data in round.data] for round in sent[:-1]] == twin.sent[:-1], step
            assert [len(data) for data in sent[-1].data] == twin.sent[-1], step
        assert [round.kind for round in sent] == [SCATTER] * (workers - 1).bit_length() + [GATHER]
    party.close()
    assert worst < 1e-5, (spec, workers, worst)
    print(f"ok: {workers} workers, {steps} steps, differ by {worst:.1e}{options}")


def main():
    check(3, [0.5, 0.25, 0.25], 12)
    check(4, [0.25] * 4, 12)
    check(5, [0.3, 0.1, -0.2, 0.0, 1.0], 12)
    check(7, [0.15, 0.1, 0.2, 0.3, 1.0, 0.5, 0.25], 8)
    check(1, [1.0], 3)
    check(2, [1.0, 1.0], 12, density=0.1, options=",index=bitmap")


if __name__ == "__main__":
    main()
