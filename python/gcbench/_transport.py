"""Moves the rounds of an exchange between processes, by torch.distributed on the CPU (gloo)."""
import ctypes
import hashlib
import itertools
import math
import os
import pickle
import re
import time
from datetime import timedelta
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

import torch
import torch.distributed as dist

from ._arrays import View
from ._exchange import Exchange
from ._library import GATHER, SCATTER, SHIFT, Round, lib
from ._objects import Remembering


_HEADER = 32  # bytes before the bytes of a round: their number, the step, the batch and the round's tag
_NOTE = "failed"  # the key under which a group's store has the reason of a failure
_LOOK = timedelta(seconds=1)  # how long to wait for others before looking for a note
_MOST = 1 << 24  # bytes of a round that is not a message

FORWARDS = "number of forward passes since the last step"
_ADVICE = {  # what to do if ranks differ in a key of check_same()
    "step": "give all ranks checkpoints of the same step, and let each rank take part in every step",
    "batch": "a rank that must skip a batch takes part with a loss of 0 (docs/training.md, \"Ranks out of step\")",
    FORWARDS: "a rank that must skip a batch takes part with a loss of 0. To call the module on one rank only, use torch.no_grad() "
              "or the inner module; or number the batches with state.batch (docs/training.md, \"Ranks out of step\")",
    "message": "create the model and its Compression or Outer with the same arguments on all ranks",
}


class Disagreement(ValueError):
    """The ranks have different settings. All ranks find it, each for itself."""


def plain_name(name: str) -> str:
    """Without the parts that torch.compile puts into the names of modules and parameters."""
    return ".".join(part for part in name.split(".") if part != "_orig_mod")


class Refused(RuntimeError):
    """Another rank refuses a round, which has changed nothing. All ranks hear it."""


