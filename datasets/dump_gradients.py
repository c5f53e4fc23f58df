"""Record the gradients of any PyTorch training loop for gcbench.

    from dump_gradients import GradientDumper
    dumper = GradientDumper(model, "dumps/grads", steps="0,100,400")
    ...
    loss.backward()
    dumper.step(loss)            # before clipping and optimizer.step()

Each recorded step gives one file per worker, dumps/grads_step000100_rank0.h5, which holds
/step_000100/worker_0/<parameter name>. A file appears under its name only when it is complete.
Under DistributedDataParallel pass the DDP module itself, before the first backward: each worker's
own gradient is then taken before the reduction. Under FSDP2 (fully_shard) a file holds the input of
each module's reduce-scatter. docs/dataset.md has the schema and every option.

This is a single file so that you can copy it next to your training script. Needs torch, h5py and numpy.
"""

import fnmatch
import io
import math
import os
import re
import sys
from numbers import Real
from operator import index as as_int
from typing import IO, Any, Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import h5py
import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

__all__ = ["GradientDumper", "Steps", "parse_size"]

StepSpec = Union[str, int, Iterable[int], "Steps"]
Patterns = Union[str, Sequence[str]]

_FLOAT_TYPES = {torch.float16: 2, torch.bfloat16: 2, torch.float32: 4, torch.float64: 8}
_STORED_TYPES = {"float16": torch.float16, "float32": torch.float32, "float64": torch.float64}

# A chunked dataset has about 2 KB of index. With fewer bytes than this, compression does not save
# as much.
_SMALLEST_COMPRESSED = 64 * 1024

# With sample=, elements of a slice. A method that codes blocks or chunks of up to so many values
# sees whole ones.
_SLICE = 4096

# Names of wrapper classes under which a worker has no complete gradient, or no hook can see the
# gradient before it is averaged. A module is refused if such a class is anywhere among its base
# classes.
_REFUSED_WRAPPERS = {
    "FullyShardedDataParallel": "FSDP1 shards gradients, and no hook sees what a rank sends",
    "ShardedDataParallel": "ZeRO shards gradients, and no hook sees what a rank sends",
    "DeepSpeedEngine": "DeepSpeed sums and shards gradients during backward()",
    "torch.distributed._composable.replicate.DDP": "replicate() averages gradients during backward()",
}
_INSTEAD = ("record a run of the same model with fully_shard (FSDP2), or of a few steps with DistributedDataParallel, or on one "
            "process without a wrapper")


class _Taken(NamedTuple):
    """A gradient on the CPU, or some slices of it, and the number of elements of the whole."""
    values: torch.Tensor
    count: int


class _Tensor(NamedTuple):
    """What a dataset holds: the gradient of a parameter, or with FSDP2 those of a module's parameters."""
    index: int
    parameters: Tuple[torch.nn.Parameter, ...]
    names: str = ""  # with FSDP2: of the parameters, one in a line


class Steps:
    """The steps to record, from "0,100,400", "200-215", "0-1000/100", "all", an int, a range or any iterable.

    Raises ValueError for a text that is not a step, and TypeError for a value that is not a whole number.
    """

    def __init__(self, spec: StepSpec) -> None:
        if isinstance(spec, Steps):
            self._parts = spec._parts
        elif isinstance(spec, str):
            self._parts = [_parse_steps_part(part) for part in spec.split(",")]
        elif isinstance(spec, range):
            self._parts = [spec if spec.step > 0 else spec[::-1]]
        else:
            numbers = spec if hasattr(spec, "__iter__") else [spec]
            self._parts = [frozenset(as_int(number) for number in numbers)]
        if any(_first_last(part)[0] < 0 for part in self._parts if part):
            raise ValueError(f"steps={spec!r}: steps count from 0")

    def __contains__(self, step: int) -> bool:
        return any(step in part for part in self._parts)

    @property
    def endless(self) -> bool:
        """Whether the steps never end ("all")."""
        return self.last == _ENDLESS.stop - 1

    @property
    def last(self) -> Optional[int]:
        """The highest step, or None if there are no steps."""
        return max((_first_last(part)[1] for part in self._parts if part), default=None)

    @property
    def count(self) -> int:
        """Number of steps; a step that is given twice counts twice."""
        return sum(len(part) for part in self._parts)


