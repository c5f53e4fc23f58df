#!/usr/bin/python3
"""Four workers exchange gradients for ten steps, through the library, with nothing but the standard library.

    python3 exchange.py METHOD N [libgcbench.so.0] <gradients >updates

Reads 10 x 4 x N floats (step, worker, element) and writes 10 x N: the average that each worker applies to its weights.
"""

import ctypes
import sys
from ctypes import POINTER, byref, c_char_p, c_float, c_int, c_size_t, c_uint32, c_uint64, c_void_p

STEPS, WORKERS = 10, 4


class Diag(ctypes.Structure):
    _fields_ = [("status", c_int), ("text", ctypes.c_char * 480)]


def load(path):
    lib = ctypes.CDLL(path)
    lib.gcb_encoder_open.argtypes = [POINTER(c_void_p), c_char_p, c_uint64, c_void_p, POINTER(Diag)]
    lib.gcb_encoder_bound.argtypes, lib.gcb_encoder_bound.restype = [c_void_p], c_size_t
    lib.gcb_encode.argtypes = [c_void_p, c_uint64, c_uint32, c_void_p, c_void_p, c_size_t, POINTER(c_size_t),
                               POINTER(Diag)]
    lib.gcb_sum_open.argtypes = [POINTER(c_void_p), c_char_p, c_uint64, c_void_p, c_void_p, POINTER(Diag)]
    lib.gcb_sum_add.argtypes = [c_void_p, c_void_p, c_size_t, c_float, POINTER(Diag)]
    lib.gcb_sum_finish.argtypes = [c_void_p, c_void_p, POINTER(Diag)]
    return lib


def main(method, count, path="libgcbench.so.0"):
    lib, diag, n, length = load(path), Diag(), int(count), c_size_t()

    def check(status):
        if status:
            raise SystemExit(diag.text.decode())

    encoders = [c_void_p() for _ in range(WORKERS)]
    for encoder in encoders:
        check(lib.gcb_encoder_open(byref(encoder), method.encode(), n, None, byref(diag)))
    total, update = c_void_p(), (c_float * n)()
    check(lib.gcb_sum_open(byref(total), method.encode(), n, update, None, byref(diag)))
    message = ctypes.create_string_buffer(lib.gcb_encoder_bound(encoders[0]))
    for step in range(STEPS):
        for worker, encoder in enumerate(encoders):
            gradient = ctypes.create_string_buffer(sys.stdin.buffer.read(4 * n), 4 * n)
            check(lib.gcb_encode(encoder, step, worker, gradient, message, len(message), byref(length), byref(diag)))
            if length.value:  # 0 in a step that sends nothing
                check(lib.gcb_sum_add(total, message, length, 1.0 / WORKERS, byref(diag)))
        check(lib.gcb_sum_finish(total, update, byref(diag)))
        sys.stdout.buffer.write(update)


if __name__ == "__main__":
    main(*sys.argv[1:])
