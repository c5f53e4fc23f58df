#!/bin/sh
# compress -o, then decompress, restores the tree, shapes, types and, for lossless methods, every
# bit. A cut file of messages is refused.
. "$(dirname "$0")/lib.sh"

mkdir "$tmp/dir"
cat >"$tmp/make.py" <<'PY'
import h5py, numpy, sys
rng = numpy.random.default_rng(3)
with h5py.File(sys.argv[1], "w") as f:
    for step in (0, 1):
        for worker in (0, 1):
            g = f.create_group(f"step_{step:06d}/worker_{worker}")
            for i, (name, shape, kind) in enumerate([("b/c.weight", (3, 5, 7), "f4"), ("a", (4099,), "f4"),
                                                     ("half", (33,), "f2"), ("wide", (12, 2), "f8"),
                                                     ("scalar", (), "f4"), ("none", (0, 3), "f4")]):
                d = g.create_dataset(name, data=rng.normal(size=shape).astype("f4").astype(kind))
                d.attrs["index"] = i
PY
cat >"$tmp/same.py" <<'PY'
import h5py, numpy, sys


def tensors(path):
    found = {}
    with h5py.File(path, "r") as f:
        f.visititems(lambda name, d: found.__setitem__(name, (d.dtype, d.shape, d[...].tobytes()))
                     if isinstance(d, h5py.Dataset) else None)
    return found


a, b = tensors(sys.argv[1]), tensors(sys.argv[2])
assert a.keys() == b.keys(), (sorted(a), sorted(b))
for name in a:
    assert a[name][:2] == b[name][:2], name
    assert "lossy" in sys.argv or a[name] == b[name], name
PY

check "input" python3 "$tmp/make.py" "$tmp/in.h5"
for scope in tensor bucket model; do
    for method in identity fft qsgd; do
        run compress --repeat 1 --method $method --scope $scope -o "$tmp/m.h5" --force "$tmp/in.h5"
        exits 0
        rm -f "$tmp/dir/back.h5"
        run decompress -o "$tmp/dir/back.h5" "$tmp/m.h5"
        exits 0
        quiet
        check "nothing on stdout" test ! -s "$out"
        lossy=$([ $method = identity ] || echo lossy)
        check "$method, $scope: the same tree comes back" \
            python3 "$tmp/same.py" "$tmp/in.h5" "$tmp/dir/back.h5" $lossy
        cp "$tmp/dir/back.h5" "$tmp/one.h5"
        run decompress --threads 2 --isa c --force -o "$tmp/dir/back.h5" "$tmp/m.h5"
        exits 0
        check "with two threads in C" python3 "$tmp/same.py" "$tmp/one.h5" "$tmp/dir/back.h5" \
            $([ $method = fft ] && echo lossy)
    done
    rm -f "$tmp/dir/back.h5"
done

# test_container_damage.c changes each byte
head -c 2000 "$tmp/m.h5" >"$tmp/cut.h5"
fails 1 "cut.h5" decompress -o "$tmp/dir/back.h5" "$tmp/cut.h5"
only

# restores two files of messages into one; the same file twice is refused
run compress --repeat 1 --method fp16 --step 0 -o "$tmp/s0.h5" "$tmp/in.h5"
run compress --repeat 1 --method bf16 --step 1 -o "$tmp/s1.h5" "$tmp/in.h5"
run decompress -o "$tmp/both.h5" "$tmp/s0.h5" "$tmp/s1.h5"
exits 0
check "both steps are there" python3 "$tmp/same.py" "$tmp/in.h5" "$tmp/both.h5" lossy
run decompress -o "$tmp/dir/twice.h5" "$tmp/s0.h5" "$tmp/s0.h5"
check "exit status 1 or 2, not $rc" test "$rc" -eq 1 -o "$rc" -eq 2
only

run decompress --max-bytes 1K -o "$tmp/dir/back.h5" "$tmp/m.h5"
exits 1
only

finish
