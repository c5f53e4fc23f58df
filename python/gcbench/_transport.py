"""Moves the rounds of an exchange between processes, by torch.distributed on the CPU (gloo)."""
import ctypes
import itertools
import math
import re
import time
from datetime import timedelta
from typing import Any, Dict, List, Optional, Set, Tuple

import torch
import torch.distributed as dist

from ._arrays import View
from ._exchange import Exchange
from ._library import GATHER, SCATTER, Round, lib
from ._objects import Remembering


_numbers = itertools.count()


class Disagreement(ValueError):
    """The ranks have different settings. All ranks find it, each for itself."""


def plain_name(name: str) -> str:
    """Without the parts that torch.compile puts into the names of modules and parameters."""
    return ".".join(part for part in name.split(".") if part != "_orig_mod")


def saved(message: Remembering) -> Dict[str, Any]:
    """What message.save() gives, as tensors, because torch.load takes no bytes. message.restore() takes it back."""
    state = message.save()
    return {**{key: _tensor(state[key], torch.float32) for key in ("residual", "momentum")},
            "counters": state["counters"], "kept": _tensor(bytearray(state["kept"]), torch.uint8)}


def _tensor(data: Any, dtype: torch.dtype) -> torch.Tensor:
    """The same memory."""
    return torch.frombuffer(data, dtype=dtype) if len(data) else torch.empty(0, dtype=dtype, device="cpu")


def copy_on_host(x: torch.Tensor) -> torch.Tensor:
    """A copy in the CPU's memory. It waits until a GPU has computed x; pinned memory makes the way from and to a GPU fast."""
    return torch.empty(x.shape, dtype=x.dtype, device="cpu", pin_memory=x.is_cuda).copy_(x)


def on_host(x: torch.Tensor) -> torch.Tensor:
    """x itself if it is in the CPU's memory, else a copy there."""
    return x if x.device.type == "cpu" else copy_on_host(x)


