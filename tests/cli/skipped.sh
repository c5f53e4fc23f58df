#!/bin/sh
# What a file holds besides plain float datasets under step_N/worker_N: read if it can be, and
# otherwise said by each command.
. "$(dirname "$0")/lib.sh"
python3 -c 'import h5py, numpy' 2>/dev/null || skip "needs python3 with h5py and numpy"

cat >"$tmp/make.py" <<'PY'
import os, sys
import h5py, numpy as np
os.chdir(sys.argv[1])
x = np.arange(1, 101, dtype="f4")

with h5py.File("hard.h5", "w") as f:  # h5py sees 3 steps of 2 tensors
    a = f.create_group("step_0/worker_0")
    a["w"] = x
    a["b"] = x
    b = f.create_group("step_1/worker_0")
    b["w"] = a["w"]
    b["b"] = x * 2
    f.create_group("step_2")["worker_0"] = a
with h5py.File("soft.h5", "w") as f:  # steps 1 and 2 link to data that is in no step
    f["data/a"] = x
    f["data/b"] = x
    for s in (1, 2):
        g = f.create_group(f"step_{s}/worker_0")
        g["a"] = h5py.SoftLink("/data/a")
        g["b"] = h5py.SoftLink("/data/b")
    f["latest"] = h5py.SoftLink("/step_2")
    f["best"] = f["step_1"]
with h5py.File("tied.h5", "w") as f:
    g = f.create_group("step_1/worker_0")
    g["embedding"] = x
    g["head"] = g["embedding"]
    g["soft"] = h5py.SoftLink("embedding")
    g["gone"] = h5py.SoftLink("/nowhere")
    g["up"] = f["step_1"]
    f["step_2/worker_0/w"] = x
    f["step_2/before"] = f["step_1"]

# bf16 as ml_dtypes writes it through h5py, fp8, and other types
wide = np.random.default_rng(0).normal(size=(64, 50)).astype("f4")
half = (wide.view("u4") >> 16).astype("u2")
with h5py.File("mix.h5", "w") as f:
    for s in (1, 2):
        f[f"step_{s}/worker_0/w"] = half.view("V2")
        f[f"step_{s}/worker_0/b"] = wide[0]
with h5py.File("words.h5", "w") as f:
    g = f.create_group("step_1/worker_0")
    g["opaque"] = half.view("V2")
    g["u2"] = half
    g["i2"] = half.view("i2")
    g["big"] = half.astype(">u2")
    g.create_dataset("chunked", data=half, chunks=(5, 7), compression="gzip", shuffle=True)
    g.create_dataset("big_chunked", data=half.astype(">u2"), chunks=(64, 9))
    g.create_dataset("opaque_chunked", data=half.view("V2"), chunks=(3, 50))
    g["expected"] = (half.astype("u4") << 16).view("f4")
with h5py.File("named.h5", "w") as f:
    g = f.create_group("step_1/worker_0")
    for i, name in enumerate(("bfloat16", "torch.bfloat16", "bf16")):
        g[f"w{i}"] = half
        g[f"w{i}"].attrs["source_dtype"] = name
    g["f"] = np.arange(256, dtype="u1")
    g["f"].attrs["source_dtype"] = "float8_e5m2"
    g["h"] = np.arange(8).astype("f2").view("u2")
    g["h"].attrs["source_dtype"] = "float16"
    g["wrong"] = np.arange(8, dtype="u1")  # bfloat16 has 2 bytes
    g["wrong"].attrs["source_dtype"] = "bfloat16"
with h5py.File("fp8.h5", "w") as f:
    g = f.create_group("step_1/worker_0")
    g["all"] = np.arange(256, dtype="u1")
    g["signed"] = np.arange(256, dtype="u1").view("i1")
    g.create_dataset("chunked", data=np.tile(np.arange(256, dtype="u1"), 300), chunks=(1000,), compression="gzip")
with h5py.File("others.h5", "w") as f:
    g = f.create_group("step_1/worker_0")
    g["w"] = x
    g["count"] = np.arange(4)
    g["name"] = "text"
    g["long"] = x.astype(np.longdouble)
    g["complex"] = x.astype("c8")
    g["mask"] = x > 3
    g["labels"] = np.arange(4, dtype="i1")

