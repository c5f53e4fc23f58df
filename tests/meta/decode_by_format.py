#!/usr/bin/env python3
"""
Decodes messages as docs/format.md and docs/codecs/index-coding.md describe them, and compares with the library's decoder.

    PYTHONPATH=python decode_by_format.py GCBENCH SAMPLE.h5

The decoder (format_parts.py, formats/*.py, and below to `decode`) was written from these pages and calls nothing of the
library. The checks after it let the library encode with every method that `gcbench methods` lists and every choice of its parameters.
Both decoders must give the same bits (for FFT, DCT and matrix products: the same values within 1e-6 of the norm). Then messages are
damaged, and both decoders must refuse them or give the same values. Containers are read back too, if h5py is there.

To add a codec: write its section of docs/format.md, then formats/<name>.py from that section.

Exit: 0 all agree, 1 not, 77 skipped because NumPy is missing.
"""
import ctypes
import ctypes.util
import importlib
import itertools
import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
except ImportError:
    print("skipped: the decoder needs NumPy (python3-numpy)")
    sys.exit(77)

import gcbench
from format_parts import Bytes, Damaged, need, raw
from formats.sparse import DCT, basis_of

# ---- the decoder: docs/format.md ----

CODECS = {codec.wire_id: codec for file in Path(__file__).parent.glob("formats/*.py")
          for codec in importlib.import_module("formats." + file.stem).CODECS}

STORED, CHECKSUM, WIDE = 1, 2, 4


class Frame:
    def __init__(self, message):
        source = Bytes(message)
        need(source.take(3) == b"GCB" and source.number(1) == 1, "not a message of version 1")
        self.codec, self.flags = source.number(1), source.number(1)
        self.source, self.param_bytes = source.number(1), source.number(1)
        need(self.flags <= 7 and self.source <= 3 and self.param_bytes <= 64, "an unknown field")
        size = 8 if self.flags & WIDE else 4
        self.n, self.payload_bytes = source.number(size), source.number(size)
        self.params = source.take(self.param_bytes)
        tail = 8 if self.flags & CHECKSUM else 0
        need(source.left() == self.payload_bytes + tail, "another length than announced")
        self.payload = Bytes(source.take(self.payload_bytes))
        self.checksum = source.number(8) if tail else None


def params_of(frame):
    need(frame.codec in CODECS, "an unknown codec")
    fields, added = CODECS[frame.codec].parameters, CODECS[frame.codec].added
    for last in range(len(added)):  # those before the last may have the value of an absent one
        before = [(name, width, 0, most) for name, width, _, most in added[:last]]
        if frame.param_bytes == sum(width for _, width, _, _ in fields + before + [added[last]]):
            fields = fields + before + [added[last]]
            break
    need(frame.param_bytes == sum(width for _, width, _, _ in fields), "other parameters")
    source = Bytes(frame.params)
    params = {name: source.number(width) for name, width, _, _ in fields}
    need(all(least <= params[name] <= most for name, _, least, most in fields), "a parameter out of range")
    return params


def decode(message):
    """The values of a message, as float32. The checksum is the caller's matter."""
    frame = Frame(message)
    if frame.flags & STORED:
        out = raw(frame.payload, frame.n, frame.source)
    else:
        params = params_of(frame)
        out = CODECS[frame.codec].decode(params, frame.n, frame.payload)
    need(frame.payload.left() == 0, "bytes left over")
    return out


# ---- the library ----

SOURCES = ("f32", "f16", "bf16", "f64")


def encode(spec, x, checksum=True, source="f32", shape=None):
    return gcbench.Encoder(spec, len(x), checksum=checksum, source=source, nonfinite="raw", path="w",
                           shape=shape).encode(x, 3, 1)


LACKING = []  # errors of a library without FFTW, about messages that need it


def lacks_fftw(error):
    lacks = error.status == "UNSUPPORTED" and "FFTW" in str(error)
    LACKING.extend([error] * lacks)
    return lacks


def decode_in_library(message, most=1 << 20):
    """None where the library refuses it, LACKING where it needs FFTW."""
    try:
        return gcbench.Decoder.like(message, max_elements=most).decode(message)
    except gcbench.Error as error:
        return LACKING if lacks_fftw(error) else None


