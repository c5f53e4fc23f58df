"""Compressors written in Python: in the library (method), and in the tables of the command (compare)."""
import ctypes
import os
import socket
import struct
import subprocess
import tempfile
import threading
from ctypes import CFUNCTYPE, POINTER, byref, c_char_p, c_float, c_int, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from ._arrays import View, new, tensor
from ._library import Diag, _Sized, check, find_command, lib, text
from ._tables import read

_REQUEST, _ANSWER = struct.Struct("=6Q"), struct.Struct("=3Q")  # src/gcbench-plugin.h
_ENCODE, _MORE, _IO = 1, 4096, -5
Encode, Decode = Callable[[Any], Any], Callable[[bytes, int], Any]


def _floats(address: int, n: int) -> Any:
    """An array of its own with n floats from an address."""
    x = new(n)
    with View(x, True) as to:
        ctypes.memmove(to.address, address, 4 * n)
    return x


def _encoded(encode: Encode, address: int, n: int) -> bytes:
    with View(encode(_floats(address, n))) as message:
        return message.frozen()


def _decoded(decode: Decode, message: bytes, n: int) -> bytes:
    with tensor(decode(message, n), n) as x:
        return x.frozen()


def _why(error: BaseException) -> bytes:
    return f"{type(error).__name__}: {error}".encode(errors="replace").replace(b"\n", b" ")[:400]


# ---- the library ----

class _At(ctypes.Structure):
    _fields_ = [("seed", c_uint64), ("step", c_uint64), ("worker", c_uint32)]


_DIAG = POINTER(Diag)
_BOUND = CFUNCTYPE(c_int, c_void_p, c_uint64, POINTER(c_size_t), _DIAG)
_ENCODER = CFUNCTYPE(c_int, c_void_p, POINTER(_At), c_void_p, c_uint64, c_void_p, c_size_t, POINTER(c_size_t), _DIAG)
_DECODER = CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t, c_void_p, c_uint64, _DIAG)


class _OwnMethod(_Sized):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("params", c_char_p), ("ctx", c_void_p), ("bound", _BOUND),
                ("encode", _ENCODER), ("decode", _DECODER)]


_kept: List[_OwnMethod] = []  # the library calls them until the process ends


def _guarded(diag: Any, function: Callable[[], None]) -> int:
    """Calls a function for the library, which no exception may pass."""
    try:
        function()
        return 0
    except BaseException as error:
        if diag:
            diag.contents.text = _why(error)
        return _IO


def method(own: Any) -> str:
    """Makes a class with the functions encode(x), which returns bytes, and decode(message, n), which returns n float32, a
    method of this process. Returns its spec, such as "python/Halves", for Encoder, Exchange and gcbench.torch. All
    processes of a training define the same methods in the same order. bound(n), if there is one, returns the most bytes of
    a message of n values; otherwise it is 4 n + 4096."""
    spec = f"python/{own.__name__}"
    most = getattr(own, "bound", lambda n: 4 * n + _MORE)

    def bound(_: Any, n: int, out: Any, diag: Any) -> int:
        return _guarded(diag, lambda: out.__setitem__(0, most(n)))

    def encode(_: Any, at: Any, x: int, n: int, out: int, room: int, length: Any, diag: Any) -> int:
        def run() -> None:
            message = _encoded(own.encode, x, n)
            if len(message) > room:
                raise ValueError(f"the message has {len(message)} bytes; its bound is {room}")
            ctypes.memmove(out, message, len(message))
            length[0] = len(message)
        return _guarded(diag, run)

    def decode(_: Any, message: int, length: int, x: int, n: int, diag: Any) -> int:
        return _guarded(diag, lambda: ctypes.memmove(
            x, _decoded(own.decode, ctypes.string_at(message, length), n), 4 * n))

    made, diag = _OwnMethod(name=text("name", spec), bound=_BOUND(bound), encode=_ENCODER(encode), decode=_DECODER(decode)), Diag()
    check(lib.gcb_method_add(byref(made), byref(diag)), diag)
    _kept.append(made)
    return spec


# ---- the command ----

def _serve(connection: socket.socket, encode: Encode, decode: Decode) -> None:
    """Answers the requests of the command until it ends."""
    with connection, connection.makefile("rb") as requests:
        while len(head := requests.read(_REQUEST.size)) == _REQUEST.size:
            verb, n, length, *_ = _REQUEST.unpack(head)
            data, status = requests.read(length), 0
            try:
                if verb == _ENCODE:
                    held = (c_float * n).from_buffer_copy(data)
                    answer = _encoded(encode, ctypes.addressof(held), n)
                else:
                    answer = _decoded(decode, data, n)
            except BaseException as error:
                status, answer = 1, _why(error)
            try:
                connection.sendall(_ANSWER.pack(status, 0, len(answer)) + answer)
            except OSError:
                return  # the command has ended, or has waited too long


def compare(own: Mapping[str, Tuple[Encode, Decode]], *files: Union[str, "os.PathLike[str]"],
            methods: Sequence[str] = (), options: Sequence[str] = (), results: Optional[str] = None,
            command: Optional[str] = None) -> List[Dict[str, Any]]:
    """Measures compressors of this process on dumps, as `gcbench bench` does, and returns the rows (docs/rows.md).

    own      {"mine": (encode, decode)}: encode(x) returns bytes, decode(message, n) returns n float32
    methods  specs of other methods to measure, such as "topk:theta=0.99"
    options  more options of `gcbench bench`: ("--scope", "model")
    results  a new file for the rows, which every command reads

    The times include the way to this process. A failure is a row whose `status` is "failed".
    """
    pairs = [(name, *functions, *socket.socketpair()) for name, functions in own.items()]
    with tempfile.TemporaryDirectory() as folder:
        path = results or os.path.join(folder, "rows.json")
        words = [command or find_command(), "bench", "--quiet", *options, "--results", path]
        for name, _, _, theirs, _ in pairs:
            words += ["--method", f"exec:{name}=&{theirs.fileno()}"]
        for spec in methods:
            words += ["--method", spec]
        process = subprocess.Popen([*words, *map(os.fspath, files)], pass_fds=[one[3].fileno() for one in pairs],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for _, encode, decode, theirs, ours in pairs:
            theirs.close()
            threading.Thread(target=_serve, args=(ours, encode, decode), daemon=True).start()
        said = process.communicate()[1].decode(errors="replace").strip()
        if process.returncode not in (0, 1, 5) or not os.path.exists(path):
            raise RuntimeError(said or f"gcbench ended with {process.returncode}")
        return read(path)
