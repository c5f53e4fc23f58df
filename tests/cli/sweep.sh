#!/bin/sh
# sweep: settings from --vary and --match, compared with compress.
. "$(dirname "$0")/lib.sh"

here=$(dirname "$(realpath "$0")")
sample=$(realpath "$here/../../datasets/sample.h5")
one="--step 400 --worker 0 --dataset layers.[37].*"
few="--method topk --method fft --method qsgd --method sbc --method range" # all would take long
set -f # the option has a glob

# ---- called wrongly ----
fails 2 "nothing to sweep" sweep "$sample"
fails 2 "no input file" sweep --match rel_l2=0.3
fails 2 "no method given has this parameter" sweep --method topk --vary bucket=64 "$sample"
fails 2 "given twice" sweep --method topk --vary theta=0.1 --vary theta=0.2 "$sample"
for bad in rel_l2 rel_l2=0 rel_l2=-1 rel_l2=nan rel_l2=inf ratio=x cosine=1.5 theta=0.5 =; do
    fails 2 "--match" sweep --match "$bad" "$sample"
done
fails 2 "--match rel_l2 lacks its target: --match rel_l2=0.4, for example" sweep --match rel_l2 "$sample"
fails 2 "'theta' is searched for; do not give its value" sweep --match rel_l2=0.4 --theta 0.5 "$sample"
fails 2 "--over chunk" sweep --match rel_l2=0.4 --over chunk "$sample"
fails 2 "only with --match" sweep --vary theta=0.5 --over bits "$sample"
fails 2 "--sort" sweep --vary theta=0.5 --sort nothing "$sample"
fails 1 "none.h5" sweep --match rel_l2=0.4 "$tmp/none.h5"

# ---- settings ----
run sweep --method topk --method qsgd --vary density=0.1..0.001/3log --vary bits=3,4 $one "$sample"
exits 0
quiet
for setting in topk:theta=0.9 topk:theta=0.99 topk:theta=0.999 qsgd:bits=3 qsgd:bits=4 "fp16 (baseline)"; do
    prints "$setting"
done
run sweep --method topk --vary theta=0.9..0.5/3 --no-baselines --format csv $one "$sample"
exits 0
check "a header and three rows, in the order asked for" sh -c "
    cut -d, -f 1 '$out' | tr '\\n' ' ' | grep -qx 'record summary summary summary ' &&
    grep -o 'theta=0[.0-9]*' '$out' | tr '\\n' ' ' | grep -qx 'theta=0.9 theta=0.7 theta=0.5 ' &&
    head -1 '$out' | grep -q ',pareto,match_field,'"
run sweep --method topk:memory=ef --vary theta=0.9 $one "$sample"
exits 0
says "sweep ignores it"

# ---- the same figures as compress, and the Pareto set ----
run sweep --vary theta=0.5..0.99/4log --vary bits=3,8 --format json $one "$sample"
check "every row is ok" sh -c "grep -q '\"summary\"' '$out' && ! grep '\"summary\"' '$out' | grep -vq '\"status\": \"ok\"'"
exits 0
quiet
check "varied rows equal those of compress" python3 "$here/check_sweep.py" "$GCBENCH" "$out" $one "$sample"

# ---- targets ----
for target in cosine=0.9 wire_bytes=2K; do
    run sweep --published-only $few --match "$target" --format json $one "$sample"
    exits 0
    quiet
    check "matched rows equal those of compress, and are at the edge" \
        python3 "$here/check_sweep.py" "$GCBENCH" "$out" $one "$sample"
    check "no composition, and no preset that is one" sh -c "! grep -qE '\"match_composed\": *true|\"method\": *\"dct-range\"' '$out'"
done
run sweep $few --match rel_l2=0.4 --scope model $one --format json "$sample"
exits 0
check "a model in one message too" python3 "$here/check_sweep.py" "$GCBENCH" "$out" --scope model $one "$sample"
run sweep --match rel_l2=0.3 --method qsgd:coding=elias --over levels --format json $one "$sample"
exits 0
check "along another parameter" python3 "$here/check_sweep.py" "$GCBENCH" "$out" $one "$sample"
check "which is named" grep -q '"match_by": *"levels"' "$out"

