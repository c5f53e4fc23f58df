#!/usr/bin/env python3
"""Writes the tensors of a .npz, .npy, .pt or .safetensors file to an HDF5 file, which gcbench reads.

    convert.py FILE OUT.h5

It needs h5py and NumPy, and PyTorch only for .pt files. Names stay; a name such as step_000100/worker_0/fc.weight gives
the step and the worker. Tensors that are not of floating point are left out and counted. A .pt file is read with
weights_only, so it cannot run code. A checkpoint holds weights: dump_gradients.py records gradients.
"""

import argparse
import json
import sys

import h5py
import numpy as np

SAFETENSORS = {"F16": "<f2", "F32": "<f4", "F64": "<f8", "BF16": "<u2"}


def from_bfloat16(words):
    """The same numbers as float32, and their original type."""
    return (words.astype("<u4") << 16).view("<f4"), "bfloat16"


def read_safetensors(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = np.frombuffer(file.read(), np.uint8)
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        kind = SAFETENSORS.get(entry["dtype"])
        if not kind:
            yield name, None, None
            continue
        array = data[begin:end].view(kind).reshape(entry["shape"])
        yield (name, *(from_bfloat16(array) if entry["dtype"] == "BF16" else (array, None)))


def read_torch(path):
    import torch

    def walk(value, name):
        if isinstance(value, torch.Tensor):
            if value.dtype == torch.bfloat16:
                yield name, value.float().numpy(), "bfloat16"
            else:
                yield name, value.to_dense().numpy() if value.is_sparse else value.numpy(), None
        elif isinstance(value, (dict, list, tuple)):
            for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
                yield from walk(inner, f"{name}/{key}" if name else str(key))

    with torch.no_grad():
        loaded = torch.load(path, map_location="cpu", weights_only=True)
        yield from walk(loaded, "" if not isinstance(loaded, torch.Tensor) else "tensor")


def read_numpy(path):
    loaded = np.load(path, allow_pickle=False)
    for name, array in [("tensor", loaded)] if isinstance(loaded, np.ndarray) else loaded.items():
        yield name, array, None


def read(path):
    with open(path, "rb") as file:
        first = file.read(10)
    if first[8:10] == b'{"':
        return read_safetensors(path)
    if first[:6] == b"\x93NUMPY" or (first[:2] == b"PK" and path.endswith(".npz")):
        return read_numpy(path)
    return read_torch(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("file")
    parser.add_argument("out")
    args = parser.parse_args()
    try:
        found = list(read(args.file))
    except Exception as error:  # each library has its own for a file that it cannot read
        return f"{args.file}: {error}"
    tensors = [t for t in found if t[1] is not None and t[1].dtype in (np.float16, np.float32, np.float64)]
    if not tensors:
        return f"{args.file}: there is no tensor of floating point in it"
    with h5py.File(args.out, "x") as out:
        for index, (name, array, source) in enumerate(tensors):
            dataset = out.create_dataset(name, data=array)
            dataset.attrs["index"] = index
            if source:
                dataset.attrs["source_dtype"] = source
    print(f"{args.out}: {len(tensors)} tensors; {len(found) - len(tensors)} that are not of floating point left out")
    return 0


if __name__ == "__main__":
    sys.exit(main())
