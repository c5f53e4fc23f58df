#!/usr/bin/env python3
"""Global momentum compression (memory=gmc), compared with NumPy."""

import numpy as np

from party import Party

SHAPE, STEPS, DENSITY, BETA = (30, 20), 12, 0.1, 0.9


def top_k(x, k):
    """The k largest magnitudes of x, 0 elsewhere; ties go to the lower index."""
    kept = np.argsort(-np.abs(x), kind="stable")[:k]
    out = np.zeros_like(x)
    out[kept] = x[kept]
    return out


def follow(gradients, weights):
    """The updates of all steps by the paper's recurrence: u = e + g + beta a; send C(u); e = u - C(u). `a` is the last
    update divided by the sum of the weights, which is (w_t - w_{t+1}) / learning rate."""
    n = gradients[0][0].size
    left = [np.zeros(n, np.float32) for _ in weights]
    a, updates = np.zeros(n, np.float32), []
    for tensors in gradients:
        update = np.zeros(n, np.float32)
        for w, x in enumerate(tensors):
            u = left[w] + (np.float32(BETA) * a + x.ravel())
            sent = top_k(u, round(DENSITY * n))
            left[w] = u - sent
            update += np.float32(weights[w]) * sent
        a = update / np.float32(sum(weights))
        updates.append(update.reshape(SHAPE))
    return updates


def compare(weights, memory, rng):
    gradients = [[rng.standard_normal(SHAPE).astype(np.float32) for _ in weights] for _ in range(STEPS)]
    party = Party(f"topk:density={DENSITY},{memory}", SHAPE, workers=len(weights), weights=weights)
    worst = 0.0
    for step, want in enumerate(follow(gradients, weights)):
        updates, _ = party.step(step, gradients[step])
        assert all(np.array_equal(u, updates[0]) for u in updates)
        worst = max(worst, np.linalg.norm(updates[0] - want) / np.linalg.norm(want))
    party.close()
    return worst


def main():
    rng = np.random.default_rng(3)
    for weights in ([0.25] * 4, [0.5, 0.25, 2.0, 0.125]):
        worst = compare(weights, f"memory=gmc,momentum={BETA}", rng)
        assert worst < 1e-5, (weights, worst)
        assert compare(weights, "memory=ef", rng) > 1e-2  # the recurrence is not that of plain feedback
        print(f"ok: gmc, weights {weights}, largest difference {worst:.1e}")


if __name__ == "__main__":
    main()
