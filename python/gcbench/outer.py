"""Local SGD with compressed messages: workers train by themselves, and exchange what changed every H steps (DiLoCo).

    outer = gcbench.outer.Outer("qgz:bits=4", model=model, inner_steps=10)
    for batch in batches:
        loss_of(model, batch).backward()
        optimizer.step()                # this worker's own
        optimizer.zero_grad()
        outer.step()                    # in each tenth call: the exchange

The model is not a DistributedDataParallel module. docs/training.md says more.
"""
import copy
import ctypes
import math
import warnings
import weakref
from datetime import timedelta
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

import torch
import torch.distributed as dist

from ._exchange import Exchange
from ._states import (MEMORY, as_states, check_array, check_message, check_optimizer, check_totals, check_training, is_whole,
                      require, require_keys, restore_message)
from ._tables import remembers, warn_if_forgets
from ._transport import Disagreement, Refused, Stopwatch, Transport, copy_on_host, on_host, plain_name, saved

__all__ = ["Outer", "nesterov"]

_FLOATS = (torch.float32, torch.float16, torch.bfloat16)


def nesterov(anchor: List[torch.Tensor]) -> torch.optim.Optimizer:
    """DiLoCo's outer optimizer."""
    return torch.optim.SGD(anchor, 0.7, momentum=0.9, nesterov=True)


