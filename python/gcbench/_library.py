"""The C library: its structs and functions (src/gcbench.h), and where the library is found."""
import ctypes
import itertools
import operator
import os
from ctypes import POINTER, c_char_p, c_double, c_float, c_int, c_size_t, c_uint, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any, Collection, Dict, List, Optional

GATHER, SCATTER, REDUCE, SHIFT = range(4)
SUM_F32, SUM_F16, SUM_BF16, SUM_I8, SUM_I16, MAX_F32 = range(6)
DTYPES = {"f32": 0, "f16": 1, "bf16": 2, "f64": 3}
NONFINITE = {"error": 0, "raw": 1, "trusted": 2}
STATUS = {-1: "NOMEM", -2: "NOSPACE", -3: "INVALID", -4: "CORRUPT", -5: "IO", -6: "NONFINITE", -7: "BACKEND",
          -8: "MISMATCH", -9: "UNSUPPORTED", -10: "INTERNAL", -11: "DEVICE", -12: "UNVERIFIED"}


class Error(RuntimeError):
    """The library refused a call. The text is the library's own; `status` names the reason, such as "INVALID"."""

    def __init__(self, text: str, status: str) -> None:
        super().__init__(text, status)
        self.status = status

    def __str__(self) -> str:
        return str(self.args[0])


class _Sized(ctypes.Structure):
    """A public struct, whose first field is its size."""

    def __init__(self, **fields: Any) -> None:
        super().__init__(size=ctypes.sizeof(self), **fields)


class Diag(ctypes.Structure):
    _fields_ = [("status", c_int), ("text", ctypes.c_char * 480)]


class Options(_Sized):
    _fields_ = [("size", c_size_t), ("threads", c_int), ("rank", c_uint), ("shape", POINTER(c_uint64)),
                ("seed", c_uint64), ("path", c_char_p), ("nonfinite", c_int), ("input", c_int), ("source", c_int),
                ("workers", c_uint), ("checksum", c_int), ("max_elements", c_uint64), ("worker", c_uint32),
                ("weights", POINTER(c_float)), ("joined", POINTER(c_uint64)), ("joined_length", c_size_t)]


class MessageInfo(_Sized):
    _fields_ = [("size", c_size_t), ("elements", c_uint64), ("payload_bytes", c_uint64), ("header_bytes", c_uint32),
                ("source", c_int), ("stored", c_int), ("has_checksum", c_int), ("codec", c_uint)]


class MethodInfo(_Sized):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("summary", c_char_p), ("source", c_char_p),
                ("promise", c_char_p), ("spec", ctypes.c_char * 512)]


class MemoryState(_Sized):
    """Both struct gcb_memory_state and struct gcb_memory_view."""
    _fields_ = [("size", c_size_t), ("residual", c_void_p), ("momentum", c_void_p), ("counters", c_uint64 * 8),
                ("kept", c_void_p), ("kept_bytes", c_size_t)]


class Round(_Sized):
    _fields_ = [("size", c_size_t), ("kind", c_int), ("reduction", c_int), ("data", c_void_p), ("bytes", c_size_t),
                ("parts", POINTER(c_size_t)), ("to", c_uint32), ("sender", c_uint32)]


_P, _DIAG = c_void_p, POINTER(Diag)
_OPEN: List[Any] = [POINTER(_P), c_char_p, c_uint64, POINTER(Options), _DIAG]
_LIKE: List[Any] = [POINTER(_P), _P, c_size_t, POINTER(Options), _DIAG]
_FUNCTIONS: Dict[str, List[Any]] = {  # the result, then the arguments
    "gcb_version": [c_char_p],
    "gcb_encoder_open": [c_int, *_OPEN],
    "gcb_encoder_bound": [c_size_t, _P],
    "gcb_encoder_length": [c_size_t, _P],
    "gcb_encode": [c_int, _P, c_uint64, c_uint32, _P, _P, c_size_t, POINTER(c_size_t), _DIAG],
    "gcb_decoder_open": [c_int, *_OPEN],
    "gcb_decoder_open_like": [c_int, *_LIKE],
    "gcb_decoder_elements": [c_uint64, _P],
    "gcb_decode": [c_int, _P, _P, c_size_t, _P, _DIAG],
    "gcb_method_info": [c_int, POINTER(MethodInfo), c_size_t, _DIAG],
    "gcb_method_add": [c_int, _P, _DIAG],
    "gcb_message_info": [c_int, POINTER(MessageInfo), _P, c_size_t, _DIAG],
    "gcb_sum_open": [c_int, *_OPEN[:3], _P, *_OPEN[3:]],
    "gcb_sum_open_like": [c_int, *_LIKE[:3], _P, *_LIKE[3:]],
    "gcb_sum_add": [c_int, _P, _P, c_size_t, c_float, _DIAG],
    "gcb_sum_finish": [c_int, _P, _P, _DIAG],
    "gcb_reduction_size": [c_size_t, c_int],
    "gcb_reduction_combine": [None, c_int, _P, _P, c_size_t],
    "gcb_exchange_open": [c_int, *_OPEN],
    "gcb_exchange_begin": [c_int, _P, c_uint64, _P, _DIAG],
    "gcb_exchange_sum_into": [c_int, _P, _P, _DIAG],
    "gcb_exchange_next": [c_int, _P, POINTER(Round), _DIAG],
    "gcb_exchange_receive": [c_int, _P, c_uint32, _P, c_size_t, _DIAG],
    "gcb_exchange_finish": [c_int, _P, _P, _DIAG],
    "gcb_device_encoder_open": [c_int, POINTER(_P), c_uint, *_OPEN[1:]],
    "gcb_device_slot_bytes": [c_size_t, _P],
    "gcb_device_scratch_bytes": [c_size_t, _P, c_uint],
    "gcb_device_encode": [c_int, _P, c_uint64, c_uint32, _P, _P, _P, _P, _P, _DIAG],
    "gcb_device_sum_slots": [c_int, _P, _P, c_uint, POINTER(c_float), _P, _P, _P, _DIAG],
}
for _kind in ("encoder", "decoder", "sum", "exchange", "device_encoder"):
    _FUNCTIONS[f"gcb_{_kind}_close"] = [None, _P]
