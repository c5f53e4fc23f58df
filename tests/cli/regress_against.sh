#!/bin/sh
# regress --against: this build and others alternate; --counts with a valgrind whose figures are
# known.
. "$(dirname "$0")/lib.sh"

here=$(cd "$(dirname "$0")" && pwd)
sample=$(realpath "$here/../../datasets/sample.h5")
cd "$tmp" || exit 99

words() {
    check "says $1" sh -c 'tr "\n" " " <"$0" | tr -s " " | grep -qF -- "$1"' "$out" "$1"
}

# ---- this build against itself ----
hang=$((10 * hang)) # 40 processes take their time
small="--method topk --theta 0.9 --dataset layers.0* --budget ${hang}s --pairs 20"
# the machine may be busy, so a tenth of the time and ten times it count as the same here
# A copy outside its build folder is not linked anew (tests/tool/regress/test_link_layout.c links).
cp "$GCBENCH" copy
run regress --against ./copy $small --delta 1000 --repeat 3 "$sample" --results r.json
exits 0
quiet
prints "A/A run: both are build"
prints "topk:theta=0.9"
prints "; 0 regressions"
check "rows" python3 -c "
import json
rows = [json.loads(line) for line in open('r.json')]
verdicts = [r for r in rows if r['record'] == 'verdict']
total = rows[-1]
assert rows[0]['record'] == 'environment'
assert total['record'] == 'regress' and total['form'] == 'turns' and total['pairs'] >= 20, total
assert total['base_build_id'] == total['new_build_id'] and total['exit'] == 0
times = [r for r in verdicts if r['quantity'] in ('encode', 'decode')]
assert {r['method'] for r in times} == {'topk', 'identity'}, times
assert all(r['low'] <= r['ratio'] <= r['high'] and r['delta'] == 10 and r['pairs'] >= 20 for r in times), times
assert all(r['verdict'] == 'SAME' for r in verdicts if r['quantity'] in ('size', 'error')), verdicts
assert not [r for r in verdicts if r['verdict'] == 'SLOW'], verdicts"

# ---- another build: smaller messages, and one case each that the other build lacks ----
cp "$here/../support/fake_bench.py" other
"$GCBENCH" bench --method topk --theta 0.9 --dataset 'layers.0*' --repeat 50 --format json "$sample" >this.rows
python3 -c "
import json
rows = [json.loads(line) for line in open('this.rows')]
case = next(r for r in rows if r['record'] == 'summary' and r['method'] == 'topk')
case['wire_bytes'] -= 1
case['encode_seconds'] /= 1e6
case['decode_seconds'] *= 1e6
env = dict(rows[0], build_id='zz')
json.dump({'cases': [case, dict(case, spec='gone')], 'env': env, 'log': 'log'}, open('other.json', 'w'))"
run regress --against ./other $small --repeat 3 --floor 0 "$sample"
exits 4
words "LARGER: topk:theta=0.9 size: +1 bytes"
words "GONE: gone"
words "NEW: identity"
words "SLOW: topk:theta=0.9 encode: "
check "decode became faster" grep -qE 'decode .*FAST$' "$out"
check "no A/A run" sh -c "! grep -q A/A '$out'"
check "options are passed on" grep -qxF "other bench --format json --no-bandwidth --no-sums --method topk --theta 0.9 --dataset layers.0* --repeat 3 -- $sample" log

# ---- builds that fail ----
printf '{"cases": [{"spec": "a"}], "do": "exit", "log": "short"}' >other.json
run regress --against ./other --budget=90s -q --method=topk --advisory-times --strict --accept=x --results=s.json \
    --format csv --timeout=99 "$sample"
exits 1
check "its own options are not passed on" grep -qxF "other bench --format json --no-bandwidth --no-sums --repeat 1 --method=topk -- $sample" short
check "no file of results" test ! -e s.json
for what in flood child; do # tests/tool/regress/test_ab_run.c has the others
    printf '{"cases": [{"spec": "a"}], "do": "%s"}' $what >other.json
    fails 1 "./other: " regress --against ./other --method topk --budget 60s --timeout 2 "$sample"
