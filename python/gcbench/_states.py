"""Checks of what load_state_dict() is given. Each raises ValueError with the name of what is wrong; nothing is changed."""
import math
from typing import Any, Collection, Dict, List, Mapping, Sequence

import torch

from ._transport import short

MEMORY = ("residual", "momentum")
_WAY_ON = "give each rank what its own state_dict() returned, or take an older checkpoint"
# What optimizers of torch keep of each element.
_ELEMENTWISE = ("momentum_buffer", "exp_avg", "exp_avg_sq", "max_exp_avg_sq", "exp_inf", "square_avg", "grad_avg", "acc_delta",
                "sum", "prev")


def whole(value: Any, least: int = 0) -> bool:
    return type(value) is int and value >= least


def number(value: Any) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)


def need(good: Any, what: str, value: Any) -> None:
    if not good:
        text = f"{value.dtype} of shape {tuple(value.shape)} on {value.device}" if isinstance(value, torch.Tensor) else str(value)
        raise ValueError(f"the state is damaged: its {what} is {' '.join(text.split())[:100]}; {_WAY_ON}")


def need_keys(state: Any, keys: Collection[str], what: str = "") -> None:
    """`what` is the name of the part of the state; default: the whole."""
    if not isinstance(state, dict) or (keys and not what and state.keys().isdisjoint(keys)):
        raise ValueError(f"{what or 'this'} is not a state of gcbench: {_WAY_ON}")
    missing = [key for key in keys if key not in state]
    if missing:
        raise ValueError(f"the state is damaged: {what or 'it'} has no {missing[0]!r}; {_WAY_ON}")


def as_states(state: Any) -> List[Any]:
    """load_state_dict() takes a state or several."""
    if isinstance(state, (list, tuple)) and state:
        return list(state)
    need_keys(state, ())
    return [state]


def check_training(state: Any, mine: Dict[str, Any]) -> None:
    """The state must be of the training that `mine` describes. state_dict() has the same keys."""
    need_keys(state, mine)
    for key, value in mine.items():
        if repr(state[key]) != repr(value):
            raise ValueError(f"the state is of another training: its {key} is {short(state[key])}, not {short(value)}; give each "
                             "rank what it saved itself, for the same method and model")


def check_totals(totals: Any, own: Mapping[str, float]) -> None:
    need(isinstance(totals, dict) and totals.keys() == own.keys() and all(map(number, totals.values())), "totals", totals)


def check_array(what: str, array: Any, shape: Sequence[int]) -> None:
    need(isinstance(array, torch.Tensor) and array.dtype is torch.float32 and array.device.type == "cpu"
         and array.layout is torch.strided, what, array)
    if tuple(array.shape) != tuple(shape):
        found, wanted = (array.numel(), f"elements, not {shape[0]}") if len(shape) == 1 == array.dim() else (
            "the shape", f"{tuple(array.shape)}, not {tuple(shape)}")
        raise ValueError(f"the state is of another model: its {what} has {found} {wanted}; make the model as before")
    if not bool(array.isfinite().all()):
        raise ValueError(f"the state is damaged: its {what} has an infinity or NaN; {_WAY_ON}")


def check_kept(of: str, state: Any) -> None:
    """What a method keeps besides the arrays."""
    counters, kept = state["counters"], state["kept"]
    need(isinstance(counters, list) and len(counters) == 8 and all(whole(one) and one < 1 << 64 for one in counters),
         f"counters of {of}", counters)
    need(isinstance(kept, torch.Tensor) and kept.dtype is torch.uint8 and kept.dim() == 1 and kept.device.type == "cpu",
         f"kept of {of}", kept)


def check_message(of: str, state: Any, n: int) -> None:
    """What saved() gives."""
    need_keys(state, (*MEMORY, "counters", "kept"), f"the message of {of}")
    for key in MEMORY:
        check_array(f"{key} of {of}", state[key], (n,))
    check_kept(of, state)


def restore(of: str, message: Any, state: Dict[str, Any]) -> None:
    """Gives a new message what was kept. Only the library can read all of it."""
    try:
        message.restore(state)
    except (RuntimeError, TypeError, ValueError) as error:
        raise ValueError(f"the state of the message of {of} is damaged, or of another method: {error}; {_WAY_ON}") from error


def check_optimizer(state: Any, own: torch.optim.Optimizer, names: Mapping[int, str]) -> None:
    """`names` of the optimizer's tensors by their id()."""
    need_keys(state, ("state", "param_groups"), "the optimizer")
    kept, groups = state["state"], state["param_groups"]
    need(isinstance(kept, dict), "optimizer's state", kept)
    need(isinstance(groups, list) and all(isinstance(group, dict) for group in groups), "optimizer's param_groups", groups)
    found, wanted = ([len(group["params"]) for group in one if isinstance(group.get("params"), list)]
                     for one in (groups, own.param_groups))
    if found != wanted:
        raise ValueError(f"the state is of another optimizer: its param_groups have {found} tensors, not {wanted}; make the Outer "
                         "with the optimizer= of the checkpoint")
    for group, now in zip(groups, own.param_groups):
        need("lr" in group or "lr" not in now, "optimizer's param_groups", group)
        for key, value in group.items():
            need(not isinstance(value, float) or math.isfinite(value), f"optimizer's {key}", value)
        rows = [(names[id(p)], p, kept.get(index, {})) for index, p in zip(group["params"], now["params"])]
        for name, _, row in rows:
            need(isinstance(row, dict), f"optimizer's state of {name}", row)
        keys = {key for _, _, row in rows for key, value in row.items() if value is not None}
        for name, p, row in rows:
            for key in keys.intersection(_ELEMENTWISE):
                need_keys(row, (key,), f"the optimizer's state of {name}")
                check_array(f"optimizer's {key} of {name}", row[key], p.shape)
            for key, value in row.items():
                need(value == value if isinstance(value, float) else not isinstance(value, torch.Tensor) or
                     not bool(value.isnan().any()), f"optimizer's {key} of {name}", value)
