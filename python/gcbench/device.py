"""Compressed gradients that never leave the GPU, for DistributedDataParallel with NCCL.

    ddp = DistributedDataParallel(model, device_ids=[gpu])
    state = gcbench.device.Compression("topk:theta=0.99,memory=ef", model=ddp)
    ddp.register_comm_hook(state, gcbench.device.hook)

Each bucket is encoded on torch's current stream, and its message is gathered by the process group as bytes. The host waits
for nothing. Only methods with slots (src/gcbench.h, gcb_device_encoder_open); for all others there is gcbench.torch.
"""
import ctypes
from ctypes import c_void_p
from typing import Any, Dict, Optional, Tuple

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from ._library import check, count, lib, text
from ._objects import Handle, options
from ._transport import plain_name

__all__ = ["Compression", "Slots", "hook"]


class Slots(Handle):
    """struct gcb_device_encoder. Arrays are tensors in the device's memory; calls queue work on torch's current stream."""
    _kind = "device_encoder"

    def __init__(self, spec: str, n: int, *, device: int = 0, seed: int = 0, path: str = "") -> None:
        super().__init__()
        self._n = count("n", n)
        made = options(seed=seed, path=path)
        check(lib.gcb_device_encoder_open(ctypes.byref(self._handle), count("device", device, 32), text("spec", spec), self._n,
                                          ctypes.byref(made), self._diag_at), self._diag)
        self.bytes = self._ask(lib.gcb_device_slot_bytes)

    def scratch_bytes(self, workers: int) -> int:
        """Bytes of scratch for a sum of `workers` slots, and for encoding."""
        return self._ask(lambda handle: lib.gcb_device_scratch_bytes(handle, count("workers", workers, 32)))

    def encode(self, step: int, worker: int, x: torch.Tensor, slot: torch.Tensor, scratch: torch.Tensor,
               residual: Optional[torch.Tensor] = None) -> None:
        """x may be overwritten if there is a residual."""
        self._call(lib.gcb_device_encode, count("step", step), count("worker", worker, 32), _floats(x, self._n), _floats(residual, self._n),
                   _bytes(slot, self.bytes), _bytes(scratch, self.scratch_bytes(0)), _stream(x))

    def sum(self, slots: torch.Tensor, workers: int, out: torch.Tensor, scratch: torch.Tensor) -> None:
        """Writes the mean of the slots to `out`."""
        self._call(lib.gcb_device_sum_slots, _bytes(slots, workers * self.bytes), workers, None, _floats(out, self._n),
                   _bytes(scratch, self.scratch_bytes(workers)), _stream(out))


def _floats(x: Optional[torch.Tensor], n: int) -> Optional[int]:
    if x is None:
        return None
    if x.dtype != torch.float32 or not x.is_contiguous() or x.numel() != n:
        raise ValueError(f"{x.numel()} elements of {x.dtype}: {n} contiguous float32 are needed")
    return x.data_ptr()


def _bytes(x: torch.Tensor, least: int) -> int:
    if x.dtype != torch.uint8 or not x.is_contiguous() or x.numel() < least:
        raise ValueError(f"{x.numel()} elements of {x.dtype}: {least} contiguous uint8 are needed")
    return x.data_ptr()


def _stream(x: torch.Tensor) -> c_void_p:
    return c_void_p(torch.cuda.current_stream(x.device).cuda_stream if x.is_cuda else 0)


class _Bucket:
    """What a worker keeps for one of DDP's buckets."""

    def __init__(self, state: "Compression", names: Tuple[str, ...], x: torch.Tensor) -> None:
        self.slots = Slots(state.spec, x.numel(), device=x.device.index or 0, seed=state.seed, path=names[0])
        workers = dist.get_world_size(state.group)

        def empty(size: int) -> torch.Tensor:
            return torch.empty(size, dtype=torch.uint8, device=x.device)
        self.slot, self.all = empty(self.slots.bytes), empty(workers * self.slots.bytes)
        self.scratch = empty(self.slots.scratch_bytes(workers))
        self.residual = torch.zeros_like(x) if state.feedback else None
        self.before = torch.zeros_like(x) if state.feedback and state.scaler is not None else None
        self.scale: Optional[torch.Tensor] = None  # of the residual
        self.bad: Optional[torch.Tensor] = None  # true if the last mean has an infinity or NaN

    def kept(self, skipped: Optional[torch.Tensor]) -> torch.Tensor:
        """The residual, or the one before the last step if that step was skipped."""
        return self.residual if skipped is None else torch.where(skipped, self.before, self.residual)


