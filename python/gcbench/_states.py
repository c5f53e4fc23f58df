"""Checks of what load_state_dict() is given. Each raises ValueError with the name of what is wrong; nothing is changed."""
import math
from typing import Any, Collection, Dict, List, Mapping, Sequence

import torch

from ._transport import shorten

MEMORY = ("residual", "momentum")
_ADVICE = "give each rank what its own state_dict() returned, or take an older checkpoint"
# What optimizers of torch keep of each element.
_ELEMENTWISE = ("momentum_buffer", "exp_avg", "exp_avg_sq", "max_exp_avg_sq", "exp_inf", "square_avg", "grad_avg", "acc_delta",
                "sum", "prev")


def is_whole(value: Any, least: int = 0) -> bool:
    """A count or step that the library can take: less than 2^63."""
    return type(value) is int and least <= value < 1 << 63


def is_finite(value: Any) -> bool:
    try:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # an int beyond the range of floats
        return False


def require(good: Any, what: str, value: Any) -> None:
    if not good:
        text = f"{value.dtype} of shape {tuple(value.shape)} on {value.device}" if isinstance(value, torch.Tensor) else str(value)
        raise ValueError(f"the state is damaged: its {what} cannot be {' '.join(text.split())[:100]}; {_ADVICE}")


def require_keys(state: Any, keys: Collection[str], what: str = "") -> None:
    """`what` is the name of the part of the state; default: the whole."""
    if not isinstance(state, dict) or (keys and not what and state.keys().isdisjoint(keys)):
        raise ValueError(f"{what or 'this'} is not a state of gcbench: {_ADVICE}")
    missing = [key for key in keys if key not in state]
    if missing:
        raise ValueError(f"the state is damaged: {what or 'it'} has no {missing[0]!r}; {_ADVICE}")


def as_states(state: Any) -> List[Any]:
    """A list of what load_state_dict() was given: one state or several."""
    if isinstance(state, (list, tuple)) and state:
        return list(state)
    require_keys(state, ())
    return [state]


def check_training(state: Any, mine: Dict[str, Any]) -> None:
    """The state must be of the training that `mine` describes. state_dict() has the same keys."""
    require_keys(state, mine)
    for key, value in mine.items():
        if repr(state[key]) != repr(value):
            theirs, ours = _first_difference(state[key], value)
            raise ValueError(f"the state is of another training: its {key} is {shorten(theirs)}, not {shorten(ours)}; give each "
                             "rank what it saved itself, for the same method and model")


def _first_difference(a: Any, b: Any) -> Any:
    """Of two lists of the same length, only what differs first."""
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return next(pair for pair in zip(a, b) if repr(pair[0]) != repr(pair[1]))
    return a, b


def check_totals(totals: Any, own: Mapping[str, float]) -> None:
    require(isinstance(totals, dict) and totals.keys() == own.keys() and all(map(is_finite, totals.values())), "totals", totals)


def check_array(what: str, array: Any, shape: Sequence[int]) -> None:
    require(isinstance(array, torch.Tensor) and array.dtype is torch.float32 and array.device.type == "cpu"
         and array.layout is torch.strided, what, array)
    if tuple(array.shape) != tuple(shape):
        found = f"the shape {tuple(array.shape)}, not {tuple(shape)}"
        if len(shape) == 1 and array.dim() == 1:
            found = f"{array.numel()} elements, not {shape[0]}"
        raise ValueError(f"the state is of another model: its {what} has {found}; make the model as before")
    if not bool(array.isfinite().all()):
        raise ValueError(f"the state is damaged: its {what} has an infinity or NaN; {_ADVICE}")


def check_kept(of: str, state: Any) -> None:
    """What a method keeps besides the arrays."""
    counters, kept = state["counters"], state["kept"]
    require(isinstance(counters, list) and len(counters) == 8 and all(type(one) is int and 0 <= one < 1 << 64 for one in counters),
         f"counters of {of}", counters)
    require(isinstance(kept, torch.Tensor) and kept.dtype is torch.uint8 and kept.dim() == 1 and kept.device.type == "cpu",
         f"kept of {of}", kept)


def check_message(what: str, state: Any, n: int) -> None:
    """What saved() gives. `what` names the message in errors."""
    require_keys(state, (*MEMORY, "counters", "kept"), what)
    for key in MEMORY:
        check_array(f"{key} of {what}", state[key], (n,))
    check_kept(what, state)


def restore_message(what: str, message: Any, state: Dict[str, Any], settings: Mapping[str, float] = {}) -> None:
    """Gives a new message its settings and what was kept. Only the library can read all of it."""
    try:
        for key, value in settings.items():  # first: a method may drop what it keeps if a parameter changes
            message.set(key, value)
        message.restore(state)
    except (RuntimeError, TypeError, ValueError) as error:
        raise ValueError(f"the state of {what} is damaged, or of another method: {error}; {_ADVICE}") from error


def _has_nan(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return bool(value.isnan().any())
    return isinstance(value, float) and math.isnan(value)


def check_optimizer(state: Any, own: torch.optim.Optimizer, names: Mapping[int, str]) -> None:
    """`names` of the optimizer's tensors by their id(). What optimizers of others keep is theirs, and may only have no NaN."""
    require_keys(state, ("state", "param_groups"), "the optimizer")
    kept, groups = state["state"], state["param_groups"]
    require(isinstance(kept, dict), "optimizer's state", kept)
    require(isinstance(groups, list) and all(isinstance(group, dict) for group in groups), "optimizer's param_groups", groups)
    found, wanted = ([len(group["params"]) for group in one if isinstance(group.get("params"), list)]
                     for one in (groups, own.param_groups))
    if found != wanted:
        raise ValueError(f"the state is of another optimizer: its param_groups have {found} tensors, not {wanted}; make the Outer "
                         "with the optimizer= of the checkpoint")
    known = type(own).__module__.startswith("torch.optim")
    for group, now in zip(groups, own.param_groups):
        require("lr" in group or "lr" not in now, "optimizer's param_groups", group)
        for key, value in group.items():
            require(not _has_nan(value), f"optimizer's {key}", value)
        require(all(type(index) is int for index in group["params"]), "optimizer's params", group["params"])
        rows = [(names.get(id(p), f"tensor {index}"), p, kept.get(index, {})) for index, p in zip(group["params"], now["params"])]
        for name, _, row in rows:
            require(isinstance(row, dict), f"optimizer's state of {name}", row)
        keys = {key for _, _, row in rows for key, value in row.items() if value is not None} if known else set()
        for name, p, row in rows:
            for key in keys.intersection(_ELEMENTWISE):
                require_keys(row, (key,), f"the optimizer's state of {name}")
                check_array(f"optimizer's {key} of {name}", row[key], p.shape)
            for key, value in row.items():
                require(not _has_nan(value), f"optimizer's {key} of {name}", value)
