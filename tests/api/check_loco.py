#!/usr/bin/env python3
"""The memory of LoCo (memory=loco), compared with NumPy, also after a checkpoint."""
import numpy as np

from check_twoshot import nearest_level
from gcbench import Exchange
from party import Party

N, STEPS, WORKERS, CLEAR = 3000, 12, 3, 5


def eight_bits(x):
    """8-bit integers in blocks of 256, times a scale for each block."""
    out = np.empty_like(x)
    for at in range(0, len(x), 256):
        block = x[at:at + 256]
        largest = np.abs(block).max()
        scale = largest / np.float32(127)
        out[at:at + 256] = np.clip(np.rint(block / scale) * scale, -largest, largest) if scale else 0
    return out


def follow(error, g, step, average):
    """Returns what a worker sends in a step, and its next error. What qgz sends does not depend on the step."""
    average = np.float32(average)
    given = error + g
    sent = nearest_level(512, 7)(given)
    error = eight_bits(average * error + (np.float32(1) - average) * (given - sent))
    return sent, error if (step + 1) % CLEAR else np.zeros_like(error)


def check(average):
    spec = f"qgz:bucket=512,collective=allgather,memory=loco,average={average},clear-every={CLEAR}"
    rng, errors, worst = np.random.default_rng(4), [np.zeros(N, np.float32)] * WORKERS, 0.0
    party = Party(spec, (N,), workers=WORKERS)
    for step in range(STEPS):
        tensors = [rng.laplace(size=N).astype(np.float32) for _ in range(WORKERS)]
        if step == 7:  # the same from a checkpoint
            saved, party = [one.save() for one in party.members], Party(spec, (N,), workers=WORKERS)
            for one, state in zip(party.members, saved):
                one.restore(state)
        both = [follow(e, x, step, average) for e, x in zip(errors, tensors)]
        errors = [error for _, error in both]
        updates, _ = party.step(step, tensors)
        want = sum(sent for sent, _ in both) / np.float32(WORKERS)
        worst = max(worst, np.linalg.norm(updates[0] - want) / np.linalg.norm(want))
        for one, error in zip(party.members, errors):
            np.testing.assert_array_equal(one.save()["residual"], error)
    party.close()
    assert worst <= 1e-6, (spec, worst)
    print(f"ok: {spec}: {worst:.2g} from NumPy")


def main():
    for average in (0.8, 0, 0.3):
        check(average)


if __name__ == "__main__":
    main()
