"""Encoders, decoders and sums of the C library."""
import ctypes
import threading
from ctypes import byref, c_size_t, c_uint64, c_void_p
from typing import Any, Dict, NamedTuple, Optional, Sequence

from ._arrays import View, apart, new, tensor
from ._library import (DTYPES, NONFINITE, Diag, MemoryState, MessageInfo, Options, check, choice, count, lib, real, several,
                       text)

_DIMENSIONS, _WORKERS, _COUNTERS = 32, 1 << 20, 8  # most in a shape, most in an exchange, number in a state


def options(threads: int = 0, shape: Optional[Sequence[int]] = None, seed: int = 0, path: str = "",
            nonfinite: str = "error", input: str = "f32", source: Optional[str] = None, workers: int = 0,
            checksum: bool = False, max_elements: int = 0, worker: int = 0,
            weights: Optional[Sequence[float]] = None) -> Options:
    numbers = {name: count(name, value, bits) for name, value, bits in (
        ("threads", threads, 31), ("seed", seed, 64), ("workers", workers, 32), ("worker", worker, 32),
        ("max_elements", max_elements, 64))}
    made = Options(path=text("path", path), nonfinite=NONFINITE[choice("nonfinite", nonfinite, NONFINITE)],
                   input=DTYPES[choice("input", input, DTYPES)], source=DTYPES[choice("source", source or input, DTYPES)],
                   checksum=bool(checksum), **numbers)
    if isinstance(shape, (tuple, list)) and any(isinstance(part, (tuple, list)) for part in shape):
        numbers = [count("shape", number) for part in shape for number in (len(part), *part)]
        made.joined, made.joined_length = (c_uint64 * len(numbers))(*numbers), len(numbers)
    elif shape is not None:
        extents = [count("shape", extent) for extent in several("shape", shape, _DIMENSIONS)]
        made.rank, made.shape = len(extents), (c_uint64 * len(extents))(*extents)
    if weights is not None:
        many = made.workers or 1
        factors = [real("weight", weight) for weight in several("weights", weights, min(many, _WORKERS), many)]
        made.weights = (ctypes.c_float * many)(*factors)
    return made


class Handle:
    """An object of the library. A lock lets only one thread at a time use it; other objects work in parallel, because
    the library runs without Python's global lock."""
    _kind = ""
    _n = 0

    def __init__(self) -> None:
        self._handle, self._diag, self._lock = c_void_p(), Diag(), threading.RLock()
        self._diag_at = byref(self._diag)

    def _open(self, function: str, *arguments: Any) -> None:
        check(getattr(lib, f"gcb_{self._kind}_{function}")(byref(self._handle), *arguments, self._diag_at), self._diag)

    def _call(self, function: Any, *arguments: Any) -> int:
        with self._lock:
            if not self._handle:
                raise ValueError(f"this {self._kind} is closed")
            return check(function(self._handle, *arguments, self._diag_at), self._diag)

    def _ask(self, function: Any) -> int:
        with self._lock:
            if not self._handle:
                raise ValueError(f"this {self._kind} is closed")
            return int(function(self._handle))

    @property
    def n(self) -> int:
        """Elements of a tensor."""
        return self._n

    def close(self) -> None:
        """Frees the object. It is also freed when nothing refers to it any more."""
        with self._lock:
            getattr(lib, f"gcb_{self._kind}_close")(self._handle)
            self._handle = c_void_p()

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"this {type(self).__name__} cannot be copied or pickled: open another one")

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self.close()


