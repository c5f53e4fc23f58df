"""Exchanges of several workers through the library, for tests that compare a method with NumPy.

    party = Party("powersgd:rank=4", (64, 48), workers=4)
    updates, sent = party.step(0, [x0, x1, x2, x3])     # updates: of each worker; sent: a list of Sent, one a round
"""
from collections import namedtuple

import numpy as np

from gcbench import (GATHER, MAX_F32, REDUCE, SCATTER, SHIFT, SUM_BF16, SUM_F16, SUM_F32, SUM_I8, SUM_I16,  # noqa: F401
                     Exchange, combine)

# What a round moved: its kind, the reduction (of REDUCE), and the bytes of each worker.
Sent = namedtuple("Sent", "kind reduction data")


class Party:
    def __init__(self, spec, shape, workers, weights=None, seed=1, path="tensor", nonfinite="error"):
        self.shape = tuple(shape)
        self.members = [Exchange(spec, int(np.prod(shape)), worker=w, workers=workers, weights=weights, shape=shape,
                                 seed=seed, path=path, nonfinite=nonfinite) for w in range(workers)]

    def rounds(self):
        """What all workers send in the next round, or None."""
        sent, self.senders = None, []
        for member in self.members:
            r = member.next()
            if r is None:
                continue
            data = bytes(r.data)
            if r.kind == SCATTER:
                ends = np.cumsum([0] + r.parts)
                data = [data[a:b] for a, b in zip(ends, ends[1:])]
            sent = sent or Sent(r.kind, r.reduction, [])
            sent.data.append(data)
            self.senders.append(r.sender)
        return sent

    def deliver(self, sent):
        if sent.kind == REDUCE:
            total = bytearray(sent.data[0])
            for one in sent.data[1:]:
                combine(sent.reduction, total, one)
            for member in self.members:
                member.receive(0, total)
        elif sent.kind == SHIFT:
            for w, (member, sender) in enumerate(zip(self.members, self.senders)):
                member.receive(sender, sent.data[sender] if sender != w else b"")
        else:
            for sender, data in enumerate(sent.data):
                for w, member in enumerate(self.members):
                    member.receive(sender, data[w] if sent.kind == SCATTER else data)

    def step(self, step, tensors):
        for member, x in zip(self.members, tensors):
            member.begin(step, np.ascontiguousarray(x, np.float32))
        log = []
        while True:
            sent = self.rounds()
            if sent is None:
                break
            log.append(sent)
            self.deliver(sent)
        return [member.finish(np.empty(self.shape, np.float32)) for member in self.members], log

    def close(self):
        for member in self.members:
            member.close()
