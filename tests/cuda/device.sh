#!/bin/sh
# The command with different CUDA modules: none, damaged ones, one of another version, and the
# stand-in.
#   device.sh GCBENCH STANDIN
. "$(dirname "$0")/../cli/lib.sh"
. "$(dirname "$0")/lib.sh"
few="--dataset stem.weight"

run compress -q --method topk $few -o "$tmp/messages.h5" "$sample"

refuses() { # WORDS: info prints them and continues; commands with --device print them and fail
    fails 3 "$1" compress --device cuda --method topk $few -o "$tmp/made/x.h5" --results "$tmp/made/x.json" "$sample"
    fails 3 "$1" decompress --device cuda:0 -o "$tmp/made/x.h5" "$tmp/messages.h5"
    fails 3 "$1" sweep --device cuda --vary theta=0.9 --method topk $few --results "$tmp/made/x.json" "$sample"
    fails 3 "$1" verify --device cuda --method topk --results "$tmp/made/x.json" "$sample"
    check "no output is written" made_nothing
    run info
    exits 0
    quiet
    prints "gpu              none: "
    tr -s ' \n' '  ' <"$out" >"$tmp/words" # the message is wrapped
    check "info prints the message" grep -qF -- "$1" "$tmp/words"
    check "info fits a terminal" sh -c "! grep '^ .\{80\}' '$out'"
    run methods topk
    exits 0
    check "no method runs on a device" grep -qx "backends  cpu" "$out"
    run compress --method topk $few "$sample"
    exits 0
}

refuses "no CUDA module (libgcbench-cuda.so was not found; build gcbench with \`./dev build\` on a machine with nvcc to get it)"

echo "not a library" >"$module"
refuses "libgcbench-cuda.so"
says_nothing_of_absence() { ! grep -q "was not found" "$out"; }
run info
check "a module that does not load is not called missing" says_nothing_of_absence

# A module that exists but does not load: the loader's message is shown.
echo 'extern int nowhere(void); int gcb_device_module(void) { return nowhere(); }' >"$tmp/unresolved.c"
if cc -shared -fPIC -o "$module" "$tmp/unresolved.c" 2>/dev/null; then
    refuses "undefined symbol: nowhere"
fi

cp "$(ldd "$GCBENCH" | sed -n 's/.*libz\.so\.1 => \([^ ]*\).*/\1/p')" "$module"
refuses "libgcbench-cuda.so was built for another version of gcbench; build both together"

cp "$standin" "$module"
run info
exits 0
quiet
prints "gpu              a stand-in on the CPU, for tests, 4.3 GB, compute capability 8.0"
prints "cuda             runtime 13.0, driver 13.0, "
run methods topk
prints "backends  cpu, cuda"
run methods --format json
check "a method is either CPU-only or in the module" python3 -c "
import json
for m in map(json.loads, open('$out')):
    want = ['cpu'] if m['cpu_only'] else ['cpu', 'cuda']
    assert m['backends'] == want, (m['method'] + ': write its device version (docs/gpu.md), or set .cpu_only in the '
                                   'descriptor of its codec')"
fails 3 "device cuda:1 does not exist; this machine has 1, numbered from cuda:0" compress --device cuda:1 --method topk "$sample"

# Options that have no effect on a device are refused.
fails 2 "device cuda:0: --fft-engine chooses an FFT of the cpu" compress --device cuda --method fft --fft-engine fftw -o "$tmp/made/x.h5" "$sample"
fails 2 "device cuda:0: --threads has a meaning on the cpu only" decompress --device cuda --threads 2 -o "$tmp/made/x.h5" "$tmp/messages.h5"
fails 2 "device cuda:0: --isa has a meaning on the cpu only" decompress --device cuda --isa c -o "$tmp/made/x.h5" "$tmp/messages.h5"
check "no output is written" made_nothing

finish