for name, paths in {
    "rank_iter.h5": ("rank0/iter12/layer", "rank1/iter12/layer", "rank1/iteration_13/layer"),
    "numbers.h5": ("12/layer", "13/layer", "13/0/inner/3/w"),
    "both.h5": ("epoch_1/step_10/gpu0/w", "epoch_2/step-20/GPU_1/w"),
    "worker_first.h5": ("replica_2/7/w", "device:3/7/w"),
    "snapshots.h5": ("snap1/w", "snap2/w"),
    "flat.h5": ("step5.fc.weight", "step6.fc.weight"),
    "step_number.h5": ("step_1/0/w", "step_1/1/w"),
}.items():
    with h5py.File(name, "w") as f:
        for path in paths:
            f[path] = x

with h5py.File("unwritten.h5", "w") as f:
    g = f.create_group("step_1/worker_0")
    g["w"] = x
    g.create_dataset("never", shape=(50,), dtype="f4")
with h5py.File("unwritten_large.h5", "w") as f:
    g = f.create_group("step_1/worker_0")
    g["w"] = x
    g.create_dataset("never", shape=(50000,), dtype="f4")
with h5py.File("netcdf.h5", "w") as f:  # as netCDF-4 stores a dimension without values
    f["w"] = x
    d = f.create_dataset("time", shape=(12,), dtype=">f4")
    d.attrs["CLASS"] = np.bytes_("DIMENSION_SCALE")
    d.attrs["NAME"] = np.bytes_("This is a netCDF dimension but not a netCDF variable.        12")
    f["lon"] = x  # a variable with values is read
    f["lon"].attrs["CLASS"] = np.bytes_("DIMENSION_SCALE")
    f["lon"].attrs["NAME"] = np.bytes_("lon")
with h5py.File("wide.h5", "w") as f:
    f["step_1/worker_0/w"] = x
    f["step_1/worker_0/wide"] = np.array([1, 2, 1e300])

with h5py.File("refused.h5", "w") as f:
    for s in (1, 2):
        f[f"step_{s}/worker_0/w"] = x
    f["step_1/worker_0/out"] = h5py.ExternalLink("other.h5", "/x")
    f["step_2/worker_0/deep/out"] = h5py.ExternalLink("other.h5", "/x")
    f.create_dataset("step_2/worker_0/scaled", data=x, scaleoffset=3)
    f["step_2/worker_4294967296/w"] = x
with h5py.File("damaged.h5", "w") as f:  # the header of a dataset cannot be read
    f["step_1/worker_0/w"] = x
    f["step_1/worker_0/bad"] = x
    at = h5py.h5o.get_info(f["step_1/worker_0/bad"].id).addr
data = bytearray(open("damaged.h5", "rb").read())
data[at] = 77
open("damaged.h5", "wb").write(data)
PY
check "the files" python3 "$tmp/make.py" "$tmp"
[ "$failed" -eq 0 ] || finish

# ---- links ----

run inspect "$tmp/hard.h5"
exits 0
quiet
prints "hard.h5: 3 steps x 1 worker x 2 tensors, fp32, 2.4 kB"
run inspect --step 2 "$tmp/hard.h5"
exits 0
prints "1 step x 1 worker x 2 tensors"
run replay --method topk "$tmp/hard.h5"
exits 0
prints "3 steps"
run inspect "$tmp/soft.h5"
exits 0
prints "soft.h5: 2 steps x 1 worker x 2 tensors, fp32, 1.6 kB"
says "tensors read only under another name, which has a step or worker, such as"
run inspect --step 1 "$tmp/soft.h5"
exits 0
quiet
prints "1 step x 1 worker x 2 tensors"
run inspect "$tmp/tied.h5"
exits 0
says "4 links not followed, because the target is missing, in another file, or a group that the path went through, such as"
prints "tied.h5: 2 steps x 1 worker x 7 tensors (not all)"
run inspect --format json "$tmp/tied.h5"
for tensor in embedding head soft before/worker_0/embedding before/worker_0/head; do
    check "$tensor is read" grep -q "\"tensor\": *\"$tensor\"" "$out"
done

# ---- floats in other types ----

for command in inspect 'compress --method topk --repeat 2' 'bench --method topk --repeat 2 --no-bandwidth' \
    'replay --method topk' verify 'sweep --method topk --vary theta=0.9,0.95'; do
    run $command "$tmp/mix.h5"
    exits 0
    says "note: 2 datasets of 2-byte integers or bytes skipped, such as /step_1/worker_0/w; --as bf16 or --as fp16 reads them"
    run $command -q "$tmp/mix.h5"
    quiet
    run $command --exclude w "$tmp/mix.h5"
    quiet
    run $command --as bf16 "$tmp/mix.h5"
    exits 0
    quiet