# ---- the error of a mean: of as many workers as were recorded it is what replay measures ----
run sweep --match error_of_mean=0.2,workers=2 --method qsgd --step 400 --format json "$sample"
exits 0
check "the error of the mean is that of replay" python3 "$here/check_sweep_mean.py" "$GCBENCH" "$out" --step 400 "$sample"
run sweep --match error_of_mean=1e-9,workers=2 --method topk --step 400 --format json "$sample"
exits 0
check "a setting without any error meets a limit on the error of the mean" grep -q '"match_reached": *true' "$out"
fails 2 "say of how many workers: error_of_mean=0.2,workers=16" sweep --match error_of_mean=0.2 --method qsgd "$sample"
run sweep --match error_of_mean=0.2,workers=0 --method qsgd "$sample"
exits 2
fails 2 "--budget takes" sweep --budget error_of_mean=0.2,workers=2 "$sample"

run sweep --match rel_l2=0.3 --match ratio=10 --method fft --vary index=bitmap,golomb $one "$sample"
exits 0
check "every setting for every target" sh -c "[ \$(grep -c '^fft:' '$out') -eq 4 ] && ! grep -q 'note: fft' '$out'"

# ---- targets that cannot be met ----
run sweep --match rel_l2=0.05 --method terngrad --method sbc --method topk $one "$sample"
exits 0
quiet
prints "note: terngrad: this method has no setting to tune"
prints "no theta reaches rel_l2 0.05"
check "a note goes on with an indent" awk '/^note:/ { seen = 1; next } seen && !/^(answer:|  )/ { exit 1 }' "$out"
run sweep -q --match rel_l2=0.05 --method terngrad $one "$sample"
exits 0
check "quiet has no notes" sh -c "! grep -q note '$out'"
run sweep --match rel_l2=0.05 --method terngrad --no-baselines --format json $one "$sample"
check "and says so in its row" python3 -c "
import json
row, last = map(json.loads, open('$out').readlines()[-2:])
assert last['record'] == 'answer' and last['answer'] == 'no method reaches rel_l2 0.05; training was not tested', last
assert row['match_reached'] is False and row['match_by'] is None and row['match_evaluations'] == 2, row
assert row['match_target'] == 0.05 and row['match_field'] == 'rel_l2' and row['match_note'], row"

# ---- the last line ----
run sweep $few --match rel_l2=0.4 $one --results "$tmp/found.json" "$sample"
exits 0
run sweep --match ratio=10 --method topk --method fft $one --results "$tmp/smallest.json" "$sample"
exits 0
check "the answers name the fewest bytes, and the smallest error" python3 -c "
import json
for name, by in (('found', 'match_bytes'), ('smallest', 'match_error')):
    rows = [json.loads(line) for line in open(f'$tmp/{name}.json')]
    best = min((row for row in rows if row.get('match_reached')), key=lambda row: row[by])
    answer = rows[-1]['answer']
    assert answer.split(', ')[1].startswith(best['method']), (best['spec'], answer)"

# ---- compositions ----
run sweep --match rel_l2=0.4 --match bits=2 $one --results "$tmp/composed.json" "$sample"
exits 0
prints "what each stage of the best composition earns at rel_l2 0.4:"
prints published
check "the stages earn what other searches find" python3 "$here/check_sweep.py" --stages "$GCBENCH" "$tmp/composed.json" \
    $one "$sample"
run sweep --match rel_l2=0.05 --method terngrad --repeat 2 --no-baselines --format json $one "$sample"
check "sums are timed too if runs are repeated" sh -c "grep -q '\"sum_seconds\": *[0-9]' '$out'"
run sweep --match rel_l2=0.05 --method terngrad --no-baselines --format json $one "$sample"
check "but not in a single run" sh -c "grep -q '\"sum_seconds\": *null' '$out'"

# ---- settings that a method refuses ----
run sweep --method range --method topk --vary bits=4,8 --vary mantissa=2,6 $one "$sample"
exits 0
quiet
prints "unsupported: range:bits=4,mantissa=6: mantissa=6 does not fit"
prints "range:bits=8,mantissa=6 "
check "no line of figures" sh -c "! grep -q '^range:bits=4,mantissa=6' '$out'"
run sweep --method range --vary bits=4,8 --vary mantissa=2,6 --format json $one "$sample"
exits 0
check "a row says why" python3 -c "
import json
rows = [json.loads(line) for line in open('$out')]
rows = {row['spec']: row for row in rows if row['record'] == 'summary'}
bad = [row for row in rows.values() if row['status'] != 'ok']
assert len(rows) == 5 and len(bad) == 1 and bad[0]['status'] == 'unsupported', rows
assert 'does not fit' in bad[0]['reason'] and bad[0]['ratio'] is None and bad[0]['pareto'] is False, bad"
run sweep --method range --match ratio=6 --vary mantissa=2,7 --over bits --format json $one "$sample"
exits 0
run sweep --method range --match ratio=10 $one "$sample"
exits 0
check "a mix has no speed, and no line ends with a blank" sh -c "grep -F -A 1 '(mixed)' '$out' | grep -qE ' -(  \*)?$' && ! grep ' $' '$out'"
fails 2 "does not fit" sweep --method range:bits=4 --vary mantissa=6,7 $one "$sample"

