#!/usr/bin/env python3
"""select=mask in an all-reduce, compared with NumPy, also after a checkpoint and with hostile positions and sums."""
import numpy as np

from draws import philox_bytes, stream
from party import MAX_F32, SUM_F32, SUM_I8, SUM_I16, Party

N, STEPS, SEED, ROW = 1003, 13, 3, 16


def largest(x, k):
    return np.sort(np.argsort(-np.abs(x), kind="stable")[:k])


def sums(x, step):
    drawn = np.frombuffer(philox_bytes(stream("tensor", step, 0, 16) ^ SEED, 0, N), np.uint8)
    return np.array([[np.sum(np.where(drawn[at:at + ROW] >> t & 1, -1.0, 1.0) * x[at:at + ROW]) for t in range(4)]
                     for at in range(0, N, ROW)])


def mask_of(agree, k, given, weights, moments, step, every):
    """The positions, and what the first round has to send."""
    if agree == "sketch":
        both = sum(w * sums(x, step) for w, x in zip(weights, given))
        rows = np.sort(np.argsort(-np.linalg.norm(both, axis=1), kind="stable")[:max(1, round(k / N * len(both)))])
        return np.array([i for r in rows for i in range(r * ROW, min(N, r * ROW + ROW))]), (SUM_F32, 16 * len(both))
    if agree == "leader":
        return largest(given[step // every % len(given)], k), (SUM_I16, 4 * k)
    by = moments if agree == "moment" else given
    return np.unique(np.concatenate([p[x[p] != 0] for x in by for p in [largest(x, k)]])), (SUM_I8, N)


def check(agree, workers, every, ternary=False, k=101, weights=None):
    spec = f"sparse:select=mask,agree={agree},every={every},density={k / N},collective=allreduce,memory=ef"
    spec += ",quant=ternary" * ternary + f",chunk={ROW}" * (agree == "sketch")
    rng, worst = np.random.default_rng(workers), 0.0
    weights = weights or [np.float32(1 / (w + 1)) for w in range(workers)]
    party = Party(spec, (N,), workers=workers, weights=weights, seed=SEED)
    residual, moments = [np.zeros((workers, N), np.float32) for _ in range(2)]
    for step in range(STEPS):
        common = rng.laplace(size=N) * (rng.random(N) < 0.3)
        tensors = [(common * rng.uniform(0.5, 1.5, N)).astype(np.float32) for _ in range(workers)]
        if step == 7:  # the same from a checkpoint
            saved, party = [one.save() for one in party.members], Party(spec, (N,), workers=workers, weights=weights, seed=SEED)
            for one, state in zip(party.members, saved):
                one.restore(state)
        given = [x + e for x, e in zip(tensors, residual)]
        moments = [np.float32(0.9) * m + (np.float32(1) - np.float32(0.9)) * x for m, x in zip(moments, given)]
        updates, sent = party.step(step, tensors)
        assert all(np.array_equal(u, updates[0]) for u in updates), spec
        rounds = [(r.reduction, len(r.data[0])) for r in sent]
        if step % every == 0:
            mask, first = mask_of(agree, k, given, weights, moments, step, every)
            assert rounds.pop(0) == first, (spec, rounds)
        want, own = np.zeros(N, np.float32), np.zeros((workers, N), np.float32)
        if ternary:
            assert rounds == [(MAX_F32, 4), (SUM_I8, len(mask))], (spec, rounds)
            scale = np.float32(max(np.max(np.abs(w * x[mask]), initial=0) for w, x in zip(weights, given)))
            for w, x, o, data in zip(weights, given, own, sent[-1].data):
                level = np.frombuffer(data, "i1")
                assert np.all(np.abs(level) <= 1) and np.all(level * x[mask] >= 0), spec
                o[mask] = scale * level / w
        else:
            assert rounds == [(SUM_F32, 4 * len(mask))], (spec, rounds)
            own[:, mask] = np.array(given)[:, mask]
        for w, o in zip(weights, own):
            want += w * o
        residual = [x - o for x, o in zip(given, own)]
        worst = max(worst, np.linalg.norm(updates[0] - want) / np.linalg.norm(want))
    party.close()
    assert worst <= 1e-6, (spec, worst)
    print(f"ok: {spec}, {workers} workers: {worst:.2g} from NumPy")


def check_hostile(agree):
    """Whatever the first round brings, the step ends; nothing is kept that is no element."""
    spec = f"sparse:select=mask,agree={agree},density=0.1,collective=allreduce"
    for fill in (b"\xff\xff", b"\x7f\x7f", b"\x00\x01"):
        party = Party(spec, (N,), workers=2)
        for member in party.members:
            member.begin(0, np.ones(N, np.float32))
        sent = party.rounds()
        for member in party.members:
            member.receive(0, (fill * len(sent.data[0]))[:len(sent.data[0])])
        while True:
            sent = party.rounds()
            if sent is None:
                break
            party.deliver(sent)
        updates = [member.finish(np.empty(N, np.float32)) for member in party.members]
        assert np.array_equal(updates[0], updates[1], equal_nan=True), (spec, fill)
        party.close()


def check_forgotten(agree):
    """Steps with a NaN and steps that do not end change nothing."""
    spec, rng = f"sparse:select=mask,agree={agree},every=2,density=0.1,collective=allreduce", np.random.default_rng(5)
    plain, party = [Party(spec, (N,), workers=2, nonfinite="raw") for _ in range(2)]
    for step in range(5):
        tensors, others = [list(scale * rng.laplace(size=(2, N)).astype(np.float32)) for scale in (1, 100)]
        for member, x in zip(party.members, others):
            member.begin(step, x)
        party.rounds()
        others[1][3] = np.nan
        assert np.isnan(party.step(step, others)[0]).all(), spec
        for got, want in zip(party.step(step, tensors)[0], plain.step(step, tensors)[0]):
            np.testing.assert_array_equal(got, want, spec)
    for one in plain, party:
        one.close()


def main():
    for workers in range(2, 10):
        for agree in ("union", "moment", "leader", "sketch"):
            check(agree, workers, every=1 + workers % 4, ternary=workers % 3 == 0)
    for agree in ("union", "moment", "leader", "sketch"):
        check_hostile(agree)
        check_forgotten(agree)
    check("leader", 3, every=2, weights=[np.float32(w) for w in (0, 1, 0.5)])  # worker 0 leads, too


if __name__ == "__main__":
    main()