class Remembering(Handle):
    """What encoders and exchanges share: parameters that change between steps, and a memory."""

    def set(self, key: str, value: Any) -> None:
        """Changes a parameter of the method between two steps: set("theta", 0.99). The memory stays."""
        self._call(getattr(lib, f"gcb_{self._kind}_set"), text("key", key), text("value", str(value)))

    def set_norm(self, norm: float) -> None:
        """Gives the L2 norm of all tensors of this worker for the next step; "clip-norm" then limits this norm."""
        self._call(getattr(lib, f"gcb_{self._kind}_set_norm"), real("norm", norm))

    def save(self) -> Dict[str, Any]:
        """What is kept from step to step, for a checkpoint: the arrays `residual` and `momentum`, `counters`, and
        the bytes `kept`, which only the same version of the library can read."""
        residual, momentum = new(self._n), new(self._n)
        with self._lock:  # another thread may change how much is kept
            kept = bytearray(self._ask(getattr(lib, f"gcb_{self._kind}_kept_bytes")))
            with View(residual, True) as r, View(momentum, True) as m, View(kept, True) as k:
                state = MemoryState(residual=r.address, momentum=m.address, kept=k.address if k.bytes else None,
                                    kept_bytes=k.bytes)
                self._call(getattr(lib, f"gcb_{self._kind}_save"), byref(state))
        return {"residual": residual, "momentum": momentum, "counters": list(state.counters), "kept": bytes(kept)}

    def restore(self, state: Dict[str, Any]) -> None:
        """Puts back what save() gave, into an object of the same method, count and options. With an empty `kept`, what the
        method keeps besides the arrays begins anew."""
        try:
            residual, momentum, kept, numbers = (state[key] for key in ("residual", "momentum", "kept", "counters"))
        except KeyError as missing:
            raise ValueError(f"the state has no {missing}: give what save() returned") from None
        except (TypeError, IndexError):
            raise TypeError(f"the state is a {type(state).__name__}, not a dictionary: give what save() returned") from None
        counters = [count("counter", number) for number in several("counters", numbers, _COUNTERS, _COUNTERS)]
        with tensor(residual, self._n) as r, tensor(momentum, self._n) as m, View(kept) as given, View(given.frozen()) as k:
            view = MemoryState(residual=r.address, momentum=m.address, counters=(c_uint64 * _COUNTERS)(*counters),
                               kept=k.address if k.bytes else None, kept_bytes=k.bytes)
            self._call(getattr(lib, f"gcb_{self._kind}_restore"), byref(view))


class Encoder(Remembering):
    """Encodes tensors of n elements by a method, such as "fft:theta=0.9".

    threads     threads that work on one tensor
    shape       the tensor's dimensions, for methods on matrices; a list of tuples: those of several joined tensors
    seed, path  key of random draws; path is the tensor's name
    nonfinite   a tensor with an infinity or NaN: "error", "raw" (is sent as it is) or "trusted" (is not looked for)
    input       type of the elements: "f32", "f16" or "bf16"
    source      the type that is recorded in the message; default: input
    workers     workers that send a gradient in each step
    checksum    append a checksum, which decoders check

    A method with a memory ("topk:memory=ef") keeps what was not sent: each tensor of each worker needs its own encoder.
    """
    _kind = "encoder"

    def __init__(self, spec: str, n: int, *, threads: int = 0, shape: Optional[Sequence[int]] = None, seed: int = 0,
                 path: str = "", nonfinite: str = "error", input: str = "f32", source: Optional[str] = None,
                 workers: int = 0, checksum: bool = False) -> None:
        super().__init__()
        method, self._n, self._input = text("spec", spec), count("n", n), choice("input", input, DTYPES)
        self.spec = method.decode()
        self._length = c_size_t()
        self._length_at = byref(self._length)
        self._open("open", method, self._n, options(threads, shape, seed, path, nonfinite, self._input, source, workers,
                                                    checksum))
        self._resize()

    def _resize(self) -> None:
        self.bound = self._ask(lib.gcb_encoder_bound)
        self._own: Any = None

    @property
    def length(self) -> int:
        """Bytes of a message if all have the same length, else 0."""
        return self._ask(lib.gcb_encoder_length)

    def set(self, key: str, value: Any) -> None:
        with self._lock:  # no other thread encodes with the room of before
            super().set(key, value)
            self._resize()

    set.__doc__ = Remembering.set.__doc__

    def encode(self, x: Any, step: int = 0, worker: int = 0) -> bytes:
        """The message of x. It is empty in a step that sends nothing ("delay")."""
        step, worker = count("step", step), count("worker", worker, 32)
        with self._lock, tensor(x, self._n, self._input) as data:
            own = self._own
            if own is None:
                own = self._own = ctypes.create_string_buffer(self.bound)
            self._encode(step, worker, data, own, len(own))
            return own[:self._length.value]

    def encode_into(self, x: Any, out: Any, step: int = 0, worker: int = 0) -> int:
        """Writes the message of x to `out`, which should have room for `bound` bytes, and returns its length."""
        step, worker = count("step", step), count("worker", worker, 32)
        with self._lock, tensor(x, self._n, self._input) as data, View(out, True) as to:
            apart(data, to)
            self._encode(step, worker, data, to.address, to.bytes)
            return self._length.value

    def _encode(self, step: int, worker: int, x: View, to: Any, room: int) -> None:
        self._call(lib.gcb_encode, step, worker, x.address, to, room, self._length_at)


