#!/bin/sh
# `gcbench demo` shows and runs the first example of README.md, wherever it is called.
. "$(dirname "$0")/lib.sh"
root=$(realpath "$(dirname "$0")/../..")
cd "$tmp" || exit 99

run demo
exits 0
sed -n '1,/^$/s/^\$ //p;1,/^$/s/^   *\([^ ]\)/\1/p' "$out" >shown # a line for each line of the command
sed -n '/^    \$ gcbench compress/,/sample.h5$/p' "$root/README.md" | sed -n '1,/sample.h5$/p' >readme
words() {
    tr -d '\\$' <"$1" | tr -s ' \n' '\n\n' | grep . | sed 's,.*/datasets/,datasets/,'
}
words shown >a
words readme >b
check "README has the example" test -s b
check "is the example of README" diff a b
prints "fp16 (baseline)"

fails 2 "help choose" demo grads.h5
finish