done
run inspect --as bf16 "$tmp/mix.h5"
prints "mix.h5: 2 steps x 1 worker x 2 tensors, mixed types"
cat >"$tmp/compare.py" <<'PY'
"""Compares rows of inspect with the values that the datasets hold: compare.py FILE ROWS FORMAT"""
import json, sys
import h5py, numpy as np


def fp8(codes, fraction, bias, finite):
    codes = codes.astype(np.int64) & 255
    low, high = codes & 127 & ((1 << fraction) - 1), (codes & 127) >> fraction
    x = np.where(high == 0, low * 2.0 ** (1 - bias - fraction), (1 + low / 2.0 ** fraction) * 2.0 ** (high - bias))
    if finite:
        x[(codes & 127) == 127] = np.nan
    else:
        x[high == 31] = np.where(low[high == 31] == 0, np.inf, np.nan)
    return np.where(codes > 127, -x, x)


KINDS = {"bf16": lambda d: (np.frombuffer(d.tobytes(), ">u2" if d.dtype.byteorder == ">" else "<u2").astype("u4") << 16).view("f4"),
         "fp8_e4m3": lambda d: fp8(d, 3, 7, True), "fp8_e5m2": lambda d: fp8(d, 2, 15, False)}
rows = [json.loads(line) for line in open(sys.argv[2])]
with h5py.File(sys.argv[1]) as f:
    for row in rows:
        if row["record"] != "tensor":
            continue
        d = f["step_1/worker_0"][row["tensor"]]
        x = (d[()] if d.dtype.kind == "f" else KINDS[sys.argv[3]](d[()])).ravel().astype("f8")
        good = x[np.isfinite(x)]
        assert row["elements"] == len(x), row
        assert row["nonfinite"] == len(x) - len(good), (row["nonfinite"], len(x) - len(good))
        assert abs(row["l2"] - np.sqrt((good ** 2).sum())) <= 1e-9 * row["l2"], (row, np.sqrt((good ** 2).sum()))
        assert abs(row["mean"] - good.mean()) <= 1e-9 * row["max_abs"], (row, good.mean())
        assert row["max_abs"] == abs(good).max(), (row, abs(good).max())
        print(row["tensor"])
PY
same() { # FILE FORMAT COUNT: the values of COUNT tensors, read in a child and without one
    for how in "" --in-process; do
        run inspect --format json --as "$2" $how "$tmp/$1"
        exits 0
        cp "$out" "$tmp/rows"
        last="inspect --as $2 $how $1"
        python3 "$tmp/compare.py" "$tmp/$1" "$tmp/rows" "$2" >"$tmp/names" 2>"$err"
        verdict $? "the values of the tensors"
        check "$3 tensors" test "$(wc -l <"$tmp/names")" -eq "$3"
    done
}
same words.h5 bf16 8
same fp8.h5 fp8_e4m3 3
same fp8.h5 fp8_e5m2 3
run inspect "$tmp/words.h5"
says "7 datasets of 2-byte integers or bytes skipped"
run inspect --as fp16 "$tmp/words.h5"
exits 0
quiet
run inspect --as fp8_e4m3 "$tmp/fp8.h5"
says "3 tensors of fp8 read as fp16, so that an element counts 2 bytes"
fails 1 "no float data: 3 datasets of 1-byte integers or bytes skipped, such as /step_1/worker_0/all; --as fp8_e4m3 or --as fp8_e5m2 reads them" inspect "$tmp/fp8.h5"
run inspect "$tmp/named.h5"
exits 0
check "the wrong one is skipped" grep -q "1 dataset of 1-byte integers or bytes skipped, such as .*/wrong" "$err"
check "w0, w1 and w2 are bf16" test "$(grep -c '^w[012] *64x50  -2.8e-02' "$out")" -eq 3
check "f is fp8" grep -q '^f  *256 .* 8$' "$out"
check "h is fp16" grep -q '^h  *8  *3.5e+00' "$out"
run inspect --as bf16 --as fp8_e4m3 "$tmp/named.h5"
exits 0
check "--as may be given for each size" grep -q '^wrong ' "$out"
refused 2 "--as is one of bf16, fp16, fp8_e4m3, fp8_e5m2, not 'bf17'; did you mean 'bf16'?" inspect --as bf17 "$tmp/mix.h5"
run inspect "$tmp/others.h5"
exits 0
check "each kind has a line" test "$(wc -l <"$err")" -eq 3

