"""Compressed gradients for DistributedDataParallel.

    ddp = DistributedDataParallel(model)
    state = gcbench.torch.Compression("topk:theta=0.99,memory=ef", model=ddp)
    ddp.register_comm_hook(state, gcbench.torch.hook)

Nothing else in the training loop changes. docs/training.md says what to choose, and which traps there are.
"""
import ctypes
import fnmatch
import functools
import math
import queue
import threading
import warnings
import weakref
from collections import deque
from datetime import timedelta
from typing import Any, Callable, Deque, Dict, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple, Union

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from ._exchange import Exchange
from ._states import MEMORY, as_states, check_array, check_kept, check_totals, is_finite, is_whole, require, require_keys, restore_message
from ._tables import warn_if_forgets
from ._transport import FORWARDS, Disagreement, Stopwatch, Transport, on_host, plain_name, saved

__all__ = ["Compression", "hook", "root_of_lr", "stepwise", "warm_up"]

Policy = Union[None, Mapping[str, str], Callable[[str, torch.nn.Parameter], Optional[str]]]
Schedule = Callable[[int], float]
_FLOATS = (torch.float32, torch.float16, torch.bfloat16)
_SKIPPED = "number of steps that did not count"
_KEYS = ("step", "skipped", "scale", "worker", "workers", "totals", "parameters", "groups")  # of a state


def _named(name: str, schedule: Schedule) -> Schedule:
    """`name` is the field theta_schedule of rows."""
    schedule.name = name  # type: ignore[attr-defined]
    return schedule


def stepwise(values: Mapping[int, float]) -> Schedule:
    """A value from each given step on: stepwise({0: 0.75, 500: 0.99})."""
    points = sorted(values.items())
    return _named("stepwise", lambda step: [value for first, value in points if first <= max(step, points[0][0])][-1])


