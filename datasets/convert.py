#!/usr/bin/env python3
"""Writes the tensors of a file to an HDF5 file that gcbench reads.

    convert.py FILE OUT.h5

FILE is .npz, .npy, .pt, .safetensors, .mat (version 5), or HDF5 that gcbench refuses: with blosc, zstd or other filters,
in several parts, or written by a newer HDF5. It needs h5py and NumPy; PyTorch for .pt files, SciPy for .mat files, and
hdf5plugin for the filters that h5py lacks.

Names stay; a name such as step_000100/worker_0/fc.weight gives the step and the worker. What is left out is said. If a float
tensor cannot be written, OUT.h5 is not written and the exit status is 1. A .pt file is read with weights_only, so it cannot
run code. A checkpoint holds weights: dump_gradients.py records gradients.
"""

import argparse
import json
import os
import re
import sys

try:
    import h5py
    import numpy as np
except ImportError as missing:
    sys.exit(f"convert.py: {missing}; install h5py and NumPy: pip install h5py numpy")

BLOCK = 1 << 26  # bytes of a dataset that are copied at a time
SAFETENSORS = {"F16": "<f2", "F32": "<f4", "F64": "<f8", "BF16": "<u2", "F8_E4M3": "u1", "F8_E5M2": "u1"}
FILTERS = {32001: "blosc", 32004: "lz4", 32008: "bitshuffle", 32013: "zfp", 32015: "zstd", 32026: "blosc2"}
FP8 = {"F8_E4M3": ("float8_e4m3fn", 3, 7), "F8_E5M2": ("float8_e5m2", 2, 15)}


class Problem(Exception):
    """The file cannot be converted; the text says why and what to do."""


def from_bfloat16(words):
    """The same numbers as float32, and their original type."""
    return (words.astype("<u4") << 16).view("<f4"), "bfloat16"


def from_fp8(codes, kind):
    """The same numbers as float32, and their original type."""
    name, fraction, bias = FP8[kind]
    code = np.arange(128)
    low, high = code & ((1 << fraction) - 1), code >> fraction
    values = np.where(high == 0, low * 2.0 ** (1 - bias - fraction), (1 + low / 2.0 ** fraction) * 2.0 ** (high - bias))
    if fraction == 3:  # the largest exponent is an ordinary one; only the last code is a NaN
        values[127] = np.nan
    else:
        values[high == 31] = np.where(low[high == 31] == 0, np.inf, np.nan)
    return np.concatenate([values, -values]).astype("<f4")[codes], name


# Each reader yields (name, array, original type or None). An array that is None, or not of floats,
# is left out.