done
run regress --against ./other $small --timeout 50 --timeout 2 "$sample"
exits 2 # --timeout twice
# until it has been waited for
check "none of its processes is left" timeout "$hang" sh -c 'while kill -0 $0; do sleep 0.1; done' "$(cat other.pid)"
fails 2 "'$tmp' is not a program" regress --against "$tmp" "$sample"
fails 2 "'' is not a program" regress --against '' "$sample"
printf '{"cases": [{"spec": "a"}], "log": "never"}' >other.json
run regress --against ./other --results . "$sample"
exits 2
check "said before any process is run" test ! -e never
fails 2 "exit status 2: gcbench: " regress --against "$GCBENCH" --step 77 "$sample"
fails 2 "no kernel is called" regress --against "$GCBENCH" --kernels 'no/such'
fails 3 "exit status 3: gcbench: " regress --against "$GCBENCH" --device cuda:99 "$sample"
fails 2 "give more time (--budget), or choose fewer cases (--method, " regress --against "$GCBENCH" --budget 0.1 "$sample"
fails 2 "--budget takes a time" regress --against "$GCBENCH" --budget=5x "$sample"

# ---- interrupted ----
printf '{"cases": [{"spec": "a"}], "sleep": 0.2, "log": "calls"}' >other.json
cp other.json new.json
"$GCBENCH" regress --against ./other --method topk --repeat 1 --dataset fc.bias "$sample" >"$out" 2>"$err" &
last="gcbench regress --against (interrupted)"
i=0
while [ "$(cat calls 2>/dev/null | wc -l)" -lt 4 ] && [ $i -lt "$((10 * hang))" ]; do
    sleep 0.1
    i=$((i + 1))
done
kill -TERM $!
wait $!
rc=$?
exits 4 # a is gone: that is known from the first process
says "interrupted"
prints "interrupted"
prints "GONE"

# ---- counts ----
mkdir bin
cp "$here/../support/fake_valgrind.py" bin/valgrind
real_path=$PATH
PATH=$tmp/bin:$PATH
export PATH
FAKE_LOG=$tmp/counted
export FAKE_LOG
ln -s "$GCBENCH" base
printf 'topk 1000000 5000\nqsgd 2000 1000\nfft 100 100\n' >base.counts
printf 'topk 1010001 4949\nqsgd 2019 990\nfp16 100 100\n' >"$GCBENCH.counts" || skip "cannot write beside the program"
trap 'rm -f "$GCBENCH.counts"; rm -rf "$tmp"' EXIT
run regress --against ./base --counts --method topk --method qsgd --theta 0.9 --bits 3 --dataset 'fc*' "$sample"
exits 4
words "SLOW: topk:theta=0.9 encode count: +1.00 % instructions: 1010001, were 1000000"
check "1 % fewer is faster" grep -qE 'decode count .* 5000 +4949 .*FAST$' "$out"
check "1 % more is the same" grep -qE 'encode count .* 2000 +2019 .*SAME$' "$out"
check "the command line" grep -qxF "base compress -q --no-baselines --per none --threads 1 --warmup 0 --repeat 1 --isa $(widest_counted) --method topk:theta=0.9 --dataset fc* -- $sample" counted
run regress --against ./base --counts --method topk "$sample" --delta 2
exits 0
run regress --against ./base --counts --method fft --method fp16 --method qsgd "$sample" --format json
exits 4
check "what a build lacks" python3 -c "
import json
rows = {r['method']: r for r in map(json.loads, open('$out')) if r['record'] == 'verdict' and r['quantity'] == 'case'}
assert rows['fft']['verdict'] == 'GONE' and rows['fp16']['verdict'] == 'NEW', rows"
fails 1 "unknown method 'sbc'" regress --against ./base --counts --method sbc "$sample"
for odd in '--threads 2' '--isa avx512' '--calibrate'; do
    run regress --against ./base --counts --method topk $odd "$sample"
    exits 2
done
fails 2 "no input file" regress --against ./base --counts
mkdir empty
PATH=$tmp/empty
"$GCBENCH" regress --against ./base --counts --method topk "$sample" >"$out" 2>"$err"
rc=$?
PATH=$real_path
exits 3
says "apt-get install valgrind"

# the real valgrind
if counts_instructions; then
    run regress --against "$GCBENCH" --counts --method qsgd --dataset fc.weight --step last --worker 0 "$sample"
    exits 0
    check "counted something" grep -qE 'encode count +[0-9]{4,} +[0-9]{4,} +1\.000 +SAME' "$out"
fi

finish
