#!/bin/sh
# --shard of compress and bench, and merge: the joined results are those of one run, and shards that
# do not fit are refused.
. "$(dirname "$0")/lib.sh"
here=$(realpath "$(dirname "$0")")
cd "$tmp" || exit 99

cat >make.py <<'PY'
"""400 small tensors of very different sizes and types, some with zeros only; with "nan", step 1 has NaNs and infinities."""
import h5py, numpy, sys

draw = numpy.random.default_rng(1)
with h5py.File(sys.argv[1], "w") as f:
    for step in range(2):
        for worker in range(2):
            g = f.create_group(f"step_{step}/worker_{worker}")
            for i in range(100):
                x = draw.standard_normal(int(4 ** draw.uniform(0, 6)) - (i % 50 == 7)).astype(("f4", "f8", "f2")[i % 3])
                if i % 40 == 3:
                    x[:] = 0
                if "nan" in sys.argv and step == 1 and i % 100 == 5:
                    x[0] = (numpy.nan, numpy.inf)[worker]
                g[f"t{i:03}"] = x
PY
check "input" python3 make.py plain.h5
check "input with NaNs" python3 make.py nan.h5 nan

# Runs the arguments once, and in N shards; joins the shards, named in any order, and compares.
same() { # N ARGS...
    n=$1
    shift
    rm -f one.json part*.json all.json
    run "$@" --results one.json
    exits 0
    i=0
    while [ $i -lt "$n" ]; do
        run "$@" --shard $i/"$n" --results part$i.json
        exits 0
        i=$((i + 1))
    done
    run merge $(ls part*.json | sort -r) --results all.json
    exits 0
    quiet
    check "$n shards of $*" python3 "$here/check_shards.py" one.json all.json
}

same 5 compress --method fft:chunk=4096 --method topk --method qsgd --repeat 1 plain.h5
prints "plain.h5: 400 messages, 5 shards"
cp part3.json kept3.json
cp all.json once.json
run compress --method fft:chunk=4096 --method topk --method qsgd --repeat 1 plain.h5 --shard 3/5 \
    --results again3.json
check "the same shard has the same messages" python3 - kept3.json again3.json <<'PY'
import json, sys
a, b = ([r["message"] for r in map(json.loads, open(p)) if r["record"] == "result"] for p in sys.argv[1:])
assert a == b and a
PY
check "shards have about the same number of elements" python3 - part*.json <<'PY'
import json, sys
sizes = [sum(r["elements"] for r in map(json.loads, open(p)) if r["record"] == "result") for p in sys.argv[1:]]
assert max(sizes) < 1.01 * min(sizes), sizes
PY

same 3 compress --method sbc --repeat 6 --step 1 --scope bucket --bucket-bytes 20K --dense '*t00?' plain.h5
same 2 compress --method topk --repeat 1 --step 0 --worker 0 --min-elements 100 plain.h5
same 2 compress --method topk --repeat 1 --nonfinite skip nan.h5
prints "left out, because of infinities or NaNs: 200 messages"
run merge -q part0.json part1.json
exits 0
check "merge -q prints no notes" sh -c '! grep -q "left out" "$0"' "$out"
same 2 compress --method topk --repeat 1 --nonfinite raw --dataset '*5' nan.h5
same 2 compress --method topk --method fft --repeat 1 --nonfinite zero --worker 1 --dataset '*5' nan.h5
same 6 compress --method topk --repeat 1 --scope model plain.h5 # two shards are empty
same 3 bench --method topk --method qsgd --scope tensor,bucket --bucket-bytes 100K --threads 1,2 --repeat 6 --samples \
    --dataset '*t0?[05]' --no-bandwidth plain.h5
same 2 bench --suite ci --method topk --repeat 1 --no-bandwidth
same 2 bench --method fft:chunk=65536 --method range --dataset '*t0??' --repeat 2 plain.h5 # no samples: no deviations

