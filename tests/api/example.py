#!/usr/bin/python3
"""Compress an array through the library from Python, with nothing but the standard library.

    python3 example.py [libgcbench.so.0 [METHOD]]
"""

import array
import ctypes
import math
import sys
from ctypes import POINTER, byref, c_char_p, c_float, c_int, c_size_t, c_uint32, c_uint64, c_void_p

N = 100000


class Diag(ctypes.Structure):
    _fields_ = [("status", c_int), ("text", ctypes.c_char * 480)]


def load(path):
    lib = ctypes.CDLL(path)
    lib.gcb_version.restype = c_char_p
    lib.gcb_encoder_open.argtypes = [POINTER(c_void_p), c_char_p, c_uint64, c_void_p, POINTER(Diag)]
    lib.gcb_decoder_open.argtypes = [POINTER(c_void_p), c_char_p, c_uint64, c_void_p, POINTER(Diag)]
    lib.gcb_encoder_bound.argtypes, lib.gcb_encoder_bound.restype = [c_void_p], c_size_t
    lib.gcb_encode.argtypes = [c_void_p, c_uint64, c_uint32, c_void_p, c_void_p, c_size_t, POINTER(c_size_t),
                               POINTER(Diag)]
    lib.gcb_decode.argtypes = [c_void_p, c_void_p, c_size_t, c_void_p, POINTER(Diag)]
    lib.gcb_encoder_close.argtypes, lib.gcb_encoder_close.restype = [c_void_p], None
    lib.gcb_decoder_close.argtypes, lib.gcb_decoder_close.restype = [c_void_p], None
    return lib


def main(path="libgcbench.so.0", method="fft:theta=0.9"):
    lib, diag = load(path), Diag()

    def check(status):
        if status:
            raise SystemExit(diag.text.decode())

    x = array.array("f", (math.sin(i * 1e-3) * math.exp(-i * 1e-4) for i in range(N)))
    y = array.array("f", bytes(4 * N))
    encoder, decoder, length = c_void_p(), c_void_p(), c_size_t()

    check(lib.gcb_encoder_open(byref(encoder), method.encode(), N, None, byref(diag)))
    bound = lib.gcb_encoder_bound(encoder)
    message = ctypes.create_string_buffer(bound)
    check(lib.gcb_encode(encoder, 0, 0, (c_float * N).from_buffer(x), message, bound, byref(length), byref(diag)))
    lib.gcb_encoder_close(encoder)

    check(lib.gcb_decoder_open(byref(decoder), method.encode(), N, None, byref(diag)))
    check(lib.gcb_decode(decoder, message, length, (c_float * N).from_buffer(y), byref(diag)))
    lib.gcb_decoder_close(decoder)

    lost = sum((a - b) ** 2 for a, b in zip(x, y))
    print(f"ratio {4 * N / length.value:.2f}, relative L2 error {math.sqrt(lost / sum(a * a for a in x)):.6f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
