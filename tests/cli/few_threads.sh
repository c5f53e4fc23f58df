#!/bin/sh
# More threads than the system has room for: fewer work, and nothing ends in a crash.
. "$(dirname "$0")/lib.sh"

! has_sanitizers || skip "sanitizers reserve more address space"
h5=$(realpath "$(dirname "$0")/../../datasets/sample.h5")
all="--threads 256 --scope model --step last --worker 0 --no-baselines --repeat 1"

run compress --threads 257 "$h5"
exits 2
for kib in 60000 100000 200000 300000 400000; do
    ulimit -S -v $kib || skip "the limit of the address space cannot be set"
    run compress --method topk --method fft --method qsgd $all "$h5"
    check "exit status $rc with $kib KiB" test "$rc" = 0 -o "$rc" = 1
    check "no word of FFTW's" sh -c "! grep -q fftw '$err'"
done
check "enough for 200 threads" test "$rc" = 0

finish
