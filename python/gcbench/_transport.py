"""Moves the rounds of an exchange between processes, by torch.distributed on the CPU (gloo)."""
from typing import Any, Dict, List

import torch
import torch.distributed as dist

from ._arrays import View
from ._exchange import Sending
from ._library import GATHER, SCATTER, lib


def _bytes(data: memoryview) -> torch.Tensor:
    return torch.frombuffer(data, dtype=torch.uint8) if len(data) else torch.empty(0, dtype=torch.uint8)


class Transport:
    """The collectives of one process group, which nothing else may use at the same time."""

    def __init__(self, group: Any) -> None:
        self.group = group
        self.rank, self.world = dist.get_rank(group), dist.get_world_size(group)
        self.wire_bytes = self.link_bytes = 0.0  # of this worker's messages so far; what it put on its link
        self._rooms: Dict[Any, int] = {}

    def move(self, sending: Sending, key: Any) -> List[torch.Tensor]:
        """Does one round, and returns what exchange.receive() takes from each worker, in their order. `key` names the
        round; all workers give the same."""
        data, length = _bytes(sending.data), len(sending.data)
        if sending.kind == GATHER:
            self._count(length, (self.world - 1) * length)
            return self.gather(data, key)
        if sending.kind == SCATTER:
            parts = sending.parts or []
            self._count(length, length - parts[self.rank])
            return self.scatter(data, parts)
        self._count(length, 2 * (self.world - 1) * length / self.world)
        return [self.reduce(sending.reduction, data)]

    def sum_plainly(self, values: torch.Tensor) -> None:
        """Replaces float32 values by their sum over the workers."""
        length = 4 * values.numel()
        self._count(length, 2 * (self.world - 1) * length / self.world)
        dist.all_reduce(values, group=self.group)

    def _count(self, wire: int, link: float) -> None:
        self.wire_bytes += wire
        self.link_bytes += link

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
        sizes = self.all_gather(torch.tensor(parts))[:, self.rank].tolist()
        arrived = torch.empty(sum(sizes), dtype=torch.uint8)
        dist.all_to_all_single(arrived, mine, sizes, parts, group=self.group)
        return list(arrived.split(sizes))

    def reduce(self, reduction: int, mine: torch.Tensor) -> torch.Tensor:
        """The values of all workers, combined in the order of the workers: gloo's own all-reduce has another order, and
        not all types. Each worker combines a share. The bytes are those of a ring."""
        size = lib.gcb_reduction_size(reduction)
        share = -(-mine.numel() // size // self.world) * size
        parts = [min(share, max(0, mine.numel() - w * share)) for w in range(self.world)]
        own = parts[self.rank]
        arrived = torch.empty(self.world * own, dtype=torch.uint8)
        dist.all_to_all_single(arrived, mine, [own] * self.world, parts, group=self.group)
        with View(arrived, True) as view:
            for worker in range(1, self.world):
                lib.gcb_reduction_combine(reduction, view.address, view.address + worker * own, own)
        combined = torch.zeros(share, dtype=torch.uint8)
        combined[:own] = arrived[:own]
        return self.all_gather(combined).flatten()[:mine.numel()]
