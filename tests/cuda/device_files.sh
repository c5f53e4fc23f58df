#!/bin/sh
# compress, decompress and sweep with the stand-in as the module give the CPU's files and rows.
# Their times mean nothing.
#   device_files.sh GCBENCH STANDIN
. "$(dirname "$0")/../cli/lib.sh"
. "$(dirname "$0")/lib.sh"
cp "$standin" "$module" || exit 99
cd "$tmp" || exit 99

few="--dataset stem.weight --dataset layers.6.sc.weight --dataset layers.0.b1.* --step last --worker 0"

pair() { # ARGS...: device and CPU write the same messages and restore the same tensors
    rm -f cpu.h5 cuda.h5 by-cpu.h5 by-cuda.h5
    run compress --repeat 1 -q --no-baselines "$@" -o cpu.h5
    exits 0
    run compress --repeat 1 -q --no-baselines "$@" -o cuda.h5 --device cuda
    exits 0
    quiet
    check "the device's file of messages is the CPU's" cmp cpu.h5 cuda.h5
    run decompress cuda.h5 -o by-cpu.h5
    exits 0
    run decompress --device cuda:0 cpu.h5 -o by-cuda.h5
    exits 0
    check "device and CPU restore the same file" cmp by-cpu.h5 by-cuda.h5
}

# The messages of every method are compared by tests/cuda/test_device.c; here those of each kind of
# coder are stored.
for method in fp16 topk terngrad qsgd:coding=elias sparse:transform=hadamard,select=chunk,values=range sbc:index=adaptive; do
    pair --method "$method" $few "$sample"
done

# Messages over several tensors, another element type, empty tensors, and raw messages.
pair --method topk:values=range --scope model $few "$sample"
pair --method qsgd:bits=4 --scope bucket --bucket-bytes 8K $few "$sample"
run generate -o half.h5 --elements 5000 --dtype fp16 --steps 2 --dist sparse:zeros=0.5
exits 0
pair --method sbc half.h5
cat >make.py <<'PY'
import h5py, numpy
with h5py.File("odd.h5", "w") as f:
    f["empty"] = numpy.zeros(0, "f4")
    f["one"] = numpy.float32(3)
    x = numpy.linspace(-1, 1, 4099, dtype="f4")
    x[[7, 4098]] = numpy.inf, numpy.nan
    f["wild"] = x
    f["dense"] = x[8:90]
PY
check "a file of unusual tensors is made" python3 make.py
pair --method redsync --nonfinite raw --dense dense odd.h5
pair --method terngrad --nonfinite zero odd.h5

# With another transform library, bytes may differ, and decoded tensors slightly.
cat >near.py <<'PY'
import h5py, numpy, sys
a, b = (h5py.File(name) for name in sys.argv[1:3])
seen = 0
def look(path, x):
    global seen
    if isinstance(x, h5py.Dataset):
        y = b[path][()].astype("f8")
        assert numpy.linalg.norm(x[()] - y) <= 1e-6 * numpy.linalg.norm(x[()]), path
        seen += 1
a.visititems(look)
assert seen >= 3, seen
PY
for method in demo sparse:transform=dct,chunk=63 fft:chunk=63; do
    for mode in exact near; do # the stand-in's spectra: the CPU's, or with some rounding errors
        GCB_HOST_FFT=$mode
        export GCB_HOST_FFT
        rm -f cuda.h5 by-cpu.h5 by-cuda.h5
        run compress --repeat 1 -q --no-baselines --method "$method" $few --device cuda -o cuda.h5 "$sample"
        exits 0
        run decompress cuda.h5 -o by-cpu.h5
        exits 0
        run decompress --device cuda cuda.h5 -o by-cuda.h5
        exits 0
        check "two transform libraries decode to nearly the same tensors" python3 near.py by-cpu.h5 by-cuda.h5
        unset GCB_HOST_FFT
    done
done

