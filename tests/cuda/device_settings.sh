#!/bin/sh
# sweep and verify on a device, with the stand-in as the module: what is wrong, fails or is missing there, and how the
# command ends.
#   device_settings.sh GCBENCH STANDIN
. "$(dirname "$0")/../cli/lib.sh"
. "$(dirname "$0")/lib.sh"
cp "$standin" "$module" || exit 99
few="--dataset fc.* --step last --worker 0"

with() { # MODE ARGS...: cuFFT's stand-in does this (tests/support/cuda_host/host.h)
    GCB_HOST_FFT=$1
    export GCB_HOST_FFT
    shift
    run "$@" --device cuda $few "$sample"
    unset GCB_HOST_FFT
}

# ---- verify: every method that a device has, and one promise of a device's ----
for method in $(device_methods); do # one each: sanitizers are slow
    with near verify --method "$method"
    exits 0
    quiet
    prints ", cuda:0"
    prints " 0 broken, on 2 messages"
done
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
# A tensor of zeros comes back as zeros, whatever their signs.
run generate --dist sparse:zeros=1 --elements 10000 -o "$tmp/zeros.h5"
# Without --method the methods that have no device version are left out, in words.
run verify --device cuda --budget 2s --dataset stem.weight "$sample"
exits 0
if "$GCBENCH" methods --format json | grep -q '"cpu_only": *true'; then
    says "runs on the CPU only and is left out"
fi
run verify --device cuda --method demo --method sparse:transform=dct,chunk=4096 --method fft "$tmp/zeros.h5"
exits 0
# Nor is rounding near the smallest float a fault.
if python3 -c 'import h5py, numpy' 2>/dev/null; then
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
fi
with far verify --method fft --method topk
exits 5
prints "BROKEN  fft:theta=0.85,bits=10: same-device"
check "topk keeps its promises" sh -c "! grep -q 'BROKEN  topk' '$out'"
with missing verify --method fft
exits 3
says "needs cuFFT"
with missing verify --method topk --method fft --method demo --results "$tmp/others.json"
exits 3
says "fft, step"
prints "note: 2 pairs of method and message that do not run on the device: fft on step"
prints " 0 broken, on 2 messages"
check "the others' promises are there" python3 -c "
import json
rows = [json.loads(line) for line in open('$tmp/others.json')][1:]
assert {r['method'] for r in rows} >= {'topk', 'demo'}, {r['method'] for r in rows}
assert all(r['status'] != 'broken' for r in rows)"
with no-plan verify --method fft
exits 3
says "cuFFT has no plan"
with fails verify --method fft
exits 1
says "the device failed"

# ---- sweep ----
for mode in "far 5" "fails 1" "missing 3"; do
    with "${mode% *}" sweep --method fft --method topk --vary theta=0.9,0.95
    exits "${mode#* }"
    prints "topk:theta=0.95"
    with "${mode% *}" sweep --method fft --method topk --match rel_l2=0.5
    exits "${mode#* }"
done
prints "unsupported: fft" # where cuFFT is missing, the others go on
with no-plan sweep --method fft --method topk --vary theta=0.9,0.95
exits 0
prints "unsupported: fft:theta=0.9"
finish