for _kind in ("encoder", "exchange"):  # what has a memory
    _FUNCTIONS[f"gcb_{_kind}_set"] = [c_int, _P, c_char_p, c_char_p, _DIAG]
    _FUNCTIONS[f"gcb_{_kind}_set_norm"] = [c_int, _P, c_double, _DIAG]
    _FUNCTIONS[f"gcb_{_kind}_kept_bytes"] = [c_size_t, _P]
    _FUNCTIONS[f"gcb_{_kind}_save"] = [c_int, _P, POINTER(MemoryState), _DIAG]
    _FUNCTIONS[f"gcb_{_kind}_restore"] = [c_int, _P, POINTER(MemoryState), _DIAG]


def _near(in_wheel: str, in_build: str) -> Optional[str]:
    """A file of the wheel, or else of the build folder."""
    here = Path(__file__).resolve().parent
    places = [here / in_wheel, here.parents[1] / "build" / in_build]
    return next((str(place) for place in places if place.is_file()), None)


def find() -> str:
    """The library: $GCBENCH_LIBRARY, or the wheel's, or that of the build folder, or an installed one."""
    return os.environ.get("GCBENCH_LIBRARY") or _near("libgcbench.so", "src/libgcbench.so.0") or "libgcbench.so.0"


def find_command() -> str:
    """The command: $GCBENCH_COMMAND, or the wheel's, or that of the build folder, or an installed one."""
    return os.environ.get("GCBENCH_COMMAND") or _near("bin/gcbench", "cli/gcbench") or "gcbench"


def load(path: Optional[str] = None) -> ctypes.CDLL:
    """Opens the library and declares its functions."""
    path = path or find()
    try:
        opened = ctypes.CDLL(path)
        for name, (result, *arguments) in _FUNCTIONS.items():
            function = getattr(opened, name)
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError) as error:
        raise ImportError(f"cannot use the library {path}: {error}; build it with ./dev build, or set GCBENCH_LIBRARY to its "
                          "path; without PYTHONPATH, install the wheel: pip install ./python") from None
    return opened


lib = load()


# ---- Arguments. Each is read once, here, and only the result is used: an object that is asked
# twice may give two answers, and arithmetic with a NumPy integer wraps. ----


def text(name: str, value: Any) -> bytes:
    """A string for C, which ends at the first NUL byte."""
    if not isinstance(value, str):
        raise TypeError(f"{name} is a {type(value).__name__}, not a str")
    try:
        data = str.encode(value)  # a subclass may have an encode() of its own
    except UnicodeEncodeError:
        raise ValueError(f"{name} has a character that UTF-8 does not have: {value!r}") from None
    if b"\0" in data:
        raise ValueError(f"{name} has a NUL character: {value!r}")
    return data


def choice(name: str, value: Any, known: Collection[str]) -> str:
    """One of the texts `known`."""
    chosen = text(name, value).decode()
    if chosen not in known:
        raise ValueError(f"{name}={chosen!r}: choose one of {', '.join(known)}")
    return chosen


def count(name: str, value: Any, bits: int = 64) -> int:
    """An unsigned integer for C, as an int. ctypes would take the low bits of another number."""
    try:
        if type(value).__name__ in ("bool", "bool_"):  # NumPy's too, which only some versions take as a number
            raise TypeError
        number = int.__index__(operator.index(value))  # before Python 3.10, index() may return a subclass of int
    except TypeError:
        raise TypeError(f"{name} is a {type(value).__name__}, not an int") from None
    if not 0 <= number < 1 << bits:
        raise ValueError(f"{name}={number} is out of range: 0 to 2^{bits} - 1")
    return number


def real(name: str, value: Any) -> float:
    """A number for C, as a float."""
    try:
        return c_double(value).value
    except TypeError:
        raise TypeError(f"{name} is a {type(value).__name__}, not a number") from None
    except OverflowError:
        raise ValueError(f"{name} is out of range: the largest float64 is 1.8e308") from None


def several(name: str, values: Any, most: int, number: Optional[int] = None) -> List[Any]:
    """The values of a sequence, or the first `most` + 1 of them, because a generator may have no end. `number` is how many
    there must be."""
    try:
        each = iter(values)
    except TypeError:
        raise TypeError(f"{name} is a {type(values).__name__}, not a sequence of numbers") from None
    found = list(itertools.islice(each, most + 1))
    if number not in (None, len(found)):
        many = len(found) if len(found) <= most else f"more than {most}"
        raise ValueError(f"{name} has {many} values, not {number}")
    return found


def check(status: int, diag: Diag) -> int:
    """Returns a result that is not negative. Raises Error for a failure."""
    if status < 0:
        raise Error(diag.text.decode(errors="replace"), STATUS.get(status, str(status)))
    return status
