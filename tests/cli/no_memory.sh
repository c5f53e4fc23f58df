#!/bin/sh
# Memory runs out at any point while FFTW plans transforms: gcbench prints a message, and FFTW never
# ends the process.
. "$(dirname "$0")/lib.sh"

has_fftw || skip "this build does not have FFTW"
! has_sanitizers || skip "sanitizers need more memory than can be limited"
cd "$tmp" || exit 99
ulimit -c 0
run generate --elements 512K -o in.h5
exits 0
run generate --elements 524287 -o prime.h5 # FFTW takes memory while it executes, too
exits 0
run generate --elements 524278 -o twice.h5 # a prime
exits 0

limited() { # MB ARGS...
    last="gcbench (with $1 MB)"
    (ulimit -v $(($1 * 1024)) && shift && timeout -k 5 "$hang" "$GCBENCH" "$@") >"$out" 2>"$err" </dev/null
    rc=$?
}

refused=0 step=9 begin=40
scan() { # FILE ARGS...: runs with rising limits, from too little to load the program up to enough
    file=$1
    shift
    begin=$((40 + (begin - 39) % step)) # other limits in each scan
    mb=$begin
    enough=0
    while [ $mb -le 600 ] && [ $enough -lt 2 ]; do
        limited $mb "$@" $file
        [ $rc -eq 127 ] || check "done, or in words: $rc" sh -c \
            "[ $rc -eq 0 ] || { [ $rc -eq 1 ] && grep -qE 'out of memory|Thread creation failed' '$err'; }"
        [ $rc -ne 0 ] || enough=$((enough + 1))
        ! grep -q 'out of memory (for a transform' "$err" || refused=$((refused + 1))
        mb=$((mb + step))
    done
    check "some had enough" test $enough -gt 0
}
for method in fft:pad=none sparse:transform=dct,chunk=0,pad=none; do
    for file in in.h5 prime.h5 twice.h5; do
        scan $file compress --fft-engine fftw --method $method --no-baselines --warmup 0 --repeat 1 --per none --format json
    done
done
step=16 # threads need stacks and memory of their own
for method in fft fft:pad=none fft:chunk=65537 sparse:transform=dct,chunk=131101; do
    scan prime.h5 compress --method $method --threads 4 --no-baselines --warmup 0 --repeat 1 --per none --format json
done
scan prime.h5 inspect --spectrum --format json
check "some had too little for the transform" test $refused -gt 0

finish