# --- a table of an empty shard
run compress --method topk --scope model --shard 8/9 plain.h5
exits 0
prints "scope model, 1 thread, shard 8/9"
prints "this shard has no messages"

# --- a method that fails at a message ends there, as in one run
cat >fail.py <<'PY'
"""Changes a shard as if topk had failed at its first message from number 60 on. Then checks the summary of the merge."""
import json, sys

rows = [json.loads(line) for line in open(sys.argv[1])]
if sys.argv[2] != "check":
    at = min(r["message"] for r in rows if r["record"] == "result" and r["message"] >= 60)
    with open(sys.argv[2], "w") as out:
        for r in rows:
            if r["record"] == "result" and r["method"] == "topk" and r["message"] >= at:
                continue
            if r["record"] == "summary" and r["method"] == "topk":
                r.update(status="failed", reason="no luck")
            if r["record"] == "shard":
                r["failed_at"][0] = at
            print(json.dumps(r), file=out)
else:
    results = [r for r in rows if r["record"] == "result" and r["method"] == "topk"]
    at = max(r["message"] for r in results) + 1
    assert [r["message"] for r in results] == list(range(at)) and 60 <= at < 80, at
    summary = next(r for r in rows if r["record"] == "summary")
    assert summary["status"] == "failed" and summary["reason"] == "no luck" and summary["messages"] == at
    total = 0.0
    for r in results:
        total += r["sums"]["error_squares"]
    assert summary["sums"]["error_squares"] == total
PY
for i in 0 1 2; do
    run bench --method topk --repeat 1 --no-bandwidth --no-sums --shard $i/3 --results part$i.json --force plain.h5
    exits 0
done
check "a failure" python3 fail.py part1.json failed.json
run merge part0.json failed.json part2.json --results all.json --force
exits 0
prints "failed: no luck"
check "the summary of the messages in front of it" python3 fail.py all.json check

# --- memory: 8 tensors of 40 MB, which were never written, so that the file takes no room on the
# disk
cat >sparse.py <<'PY'
import h5py, sys

with h5py.File(sys.argv[1], "w") as f:
    for i in range(8):
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        plist.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
        space = h5py.h5s.create_simple((10 << 20,))
        h5py.h5d.create(f.id, b"layer%d" % i, h5py.h5t.IEEE_F32LE, space, plist)
PY
cat >memory.py <<'PY'
import resource, subprocess, sys

subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
assert peak < 200 << 10, f"{peak} KiB"
PY
check "a file of 320 MB" python3 sparse.py sparse.h5
has_sanitizers ||
    check "320 MB are read within 200 MB" python3 memory.py "$GCBENCH" compress --method qsgd --no-baselines --repeat 1 \
        --warmup 0 sparse.h5

# --- the recipe of docs/scale.md for Slurm; those for GNU parallel and MPI run the same commands
mkdir -p bin
ln -s "$GCBENCH" bin/gcbench
run generate --elements 20000 --steps 4 --workers 3 -o grads.h5
exits 0
page=$here/../../docs/scale.md
recipe() { # TEXT FILE: writes the code block of the page that has the text
    awk -v text="$1" '/^    /{block = block substr($0, 5) "\n"; next}
        {if (index(block, text)) printf "%s", block; block = ""}' "$page" >"$2"
    check "docs/scale.md has $1" test -s "$2"
}
joined() { # NAME: part*.json are the shards of a run
    run merge part*.json --format json
    exits 0
    check "$1: joins" grep -q '"record": "summary"' "$out"
}
recipe '#SBATCH' array.sbatch
check "the Slurm script is a script" bash -n array.sbatch
rm -f part*.json
for i in 0 1 2; do
    last="task $i of the Slurm script"
    check "runs" env PATH="$tmp/bin:$PATH" SLURM_ARRAY_TASK_ID=$i SLURM_ARRAY_TASK_COUNT=3 bash array.sbatch