class Outer:
    """What one worker keeps for local SGD. All workers get the same weights after each exchange.

    spec           a method, "name:key=value,..." (docs/codecs/index.md)
    model          the module that this worker trains; all workers begin with the weights of the first
    inner_steps    H: calls of step() for each exchange
    optimizer      makes the outer optimizer of a list of tensors, whose .grad is the workers' mean pseudo-gradient: the
                   weights before the inner steps minus those after them
    per            "model": one message; "tensor": one for each parameter. Default: "model", but "tensor" for powersgd
    dumper         a gcbench.dump.GradientDumper of the model: records this worker's pseudo-gradients of the exchanges that all
                   workers agreed upon; step n is exchange n
    nonfinite      if a worker's weights have an infinity or NaN: "error" fails on all workers, and names it; "skip" leaves
                   its part out, with a warning: the mean is that of the others, and its memory stays
    process_group  a gloo group of the workers, which nothing else uses; default: a new one of all ranks
    threads, seed  as in gcbench.Encoder
    timeout        seconds to wait for another worker; only for the default process_group

    Only whole float32, float16 and bfloat16 parameters, on the CPU or a CUDA GPU; the outer optimizer's tensors are float32 on
    the CPU. Buffers, such as batch norm's statistics, stay each worker's own. The parameters must stay those that the model had.
    A step that fails changes neither counters nor memory. If a worker is lost or cannot encode, all fail for good: begin again
    from a checkpoint.
    """

    def __init__(self, spec: str, *, model: torch.nn.Module, inner_steps: int,
                 optimizer: Callable[[List[torch.Tensor]], torch.optim.Optimizer] = nesterov, per: Optional[str] = None,
                 dumper: Any = None, nonfinite: str = "error", process_group: Any = None, threads: int = 1, seed: int = 1,
                 timeout: float = 600.0) -> None:
        self._transport = Transport(process_group or dist.new_group(backend="gloo", timeout=timedelta(seconds=timeout)))
        if process_group is None:
            weakref.finalize(self, self._transport.close)
        self.inner_steps, self.calls, self.exchanges = inner_steps, 0, 0
        self._model, self._dumper, self._nonfinite, self._warned = model, dumper, nonfinite, set()
        self._mine, self._weights, failed = {}, {}, None
        try:
            self._weights = _parameters(model)
            if per not in (None, "model", "tensor"):
                raise ValueError(f"per={per!r}: choose model or tensor")
            if nonfinite not in ("error", "skip"):
                raise ValueError(f"nonfinite={nonfinite!r}: choose error or skip")
            if inner_steps < 1:
                raise ValueError(f"inner_steps={inner_steps}: at least 1")
            alone = per == "tensor" or (per is None and spec.startswith("powersgd"))
            self._mine = {"method": spec, "per": "tensor" if alone else "model",
                          "parameters": [(name, tuple(p.shape)) for name, p in self._weights.items()]}
            self._shapes = [tuple(p.shape) or (1,) for p in self._weights.values()]
            self._sizes = [math.prod(shape) for shape in self._shapes]
            self._parts = list(zip(self._weights, self._shapes)) if alone else [("model", (sum(self._sizes),))]
            self._options: Dict[str, Any] = {"threads": threads, "seed": seed}
            self._messages = self._open()
        except Exception as error:  # the others must not wait for this worker
            failed = error
        self._transport.check_same({**self._mine, "inner_steps": inner_steps, "seed": seed, "nonfinite": nonfinite}, failed)
        warn_if_forgets(spec)
        self._keeps = remembers(spec)
        self._types = [p.dtype for p in self._weights.values()]
        self._anchor = [copy_on_host(p.detach()).float() for p in self._weights.values()]
        for anchor in self._anchor:
            self._transport.broadcast(anchor)
            anchor.requires_grad_()
        self._copy_weights()
        self._optimizer = optimizer(self._anchor)

    def _open(self, weights: Optional[List[float]] = None) -> List[Exchange]:
        spec, transport = self._mine["method"], self._transport
        return [Exchange(spec, math.prod(shape), worker=transport.rank, workers=transport.world, weights=weights, path=path,
                         shape=shape, nonfinite="raw", **self._options) for path, shape in self._parts]

    @property
    def wire_bytes(self) -> float:
        """Bytes of a worker's messages so far: the mean over the workers."""
        return self._transport.totals["wire_bytes"]

    @property
    def link_bytes(self) -> float:
        """Bytes that a worker has put on its link so far: the mean."""
        return self._transport.totals["link_bytes"]

    def step(self, batch: Optional[int] = None) -> bool:
        """Call it after each step of the inner optimizer. Returns whether the workers exchanged. `batch` may be the number of
        the batch: then a worker that left out a batch and this call is found too."""
        calls = self.calls + 1
        if calls % self.inner_steps:
            try:
                self._check_weights()
            except Exception as error:
                self._transport.fail(error)  # the others go on, and would wait for this worker
                raise
            self.calls = calls
            return False
        self._transport.check_alive()
        self._transport.step, self._transport.batch = calls, -1 if batch is None else batch
        changes, left_out = self._agree()
        totals, kept = dict(self._transport.totals), []
        try:
            if self._keeps:
                kept = [saved(message) for message in self._messages]
            x = torch.cat([change.flatten() for change in changes])
            mean = self._exchange_without(x, left_out) if left_out else self._exchange(self._messages, x)
            for anchor, part in zip(self._anchor, mean.split(self._sizes)):
                anchor.grad = part.view_as(anchor)
            self._optimizer.step()
        except Exception as error:  # the others must hear of it
            for message, before in zip(self._messages, kept):
                message.restore(before)
            self._transport.totals = totals
            raise self._transport.fail(error) from error
        self._copy_weights()
        self.calls, self.exchanges = calls, self.exchanges + 1
        return True

    def _check_weights(self) -> None:
        """Raises ValueError if the model trains other parameters than those that are exchanged."""
        again = "make the Outer anew on all workers after such a change"
        now = {plain_name(name): p for name, p in self._model.named_parameters()}
        for (name, p), dtype, (_, shape) in zip(self._weights.items(), self._types, self._mine["parameters"]):
            if now.get(name) is not p:
                what = "replaced (load_state_dict with assign=True does this)" if name in now else "removed"
                raise ValueError(f"{name} was {what} since the Outer was made, and would no longer be exchanged: {again}")
            if p.dtype is not dtype or tuple(p.shape) != shape:
                raise ValueError(f"{name} was {dtype} of shape {shape}, and now is {p.dtype} of {tuple(p.shape)}: {again}")
        for name, p in now.items():
            if p.requires_grad and name not in self._weights:
                raise ValueError(f"{name} is trained, but was frozen or absent when the Outer was made, so it would not be "
                                 f"exchanged: {again}")

    def _changes(self) -> List[torch.Tensor]:
        """This worker's pseudo-gradients. Weights of 16 bits began as the rounded anchor."""
        with torch.no_grad():
            return [anchor.to(p.dtype).float() - on_host(p).float() for anchor, p in zip(self._anchor, self._weights.values())]

    def _agree(self) -> Tuple[List[torch.Tensor], List[int]]:
        """This worker's changes, and the workers to leave out. Raises the same on all workers, before anything is changed."""
        changes, bad, failed = [], "", None
        try:
            self._check_weights()
            changes = self._changes()
            bad = next((name for name, change in zip(self._weights, changes) if not bool(change.isfinite().all())), "")
        except Exception as error:
            failed = error
        said = [text.split(" ", 2) for text in self._gather("agreement", f"{self.exchanges} {self._dumper is not None} {bad}", failed)]
        ranks = [dist.get_global_rank(self._transport.group, worker) for worker in range(self._transport.world)]
        for rank, (exchanges, _, _) in zip(ranks, said):
            if exchanges != said[0][0]:
                raise Disagreement("all ranks need the same states: the number of exchanges is "
                                   f"{said[0][0]} on rank {ranks[0]}, and {exchanges} on rank {rank}")
        left_out = [worker for worker, (_, _, name) in enumerate(said) if name]
        what = f"exchange {self.exchanges}: " + ", ".join(
            f"{said[worker][2]} of rank {ranks[worker]}" for worker in left_out) + " has an infinity or NaN"
        if left_out and (self._nonfinite == "error" or len(left_out) == self._transport.world):
            raise RuntimeError(f"gcbench: {what}. Nothing was exchanged, and nothing was changed on any rank. nonfinite=\"skip\" "
                               "leaves out such a worker, as long as there is another one")
        for worker in set(left_out) - self._warned:
            self._warned.add(worker)
            warnings.warn(f"gcbench: {what}: the parts of such workers are left out, and they go on with the others' weights; "
                          "the state of their inner optimizers may have NaNs too", RuntimeWarning, stacklevel=3)
        if any(records == "True" for _, records, _ in said):
            self._record(changes)
        return changes, left_out

    def _gather(self, key: str, mine: str, failed: Optional[Exception]) -> List[str]:
        """The texts of all workers. Raises on all workers if one has failed; then the training may go on."""
        text = mine.encode()
        data = ctypes.create_string_buffer(text, max(1, len(text)))
        try:
            arrived = self._transport.gather(ctypes.addressof(data), len(text), key, failed)
        except (Refused, Disagreement):
            raise
        except Exception as error:
            if error is failed:
                raise
            raise self._transport.fail(error) from error
        return [ctypes.string_at(address, length).decode() for address, length in arrived]

    def _copy_weights(self) -> None:
        with torch.no_grad():
            for anchor, p in zip(self._anchor, self._weights.values()):
                p.copy_(anchor)

    def _exchange(self, messages: List[Exchange], x: torch.Tensor) -> torch.Tensor:
        """The workers' mean."""
        mean, watch = torch.empty_like(x), Stopwatch()
        sizes = [message.n for message in messages]
        for number, (message, part, out) in enumerate(zip(messages, x.split(sizes), mean.split(sizes))):
            message.begin(self.exchanges, part)
            self._transport.run(message, number, watch)
            message.finish(out)
        return mean

    def _exchange_without(self, x: torch.Tensor, left_out: List[int]) -> torch.Tensor:
        """The mean of the other workers. The messages of those that are left out have the weight 0; their residual and
        momentum stay."""
        transport = self._transport
        weight, absent = 1 / (transport.world - len(left_out)), transport.rank in left_out
        messages = self._open([0.0 if worker in left_out else weight for worker in range(transport.world)])
        before = [saved(message) for message in self._messages]
        for message, state in zip(messages, before):
            message.restore({**state, **{key: torch.zeros_like(state[key]) for key in MEMORY}} if absent else state)
        mean = self._exchange(messages, torch.zeros_like(x) if absent else x)
        for message, state, own in zip(messages, before, self._messages):
            own.restore({**saved(message), **({key: state[key] for key in MEMORY} if absent else {})})
        return mean

    def _record(self, changes: List[torch.Tensor]) -> None:
        """The dumper records .grad. If that fails on a worker, there is no exchange, and the dumpers do not count one."""
        weights, failed, next_step = self._weights.values(), None, getattr(self._dumper, "next_step", None)
        kept = [p.grad for p in weights]
        try:
            if self._dumper is not None:
                for p, change in zip(weights, changes):
                    p.grad = change.to(p.device, p.dtype)
                self._dumper.what = "pseudo-gradient"
                self._dumper.step()
        except Exception as error:
            failed = error
        finally:
            for p, grad in zip(weights, kept):
                p.grad = grad
        try:
            self._gather("recorded", "", failed)
        except Exception:
            if next_step is not None:
                self._dumper.next_step = next_step
            raise

    def state_dict(self) -> Dict[str, Any]:
        """What this worker keeps: save it on every worker, between two calls of step(), beside the model's weights and the
        inner optimizer."""
        return {**self._mine, "rank": self._transport.rank, "world": self._transport.world, "calls": self.calls,
                "exchanges": self.exchanges, "totals": dict(self._transport.totals),
                "anchor": [a.detach().clone() for a in self._anchor], "optimizer": copy.deepcopy(self._optimizer.state_dict()),
                "messages": [saved(message) for message in self._messages]}

    def load_state_dict(self, state: Union[Dict[str, Any], Sequence[Dict[str, Any]]]) -> None:
        """Puts back what this worker's state_dict() gave, between two steps and on all workers; the model needs its own
        weights too. With another number of workers, give the states of all former workers in the order of their ranks: worker
        w of W then gets the sum of the residuals of the former workers w, w + W, ..., scaled so that the mean over the workers
        stays; what the method keeps besides begins anew. Raises ValueError if the method, `per`, the model or the rank are
        others, or if the state is damaged; then nothing is changed."""
        states = as_states(state)
        rank, world = self._transport.rank, self._transport.world
        for one in states:
            self._check_state(one)
        before = states[0]["world"]
        if before == world:
            own = next((one for one in states if one["rank"] == rank), states[0])
            check_training(own, {"rank": rank})
            messages = own["messages"]
        else:
            ranks = [one["rank"] for one in states]
            if ranks != list(range(before)):
                found = f"is of {before} workers, and there are {world} now" if len(ranks) == 1 else f"has those of ranks {ranks}"
                raise ValueError(f"the state {found}: give a list of all {before} states, in the order of the ranks")
            if len({(one["world"], one["calls"], one["exchanges"]) for one in states}) > 1:
                raise ValueError(f"the states are of steps {sorted({one['calls'] for one in states})}: give states of one step of "
                                 "one training")
            own, messages = states[0], []
            for number, message in enumerate(own["messages"]):
                sums = {key: sum((one["messages"][number][key] for one in states[rank::world]), torch.zeros_like(message[key]))
                        * (world / before) for key in MEMORY}
                messages.append({**sums, "counters": [0] * 8, "kept": b""})
        fresh = self._open()
        for (path, _), message, kept in zip(self._parts, fresh, messages):
            restore_message(f"the message of {path}", message, kept)
        try:
            self._optimizer.load_state_dict(copy.deepcopy(own["optimizer"]))
        except Exception as error:
            raise ValueError(f"the optimizer of the state does not fit: {error}; make the Outer with the optimizer= of the "
                             "checkpoint") from error
        self._messages = fresh  # only now: what is refused changes nothing
        with torch.no_grad():
            for anchor, kept in zip(self._anchor, own["anchor"]):
                anchor.copy_(kept)
        self._transport.totals = dict(own["totals"])
        self.calls, self.exchanges = own["calls"], own["exchanges"]

    def _check_state(self, state: Dict[str, Any]) -> None:
        """Raises ValueError with the name of what is wrong."""
        check_training(state, self._mine)
        require_keys(state, ("rank", "world", "calls", "exchanges", "totals", "anchor", "optimizer", "messages"))
        for key, least in (("rank", 0), ("world", 1), ("calls", 0), ("exchanges", 0)):
            require(is_whole(state[key], least), key, state[key])
        require(state["rank"] < state["world"], "rank", state["rank"])
        check_totals(state["totals"], self._transport.totals)
        for key, own in (("anchor", self._anchor), ("messages", self._messages)):
            require(isinstance(state[key], list) and len(state[key]) == len(own), key, state[key])
        for (name, _), own, anchor in zip(self._mine["parameters"], self._anchor, state["anchor"]):
            check_array(f"anchor of {name}", anchor, own.shape)
        for (path, _), own, message in zip(self._parts, self._messages, state["messages"]):
            check_message(f"the message of {path}", message, own.n)
        names = {id(anchor): name for name, anchor in zip(self._weights, self._anchor)}
        check_optimizer(state["optimizer"], self._optimizer, names)


def _parameters(model: Any) -> Dict[str, torch.nn.Parameter]:
    """The parameters to exchange. Raises TypeError or ValueError if one cannot be exchanged."""
    if isinstance(model, torch.nn.parallel.DistributedDataParallel):
        raise TypeError("model is a DistributedDataParallel module, which exchanges gradients in each step: give the "
                        "module itself")
    weights = {plain_name(name): p for name, p in model.named_parameters() if p.requires_grad}
    if not weights:
        raise ValueError("the model has no parameter that is trained")
    for name, p in weights.items():
        if any(kind.__name__ == "DTensor" for kind in type(p).__mro__):
            raise TypeError(f"{name} is a DTensor: local SGD needs a whole model on each worker, so do not shard it (FSDP2 or "
                            "tensor parallel)")
        if p.dtype not in _FLOATS or p.device.type not in ("cpu", "cuda"):
            raise TypeError(f"{name} is {p.dtype} on {p.device}: only float32, float16 and bfloat16 on the CPU or a CUDA GPU are "
                            "supported")
    return weights