def xxh3():
    """XXH3-64 from the xxHash library, or None."""
    name = ctypes.util.find_library("xxhash") or "libxxhash.so.0"
    try:
        f = ctypes.CDLL(name).XXH3_64bits_withSeed
    except (OSError, AttributeError):
        return None
    f.argtypes, f.restype = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64], ctypes.c_uint64
    return lambda data, seed=0: f(data, len(data), seed)


# ---- the checks ----

class Report:
    def __init__(self):
        self.checks, self.failures = 0, []

    def expect(self, good, what):
        self.checks += 1
        if not good:
            self.failures.append(what)
            print(f"FAILED {what}")


def in_library_math(message):
    """Whether a library's FFT, DCT or matrix product has the last bits."""
    frame = Frame(message)
    return not frame.flags & STORED and CODECS[frame.codec].library_math(params_of(frame))


def same(mine, theirs, tolerant):
    if len(mine) != len(theirs):
        return False
    if not tolerant:
        return mine.tobytes() == theirs.tobytes()
    if not len(mine):
        return True
    difference = mine.astype(np.float64) - theirs
    return (np.max(np.abs(difference)) <= len(mine) * 2.0 ** -149 or
            np.linalg.norm(difference) <= 1e-6 * np.linalg.norm(theirs.astype(np.float64)))


# Numbers to try beside the choices; a spec that the method refuses is left out.
NUMBERS = ["", "theta=0.99", "theta=0", "theta=0.5", "chunk=64", "chunk=100,theta=0.5", "chunk=1",
           "chunk=5000", "bits=2", "bits=3", "bits=5", "bits=8,mantissa=4", "bits=11", "bits=16",
           "bits=8,max=0.01", "bits=8,rounding=truncate", "levels=1", "levels=5", "levels=32767", "tile=kernel", "tile=4x16", "tile=3x100",
           "rank=1", "rank=16", "tile=8x8,factor-bits=4", "rank=2,tile=16x2,bits-per-element=4", "bucket=1", "bucket=100", "bucket=7,bits=7", "norm=l2,levels=1,bucket=3000", "clip=0"]

def listed_methods(command):
    """The rows of `gcbench methods`."""
    lines = subprocess.run([command, "methods", "--format", "json"], check=True,
                           stdout=subprocess.PIPE, text=True).stdout.splitlines()
    return [row for row in map(json.loads, lines) if row["record"] == "method"]


def check_codecs(methods, report):
    for row in methods:
        codec, number = row["codec"], row["wire_id"]
        report.expect(number in CODECS and CODECS[number].name == codec,
                      f"codec {codec} has no decoder: write its section of docs/format.md, then from that section "
                      f"tests/meta/formats/{codec}.py, with Codec({number}, \"{codec}\", ...)")


def spec(method, *parts):
    pairs = ",".join(part for part in parts if part)
    return method + (":" + pairs if pairs else "")


def specs_of(methods):
    """For each codec every combination of the choices that are on the wire; other choices and numbers in turn."""
    for row in methods:
        method, fields = row["method"], [field[0] for field in CODECS[row["wire_id"]].parameters]
        params = {p["name"]: p["choices"] for p in row["parameters"] if "choices" in p}
        names = [name for name in params if name in fields and method == row["codec"]]
        for i, values in enumerate(itertools.product(*(params[name] for name in names))):
            pairs = ",".join(f"{name}={value}" for name, value in zip(names, values))
            one_sign = "select=one-sided" if "values=mean" in pairs.split(",") else ""
            some = NUMBERS if not names else [""] + [NUMBERS[(7 * i + j) % len(NUMBERS)]
                                                     for j in range(7)]
            for numbers in some:
                yield spec(method, pairs, one_sign, numbers)
        for name in params:
            for value in params[name]:
                if name not in names:
                    yield spec(method, f"{name}={value}")


