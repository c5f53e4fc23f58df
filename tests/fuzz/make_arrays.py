#!/usr/bin/env python3
"""make_arrays.py FOLDER: writes small files of arrays, in .npy, .npz and safetensors, for a fuzzer to begin with."""
import io
import json
import struct
import sys
import zipfile

TYPES = {"<f4": 4, ">f4": 4, "<f2": 2, ">f8": 8, "|V2": 2, "<i4": 4}
SAFE = {"F16": 2, "BF16": 2, "F32": 4, "F64": 8, "F8_E4M3": 1, "F8_E5M2": 1, "I64": 8, "U8": 1}


def npy(kind, shape, fortran=False, version=1):
    count = 1
    for n in shape:
        count *= n
    header = f"{{'descr': '{kind}', 'fortran_order': {fortran}, 'shape': {shape}, }}".ljust(63) + "\n"
    data = bytes(i * 37 % 256 for i in range(count * TYPES[kind]))
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(header)) + header.encode() + data


class Pipe(io.RawIOBase):
    """A file that cannot seek: sizes come after the data."""

    def __init__(self):
        super().__init__()
        self.bytes = b""

    def writable(self):
        return True

    def write(self, data):
        self.bytes += bytes(data)
        return len(data)


def npz(method, zip64=False, pipe=False, comment=b""):
    out = Pipe() if pipe else io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, array in (("step_1/worker_0/w", npy("<f4", (3, 4))), ("step_1/worker_1/w", npy(">f4", (3, 4), True)),
                            ("h", npy("<f2", (5,))), ("i", npy("<i4", (2,)))):
            with archive.open(f"{name}.npy", "w", force_zip64=zip64) as member:
                member.write(array)
        archive.comment = comment
    return out.bytes if pipe else out.getvalue()


def safetensors(pad):
    header, at = {"__metadata__": {"model": "a\n\u00e9\U0001f600"}}, 0
    for i, (kind, size) in enumerate(SAFE.items()):
        header[f"step_{i // 3}/worker_0/w.{kind}"] = {"dtype": kind, "shape": [2, 3], "data_offsets": [at, at + 6 * size]}
        at += 6 * size
    for name, kind, shape, size in (("s", "F8_E4M3", [2, 3], 6), ("s_scale", "F32", [], 4), ("b", "F8_E5M2", [129, 1], 129),
                                    ("b_scale_inv", "F32", [2, 1], 8)):
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode() + b" " * pad
    return struct.pack("<Q", len(text)) + text + bytes(i % 256 for i in range(at))


def main():
    files = [npy("<f4", (3, 4)), npy(">f8", (2, 3), True, 2), npy("|V2", (3,), False, 3), npy("<f4", ()), npy("<f2", (0, 2)),
             safetensors(0), safetensors(7)]
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        files += [npz(method), npz(method, zip64=True), npz(method, pipe=True), npz(method, comment=b"PK\5\6 comment")]
    for i, data in enumerate(files):
        with open(f"{sys.argv[1]}/{i:03}", "wb") as file:
            file.write(data)


main()