def read_safetensors(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = np.frombuffer(file.read(), np.uint8)
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        kind = entry["dtype"]
        if kind not in SAFETENSORS:
            yield name, None, None
            continue
        array = data[begin:end].view(SAFETENSORS[kind]).reshape(entry["shape"])
        if kind == "BF16":
            yield (name, *from_bfloat16(array))
        elif kind in FP8:
            yield (name, *from_fp8(array, kind))
        else:
            yield name, array, None


def walk(value, name, torch=None):
    """The arrays and tensors in nested dictionaries and lists."""
    if isinstance(value, np.ndarray):
        yield name or "tensor", value, None
    elif torch and isinstance(value, torch.Tensor):
        value = value.detach().cpu()
        value = value.to_dense() if value.is_sparse else value
        wide = value.is_floating_point() and value.dtype not in (torch.float16, torch.float32, torch.float64)
        yield name or "tensor", (value.float() if wide else value).numpy(), str(value.dtype)[6:] if wide else None
    elif isinstance(value, (dict, list, tuple)):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from walk(inner, f"{name}/{key}" if name else str(key), torch)


def read_torch(path):
    try:
        import torch
    except ImportError:
        raise Problem("a PyTorch file, which needs PyTorch: pip install torch") from None
    with torch.no_grad():
        yield from walk(torch.load(path, map_location="cpu", weights_only=True), "", torch)


def read_pickle(path):
    import pickle

    with open(path, "rb") as file:
        yield from walk(pickle.load(file), "", sys.modules.get("torch"))


def read_numpy(path):
    loaded = np.load(path, allow_pickle=False)
    for name, array in [("tensor", loaded)] if isinstance(loaded, np.ndarray) else loaded.items():
        yield name, array, None


def read_matlab(path):
    try:
        import scipy.io
    except ImportError:
        raise Problem("a MATLAB file, which needs SciPy: pip install scipy") from None
    for name, array in scipy.io.loadmat(path).items():
        if not name.startswith("__"):
            yield name, array, None


def read(path, trust_pickle):
    with open(path, "rb") as file:
        first = file.read(512)
    if first[6:9] == b"\0\0{":
        return read_safetensors(path)
    if first[:6] == b"\x93NUMPY" or (first[:2] == b"PK" and b".npy" in first and b"/data.pkl" not in first):
        return read_numpy(path)
    if first[:19] == b"MATLAB 5.0 MAT-file":
        return read_matlab(path)
    if first[:4] == b"\x80\x02\x8a\x0a" or (first[:2] == b"PK" and (b"/data.pkl" in first or path.endswith(".pt"))):
        return read_torch(path)
    if first[:1] == b"\x80":
        if trust_pickle:
            return read_pickle(path)
        raise Problem("a Python pickle, which runs code when it is read; if you trust it, add --trust-pickle")
    raise Problem("not a file of NumPy, PyTorch, safetensors, MATLAB 5 or HDF5")


def storable(array):
    """The array in a type that gcbench reads, or None. Opaque elements of 1 or 2 bytes may be floats: see --as."""
    if array is None or array.dtype.kind not in "fV" or array.dtype.names:
        return None
    if array.dtype.kind == "V":
        return array if array.dtype.itemsize <= 2 and array.dtype.shape == () else None
    narrow = array.astype("f8" if array.dtype.itemsize > 8 else array.dtype.newbyteorder("<"))
    if not np.array_equal(np.isfinite(narrow), np.isfinite(array)):
        raise Problem("has a number that float64 cannot hold")
    return narrow


def convert_arrays(found, out):
    """Writes arrays. Returns how many, and the names of those that were left out."""
    written, left = 0, []
    for name, array, source in found:
        try:
            array = storable(array)
        except Problem as problem:
            raise Problem(f"{name} {problem}") from None
        if array is None:
            left.append(name)
            continue
        dataset = out.create_dataset(name, data=array)
        dataset.attrs["index"] = written
        if source:
            dataset.attrs["source_dtype"] = source
        written += 1
    return written, left


class Copy:
    """Copies the groups, attributes, links and datasets of an HDF5 file."""

    def __init__(self):
        self.written, self.left, self.failed = 0, [], []
        self.names = {}  # of each object: its first name in the new file

    def attributes(self, old, new):
        for name in old.attrs:
            try:
                new.attrs[name] = old.attrs[name]
            except (TypeError, OSError, ValueError, KeyError):
                self.left.append(f"{old.name} attribute {name}")

    def data(self, old, parent, name):
        kind = "f8" if old.dtype.kind == "f" and old.dtype.itemsize > 8 else old.dtype
        packed = {"compression": "gzip", "compression_opts": 1, "shuffle": True} if old.chunks and old.size else {}
        new = parent.create_dataset(name, old.shape, kind, fillvalue=old.fillvalue, **packed) if old.shape is not None \
            else parent.create_dataset(name, data=h5py.Empty(kind))
        if old.shape == () or not old.size:
            if old.size:
                new[()] = old[()]
            return new
        if not old.id.get_storage_size():  # it was never written
            return new
        rows = max(1, BLOCK // max(1, old.dtype.itemsize * old.size // old.shape[0]))
        for at in range(0, old.shape[0], rows):
            block = old[at:at + rows]
            new[at:at + rows] = storable(block) if old.dtype.kind == "f" else block
        return new

    def dataset(self, old, parent, name):
        maybe_float = old.dtype.kind == "f" or (old.dtype.itemsize <= 2 and old.dtype.kind in "iuV" and not old.dtype.names)
        try:
            if old.is_virtual or old.external:
                raise Problem("its data is in other files")
            if old.dtype.kind not in "fiuVb" or old.dtype.names or old.dtype.subdtype:
                raise Problem("of another type")
            new = self.data(old, parent, name)
            self.attributes(old, new)
            kind = old.id.get_type()
            if old.dtype.kind == "f" and kind.get_size() < old.dtype.itemsize:  # NumPy lacks the type
                new.attrs["source_dtype"] = {7: "bfloat16", 3: "float8_e4m3fn", 2: "float8_e5m2"}[kind.get_fields()[4]]
            self.written += 1
        except (OSError, TypeError, ValueError, KeyError, Problem) as error:
            if name in parent:
                del parent[name]
            why = missing_filter(old) or error
            (self.failed if maybe_float else self.left).append(f"{old.name} ({why})" if maybe_float else old.name)

    def link(self, group, new, name):
        """Copies a member of a group."""
        kind = group.get(name, getlink=True)
        if isinstance(kind, h5py.SoftLink):
            new[name] = kind
            return
        path = f"{group.name.rstrip('/')}/{name}"
        if not isinstance(kind, h5py.HardLink):
            self.failed.append(f"{path} (a link to another file)")
            return
        try:
            old = group[name]
        except (OSError, KeyError) as error:
            self.failed.append(f"{path} ({error})")
            return
        if not isinstance(old, (h5py.Group, h5py.Dataset)):
            return  # a named type
        info = h5py.h5o.get_info(old.id)
        if (info.fileno, info.addr) in self.names:
            first = self.names[info.fileno, info.addr]
            if first in new.file:
                new[name] = new.file[first]
            return
        self.names[info.fileno, info.addr] = path
        if isinstance(old, h5py.Dataset):
            self.dataset(old, new, name)
        else:
            self.group(old, new.create_group(name))

    def group(self, old, new):
        info = h5py.h5o.get_info(old.id)
        self.names[info.fileno, info.addr] = old.name
        self.attributes(old, new)
        for name in old:
            self.link(old, new, name)


def missing_filter(dataset):
    """Says which filter of the dataset h5py lacks, if any."""
    created = dataset.id.get_create_plist()
    for code in (created.get_filter(i)[0] for i in range(created.get_nfilters())):
        if not h5py.h5z.filter_avail(code):
            return f"it has the filter {FILTERS.get(code, code)}, which h5py lacks"
    return None


def open_hdf5(path):
    """Opens an HDF5 file, also one in several parts. The first part says which driver wrote it."""
    with open(path, "rb") as file:
        first = file.read(4096)
    if b"NCSAfami" in first:
        stem, suffix = os.path.splitext(path.replace("%", "%%"))
        stem = re.sub(r"0+(?=\D*$)", lambda zeros: f"%0{len(zeros.group())}d", stem)  # the number of the first part
        return h5py.File(stem + suffix, "r", driver="family", memb_size=os.path.getsize(path))
    if b"NCSAmult" in first and path.endswith("-m.h5"):
        return h5py.File(path[:-len("-m.h5")], "r", driver="split")
    return h5py.File(path, "r")


def convert_hdf5(path, out):
    try:
        import hdf5plugin  # registers its filters
    except ImportError:
        hdf5plugin = None
    copy = Copy()
    try:
        with open_hdf5(path) as file:
            copy.group(file, out)
    except (OSError, RuntimeError) as error:
        raise Problem(f"{error} ({about()}){advise(str(error), True)}") from None
    if copy.failed:
        raise Problem(f"cannot be copied: {', '.join(copy.failed[:3])}{' ...' if copy.failed[3:] else ''} ({about()})"
                      + advise(" ".join(copy.failed), hdf5plugin))
    return copy.written, copy.left


def advise(failure, hdf5plugin):
    """The package to install for a failure of HDF5, if one may help."""
    if "version number" in failure:
        return "; a newer h5py may read it: pip install --upgrade h5py"
    return "; it is in hdf5plugin: pip install hdf5plugin" if "the filter" in failure and not hdf5plugin else ""


def about():
    return f"h5py {h5py.version.version} with HDF5 {h5py.version.hdf5_version}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("file")
    parser.add_argument("out")
    parser.add_argument("--trust-pickle", action="store_true", help="read a Python pickle, which may run any code")
    args = parser.parse_args()
    temporary = f"{args.out}.tmp"
    try:
        if os.path.exists(args.out):
            raise Problem(f"{args.out} exists; give another name")
        with h5py.File(temporary, "w") as out:
            is_hdf5 = h5py.is_hdf5(args.file)
            written, left = convert_hdf5(args.file, out) if is_hdf5 else convert_arrays(read(args.file, args.trust_pickle), out)
        if not written:
            raise Problem("there is no tensor of floating point in it")
        os.rename(temporary, args.out)
    except Exception as error:  # each library has its own for a file that it cannot read
        return f"{args.file}: {error}"
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)
    said = f"; left out, because not of floating point: {len(left)} ({', '.join(left[:3])}{' ...' if left[3:] else ''})"
    print(f"{args.out}: {written} tensors{said if left else ''}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
