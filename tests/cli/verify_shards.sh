#!/bin/sh
# --shard of verify, and merge of its shards: the joined rows and the exit status are those of one
# run, and shards that do not fit are refused.
. "$(dirname "$0")/lib.sh"
broken=$(realpath "$2")
whole=$GCBENCH
here=$(realpath "$(dirname "$0")")
cd "$tmp" || exit 99

check "input" python3 - <<'PY'
"""600 small tensors of different sizes and types; some are zero or empty, and four of step 1 have a NaN."""
import h5py, numpy

draw = numpy.random.default_rng(1)
with h5py.File("plain.h5", "w") as f:
    for step in range(2):
        for worker in range(2):
            g = f.create_group(f"step_{step}/worker_{worker}")
            for i in range(150):
                x = draw.standard_normal(int(4 ** draw.uniform(0, 4)) - (i % 50 == 7)).astype(("f4", "f8", "f2")[i % 3])
                if i % 40 == 3:
                    x[:] = 0
                if step == 1 and i in (5, 105):
                    x[0] = numpy.nan
                g[f"t{i:03}"] = x
PY

# Prints what a table says about the checks: from the first broken promise to the sum.
checks_of() {
    awk '/^(BROKEN|method)/ { on = 1 } on { print } /promises kept/ { exit }' "$1"
}

# Runs the arguments once, and in N shards; joins the shards, named in any order, and compares. Each
# of the runs ends with the status, except that a shard may keep all promises.
same() { # STATUS N ARGS...
    status=$1
    n=$2
    shift 2
    rm -f part*.json
    run verify "$@" --results one.json --force
    exits "$status"
    checks_of "$out" >one.txt
    i=0
    while [ $i -lt "$n" ]; do
        run verify "$@" --shard $i/"$n" --results part$i.json
        check "exit status $rc of a shard" test "$rc" -eq "$status" -o "$rc" -eq 0
        i=$((i + 1))
    done
    run merge $(ls part*.json | sort -r) --results all.json --force
    exits "$status"
    quiet
    last="gcbench verify $*"
    checks_of "$out" >all.txt
    check "$n shards have the same rows" python3 "$here/check_shards.py" one.json all.json
    check "the same table" cmp one.txt all.txt
}

same 0 7 --all --budget 0 --nonfinite skip --method identity --method topk plain.h5
prints "plain.h5: 597 messages, 7 shards"
prints "left out, because of infinities or NaNs: 4 messages"
prints "0 broken, on 593 messages"
check "of all messages" python3 - all.json <<'PY'
import json, sys
rows = [r for r in map(json.loads, open(sys.argv[1])) if r["record"] == "promise"]
assert len({r["message"] for r in rows}) == 593 and {r["status"] for r in rows} == {"kept", "idle"}
assert [r["message"] for r in rows] == sorted(r["message"] for r in rows)
PY
same 0 3 --step 0 --method qsgd --method fft plain.h5
same 0 3 --all --step 0 --dataset '*t01?' --dense '*t011' --seed 3 --method terngrad plain.h5
same 0 4 --all --scope bucket --bucket-bytes 20K --nonfinite zero --method sbc plain.h5
same 0 5 --step 0 --scope model --method topk plain.h5 # four shards are empty

# --- rows in other formats
for format in csv json; do
    run verify --step 0 --method topk --method qsgd --format $format plain.h5
    cp "$out" one.$format
    for i in 0 1; do
        run verify --step 0 --method topk --method qsgd --shard $i/2 --results part$i.json --force plain.h5
        exits 0
    done
    run merge part0.json part1.json --format $format
    exits 0
    cp "$out" all.$format
done
check "json" python3 "$here/check_shards.py" one.json all.json
check "csv" python3 - one.csv all.csv <<'PY'
import csv, sys
one, joined = ([{**row, "seconds": ""} for row in csv.DictReader(open(p))] for p in sys.argv[1:])
assert one == joined and len(one) > 20
PY

# --- a broken promise: the merge ends with 5 too
GCBENCH=$broken
same 5 3 --step 0 --dataset '*t01?' --all --method topk --method identity plain.h5
GCBENCH=$whole
prints "BROKEN  topk:theta=0.85: contraction on step 0 worker 0 t0"
run merge part0.json part1.json part2.json --format csv
exits 5
quiet

# --- a method that the device lacks: the shards end with 3, and so does their merge
sed '/"record": "shard"/s/"failed_at": \[null, /"failed_at": [0, /' part0.json |
    sed 's/"status": "broken"/"status": "kept"/' >lacks0.json
sed 's/"status": "broken"/"status": "kept"/' part1.json >kept1of3.json
sed 's/"status": "broken"/"status": "kept"/' part2.json >kept2of3.json
run merge lacks0.json kept1of3.json kept2of3.json
exits 3
prints "unsupported: topk was not checked on all messages: it does not run on cpu"
fails 2 "shard 0/3 is there twice" merge part0.json part1.json lacks0.json

# --- shards that do not fit together: shards.sh has what is the same for every command
part() { # OUTPUT SHARD ARGS...: a shard of two
    name=$1
    at=$2
    shift 2
    run verify --shard "$at" --results "$name" --force --step 0 --worker 0 "$@"
    check "status $rc of $name" test "$rc" -le 1
}
part 0.json 0/2 --method topk plain.h5
part 1.json 1/2 --method topk plain.h5
part unlimited.json 1/2 --budget 0 --method topk plain.h5
run merge unlimited.json 0.json
exits 0
part other_all.json 1/2 --all --method topk plain.h5
part over.json 1/2 --budget 1ns --method topk plain.h5
run compress --shard 1/2 --results compress.json --no-baselines --step 0 --worker 0 --repeat 1 --method topk plain.h5
exits 0
refused 2 "field \`options\` has \"--all\"" merge 0.json other_all.json
refused 2 "over.json: shard 1/2 stopped before its last check: run it again with a larger --budget" merge 0.json over.json
refused 2 "compress.json: not a shard of the same run as 0.json: only one of them is of \`verify\`" merge 0.json compress.json
finish
