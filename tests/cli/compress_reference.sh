#!/bin/sh
# Relative errors against values computed elsewhere, in double precision with NumPy: top-k, and
# top-k of the FFT, of all tensors of a step flattened into one vector in the order of their names.
. "$(dirname "$0")/lib.sh"

data=$(dirname "$0")/../../../shared/data
[ -e "$data/resnet20.h5" ] && [ -e "$data/alexlike.h5" ] || skip "needs ../shared/data beside the source"
has_fftw || skip "the lengths of these transforms need FFTW"

has() { # METHOD REL_L2, of the summary in $out, to four digits
    got=$(sed -n 's/.*"record": "summary".*"method": "'"$1"'".*"rel_l2": \([0-9.e-]*\),.*/\1/p' "$out" |
        awk '{ printf "%.4f", $1 }')
    check "$1 has rel_l2 $got, not $2" test "$got" = "$2"
}

expect() { # FILE THETA TOPK FFT
    run compress --repeat 1 --method topk --method fft:values=fp32,pad=none --theta "$2" --scope model --step 100 --worker 0 \
        --per none --no-baselines --format json "$data/$1.h5"
    exits 0
    quiet
    has topk "$3"
    has fft "$4"
}

expect resnet20 0.80 0.2801 0.4510
expect resnet20 0.90 0.4002 0.5680
# k is rint(density x n) here, 2720 elements and 1360 bins; one fewer gives 0.6602 and 0.8429
expect resnet20 0.99 0.6601 0.8428
expect alexlike 0.80 0.0885 0.5680
expect alexlike 0.90 0.2026 0.6829
expect alexlike 0.99 0.5683 0.8513

finish
