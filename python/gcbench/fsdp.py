"""Compressed gradients for FSDP2 on the CPU, through its own interface for a custom reduce-scatter.

    fully_shard(model)
    state = gcbench.fsdp.Compression("qsgd", model=model)

Nothing else in the training loop changes. docs/training.md says what is compressed, and what is not.
"""
import ctypes
from typing import Any, Dict, List, Optional, Sequence, Tuple

import torch
import torch.distributed as dist

from ._objects import Encoder, Sum
from ._states import check_message, check_training, is_whole, require, require_keys, restore_message
from ._tables import remembers, warn_if_forgets
from ._transport import Transport, plain_name, saved

try:
    from torch.distributed.fsdp import FSDPModule
    FSDPModule.set_custom_reduce_scatter, FSDPModule.set_reduce_scatter_unused_params
except Exception as error:  # with Python 3.11, torch 1.13 raises a ValueError
    raise ImportError("gcbench.fsdp needs a torch whose FSDP2 has set_custom_reduce_scatter and "
                      f"set_reduce_scatter_unused_params, such as 2.15; this is {torch.__version__}") from error

__all__ = ["Compression", "ReduceScatter"]

_INPUTS = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16"}


def _weight(op: Any, world: int) -> float:
    """The factor of each rank's values."""
    if op == dist.ReduceOp.AVG:
        return 1 / world
    if op == dist.ReduceOp.SUM:
        return 1.0
    if op == dist.ReduceOp.PREMUL_SUM:
        return float(op.factor)
    raise ValueError(f"the reduction is {op}: only SUM, AVG and PREMUL_SUM are supported")


def _replicas(module: torch.nn.Module) -> List[Any]:
    """The process groups of the ranks that have the same shards."""
    parameter = next((p for p in module.parameters() if hasattr(p, "device_mesh")), None)
    if parameter is None:
        return []
    return [parameter.device_mesh.get_group(dimension) for dimension, placement in enumerate(parameter.placements)
            if placement.is_replicate() and parameter.device_mesh.size(dimension) > 1]