# messages of bf16 that came as integers are restored as bfloat16
run compress --method bf16 --as bf16 --repeat 1 -o "$tmp/m.h5" "$tmp/mix.h5"
exits 0
run decompress "$tmp/m.h5" -o "$tmp/back.h5"
exits 0
run inspect "$tmp/back.h5"
prints "mixed types"
check "the mean is that of the input" grep -q '^w *64x50  -2.8e-02' "$out"

# ---- names of steps and workers ----

extent() { # FILE WORDS [NOTE]
    run inspect "$tmp/$1"
    exits 0
    prints "$1: $2"
    if [ $# -gt 2 ]; then
        says "$3"
    else
        quiet
    fi
}
extent rank_iter.h5 "2 steps x 2 workers x 1 tensor (not all)"
check "the tensor's name" grep -q '^layer ' "$out"
run inspect --step 13 --worker 1 "$tmp/rank_iter.h5"
exits 0
extent numbers.h5 "2 steps x 1 worker x 2 tensors (not all)" "3 tensors in a group whose name is a number, which is taken as the step, such as /12/layer"
check "numbers within a tensor's name stay" grep -q '^0/inner/3/w ' "$out"
run inspect --step 12 "$tmp/numbers.h5"
exits 0
extent both.h5 "2 steps x 2 workers x 1 tensor (not all)"
run inspect --step 20 --worker 1 "$tmp/both.h5"
exits 0
extent worker_first.h5 "1 step x 2 workers x 1 tensor" "2 tensors in a group whose name is a number"
extent snapshots.h5 "1 step x 1 worker x 2 tensors" "2 tensors read as step 0, because no group is named step_N or iter_N, such as /snap1/w"
extent flat.h5 "1 step x 1 worker x 2 tensors" "2 tensors read as step 0"
extent step_number.h5 "1 step x 1 worker x 2 tensors" "2 tensors in a numbered group that is not taken as a worker, such as /step_1/0/w; workers are groups named worker_N or rank_N"

# ---- data that is not a gradient ----

extent unwritten.h5 "1 step x 1 worker x 2 tensors" "1 dataset that was never written, read as its fill value, such as /step_1/worker_0/never; is the dump complete?"
refused 1 "/step_1/worker_0/never: was never written: it declares 200000 bytes and stores 0; --exclude leaves it out" \
    inspect "$tmp/unwritten_large.h5"
run inspect --exclude never "$tmp/unwritten_large.h5"
exits 0
quiet
extent netcdf.h5 "1 step x 1 worker x 2 tensors" "1 netCDF dimension without values skipped, such as /time"
for command in inspect 'compress --method topk' 'bench --method topk --no-bandwidth' verify; do
    run $command "$tmp/wide.h5"
    exits 1
    check "names the element" grep -qF "/step_1/worker_0/wide: element 2 is 1e+300, but methods work in float32, which ends at 3.40282e+38; --exclude leaves the tensor out" "$err"
    run $command --exclude wide "$tmp/wide.h5"
    exits 0
done

# ---- what is not selected may be refused ----

refused 1 "/step_1/worker_0/out: a link to another file; --allow-external follows it" inspect "$tmp/refused.h5"
unread="skipped, unreadable and not selected, such as"
run inspect --exclude out --exclude 'deep*' --exclude scaled --worker 0 "$tmp/refused.h5"
exits 0
says "2 objects $unread /step_1/worker_0/out"
prints "2 steps x 1 worker x 1 tensor"
run inspect --dataset w --worker 0 "$tmp/refused.h5"
exits 0
says "2 objects $unread"
refused 1 "/step_2/worker_0/deep/out: a link to another file" inspect --dataset '*w' --worker 0 --exclude out "$tmp/refused.h5"
refused 1 "the worker's number is above 4294967294" inspect --dataset w "$tmp/refused.h5"
run inspect --step 1 --exclude out "$tmp/refused.h5"
exits 0
refused 1 "/step_1/worker_0/bad: damaged" inspect "$tmp/damaged.h5"
run inspect --exclude bad "$tmp/damaged.h5"
exits 0
says "1 object $unread /step_1/worker_0/bad"
run inspect --dataset w "$tmp/damaged.h5"
exits 0
finish
