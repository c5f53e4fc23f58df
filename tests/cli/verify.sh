#!/bin/sh
# verify: promises kept on the sample, rows, budget, infinities; exit 5 if a promise is broken.
. "$(dirname "$0")/lib.sh"

here=$(dirname "$0")
sample=$(realpath "$here/../../datasets/sample.h5")
methods=$("$GCBENCH" methods --format csv | cut -d, -f2 | tail -n +2 | grep -vx sparse) # by default it is topk
pairs=$((3 * $(echo "$methods" | wc -w))) # three messages and every method
broken=$2

# ---- wrong usage ----
fails 2 "no input file" verify
fails 2 "--budget takes a time" verify --budget 5d "$sample"
run verify --method tokp "$sample"
exits 2
fails 2 "no message to verify" verify --min-elements 100M "$sample"

# ---- kept ----
run verify "$sample"
exits 0
quiet
prints "0 broken, on 3 messages"
prints "of 232 messages (--all checks every message)"
check "the three are named" sh -c "
    grep -A3 '^checked' '$out' | tail -3 | cut -d, -f2 | tr '\n' '/' | grep -qx ' 10 elements/ 64 elements/ 36864 elements/'"
prints "  step 100 worker 0 fc.bias, 10 elements"
check "every method has a line" sh -c "
    for m in \$(echo '$methods'); do grep -q \"^\$m\" '$out' || exit 1; done"
check "no checks one by one" sh -c "! grep -q '^  kept' '$out'"
run verify -v --method topk "$sample"
exits 0
prints "kept  topk:theta=0.85: largest on step 100 worker 0 "
run verify --scope model --threads 2 --seed 9 --method fft --method terngrad:clip=0 --method redsync:quant=asq "$sample"
exits 0
prints "on 1 message"

# ---- rows ----
run verify --method topk --method qsgd --format json "$sample"
exits 0
check "rows of promises" python3 -c "
import json
rows = [json.loads(line) for line in open('$out')]
assert rows[0]['record'] == 'environment'
rows = rows[1:]
assert {r['record'] for r in rows} == {'promise'}, rows[0]
sizes = sorted({r['elements'] for r in rows})
assert len(sizes) == 3 and sizes[0] < sizes[1] < sizes[2], sizes
assert {(r['step'], r['worker']) for r in rows} == {(100, 0)}
topk = {r['promise']: r for r in rows if r['method'] == 'topk' and r['elements'] == sizes[2]}
assert set(topk) == {'round-trip', 'same-bytes', 'same-threads', 'same-isa', 'size', 'refuses-cut', 'sum',
                     'contraction', 'verbatim', 'projection', 'largest'}, topk.keys()
assert all(r['status'] == 'kept' for r in topk.values())
# k of the n elements, and at most 1 - k/n of the energy lost
n = sizes[2]
assert abs(topk['largest']['limit'] - (1 - round(0.15 * n) / n)) < 1e-9
assert topk['largest']['value'] < topk['largest']['limit']
qsgd = {r['promise'] for r in rows if r['method'] == 'qsgd'}
assert {'unbiased', 'levels-error', 'draws-apart'} <= qsgd, qsgd"
run verify --method identity --format csv --results "$tmp/v.json" "$sample"
exits 0
check "a header and nine promises of three messages" test "$(wc -l <"$out")" -eq 28
check "rows are saved" test "$(grep -c '"promise"' "$tmp/v.json")" -eq 27
run verify --method identity --results "$tmp/v.json" "$sample"
exits 2
run verify --method identity --results "$tmp/v.json" --force "$sample"
exits 0
run verify --all --method identity --per-nothing "$sample"
exits 2
run verify --all --method identity "$sample"
exits 0
prints "on 232 messages"

# ---- the budget ----
fails 1 "nothing was verified: the time ended" verify --budget 1ns "$sample"
prints "$pairs pairs of a method and a message not"
prints "identity on step 100 worker 0 fc.bias"
prints "0 promises kept"
fails 1 "nothing was verified: the time ended" verify --budget 0.000001ms "$sample"
run verify --budget 0.000000001 "$sample" # seconds
exits 1
says "nothing was verified: the time ended"
run verify --budget 1ns --format json "$sample"
exits 1
check "what was not looked at is named beside rows" grep -q "$pairs pairs.*ended: identity on step 100 worker 0 fc.bias" "$err"

# ---- infinities ----
python3 -c "
import h5py, numpy as np
with h5py.File('$tmp/inf.h5', 'w') as f:
    f['a'] = np.array([1, np.inf, 2, 3], np.float32)
    f['b'] = np.arange(1000, dtype=np.float32)"
fails 1 "infinities or NaNs" verify --method topk "$tmp/inf.h5"
run verify --method topk --nonfinite skip "$tmp/inf.h5"
exits 0
prints "on 1 message"
prints "1 message with infinities or NaNs left out: step 0 worker 0 a"
run verify --method topk --nonfinite skip --format csv "$tmp/inf.h5"
exits 0
says "left out: step 0 worker 0 a"
fails 1 "nothing was verified: every message holds infinities or NaNs" verify --method topk --nonfinite skip --dataset a "$tmp/inf.h5"
run verify --method topk --nonfinite zero "$tmp/inf.h5"
exits 0
prints "on 2 messages"

# ---- broken ----
timeout "$hang" "$broken" verify --method topk "$sample" >"$out" 2>"$err" </dev/null
rc=$?
exits 5
prints "BROKEN  topk:theta=0.85: contraction on"
prints "promised: ||x - x'||^2 <= ||x||^2"
timeout "$hang" "$broken" verify --method topk --format json "$sample" >"$out" 2>"$err" </dev/null
rc=$?
exits 5
quiet
check "a row says so" grep -q '"status": "broken".*"reason": "squared error over squared norm' "$out"
finish