def _shard(modules: Sequence[torch.nn.Module]) -> Optional[Tuple[int, int]]:
    """The elements of a shard of the gradients of modules that FSDP reduces together, and the number of shards. None if they
    have none, or if their tensors are also divided by tensor parallelism."""
    inner = {id(p) for module in modules for other in module.modules() if other not in modules and isinstance(other, FSDPModule)
             for p in other.parameters()}
    mine = {id(p): p for module in modules for p in module.parameters()
            if id(p) not in inner and p.requires_grad and hasattr(p, "device_mesh")}  # the last: FSDP does not ignore it
    n = world = 0
    for p in mine.values():
        shards = [(size, p.shape[one.dim]) for size, one in zip(p.device_mesh.shape, p.placements) if one.is_shard()]
        if len(shards) != 1 or not all(one.is_shard() or one.is_replicate() for one in p.placements):
            return None
        (world, along), = shards
        n += -(-along // world) * (p.numel() // max(1, along))
    return (n, world) if world else None


class ReduceScatter:
    """The reduce-scatter of one FSDP module: each rank encodes the shard of each rank as one message, and adds up the
    messages of its own shard in the order of the ranks. The arguments are those of gcbench.Encoder."""

    def __init__(self, spec: str, *, path: str = "", threads: int = 1, seed: int = 1) -> None:
        if spec.partition(":")[0] == "powersgd":
            raise ValueError("powersgd needs matrices, and a shard is joined from parts of several parameters: take another "
                             "method")
        Encoder(spec, 64).close()  # a wrong method fails here, not in the backward pass
        self.spec, self.step, self.remembers = spec, 0, remembers(spec)
        self.transport: Optional[Transport] = None
        self._path = path
        self._options: Dict[str, Any] = {"threads": threads, "seed": seed}
        self.replicas: List[Any] = []  # with HSDP: the process group of the ranks that have the same shard
        self._layout: Optional[Tuple[int, torch.dtype, int]] = None
        self._encoders: List[Encoder] = []  # one for the shard of each rank
        self._sum: Any = None
        self._saved: List[Dict[str, Any]] = []

    def allocate(self, size: Sequence[int], *, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
        """Room for the gradients of all shards, or of this rank's."""
        return torch.empty(*size, dtype=dtype, device=device)

    def __call__(self, output_tensor: torch.Tensor, input_tensor: torch.Tensor, group: Any, op: Any,
                 async_op: bool = False) -> None:
        """Writes this rank's shard of the reduced gradients. All ranks fail if one cannot encode."""
        if self.transport is None:
            self.transport = Transport(group)
            self.transport.replicas = [Transport(replicas) for replicas in self.replicas]
        transport, key = self.transport, (self._path, self.spec, self._options["seed"])
        transport.step = self.step
        try:
            self._exchange(output_tensor, input_tensor, op, async_op, key)
        except Exception as error:
            transport.settle(key, error)
            raise
        transport.settle(key)
        self.step += 1

    def _exchange(self, output_tensor: torch.Tensor, input_tensor: torch.Tensor, op: Any, async_op: bool, key: Any) -> None:
        transport = self.transport
        try:
            if async_op:
                raise ValueError("async_op=True is not supported")
            weight = _weight(op, transport.world)
            self._open((output_tensor.numel(), input_tensor.dtype, transport.world), input_tensor.device)
            sent, parts = self._encode(input_tensor, transport.rank)
        except Exception as error:
            transport.refuse(error, key)
            raise
        arrived = transport.scatter(sent, parts, key, max(encoder.bound for encoder in self._encoders))
        try:
            for address, length in arrived:
                if length:  # else the method sends nothing in this step
                    self._sum.add((ctypes.c_char * length).from_address(address), weight)
            out = output_tensor if output_tensor.dtype is torch.float32 else torch.empty(
                output_tensor.shape, dtype=torch.float32, device="cpu")
            self._sum.finish(out)
        except Exception as error:  # the others go on to the next module, and must fail there
            transport.leave_note(error)
            raise
        if out is not output_tensor:
            output_tensor.copy_(out)

    def _open(self, layout: Tuple[int, torch.dtype, int], device: torch.device) -> None:
        """Opens encoders for the first call. FSDP leaves parameters without a gradient out of the shards, and does not
        say which they are: Compression switches this off for methods with a memory."""
        if layout == self._layout:
            return
        n, dtype, world = layout
        if dtype not in _INPUTS or device.type != "cpu":
            raise TypeError(f"the gradients are {dtype} on {device}: only float32, float16 and bfloat16 on the CPU are supported")
        if self._layout and self.remembers:
            raise ValueError(f"a shard had {self._layout[0]} elements of {self._layout[1]}, and now has {n} of {dtype}, but the "
                             f"memory of {self.spec} fits only the former: do not change requires_grad of parameters")
        self._encoders = self._restored(self._saved, n, world, _INPUTS[dtype])
        self._sum, self._layout = Sum(self.spec, n, threads=self._options["threads"]), layout
        self._saved = []

    def _restored(self, messages: List[Dict[str, Any]], n: int, world: int, dtype: str = "f32") -> List[Encoder]:
        """Encoders that continue where those of a state ended. Raises ValueError with the name of what is wrong in it."""
        require(len(messages) in (0, world), f"number of messages of module '{self._path}' for {world} ranks", len(messages))
        encoders = [Encoder(self.spec, n, path=f"{self._path}/{rank}", input=dtype, nonfinite="raw", workers=world,
                            **self._options) for rank in range(world)]
        for rank, (encoder, before) in enumerate(zip(encoders, messages)):
            of = f"message {rank} of module '{self._path}'"
            check_message(of, before, n)
            restore_message(of, encoder, before)
        return encoders

    def _encode(self, gradients: torch.Tensor, rank: int) -> Tuple[torch.Tensor, List[int]]:
        """The messages for all ranks one after the other, and their lengths."""
        room = torch.empty(sum(encoder.bound for encoder in self._encoders), dtype=torch.uint8, device="cpu")
        parts: List[int] = []
        for encoder, shard in zip(self._encoders, gradients.chunk(len(self._encoders))):
            parts.append(encoder.encode_into(shard, room[sum(parts):], self.step, rank))
        return room[:sum(parts)], parts

    def state_dict(self) -> Dict[str, Any]:
        kept = self._encoders if self.remembers else []
        return {"step": self.step, "messages": self._saved or [saved(encoder) for encoder in kept]}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        self.check_state(state)
        self.step, self._saved, self._encoders, self._layout = state["step"], state["messages"], [], None

    def check_state(self, state: Any, shard: Optional[Tuple[int, int]] = None) -> None:
        """Raises ValueError with the name of what is wrong. `shard` is what _shard() gives; without it, the next call checks the
        messages."""
        of = f"of module '{self._path}'"
        require_keys(state, ("step", "messages"), f"the state {of}")
        messages = state["messages"]
        require(is_whole(state["step"]), f"step {of}", state["step"])
        require(isinstance(messages, list) and (self.remembers or not messages), f"messages {of}", messages)
        if messages and shard is not None:
            self._restored(messages, *shard)


class Compression:
    """Gives each FSDP module of a model a ReduceScatter.

    spec           a method, "name:key=value,..." (docs/codecs/index.md), the same on all ranks; all but powersgd
    model          what fully_shard was called on
    threads, seed  as in gcbench.Encoder

    With a method that has a memory, parameters without a gradient get a gradient of 0 (set_reduce_scatter_unused_params),
    because otherwise the shards would change.
    """

    def __init__(self, spec: str, *, model: torch.nn.Module, threads: int = 1, seed: int = 1) -> None:
        self.spec = spec
        self._parts: Dict[str, ReduceScatter] = {}
        self._modules: List[List[FSDPModule]] = []  # of each part: several if fully_shard() was given a list
        together: Dict[int, List[FSDPModule]] = {}
        for name, module in model.named_modules():
            if not isinstance(module, FSDPModule):
                continue
            module.reshard()  # after a pass without a backward pass, parameters are whole
            modules = together.setdefault(id(module._get_fsdp_state()), [])
            modules.append(module)
            if len(modules) > 1:
                continue
            name = plain_name(name)
            part = self._parts[name] = ReduceScatter(spec, path=name, threads=threads, seed=seed)
            part.replicas = _replicas(module)
            self._modules.append(modules)
            module.set_custom_reduce_scatter(part)
            if part.remembers:
                module.set_reduce_scatter_unused_params(True, recurse=False)
        if not self._parts:
            raise TypeError(f"model is a {type(model).__name__} without FSDP modules: call fully_shard(model) first")
        warn_if_forgets(spec)

    def _total(self, name: str) -> float:
        return sum(part.transport.totals[name] for part in self._parts.values() if part.transport)

    @property
    def wire_bytes(self) -> float:
        """Bytes of a rank's messages so far, also of that for its own shard: the mean over the ranks."""
        return self._total("wire_bytes")

    @property
    def link_bytes(self) -> float:
        """Bytes of messages that a rank has put on its link so far: the mean. The all-gathers of parameters are FSDP's, and
        not counted."""
        return self._total("link_bytes")

    def state_dict(self) -> Dict[str, Any]:
        """What this rank keeps: save it on every rank, between two steps, beside FSDP's own checkpoint."""
        return {**self._mine(), "parts": [part.state_dict() for part in self._parts.values()]}

    def _mine(self) -> Dict[str, Any]:
        return {"spec": self.spec, "rank": dist.get_rank(), "world": dist.get_world_size(), "modules": list(self._parts)}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """Puts back what state_dict() gave on this rank of as many, for the same method and model: a memory belongs to one
        rank's view of the shards. Raises ValueError for another state, or one that is damaged; then nothing is changed."""
        if isinstance(state, dict) and isinstance(state.get("modules"), list):
            state = {**state, "modules": [plain_name(str(name)) for name in state["modules"]]}
        check_training(state, self._mine())
        require_keys(state, ("parts",), "it")
        parts = state["parts"]
        require(isinstance(parts, list) and len(parts) == len(self._parts), "parts", parts)
        for part, modules, before in zip(self._parts.values(), self._modules, parts):
            for module in modules:
                module.reshard()
            part.check_state(before, _shard(modules))
        for part, before in zip(self._parts.values(), parts):
            part.load_state_dict(before)