# A failed command leaves no file.
GCB_HOST_FFT=missing
export GCB_HOST_FFT
fails 3 "transform=fft of this length needs cuFFT, and neither libcufft.so.12 nor libcufft.so.11 was found" compress --repeat 1 -q --method fft:chunk=63 $few --device cuda -o made/x.h5 --results made/x.json "$sample"
fails 3 "cuFFT" decompress --device cuda cuda.h5 -o made/x.h5
GCB_HOST_FFT=no-plan
fails 3 "cuFFT has no plan" compress --repeat 1 -q --method fft:chunk=63 $few --device cuda -o made/x.h5 "$sample"
GCB_HOST_FFT=far # the device is wrong; no file of it is kept
fails 5 "the device and the CPU decode the message to different values" compress --repeat 1 -q --method fft:chunk=63 $few --device cuda -o made/x.h5 "$sample"
unset GCB_HOST_FFT
check "no output is written" made_nothing

# A changed byte anywhere is found, by the host or by the device.
rm -f cpu.h5
run compress --repeat 1 -q --no-baselines --method topk --dataset stem.weight --step last --worker 0 -o cpu.h5 "$sample"
exits 0
cat >damage.py <<'PY'
import h5py, shutil, sys
shutil.copy("cpu.h5", "bad.h5")
with h5py.File("bad.h5", "r+") as f:
    found = []
    f.visititems(lambda path, x: found.append(path) if isinstance(x, h5py.Dataset) and x.dtype == "u1" else None)
    d = f[found[0]]
    at = int(float(sys.argv[1]) * (d.shape[0] - 1))
    d[at] = d[at] ^ 0x10
PY
for at in 0 0.1 0.9; do
    check "a byte is changed" python3 damage.py $at
    run decompress bad.h5 -o made/x.h5
    exits 1
    cp "$err" cpu.err
    run decompress --device cuda bad.h5 -o made/x.h5
    exits 1
    check "device and CPU print the same message" cmp "$err" cpu.err
    check "no output is written" made_nothing
done
run decompress --device cuda "$sample" -o made/x.h5
exits 1
check "no output is written" made_nothing

# Rows have the CPU's bytes and errors, and the device's name, times and launches.
cat >rows.py <<'PY'
import json, sys
times = ("seconds", "_gbps", "gain_throughput", "_share", "_launches", "stop_reason", "device_bytes", "group_messages", "gpu_clock", "kernel_seconds")
def load(name):
    rows = [row for row in map(json.loads, open(name)) if row["record"] != "answer"]  # it has speeds
    return rows[0], rows[1:]
def plain(row):
    return {k: v for k, v in row.items() if k != "device" and not any(t in k for t in times)}
_, cpu = load("cpu.json")
env, cuda = load("cuda.json")
assert env["gpu"] == "a stand-in on the CPU, for tests" and env["gpu_copy_gbps"] > 0, env
assert env["device"] == "cuda:0", env["device"]
assert len(cpu) == len(cuda) >= int(sys.argv[1]), (len(cpu), len(cuda))
timed = 0
for a, b in zip(cpu, cuda):
    # the sums over result rows are the same, also when merged over messages
    assert plain(a) == plain(b), (plain(a), plain(b))
    if "device" not in b or "wire_bytes" not in b:
        continue
    assert (a["device"], b["device"]) == ("cpu", "cuda:0")
    if b["encode_seconds"] is None:
        continue
    timed += 1
    for name in ("encode_kernel_seconds", "encode_transfer_seconds", "decode_kernel_seconds", "decode_transfer_seconds",
                 "encode_launches", "decode_launches", "encode_bandwidth_share", "decode_bandwidth_share",
                 "device_bytes", "gpu_clock_mhz"):
        assert b[name] is not None and b[name] >= 0, name
    for name in ("transform_seconds", "select_seconds", "quantise_seconds", "index_seconds"):
        assert b[name] is None, name
assert timed > 0
PY
both() { # ROWS ARGS...: device and CPU give the same rows, at least that many
    rows=$1
    shift
    rm -f cpu.json cuda.json
    run "$@" --results cpu.json "$sample"
    exits 0
    run "$@" --device cuda:0 --results cuda.json "$sample"
    exits 0
    prints ", cuda:0"
    check "the device's rows are the CPU's, except for times" python3 rows.py "$rows"
}
both 12 compress $few --method qsgd --method topk --repeat 2 --histogram --per message
both 5 sweep $few --method topk --method qsgd --vary theta=0.9,0.99 --vary bits=2,4
both 2 sweep $few --method topk --match rel_l2=0.5

run compress --repeat 1 $few --device cuda --method topk --threads 2 "$sample"
exits 0
prints "2 threads, cuda:0"
finish
