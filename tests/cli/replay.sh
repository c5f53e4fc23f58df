#!/bin/sh
# replay: tables, rows, schedules, the bound of the residual, and what NumPy works out.
. "$(dirname "$0")/lib.sh"

here=$(dirname "$0")
sample=$(realpath "$here/../../datasets/sample.h5")
traj=$(realpath "$here/../../../shared/data/resnet20_traj.h5" 2>/dev/null)
[ -e "$traj" ] || traj=

# The last row before the answer, a total, has this value: has KEY VALUE
has() {
    check "$1 is $2" python3 -c "
import json, sys
row, last = map(json.loads, open('$out').readlines()[-2:])
assert last['record'] == 'answer' and last['answer'], last
assert row['record'] == 'replay', row
assert row['$1'] == $2, row['$1']"
}

# ---- the methods of a suite ----
run replay --suite paper-sbc --loop 50 --allow-gaps --scope model --format json --per none "$sample"
exits 0
check "five methods, the last with its delay" python3 -c "
import json
rows = [json.loads(line) for line in open('$out')][1:-1]
assert [row['method'] for row in rows] == ['topk', 'identity'] + 3 * ['sbc'], rows
assert rows[1]['ratio'] > 99 and rows[4]['params']['delay'] == 100 and rows[4]['ratio'] > 30000, rows[4]"
run replay --suite quick --method topk --allow-gaps "$sample"
exits 0
check "only --method" sh -c "! grep -q qsgd '$out'"
fails 2 "no suite 'nothing'" replay --suite nothing "$sample"

# ---- called wrongly ----
fails 2 "no method given" replay "$sample"
fails 2 "no input file" replay --method topk
fails 2 "--allow-gaps" replay --method topk "$sample"
fails 2 "0.9@x" replay --method topk --theta-schedule 0.9@x --allow-gaps "$sample"
fails 2 "'delay' has a meaning only with memory=delay" replay --method topk:delay=4 --allow-gaps "$sample"
fails 2 "--nonfinite raw" replay --method topk --nonfinite raw --allow-gaps "$sample"
run replay --method topk --loop 0 "$sample"
exits 2

# ---- tables ----
run replay --method topk:theta=0.99,memory=ef --allow-gaps "$sample"
exits 0
quiet
prints "topk:theta=0.99,memory=ef"
prints "cum err"
prints "of its bound"
check "a line for each step" grep -qE '^ *400 ' "$out"
run replay --method sbc --method dgc --method redsync --method demo --method stc --memory ef --allow-gaps "$sample"
exits 0 # a memory for all; what the presets had of their own does not matter then
run replay --method sbc --method dgc --method redsync --method demo --method stc --allow-gaps "$sample"
exits 0
quiet
check "no lines for steps" sh -c "! grep -qE '^ *400 ' '$out'"
run replay --method sbc --method dgc --per step --loop 2 --allow-gaps "$sample"
exits 0
check "a line for each step of each" test "$(grep -cE '^ *400 ' "$out")" -eq 4

# ---- rows ----
run replay --method topk:memory=ef --allow-gaps --format json "$sample"
exits 0
has steps 2
has method "'topk'"
has status "'ok'"
has "bound_holds" True
has collective "'allgather'"
run replay --method fp16 --method qsgd:collective=twoshot --allow-gaps --format json "$sample"
exits 0
check "the bytes of rounds add up" python3 -c "
import json
rows = [r for r in map(json.loads, open('$out')) if r['record'].startswith('replay')]
assert [r['collective'] for r in rows] == 3 * ['allreduce'] + 3 * ['twoshot']
assert [r['rounds'] for r in rows] == 3 * [1] + 3 * [2]
for *steps, total in rows[:3], rows[3:]:
    for r in (*steps, total):
        assert len(r['round_bytes']) == r['rounds'] and sum(r['round_bytes']) == r['link_bytes'] > 0, r
    assert [sum(b) for b in zip(*(r['round_bytes'] for r in steps))] == total['round_bytes']
assert rows[2]['second_error'] is None and rows[5]['second_error'] > 0"
run replay --method topk:memory=ef --per none --allow-gaps --format json "$sample"
check "no rows of steps" sh -c "! grep -q replay_step '$out'"
run replay --method fft --allow-gaps --format csv --results "$tmp/rows.json" "$sample"
exits 0
check "a header, steps, a total" test "$(wc -l <"$out")" -eq 4
check "the rows are saved too" test "$(grep -c '"record": "replay' "$tmp/rows.json")" -eq 3
fails 2 "--force" replay --method topk --allow-gaps --results "$tmp/rows.json" "$sample"
run replay --method topk --allow-gaps --results "$tmp/rows.json" --force "$sample"
exits 0
check "replaced" grep -q '"method": "topk"' "$tmp/rows.json"
run replay --method identity:memory=ef --loop 3 --allow-gaps --format json "$sample"
has alpha 0
has cumulative_error 0
has steps 6
run replay --method sbc:delay=4 --loop 2 --allow-gaps --format json "$sample"
has silent_steps 3
has staleness_max 4
run replay --method sbc:delay=4 --method topk --allow-gaps "$sample"
exits 0
check "dashes are explained" sh -c "
    tr -s ' \n' '  ' <'$out' | grep -q 'note: sbc sent nothing: delay=4 is a message for every 4 steps, and 2 were replayed; --loop' &&
    grep -q '^topk:theta=0.85: kept' '$out' && ! grep -q 'contraction - ' '$out'"
