#!/usr/bin/env python3
"""The public functions of exchanges, from Python."""

import numpy as np

from party import REDUCE, SUM_F32, Party


def main():
    rng = np.random.default_rng(1)
    tensors = [rng.standard_normal((30, 20)).astype(np.float32) for _ in range(3)]
    weights = [0.5, 0.25, 2.0]
    party = Party("identity", (30, 20), workers=3, weights=weights)
    updates, sent = party.step(0, tensors)
    party.close()
    want = sum(np.float32(w) * x for w, x in zip(weights, tensors))
    assert len(sent) == 1 and sent[0].kind == REDUCE and sent[0].reduction == SUM_F32
    assert all(np.array_equal(u, want) for u in updates), np.abs(updates[0] - want).max()
    print("ok: identity, 3 workers, weights")


if __name__ == "__main__":
    main()