# ---- a file of results that exists ----
echo old >"$tmp/old.json"
fails 2 "--force" sweep --match rel_l2=0.05 --method terngrad --results "$tmp/old.json" $one "$sample"
run sweep --match rel_l2=0.05 --method terngrad --results "$tmp/old.json" --force $one "$sample"
exits 0
check "replaced" grep -q '"record": "summary"' "$tmp/old.json"

# ---- its plot ----
if command -v gnuplot >/dev/null; then
    mkdir "$tmp/plots"
    run plot "$tmp/found.json" --only match --type svg -o "$tmp/plots"
    exits 0
    prints match.svg
    check "bars: methods that meet the target first, the smallest first; then the others" python3 -c "
import csv, json, math
rows = [json.loads(line) for line in open('$tmp/found.json')]
rows = [row for row in rows if row['record'] == 'summary' and row['match_field']]
rows.sort(key=lambda row: (not row['match_reached'], row['match_bits'] or row['bits_per_element']))
drawn = list(csv.DictReader(open('$tmp/plots/match.csv')))
assert len(drawn) == len(rows) >= 5, drawn
for i, (row, bar) in enumerate(zip(rows, drawn)):
    assert int(bar['series']) == i + 1 and bar['spec'] == row['spec'] and int(bar['match_reached']) == row['match_reached'], bar
    for field in ('match_bits', 'match_error', 'match_ratio', 'bits_per_element', 'rel_l2', 'ratio'):
        assert math.isclose(float(bar[field]), row[field]) if row[field] is not None else bar[field] == 'NaN', (field, bar)"
else
    leave_out "no gnuplot (Debian package gnuplot-nox)"
fi

# ---- interrupted ----
mkdir "$tmp/dir"
# in its timing
interrupted READING 1000 sweep --vary theta=0.5,0.6 --repeat 1000000 --format json --results "$tmp/dir/rows.json" "$sample"
exits 1
says "interrupted"
only rows.json
check "rows say so and compare nothing" python3 -c "
import json
for path in ('$out', '$tmp/dir/rows.json'):
    rows = [json.loads(line) for line in open(path)]
    rows = [row for row in rows if row['record'] == 'summary']
    assert rows and all(row['status'] == 'interrupted' and row['pareto'] is None for row in rows), rows"
rm "$tmp/dir/rows.json"
# in its search
run generate --elements 900K -o "$tmp/large.h5"
interrupted RUN 2 sweep --match rel_l2=0.4 --format json --results "$tmp/dir/rows.json" "$tmp/large.h5"
exits 1
says "interrupted; the best settings so far are kept"
only rows.json
check "rows have what was measured, without times" python3 -c "
import json
for path in ('$out', '$tmp/dir/rows.json'):
    rows = [json.loads(line) for line in open(path)]
    rows = [row for row in rows if row['record'] == 'summary']
    assert rows
    for row in rows:
        assert row['status'] == 'interrupted' and row['pareto'] is None, row
        assert row['messages'] == 1 and row['ratio'] > 0 and row['encode_seconds'] is None, row
        assert row['match_target'] == 0.4 and row['match_steady'] is None, row
        assert row['match_reached'] == (row['rel_l2'] <= 0.4) and 'interrupted' in row['match_note'], row"
rm "$tmp/dir/rows.json"
# in its search on a sample, which leaves out messages that are sent as fp32
run generate --elements 2M -o "$tmp/larger.h5"
run sweep --match rel_l2=0.4 --no-baselines --method topk --min-elements 16M "$tmp/larger.h5"
exits 0
prints "settings and compositions were tuned"
interrupted RUN 2 sweep --match rel_l2=0.4 --method topk --results "$tmp/dir/rows.json" "$tmp/larger.h5"
exits 1
says "interrupted"
check "no setting was measured on all messages" sh -c "! grep -q '\"summary\"' '$tmp/dir/rows.json'"

finish
