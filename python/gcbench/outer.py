"""Local SGD with compressed messages: workers train by themselves, and exchange what changed every H steps (DiLoCo).

    outer = gcbench.outer.Outer("qgz:bits=4", model=model, inner_steps=10)
    for batch in batches:
        loss_of(model, batch).backward()
        optimizer.step()                # this worker's own
        optimizer.zero_grad()
        outer.step()                    # in each tenth call: the exchange

The model is not a DistributedDataParallel module. docs/training.md says more.
"""
import weakref
from datetime import timedelta
from typing import Any, Callable, Dict, List, Optional

import torch
import torch.distributed as dist

from ._exchange import Exchange
from ._transport import Stopwatch, Transport, check_training, copy_on_host, on_host, saved

__all__ = ["Outer", "nesterov"]


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
    dumper         a gcbench.dump.GradientDumper of the model: records this worker's pseudo-gradients, step n is exchange n
    process_group  a gloo group of the workers, which nothing else uses; default: a new one of all ranks
    threads, seed  as in gcbench.Encoder
    timeout        seconds to wait for another worker; only for the default process_group

    Only float32 parameters, on the CPU or a CUDA GPU; the outer optimizer's tensors are on the CPU. Buffers, such as batch
    norm's statistics, stay each worker's own. After an error in an exchange all workers fail: begin again from a checkpoint.
    """

    def __init__(self, spec: str, *, model: torch.nn.Module, inner_steps: int,
                 optimizer: Callable[[List[torch.Tensor]], torch.optim.Optimizer] = nesterov, per: Optional[str] = None,
                 dumper: Any = None, process_group: Any = None, threads: int = 1, seed: int = 1,
                 timeout: float = 600.0) -> None:
        if isinstance(model, torch.nn.parallel.DistributedDataParallel):
            raise TypeError("model is a DistributedDataParallel module, which exchanges gradients in each step: give the "
                            "module itself")
        if per not in (None, "model", "tensor"):
            raise ValueError(f"per={per!r}: choose model or tensor")
        if inner_steps < 1:
            raise ValueError(f"inner_steps={inner_steps}: at least 1")
        named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
        for name, p in named:
            if p.dtype is not torch.float32 or p.device.type not in ("cpu", "cuda"):
                raise TypeError(f"{name} is {p.dtype} on {p.device}: only float32 on the CPU or a CUDA GPU is supported")
        self.inner_steps, self.calls, self.exchanges = inner_steps, 0, 0
        self._compared = False  # whether the workers have compared their steps since the beginning or a restart
        self._dumper, self._weights = dumper, [p for _, p in named]
        self._transport = Transport(process_group or dist.new_group(backend="gloo", timeout=timedelta(seconds=timeout)))
        if process_group is None:
            weakref.finalize(self, self._transport.close)
        alone = per == "tensor" or (per is None and spec.startswith("powersgd"))
        self._mine = {"method": spec, "per": "tensor" if alone else "model",
                      "parameters": [(name, tuple(p.shape)) for name, p in named]}
        self._transport.check_same({**self._mine, "inner_steps": inner_steps, "seed": seed})
        self._mine.update({"rank": self._transport.rank, "world": self._transport.world})
        self._anchor = [copy_on_host(p.detach()) for p in self._weights]
        for anchor in self._anchor:
            dist.broadcast(anchor, dist.get_global_rank(self._transport.group, 0), group=self._transport.group)
            anchor.requires_grad_()
        self._copy_weights()
        self._optimizer = optimizer(self._anchor)
        self._sizes = [p.numel() for p in self._weights]
        shapes = [tuple(p.shape) or (1,) for p in self._weights] if alone else [(sum(self._sizes),)]
        paths = [name for name, _ in named] if alone else ["model"]
        self._messages = [Exchange(spec, torch.Size(shape).numel(), worker=self._transport.rank,
                                   workers=self._transport.world, path=path, shape=shape, threads=threads, seed=seed,
                                   nonfinite="raw") for path, shape in zip(paths, shapes)]

    @property
    def wire_bytes(self) -> float:
        """Bytes of a worker's messages so far: the mean over the workers."""
        return self._transport.totals["wire_bytes"]

    @property
    def link_bytes(self) -> float:
        """Bytes that a worker has put on its link so far: the mean."""
        return self._transport.totals["link_bytes"]

    def step(self) -> bool:
        """Call it after each step of the inner optimizer. Returns whether the workers exchanged."""
        self.calls += 1
        if self.calls % self.inner_steps:
            return False
        self._transport.check_alive()
        if not self._compared:
            self._transport.check_same({"step": self.calls, "number of exchanges": self.exchanges})
            self._compared = True
        with torch.no_grad():
            changes = [anchor - on_host(p) for anchor, p in zip(self._anchor, self._weights)]
        if self._dumper is not None:
            self._dump(changes)
        mean = self._exchange(torch.cat([change.flatten() for change in changes]))
        for anchor, part in zip(self._anchor, mean.split(self._sizes)):
            anchor.grad = part.view_as(anchor)
        self._optimizer.step()
        self._copy_weights()
        self.exchanges += 1
        return True

    def _copy_weights(self) -> None:
        with torch.no_grad():
            for anchor, p in zip(self._anchor, self._weights):
                p.copy_(anchor)

    def _exchange(self, x: torch.Tensor) -> torch.Tensor:
        """The workers' mean."""
        mean, watch = torch.empty_like(x), Stopwatch()
        sizes = [message.n for message in self._messages]
        try:
            for number, (message, part, out) in enumerate(zip(self._messages, x.split(sizes), mean.split(sizes))):
                message.begin(self.exchanges, part)
                self._transport.run(message, number, watch)
                message.finish(out)
        except Exception as error:  # the others must hear of it
            raise self._transport.fail(error) from error
        return mean

    def _dump(self, changes: List[torch.Tensor]) -> None:
        """The dumper records .grad."""
        kept = [p.grad for p in self._weights]
        for p, change in zip(self._weights, changes):
            p.grad = change.to(p.device)
        self._dumper.step()
        for p, grad in zip(self._weights, kept):
            p.grad = grad

    def state_dict(self) -> Dict[str, Any]:
        """What this worker keeps: save it on every worker, between two calls of step(), beside the model's weights and the
        inner optimizer."""
        return {**self._mine, "calls": self.calls, "exchanges": self.exchanges,
                "totals": dict(self._transport.totals), "anchor": [a.detach().clone() for a in self._anchor],
                "optimizer": self._optimizer.state_dict(), "messages": [saved(message) for message in self._messages]}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """Puts back what this worker's state_dict() gave, between two steps and on all workers; the model needs its own
        weights too. Raises ValueError if the method, `per`, the model, the rank or the number of workers are others."""
        check_training(state, self._mine)
        for message, before in zip(self._messages, state["messages"]):
            message.restore(before)
        self._optimizer.load_state_dict(state["optimizer"])
        with torch.no_grad():
            for anchor, before in zip(self._anchor, state["anchor"]):
                anchor.copy_(before)
        self._transport.totals = dict(state["totals"])
        self.calls, self.exchanges, self._compared = state["calls"], state["exchanges"], False