_ENDLESS = range(0, sys.maxsize)


def _first_last(part: Union[range, frozenset]) -> Tuple[int, int]:
    return (part[0], part[-1]) if isinstance(part, range) else (min(part), max(part))


def _parse_steps_part(text: str) -> range:
    if text.strip() == "all":
        return _ENDLESS
    match = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*(?:/\s*(\d+)\s*)?)?", text)
    if not match:
        raise ValueError(f"steps: '{text.strip()}' is not N, A-B, A-B/STRIDE or all")
    first, last, stride = match.groups()
    if last is None:
        return range(int(first), int(first) + 1)
    if int(last) < int(first) or stride == "0":
        raise ValueError(f"steps: '{text.strip()}' names no step")
    return range(int(first), int(last) + 1, int(stride or 1))


def parse_size(size: Union[int, str, None]) -> Optional[int]:
    """Bytes from a number or from text such as "500M" (K, M, G: 1024-based). Raises ValueError."""
    if size is None or isinstance(size, int):
        return size
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMG]?)B?\s*", size, re.IGNORECASE)
    if not match:
        raise ValueError(f"'{size}' is not a size such as 500M or 2G")
    return int(float(match[1]) * 1024 ** " KMG".index(match[2].upper() or " "))


def _say(message: str) -> None:
    print(f"gradient dump: {message}", file=sys.stderr, flush=True)


def _human(size: int) -> str:
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if size >= scale:
            return f"{size / scale:.2f} {unit}"
    return f"{size} bytes"


def _plain_name(name: str) -> str:
    """Without the parts that torch.compile puts into names: gcbench's plain_name(), because this file stands alone."""
    return ".".join(part for part in name.split(".") if part != "_orig_mod")


def _matches(name: str, patterns: Patterns) -> bool:
    patterns = [patterns] if isinstance(patterns, str) else patterns
    return any(fnmatch.fnmatchcase(name, _plain_name(pattern)) for pattern in patterns)


def _is_fsdp2(module: torch.nn.Module) -> bool:
    return any(kind.__name__ == "FSDPModule" for kind in type(module).__mro__)


def _refuse_sharded(model: torch.nn.Module) -> None:
    """Raise ValueError, in one line, if no hook sees what a worker sends."""
    sharded = False
    for module in model.modules():
        for kind in type(module).__mro__:
            why = _REFUSED_WRAPPERS.get(kind.__name__) or _REFUSED_WRAPPERS.get(f"{kind.__module__}.{kind.__name__}")
            if why:
                raise ValueError(f"cannot dump from {kind.__name__}: {why}; {_INSTEAD}")
        if module is not model and isinstance(module, DistributedDataParallel):
            raise ValueError("the model contains a DistributedDataParallel module: pass that module to GradientDumper")
        sharded |= _is_fsdp2(module)
        if _is_fsdp2(module) and not hasattr(module, "set_custom_reduce_scatter"):
            raise ValueError("cannot dump from FSDPModule: this torch lets nobody replace its reduce-scatter; use torch 2.15")
    for name, parameter in model.named_parameters():
        if hasattr(parameter, "ds_id") or hasattr(parameter, "ds_tensor"):
            raise ValueError(f"cannot dump from {name}: DeepSpeed's ZeRO shards parameters and gradients; {_INSTEAD}")
        if not any(kind.__name__ == "DTensor" for kind in type(parameter).__mro__):
            continue
        if not sharded:
            raise ValueError(f"cannot dump from {name}: a DTensor holds a shard (tensor parallel); {_INSTEAD}")
        if _shards(parameter) == 1:
            raise ValueError(f"cannot dump from {name}: one rank has the only shard, so FSDP2 has no reduce-scatter; dump the "
                             "model without fully_shard")


def _shards(parameter: torch.nn.Parameter) -> int:
    return math.prod(parameter.device_mesh.size(dimension) for dimension, placement in enumerate(parameter.placements)
                     if placement.is_shard())


def _unwrapped(model: torch.nn.Module) -> torch.nn.Module:
    """Removes the wrappers of torch.compile and DataParallel. A DDP module stays."""
    while hasattr(model, "_orig_mod") or isinstance(model, torch.nn.DataParallel):
        model = model._orig_mod if hasattr(model, "_orig_mod") else model.module
    return model