def check_training(state: Any, mine: Dict[str, Any]) -> None:
    """Raises ValueError if a state is not of the training that `mine` describes. state_dict() has the same keys."""
    if not isinstance(state, dict) or not mine.keys() <= state.keys():
        raise ValueError("not a state of this class: give what its state_dict() returned")
    for key, value in mine.items():
        if state[key] != value:
            raise ValueError(f"the state is of another training: its {key} is {state[key]!r}, not {value!r}; give each rank what "
                             "it saved itself, for the same method and model")


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
        self._long: Set[Any] = set()  # keys whose last messages had more than twice their room
        self._arrived: Optional[torch.Tensor] = None  # what the last round brought
        self._meanwhile: Optional[Tuple[Exchange, int]] = None  # whose sum_into() is to be called once, while bytes travel
        self._log2 = math.ceil(math.log2(self.world))
        self._note = f"gcbench/failed/{next(_numbers)}"  # the same on all ranks
        self._error: Optional[RuntimeError] = None

    def close(self) -> None:
        """Destroys the process group. If it is still there when Python ends, a thread of gloo that frees a tensor then may
        abort the process."""
        group, self.group = self.group, None
        if group is not None:  # None would mean all groups
            try:
                dist.destroy_process_group(group)
            except Exception:
                pass  # the training has destroyed all groups

    def fail(self, error: BaseException) -> RuntimeError:
        """Ends the exchange on all workers: leaves a note for them, and closes the connections. Returns what to raise."""
        if self._error is not None:
            return RuntimeError(str(error))
        store = _store()
        if isinstance(error, RuntimeError) and re.search("gloo|onnection|imed ?out|ocket", str(error)):
            try:  # another worker may have failed first, and said why
                store.wait([self._note], timedelta(seconds=1))
                text = store.get(self._note).decode()
            except Exception:
                text = f"rank {self.rank} lost another worker, which has ended or does not answer: {error}"
        else:
            text = f"rank {self.rank} failed: {type(error).__name__}: {error}"
            if isinstance(error, Disagreement):
                text = str(error)
            try:
                store.set(self._note, text)
            except Exception:
                pass  # the others then see only that the connection was closed
        self._error = RuntimeError(f"gcbench: {text}")
        self.close()
        return self._error

    def check_alive(self) -> None:
        """Raises RuntimeError after fail()."""
        if self._error is not None:
            raise RuntimeError(f"the exchange ended earlier: {self._error}")

    def run(self, exchange: Exchange, key: Any, watch: Stopwatch, into: Optional[int] = None) -> int:
        """Does all rounds of an exchange that has begun, and returns how many bytes this worker sent. `key` names the
        exchange; all workers give the same. Sums in the floats at the address `into` if the collective can:
        exchange.sums_in_place."""
        sent = number = 0
        self._meanwhile = (exchange, into) if into is not None else None
        while exchange.advance():
            watch.lap("encode_seconds")
            sent += exchange.round.bytes
            arrived = self._move(exchange.round, (key, number), watch)
            self._do_meanwhile()  # the round had no all-gather
            watch.lap("exchange_seconds")
            for worker, (address, length) in enumerate(arrived):
                exchange.receive_at(worker, address, length)
            watch.lap("sum_seconds")
            number += 1
        watch.lap("encode_seconds")
        self._do_meanwhile()  # there was no round
        self._arrived = None
        return sent

    def _do_meanwhile(self) -> None:
        if self._meanwhile is not None:
            (exchange, into), self._meanwhile = self._meanwhile, None
            exchange.sum_into_at(into)

    def _move(self, round_: Round, key: Any, watch: Stopwatch) -> List[Tuple[Optional[int], int]]:
        """Does one round. Returns address and length of what exchange.receive_at() takes from each worker, in their order;
        they are valid until the next round."""
        if round_.kind == GATHER:
            arrived = self._gather(round_.data, round_.bytes, key)
            arrived[self.rank] = round_.data, round_.bytes  # the exchange compares it with what it has sent
            return arrived
        data = torch.empty(0, dtype=torch.uint8, device="cpu")
        if round_.bytes:
            data = torch.frombuffer((ctypes.c_char * round_.bytes).from_address(round_.data), dtype=torch.uint8)
        if round_.kind == SCATTER:
            return self.scatter(data, round_.parts[:self.world])
        self._arrived = self._reduce(round_.reduction, data, watch)
        return [(self._arrived.data_ptr(), self._arrived.numel())]

    def sum_plainly(self, values: torch.Tensor) -> None:
        """Replaces float32 values by their sum over the workers."""
        self._count_reduce(4 * values.numel())
        dist.all_reduce(values, group=self.group)

    def _count_reduce(self, length: int) -> None:
        self._count(length, 2 * (self.world - 1) * length / self.world, 2 * self._log2)

    def _count(self, wire: float, link: float, steps: int) -> None:
        for name, more in zip(self.totals, (wire, link, steps)):
            self.totals[name] += more

    def check_same(self, mine: Dict[str, Any], failed: Optional[Exception] = None) -> None:
        """Raises Disagreement on all ranks if they give different values. If one has failed, raises its own error there,
        and a RuntimeError on the others."""
        if failed is not None:
            mine = {"failure": f"{type(failed).__name__}: {failed}"}
        ranks: List[Dict[str, Any]] = [{}] * self.world
        dist.all_gather_object(ranks, mine, group=self.group)
        if failed is not None:
            raise failed
        for rank, theirs in enumerate(ranks):
            if "failure" in theirs:
                raise RuntimeError(f"rank {rank} failed: {theirs['failure']}")
        for rank, theirs in enumerate(ranks):
            for key, value in ranks[0].items():
                if theirs.get(key) != value:
                    raise Disagreement(f"all ranks need the same settings and states: the {key} is {value!r} on rank 0, and "
                                       f"{theirs.get(key)!r} on rank {rank}")

    def all_gather(self, mine: torch.Tensor) -> torch.Tensor:
        """The tensors of all workers, a row each."""
        rows = torch.empty((self.world, mine.numel()), dtype=mine.dtype, device="cpu")
        work = dist.all_gather(list(rows), mine, group=self.group, async_op=True)
        self._do_meanwhile()
        work.wait()
        return rows

    def _gather(self, data: Optional[int], length: int, key: Any) -> List[Tuple[Optional[int], int]]:
        """The bytes of all workers. Their lengths travel with the bytes: there is room for as many as the last time,
        and what does not fit follows in a second collective. So a method whose messages have a constant length needs
        one collective."""
        room, skip = self._rooms.get(key, 0), 8
        first = torch.zeros(skip + room, dtype=torch.uint8, device="cpu")
        ctypes.c_int64.from_address(first.data_ptr()).value = length
        ctypes.memmove(first.data_ptr() + skip, data, min(room, length))
        rows = self.all_gather(first)
        lengths = [ctypes.c_int64.from_address(rows.data_ptr() + w * (skip + room)).value for w in range(self.world)]
        mean, longest = sum(lengths) / self.world, max(lengths)
        self._count(mean, (self.world - 1) * mean, self._log2)
        if longest > room:
            rest = torch.zeros(longest - room, dtype=torch.uint8, device="cpu")
            if data and length > room:
                ctypes.memmove(rest.data_ptr(), data + room, length - room)
            rows, skip = torch.cat([rows[:, skip:], self.all_gather(rest)], 1), 0
        if room == 0 or longest <= 2 * room or key in self._long:
            more = longest if min(lengths) == longest else longest + longest // 16
            self._rooms[key] = -(-more // 8) * 8  # so that all rows are aligned
            self._long.discard(key)
        else:
            self._long.add(key)  # one long message may be a raw tensor, which is rare; two in a row have come to stay
        self._arrived = rows
        return [(rows.data_ptr() + w * rows.shape[1] + skip, theirs) for w, theirs in enumerate(lengths)]

    def refuse(self, error: Exception) -> None:
        """Instead of scatter(), on a worker that has failed: raises the error here, and scatter() fails on all others."""
        self.all_gather(torch.full((self.world,), -1, dtype=torch.int64, device="cpu"))
        self.check_same({}, error)

    def scatter(self, mine: torch.Tensor, parts: List[int]) -> List[Tuple[Optional[int], int]]:
        """The part of each worker's bytes that is meant for this one. `parts` are the lengths of this worker's. The
        addresses are valid until the next call."""
        all_parts = self.all_gather(torch.tensor(parts, dtype=torch.int64, device="cpu"))
        if int(all_parts.min()) < 0:
            self.check_same({})
        total, kept = float(all_parts.sum()), float(all_parts.trace())
        self._count(total / self.world, (total - kept) / self.world, self.world - 1)
        sizes = all_parts[:, self.rank].tolist()
        arrived = torch.empty(sum(sizes), dtype=torch.uint8, device="cpu")
        dist.all_to_all_single(arrived, mine, sizes, parts, group=self.group)
        self._arrived = arrived
        ends = itertools.accumulate(sizes)
        return [(arrived.data_ptr() + end - size, size) for end, size in zip(ends, sizes)]

    def _reduce(self, reduction: int, mine: torch.Tensor, watch: Stopwatch) -> torch.Tensor:
        """The values of all workers, combined in the order of the workers: gloo's own all-reduce has another order, and
        not all types. Each worker combines a share. The bytes are those of a ring."""
        self._count_reduce(mine.numel())
        size = lib.gcb_reduction_size(reduction)
        share = -(-mine.numel() // size // self.world) * size
        parts = [min(share, max(0, mine.numel() - w * share)) for w in range(self.world)]
        own = parts[self.rank]
        arrived = torch.empty(self.world * own, dtype=torch.uint8, device="cpu")
        dist.all_to_all_single(arrived, mine, [own] * self.world, parts, group=self.group)
        watch.lap("exchange_seconds")
        with View(arrived, True) as view:
            for worker in range(1, self.world):
                lib.gcb_reduction_combine(reduction, view.address, view.address + worker * own, own)
        watch.lap("sum_seconds")
        combined = torch.zeros(share, dtype=torch.uint8, device="cpu")
        combined[:own] = arrived[:own]
        return self.all_gather(combined).flatten()[:mine.numel()]


def _store() -> Any:
    try:
        return dist.distributed_c10d._get_default_store()
    except Exception:
        return None