class Compression:
    """What one worker keeps for gcbench.device.hook.

    spec           a method with slots, "name:key=value,..."; "memory=ef" for error feedback
    model          the DistributedDataParallel module
    process_group  default: the module's
    start          number of steps at the beginning that are not compressed: at least 2, because DDP changes its buckets
                   in the second step
    scaler         a GradScaler: residuals follow its scale, and keep what they had in a step that it skips
    seed           of random methods

    A model with static_graph or find_unused_parameters is refused.
    """

    def __init__(self, spec: str, *, model: DistributedDataParallel, process_group: Any = None, start: int = 2,
                 scaler: Any = None, seed: int = 1) -> None:
        if not isinstance(model, DistributedDataParallel):
            raise TypeError(f"model is a {type(model).__name__}, not a DistributedDataParallel")
        if model.static_graph or model.find_unused_parameters:
            raise ValueError("a model with static_graph or find_unused_parameters needs gcbench.torch")
        if start < 2:
            raise ValueError(f"start={start}: DDP changes its buckets in the second step, so it is at least 2")
        self.spec, self.group, self.start = spec, process_group or model.process_group, start
        self.scaler, self.seed, self.step = scaler, seed, -1
        self.feedback = "memory=ef" in spec
        self._names = {id(p): plain_name(name) for name, p in model.module.named_parameters()}
        self._sizes = {plain_name(name): p.numel() for name, p in model.module.named_parameters()}
        self._buckets: Dict[Tuple[str, ...], _Bucket] = {}
        self._saved: Dict[str, torch.Tensor] = {}  # residuals that load_state_dict() gave, and their scale
        self._saved_scale: Optional[float] = None
        self._skipped: Optional[torch.Tensor] = None  # true if the last step was
        self._check_same(model)

    def _check_same(self, model: DistributedDataParallel) -> None:
        """Workers with other settings would read each other's bytes. A wrong method fails here, and on all ranks."""
        failed: Optional[Exception] = None
        try:
            Slots(self.spec, 64, device=next(model.parameters()).device.index or 0).close()
        except Exception as error:
            failed = error
        mine = repr((self.spec, self.start, self.seed, self.scaler is not None, str(failed or "")))
        said = [None] * dist.get_world_size(self.group)
        dist.all_gather_object(said, mine, group=self.group)
        if failed is not None:
            raise failed
        if set(said) != {mine}:
            raise ValueError(f"all ranks need the same settings; they have {sorted(set(map(str, said)))}")

    def _bucket(self, names: Tuple[str, ...], x: torch.Tensor) -> _Bucket:
        one = self._buckets.get(names)
        if one is None:
            one = self._buckets[names] = _Bucket(self, names, x)
            if one.residual is not None and self._saved:
                none = torch.zeros(max(self._sizes[name] for name in names), dtype=x.dtype, device=x.device)
                one.residual.copy_(torch.cat([self._saved[name].flatten() if name in self._saved else
                                              none[:self._sizes[name]] for name in names]))
                if self._saved_scale is not None:
                    one.scale = torch.tensor(self._saved_scale, dtype=torch.float32, device=x.device)
        return one

    def _was_skipped(self) -> Optional[torch.Tensor]:
        """True if a mean of the last step was not finite: then the scaler has skipped the step on all workers. The host
        does not learn it."""
        bad = [one.bad for one in self._buckets.values() if one.bad is not None]
        return torch.stack(bad).any() if bad else None

    def _follow_scale(self, one: _Bucket) -> None:
        """Takes a skipped step back, and brings the residual to the scaler's scale, which the host does not learn."""
        if self.scaler is None or one.residual is None:
            return
        one.residual.copy_(one.kept(self._skipped))
        scale = self.scaler._get_scale_async()
        if scale is not None:
            if one.scale is not None:
                one.residual.mul_(scale / one.scale)
            one.scale = scale.clone()
        one.before.copy_(one.residual)

    def _reduce(self, bucket: Any) -> torch.futures.Future:
        if bucket.index() == 0:
            self.step += 1
            self._skipped = self._was_skipped()
        buffer = bucket.buffer()
        if buffer.dtype not in (torch.float32, torch.float16, torch.bfloat16) or buffer.layout is not torch.strided:
            raise TypeError(f"the gradients are {buffer.dtype}: only dense float32, float16 and bfloat16 are supported")
        if self.step < self.start:
            buffer.div_(dist.get_world_size(self.group))
            return dist.all_reduce(buffer, group=self.group, async_op=True).get_future().then(lambda done: done.value()[0])
        x = buffer.float() if buffer.dtype != torch.float32 or buffer.data_ptr() % 16 else buffer
        one = self._bucket(tuple(self._names[id(p)] for p in bucket.parameters()), x)
        self._follow_scale(one)
        one.slots.encode(self.step, dist.get_rank(self.group), x, one.slot, one.scratch, one.residual)
        return self._gather(one).get_future().then(lambda done: _take(done, one, x, buffer))

    def _gather(self, one: _Bucket) -> Any:
        if dist.get_backend(self.group) == "nccl":
            return dist.all_gather_into_tensor(one.all, one.slot, group=self.group, async_op=True)
        return dist.all_gather(list(one.all.split(one.slots.bytes)), one.slot, group=self.group, async_op=True)

    def state_dict(self) -> Dict[str, Any]:
        """What this worker keeps between two steps: each worker needs its own."""
        residuals, scale = dict(self._saved), self._saved_scale
        skipped = self._was_skipped()
        for names, one in self._buckets.items():
            if one.residual is not None:
                parts = one.kept(skipped).split([self._sizes[name] for name in names])
                residuals.update({name: part.clone() for name, part in zip(names, parts)})
                scale = scale if one.scale is None else float(one.scale)
        return {"spec": self.spec, "step": self.step, "worker": dist.get_rank(self.group),
                "workers": dist.get_world_size(self.group), "scale": scale, "residuals": residuals}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """Puts back what state_dict() gave, before the first step of a new Compression with the same method."""
        if state["spec"] != self.spec or self._buckets:
            raise ValueError(f"a state of {state['spec']} is for a new Compression of this method")
        if (state["worker"], state["workers"]) != (dist.get_rank(self.group), dist.get_world_size(self.group)):
            raise ValueError(f"the state is of worker {state['worker']} of {state['workers']}: give each worker its own")
        for name, residual in state["residuals"].items():
            if self._sizes.get(name) != residual.numel() or not residual.isfinite().all():
                raise ValueError(f"the state of {name} is of another model, or not finite")
        self._saved, self._saved_scale = dict(state["residuals"]), state["scale"]
        self.step, self.start = state["step"], state["step"] + 1 + self.start


def _take(done: torch.futures.Future, one: _Bucket, x: torch.Tensor, buffer: torch.Tensor) -> torch.Tensor:
    """Gives DDP the mean. Torch's current stream is one that has waited for the bytes."""
    done.value()
    one.slots.sum(one.all, one.all.numel() // one.slots.bytes, x, one.scratch)
    if x is not buffer:
        if x.is_cuda:
            x.record_stream(torch.cuda.current_stream(x.device))
        buffer.copy_(x)
    if one.before is not None:
        one.bad = buffer.isfinite().all().logical_not()
    return buffer


def hook(state: Compression, bucket: Any) -> torch.futures.Future:
    """For DistributedDataParallel.register_comm_hook."""
    return state._reduce(bucket)


# DDP compares annotations with its own classes.
hook.__annotations__ = {"bucket": dist.GradBucket, "return": torch.futures.Future[torch.Tensor]}
