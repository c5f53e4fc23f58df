#!/bin/bash
# Runs the check of our own FFT as other compilers and options build it, and on AArch64 under qemu-user (Debian packages
# qemu-user and gcc-aarch64-linux-gnu): all must give the same bits. Takes five minutes.
#   tests/trials/fft_builds.sh
set -uo pipefail
cd -- "$(dirname -- "$(readlink -f -- "$0")")/../.." || exit 1
work=$(mktemp -d) failed=0
trap 'rm -rf "$work"' EXIT

try() { # NAME RUNNER CC FLAGS...
    local name=$1 runner=$2 said
    shift 2
    rm -f "$work"/*.o
    set -- "$@" -std=c11 -D_GNU_SOURCE -ffp-contract=off -Wno-psabi -I.
    if [[ $name != aarch64* ]]; then
        "$@" -mavx2 -c kernels/fft/lanes_avx2.c -o "$work/lanes_avx2.o"
        "$@" -mavx2 -c kernels/fft/one_avx2.c -o "$work/one_avx2.o"
        "$@" -mavx512f -mavx512bw -mavx512dq -mavx512vl -c kernels/fft/lanes_avx512.c -o "$work/lanes_avx512.o"
    fi
    shopt -s nullglob
    "$@" kernels/fft/{steps,fft,own,lanes_c,one_c}.c tests/kernels/{fft_own,check}.c \
        src/lib/base/{alloc,array,cpu_flags,fork,queue}.c "$work"/*.o -o "$work/check" -lm -lpthread
    said=$($runner "$work/check" 2>&1 | tail -n 1)
    printf '%-14s %s\n' "$name" "$said"
    [[ $said == *' 0 failed' ]] || failed=1
}

for compiler in gcc clang; do
    for level in -O1 -O2 -O3; do
        try "$compiler $level" '' "$compiler" "$level"
    done
done
try 'aarch64 -O3' 'qemu-aarch64 -L /usr/aarch64-linux-gnu' aarch64-linux-gnu-gcc -O3
exit "$failed"
