"""Addresses of arrays that belong to others: anything with the buffer protocol, or DLPack on the CPU."""
import array
import ctypes
import math
from ctypes import POINTER, byref, c_char_p, c_int, c_int32, c_int64, c_ssize_t, c_uint8, c_uint16, c_uint64, c_void_p
from typing import Any, Optional

try:
    import numpy
except ImportError:  # the package needs only the standard library
    numpy = None  # type: ignore[assignment]


class _Buffer(ctypes.Structure):  # Py_buffer
    _fields_ = [("buf", c_void_p), ("obj", c_void_p), ("len", c_ssize_t), ("itemsize", c_ssize_t), ("readonly", c_int),
                ("ndim", c_int), ("format", c_char_p), ("shape", c_void_p), ("strides", c_void_p),
                ("suboffsets", c_void_p), ("internal", c_void_p)]


class _Tensor(ctypes.Structure):  # DLTensor
    _fields_ = [("data", c_void_p), ("device", c_int32), ("device_id", c_int32), ("ndim", c_int32), ("code", c_uint8),
                ("bits", c_uint8), ("lanes", c_uint16), ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)),
                ("offset", c_uint64)]


_get = ctypes.pythonapi.PyObject_GetBuffer
_get.argtypes = [ctypes.py_object, POINTER(_Buffer), c_int]
_release = ctypes.pythonapi.PyBuffer_Release
_release.argtypes, _release.restype = [POINTER(_Buffer)], None
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.argtypes, _pointer.restype = [ctypes.py_object, c_char_p], POINTER(_Tensor)
bytes_at = ctypes.pythonapi.PyBytes_FromStringAndSize  # ctypes.string_at() takes at most 2 GiB
bytearray_at = ctypes.pythonapi.PyByteArray_FromStringAndSize
for _make in (bytes_at, bytearray_at):
    _make.argtypes, _make.restype = [c_void_p, c_ssize_t], ctypes.py_object
_CONTIGUOUS, _WRITABLE = 0x3C, 1  # PyBUF_C_CONTIGUOUS | PyBUF_FORMAT, PyBUF_WRITABLE
_FORMATS = {"f": "f32", "e": "f16", "d": "f64", "H": "u16", "h": "i16", "B": "u8", "b": "i8", "c": "u8"}
# Numbers: any bytes may be written over them, but not over the addresses in an array of objects.
_PLAIN = {order + kind for order in ("", ">", "!") for kind in "cbBhHiIlLqQnNefdg"}
_NAMES = {"f32": "float32", "f16": "float16", "bf16": "bfloat16"}
_CODES = {0: "i", 1: "u", 2: "f", 4: "bf"}
_none = c_uint64()
_NOWHERE = ctypes.addressof(_none)  # of an array without elements: the library takes no NULL
_HOST = (1, 3, 13)  # kDLCPU, kDLCUDAHost, kDLCUDAManaged


class View:
    """The memory of `x` until release(): its address, its bytes and the type of its elements ("f32", "u8", ...)."""
    __slots__ = ("address", "bytes", "type", "readonly", "_held", "_frozen", "_storage", "_place")

    def __init__(self, x: Any, writable: bool = False) -> None:
        self._held: Any = None
        self._frozen: Optional[bytes] = x if type(x) is bytes else None
        self._storage: Any = None
        held = _Buffer()
        try:
            _get(x, byref(held), _CONTIGUOUS | writable * _WRITABLE)
        except TypeError:
            if not hasattr(x, "__dlpack__"):
                raise TypeError(f"a {type(x).__name__} is not an array: give a NumPy array, a CPU tensor, bytes, or "
                                "another object with the buffer protocol") from None
            held = None
        if held is None:
            self._take_tensor(x)
            return
        self._held = held
        text = (held.format or b"B").decode(errors="replace").lstrip("@=<")
        if writable and text not in _PLAIN:
            raise TypeError(f"the elements are {text}, not numbers: give an array of bytes")
        self.address, self.bytes, self.type = held.buf or _NOWHERE, held.len, _FORMATS.get(text, text)
        self.readonly = bool(held.readonly)

    def _take_tensor(self, x: Any) -> None:
        if getattr(x, "is_neg", bool)():  # DLPack cannot say so
            raise BufferError("the tensor's values are negated when they are read: call .resolve_neg()")
        capsule = x.__dlpack__()
        t = _pointer(capsule, b"dltensor").contents
        if t.device not in _HOST:
            raise BufferError("the tensor is not in host memory: copy it with .cpu()")
        shape = t.shape[:t.ndim]
        if min(shape, default=0) < 0:
            raise BufferError("the tensor has a negative extent")
        if not t.data and math.prod(shape):
            raise BufferError("the tensor has no memory")
        if t.strides and math.prod(shape):
            step = 1
            for extent, stride in zip(reversed(shape), reversed(t.strides[:t.ndim])):
                if extent != 1 and stride != step:
                    raise BufferError("the tensor is not contiguous: call .contiguous()")
                step *= extent
        self._held, self.readonly = capsule, False
        storage = getattr(x, "untyped_storage", getattr(x, "_storage", None))  # of torch 2, and of torch 1
        if callable(storage):
            self._storage = storage()  # also because torch 2's capsule does not keep it if x.data = y
            self._place = self._storage.data_ptr(), self._storage.nbytes()
        self.address = t.data + t.offset if t.data else _NOWHERE
        self.bytes = math.prod(shape) * t.bits * t.lanes // 8
        self.type = f"{_CODES.get(t.code, 'type ')}{t.bits}"

    def frozen(self) -> bytes:
        """The bytes, so that no other thread can change them after the library has checked them."""
        return self._frozen if self._frozen is not None else bytes_at(self.address, self.bytes)

    def check(self) -> None:
        """For a view that outlives a call. Python refuses to resize an array that is in use, but torch does not."""
        if self._storage is not None and self._place != (self._storage.data_ptr(), self._storage.nbytes()):
            raise BufferError("the tensor was resized while it was in use")

    def release(self) -> None:
        if isinstance(self._held, _Buffer):
            _release(byref(self._held))
        self._held = self._storage = None

    def __enter__(self) -> "View":
        return self

    def __exit__(self, *_: Any) -> None:
        self.release()

    __del__ = release


def tensor(x: Any, count: int, type_: str = "f32", writable: bool = False) -> View:
    """A view of `count` elements. Raises TypeError or ValueError for another type or number."""
    view = View(x, writable)
    good = (type_, "u16") if type_ == "bf16" else (type_,)  # the buffer protocol has no bfloat16
    if view.type not in good:
        raise TypeError(f"the elements are {view.type}, not {type_}: convert the tensor to {_NAMES[type_]}")
    size = 2 if type_ in ("f16", "bf16") else 4
    if view.bytes != size * count:
        raise ValueError(f"the tensor has {view.bytes // size} elements, not {count}")
    if view.address % size and count:
        raise ValueError(f"the tensor's address is not a multiple of {size}: copy it")
    return view


def apart(read: View, written: View) -> None:
    """Refuses a call that would overwrite what it still reads."""
    for view in (read, written):
        view.check()  # the memory of a resized tensor may belong to the other by now
    if read.address < written.address + written.bytes and written.address < read.address + read.bytes:
        raise ValueError("the input and the output share memory")


def new(count: int, out: Optional[Any] = None) -> Any:
    """`out`, or a new array of floats: of NumPy if it is installed."""
    if out is not None:
        return out
    return numpy.empty(count, numpy.float32) if numpy else array.array("f", bytes(4 * count))
