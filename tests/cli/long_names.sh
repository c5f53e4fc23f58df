#!/bin/sh
# long_names: tables stay within 80 columns if a method has a long name, and the name is there in
# full.
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
sample=$here/../../datasets/sample.h5
stages=transform=dct,chunk=64,select=sampled,values=range,bits=5,index=adaptive
long=sparse:theta=0.99,$stages

fits() { # NAME: every line fits, and the output has the name, which may go on in the next line
    check "at most 80 columns" python3 -c 'import sys
assert max(len(l.rstrip("\n")) for l in open(sys.argv[1], encoding="utf-8")) <= 80' "$out"
    check "the whole name $1" sh -c 'sed "s/^ *//" "$1" | tr -d "\n" | grep -qF -- "$2"' sh "$out" "$1"
}

run compress --scope model --step last --worker 0 --method "$long" --method topk --repeat 3 "$sample" --results "$tmp/a.json"
fits "$long"
run compress --scope model --step last --worker 0 --method "$long" --repeat 3 "$sample" --results "$tmp/b.json"
run regress "$tmp/a.json" "$tmp/b.json"
fits "$long"
run bench --scope model --step last --worker 0 --method "$long" --repeat 3 --no-bandwidth "$sample"
fits "$long"
run sweep --scope model --step last --worker 0 --method "sparse:$stages" --vary theta=0.9,0.99 "$sample"
fits "$long"
run replay --allow-gaps --method "$long,memory=ef" "$sample"
fits "$long,memory=ef"
run verify --scope model --step last --worker 0 --method "$long" "$sample"
fits "$long"
run payoff -v "$tmp/a.json" --bandwidth 1Gb
fits "$long"
prints "topk:theta=0.85"
run payoff "$tmp/a.json" --bandwidth 1Gb,10Gb
fits fp16

# a label says all that a preset's name does not mean
run compress --scope model --step last --worker 0 --method dct-range:select=threshold,threshold=0.01 --repeat 3 "$sample" \
    --results "$tmp/c.json"
exits 0
run payoff -v "$tmp/c.json" --bandwidth 1Gb
fits dct-range:select=threshold,threshold=0.01
finish
