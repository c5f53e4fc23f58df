"""Exchanges of several workers through libgcbench, for tests that compare a method with NumPy.

    party = Party(library, "powersgd:rank=4", (64, 48), workers=4)
    updates, sent = party.step(0, [x0, x1, x2, x3])     # updates: of each worker; sent: a list of Sent, one a round
"""
import ctypes
from collections import namedtuple
from ctypes import POINTER, byref, c_char_p, c_float, c_int, c_size_t, c_uint32, c_uint64, c_void_p

import numpy as np

GATHER, SCATTER, REDUCE = range(3)
SUM_F32, SUM_F16, SUM_BF16, SUM_I8, SUM_I16, MAX_F32 = range(6)

# What a round moved: its kind, the reduction (of REDUCE), and the bytes of each worker.
Sent = namedtuple("Sent", "kind reduction data")


class Diag(ctypes.Structure):
    _fields_ = [("status", c_int), ("text", ctypes.c_char * 480)]


class Options(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("threads", c_int), ("rank", ctypes.c_uint), ("shape", POINTER(c_uint64)),
                ("seed", c_uint64), ("path", c_char_p), ("nonfinite", c_int), ("input", c_int), ("source", c_int),
                ("workers", ctypes.c_uint), ("checksum", c_int), ("max_elements", c_uint64), ("worker", c_uint32),
                ("weights", POINTER(c_float))]


class Round(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("kind", c_int), ("reduction", c_int), ("data", c_void_p), ("bytes", c_size_t),
                ("parts", POINTER(c_size_t))]


def load(path):
    lib = ctypes.CDLL(path)
    diag = POINTER(Diag)
    lib.gcb_exchange_open.argtypes = [POINTER(c_void_p), c_char_p, c_uint64, POINTER(Options), diag]
    lib.gcb_exchange_close.argtypes, lib.gcb_exchange_close.restype = [c_void_p], None
    lib.gcb_exchange_begin.argtypes = [c_void_p, c_uint64, c_void_p, diag]
    lib.gcb_exchange_next.argtypes = [c_void_p, POINTER(Round), diag]
    lib.gcb_exchange_receive.argtypes = [c_void_p, c_uint32, c_char_p, c_size_t, diag]
    lib.gcb_exchange_finish.argtypes = [c_void_p, c_void_p, diag]
    lib.gcb_reduction_combine.argtypes = [c_int, c_void_p, c_char_p, c_size_t]
    lib.gcb_reduction_combine.restype = None
    return lib


class Party:
    def __init__(self, library, spec, shape, workers, weights=None, seed=1, path="tensor"):
        self.lib, self.diag, self.shape = load(library), Diag(), tuple(shape)
        self.members = [c_void_p() for _ in range(workers)]
        self.n = int(np.prod(shape))
        dims = (c_uint64 * len(shape))(*shape)
        factors = (c_float * workers)(*weights) if weights else None
        for w, member in enumerate(self.members):
            options = Options(size=ctypes.sizeof(Options), rank=len(shape), shape=dims, seed=seed, path=path.encode(),
                              workers=workers, worker=w, weights=factors)
            self.check(self.lib.gcb_exchange_open(byref(member), spec.encode(), self.n, byref(options),
                                                  byref(self.diag)))

    def check(self, status):
        if status < 0:
            raise RuntimeError(self.diag.text.decode())
        return status

    def rounds(self):
        """What all workers send in the next round, or None."""
        sent = None
        for member in self.members:
            r = Round(size=ctypes.sizeof(Round))
            if not self.check(self.lib.gcb_exchange_next(member, byref(r), byref(self.diag))):
                continue
            data = ctypes.string_at(r.data, r.bytes) if r.bytes else b""
            if r.kind == SCATTER:
                ends = np.cumsum([0] + [r.parts[i] for i in range(len(self.members))])
                data = [data[a:b] for a, b in zip(ends, ends[1:])]
            sent = sent or Sent(r.kind, r.reduction, [])
            sent.data.append(data)
        return sent

    def receive(self, to, sender, data):
        self.check(self.lib.gcb_exchange_receive(self.members[to], sender, data, len(data), byref(self.diag)))

    def deliver(self, sent):
        everyone = range(len(self.members))
        if sent.kind == REDUCE:
            total = ctypes.create_string_buffer(sent.data[0], len(sent.data[0]))
            for one in sent.data[1:]:
                self.lib.gcb_reduction_combine(sent.reduction, total, one, len(one))
            for w in everyone:
                self.receive(w, 0, total.raw)
        else:
            for sender in everyone:
                for w in everyone:
                    self.receive(w, sender, sent.data[sender][w] if sent.kind == SCATTER else sent.data[sender])

    def step(self, step, tensors):
        arrays = [np.ascontiguousarray(x, np.float32) for x in tensors]
        for member, x in zip(self.members, arrays):
            self.check(self.lib.gcb_exchange_begin(member, step, x.ctypes.data, byref(self.diag)))
        log = []
        while True:
            sent = self.rounds()
            if sent is None:
                break
            log.append(sent)
            self.deliver(sent)
        updates = [np.empty(self.shape, np.float32) for _ in self.members]
        for member, update in zip(self.members, updates):
            self.check(self.lib.gcb_exchange_finish(member, update.ctypes.data, byref(self.diag)))
        return updates, log

    def close(self):
        for member in self.members:
            self.lib.gcb_exchange_close(member)
        self.members = []
