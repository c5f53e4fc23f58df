#!/bin/sh
# --nearer-than: for how many elements one method is nearer to the input than another.
. "$(dirname "$0")/lib.sh"

here=$(dirname "$0")
sample=$here/../../datasets/sample.h5
mkdir "$tmp/work"
run generate --dist ar:rho=0.9 --elements 5000 -o "$tmp/ar.h5"
exits 0

# ---- NumPy counts the same ----

counts() { # FILE SCOPE REFERENCE METHOD...
    check "$*" python3 "$here/check_nearer.py" "$GCBENCH" "$1" "$tmp/work" "$2" "$3" "$4" "$5"
}
counts "$sample" tensor topk fft:values=fp32 qsgd:bits=3
counts "$sample" model topk fft terngrad:clip=0
counts "$tmp/ar.h5" model fft:theta=0.85 topk:theta=0.85 fft:chunk=64,input=fp16

# ---- the order of methods, and the table ----

run compress --repeat 1 --theta 0.9 --method fft --method topk --nearer-than topk "$tmp/ar.h5"
exits 0
prints 'elements that are nearer to the input than with topk:theta=0.9:'
prints 'nearer  farther  equal'
check "topk comes first, once" sh -c "grep -v loses '$out' | grep -c '^topk:theta=0.9 ' | grep -qx 1 && \
    sed -n 4p '$out' | grep -q '^topk:theta=0.9 '"
run compress --repeat 1 --method fft "$tmp/ar.h5"
exits 0
check "no table without the option" sh -c "! grep -q nearer '$out'"
run compress --repeat 1 --method fft --nearer-than topk --format csv "$tmp/ar.h5"
exits 0
check "columns" sh -c "head -1 '$out' | grep -q ',nearer_than,nearer_share,farther_share,'"

# ---- bench, and suites ----

run bench --repeat 1 --method qsgd --nearer-than topk "$tmp/ar.h5"
exits 0
prints 'elements that are nearer to the input than with topk:theta=0.85:'
check "memcpy is not compared" sh -c "[ \$(grep -c '^memcpy' '$out') = 1 ]"
echo '{"schema": 1, "name": "mine", "methods": ["fft"], "nearer_than": "topk:theta=0.5", "repeat": 1}' >"$tmp/mine.json"
run bench --suite "$tmp/mine.json" "$tmp/ar.h5"
exits 0
prints 'elements that are nearer to the input than with topk:theta=0.5:'
run bench --suite "$tmp/mine.json" --nearer-than topk:theta=0.6 "$tmp/ar.h5"
exits 0
prints 'elements that are nearer to the input than with topk:theta=0.6:'
echo '{"schema": 1, "name": "mine", "nearer_than": 3}' >"$tmp/mine.json"
fails 2 "unknown method '3'" bench --suite "$tmp/mine.json" "$tmp/ar.h5"

# ---- mistakes ----

fails 2 "no method given" compress --repeat 1 --nearer-than topk "$tmp/ar.h5"
fails 2 "unknown method 'tokp'; did you mean 'topk'?" compress --repeat 1 --method fft --nearer-than tokp "$tmp/ar.h5"
fails 2 "-o keeps the messages of one method: name one, and leave out --nearer-than" compress --repeat 1 --method fft --nearer-than topk -o "$tmp/m.h5" "$tmp/ar.h5"

finish