def _values(gradient: torch.Tensor) -> torch.Tensor:
    gradient = gradient.to_local() if hasattr(gradient, "to_local") else gradient  # a DTensor
    return gradient.coalesce().values() if gradient.is_sparse else gradient


def _take(gradient: torch.Tensor, sample: Optional[int], copy: bool = True) -> _Taken:
    """With `sample`, slices that depend only on the number of elements."""
    value, count = gradient.detach(), gradient.numel()
    value = value if value.layout is torch.strided else value.to_dense()
    if sample is None or count <= sample:
        return _Taken(value.to("cpu", copy=copy), count)
    length, number = _slices(sample)
    begins = [i * count // number + (count // number - length) // 2 for i in range(number)]
    flat = value.reshape(-1)
    return _Taken(torch.cat([flat[begin:begin + length] for begin in begins]).cpu(), count)


def _slices(sample: int) -> Tuple[int, int]:
    """Length and number of the slices of a tensor."""
    return min(sample, _SLICE), max(1, sample // _SLICE)


def momentum_of(optimizer: torch.optim.Optimizer, parameter: torch.Tensor) -> Optional[torch.Tensor]:
    """The first moment that an optimizer keeps: SGD's and Muon's momentum, Adam's mean. None before the first step."""
    state = optimizer.state.get(parameter, {})
    return next((state[key] for key in ("momentum_buffer", "exp_avg") if state.get(key) is not None), None)


def _is_unscaled(scaler: Any) -> bool:
    """Whether GradScaler.unscale_() has divided p.grad in this step. RuntimeError if only for some optimizers."""
    states = getattr(scaler, "_per_optimizer_states", {}).values()
    done = [getattr(state.get("stage"), "value", 0) != 0 for state in states]
    if any(done) and not all(done):
        raise RuntimeError("step() was called between the unscale_() calls of several optimizers: call it before them")
    return any(done)


class _Reduction:
    """Keeps the worker's own gradient of each parameter, before DDP averages it.

    A communication hook gets one flat bucket per call, before the average. It returns the result of the wrapped hook,
    so the training does not change.
    """

    def __init__(self, ddp: DistributedDataParallel, names: Mapping[int, str],
                 hook: Optional[Callable], state: Any, sample: Optional[int]) -> None:
        from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

        self.keep = False
        self._names, self._sample = names, sample
        self._inner = hook or default_hooks.allreduce_hook
        self._inner_state = state if hook else ddp.process_group
        self._kept: Dict[str, _Taken] = {}
        self._buckets: Dict[int, int] = {}
        try:
            ddp.register_comm_hook(None, self._hook)
        except RuntimeError:
            raise RuntimeError("the DDP module already has a communication hook: do not register it, but give it to "
                               "GradientDumper with comm_hook= and comm_hook_state=") from None

    def _hook(self, state, bucket):  # no annotations: DDP compares them with its own classes
        self._buckets[bucket.index()] = self._buckets.get(bucket.index(), 0) + 1
        if self.keep:
            for parameter, gradient in _bucket_gradients(bucket):
                name = self._names.get(id(parameter))
                if name is not None:
                    self._kept[name] = _take(gradient, self._sample)
        return self._inner(self._inner_state, bucket)

    def take(self) -> Tuple[Dict[str, _Taken], int]:
        """The gradients kept since the last call, and the number of reductions."""
        kept, times = self._kept, max(self._buckets.values(), default=0)
        self._kept, self._buckets = {}, {}
        return kept, times


class _Scatters:
    """Keeps the input of the reduce-scatter of each FSDP2 module, or the shard after it."""

    def __init__(self, modules: Mapping[str, torch.nn.Module], shard: bool, sample: Optional[int]) -> None:
        self.keep, self.shard, self.sample = False, shard, sample
        self.kept: Dict[str, _Taken] = {}
        self.calls: Dict[str, int] = {}
        for name, module in modules.items():
            groups = getattr(module._get_fsdp_state(), "_fsdp_param_groups", ())
            comms = [comm for comm in (getattr(group, "_reduce_scatter_comm", None) for group in groups) if comm is not None]
            module.set_custom_reduce_scatter(_Scatter(self, name, comms[0] if comms else None))

    def take(self) -> Tuple[Dict[str, _Taken], int]:
        """As _Reduction.take()."""
        kept, times = self.kept, max(self.calls.values(), default=0)
        self.kept, self.calls = {}, {}
        return kept, times


class _Scatter:
    """The reduce-scatter of a module. Another one, such as gcbench.fsdp's, does the work if the module had it."""

    def __init__(self, all_: _Scatters, name: str, inner: Any) -> None:
        self._all, self._name, self._inner = all_, name, inner

    def allocate(self, size: Sequence[int], *, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
        if self._inner is not None:
            return self._inner.allocate(size, dtype=dtype, device=device)
        return torch.empty(*size, dtype=dtype, device=device)

    def __call__(self, output_tensor: torch.Tensor, input_tensor: torch.Tensor, group: Any, op: Any,
                 async_op: bool = False) -> Any:
        all_ = self._all
        all_.calls[self._name] = all_.calls.get(self._name, 0) + 1
        if all_.keep and not all_.shard:
            all_.kept[self._name] = _take(input_tensor.view(group.size(), -1), all_.sample)
        if self._inner is not None:
            work = self._inner(output_tensor=output_tensor, input_tensor=input_tensor, group=group, op=op, async_op=async_op)
        else:
            work = dist.reduce_scatter_tensor(output_tensor, input_tensor, op=op, group=group, async_op=async_op)
        if all_.keep and all_.shard:
            if async_op:
                work.wait()
            all_.kept[self._name] = _take(output_tensor, all_.sample)
        return work


def _bucket_gradients(bucket) -> Iterable[Tuple[torch.Tensor, torch.Tensor]]:
    """The parameters of a bucket, and their gradients in the parameter's shape."""
    parameters, buffer = bucket.parameters(), bucket.buffer()
    if buffer.layout is not torch.strided:  # a sparse gradient has a bucket of its own
        yield parameters[0], buffer
        return
    for parameter, gradient in zip(parameters, bucket.gradients()):
        # The bucket has a dense parameter in its own memory order (for example channels_last), but
        # gradients() presents it as contiguous.
        if not parameter.is_contiguous():
            like = torch.empty_like(parameter, device="meta")
            if like.stride() == parameter.stride():
                gradient = gradient.reshape(-1).as_strided(parameter.size(), parameter.stride(),
                                                           gradient.storage_offset())
        yield parameter, gradient


class GradientDumper:
    """Writes the gradients of chosen steps, without any effect on the training.

    model       the module that is trained; under DDP the DistributedDataParallel module, before the first backward
    path        prefix of the files: "dumps/grads" gives dumps/grads_step000100_rank0.h5. Missing folders are made. For
                an existing folder the prefix is FOLDER/grads
    steps       steps to record, see Steps; `gcbench replay` needs consecutive steps
    include, exclude   globs on parameter names; without include all parameters are recorded
    dtype       type of all stored tensors: "float16", "float32" or "float64"; by default the gradient's own type, with
                bfloat16 widened to float32
    compression "gzip" (with the shuffle filter), for tensors of 64 KiB and more
    sample      keep at most so many elements of each tensor: slices, the same in all steps and workers
    what        "gradient"; "momentum": the optimizer's first moment; "update": the weights before its step minus those after.
                For the last two, call step() after optimizer.step(); under DDP they are the same on all workers
    fsdp        with FSDP2: "input" of each module's reduce-scatter, or the "shard" after it. Names are those of modules
    max_bytes   limit on the files of a worker (a number or "2G"); at the limit recording stops and training goes on
    optimizer   gives lr of each step, and optimiser, momentum and weight_decay of the file
    scaler      the GradScaler of a mixed-precision loop; stored gradients are divided by its scale
    accumulation_steps  micro-batches per optimizer step, stored as an attribute
    comm_hook, comm_hook_state   your own DDP communication hook; this class registers it
    worker, workers     number of this worker, and number of workers, if torch.distributed does not know them
    start_step  number of the first step, after a restart; afterwards the attribute next_step has the number of the next step
    overwrite   replace files of an earlier run; without it they are an error at the start
    attributes  more attributes of the file: {"dataset": "imagenet", "batch_size": 32, ...}

    Raises ValueError, TypeError, RuntimeError or OSError, with a message of one line, for errors that are known at the
    start. Later, a step that cannot be written stops the recording with one line on stderr, never the training.
    """

    def __init__(self, model: torch.nn.Module, path: str, *, steps: StepSpec,
                 include: Patterns = (), exclude: Patterns = (), dtype: Optional[str] = None,
                 compression: Optional[str] = None, sample: Optional[int] = None, fsdp: str = "input",
                 what: str = "gradient", max_bytes: Union[int, str, None] = None,
                 optimizer: Optional[torch.optim.Optimizer] = None, scaler: Any = None,
                 accumulation_steps: Optional[int] = None,
                 comm_hook: Optional[Callable] = None, comm_hook_state: Any = None,
                 worker: Optional[int] = None, workers: Optional[int] = None,
                 start_step: int = 0, overwrite: bool = False,
                 attributes: Optional[Mapping[str, Any]] = None) -> None:
        if compression not in (None, "gzip"):
            raise ValueError(f"compression={compression!r}: only 'gzip' is supported")
        if dtype is not None and dtype not in _STORED_TYPES:
            raise ValueError(f"dtype={dtype!r}: choose one of {', '.join(_STORED_TYPES)}")
        if fsdp not in ("input", "shard"):
            raise ValueError(f"fsdp={fsdp!r}: choose input or shard")
        if what not in ("gradient", "momentum", "update"):
            raise ValueError(f"what={what!r}: choose gradient, momentum or update")
        if what == "momentum" and optimizer is None:
            raise ValueError("what='momentum' needs optimizer=")
        if sample is not None and as_int(sample) < 1:
            raise ValueError(f"sample={sample}: at least 1 element of each tensor")
        module = _unwrapped(model)
        _refuse_sharded(module)
        ddp = module if isinstance(module, DistributedDataParallel) else None
        module = _unwrapped(ddp.module) if ddp else module
        self._steps = Steps(steps)
        self.next_step = as_int(start_step)
        self._dtype = _STORED_TYPES.get(dtype)
        self._compression, self._sample, self._shard = compression, sample, fsdp == "shard"
        self._max_bytes = parse_size(max_bytes)
        self._optimizer, self._scaler, self._accumulation = optimizer, scaler, accumulation_steps
        self._written = 0
        self._stopped = False
        self._warned: set = set()
        self._sharded = any(map(_is_fsdp2, module.modules()))
        if self._sharded and what != "gradient":
            raise ValueError(f"what={what!r}: only gradients can be dumped from FSDP2")
        self.what, self._before = what, {}
        self._set_worker(ddp, worker, workers)
        modules = self._select(module, include, exclude)
        self._root = self._root_attributes(module, attributes or {})
        self._prefix = self._prepare_path(os.fspath(path), overwrite)
        if comm_hook is not None and ddp is None:
            raise ValueError("comm_hook= needs a DistributedDataParallel model")
        if comm_hook is not None and what != "gradient":
            raise ValueError("comm_hook= needs what='gradient': give the hook to the model")
        names = {id(tensor.parameters[0]): name for name, tensor in self._selected.items()}
        self._reduction: Any = _Reduction(ddp, names, comm_hook, comm_hook_state, sample) \
            if ddp and what == "gradient" else None
        if self._sharded:
            self._reduction = _Scatters(modules, self._shard, sample)
        self._arm()
        self._announce(ddp)

    def step(self, loss: Any = None, *, lr: Optional[float] = None, epoch: Optional[float] = None) -> Optional[str]:
        """Count one optimizer step and, if the step is to be recorded, write its file. Returns the file's name or None.

        Call it once per optimizer step: after the (last) backward, and before clipping, weight decay, scaler.update()
        and optimizer.step(). Under DDP a call without a reduction since the last call is not counted, because the loop
        is still accumulating under no_sync(). `loss` may be a tensor; it is read only on recorded steps.
        """
        kept: Optional[Dict[str, _Taken]] = None
        if self._reduction is not None:
            kept, times = self._reduction.take()
            if times == 0:
                self._warn("no reduction before step(): counted as a micro-batch of an accumulated step")
                return None
        number = self.next_step
        self.next_step += 1
        written = None
        if number in self._steps and not self._stopped:
            if kept is not None and times > 1:
                kind, under = ("FSDP2", "set_requires_gradient_sync(False)") if self._sharded else ("DDP", "no_sync()")
                self._warn(f"step {number} is left out: {kind} reduced {times} times before step(), so the gradients mix "
                           f"averages with this worker's own; accumulate under {under}")
            else:
                written = self._record(number, kept, {"loss": loss, "lr": lr, "epoch": epoch})
        self._arm()
        return written

    # Setting up

    def _set_worker(self, ddp: Optional[DistributedDataParallel], worker: Optional[int],
                    workers: Optional[int]) -> None:
        group = ddp.process_group if ddp else None
        distributed = dist.is_available() and dist.is_initialized()
        self._workers = workers or (dist.get_world_size(group) if distributed else 1)
        self._worker = worker if worker is not None else (dist.get_rank(group) if distributed else 0)
        if distributed and ddp is None and worker is None and self._workers > 1 and not self._sharded:
            self._warn(f"{self._workers} processes but no DistributedDataParallel module: call step() before the "
                       "gradients are averaged")

    def _select(self, module: torch.nn.Module, include: Patterns, exclude: Patterns) -> Dict[str, torch.nn.Module]:
        """Chooses the tensors. Returns the FSDP2 modules among them."""
        self._selected: Dict[str, _Tensor] = {}
        self._all = [parameter for _, parameter in module.named_parameters()]
        modules = {name: part for name, part in module.named_modules() if _is_fsdp2(part)}
        chosen: Dict[str, torch.nn.Module] = {}
        for index, (own, parameter) in enumerate(module.named_parameters()):
            name = _plain_name(own)
            owner = max((one for one in modules if f"{own}.".startswith(f"{one}." if one else "")), key=len, default=None)
            dataset = name if owner is None else _plain_name(owner) or "(root)"
            wanted = (not include or _matches(dataset, include)) and not _matches(dataset, exclude)
            if not wanted or not parameter.requires_grad or (self._sharded and owner is None):
                continue
            if parameter.dtype not in _FLOAT_TYPES:
                raise ValueError(f"{name} is {parameter.dtype}, which the schema does not support: exclude it")
            if owner is None:
                self._selected[dataset] = _Tensor(index, (parameter,))
                continue
            chosen[dataset] = modules[owner]
            before = self._selected.get(dataset, _Tensor(index, ()))
            self._selected[dataset] = _Tensor(before.index, (*before.parameters, parameter), f"{before.names}\n{name}".strip())
        if not self._selected:
            raise ValueError("no parameter to record: check include, exclude and requires_grad")
        return chosen

    def _root_attributes(self, module: torch.nn.Module, given: Mapping[str, Any]) -> Dict[str, Any]:
        root = {"model": type(module).__name__, "framework": f"torch {torch.__version__}", "workers": self._workers}
        if self._optimizer is not None:
            group = self._optimizer.param_groups[0]
            root["optimiser"] = type(self._optimizer).__name__
            root.update({key: float(group[key]) for key in ("momentum", "weight_decay") if key in group})
        root.update(given)
        for key, value in root.items():
            if not isinstance(value, (str, Real)):
                raise TypeError(f"attributes: {key} must be text or a number")
        return root

    def _prepare_path(self, path: str, overwrite: bool) -> str:
        if path.endswith(os.sep) or os.path.isdir(path):
            path = os.path.join(path, "grads")
        path = path[:-3] if path.endswith(".h5") else path
        folder, base = os.path.split(path)
        os.makedirs(folder or ".", exist_ok=True)
        if not os.access(folder or ".", os.W_OK):
            raise PermissionError(f"cannot write to {folder or '.'}")
        mine = re.compile(re.escape(base) + rf"_step(\d+)_rank{self._worker}\.h5")
        for name in sorted(os.listdir(folder or ".")):
            match = mine.fullmatch(name)
            if match and not overwrite and int(match[1]) >= self.next_step and int(match[1]) in self._steps:
                raise FileExistsError(f"{os.path.join(folder, name)} exists: give another path or overwrite=True")
        return path

    def _stored_size(self, tensor: _Tensor) -> int:
        count, dtype = sum(parameter.numel() for parameter in tensor.parameters), tensor.parameters[0].dtype
        if tensor.names and self._shard:
            count = -(-count // _shards(tensor.parameters[0]))
        count = math.prod(_slices(self._sample)) if self._sample and count > self._sample else count
        widened = dtype is torch.bfloat16 or (dtype is torch.float16 and self._scaler)
        return count * (4 if widened and not self._dtype else _FLOAT_TYPES[self._dtype or dtype])

    def _announce(self, ddp: Optional[DistributedDataParallel]) -> None:
        self._step_bytes = sum(map(self._stored_size, self._selected.values()))
        if self._worker != 0:
            return
        count = self._steps.count
        total = f"{count} step{'s' * (count != 1)}, {_human(count * self._step_bytes)}"
        total = "every step" if self._steps.endless else total
        what = "FSDP2 modules" if self._sharded else f"of {len(self._all)} tensors"
        _say(f"{len(self._selected)} {what}, {_human(self._step_bytes)} a step; {total} for each "
             f"of {self._workers} worker{'s' * (self._workers != 1)}"
             f"{' before the reduction' if ddp or (self._sharded and not self._shard) else ''}; to {self._prefix}_step*_rank*.h5")

    # One step

    def _arm(self) -> None:
        due = not self._stopped and self.next_step in self._steps
        if self._reduction is not None:
            self._reduction.keep = due
        if self.what == "update":
            self._before = {name: tensor.parameters[0].detach().clone() for name, tensor in self._selected.items() if due}

    def _vector(self, name: str, parameter: torch.nn.Parameter) -> Optional[torch.Tensor]:
        if self.what == "update":
            return self._before[name] - parameter.detach()
        return momentum_of(self._optimizer, parameter) if self.what == "momentum" else parameter.grad

    def _record(self, number: int, kept: Optional[Dict[str, _Taken]], facts: Dict[str, Any]) -> Optional[str]:
        present: List[Tuple[str, _Tensor, Union[_Taken, torch.Tensor]]] = []
        missing = []
        for name, tensor in self._selected.items():
            gradient, taken = self._vector(name, tensor.parameters[0]), (kept or {}).get(name)
            if (taken if self._sharded else gradient) is None:
                missing.append(name)
            else:
                present.append((name, tensor, taken or gradient))
        if not present:
            self._warn(f"step {number} is left out: no parameter has a {self.what}; call step() after backward and before "
                       "zero_grad()" + (", and after optimizer.step()" if self.what == "momentum" else ""))
            return None
        if self._over_budget(self._step_bytes if self._compression is None else 0):
            return None
        try:
            scale = 1.0
            if self._scaler is not None:
                facts["loss_scale"] = scale = float(self._scaler.get_scale())
            # DDP's buckets have scaled values, even if unscale_() has divided p.grad since
            divisor = 1.0 if self.what != "gradient" or (kept is None and _is_unscaled(self._scaler)) else scale
            return self._write(number, present, divisor, self._step_attributes(facts, missing))
        except (OSError, RuntimeError, TypeError, ValueError) as error:
            self._stop(f"step {number}: {' '.join(str(error).split())}")
            return None

    def _step_attributes(self, facts: Dict[str, Any], missing: List[str]) -> Dict[str, Any]:
        if facts["lr"] is None and self._optimizer is not None:
            facts["lr"] = self._optimizer.param_groups[0]["lr"]
        attributes = {key: float(value.detach() if isinstance(value, torch.Tensor) else value)
                      for key, value in facts.items() if value is not None}
        gradients = (parameter.grad for parameter in self._all if parameter.grad is not None)
        attributes["found_inf"] = int(any(not bool(torch.isfinite(_values(gradient)).all()) for gradient in gradients))
        if self._accumulation is not None:
            attributes["accumulation_steps"] = int(self._accumulation)
        if missing:
            attributes["missing"] = "\n".join(missing)
        return attributes

    def _array(self, name: str, gradient: torch.Tensor, divisor: float) -> Tuple[np.ndarray, torch.dtype]:
        """The gradient in its stored form, and its original type."""
        source = gradient.dtype
        if source not in _FLOAT_TYPES:
            raise TypeError(f"the gradient of {name} is {source}, which the schema does not support: exclude it")
        value = gradient
        if source is torch.float16 and divisor != 1.0:
            value = value.float()  # dividing in float16 would lose the small values that the loss scale keeps
        if divisor != 1.0:
            value = value / divisor
        if source is torch.bfloat16:
            value = value.float()  # after the division, so that the stored values are bfloat16 numbers
        return value.to(self._dtype or value.dtype).contiguous().numpy(), source

    def _write(self, number: int, present: List[Tuple[str, _Tensor, Union[_Taken, torch.Tensor]]], divisor: float,
               attributes: Dict[str, Any]) -> Optional[str]:
        final = f"{self._prefix}_step{number:06d}_rank{self._worker}.h5"
        temporary = final + ".tmp"
        kept = [taken.values for _, _, taken in present if isinstance(taken, _Taken)]
        stored = max(self._step_bytes, sum(values.numel() * max(4, values.element_size()) for values in kept))
        room = stored + stored // 64 + 4096 * (16 + len(present)) + len(str(attributes))
        try:
            with open(temporary, "w+b") as disk:
                _start_file(disk, room)
                with h5py.File(disk, "r+") as file:
                    file.attrs.update({**self._root, "what": self.what})
                    step = file.create_group(f"step_{number:06d}")
                    step.attrs.update(attributes)
                    worker = step.create_group(f"worker_{self._worker}")
                    for name, tensor, taken in present:
                        if not isinstance(taken, _Taken):
                            taken = _take(taken, self._sample, copy=False)
                        array, source = self._array(name, taken.values, divisor)
                        self._write_tensor(worker, name, tensor, taken, array, source)
                disk.flush()
                os.fsync(disk.fileno())  # a crash after the rename must not leave an empty file
            size = os.path.getsize(temporary)
            if self._over_budget(size):
                return None
            os.replace(temporary, final)
        finally:
            if os.path.exists(temporary):
                os.remove(temporary)
        self._written += size
        return final

    def _write_tensor(self, group: h5py.Group, name: str, tensor: _Tensor, taken: _Taken, array: np.ndarray,
                      source: torch.dtype) -> None:
        filters = {}
        if self._compression and array.nbytes >= _SMALLEST_COMPRESSED:
            filters = {"compression": self._compression, "shuffle": True}
        dataset = group.create_dataset(name, data=array, **filters)
        dataset.attrs["index"] = tensor.index
        sampled = taken.values.numel() != taken.count
        if tensor.names:
            dataset.attrs.update({"part": "shard" if self._shard else "reduce-scatter", "parameters": tensor.names})
        elif sampled:
            dataset.attrs["part"] = "sample"
        if sampled:
            dataset.attrs.update({"sampled_from": taken.count, "slice": _slices(self._sample)[0]})
        source_name = str(source).replace("torch.", "")
        if array.itemsize > _FLOAT_TYPES[source]:
            dataset.attrs["source_dtype"] = source_name
        elif array.dtype.name != source_name:
            dataset.attrs["narrowed_from"] = source_name

    # Messages and stopping

    def _over_budget(self, more: int) -> bool:
        over = self._max_bytes is not None and self._written + more > self._max_bytes
        if over:
            self._stop(f"max_bytes={self._max_bytes} reached")
        return over

    def _stop(self, why: str) -> None:
        self._stopped = True
        _say(f"worker {self._worker} stops recording after {_human(self._written)}; training goes on: {why}")

    def _warn(self, message: str) -> None:
        kind = re.sub(r"\d+", "N", message)
        if kind not in self._warned:
            self._warned.add(kind)
            _say(message)


def _start_file(disk: IO[bytes], size: int) -> None:
    """Make an empty HDF5 file and reserve `size` bytes for it. Raises OSError.

    If a disk becomes full while HDF5 writes, the process crashes later (HDF5 1.10). So the space is reserved before
    HDF5 opens the file; closing the file releases the unused space.
    """
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(disk.fileno(), 0, size)
    empty = io.BytesIO()
    h5py.File(empty, "w").close()
    disk.write(empty.getvalue())
    disk.flush()
