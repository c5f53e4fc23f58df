"""Logical workers in one process that exchange tensors through gcbench.Exchange."""

import math
import sys
import time
from pathlib import Path
from typing import Any, Callable, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
import gcbench  # noqa: E402

Shape = Union[Tuple[int, ...], List[Tuple[int, ...]]]  # of a tensor, or of several that are joined
Part = Tuple[str, Shape]


class Sent(NamedTuple):
    """What a worker sends for one part in one round."""
    kind: int
    reduction: int
    data: bytes
    parts: Optional[List[int]]
    sender: int  # in SHIFT: whose bytes this worker gets


Move = Callable[[List[List[Optional[Sent]]]], List[List[Optional[Sent]]]]


def size_of(shape: Shape) -> int:
    return sum(map(math.prod, shape)) if isinstance(shape, list) else math.prod(shape)


class Party:
    """All workers, or those of this process: the numbers `mine`.

    spec    the method
    parts   names and shapes of the tensors that a flat vector is cut into, one exchange each
    move    takes what the workers of this process send in a round, and returns what all workers send. Default: all
            workers are in this process.

    Totals since the beginning, for one worker on average:
    wire_bytes      bytes of its messages, in all rounds
    link_bytes      bytes that it puts on its link if they travel in the best known way (docs/exchange.md)
    latency_steps   messages that it waits for, one after the other
    coding_seconds  processor time of encoding, decoding and adding
    """

    def __init__(self, spec: str, parts: Sequence[Part], workers: int, seed: int = 0,
                 mine: Optional[Sequence[int]] = None, move: Optional[Move] = None) -> None:
        self.workers, self.mine = workers, list(range(workers)) if mine is None else list(mine)
        self.move = move or (lambda sent: sent)
        self.ends = np.cumsum([size_of(shape) for _, shape in parts])[:-1]
        self.members = [[gcbench.Exchange(spec, size_of(shape), worker=worker, workers=workers, seed=seed, path=name,
                                          shape=shape, threads=1) for name, shape in parts] for worker in self.mine]
        self.wire_bytes = self.link_bytes = self.coding_seconds = 0.0
        self.latency_steps = 0

    def set(self, key: str, value: Any) -> None:
        for member in self.members:
            for exchange in member:
                exchange.set(key, value)

    def step(self, number: int, vectors: np.ndarray) -> np.ndarray:
        """The mean of the workers' vectors (one for each of `mine`), as the method sends it."""
        cut = [[np.ascontiguousarray(part) for part in np.split(vector, self.ends)] for vector in vectors]
        began = time.thread_time()
        for member, parts in zip(self.members, cut):
            for exchange, part in zip(member, parts):
                exchange.begin(number, part)
        while True:
            own = [[self._next(exchange) for exchange in member] for member in self.members]
            self.coding_seconds += (time.thread_time() - began) / len(self.mine)
            if not any(own[0]):
                break
            sent = self.move(own)
            self._count(sent)
            began = time.thread_time()
            for part, round_ in enumerate(zip(*sent)):
                if round_[0]:
                    self._receive(part, round_)
        began = time.thread_time()
        updates = [[exchange.finish() for exchange in member] for member in self.members]
        self.coding_seconds += (time.thread_time() - began) / len(self.mine)
        return np.concatenate(updates[0])

    @staticmethod
    def _next(exchange: gcbench.Exchange) -> Optional[Sent]:
        sending = exchange.next()
        return sending and Sent(sending.kind, sending.reduction, bytes(sending.data), sending.parts, sending.sender)

    def _receive(self, part: int, sent: Sequence[Sent]) -> None:
        """Hands over what all workers sent for a part."""
        if sent[0].kind == gcbench.REDUCE:
            total = bytearray(sent[0].data)
            for one in sent[1:]:  # always in the order of the workers
                gcbench.combine(sent[0].reduction, total, one.data)
        for member, worker in zip(self.members, self.mine):
            if sent[0].kind == gcbench.REDUCE:
                member[part].receive(0, total)
                continue
            if sent[0].kind == gcbench.SHIFT:
                sender = sent[worker].sender
                member[part].receive(sender, sent[sender].data if sender != worker else b"")
                continue
            for sender, one in enumerate(sent):
                data = one.data
                if one.parts:
                    first = sum(one.parts[:worker])
                    data = data[first:first + one.parts[worker]]
                member[part].receive(sender, data)

    def _count(self, sent: Sequence[Sequence[Optional[Sent]]]) -> None:
        n, steps = self.workers, 0
        for worker, own in enumerate(sent):
            for one in filter(None, own):
                self.wire_bytes += len(one.data) / n
                if one.kind == gcbench.GATHER:
                    self.link_bytes += (n - 1) * len(one.data) / n
                    steps = max(steps, math.ceil(math.log2(n)))
                elif one.kind == gcbench.SCATTER:
                    self.link_bytes += (len(one.data) - one.parts[worker]) / n
                    steps = max(steps, n - 1)
                elif one.kind == gcbench.SHIFT:
                    self.link_bytes += len(one.data) / n
                    steps = max(steps, 1)
                else:
                    self.link_bytes += 2 * (n - 1) / n * len(one.data) / n
                    steps = max(steps, 2 * math.ceil(math.log2(n)))
        self.latency_steps += steps