run replay --method sbc:delay=3 --loop 2 --allow-gaps --format json "$sample"
has unsent_steps 1
run compress --method topk:density=0.2 --step 400 --worker 0 -o "$tmp/kept.h5" "$sample"
run decompress -o "$tmp/mask.h5" "$tmp/kept.h5"
run replay --mask "$tmp/mask.h5" --method pactrain:density=1,every=1000000 --allow-gaps --results "$tmp/masked.json" "$sample"
exits 0
prints ", masked"
check "what is not pruned is sent, without positions after the first step" python3 -c "
import json
rows = [json.loads(line) for line in open('$tmp/masked.json')]
first, last = [r for r in rows if r['record'] == 'replay_step']
assert first['overlap'] == last['overlap'] == 1 and 0.15 < last['density'] <= 0.2, (first, last)
assert last['round_bytes'] == first['round_bytes'][1:] and last['alpha'] < 1e-6, (first, last)"
run replay --method qsgd:memory=ef,decay=0.9 --scope model --threads 2 --allow-gaps --format json "$sample"
exits 0
check "what a memory does is in its spec" grep -q '"memory": "ef", "decay": 0.9' "$out"

# ---- other workers than the dump's ----
run replay --workers 5 --method topk --allow-gaps "$sample"
exits 0
prints "workers 2..4 repeat workers 0..1"
run replay --workers 1 --method topk --allow-gaps "$sample"
prints "worker 0 of 2"
run replay --workers 4 --split-steps --method topk --allow-gaps "$sample"
prints "4 workers: each step is made of 2 steps of the dump"
run replay --workers 4 --split-steps --method topk --allow-gaps --format json "$sample"
has workers 4
has workers_from "'steps'"
has steps 1
fails 2 "--split-steps needs a number of --workers" replay --split-steps --method topk --allow-gaps "$sample"
fails 2 "must be a multiple of 2" replay --workers 3 --split-steps --method topk --allow-gaps "$sample"

# ---- one message knows no memory ----
run compress --method sbc --format json --no-baselines --per none "$sample"
exits 0
quiet
check "no memory in a spec" sh -c "! grep summary '$out' | grep -q memory"
run compress --method qsgd:memory=ef --no-baselines "$sample"
exits 0
says "compress ignores it"

# ---- the bound of the residual ----
bound() { # FILE TENSORS LOOPS METHOD...
    file=$1 tensors=$2 loops=$3
    shift 3
    for method; do
        run replay --method "$method" --loop "$loops" --dataset "$tensors" --allow-gaps --per none --format json "$file"
        exits 0
        has bound_holds True
    done
}
bound "$sample" "layers.[0-3].*" 20 stc sbc:p=0.05,delay=4 demo dgc:momentum=0 redsync:momentum=0,quant=asq \
    fft:theta=0.97,bits=6,memory=ef terngrad:memory=ef,clip=1 range:memory=ef topk:theta=0.99,memory=ef,decay=0.9

check "NumPy finds the same" python3 "$here/check_replay.py" "$GCBENCH" "$sample" 0.01 5
check "NumPy finds the same" python3 "$here/check_replay.py" "$GCBENCH" "$sample" 0.6 2
check "NumPy finds the same with momentum" python3 "$here/check_replay.py" "$GCBENCH" "$sample" 0.1 3 0.75

if [ "$traj" ]; then
    for method in sbc:p=0.01,delay=4 redsync; do
        run replay --method $method "$traj"
        exits 0
        quiet
        check "sixteen steps" test "$(grep -cE '^ *2[01][0-9] ' "$out")" -eq 16
    done
    run replay --method fft:memory=ef --theta-schedule 0.9@0,0.5@8,0@12 "$traj"
    exits 0
    check "theta of the last step" grep -qE '^ *215 .* 0\.0000$' "$out"
    bound "$traj" "*" 3 sbc:p=0.01,delay=4 demo topk:theta=0.99,memory=ef
    check "NumPy finds the same" python3 "$here/check_replay.py" "$GCBENCH" "$traj" 0.01 1
else
    leave_out "no ../shared/data/resnet20_traj.h5 beside the source"
fi

finish