def warm_up(theta: float, steps: int) -> Schedule:
    """DGC's warm-up: in `steps` steps the share that is sent shrinks from 1/4 in four equal factors to 1 - theta."""
    def at(step: int) -> float:
        return theta if step >= steps else round(1 - 0.25 * ((1 - theta) / 0.25) ** (max(0, step) * 4 // steps / 4), 6)
    return _named("warm-up", at)


def root_of_lr(optimizer: torch.optim.Optimizer, theta: float) -> Schedule:
    """theta times the square root of the learning rate's share of its first value (theta * theta = L * lr), rounded to 3
    digits."""
    first = float(optimizer.param_groups[0].get("initial_lr", optimizer.param_groups[0]["lr"]))
    return _named("sqrt-lr", lambda step: min(0.9999, round(theta * math.sqrt(
        float(optimizer.param_groups[0]["lr"]) / first), 3)))


class _Piece(NamedTuple):
    """A part of a bucket's buffer: the gradient of one parameter."""
    name: str
    flat: torch.Tensor
    used: bool  # has a gradient; before _ask_who_used(): of this worker


class _Group:
    """Parameters that share a message, and what this worker keeps of them."""

    def __init__(self, names: Sequence[str], spec: str, exchange: Exchange) -> None:
        self.names, self.spec, self.exchange = tuple(names), spec, exchange
        self.set: Dict[str, float] = {}


class _Job(NamedTuple):
    """A bucket that waits to be exchanged."""
    step: int
    values: Dict[str, float]  # of the schedule, and the "scale" of the gradients
    changed: Set[str]  # what _changed() said at the beginning of the step
    failure: Optional[Exception]  # why this worker has no values
    pieces: List[_Piece]
    buffer: torch.Tensor  # of DDP
    host: torch.Tensor  # the same, or a copy of it on the CPU
    last: bool
    future: torch.futures.Future

    def deliver(self) -> None:
        """Gives DDP the mean."""
        if self.host is not self.buffer:
            self.buffer.copy_(self.host)
        self.future.set_result(self.buffer)


class Compression:
    """What one worker keeps for gcbench.torch.hook.

    spec           a method, "name:key=value,..." (docs/codecs/index.md)
    model          the DistributedDataParallel module
    process_group  a gloo group of the same ranks, which nothing else uses; default: a new one
    policy         other methods for some parameters: {"*.bias": "fp16"} (the first pattern that matches its name), or a
                   function of name and parameter that returns a method or None
    per            "bucket": a message for each of DDP's buckets; "tensor": for each parameter. Default: "bucket", but
                   "tensor" for powersgd, which needs matrices
    schedule       parameters of `spec` that change: {"theta": stepwise({0: 0.75, 500: 0.99})}. The first step is step 0; all
                   workers must get the same values
    start          number of steps at the beginning that are not compressed. DDP changes its buckets in the second step
    scaler         a GradScaler: residuals follow its scale, and a step that it skips changes nothing that is kept
    overlap        exchange in a thread while the backward pass goes on
    threads, seed  as in gcbench.Encoder
    timeout        seconds to wait for another worker; only for the default process_group

    All ranks must have called the model equally often since the last step (in training mode, with gradients), or have set
    the attribute `batch` to the same number. So a rank that left a batch out is found.
    """

    def __init__(self, spec: str, *, model: DistributedDataParallel, process_group: Any = None, policy: Policy = None,
                 per: Optional[str] = None, schedule: Optional[Mapping[str, Schedule]] = None, start: int = 2,
                 scaler: Any = None, overlap: bool = True, threads: int = 1, seed: int = 1, timeout: float = 600.0) -> None:
        if not isinstance(model, DistributedDataParallel):
            raise TypeError(_why_not(model))
        if per not in (None, "bucket", "tensor"):
            raise ValueError(f"per={per!r}: choose bucket or tensor")
        self._static = model.static_graph
        self.spec, self.start, self.step = spec, max(start, 1) if self._static else start, -1
        self.steps: Deque[Dict[str, float]] = deque(maxlen=1000)
        self._per, self._schedule = per, dict(schedule or {})
        self._policy = {plain_name(pattern): one for pattern, one in policy.items()} if isinstance(policy, Mapping) else policy
        self.batch: Optional[int] = None
        self._forwards, self._calls = _count_forwards(model), 1
        self._scaler, self._scale, self._values = scaler, 1.0, {"scale": 1.0}
        # To take the last step back: what was kept before it, whether all its means are finite, the
        # parameters' versions in it, and those that have changed since the step before it.
        self._before: List[Tuple[_Group, Dict[str, Any]]] = []
        self._finite, self._versions, self._now_changed = True, {}, set()
        self._skipped = 0  # steps that were taken back
        self._failure: Optional[Exception] = None
        self._warned = False  # that the method forgets
        self._options: Dict[str, Any] = {"threads": threads, "seed": seed, "nonfinite": "raw"}
        self._parameters = {plain_name(name): p for name, p in model.module.named_parameters()}
        self._names = {id(p): name for name, p in self._parameters.items()}
        self._ignored = {plain_name(name) for name in model.parameters_to_ignore}
        self._seen: Set[int] = set()  # ids of the parameters of this step
        self._unused_ok = model.find_unused_parameters
        self._used: Set[str] = set()  # parameters that have had a gradient since the last exchange
        self._watched: Set[str] = set()  # parameters whose hooks fill _used
        self._watch_use()
        self._transport = Transport(_own_group(model, process_group, timeout))
        self._groups: Dict[Tuple[str, ...], _Group] = {}
        self._order: List[Tuple[str, ...]] = []  # the groups in the order of their exchange
        self._waiting: List[_Job] = []
        self._first = -1
        self._scratch = torch.empty(0, dtype=torch.float32, device="cpu")
        self._now: Dict[str, float] = {}
        self._watch = Stopwatch()
        if process_group is None:  # before the thread's, because Python calls the last one first
            weakref.finalize(self, self._transport.close)
        self._check_settings()
        self._jobs: Optional[queue.SimpleQueue] = queue.SimpleQueue() if overlap else None
        if self._jobs is not None:
            thread = threading.Thread(target=_work, args=(self._jobs,), name="gcbench", daemon=True)
            thread.start()
            weakref.finalize(self, _stop, self._jobs, thread)

    @property
    def _trained(self) -> Dict[str, torch.nn.Parameter]:
        """Parameters with gradients, as far as they are not frozen now."""
        return {name: p for name, p in self._parameters.items() if p.requires_grad and p.numel() and name not in self._ignored}

    def _watch_use(self) -> Set[str]:
        """Lets parameters say when they get a gradient. Returns the names of those that were frozen before."""
        new = {name: p for name, p in self._trained.items() if name not in self._watched} if self._unused_ok else {}
        for name, p in new.items():
            weakref.finalize(self, _watch(p, functools.partial(_note, self._used, name, weakref.ref(p))).remove)
        self._watched.update(new)
        return set(new)

    # What is compressed how

    def _check_settings(self) -> None:
        """A wrong method, or another one on another rank, fails here and on all ranks: in the backward pass ranks whose
        rounds differ would wait for each other, or read each other's bytes."""
        mine: Dict[str, Any] = {"start": self.start, "per": self._per, "seed": self._options["seed"],
                                "schedule": sorted(self._schedule), "scaler": self._scaler is not None,
                                "find_unused_parameters": self._unused_ok}
        failed: Optional[Exception] = None
        try:
            for name, p in self._trained.items():
                if p.is_complex():
                    raise TypeError(f"{name} is complex: keep its real and its imaginary part as a real parameter "
                                    "(torch.view_as_complex in forward()), or leave it out of the DDP module")
            for pattern in self._policy if isinstance(self._policy, dict) else ():
                if not fnmatch.filter(self._parameters, pattern):
                    raise ValueError(f"policy: no parameter's name matches {pattern!r}; the first names are "
                                     f"{', '.join(list(self._parameters)[:3])}")
            specs = {name: self._spec_of(name) for name in self._parameters}
            for one in sorted({self.spec, *specs.values()}):
                Exchange(one, 64, worker=0, workers=1).close()
                self._warned = warn_if_forgets(one) or self._warned
            mine.update({"spec": self.spec, **{f"method of {name}": spec for name, spec in specs.items()}})
        except Exception as error:
            failed = error
        self._transport.check_same(mine, failed)

    def _spec_of(self, name: str) -> str:
        policy, parameter = self._policy, self._parameters[name]
        if callable(policy):
            return policy(name, parameter) or self.spec
        return next((spec for pattern, spec in (policy or {}).items() if fnmatch.fnmatchcase(name, pattern)), self.spec)

    def _axes(self, name: str) -> List[int]:
        """The dimensions of a parameter in the order in which its values lie in DDP's buckets."""
        p = self._parameters[name]
        axes = sorted(range(p.dim()), key=lambda axis: -p.stride(axis))
        return axes if p.permute(axes).is_contiguous() else list(range(p.dim()))

    def _split(self, names: Sequence[str]) -> List[Tuple[str, ...]]:
        """The groups of a bucket: parameters with the same method share a message, except those of matrix methods."""
        groups: Dict[Any, List[str]] = {}
        for name in names:
            spec = self._spec_of(name)
            alone = self._per == "tensor" or (self._per is None and spec.startswith("powersgd"))
            groups.setdefault((spec, name if alone else None), []).append(name)
        return [tuple(group) for group in groups.values()]

    def _group(self, names: Tuple[str, ...]) -> _Group:
        group = self._groups.get(names)
        if group is None:
            group = self._groups[names] = self._open(names)
        return group

    def _open(self, names: Tuple[str, ...]) -> _Group:
        spec = self._spec_of(names[0])
        shapes = [tuple(self._parameters[name].shape[axis] for axis in self._axes(name)) for name in names]
        shape = shapes[0] if len(names) == 1 else shapes
        return _Group(names, spec, Exchange(spec, sum(self._sizes(names)), worker=self._transport.rank,
                                            workers=self._transport.world, path=names[0], shape=shape or None, **self._options))

    def _sizes(self, names: Sequence[str]) -> List[int]:
        return [self._parameters[name].numel() for name in names]

    # One step

    def _reduce(self, bucket: Any) -> torch.futures.Future:
        """What the hook does: queues a bucket, or exchanges it."""
        parameters = bucket.parameters()
        here = {id(p) for p in parameters}
        # In the first step of a static graph, DDP calls every bucket the first of several.
        if bucket.index() == 0 and not (self._static and self._seen and self._seen.isdisjoint(here)):
            self._seen.clear()
            self.step += 1
            self._calls, self._forwards[0] = max(1, self._forwards[0]), 0  # under Join, a rank may have had none
            self._failure = None
            try:
                self._used.update(self._watch_use())  # whether they are used in this step is not known
                self._values = self._ask_schedule()
                self._now_changed = self._changed()
                self._versions = {name: p._version for name, p in self._parameters.items()}
            except Exception as error:  # of this worker only: the others must hear of it
                self._failure = error
        self._seen |= here
        buffer = bucket.buffer()
        if buffer.layout is not torch.strided:
            raise TypeError("the gradients are sparse: use modules without sparse=True, such as nn.Embedding(..., sparse=False)")
        if buffer.dtype not in _FLOATS or buffer.device.type not in ("cpu", "cuda"):
            raise TypeError(f"the gradients are {buffer.dtype} on {buffer.device}: only float32, float16 and bfloat16 on "
                            "the CPU or a CUDA GPU are supported")
        host = on_host(buffer)
        pieces = [_Piece(name, part, not self._unused_ok or name in self._used) for name, part in
                  zip([self._names[id(p)] for p in parameters], host.split([p.numel() for p in parameters])) if part.numel()]
        if bucket.is_last():
            self._used.clear()
        future: torch.futures.Future = torch.futures.Future(devices=[buffer.device] if buffer.is_cuda else None)
        job = _Job(self.step, self._values, self._now_changed, self._failure, pieces, buffer, host, bucket.is_last(), future)
        if self._jobs is not None:
            self._jobs.put((self, job))
        else:
            self._do(job)
        return future.then(_result)

    def _ask_schedule(self) -> Dict[str, float]:
        values = {key: at(self.step) for key, at in self._schedule.items()}
        values["scale"] = self._scale_now()
        for key, value in values.items():
            if not isinstance(value, (int, float)):
                raise TypeError(f"the schedule of {key} gives {value!r} in step {self.step}, which is not a number")
        if not self._warned and not {"theta", "density"}.isdisjoint(self._schedule):
            self._warned = warn_if_forgets(self.spec, **{key: value for key, value in values.items() if key != "scale"})
        return values

    def _scale_now(self) -> float:
        return self._scaler.get_scale() if self._scaler is not None else 1.0

    def _changed(self) -> Set[str]:
        """The parameters that were changed in place since the last step, as far as torch counts it."""
        return {name for name, p in self._parameters.items() if p._version != self._versions.get(name)}

    def _taken_back(self, scale: float, changed: Set[str]) -> List[Tuple[_Group, Dict[str, Any]]]:
        """The messages of the last step that did not count, and what to keep instead. A step counts if all means are finite, and
        the scale did not fall since. But several optimizers may have one scaler, and skip a step each for itself: so parameters
        that have changed count anyway. If the mean has a NaN and yet all parameters
        changed, the changes are not an optimizer's, and do not count."""
        if self._counts(scale):
            return []
        if not self._finite and changed.issuperset(self._sent()):
            changed = set()
        found = []
        for group, state in self._before:
            count = [name in changed for name in group.names]
            if any(count):
                after, sizes = saved(group.exchange), self._sizes(group.names)
                stay = torch.cat([torch.full((n,), one, dtype=torch.bool, device="cpu") for n, one in zip(sizes, count)])
                state = {**after, **{key: torch.where(stay, after[key], state[key]) for key in MEMORY}}
            if not all(count):
                found.append((group, state))
        return found

    def _counts(self, scale: float) -> bool:
        return self._finite and scale >= self._scale

    def _sent(self) -> List[str]:
        """The parameters whose messages could be taken back."""
        return [name for group, _ in self._before for name in group.names]

    def _settle(self, scale: float, changed: Set[str]) -> None:
        """Takes the last step back if it did not count, and brings what is kept to the scale."""
        back = self._taken_back(scale, changed)
        for group, state in back:
            group.exchange.restore(state)
        self._skipped += bool(back)
        if scale != self._scale:
            self._rescale(scale / self._scale)
        self._before, self._finite, self._scale = [], True, scale

    def _compare_values(self, job: _Job) -> None:
        """Workers with other parameters would wait for each other, or read each other's bytes. They also decide together whether
        the last step counts: a parameter that is unchanged on one worker was changed by no optimizer."""
        if not self._schedule and self._scaler is None:
            return
        values = {**job.values, _SKIPPED: self._skipped}
        mine = (ctypes.c_double * len(values))(*values.values())
        arrived = self._transport.gather(ctypes.addressof(mine), ctypes.sizeof(mine), "schedule", most=ctypes.sizeof(mine))
        rows = [type(mine).from_address(address)[:] for address, _ in arrived]
        for worker, theirs in enumerate(rows):
            for key, first, value in zip(values, rows[0], theirs):
                if value != first:
                    ranks = [dist.get_global_rank(self._transport.group, one) for one in (0, worker)]
                    advice = ("the checkpoint was saved after a step that one rank applied and another skipped: take another "
                              "checkpoint" if key == _SKIPPED else "give all ranks the same schedule, scaler and checkpoint")
                    raise Disagreement(f"all ranks need the same schedule: in step {job.step} the {key} is {first:g} on "
                                       f"rank {ranks[0]}, and {value:g} on rank {ranks[1]}; {advice}")
        changed, names = job.changed, self._sent()
        if names and not self._counts(job.values["scale"]):
            said = self._ask([name in changed for name in names], "changed")
            changed = {name for name, ranks in zip(names, said) if all(ranks)}
        self._settle(job.values["scale"], changed)

    def _ask(self, mine: List[bool], key: Any) -> List[Tuple[int, ...]]:
        """What each worker says to the same questions."""
        said = ctypes.create_string_buffer(bytes(mine), len(mine))
        arrived = self._transport.gather(ctypes.addressof(said), len(mine), key, most=len(mine))
        return list(zip(*(ctypes.string_at(*theirs) for theirs in arrived)))

    def _do(self, job: _Job) -> None:
        try:
            self._transport.check_alive()
            if job.failure is not None:
                raise job.failure
            self._exchange_bucket(job)
            return
        except BaseException as error:  # every waiting backward pass must end
            message = self._transport.fail(error)
        # Only now: an error that is raised in the block above keeps the first one, and this one the
        # open connections.
        for waiting in {id(one): one for one in [*self._waiting, job]}.values():
            if not waiting.future.done():
                waiting.future.set_result(message)
        self._waiting = []

    def _exchange_bucket(self, job: _Job) -> None:
        if not self._now or self._now["step"] != job.step:
            self._waiting = []
            self._now = self._watch.phases = dict(step=job.step, bytes=0, dense_bytes=0, encode_seconds=0.0,
                                                  exchange_seconds=0.0, sum_seconds=0.0, copy_seconds=0.0)
            transport = self._transport
            transport.step, transport.batch, transport.batch_is = job.step, self.batch, "batch"
            if self.batch is None:
                transport.batch, transport.batch_is = self._calls, FORWARDS
            self._compare_values(job)
        self._now["dense_bytes"] += job.buffer.numel() * job.buffer.element_size()
        done = self._plain(job) if job.step < self.start else self._compressed(self._ask_who_used(job))
        if job.last:
            self.steps.append(dict(self._now, ratio=self._now["dense_bytes"] / max(1, self._now["bytes"])))
        for one in done:
            one.deliver()

    def _plain(self, job: _Job) -> List[_Job]:
        values = job.host.float().div(self._transport.world)
        self._transport.sum_plainly(values, tuple(piece.name for piece in job.pieces))
        self._now["bytes"] += 4 * values.numel()
        job.host.copy_(values)
        return [job]

    def _ask_who_used(self, job: _Job) -> _Job:
        """DDP drops the mean of a parameter that no rank used."""
        if not self._unused_ok or not job.pieces:
            return job
        said = self._ask([piece.used for piece in job.pieces], ("used", *(piece.name for piece in job.pieces)))
        return job._replace(pieces=[piece._replace(used=any(ranks)) for piece, ranks in zip(job.pieces, said)])

    def _compressed(self, job: _Job) -> List[_Job]:
        """Exchanges the groups that lie in this bucket, and returns the buckets that are done. If DDP's buckets are not
        those of the groups (in the first step after a restart), the last bucket exchanges the rest, out of all buckets."""
        names = {piece.name for piece in job.pieces}
        if not self._order or job.step == self._first:
            self._first = job.step
            self._order += self._split([piece.name for piece in job.pieces])
        inside = [group for group in self._order if names.issuperset(group)]
        self._waiting.append(job)
        for group in inside:
            self._exchange(self._group(group), job, [job])
        if {name for group in inside for name in group} == names:
            self._waiting.pop()
            if not job.last or not self._waiting:
                return [job]
        elif not job.last:
            return []
        here = {piece.name for one in self._waiting for piece in one.pieces}
        known = {name for group in self._order for name in group}
        if not known.issuperset(here):
            raise RuntimeError(f"no message has the parameter {min(here - known)}, which had no gradient before: after a change "
                               "of requires_grad, make the DDP module and the Compression anew")
        inside = [group for one in self._waiting for group in self._order
                  if {piece.name for piece in one.pieces}.issuperset(group)]
        for group in self._order:
            if group not in inside and here.intersection(group):
                self._exchange(self._group(group), job, self._waiting)
        done, self._waiting = [job, *self._waiting], []
        return list({id(one): one for one in done}.values())

    def _exchange(self, group: _Group, job: _Job, jobs: List[_Job]) -> None:
        """Replaces the gradients of a group by the workers' mean."""
        exchange, watch, n = group.exchange, self._watch, group.exchange.n
        by_name = {piece.name: piece for one in jobs for piece in one.pieces}
        pieces = [by_name[name] for name in group.names]
        if not any(piece.used for piece in pieces):
            return
        watch.start()
        for key, value in job.values.items():
            if key != "scale" and group.spec == self.spec and group.set.get(key) != value:
                exchange.set(key, value)
                group.set[key] = value
        flats, idle = [piece.flat for piece in pieces], None
        whole = jobs[0].host if len(jobs) == 1 and tuple(by_name) == group.names else flats[0] if len(flats) == 1 else None
        if not all(piece.used for piece in pieces):
            idle, whole = torch.cat([torch.full_like(flat, not used, dtype=torch.bool) for _, flat, used in pieces]), None
        x = torch.cat(flats) if whole is None else whole
        x = x if x.dtype is torch.float32 else x.float()
        before = saved(exchange) if self._scaler is not None or idle is not None else {}
        if self._scaler is not None:
            self._before.append((group, before))
        if idle is not None:
            x.masked_fill_(idle, 0.0)
            exchange.restore({**before, **{key: before[key].masked_fill(idle, 0.0) for key in MEMORY}})
        watch.lap("copy_seconds")
        address = x.data_ptr()
        exchange.begin_at(job.step, address)
        self._now["bytes"] += self._transport.run(exchange, group.names, watch, address)
        update = x
        if not exchange.sums_in_place:
            if self._scratch.numel() < n:
                self._scratch = torch.empty(n, dtype=torch.float32, device="cpu")
            update = self._scratch[:n]
        exchange.finish_at(update.data_ptr())
        watch.lap("sum_seconds")
        if idle is not None:
            after = saved(exchange)
            exchange.restore({**after, **{key: torch.where(idle, before[key], after[key]) for key in MEMORY}})
        if whole is None:
            for piece, part in zip(pieces, update.split([flat.numel() for flat in flats])):
                if piece.used:
                    piece.flat.copy_(part)
        elif update is not whole:
            whole.copy_(update)
        if self._scaler is not None:
            means = [whole] if whole is not None else [piece.flat for piece in pieces if piece.used]
            self._finite = self._finite and all(bool(mean.isfinite().all()) for mean in means)
        watch.lap("copy_seconds")

    def _rescale(self, factor: float) -> None:
        for group in self._groups.values():
            state = saved(group.exchange)
            for key in MEMORY:
                state[key].mul_(factor)
            group.exchange.restore(state)

    # Checkpoints

    def state_dict(self) -> Dict[str, Any]:
        """What this worker keeps between steps: call it between two steps, after scaler.update(), on every worker, and keep one
        file for each. `parameters` has the residual and the momentum of each parameter by name."""
        scale = self._scale_now()  # nothing is changed here: the workers settle together, in the next step
        before = {group.names: state for group, state in self._taken_back(scale, self._changed())}
        parameters: Dict[str, Dict[str, torch.Tensor]] = {}
        groups = []
        for names in self._order:
            group = self._group(names)
            state = dict(before.get(names) or saved(group.exchange))
            for key in MEMORY:
                array = state.pop(key) * (scale / self._scale)
                for name, part in zip(names, array.split(self._sizes(names))):
                    axes = self._axes(name)
                    there = part.view([self._parameters[name].shape[axis] for axis in axes])
                    back = sorted(range(len(axes)), key=axes.__getitem__)
                    parameters.setdefault(name, {})[key] = there.permute(back).flatten().clone()
            groups.append({"names": list(names), "spec": group.spec, "set": dict(group.set), **state})
        return {"step": self.step, "skipped": self._skipped + bool(before), "scale": scale, "worker": self._transport.rank,
                "workers": self._transport.world, "totals": self._totals(), "parameters": parameters, "groups": groups}

    def load_state_dict(self, state: Union[Dict[str, Any], Sequence[Dict[str, Any]]]) -> None:
        """Puts back what state_dict() gave, between two steps and on all workers: this worker's own, and the training
        goes on as if it had not been interrupted. With another number of workers, give the states of all former workers in the
        order of their ranks: worker w of W then gets the sum of the residuals of the former workers w, w + W, ..., scaled
        so that the mean over the workers stays; what the method keeps besides begins anew.

        A state from before the first compressed step has no residuals. Then two more steps are not compressed, because DDP
        makes its buckets anew again. Parameters that are trained only before or only now are named in a warning. A state that is
        refused (ValueError) changes nothing."""
        states = [_plain_state(one) for one in as_states(state)]
        self._check_states(states)
        rank, world = self._transport.rank, self._transport.world
        before = states[0]["workers"]
        if before == world:
            own = next((s for s in states if s["worker"] == rank), {})
            if not own:
                raise ValueError(f"no state of worker {rank}: give each worker its own")
            parameters = own["parameters"]
        else:
            if [s["worker"] for s in states] != list(range(before)):
                raise ValueError(f"the state is of {before} workers, and there are {world} now: give a list of all "
                                 f"{before} states, in the order of the ranks")
            own, parameters = states[0], {}
            for name, arrays in own["parameters"].items():
                parameters[name] = {key: sum((s["parameters"][name][key] for s in states[rank::world]),
                                             torch.zeros_like(arrays[key])) * (world / before) for key in MEMORY}
        order: List[Tuple[str, ...]] = []
        groups: Dict[Tuple[str, ...], _Group] = {}
        known, trained = {name for group in own["groups"] for name in group["names"]}, self._trained
        for saved_group in own["groups"]:
            names = tuple(name for name in saved_group["names"] if name in trained)
            if names:
                whole = before == world and len(names) == len(saved_group["names"])
                order.append(names)
                groups[names] = self._reopen(names, saved_group if whole else {}, parameters)
        if known:
            order += self._split([name for name in trained if name not in known])
            self._say("had a residual in the state, which is dropped: they are not trained now", known.difference(trained))
            self._say("have no residual in the state, and begin with 0", set(trained).difference(known))
        self.step, self._skipped, self._scale, self._before, self._finite = own["step"], own["skipped"], own["scale"], [], True
        self._transport.totals = dict(own["totals"])
        self._watch.coding_seconds = self._transport.totals.pop("coding_seconds")
        self._order, self._groups, self._first = order, groups, -1
        self._now = {}  # the workers compare their steps again
        if not order:
            self.start = max(self.start, self.step + 1 + min(self.start, 2))

    def _say(self, what: str, names: Set[str]) -> None:
        if any(self._parameters[name].numel() for name in names):
            warnings.warn(f"parameters that {what}: {', '.join(sorted(names))}", stacklevel=3)

    def _reopen(self, names: Tuple[str, ...], state: Dict[str, Any], parameters: Dict[str, Dict[str, torch.Tensor]]) -> _Group:
        """A group with what was kept of its parameters, and with what its method kept besides."""
        group = self._open(names)
        group.set = dict(state.get("set", {}))
        arrays = {key: torch.cat([self._in_bucket(name, parameters[name][key]) for name in names]) for key in MEMORY}
        kept = {**arrays, "counters": state.get("counters", [0] * 8), "kept": state.get("kept", b"")}
        restore_message(f"the message of {names[0]}", group.exchange, kept, group.set)
        return group

    def _in_bucket(self, name: str, array: torch.Tensor) -> torch.Tensor:
        return array.reshape(self._parameters[name].shape).permute(self._axes(name)).flatten()

    def _check_states(self, states: Sequence[Dict[str, Any]]) -> None:
        """Raises ValueError with the name of what is wrong."""
        for s in states:
            require_keys(s, _KEYS)
            for key, good in (("step", is_whole(s["step"], -1)), ("skipped", is_whole(s["skipped"])),
                              ("scale", is_finite(s["scale"]) and s["scale"] > 0),
                              ("workers", is_whole(s["workers"], 1)), ("worker", is_whole(s["worker"])),
                              ("parameters", isinstance(s["parameters"], dict)), ("groups", isinstance(s["groups"], list))):
                require(good, key, s[key])
            check_totals(s["totals"], self._totals())
            require(s["worker"] < s["workers"], "worker", s["worker"])
            for name, arrays in s["parameters"].items():
                self._check_arrays(name, arrays)
            self._check_groups(s)
        for key, what in (("step", "steps"), ("workers", "numbers of workers"), ("scale", "scales"),
                          ("skipped", "numbers of steps that did not count")):
            found = sorted({s[key] for s in states})
            if len(found) > 1:
                raise ValueError(f"the states are of {what} {found[0]} to {found[-1]}: give states of one step of one training")
        if any(s["parameters"].keys() != states[0]["parameters"].keys() for s in states):
            raise ValueError("the states have different parameters: give states of one step of one training")

    def _check_arrays(self, name: str, arrays: Any) -> None:
        if name not in self._parameters:
            raise ValueError(f"the state is of another model: it has the parameter {name}, and this model does not")
        require_keys(arrays, MEMORY, f"parameter {name}")
        for key in MEMORY:
            check_array(f"{key} of {name}", arrays[key], (self._parameters[name].numel(),))

    def _check_groups(self, state: Dict[str, Any]) -> None:
        seen: Set[str] = set()
        for group in state["groups"]:
            require_keys(group, ("names", "spec", "set", "counters", "kept"), "one of its groups")
            names = group["names"]
            require(isinstance(names, list) and names and all(isinstance(name, str) for name in names) and seen.isdisjoint(names)
                  and len(set(names)) == len(names) and state["parameters"].keys() >= set(names), "names of a group", names)
            seen.update(names)
            for name in names:
                if self._spec_of(name) != group["spec"]:
                    raise ValueError(f"the state of {name} is of {group['spec']}, not {self._spec_of(name)}: go on with "
                                     "the method of the state")
            settings = group["set"]
            require(isinstance(settings, dict) and all(isinstance(key, str) for key in settings)
                    and all(map(is_finite, settings.values())), f"set of {names[0]}", settings)
            check_kept(f"the message of {names[0]}", group)
        require(seen == state["parameters"].keys(), "parameters", sorted(state["parameters"].keys() - seen))

    def _totals(self) -> Dict[str, float]:
        return {**self._transport.totals, "coding_seconds": self._watch.coding_seconds}

    def row(self, network: str, quality: float, *, seed: int = 1, label: Optional[str] = None,
            **more: Any) -> Dict[str, Any]:
        """A row `training` (docs/rows.md) with the totals so far. Write it as a line of json: `gcbench plot` and `gcbench
        report` draw it. `quality` is in per cent; `more` are the fields that only you know: loss, test_loss, epoch,
        lr_factor, compute_seconds."""
        theta = self._schedule.get("theta")
        return {"record": "training", "schema": 1, "network": network, "label": label or self.spec,
                "method": self.spec.partition(":")[0], "spec": self.spec,
                "theta_schedule": getattr(theta, "name", "other") if theta else "constant", "inner_steps": 1,
                "workers": self._transport.world, "seed": seed, "status": "ok", "step": self.step + 1, "quality": quality,
                **self._totals(), **more}

    def residual_norm(self) -> float:
        """The L2 norm of what this worker has not sent yet. It copies all residuals: do not ask in every step."""
        state = self.state_dict()["parameters"]
        return math.sqrt(sum(float(arrays["residual"].double().square().sum()) for arrays in state.values()))


def _plain_state(state: Any) -> Any:
    """A copy without what torch.compile puts into names."""
    if not isinstance(state, dict) or not isinstance(state.get("groups"), list):
        return state  # _check_states() says what is wrong
    try:
        return {**state, "parameters": {plain_name(name): arrays for name, arrays in state["parameters"].items()},
                "groups": [{**group, "names": [plain_name(name) for name in group["names"]]} for group in state["groups"]]}
    except (AttributeError, KeyError, TypeError):
        return state


def hook(state: Compression, bucket: Any) -> torch.futures.Future:
    """For DistributedDataParallel.register_comm_hook."""
    try:
        return state._reduce(bucket)
    except Exception as error:  # of this worker only: the others must not wait for this bucket
        state._transport.leave_note(error)
        raise


def _watch(p: torch.nn.Parameter, note: Callable[[Any], None]) -> Any:
    """Calls note() before something is added to p.grad, with a tuple of the gradient. torch 1.13 can call it only with the
    gradient, and also in torch.autograd.grad()."""
    with torch.enable_grad():
        node: Any = p.expand_as(p).grad_fn.next_functions[0][0]  # the same as DDP's
    return node.register_prehook(note) if hasattr(node, "register_prehook") else p.register_hook(note)


def _note(used: Set[str], name: str, parameter: Any, grads: Any) -> None:
    """DDP calls the parameter used if it has a gradient afterwards."""
    grad = grads[0] if isinstance(grads, tuple) else grads
    if grad is not None or parameter().grad is not None:
        used.add(name)


# DDP compares annotations with its own classes.
hook.__annotations__ = {"bucket": dist.GradBucket, "return": torch.futures.Future[torch.Tensor]}


def _result(future: torch.futures.Future) -> torch.Tensor:
    """The buffer, or an error: only one that is raised here reaches DDP with its text."""
    value = future.value()
    if isinstance(value, BaseException):
        raise value
    return value


def _work(jobs: "queue.SimpleQueue[Any]") -> None:
    """The thread that exchanges buckets, in the order of the queue."""
    while True:
        entry = jobs.get()
        if entry is None:
            return
        entry[0]._do(entry[1])
        del entry


def _stop(jobs: "queue.SimpleQueue[Any]", thread: threading.Thread) -> None:
    """Ends the thread. Python must not exit while it is inside torch."""
    jobs.put(None)
    if thread is not threading.current_thread():
        thread.join(5.0)


def _why_not(model: Any) -> str:
    """Why this model cannot be compressed. FSDP2's modules have a class of their own each, FSDPModule is one of its bases."""
    bases = {base.__name__ for base in type(model).__mro__}
    if "FSDPModule" in bases:
        return "the model is sharded by FSDP2, which calls no DDP hook: use gcbench.fsdp.Compression"
    if "FullyShardedDataParallel" in bases:
        return ("the model is sharded by FSDP1, which calls no DDP hook: train with DistributedDataParallel, or with "
                "fully_shard and gcbench.fsdp.Compression")
    if "DeepSpeedEngine" in bases:
        return ("the model is a DeepSpeedEngine, which sums gradients itself and calls no DDP hook: train with "
                "DistributedDataParallel, or with DeepSpeed's own compression")
    return f"model is a {type(model).__name__}: give the DistributedDataParallel module"


def _count_forwards(model: DistributedDataParallel) -> List[int]:
    """A list of one number, which each forward pass that is for a step raises. Compiled ones do not."""
    passes, compiling = [0], getattr(getattr(torch, "compiler", None), "is_compiling", bool)

    def count(module: Any, arguments: Any, result: Any) -> None:
        if not compiling() and module.training and torch.is_grad_enabled() and module.require_backward_grad_sync:
            passes[0] += 1

    model.register_forward_hook(count)
    return passes


def _own_group(model: DistributedDataParallel, given: Any, timeout: float) -> Any:
    if given is not None:
        if given is model.process_group or dist.get_world_size(given) != dist.get_world_size(model.process_group):
            raise ValueError("process_group= must have the ranks of the DDP module, and be another group than the module's")
        return given
    if model.process_group is not dist.group.WORLD:
        raise ValueError("the DDP module has a process group of its own: give process_group=, a gloo group of the same "
                         "ranks that nothing else uses")
    return dist.new_group(backend="gloo", timeout=timedelta(seconds=timeout))