class Decoder(Handle):
    """Decodes the messages of an encoder with this method and n elements. Decoder.like(message) takes both from a
    message."""
    _kind = "decoder"

    def __init__(self, spec: str, n: int, *, threads: int = 0, shape: Optional[Sequence[int]] = None) -> None:
        super().__init__()
        self._n = count("n", n)
        self._open("open", text("spec", spec), self._n, options(threads, shape))

    @classmethod
    def like(cls, message: Any, *, threads: int = 0, max_elements: int = 0) -> "Decoder":
        """A decoder for messages like this one. A message with more than max_elements elements is refused."""
        self = cls.__new__(cls)
        Handle.__init__(self)
        chosen = options(threads, max_elements=max_elements)
        with View(message) as m:
            data = m.frozen()
        self._open("open_like", data, len(data), chosen)
        self._n = self._ask(lib.gcb_decoder_elements)
        return self

    def decode(self, message: Any, out: Optional[Any] = None) -> Any:
        """Decodes a message into `out` (n floats), or into a new array, and returns it."""
        out = new(self._n, out)
        with View(message) as m, tensor(out, self._n, writable=True) as to:
            apart(m, to)
            data = m.frozen()
            self._call(lib.gcb_decode, data, len(data), to.address)
        return out


class Sum(Handle):
    """The weighted sum of messages. A sparse message costs time only for the elements that it keeps.

    into    n floats, which the sum uses as its accumulator and may write until it is closed; default: its own
    """
    _kind = "sum"

    def __init__(self, spec: str, n: int, *, into: Optional[Any] = None, threads: int = 0) -> None:
        super().__init__()
        method, chosen = text("spec", spec), options(threads)
        self._take(count("n", n), into)
        self._open("open", method, self._n, self._view and self._view.address, chosen)

    def _take(self, n: int, into: Optional[Any]) -> None:
        self._n, self.into = n, into
        self._view = tensor(into, n, writable=True) if into is not None else None

    @classmethod
    def like(cls, message: Any, *, into: Optional[Any] = None, threads: int = 0, max_elements: int = 0) -> "Sum":
        """A sum for messages like this one, which is not added."""
        self = cls.__new__(cls)
        Handle.__init__(self)
        chosen = options(threads, max_elements=max_elements)
        with View(message) as m:
            data = m.frozen()
        self._take(describe(data).elements, into)
        self._open("open_like", data, len(data), self._view and self._view.address, chosen)
        return self

    def _check(self) -> None:
        if self._view:
            self._view.check()

    def add(self, message: Any, weight: float = 1.0) -> None:
        """Adds `weight` times the tensor of a message. After a failure the sum is as before."""
        weight = real("weight", weight)
        with View(message) as m:
            if self._view:
                apart(m, self._view)
            data = m.frozen()
        self._check()
        self._call(lib.gcb_sum_add, data, len(data), weight)

    def finish(self, out: Optional[Any] = None) -> Any:
        """Writes the sum to `out`, else to `into`, else to a new array, and returns it. A new sum begins at zero."""
        if out is None and self.into is not None:
            self._check()
            self._call(lib.gcb_sum_finish, None)
            return self.into
        out = new(self._n, out)
        with tensor(out, self._n, writable=True) as to:
            if self._view and to.address != self._view.address:
                apart(self._view, to)
            self._check()
            self._call(lib.gcb_sum_finish, to.address)
        return out


class Message(NamedTuple):
    """What the header of a message says."""
    elements: int
    payload_bytes: int
    header_bytes: int
    source: str  # the tensor's type
    stored: bool  # the payload is the raw tensor
    has_checksum: bool
    codec: int  # wire id: docs/format.md


def describe(message: Any) -> Message:
    """Reads the header of a message."""
    info, diag = MessageInfo(), Diag()
    with View(message) as m:
        data = m.frozen()
    check(lib.gcb_message_info(byref(info), data, len(data), byref(diag)), diag)
    return Message(info.elements, info.payload_bytes, info.header_bytes, list(DTYPES)[info.source], bool(info.stored),
                   bool(info.has_checksum), info.codec)