def clusters(n):
    """Large magnitudes stand together, as in real gradients, so that adaptive makes codes of its own."""
    rng = np.random.default_rng(8)
    near = np.repeat(rng.random(-(-n // 30)) < 0.1, 30)[:n]
    return (np.abs(rng.standard_normal(n)) * np.where(near, 50, 1) + 1e-3).astype(np.float32)


def inputs():
    rng = np.random.default_rng(5)
    for n in (0, 1, 2, 3, 5, 31, 257, 4096, 9001):
        yield f"normal {n}", rng.standard_normal(n).astype(np.float32)
    heavy = (rng.standard_t(2, 6000) * 1e-4).astype(np.float32)
    heavy[rng.random(6000) < 0.3] = 0
    yield "heavy 6000", heavy
    yield "zeros 300", np.zeros(300, np.float32)
    yield "negative zeros 9", np.full(9, -0.0, np.float32)
    yield "constant 513", np.full(513, -0.125, np.float32)
    yield "tiny 77", (rng.standard_normal(77) * 1e-42).astype(np.float32)
    yield "huge 500", (rng.standard_normal(500) * 1e38).clip(-3e38, 3e38).astype(np.float32)
    yield "clusters 9000", clusters(9000)
    late = np.zeros(70000, np.float32)
    late[[5, 4097, 69999]] = [1, -2, 3]
    yield "late 70000", late


def check_methods(methods, report):
    done, tried = set(), list(inputs())
    for i, spec in enumerate(specs_of(methods)):
        for k, (name, x) in enumerate(tried):
            if len(x) > 9001 and not spec.startswith(("topk", "sparse", "qsgd:coding")):
                continue
            if ":" in spec and (i + k) % (8 if len(x) > 4000 else 3):
                continue  # each combination comes with several numbers, which take the inputs in turn
            try:
                message = encode(spec, x)
            except gcbench.Error as error:
                if lacks_fftw(error):
                    continue
                break  # a number that this method does not have
            done.add(spec.split(":")[0])
            theirs = decode_in_library(message)
            try:
                mine = decode(message)
            except Damaged as error:
                report.expect(False, f"{spec} {name}: {error}")
                continue
            report.expect(theirs is not None and same(mine, theirs, in_library_math(message)),
                          f"{spec} {name}")
    report.expect(done == {row["method"] for row in methods}, f"every method was tried, not only {sorted(done)}")


JOINED = [(16, 3, 3, 3), (16,), (5, 7, 1, 5), (4, 6, 9), (24, 36), (128,), (3, 0), ()]


def check_tiles(hash_of, report):
    """Tensors of several shapes in a message."""
    x = np.random.default_rng(4).standard_normal(sum(map(math.prod, JOINED))).astype(np.float32)
    for transform, tile in itertools.product(("fft", "dct", "hadamard", "mean", "haar", "random"), ("kernel", "8x4", "1x128")):
        spec = f"sparse:theta=0.3,transform={transform},tile={tile}"
        message = encode(spec, x, shape=JOINED)
        report.expect(same(decode(message), decode_in_library(message), True), f"{spec} of several tensors")
        whole = decode(encode(spec.replace("0.3", "0"), x, shape=JOINED))
        report.expect(same(whole, x, True), f"{spec} of several tensors: all coefficients")
        if hash_of:
            damage(hash_of, report, spec, message, range(90))
    for more in ("", "start=cold,factor-bits=2", "rank=1,factor-bits=7,bits-per-element=1.5", "bits-per-element=3"):
        for tile in ("8x4", "16x128") if "bits-per" in more else ("kernel", "8x4", "16x128"):
            spec = f"powersgd:tile={tile}" + (more and "," + more)
            message = encode(spec, x, shape=JOINED)
            report.expect(same(decode(message), decode_in_library(message), False), f"{spec} of several tensors")
            if hash_of:
                damage(hash_of, report, spec, message, range(90))


def check_largest_of_tiles(report):
    """select=chunk keeps the same share of each tile."""
    x = np.random.default_rng(5).standard_normal((24, 36)).astype(np.float32)
    up, across = (basis_of(DCT, side, 0) for side in (8, 4))
    c = np.einsum("ui,aibj,vj->abuv", up, x.reshape(3, 8, 9, 4), across).reshape(3, 9, 32)
    c[np.abs(c) < np.sort(np.abs(c))[..., -3:-2]] = 0
    want = np.einsum("ui,abuv,vj->aibj", up, c.reshape(3, 9, 8, 4), across).reshape(-1)
    got = decode_in_library(encode("demo:tile=8x4,density=0.1", x.reshape(-1), shape=[x.shape]))
    report.expect(same(got, want.astype(np.float32), True), "demo: the largest of each tile")


def check_frames(hash_of, report):
    x = np.linspace(-3, 3, 1001, dtype=np.float32)
    for spec, source in itertools.product(("identity", "fp16", "qsgd", "fft:chunk=64"), SOURCES):
        message = encode(spec, x, source=source)
        report.expect(Frame(message).source == SOURCES.index(source), f"{spec}: source type {source}")
        report.expect(same(decode(message), decode_in_library(message), in_library_math(message)),
                      f"{spec} from source type {source}")
        if hash_of:
            report.expect(hash_of(message[:-8]) == Frame(message).checksum, f"{spec}: checksum")
        plain = encode(spec, x, checksum=False, source=source)
        report.expect(Frame(plain).checksum is None and
                      Frame(plain).payload.data == Frame(message).payload.data,
                      f"{spec}: the payload does not depend on the checksum")
    odd = x.copy()
    odd[[3, 700, 1000]] = [np.inf, -np.inf, np.nan]
    for source in SOURCES:
        message = encode("qsgd", odd, source=source)
        report.expect(Frame(message).flags & STORED and Frame(message).param_bytes == 0 and
                      decode(message).tobytes() == decode_in_library(message).tobytes(),
                      f"stored, source type {source}")


def damage(hash_of, report, spec, message, places):
    """Either both refuse a message that was damaged at these places or both give the same values."""
    rng, refused = random.Random(11), 0
    for at in places:
        for _ in range(3):
            bad = bytearray(message)
            bad[at] ^= rng.choice((1, 2, 128, rng.randrange(1, 256)))
            bad[-8:] = hash_of(bytes(bad[:-8])).to_bytes(8, "little")
            bad = bytes(bad)
            theirs = decode_in_library(bad)
            if theirs is LACKING:
                continue
            try:
                if Frame(bad).n > 1 << 20:
                    continue  # the library was told to refuse so many
                with np.errstate(all="ignore"):
                    mine = decode(bad)
            except Damaged:
                mine = None
            refused += mine is None
            if mine is None or theirs is None:
                report.expect(mine is None and theirs is None,
                              f"{spec}: byte {at} is {bad[at]:#x}: "
                              f"{'the page' if mine is None else 'the library'} refuses")
            elif not np.all(np.isfinite(theirs)):
                report.expect(np.array_equal(np.isfinite(mine), np.isfinite(theirs)) or
                              in_library_math(bad), f"{spec}: byte {at}: not finite")
            else:
                report.expect(same(mine, theirs, in_library_math(bad)), f"{spec}: byte {at}")
    return refused


def check_damage(hash_of, report):
    x = np.random.default_rng(3).standard_normal(130).astype(np.float32)
    x[::3] = 0
    specs = ["identity", "fp16", "bf16", "range:bits=7", "qsgd:levels=5", "qsgd:coding=elias",
             "qsgd:coding=elias-sparse,bits=3", "terngrad", "terngrad:packing=base3",
             "fft:chunk=64", "fft:chunk=64,pad=smooth", "topk:transform=dct,chunk=100", "topk:transform=hadamard,chunk=64"]
    specs += [f"sparse:theta=0.6,values={v},index={i}"
              for v in ("fp32", "fp16", "range", "uniform", "sign-mean", "means", "bins", "fit",
                        "mean,select=one-sided")
              for i in ("u32", "bitmap", "varint", "golomb", "elias-fano", "block", "bloom", "bloom,positives=conflict")]
    specs += [codec.name for codec in CODECS.values() if not any(spec.split(":")[0] == codec.name for spec in specs)]
    refused = 0
    for spec in specs:
        message = encode(spec, x)
        # all bytes of the header, then every third one
        refused += damage(hash_of, report, spec, message, [*range(24), *range(24, len(message) - 8, 3)])
    # messages of little but positions; the second has a directory, with two entries
    for n, density in ((4000, 0.1), (90000, 0.1)):
        length = {}
        for index in ("varint", "golomb", "adaptive", "elias-fano", "block"):
            spec = f"sparse:select=one-sided,values=mean,p={density},index={index}"
            message = encode(spec, clusters(n))
            length[index] = len(message)
            places = list(range(min(len(message) - 8, 200)))
            places += list(range(200, len(message) - 8, 37 if n > 4000 else 23))
            if n > 4000:
                places = places[::12]
            refused += damage(hash_of, report, spec, message, places)
        report.expect(length["adaptive"] < length["golomb"], f"{n}: adaptive has codes of its own")
    print(f"damaged messages: {refused} refused by both")


def text_of(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def container_messages(file, hash_of):
    """(message, seed of its checksum, path of its dataset, tensors) of each message in a container."""
    import h5py
    names = []
    file.visititems(lambda name, node: names.append("/" + name)
                    if isinstance(node, h5py.Dataset) and node.dtype == np.uint8 else None)
    for name in names:
        node = file[name]
        if "layout_xxh3" in node.attrs:
            rows = [(text_of(r["path"]), text_of(r["dtype"]), text_of(r["shape"]), int(r["index"]),
                     int(r["offset"])) for r in file[name + "_layout"][()]]
        else:
            rows = [(name, text_of(node.attrs["dtype"]), text_of(node.attrs["shape"]),
                     int(node.attrs.get("index", -1)), 0)]
        salt = 0
        for path, dtype, shape, index, _ in rows:
            for text in (path, dtype, shape, str(index)):
                salt = hash_of(text.encode(), salt)
        if "layout_xxh3" in node.attrs:
            need(text_of(node.attrs["layout_xxh3"]) == f"{salt:016x}", "another layout")
        yield node[()].tobytes(), salt, name, rows


def check_container(command, sample, hash_of, report, folder):
    import h5py
    for number, (method, scope) in enumerate([("topk", "tensor"), ("qsgd:coding=elias", "model"),
                                              ("range", "bucket")]):
        packed, restored = (os.path.join(folder, f"{kind}{number}.h5") for kind in ("m", "r"))
        for args in (["compress", sample, "--method", method, "--scope", scope, "-o", packed],
                     ["decompress", packed, "-o", restored]):
            subprocess.run([command] + args, check=True, stdout=subprocess.DEVNULL)
        total, seen = 0, 0
        with h5py.File(packed) as file, h5py.File(restored) as tree:
            for message, salt, path, rows in container_messages(file, hash_of):
                frame, x = Frame(message), decode(message)
                seen, total = seen + 1, (total + hash_of(path.encode(), salt)) % 2 ** 64
                report.expect(frame.checksum == hash_of(message[:-8], salt), f"{path}: checksum")
                for name, dtype, shape, _, offset in rows:
                    dims = [int(d) for d in shape.split("x")] if shape else []
                    part = x[offset:offset + math.prod(dims)].reshape(dims)
                    report.expect(dtype == "fp32" and
                                  part.tobytes() == tree[name][()].astype("<f4").tobytes(),
                                  f"{scope}: {name}")
            report.expect(text_of(file.attrs["gcbench_container"]) == "1" and
                          int(file.attrs["gcbench_messages"]) == seen and
                          text_of(file.attrs["gcbench_xxh3"]) == f"{total:016x}",
                          f"{scope}: root attributes")


def main(argv):
    command, sample, report, hash_of = argv[1], argv[2], Report(), xxh3()
    methods = listed_methods(command)
    check_codecs(methods, report)
    check_methods([row for row in methods if row["wire_id"] in CODECS], report)
    check_frames(hash_of, report)
    check_tiles(hash_of, report)
    check_largest_of_tiles(report)
    if hash_of:
        check_damage(hash_of, report)
    else:
        print("skipped: damaged messages and checksums (no xxHash library)")
    try:
        import h5py  # noqa: F401
        if hash_of:
            with tempfile.TemporaryDirectory() as folder:
                check_container(command, sample, hash_of, report, folder)
    except ImportError:
        print("skipped: containers (Debian package python3-h5py)")
    if LACKING:
        print(f"skipped: {len(LACKING)} messages need FFTW")
    print(f"{report.checks} checks, {len(report.failures)} failed")
    if report.failures:
        print("If the layout of a message is new: describe it in docs/format.md, then write its decoder in "
              "tests/meta/formats from the description. If not: a decoder here or in the library is wrong.")
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
