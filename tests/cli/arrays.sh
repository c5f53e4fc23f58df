#!/bin/sh
# Files of NumPy and safetensors give the rows that the same tensors give from HDF5, and commands
# take several of them. `.pt` is named, with the command that converts it (input_errors.sh).
. "$(dirname "$0")/lib.sh"

cat >"$tmp/make.py" <<'PY'
import json
import os
import struct
import sys

import h5py
import numpy as np

os.chdir(sys.argv[1])
rng = np.random.default_rng(5)
shapes = (("conv/weight", (8, 3, 3, 3), "f4"), ("fc", (30, 50), "f4"), ("half", (700,), "f2"), ("wide", (3, 4), "f8"),
          ("one", (), "f4"), ("none", (0, 3), "f4"))
tensors = {f"step_{step:06d}/worker_{worker}/{name}": rng.standard_normal(shape).astype(kind)
           for step in (9, 10) for worker in (0, 1) for name, shape, kind in shapes}
with h5py.File("twin.h5", "w") as f, h5py.File("lzf.h5", "w") as lzf:
    for name, x in tensors.items():
        f[name] = x
        lzf.create_dataset(name, data=x, **({"compression": "lzf", "shuffle": True} if x.size > 1 else {}))


def safetensors(path, arrays):
    kinds = {"<f2": "F16", "<f4": "F32", "<f8": "F64", "<u2": "BF16", "|u1": "F8_E4M3"}
    header, data = {"__metadata__": {"model": "small"}}, b""
    for name, x in arrays.items():
        end = len(data) + x.nbytes
        header[name] = {"dtype": kinds[x.dtype.str], "shape": x.shape, "data_offsets": [len(data), end]}
        data += x.tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


np.savez("stored.npz", **tensors)
np.savez_compressed("deflated.npz", **tensors)
np.savez_compressed("fortran.npz", **{name: np.asfortranarray(x) for name, x in tensors.items()})
np.savez("big.npz", **{name: x.astype(x.dtype.newbyteorder(">")) for name, x in tensors.items()})
safetensors("a.safetensors", tensors)
for name, x in tensors.items():  # a file for each tensor
    os.makedirs("tree/" + os.path.dirname(name), exist_ok=True)
    np.save("tree/" + name, x)
for step in (9, 10):  # a file for each step and worker
    for worker in (0, 1):
        own = {name.split("/", 2)[2]: x for name, x in tensors.items() if name.startswith(f"step_{step:06d}/worker_{worker}/")}
        np.savez(f"grads_step{step}_rank{worker}.npz", **own)

    own = tensors[f"step_{step:06d}/worker_0/fc"]
    np.save(f"w_step{step}_rank0.npy", own)  # the file alone names all

words = rng.integers(0, 60000, 400).astype("<u2") & 0xbfff
codes = np.arange(127, dtype="u1")  # without the NaN
with h5py.File("small.h5", "w") as f:
    f["w"] = words
    f["w"].attrs["source_dtype"] = "bfloat16"
    f["c"] = codes
    f["c"].attrs["source_dtype"] = "float8_e4m3fn"
safetensors("small.safetensors", {"w": words, "c": codes})

# fp8 with a scale for each block of 128 x 128, for the tensor, and without
codes = rng.integers(0, 127, (130, 300)).astype("u1")
exact = np.where(codes < 8, codes % 8 * 2.0**-9, (8 + codes % 8) * 2.0 ** (codes // 8 - 10.0)).astype("f4")
scales = rng.standard_normal((2, 3)).astype("f4")
safetensors("scaled.safetensors", {"a": codes, "a_scale_inv": scales, "b_scale": scales[0, 0], "b": codes})
with h5py.File("unscaled.h5", "w") as f:
    f["a"] = exact * scales.repeat(128, 0)[:130].repeat(128, 1)[:, :300]
    f["b"] = exact * scales[0, 0]
PY
check "the files" python3 "$tmp/make.py" "$tmp"
cat >"$tmp/same.py" <<'PY'
import json
import re
import sys

# times, and what names the file
own = re.compile(r"seconds|gbps|gain_throughput|bandwidth|_share$|^file$|^command$|^date$|load1|input_xxh3|stop_reason|samples")


def rows(path):
    with open(path) as f:
        return [{k: v for k, v in json.loads(line).items() if not own.search(k)} for line in f]


a, b = rows(sys.argv[1]), rows(sys.argv[2])
assert len(a) == len(b) > 3, (len(a), len(b))
for x, y in zip(a, b):
    assert x == y, {k: (x.get(k), y.get(k)) for k in {*x, *y} if x.get(k) != y.get(k)}
PY
cd "$tmp" || exit 99

same() { # ROWS FILE...: the rows are those of the twin
    want=$1
    shift
    run compress -q --method topk --method fft:chunk=64 --format json "$@"
    exits 0
    check "$1: the rows of the twin" python3 same.py "$want" "$out"
}

run compress -q --method topk --method fft:chunk=64 --format json twin.h5
exits 0
cp "$out" twin.json
for file in lzf.h5 stored.npz deflated.npz fortran.npz big.npz a.safetensors; do
    same twin.json $file
    same twin.json --in-process $file
done
same twin.json $(find tree -name '*.npy')
same twin.json tree
ln -s ../big.npz tree/link.npz
ln -s .. tree/step_000009/up
cp big.npz tree/.hidden.npz
echo text >"tree/a$(printf '\033')b.txt"
same twin.json tree/
run inspect tree
says '3 files of other kinds in a folder skipped, such as tree: a\x1bb.txt'
check "the heading of a folder" grep -q '^tree: 2 steps x 2 workers x 6 tensors' "$out"
run replay -q --method topk:memory=ef tree
exits 0
mkdir -p empty "$(printf 'deep/%.0s' $(seq 70))"
refused 1 "empty: no float data" inspect empty
refused 2 "deep: more than 1048576 files, or folders in 64 others" inspect deep
echo text >empty/grads.pt
refused 1 "empty: no float data: 1 file of other kinds in a folder skipped, such as grads.pt" inspect empty
echo text >empty/a.NPY
refused 1 "empty/a.NPY: not an HDF5, .npy" inspect empty
same twin.json grads_*.npz
same twin.json tree/step_000009 grads_step10_rank*.npz

run compress -q --method topk --method fft:chunk=64 --format json small.h5
cp "$out" small.json
same small.json small.safetensors
run compress -q --method topk --method fft:chunk=64 --format json unscaled.h5
cp "$out" unscaled.json
same unscaled.json scaled.safetensors

# a replay follows the workers' files, and a restored dump has the tensors
run replay -q --method topk:memory=ef grads_*.npz
exits 0
run replay -q --method topk:memory=ef w_step*.npy
exits 0
run compress -q --method identity -o messages.h5 fortran.npz
exits 0
run decompress -o restored.h5 messages.h5
exits 0
same twin.json restored.h5

finish