done
joined "Slurm"
# --- shards of wrong options
refused 2 "such as 0/8" compress --method topk --shard 1/0 plain.h5
refused 2 "such as 0/8" compress --method topk --shard 000000000000000000000001/8 plain.h5
refused 2 "the last is 6/7" compress --method topk --shard 7/7 plain.h5
refused 2 "given twice" compress --method topk --method topk --shard 0/2 plain.h5
refused 2 "--shard has no meaning with --kernels" bench --kernels --shard 0/2
refused 1 "NaNs" compress --method topk --shard 0/2 nan.h5

# --- shards that do not fit together
part() { # OUTPUT SHARD ARGS...: a shard of two
    name=$1
    at=$2
    shift 2
    run compress --shard "$at" --results "$name" --force --step 0 --worker 0 --repeat 1 "$@"
    exits 0
}
part 0.json 0/2 --method topk plain.h5
part 1.json 1/2 --method topk plain.h5
run merge 1.json 0.json
exits 0
cat 1.json 0.json >both.json
run merge both.json
exits 0
part other_n.json 1/3 --method topk plain.h5
part other_theta.json 1/2 --method topk --theta 0.9 plain.h5
part other_seed.json 1/2 --method topk --seed 2 plain.h5
part other_file.json 1/2 --method topk nan.h5
run compress --repeat 1 --method topk --results whole.json plain.h5
run inspect --step 0 --worker 0 --results inspect.json plain.h5
sed 's/"build_id": "[0-9a-f]*"/"build_id": "0123"/' 1.json >other_build.json
sed 's/"sums": {[^}]*}/"x": 0/' 1.json >old.json
sed 's/"message": [0-9]*, //' 1.json >older.json
sed 's/"record": "shard", "schema": 1/&/; /"record": "shard"/s/"status": "ok"/"status": "interrupted"/' 1.json >cut_off.json
grep -v '"record": "shard"' 1.json >no_end.json
sed 1d 1.json >no_start.json
sed 5d 1.json >lost.json
sed '5{p;}' 1.json >repeated.json
sed '4d;6p' 1.json >swapped.json
sed 5q 1.json >half.json
head -c 9000 1.json >torn.json
sed '5s/"wire_bytes": [0-9]*/"wire_bytes": null/' 1.json >unknown.json
refused 2 "missing: shard 1 of 2" merge 0.json
refused 2 "0.json: shard 0/2 is there twice, first in 0.json" merge 0.json 1.json 0.json
refused 2 "field \`shards\` has 3, not 2" merge 0.json other_n.json
refused 2 "field \`methods\` has \"topk:theta=0.9" merge 0.json other_theta.json
refused 2 "field \`options\` has \"--seed=2\", not nothing" merge 0.json other_seed.json
refused 2 "field \`input_xxh3\`" merge 0.json other_file.json
refused 2 "field \`build_id\` has \"0123\"" merge 0.json other_build.json
refused 2 "another version" merge 0.json older.json
refused 2 "was interrupted: run it again" merge 0.json cut_off.json
refused 1 "the run had no --shard, or was cut short" merge whole.json
refused 2 "inspect.json: line 2: a row of record \`tensor\`" merge inspect.json
refused 1 "no_end.json: the results end without" merge 0.json no_end.json
refused 1 "half.json: the results end without" merge 0.json half.json
refused 1 "the beginning of the results is missing" merge 0.json no_start.json
refused 1 "lost.json: " merge 0.json lost.json
refused 1 "repeated.json: " merge 0.json repeated.json
refused 1 "is there twice: in swapped.json, line 5, and in swapped.json, line 6" merge 0.json swapped.json
refused 1 "torn.json: " merge 0.json torn.json
refused 1 "unknown.json: line 5: the row has no \`wire_bytes\`" merge 0.json unknown.json
refused 2 "no results given" merge
refused 2 "not a regular file" merge -
run merge 0.json old.json --format json
exits 1
check "an old row is named" grep -q "another version" "$err"
run merge 0.json 1.json --results 0.json
exits 2
finish
