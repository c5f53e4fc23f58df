#!/usr/bin/env python3
"""EF21 (memory=ef21), compared with NumPy, also after a checkpoint and a NaN."""
import numpy as np

from party import Party

N, STEPS, K = 600, 14, 60


def largest(x):
    kept = np.zeros_like(x)
    where = np.argsort(-np.abs(x), kind="stable")[:K]
    kept[where] = x[where]
    return kept


def check(workers):
    spec, rng = f"topk:density={K / N},memory=ef21", np.random.default_rng(workers)
    arrived, update, worst = [np.zeros(N, np.float32)] * workers, np.zeros(N, np.float32), 0.0
    party, goal = Party(spec, (N,), workers=workers, nonfinite="raw"), rng.laplace(size=(workers, N)).astype(np.float32)
    for step in range(STEPS):
        tensors = list(goal + np.float32(0.01) * rng.standard_normal((workers, N)).astype(np.float32))
        if step == 7:  # the same from a checkpoint
            saved, party = [one.save() for one in party.members], Party(spec, (N,), workers=workers)
            for one, state in zip(party.members, saved):
                one.restore(state)
        if step == 4:  # a step with a NaN leaves nothing behind
            spoilt = [x.copy() for x in tensors]
            spoilt[-1][3] = np.nan
            got, _ = party.step(step, spoilt)
            assert all(np.isnan(one[3]) for one in got), spec
        sent = [largest(g - h) for g, h in zip(tensors, arrived)]
        arrived = [h + s for h, s in zip(arrived, sent)]
        update = update + sum(sent) / np.float32(workers)
        got, _ = party.step(step, tensors)
        worst = max([worst] + [np.linalg.norm(one - update) / np.linalg.norm(update) for one in got])
        for one, h in zip(party.members, arrived):
            np.testing.assert_array_equal(one.save()["residual"], h)
    party.close()
    assert worst <= 1e-6, (spec, worst)
    error = np.linalg.norm(update - goal.mean(0)) / np.linalg.norm(goal.mean(0))
    assert error < 0.1, (spec, error)  # estimates come near constant gradients, which no message holds
    print(f"ok: {spec}, {workers} workers: {worst:.2g} from NumPy")


def check_overflow():
    """A gradient whose difference to what has arrived overflows leaves nothing behind."""
    party, large = Party("topk:density=0.5,memory=ef21", (2,), workers=1, nonfinite="raw"), np.float32(3e38)
    for step, x in enumerate((large, -large, large / 2)):
        (update,), _ = party.step(step, [np.array([x, 0], np.float32)])
        assert np.isinf(update[0]) if x < 0 else np.array_equal(update, [x, 0]), (step, update)
    party.close()


def main():
    for workers in (1, 2, 5):
        check(workers)
    check_overflow()


if __name__ == "__main__":
    main()
