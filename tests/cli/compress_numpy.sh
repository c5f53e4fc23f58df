#!/bin/sh
# NumPy finds in the files what compress reports: the bytes of the messages, and the error of the
# tensors that decompress restores.
. "$(dirname "$0")/lib.sh"

here=$(dirname "$0")
mkdir "$tmp/made"
cat >"$tmp/make.py" <<'PY'
import sys

import h5py
import numpy

rng = numpy.random.default_rng(5)


def values(n, kind):
    v = rng.standard_t(3, n) * 0.01
    v[rng.random(n) < 0.1] = 0
    v = v.astype("f4")
    if kind == "bf16":  # cut to the first half of a float32
        v = (v.view("u4") & 0xFFFF0000).view("f4")
    return v


def write(path, kind):
    with h5py.File(path, "w") as f:
        for worker in (0, 1):
            g = f.create_group(f"step_000003/worker_{worker}")
            for name, n in (("conv.weight", 4800), ("bias", 61), ("one", 1), ("none", 0), ("zeros", 700)):
                data = values(n, kind) * (name != "zeros")
                d = g.create_dataset(f"part/{name}", data=data.astype({"fp16": "f2", "fp64": "f8"}.get(kind, "f4")))
                if kind == "bf16":
                    d.attrs["source_dtype"] = "bfloat16"


for kind in ("fp32", "fp16", "bf16", "fp64"):
    write(f"{sys.argv[1]}/{kind}.h5", kind)
PY
check "inputs" python3 "$tmp/make.py" "$tmp"

figures() { # FILE SCOPE [METHOD...]
    file=$1
    shift
    check "$file $*" python3 "$here/check_numpy.py" "$GCBENCH" "$file" "$tmp/made" "$@"
}

figures "$tmp/fp32.h5" tensor
for file in fp64 fp16; do # the reader and the writer convert, whatever the method
    figures "$tmp/$file.h5" model fft topk qsgd
done
figures "$tmp/fp32.h5" bucket fft topk qsgd range terngrad
figures "$tmp/bf16.h5" tensor fft topk powersgd
figures "$tmp/fp32.h5" tensor fft:values=fp32,chunk=512 fft:index=golomb topk:values=range,index=varint \
    topk:values=fp16,index=bitmap qsgd:coding=elias,norm=l2 terngrad:packing=base3,clip=0 mxfp4:scale-rule=floor mxfp4
run compress --method identity --step 400 --worker 0 -o "$tmp/made/m.h5" "$here/../../datasets/sample.h5"
run decompress -o "$tmp/sample.h5" "$tmp/made/m.h5"
exits 0
figures "$tmp/sample.h5" tensor fft topk qsgd range terngrad sbc powersgd

finish
