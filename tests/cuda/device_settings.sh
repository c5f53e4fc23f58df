#!/bin/sh
# sweep and verify with the stand-in as the module: results that are wrong, failures, missing
# libraries, and exit statuses.
#   device_settings.sh GCBENCH STANDIN
. "$(dirname "$0")/../cli/lib.sh"
. "$(dirname "$0")/lib.sh"
cp "$standin" "$module" || exit 99
few="--dataset fc.* --step last --worker 0"

with() { # MODE ARGS...: runs it with the stand-in for cuFFT in this mode (tests/support/cuda_host/host.h)
    GCB_HOST_FFT=$1
    export GCB_HOST_FFT
    shift
    run "$@" --device cuda $few "$sample"
    unset GCB_HOST_FFT
}

# ---- verify: the promise that is checked on devices only. tests/cuda/test_device.c has every
# method. ----
with near verify --method topk --method fft:chunk=63 --method qsgd --method demo --method fp16
exits 0
quiet
prints ", cuda:0"
prints " 0 broken, on 2 messages"
with exact verify --method topk --method qsgd --format json --results "$tmp/v.json"
exits 0
check "rows of the device" python3 -c "
import json
rows = [json.loads(line) for line in open('$tmp/v.json')]
assert rows[0]['device'] == 'cuda:0' and rows[0]['gpu'], rows[0]
rows = rows[1:]
assert {r['device'] for r in rows} == {'cuda:0'}
names = {r['promise'] for r in rows}
assert 'same-device' in names and 'round-trip' in names and 'unbiased' in names, names
assert not names & {'same-threads', 'same-isa'}, names
assert all(r['status'] == 'kept' for r in rows if r['promise'] == 'same-device'), rows"
# A tensor of zeros of both signs comes back as zeros.
run generate --dist sparse:zeros=1 --elements 10000 -o "$tmp/zeros.h5"
# Without --method, methods without a device version are left out, with a message.
run verify --device cuda --dataset stem.weight --step last --worker 0 "$sample"
exits 0
if "$GCBENCH" methods --format json | grep -q '"cpu_only": *true'; then
    says "on the CPU only, and left out: "
fi
run verify --device cuda --method demo --method sparse:transform=dct,chunk=4096 --method fft "$tmp/zeros.h5"
exits 0
# Rounding near the smallest float is not a broken promise.
python3 - "$tmp/tiny.h5" <<'END'
import h5py, numpy, sys
x = numpy.random.default_rng(1).standard_normal(5000)
with h5py.File(sys.argv[1], "w") as f:
    for power in (36, 38, 40, 42):
        f["tiny%d" % power] = (x * 10.0 ** -power).astype("f4")
END
for method in demo sparse:transform=dct,chunk=64 fft; do
    run compress --device cuda --method $method "$tmp/tiny.h5"
    exits 0
    run verify --device cuda --method $method "$tmp/tiny.h5"
    exits 0
done
with far verify --method fft:chunk=63 --method topk
exits 5
prints "BROKEN  fft:chunk=63: same-device"
check "topk keeps its promises" sh -c "! grep -q 'BROKEN  topk' '$out'"
with missing verify --method fft:chunk=63
exits 3
says "needs cuFFT"
with missing verify --method topk --method fft:chunk=63 --method demo --results "$tmp/others.json"
exits 3
says "fft, step"
prints "note: 1 pair of a method and a message that do not run on the device: fft on"
prints " 0 broken, on 2 messages"
check "promises of the other methods are checked" python3 -c "
import json
rows = [json.loads(line) for line in open('$tmp/others.json')][1:]
assert {r['method'] for r in rows} >= {'topk', 'demo'}, {r['method'] for r in rows}
assert all(r['status'] != 'broken' for r in rows)"
with no-plan verify --method fft:chunk=63
exits 3
says "cuFFT has no plan"
with fails verify --method fft:chunk=63
exits 1
says "device cuda: unknown error (cufftExec"

# ---- sweep ----
for mode in "far 5" "fails 1" "missing 3"; do
    with "${mode% *}" sweep --method fft:chunk=63 --method topk --vary theta=0.9,0.95
    exits "${mode#* }"
    prints "topk:theta=0.95"
    with "${mode% *}" sweep --method fft:chunk=63 --method topk --match rel_l2=0.5
    exits "${mode#* }"
done
prints "unsupported: fft" # cuFFT is missing; the other methods run
with no-plan sweep --method fft:chunk=63 --method topk --vary theta=0.9,0.95
exits 0
prints "unsupported: fft:theta=0.9"
finish
