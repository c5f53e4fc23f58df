#!/usr/bin/env python3
"""The all-reduces that encode sums on their way (ring, tree, hierarchical), compared with a serial simulation in NumPy.

What methods send is computed as in check_twoshot.py."""
import numpy as np

from check_twoshot import METHODS, N, PATH, SEED, share_ends
from party import GATHER, SCATTER, SHIFT, Party

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


def hierarchical(tensors, weights, inner, unit, code):
    """As simulate. code(x, round, worker, receiver, draw) is what the message to a receiver decodes to."""
    n, workers, nodes = len(tensors[0]), len(tensors), len(tensors) // inner
    scale = np.float32(sum(float(w) for w in weights))
    of_node = [np.float32(sum(float(w) for w in weights[a * inner:][:inner])) for a in range(nodes)]
    update, own, ends = np.zeros(n, np.float32), [np.zeros(n, np.float32) for _ in tensors], share_ends(n, workers, unit)

    def mean(decoded, factors, total):
        return sum(f / max(factors) * x for f, x in zip(factors, decoded)) / (total / max(factors))

    for place in range(inner):
        part, means = slice(ends[place * nodes], ends[(place + 1) * nodes]), []
        for a in range(nodes if part.start < part.stop else 0):
            team = range(a * inner, (a + 1) * inner)
            for w in team:
                own[w][part] = code(tensors[w][part], 0, w, a * inner + place, workers * place + w)
            means.append(mean([own[w][part] for w in team], weights[team.start:team.stop], of_node[a]))
        for i, (a, b) in enumerate(zip(ends[place * nodes:], ends[place * nodes + 1:(place + 1) * nodes + 1])):
            there, decoded, owner = slice(a - part.start, b - part.start), [], i * inner + place
            for w, x, weight in zip(range(place, workers, inner), means, of_node) if a < b else []:
                decoded.append(code(x[there], 1, w, owner, workers * (inner + i) + w))
                own[w][a:b] -= (x[there] * weight - decoded[-1] * weight) / weights[w]
            if a < b:
                last = mean(decoded, of_node, scale)
                update[a:b] = code(last, 2, owner, owner, workers * (inner + nodes) + owner) * scale
                own[owner][a:b] -= (last * scale - update[a:b]) / weights[owner]
    return update, own


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


def check(method, collective, workers, memory, n=N, inner=None):
    code, unit = METHODS[method]
    spec = f"{method}{',' if ':' in method else ':'}collective={collective}{f',inner={inner}' if inner else ''}{memory}"
    rng, weights = np.random.default_rng(5), weights_of(workers)
    party = Party(spec, (n,), workers=workers, weights=weights, seed=SEED, path=PATH)
    residual, worst = [np.zeros(n, np.float32) for _ in weights], 0.0
    for step in range(STEPS):
        common = rng.laplace(size=n)
        tensors = [(common + rng.laplace(size=n)).astype(np.float32) for _ in weights]
        updates, sent = party.step(step, tensors)
        given = [x + r for x, r in zip(tensors, residual)] if memory else tensors
        hops = workers - 1 if collective == "ring" else (workers - 1).bit_length()
        assert [s.kind for s in sent] == ([SCATTER] * 4 if inner else [SHIFT] * hops + [GATHER]), spec
        assert all(np.array_equal(u, updates[0]) for u in updates), spec
        if inner:
            want, own = hierarchical(given, weights, inner, unit, lambda x, r, worker, to, draw: code(
                x, sent[r].data[worker][to], step, draw))
        else:
            messages = messages_of(collective, sent, workers)
            want, own = simulate(collective, given, weights, unit, lambda x, worker, share: code(
                x, messages[worker, share], step, workers * share + worker))
        if memory:
            residual = [x - o for x, o in zip(given, own)]
        worst = max(worst, np.linalg.norm(updates[0] - want) / np.linalg.norm(want))
    party.close()
    assert worst <= 1e-6, (spec, workers, n, worst)
    print(f"ok: {spec}, {workers} workers, {n} elements: {worst:.2g} from NumPy")


def check_one_node(workers, inner):
    """A node of all workers, and nodes of one worker, do what a two-shot does."""
    updates = []
    for collective in ("twoshot", f"hierarchical,inner={inner}"):
        party = Party(f"qsgd:collective={collective}", (N,), workers=workers, seed=SEED, path=PATH)
        rng = np.random.default_rng(workers)
        updates.append(party.step(0, [rng.laplace(size=N) for _ in range(workers)])[0])
        party.close()
    assert np.array_equal(*updates), (workers, inner)


def main():
    for method in METHODS:
        check(method, "hierarchical", 4, "", inner=2)
        check(method, "hierarchical", 6, ",memory=ef", inner=3)
    for workers, inner in ((4, 2), (6, 2), (6, 3), (8, 2), (8, 4), (9, 3), (32, 8), (32, 4)):
        check("fp16", "hierarchical", workers, ",memory=ef", inner=inner)
        check("qsgd", "hierarchical", workers, "", inner=inner)
        check("fp16", "hierarchical", workers, ",memory=ef", 7, inner)
    for workers in range(2, 9):
        check_one_node(workers, 8)
        check_one_node(workers, 1)
    for collective in ("ring", "tree"):
        for method in METHODS:
            check(method, collective, 4, "")
            check(method, collective, 3, ",memory=ef")
        for workers in WORKERS:
            check("range:bits=5,mantissa=2", collective, workers, ",memory=ef")
            check("qsgd", collective, workers, "")
        for workers in (2, 8, 32):
            check("mxfp8", collective, workers, "")
            check("int4", collective, workers, "")
        for n in (1, 3, 70):
            check("fp16", collective, 5, ",memory=ef", n)


if __name__ == "__main__":
    main()