class Failed(RuntimeError):
    """Another rank has failed, and left a note, which is the text."""


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
    """The collectives of one process group, which nothing else may use at the same time.

    Each round begins with an all-gather of a header, which has the round's key, the caller's `step` and its `batch`. So a
    rank that has come to another round than the others is found before they read each other's bytes."""

    def __init__(self, group: Any) -> None:
        self.group = group
        self.step = self.batch = 0
        self.batch_is = "batch"  # what errors call it
        self.rank, self.world = dist.get_rank(group), dist.get_world_size(group)
        self._store: Any = None
        nonce = torch.frombuffer(bytearray(os.urandom(8)), dtype=torch.uint8)
        self.broadcast(nonce)
        self._store = _store_of(group, nonce.numpy().tobytes().hex())
        self.replicas: List["Transport"] = []  # groups that continue with what scatter() brought, as in HSDP
        # since the beginning, as in a row `training` (docs/rows.md)
        self.totals = {"wire_bytes": 0.0, "link_bytes": 0.0, "latency_steps": 0.0}
        # The bytes that are expected in the round after that with this key. All ranks expect the
        # same, even if one has come to another round, because all have had the round before.
        self._rooms: Dict[Any, int] = {}
        self._before: Any = None  # the key of the last round
        self._long: Set[Any] = set()  # keys of which the last messages had more than twice their room
        self._tags: Dict[Any, int] = {}
        self._arrived: Optional[torch.Tensor] = None  # what the last round brought
        self._meanwhile: Optional[Tuple[Exchange, int]] = None  # whose sum_into() is to be called once, while bytes travel
        self._log2 = math.ceil(math.log2(self.world))
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
        if isinstance(error, Failed):
            text = str(error)
        elif isinstance(error, RuntimeError) and re.search("gloo|onnection|imed ?out|ocket", str(error)):
            try:  # another worker may have failed first, and said why
                self._store.wait([_NOTE], _LOOK)
                text = self._store.get(_NOTE).decode()
            except Exception:
                text = f"rank {dist.get_rank()} lost another worker, which has ended or does not answer: {error}"
        else:
            text = self.leave_note(error)
        self._error = RuntimeError(f"gcbench: {text}")
        self.close()
        return self._error

    def leave_note(self, error: BaseException) -> str:
        """Tells the other ranks of this group, also those that wait, that they must fail. Returns what it tells them."""
        text = _failure(error)
        try:
            self._store.set(_NOTE, text)
            self._store.add(_NOTE + "/count", 1)
        except Exception:
            pass  # the others then see only that the connection was closed
        return text

    def _wait(self, work: Any) -> None:
        """Waits for a collective to end, or for a note. The connections of a rank that has failed may stay open, because
        its training has the group too."""
        while True:
            try:
                work.wait(_LOOK)
                return
            except RuntimeError:
                if work.is_completed():
                    break
            try:
                text = self._store.get(_NOTE).decode() if self._store.add(_NOTE + "/count", 0) else ""
            except Exception:  # no store, or its process has ended: the connections say so too
                text = ""
            if text:
                # Freeing the group would wait for the collective. So it is never freed.
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.group))
                raise Failed(text)
        work.wait()  # raises what was wrong

    def check_alive(self) -> None:
        """Raises RuntimeError after fail()."""
        if self._error is not None:
            raise RuntimeError(f"the exchange ended earlier: {self._error}")

    def run(self, exchange: Exchange, key: Any, watch: Stopwatch, into: Optional[int] = None) -> int:
        """Does all rounds of an exchange that has begun, and returns how many bytes this worker sent. `key` names the
        exchange; all workers give the same. Sums in the floats at the address `into` if the collective can:
        exchange.sums_in_place."""
        sent = number = 0
        most = 4096 + 64 * (exchange.n + self.world)
        self._meanwhile = (exchange, into) if into is not None else None
        while exchange.advance():
            watch.lap("encode_seconds")
            sent += exchange.round.bytes
            arrived = self._move(exchange.round, (key, number, exchange.round.kind), watch, most)
            self._do_meanwhile()  # the round had no all-gather
            watch.lap("exchange_seconds")
            for worker, (address, length) in enumerate(arrived):
                exchange.receive_at(exchange.round.sender if exchange.round.kind == SHIFT else worker, address, length)
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

    def _move(self, round_: Round, key: Any, watch: Stopwatch, most: int) -> List[Tuple[Optional[int], int]]:
        """Does one round, in which a worker sends no more than `most` bytes. Returns address and length of what
        exchange.receive_at() takes from each worker, in their order; they are valid until the next round."""
        if round_.kind == GATHER:
            arrived = self._gather(round_.data, round_.bytes, key, most)
            arrived[self.rank] = round_.data, round_.bytes  # the exchange compares it with what it has sent
            return arrived
        data = torch.empty(0, dtype=torch.uint8, device="cpu")
        if round_.bytes:
            data = torch.frombuffer((ctypes.c_char * round_.bytes).from_address(round_.data), dtype=torch.uint8)
        if round_.kind == SCATTER:
            return self.scatter(data, round_.parts[:self.world], key, most)
        if round_.kind == SHIFT:  # an all-to-all with one part
            parts = [round_.bytes if worker == round_.to else 0 for worker in range(self.world)]
            return [self.scatter(data, parts, key, most, 1)[round_.sender]]
        if key[1] == 0:  # the other rounds of a message follow without one
            self._meet(None, 0, key)
        self._arrived = self._reduce(round_.reduction, data, watch)
        return [(self._arrived.data_ptr(), self._arrived.numel())]

    def sum_plainly(self, values: torch.Tensor, key: Any) -> None:
        """Replaces float32 values by their sum over the workers."""
        self._meet(None, 0, ("plain", key))
        self._count_reduce(4 * values.numel())
        self._wait(dist.all_reduce(values, group=self.group, async_op=True))

    def _count_reduce(self, length: int) -> None:
        self._count(length, 2 * (self.world - 1) * length / self.world, 2 * self._log2)

    def _count(self, wire: float, link: float, steps: int) -> None:
        for name, more in zip(self.totals, (wire, link, steps)):
            self.totals[name] += more

    def check_same(self, mine: Dict[str, Any], failed: Optional[Exception] = None) -> None:
        """Raises Disagreement on all ranks if they give different values. If one has failed, raises its own error there,
        and a RuntimeError on the others."""
        ranks = self._gather_objects({**mine, "rank": dist.get_rank(),
                                      "failure": None if failed is None else _failure(failed)})
        if failed is not None:
            raise failed
        for theirs in ranks:
            if theirs["failure"]:
                raise Refused(theirs["failure"])
        first = ranks[0]
        for key, value in mine.items():
            for theirs in ranks:
                if theirs.get(key) != first.get(key):
                    advice = f"; {_ADVICE[key]}" if key in _ADVICE else ""
                    raise Disagreement("all ranks need the same settings and states: the "
                                       f"{key} is {shorten(first.get(key))} on rank {first['rank']}, and "
                                       f"{shorten(theirs.get(key))} on rank {theirs['rank']}{advice}")

    def _gather_objects(self, mine: Any) -> List[Any]:
        data = torch.frombuffer(bytearray(pickle.dumps(mine)), dtype=torch.uint8)
        lengths = self.all_gather(torch.tensor([data.numel()], dtype=torch.int64, device="cpu")).flatten().tolist()
        self._check_lengths(lengths, _MOST + 16 * max(0, min(lengths)))
        room = torch.zeros(max(lengths), dtype=torch.uint8, device="cpu")
        room[:data.numel()] = data
        return [pickle.loads(row[:length].numpy().tobytes()) for row, length in zip(self.all_gather(room), lengths)]

    def _check_lengths(self, lengths: Sequence[int], most: int) -> None:
        """Raises RuntimeError on all workers before somebody takes memory for what one announces."""
        for worker, length in enumerate(lengths):
            if not 0 <= length <= most:
                rank = dist.get_global_rank(self.group, worker)
                raise RuntimeError(f"rank {rank} announces {length} bytes, and a message of this round has at most {most}: that "
                                   "rank's memory is damaged, or it has another version of gcbench. Start all workers again, "
                                   "with the same version, from a checkpoint")

    def broadcast(self, x: torch.Tensor) -> None:
        """Replaces x by the tensor of the group's first rank."""
        self._wait(dist.broadcast(x, dist.get_global_rank(self.group, 0), group=self.group, async_op=True))

    def all_gather(self, mine: torch.Tensor) -> torch.Tensor:
        """The tensors of all workers, a row each."""
        rows = torch.empty((self.world, mine.numel()), dtype=mine.dtype, device="cpu")
        work = dist.all_gather(list(rows), mine, group=self.group, async_op=True)
        self._do_meanwhile()
        self._wait(work)
        return rows

    def _meet(self, data: Any, length: int, key: Any,
              failed: Optional[Exception] = None) -> Tuple[torch.Tensor, List[int], int]:
        """Begins a round on all workers: gathers a header and the first bytes. Returns a row for each worker, the numbers of
        bytes that they have, and how many fitted into a row. Raises Disagreement if a worker has come to another round, and
        what check_same() raises if one has failed."""
        room = max(8 * self.world, self._rooms.get(self._before, 0))
        tag = self._tags.get(key)
        if tag is None:
            tag = self._tags[key] = int.from_bytes(hashlib.blake2b(repr(key).encode(), digest_size=7).digest(), "little")
        first = torch.zeros(_HEADER + room, dtype=torch.uint8, device="cpu")
        number = -1 if failed is not None else length
        (ctypes.c_int64 * 4).from_address(first.data_ptr())[:] = [number, self.step, self.batch, tag]
        ctypes.memmove(first.data_ptr() + _HEADER, data, min(room, length))
        rows = self.all_gather(first)
        heads = [(ctypes.c_int64 * 4).from_address(rows.data_ptr() + w * (_HEADER + room))[:] for w in range(self.world)]
        if any(head[0] < 0 or head[1:] != heads[0][1:] for head in heads):
            self.check_same({"step": self.step, self.batch_is: self.batch, "message": key}, failed)
        self._before = key
        return rows, [head[0] for head in heads], room

    def _gather(self, data: Optional[int], length: int, key: Any, most: int = _MOST) -> List[Tuple[int, int]]:
        """The bytes of all workers, which are counted."""
        arrived = self.gather(data, length, key, most=most)
        mean = sum(theirs for _, theirs in arrived) / self.world
        self._count(mean, (self.world - 1) * mean, self._log2)
        return arrived

    def gather(self, data: Optional[int], length: int, key: Any, failed: Optional[Exception] = None,
               most: int = _MOST) -> List[Tuple[int, int]]:
        """The bytes of all workers, valid until the next call; `failed` as in _meet(). Their lengths travel with the bytes:
        there is room for as many as the last time, and what does not fit follows in a second collective. So a method whose
        messages have a constant length needs one collective."""
        before, skip = self._before, _HEADER
        rows, lengths, room = self._meet(data, length, key, failed)
        self._check_lengths(lengths, most)
        longest = max(lengths)
        if longest > room:
            rest = torch.zeros(longest - room, dtype=torch.uint8, device="cpu")
            if data and length > room:
                ctypes.memmove(rest.data_ptr(), data + room, length - room)
            rows, skip = torch.cat([rows[:, skip:], self.all_gather(rest)], 1), 0
        if before not in self._rooms or longest <= 2 * room or before in self._long:
            more = longest if min(lengths) == longest else longest + longest // 16
            self._rooms[before] = -(-more // 8) * 8  # so that all rows are aligned
            self._long.discard(before)
        else:
            self._long.add(before)  # one long message may be a raw tensor, which is rare; two in a row have come to stay
        self._arrived = rows
        return [(rows.data_ptr() + w * rows.shape[1] + skip, theirs) for w, theirs in enumerate(lengths)]

    def settle(self, key: Any, failed: Optional[Exception] = None) -> None:
        """After scatter(): fails on all replicas if one has failed, which gives its error."""
        for replicas in self.replicas:
            replicas.step = self.step
            replicas._meet(None, 0, key, failed)

    def refuse(self, error: Exception, key: Any) -> None:
        """Instead of scatter(), on a worker that has failed: raises the error here, and scatter() fails on all others."""
        self._meet(None, 0, key, error)

    def scatter(self, mine: torch.Tensor, parts: List[int], key: Any, most: int,
                steps: Optional[int] = None) -> List[Tuple[Optional[int], int]]:
        """The part of each worker's bytes that is meant for this one. `parts` are the lengths of this worker's, and no worker
        has a longer one than `most`. The addresses are valid until the next call. Counts `steps` steps, by default one for
        each other worker."""
        own = (ctypes.c_int64 * self.world)(*parts)
        rows = self._meet(ctypes.addressof(own), 8 * self.world, key)[0]
        all_parts = [(ctypes.c_int64 * self.world).from_address(row.data_ptr() + _HEADER)[:] for row in rows]
        for worker in range(self.world):
            self._check_lengths([row[worker] for row in all_parts], most)
        total, kept = sum(map(sum, all_parts)), sum(row[w] for w, row in enumerate(all_parts))
        self._count(total / self.world, (total - kept) / self.world, self.world - 1 if steps is None else steps)
        sizes = [row[self.rank] for row in all_parts]
        arrived = torch.empty(sum(sizes), dtype=torch.uint8, device="cpu")
        self._wait(dist.all_to_all_single(arrived, mine, sizes, parts, group=self.group, async_op=True))
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
        self._wait(dist.all_to_all_single(arrived, mine, [own] * self.world, parts, group=self.group, async_op=True))
        watch.lap("exchange_seconds")
        with View(arrived, True) as view:
            for worker in range(1, self.world):
                lib.gcb_reduction_combine(reduction, view.address, view.address + worker * own, own)
        watch.lap("sum_seconds")
        combined = torch.zeros(share, dtype=torch.uint8, device="cpu")
        combined[:own] = arrived[:own]
        return self.all_gather(combined).flatten()[:mine.numel()]


def _failure(error: BaseException) -> str:
    known = isinstance(error, (Disagreement, Refused, Failed))  # it names the rank
    return str(error) if known else f"rank {dist.get_rank()} failed: {type(error).__name__}: {error}"


def shorten(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 300 else f"{text[:200]}...{text[-80:]}"


def _store_of(group: Any, nonce: str) -> Any:
    """A part of the store with which the ranks have met: its keys are this group's. None if they met otherwise. A group that was
    destroyed may have left a note in the same store under the same name: hence `nonce`, which no other group has."""
    c10d = dist.distributed_c10d
    try:
        name = c10d._pg_names[group] if hasattr(c10d, "_pg_names") else c10d._get_process_group_name(group)  # torch 1.13, and 2
        return dist.PrefixStore(f"gcbench/{name}/{nonce}", c10d._get_default_store())
    except Exception:
        return None
