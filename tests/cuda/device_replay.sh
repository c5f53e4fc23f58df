#!/bin/sh
# replay with the stand-in as the module gives the rows of the CPU; and what happens if the device
# is wrong.
#   device_replay.sh GCBENCH STANDIN
. "$(dirname "$0")/../cli/lib.sh"
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 99

few="--dataset stem.weight --dataset layers.0.b1.* --worker 0 --allow-gaps"

fails 3 "no CUDA module" replay --device cuda --method topk:memory=ef $few --results made/x.json "$sample"
check "no file is left" made_nothing
cp "$standin" "$module" || exit 99

cat >same.py <<'PY'
import json, sys
def rows(name):
    all = [json.loads(line) for line in open(name)]
    assert all.pop()["record"] == "answer"
    return all[0], all[1:]
(_, cpu), (environment, cuda) = rows(sys.argv[1]), rows(sys.argv[2])
near = len(sys.argv) > 3
assert environment["device"] == "cuda:0" and environment["gpu"], environment
assert len(cpu) == len(cuda) > 1
for a, b in zip(cpu, cuda):
    assert a.pop("device") == "cpu" and b.pop("device") == "cuda:0"
    assert a.keys() == b.keys()
    for key in a:
        if near and isinstance(a[key], float):
            assert abs(a[key] - b[key]) <= 1e-3 * abs(a[key]) + 1e-3, (key, a[key], b[key])
        elif not near or "bytes" not in key:
            assert a[key] == b[key], (a.get("spec"), key, a[key], b[key])
PY
pair() { # ARGS...: device and CPU give the same rows
    run replay -q "$@" --force --results cpu.json
    exits 0
    run replay -q "$@" --force --results cuda.json --device cuda
    exits 0
    quiet
    check "the device's rows are the CPU's" python3 same.py cpu.json cuda.json
}

# Every method whose messages are the same on all devices, with its own memory and with feedback,
# all in one process. New methods are included automatically.
exact=$(device_methods library-math)
check "methods are listed" test -n "$exact"
pair $(printf -- '--method %s:collective=allgather ' $exact) $few "$sample"
pair $(printf -- '--method %s:memory=ef,decay=0.75,collective=allgather ' $exact) $few --loop 2 "$sample"
# Every kind of memory with its parameters, over more steps than a message covers.
pair $(printf -- '--method %s ' sparse:transform=hadamard,memory=demo,momentum=0.9 dgc:masking=no dgc:nesterov=yes \
    dgc:clip-norm=0.01 dgc:nesterov=redsync dgc:values=fp16,residual=clear \
    redsync:dense-below=100,density=0.05,quant=asq qsgd:memory=dgc,momentum=0.5 sbc:delay=3,momentum=0.5 \
    sbc:delay=100) $few --loop 3 "$sample"
# All workers, other scopes, schedules and tuning.
pair --method dgc --method redsync --scope model --dataset 'layers.0.b*' --allow-gaps "$sample"
pair --method topk:memory=ef --theta-schedule 0.9@0,0.5@2 --loop 2 $few "$sample"
pair --method topk --dense 'layers.0.b1.weight' $few "$sample"

# After a change of theta the device searches a threshold again, and the CPU beside it too.
run replay -q --device cuda --method redsync:dense-below=0,trimmed-below=0 --theta-schedule 0.9@0,0.5@2 --loop 2 \
    $few "$sample"
exits 0
quiet

# All-reduces: sums on their way, with memories, with messages that cover several steps, and with a
# change of parameters.
reducing=$("$GCBENCH" methods --format json | python3 -c '
import json, sys
for m in map(json.loads, sys.stdin):
    if not m["cpu_only"] and "allreduce" in m["collectives"]: print(m["method"])')
check "methods have all-reduces" test "$(echo $reducing)" = "identity fp16 bf16 qsgd qgz terngrad randomk"
pair $(printf -- '--method %s:collective=allreduce ' $reducing) $few --loop 2 "$sample"
pair $(printf -- '--method %s:memory=ef,decay=0.75,collective=allreduce ' $reducing) $few --loop 2 "$sample"
pair $(printf -- '--method %s:memory=delay,delay=3,momentum=0.5,collective=allreduce ' $reducing) $few --loop 3 "$sample"
pair --method qsgd:bits=8,memory=dgc,clip-norm=0.01,collective=allreduce --scope model --allow-gaps "$sample"
pair --method fp16 --dense 'layers.0.b1.weight' $few "$sample"

# Other collectives and methods stay on the CPU.
fails 3 "method 'qsgd': collective=twoshot runs on the CPU only; use --device cpu or collective=allgather" replay --device cuda --method qsgd:collective=twoshot $few --results made/x.json "$sample"
fails 3 "method 'powersgd' runs on the CPU only; use --device cpu" replay --device cuda --method powersgd $few --results made/x.json "$sample"
check "no file is left" made_nothing

# The table and its heading.
run replay --device cuda:0 --method topk:memory=ef $few "$sample"
exits 0
quiet
prints ", cuda:0"
prints "of its bound"

# The stand-in for cuFFT within its tolerance, outside it, failing, and missing.
with() { # MODE ARGS...
    GCB_HOST_FFT=$1
    export GCB_HOST_FFT
    shift
    run replay -q --device cuda "$@" $few --results made/x.json "$sample"
    unset GCB_HOST_FFT
}
for method in fft:chunk=63,memory=ef sparse:transform=dct,chunk=63,memory=demo; do
    run replay -q --method "$method" $few --force --results cpu.json "$sample"
    with near --method "$method"
    exits 0
    check "the device's rows are nearly the CPU's" python3 same.py cpu.json made/x.json near
    rm made/x.json
done
with far --method fft:chunk=63,memory=ef
exits 5
says "fft, step 100 worker 0 stem.weight: the device and the CPU decode the message to different values"
check "no file is left" made_nothing
with fails --method fft:chunk=63
exits 1
says "cufftExecR2C"
check "no file is left" made_nothing
with missing --method fft:chunk=63
exits 3
says "needs cuFFT"
check "no file is left" made_nothing

# A device that is wrong or fails.
GCB_HOST_COPY=damaged
export GCB_HOST_COPY
fails 5 "stem.weight: the device's memory gives other values than the CPU's" replay --device cuda --method topk:memory=ef $few "$sample"
unset GCB_HOST_COPY
GCB_HOST_BREAK=30
export GCB_HOST_BREAK
run replay --device cuda --method dgc $few --results made/x.json "$sample"
unset GCB_HOST_BREAK
exits 1
says "launch failure"
check "no file is left" made_nothing

# Options that have no effect on a device.
fails 2 "--fft-engine" replay --device cuda --method fft --fft-engine fftw $few "$sample"
finish
