#!/usr/bin/env python3
"""The all-reduces that encode at every hop (ring, tree), compared with a serial simulation in NumPy.

What methods send is computed as in check_twoshot.py."""
import numpy as np

from check_twoshot import METHODS, N, PATH, SEED, share_ends
from party import GATHER, SHIFT, Party

STEPS = 3
WORKERS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 32)


def weights_of(workers):
    return [np.float32(w) for w in np.random.default_rng(workers).uniform(0.1, 1, workers)]


def ring_route(workers):
    """For each share, the workers that it visits, one after the other."""
    return [[(w + 1 + hop) % workers for hop in range(workers)] for w in range(workers)]


def simulate(collective, tensors, weights, unit, code):
    """Returns the update, and what arrived of each worker's tensor. code(x, worker, share) is what the message of a worker
    decodes to."""
    n, workers = len(tensors[0]), len(tensors)
    scale = np.float32(sum(float(w) for w in weights))
    update, lost = np.zeros(n, np.float32), [np.zeros(n, np.float32) for _ in tensors]

    def add(x, share, worker, arrived):
        """The sum that a worker encodes, and what it decodes to."""
        total = x * (weights[worker] / scale)
        for one in arrived:
            total += one
        decoded = code(total, worker, share)
        lost[worker][a:b] = (total - decoded) * scale / weights[worker]
        return decoded

    def climb(worker, below):
        """The sum that a worker of a tree encodes: its own tensor, and what the workers 1, 2, 4, ... further on send."""
        distances = [d for d in below if worker + d < workers]
        return add(tensors[worker], 0, worker, [climb(worker + d, [e for e in below if e < d]) for d in distances])

    if collective == "tree":
        a, b = 0, n
        update[:] = climb(0, [2 ** k for k in range(workers.bit_length())]) * scale
    else:
        ends = share_ends(n, workers, unit)
        for share, (a, b) in enumerate(zip(ends, ends[1:])):
            arrived = []
            for worker in ring_route(workers)[share] if a < b else []:
                arrived = [add(tensors[worker][a:b], share, worker, arrived)]
            if a < b:
                update[a:b] = arrived[0] * scale
    return update, [x - y for x, y in zip(tensors, lost)]


def messages_of(collective, sent, workers):
    """The message of each worker and share."""
    found = {}
    for r, one in enumerate(sent):
        for w, data in enumerate(one.data):
            share = 0 if collective == "tree" else (w - 1 - r) % workers
            if data:
                assert (w, share) not in found, "a worker encodes a share twice"
                found[w, share] = data
    return found


def check(method, collective, workers, memory, n=N):
    code, unit = METHODS[method]
    spec = f"{method}{',' if ':' in method else ':'}collective={collective}{memory}"
    rng, weights = np.random.default_rng(5), weights_of(workers)
    party = Party(spec, (n,), workers=workers, weights=weights, seed=SEED, path=PATH)
    residual, worst = [np.zeros(n, np.float32) for _ in weights], 0.0
    for step in range(STEPS):
        common = rng.laplace(size=n)
        tensors = [(common + rng.laplace(size=n)).astype(np.float32) for _ in weights]
        updates, sent = party.step(step, tensors)
        hops = workers - 1 if collective == "ring" else (workers - 1).bit_length()
        assert [s.kind for s in sent] == [SHIFT] * hops + [GATHER], spec
        assert all(np.array_equal(u, updates[0]) for u in updates), spec
        messages = messages_of(collective, sent, workers)
        given = [x + r for x, r in zip(tensors, residual)] if memory else tensors
        want, own = simulate(collective, given, weights, unit,
                             lambda x, worker, share: code(x, messages[worker, share], step, workers * share + worker))
        if memory:
            residual = [x - o for x, o in zip(given, own)]
        worst = max(worst, np.linalg.norm(updates[0] - want) / np.linalg.norm(want))
    party.close()
    assert worst <= 1e-6, (spec, workers, n, worst)
    print(f"ok: {spec}, {workers} workers, {n} elements: {worst:.2g} from NumPy")


def main():
    for collective in ("ring", "tree"):
        for method in METHODS:
            check(method, collective, 4, "")
            check(method, collective, 3, ",memory=ef")
        for workers in WORKERS:
            check("range:bits=5,mantissa=2", collective, workers, ",memory=ef")
            check("qsgd", collective, workers, "")
        for n in (1, 3, 70):
            check("fp16", collective, 5, ",memory=ef", n)


if __name__ == "__main__":
    main()
