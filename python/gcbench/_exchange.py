"""One worker's part in an exchange of tensors."""
from ctypes import byref
from typing import Any, List, NamedTuple, Optional, Sequence

from ._arrays import View, apart, bytearray_at, new, tensor
from ._library import MAX_F32, REDUCE, SCATTER, Round, count, lib, text
from ._objects import Remembering, options


class Sending(NamedTuple):
    """What a worker sends in a round."""
    kind: int  # GATHER, SCATTER, REDUCE or SHIFT
    reduction: int  # of REDUCE: SUM_F32, ...
    data: memoryview  # this worker's bytes: a copy
    parts: Optional[List[int]]  # of SCATTER: bytes for each worker, one after the other in `data`
    to: int  # of SHIFT: the worker that gets `data`, and the worker whose bytes arrive; this worker itself: none
    sender: int


class Exchange(Remembering):
    """Worker `worker` of `workers` that exchange tensors of n elements: all get the same weighted sum.

        exchange.begin(step, x)
        while (sending := exchange.next()):
            ...move sending.data; for each array that arrives: exchange.receive(worker, data)
        update = exchange.finish()

    GATHER: every worker gets the bytes of all workers, its own too. SCATTER: the same, but each gets the part that is
    meant for it. REDUCE: receive(0, values) once, with all workers' values combined (combine()). SHIFT: the bytes go to
    sending.to, and receive(sending.sender, data) once, with b"" if that is this worker. The method's "collective" decides
    which rounds there are. The other arguments are those of Encoder; weights: a factor for each
    worker, default: 1 / workers.
    """
    _kind = "exchange"

    def __init__(self, spec: str, n: int, *, worker: int, workers: int, weights: Optional[Sequence[float]] = None,
                 threads: int = 0, shape: Optional[Sequence[int]] = None, seed: int = 0, path: str = "",
                 nonfinite: str = "error", source: Optional[str] = None, checksum: bool = False) -> None:
        super().__init__()
        method, self._n, self._workers = text("spec", spec), count("n", n), count("workers", workers, 32) or 1
        self.spec = method.decode()
        self.round = Round()  # what advance() filled
        self.sums_in_place = False  # whether sum_into() of this step was True
        self._x: Optional[View] = None  # during a step
        self._into: Any = None  # the array of sum_into(), and its view
        self._round_at = byref(self.round)
        self._open("open", method, self._n, options(threads, shape, seed, path, nonfinite, "f32", source, self._workers,
                                                    checksum, worker=worker, weights=weights))

    @property
    def workers(self) -> int:
        """Workers in the exchange."""
        return self._workers

    def _check(self) -> None:
        """The library may read and write what this step was given."""
        if self._x:
            self._x.check()
        if self._into:
            self._into[1].check()

    def begin(self, step: int, x: Any) -> None:
        """Begins a step with this worker's tensor, which must stay unchanged until finish()."""
        step = count("step", step)
        with self._lock:
            view = tensor(x, self._n)
            self.begin_at(step, view.address)
            self._x = view

    def begin_at(self, step: int, address: int) -> None:
        """begin() of n floats at an address, which must stay there."""
        self._call(lib.gcb_exchange_begin, count("step", step), address)
        self._x = self._into = None  # only now: until the library has another tensor, it may read the one before
        self.sums_in_place = False

    def sum_into(self, out: Any) -> bool:
        """Names the array that finish() will write, before anything is received: messages are then added there when they
        arrive. It may be that of begin(), and may be set to zero at once. False if the collective needs the tensor until
        the end (all but "allgather"); then the two must not share memory."""
        with self._lock:
            view = tensor(out, self._n, writable=True)
            self._check()
            self.sum_into_at(view.address)
            self._into = (out, view) if self.sums_in_place else None
            return self.sums_in_place

    def sum_into_at(self, address: int) -> None:
        """sum_into() of n floats at an address."""
        self.sums_in_place = bool(self._call(lib.gcb_exchange_sum_into, address))

    def next(self) -> Optional[Sending]:
        """What to send next; None if no round is left."""
        with self._lock:
            self._check()
            if not self.advance():
                return None
            r = self.round
            data = memoryview(bytearray_at(r.data, r.bytes))
            return Sending(r.kind, r.reduction, data, r.parts[:self._workers] if r.kind == SCATTER else None,
                           r.to, r.sender)

    def advance(self) -> bool:
        """next() without objects, for Transport.run: `round` has what to send. False if no round is left."""
        return bool(self._call(lib.gcb_exchange_next, self._round_at))

    def receive(self, worker: int, data: Any) -> None:
        """Hands over what arrived from a worker; in REDUCE the combined values, with worker 0."""
        worker = count("worker", worker, 32)
        with self._lock, View(data) as d:
            at: Any = d.address
            if self.round.kind != REDUCE:
                at = d.frozen()
            elif at % lib.gcb_reduction_size(self.round.reduction):
                raise ValueError("the values are not aligned: copy them")
            self._check()
            self.receive_at(worker, at, d.bytes)

    def receive_at(self, worker: int, address: Any, length: int) -> None:
        """receive() of bytes at an address."""
        self._call(lib.gcb_exchange_receive, count("worker", worker, 32), address, count("length", length))

    def finish(self, out: Optional[Any] = None) -> Any:
        """Ends the step: writes the weighted sum to `out`, else to the array of sum_into(), else to a new one, and returns
        it."""
        with self._lock:
            if out is None and self._into:
                out, to = self._into
            else:
                out = new(self._n, out)
                to = tensor(out, self._n, writable=True)
                if not self._into:
                    if self._x:
                        apart(self._x, to)
                elif to.address != self._into[1].address:
                    apart(self._into[1], to)
            self._check()
            self.finish_at(to.address)
            return out

    def finish_at(self, address: int) -> None:
        """finish() with n floats at an address."""
        self._call(lib.gcb_exchange_finish, address)
        self._x = self._into = None


def combine(reduction: int, into: Any, values: Any) -> None:
    """into[i] = into[i] combined with values[i], for a caller that has no all-reduce of its own."""
    reduction = count("reduction", reduction, 31)
    if reduction > MAX_F32:
        raise ValueError(f"there is no reduction {reduction}")
    size = lib.gcb_reduction_size(reduction)
    with View(into, True) as a, View(values) as b:
        if a.bytes != b.bytes or a.bytes % size:
            raise ValueError(f"cannot combine {a.bytes} bytes with {b.bytes} bytes")
        if (a.address | b.address) % size:
            raise ValueError("the values are not aligned: copy them")
        lib.gcb_reduction_combine(reduction, a.address, b.address, a.bytes)
