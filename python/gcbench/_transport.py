"""Moves the rounds of an exchange between processes, by torch.distributed on the CPU (gloo)."""
import math
import time
from typing import Any, Dict, List, Sequence

import torch
import torch.distributed as dist

from ._arrays import View
from ._exchange import Sending
from ._library import GATHER, SCATTER, lib


def _bytes(data: memoryview) -> torch.Tensor:
    return torch.frombuffer(data, dtype=torch.uint8) if len(data) else torch.empty(0, dtype=torch.uint8)


class Stopwatch:
    """Seconds of the phases of a step, and the processor time of this thread for coding since the beginning."""

    def __init__(self) -> None:
        self.phases: Dict[str, float] = {}
        self.coding_seconds = 0.0
        self.start()

    def start(self) -> None:
        self._wall, self._processor = time.perf_counter(), time.thread_time()

    def lap(self, phase: str) -> None:
        """What happened since start() or the last lap was this phase."""
        wall, processor = time.perf_counter(), time.thread_time()
        self.phases[phase] = self.phases.get(phase, 0.0) + wall - self._wall
        if phase in ("encode_seconds", "sum_seconds"):
            self.coding_seconds += processor - self._processor
        self._wall, self._processor = wall, processor


class Transport:
    """The collectives of one process group, which nothing else may use at the same time."""

    def __init__(self, group: Any) -> None:
        self.group = group
        self.rank, self.world = dist.get_rank(group), dist.get_world_size(group)
        # since the beginning, as in a row `training` (docs/rows.md)
        self.totals = {"wire_bytes": 0.0, "link_bytes": 0.0, "latency_steps": 0.0}
        self._rooms: Dict[Any, int] = {}
        self._log2 = math.ceil(math.log2(self.world))

    def move(self, sending: Sending, key: Any, watch: Stopwatch) -> Sequence[Any]:
        """Does one round, and returns what exchange.receive() takes from each worker, in their order; it is valid until
        the next round. `key` names the round; all workers give the same."""
        data = _bytes(sending.data)
        if sending.kind == GATHER:
            arrived: List[Any] = list(self.gather(data, key))
            arrived[self.rank] = sending.data  # the exchange compares it with what it has sent
            return arrived
        if sending.kind == SCATTER:
            return self.scatter(data, sending.parts or [])
        return [self.reduce(sending.reduction, data, watch)]

    def sum_plainly(self, values: torch.Tensor) -> None:
        """Replaces float32 values by their sum over the workers."""
        self._count_reduce(4 * values.numel())
        dist.all_reduce(values, group=self.group)

    def _count_reduce(self, length: int) -> None:
        self._count(length, 2 * (self.world - 1) * length / self.world, 2 * self._log2)

    def _count(self, wire: float, link: float, steps: int) -> None:
        for name, more in zip(self.totals, (wire, link, steps)):
            self.totals[name] += more

    def all_gather(self, mine: torch.Tensor) -> torch.Tensor:
        """The tensors of all workers, a row each."""
        rows = torch.empty((self.world, mine.numel()), dtype=mine.dtype)
        dist.all_gather(list(rows), mine, group=self.group)
        return rows

    def gather(self, mine: torch.Tensor, key: Any) -> List[torch.Tensor]:
        """The bytes of all workers. Their lengths travel with the bytes: there is room for as many as the last time,
        and what does not fit follows in a second collective. So a method whose messages have a constant length needs
        one collective."""
        room = self._rooms.get(key, 0)
        first = torch.zeros(8 + room, dtype=torch.uint8)
        first[:8].view(torch.int64)[0] = mine.numel()
        first[8:8 + mine.numel()] = mine[:room]
        rows = self.all_gather(first)
        lengths = [int(row[:8].view(torch.int64)) for row in rows.unbind()]
        mean = sum(lengths) / self.world
        self._count(mean, (self.world - 1) * mean, self._log2)
        rows, longest = rows[:, 8:], max(lengths)
        if longest > room:
            rest = torch.zeros(longest - room, dtype=torch.uint8)
            rest[:max(0, mine.numel() - room)] = mine[room:]
            rows = torch.cat([rows, self.all_gather(rest)], 1)
        if room == 0 or longest <= 2 * room:  # else a tensor was sent raw, which is rare
            more = longest if min(lengths) == longest else longest + longest // 16
            self._rooms[key] = -(-more // 8) * 8  # so that all rows are aligned
        return [row[:length] for row, length in zip(rows, lengths)]

    def scatter(self, mine: torch.Tensor, parts: List[int]) -> List[torch.Tensor]:
        """The part of each worker's bytes that is meant for this one."""
        all_parts = self.all_gather(torch.tensor(parts))
        total, kept = float(all_parts.sum()), float(all_parts.trace())
        self._count(total / self.world, (total - kept) / self.world, self.world - 1)
        sizes = all_parts[:, self.rank].tolist()
        arrived = torch.empty(sum(sizes), dtype=torch.uint8)
        dist.all_to_all_single(arrived, mine, sizes, parts, group=self.group)
        return list(arrived.split(sizes))

    def reduce(self, reduction: int, mine: torch.Tensor, watch: Stopwatch) -> torch.Tensor:
        """The values of all workers, combined in the order of the workers: gloo's own all-reduce has another order, and
        not all types. Each worker combines a share. The bytes are those of a ring."""
        self._count_reduce(mine.numel())
        size = lib.gcb_reduction_size(reduction)
        share = -(-mine.numel() // size // self.world) * size
        parts = [min(share, max(0, mine.numel() - w * share)) for w in range(self.world)]
        own = parts[self.rank]
        arrived = torch.empty(self.world * own, dtype=torch.uint8)
        dist.all_to_all_single(arrived, mine, [own] * self.world, parts, group=self.group)
        watch.lap("exchange_seconds")
        with View(arrived, True) as view:
            for worker in range(1, self.world):
                lib.gcb_reduction_combine(reduction, view.address, view.address + worker * own, own)
        watch.lap("sum_seconds")
        combined = torch.zeros(share, dtype=torch.uint8)
        combined[:own] = arrived[:own]
        return self.all_gather(combined).flatten()[:mine.numel()]
