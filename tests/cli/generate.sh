#!/bin/sh
# generate: the file holds what the options ask for, the same each time, and other values with
# another seed.
. "$(dirname "$0")/lib.sh"

field() { # NAME: a field of the first json row after the environment
    python3 -c 'import json,sys; print(json.loads(sys.stdin.readlines()[1])[sys.argv[1]])' "$1" <"$out"
}
between() { # NAME LOW HIGH
    check "$1 = $(field "$1") in [$2, $3]" python3 -c "
import sys; sys.exit(not $2 <= float('$(field "$1")') <= $3)"
}

run generate --elements 64K --steps 2 --workers 3 -o "$tmp/a.h5"
exits 0
quiet
check "nothing on stdout" test ! -s "$out"
run inspect "$tmp/a.h5"
prints "2 steps x 3 workers x 1 tensor, fp32"
run inspect --format json "$tmp/a.h5"
check "6 x 65536 elements" test "$(field elements)" = 393216
# normal with deviation 0.01: seven standard errors each way
between deviation 0.00992 0.01008
between mean -0.00012 0.00012
between kurtosis 2.94 3.06
grep tensor "$out" >"$tmp/first"

run generate --elements 64K --steps 2 --workers 3 -o "$tmp/b.h5"
run inspect --format json "$tmp/b.h5"
check "the same again" sh -c "grep tensor '$out' | sed 's/b\.h5/a.h5/' | cmp -s - '$tmp/first'"
run generate --seed 2 --elements 64K --steps 2 --workers 3 -o "$tmp/c.h5"
run inspect --format json "$tmp/c.h5"
check "another seed" sh -c "! grep tensor '$out' | sed 's/c\.h5/a.h5/' | cmp -s - '$tmp/first'"

run generate --dist sparse:zeros=0.9 --elements 100000 -o "$tmp/sparse.h5"
run inspect --format json "$tmp/sparse.h5"
between zeros_share 0.893 0.907
run generate --dist sparse:zeros=0.9 --worker-correlation 0.5 --workers 2 --elements 100000 -o "$tmp/sc.h5"
run inspect --format json "$tmp/sc.h5"
between zeros_share 0.893 0.907
run generate --dist laplace --elements 1M -o "$tmp/laplace.h5"
run inspect --format json "$tmp/laplace.h5"
between kurtosis 5.6 6.4

for type in fp16 bf16 fp64; do
    run generate --dtype $type --elements 100 -o "$tmp/$type.h5"
    exits 0
    run inspect --format json "$tmp/$type.h5"
    check "$type" test "$(field input_dtype)" = $type
done

run generate --layout resnet50 -o "$tmp/r50.h5"
exits 0
run inspect "$tmp/r50.h5"
prints "1 step x 1 worker x 161 tensors, fp32"

# correlation of workers: the variance of the sum of two is 2 + 2 rho
for dist in normal laplace ar:rho=0.9; do
    run generate --dist $dist --worker-correlation 0.6 --workers 2 --elements 200000 -o "$tmp/w.h5" --force
    exits 0
    check "correlation of workers, $dist" python3 -c "
import h5py, numpy, sys
f = h5py.File('$tmp/w.h5', 'r')
a, b = (f['step_000000/worker_%d/flat' % i][...] for i in (0, 1))
r = numpy.corrcoef(a, b)[0, 1]
sys.exit(not 0.55 < r < 0.65)"
done

finish
