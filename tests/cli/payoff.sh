#!/bin/sh
# payoff: rows that are computed again, options, results and exchanges as input, and damaged files.
# No words are checked.
. "$(dirname "$0")/lib.sh"

here=$(dirname "$0")
sample=$(realpath "$here/../../datasets/sample.h5")
net=$here/../data/net
results=$tmp/results.json
long=$(printf 'x%.0s' $(seq 200))
python3 "$here/check_payoff.py" results >"$results"

fails() { # STATUS ARGS...: one line on stderr, and nothing on stdout
    status=$1
    shift
    run payoff "$@"
    exits "$status"
    check "one line on stderr" test "$(wc -l <"$err")" -eq 1
    check "nothing on stdout" test ! -s "$out"
}

# The rows of payoff follow from each other: rows ARGS...
rows() {
    run payoff --format json "$@"
    exits 0
    check "rows follow from each other" python3 "$here/check_payoff.py" rows "$out"
}

# ---- options that are wrong, or contradict each other ----
digits=$(printf '9%.0s' $(seq 4095))
for options in "--workers $digits" "--bandwidth ${digits}Gb" "--workers 1" "--workers 8..4" "--workers 65537" "--bandwidth 10" \
    "--bandwidth 2Gb..1Gb" "--bandwidth 1Gb," "--latency -1us" "--params 0" "--params ${digits}M" \
    "--model-bytes 100X" "--compute fast" "--inner-steps 0" "--bucket-bytes 0" "--host-copy fast" "--exact 0" "--exact 2" "--noise 0" \
    "--cluster nosuch" "--nodes 16x8" "--nodes 1x8 --intra 400GB/s" "--nodes 16 --intra 400GB/s" "--nodes 16x8 --intra 400" \
    "--intra 400GB/s" "--nodes 16x8 --intra 400GB/s --workers 8" "--cluster h100-8x400 --workers 12" \
    "--cluster h100-8x400 --workers 8" "--params 1M --model-bytes 4M" "--reduce-dtype fp32" "--sharded --inner-steps 10" \
    "--sharded --cluster sites-100m" "--reduce-dtype fp8 --sharded" "--link x --bandwidth 1Gb" \
    "--link x --cluster ethernet-1g" "--link x --latency 1us" "--link x --nodes 2x2 --intra 1Gb" "--method tokp" \
    "--method qsgd:bits=99" "--stage-gbps transform=71" "--density 0.1" "--nosuch"; do
    # shellcheck disable=SC2086
    fails 2 $options
done

# ---- rows of results as input ----
for options in "--workers 4 --bandwidth 10Gb" "--workers 2,3,12,64 --bandwidth 1Gb..400Gb" \
    "--nodes 6x4 --intra 100GB/s --bandwidth 40Gb" "--workers 8 --bandwidth 1Gb --compute 100ms" \
    "--workers 8 --bandwidth 1Gb --compute 100ms --inner-steps 8" "--workers 8 --bandwidth 1Gb --host-copy 10GB/s" \
    "--workers 8 --bandwidth 1Gb --coding 100GB/s --compute 1s --bucket-bytes 1M" \
    "--workers 8 --bandwidth 1Gb --cores-per-worker 0.25" "--sharded --workers 16 --bandwidth 100Gb" \
    "--workers 16 --bandwidth 10Gb --coding h200" "--workers 16 --bandwidth 10Gb --coding a100" \
    "--cluster sites-100m --latency 1ms"; do
    # shellcheck disable=SC2086
    rows --params 25M $options "$results"
done
rows --params 25M --workers 8 --bandwidth 100Mb --exact 0.01 --noise 0.5 "$results"
run payoff --format json --params 25M --cluster h100-8x400 "$results"
cp "$out" "$tmp/cluster.json"
for billions in 1.3b 1.3B; do
    run payoff --format json --params $billions --workers 4 --bandwidth 10Gb "$results"
    grep -v '"environment"' "$out" >"$tmp/$billions.json"
done
check "1.3b and 1.3B parameters are the same" cmp "$tmp/1.3b.json" "$tmp/1.3B.json"
run payoff --format json --params 25M --nodes 16x8 --intra 400GB/s --bandwidth 3200Gb --latency 5us "$results"
check "a named network is its options" python3 -c "
import json
a, b = ([r for r in map(json.loads, open(f)) if r['record'] == 'payoff'] for f in ('$tmp/cluster.json', '$out'))
assert len(a) == len(b) and all(abs(x['network_seconds'] / y['network_seconds'] - 1) < 1e-9 for x, y in zip(a, b))
assert (b[0]['workers'], b[0]['workers_per_node'], b[0]['bandwidth_gbit'], b[0]['intra_gbit']) == (128, 8, 3200, 3200), b[0]"
place="--params 25M --workers 8 --bandwidth 1Gb"
# shellcheck disable=SC2086
{
    run payoff $place --format json "$results"
    cp "$out" "$tmp/eight.json"
    run payoff $place --format json --coding "$results" "$results"
    check "its own times are those of --coding" python3 -c "
import json
a, b = ([r['seconds'] for r in map(json.loads, open(f)) if r['record'] == 'payoff'] for f in ('$tmp/eight.json', '$out'))
assert a == b, (a, b)"
    check "errors and bytes" python3 -c "
import json
rows = {(r['method'], r['collective'], r['spec'].count('bits=8')): r for r in map(json.loads, open('$tmp/eight.json')) if r['record'] == 'payoff'}
r = rows['qsgd', 'twoshot', 1] # measured with eight workers
assert (r['error_of_mean'], r['mean_workers'], r['lasting'], r['kind']) == (0.03, 8, None, 'exact'), r
assert abs(r['link_bytes'] - 2 * 7 / 8 * 1.008 * 25e6) < 1 or r['algorithm'] == 'tree', r
r = rows['qsgd', 'twoshot', 0] # of one message, rounded twice
assert abs(r['error_of_mean'] - 0.2 * 2 ** 0.5) < 1e-12 and r['mean_workers'] == 1 and r['kind'] == 'noise', r
r = rows['qsgd', 'allreduce', 1] # sums of integers take 2 bytes
assert abs(r['link_bytes'] / {'ring': 1.75, 'halving': 1.75, 'doubling': 3}[r['algorithm']] - 2 * 25e6) < 1, r
assert ('qsgd', 'allreduce', 0) not in rows # its bytes are not known
r = rows['topk', 'oktopk', 0]
assert 'memory=ef' in r['spec'] and r['kind'] == 'lasting' and r['error_of_mean'] == 0.31, r"
    run payoff $place --method qsgd:bits=4 --format json "$results"
    check "one method and the baselines" python3 -c "
import json
rows = [r for r in map(json.loads, open('$out')) if r['record'] == 'payoff']
assert {r['method'] for r in rows} == {'identity', 'fp16', 'bf16', 'qsgd'} and all('bits=4' in r['spec'] for r in rows if not r['baseline'])"
    fails 2 $place --method qsgd:bits=3 "$results"
    run payoff $place --sharded --reduce-dtype fp32 "$results"
    prints "fp32 reduce-scatter"
    for spec in 4 4,collective=allgather; do sed -n "s/8,collective=twoshot\"/$spec\"/p" "$results"; done | cat "$results" - >"$tmp/twice.json"
    rows $place "$tmp/twice.json" # a collective that is the usual one makes no second way
    mkdir -p "$tmp/$long/$long"
    cp "$results" "$tmp/$long/$long/r.json"
    run payoff $place --format json "$tmp/$long/$long/r.json"
    check "the whole path" grep -q "\"results\": \"$tmp/$long/$long/r.json\"" "$out"
    grep -v summary "$results" >"$tmp/unknown.json"
    run payoff --workers 8 --bandwidth 1Gb "$tmp/unknown.json"
    exits 2 # how large?
    run payoff $place -q "$results"
    exits 0
    quiet
    check "-q prints the answer" test -s "$out"
    run payoff --params 25M --workers 2,4 --bandwidth 1Gb,2Gb..3Gb --format csv "$results"
    exits 0
    cp "$out" "$tmp/rows.csv"
    run payoff --params 25M --workers 2,4 --bandwidth 1Gb,2Gb..3Gb --format json --results "$tmp/saved.json" "$results"
    exits 0
    check "rows are saved too" cmp "$out" "$tmp/saved.json"
    check "CSV has the same rows" python3 -c "
import csv, json
rows = [r for r in map(json.loads, open('$out')) if r['record'] == 'payoff']
table = list(csv.DictReader(open('$tmp/rows.csv')))
assert len(table) == len(rows)
assert {(r['workers'], r['bandwidth_gbit']) for r in rows} == {(w, b) for w in (2, 4) for b in (1, 2, 3)}
for a, b in zip(table, rows):
    for key in ('label', 'kind', 'algorithm', 'advice'):
        assert a[key] == (b[key] or ''), (key, a, b)
    for key in ('workers', 'error_of_mean', 'seconds', 'speedup_bar', 'network_seconds', 'link_bytes'):
        assert float(a[key]) == b[key], (key, a, b)"
    fails 2 $place --results "$tmp/saved.json" "$results" # is there already
    run payoff $place --force --results "$tmp/saved.json" "$results"
    exits 0
    fails 2 $place --force --results "$results" "$results" # never an input
    timeout "$hang" "$GCBENCH" payoff $place --format json - <"$results" >"$out" 2>"$err"
    rc=$?
    exits 0
    mkfifo "$tmp/pipe"
    cat "$results" >"$tmp/pipe" &
    run payoff $place --format json "$tmp/pipe"
    exits 0
    check "a pipe" python3 -c "
import json
a, b = ([r['seconds'] for r in map(json.loads, open(f)) if r['record'] == 'payoff'] for f in ('$tmp/eight.json', '$out'))
assert a == b"
}

# what bench, sweep and replay write
run bench --method qsgd:bits=4 --method topk:theta=0.9 --method fp16 --method bf16 --repeat 2 --cache warm --no-bandwidth --step 400 \
    --results "$tmp/bench.json" "$sample"
run sweep --method topk --vary theta=0.9 --repeat 2 --step 400 --results "$tmp/sweep.json" "$sample"
run replay --method qsgd:bits=4,collective=twoshot --method topk:theta=0.9,memory=ef --allow-gaps --results "$tmp/replay.json" "$sample"
rows --workers 4 --bandwidth 10Gb "$tmp/bench.json"
check "the gradient is that of the dump" python3 -c "
import json
rows = [r for r in map(json.loads, open('$out')) if r['record'] == 'payoff']
assert rows[0]['gradient_bytes'] == 4 * 161402 and len(rows) == 6, rows[0]"
rows --workers 4 --bandwidth 10Gb "$tmp/bench.json" "$tmp/replay.json"
check "errors of replay" python3 -c "
import json
want = {(r['method'], r['collective']): r['alpha'] for r in map(json.loads, open('$tmp/replay.json')) if r['record'] == 'replay'}
got = {(r['method'], r['collective']): r for r in map(json.loads, open('$out')) if r['record'] == 'payoff' and r['mean_workers'] > 1}
assert len(got) == len(want) == 2 and all(got[key]['error_of_mean'] == alpha for key, alpha in want.items()), (want, got)"
rows --workers 4 --bandwidth 10Gb --coding "$tmp/bench.json" "$tmp/bench.json"
rows --workers 4 --bandwidth 10Gb --coding 100GB/s "$tmp/sweep.json"
fails 2 --workers 4 --bandwidth 10Gb "$tmp/replay.json" # no times
fails 2 --workers 4 --bandwidth 10Gb "$tmp/bench.json" "$sample"

# ---- dumps ----
rows --workers 4 --bandwidth 10Gb --coding h200 "$sample"
check "all kinds of ways" python3 -c "
import json
rows = [r for r in map(json.loads, open('$out')) if r['record'] == 'payoff']
assert len(rows) > 40 and {r['kind'] for r in rows} == {None, 'exact', 'noise', 'lasting', 'loud'}
assert {r['collective'] for r in rows} >= {'allgather', 'allreduce', 'twoshot', 'oktopk', 'spardl'}
assert all(r['lasting'] is not None and r['lasting'] <= r['error_of_mean'] * 1.001 for r in rows)
assert all(r['mean_workers'] == 2 and r['speedup_bar_low'] is None for r in rows)"
rows --params 25M --workers 16384 --bandwidth 10Gb --coding 4800GB/s --method qsgd:bits=8 --method qsgd:bits=2 # of the shipped sample
check "an all-reduce that so many workers cannot use is left out" python3 -c "
import json
ways = {(r['collective'], r['spec'][:11]) for r in map(json.loads, open('$out')) if r['record'] == 'payoff'}
assert ('allreduce', 'qsgd:bits=2') in ways and ('allreduce', 'qsgd:bits=8') not in ways and ('twoshot', 'qsgd:bits=8') in ways, ways"
# times that are measured: nothing of them is known, except that they are there
rows --workers 2 --bandwidth 10Gb --method qsgd:bits=4 --step 400 --dataset 'layers.0.c*' "$sample"
check "intervals" python3 -c "
import json
rows = [r for r in map(json.loads, open('$out')) if r['record'] == 'payoff']
assert len(rows) >= 6 and all(r['speedup_bar_low'] > 0 and r['coding_seconds'] > 0 for r in rows), rows"
fails 2 --dataset nosuch "$sample"
python3 -c "
import h5py, numpy
with h5py.File('$tmp/nan.h5', 'w') as file:
    for worker in range(2):
        file[f'step_0/worker_{worker}/w'] = numpy.array([1, numpy.nan, 2, numpy.inf, 3] * 20, 'f4')"
run payoff --workers 4 --bandwidth 10Gb --coding h200 "$tmp/nan.h5"
exits 0
prints "80 infinities or NaNs of the dump count as 0"
fails 2 --method qsgd:bits=4 --step 7 "$sample"
fails 1 "$tmp/nosuch.h5"
fails 1 ""
head -c 3000 "$sample" >"$tmp/cut.h5"
fails 1 --coding h200 "$tmp/cut.h5"
fails 2 --coding h200 --host-copy 3GB/s
fails 2 --coding a100 --cores-per-worker 0.5
fails 1 --coding "$tmp/nosuch" "$sample"
fails 2 --coding "$tmp/replay.json" "$sample" # no times
check "errors of the mean" python3 "$here/check_payoff.py" errors "$GCBENCH" "$tmp"
if [ -f "$interrupted" ]; then
    interrupted READING 2 payoff --workers 4 --bandwidth 10Gb --method qsgd:bits=4 --results "$tmp/interrupted.json" "$sample"
    exits 1
    check "nothing is printed or left" test ! -s "$out" -a ! -e "$tmp/interrupted.json"
    check "one line" test "$(wc -l <"$err")" -eq 1
fi

# ---- measured networks and exchanges ----
measured() { # LINK EXCHANGES
    run payoff --link "$1" --format json --results "$tmp/predicted.json" --force "$2"
    exits 0
    check "predictions of $2" python3 "$here/check_measured.py" "$1" "$2" "$tmp/predicted.json"
}
measured "$net/link.json" "$net/exchanges.json"
sed 's/"seconds": \([0-9.e-]*\)/"first_seconds": 0.5e-3, &/' "$net/link.json" >"$tmp/first.json"
for workers in 3 4 12; do
    sed "s/\"workers\": 4/\"workers\": $workers/" "$net/exchanges.json" >"$tmp/exchanges.json"
    measured "$tmp/first.json" "$tmp/exchanges.json"
done
grep -v '"spec": "\(identity\|fp16\|bf16\)' "$net/exchanges.json" >"$tmp/exchanges.json"
measured "$net/link.json" "$tmp/exchanges.json" # nothing to compare with
sed '1s/"status": "ok"/"status": "wrong"/;2s/"workers": 4/"workers": 1/' "$net/exchanges.json" >"$tmp/exchanges.json"
measured "$net/link.json" "$tmp/exchanges.json"
sed "s/\"file\": \"[^\"]*\"/\"file\": \"$long$long$long\"/" "$net/exchanges.json" >"$tmp/exchanges.json"
sed 's/"workers": 4/"workers": 12/;s/"seconds": /&1/' "$tmp/exchanges.json" >"$tmp/more.json"
cat "$tmp/more.json" >>"$tmp/exchanges.json"
measured "$net/link.json" "$tmp/exchanges.json" # only those of as many workers are compared, however long a path is
run payoff --link "$net/link.json" "$net/exchanges.json"
exits 0
run payoff --bandwidth 100Mb --latency 100us --format json "$net/exchanges.json"
exits 0
check "without a measured network" python3 -c "
import json
want = {(r['spec'], r['algorithm']): r for r in map(json.loads, open('$net/exchanges.json'))}
rows = [r for r in map(json.loads, open('$out')) if r['record'] == 'payoff']
assert len(rows) == 19
for r in rows:
    x = want[r['spec'], r['algorithm']]
    if r['algorithm'] == 'ring' and not x['scatter_rounds']:
        steps = 3 * x['gather_rounds'] + 6 * x['reduce_rounds']
        net = (x['gather_bytes'] + x['reduce_bytes']) * 8 / 100e6 + (steps + 2 * x['size_rounds']) * 1e-4
        assert abs(r['network_seconds'] / net - 1) < 1e-9, (r, net)"
fails 2 "$net/exchanges.json"
fails 2 --workers 8 --bandwidth 1Gb,2Gb "$net/exchanges.json"
run payoff --link "$net/link.json" --params 25M --format json "$results"
exits 0
check "the measured number of workers" python3 -c "
import json
assert {r['workers'] for r in map(json.loads, open('$out')) if r['record'] == 'payoff'} == {4}"
run payoff --link "$net/link.json" --params 25M --workers 4 --format json "$results" "$net/exchanges.json"
exits 0
check "both" python3 -c "
import collections, json
models = collections.Counter(r.get('model') for r in map(json.loads, open('$out')))
assert models['measured'] == 19 and models['exchange'] > 5, models"
fails 1 --link "$net/nosuch.json" "$results"
fails 1 --link "$results" "$results"
sed '3s/"seconds": /"first_seconds": "5e-4", &/' "$net/link.json" >"$tmp/bad.json"
fails 1 --link "$tmp/bad.json" "$results"
sed '2s/"workers": 4/"workers": 5/' "$net/link.json" >"$tmp/bad.json"
fails 1 --link "$tmp/bad.json" "$results"
for seconds in 1e300 1e-300; do
    sed "3s/\"seconds\": [^,}]*/\"seconds\": $seconds/" "$net/link.json" >"$tmp/bad.json"
    fails 1 --link "$tmp/bad.json" "$results"
done
for damage in 's/"gather_rounds": [0-9.]*,//' 's/"seconds": /"seconds": -/' 's/"algorithm": "[a-z]*"/"algorithm": "pigeon"/' \
    's/"workers": 4/"workers": 99999999/' 's/"method": "[a-z]*"/"method": 7/' 's/"seconds_low": /"seconds_low": 9/' \
    's/"reduce_bytes": [^,]*/"reduce_bytes": 1e308/' 's/"seconds": [^,]*/"seconds": 5e-324/' \
    's/"size_rounds": /"shift_rounds": 1, &/'; do
    sed "$damage" "$net/exchanges.json" >"$tmp/bad.json"
    fails 1 --link "$net/link.json" "$tmp/bad.json"
done

# ---- damaged and hostile rows ----
row() { # METHOD SPEC REST
    printf '{"record":"result","schema":1,"method":"%s","spec":"%s","status":"ok","elements":1000,"wire_bytes":100,%s}\n' "$@"
}
times='"encode_seconds":1e-3,"decode_seconds":1e-3'
printf '{"record":"plot","schema":1}\n' >"$tmp/bad.json"
fails 2 "$tmp/bad.json" # nothing to judge
: >"$tmp/bad.json"
fails 1 --coding "$tmp/bad.json"
printf '{"record":"result","schema":1,"status":"ok"}\n' >"$tmp/bad.json"
fails 1 "$tmp/bad.json"
printf '{"record":"result","schema":1,' >"$tmp/bad.json"
fails 1 "$tmp/bad.json"
{ row fp16 fp16 "$times"; row qsgd qsgd "$times,"'"threads":4'; } >"$tmp/bad.json"
run payoff --params 1M "$tmp/bad.json"
exits 0
prints "left out: cpu, ?, 4 thread(s)" # and one of another number of threads
row qsgd qsgd "$times" >"$tmp/bad.json"
fails 2 --params 1M "$tmp/bad.json" # nothing to compare with
row fp16 fp16 "$times" >>"$tmp/bad.json"
fails 2 --sharded --params 1M "$tmp/bad.json"
rows --params 1M --workers 4 --bandwidth 1Gb "$tmp/bad.json"
{
    row 'x' 'a\u001b[31mb\u202e' "$times"
    row 'y\u001b[31m' 'qsgd' "$times"
    row 'memcpy' 'memcpy' "$times"
    row 'topk' 'topk' '"encode_seconds":null,"decode_seconds":1'
    row 'topk' 'topk:theta=1e999' "$times"
} >>"$tmp/bad.json"
for format in table json csv; do
    run payoff --params 1M --workers 4 --bandwidth 1Gb --format "$format" "$tmp/bad.json"
    exits 0
    check "no control characters" sh -c "! LC_ALL=C tr -d '\n' <'$out' | grep -q '[[:cntrl:]]'"
done
for value in 1e308 5e-324 0; do
    row 'fp16' 'fp16' '"encode_seconds":1e-9,"decode_seconds":1e-9,"rel_l2":0.1' >"$tmp/absurd.json"
    row 'qsgd' 'qsgd:bits=4,bucket=16777216' '"encode_seconds":'$value',"decode_seconds":'$value',"rel_l2":'$value',"sum_seconds":'$value \
        >>"$tmp/absurd.json"
    for options in "--workers 2,65536 --latency 999999999s --params 1M" "--workers 65536 --compute 999999999s --model-bytes 1048576G"; do
        # shellcheck disable=SC2086
        run payoff --bandwidth 1Gb $options "$tmp/absurd.json"
        exits 0
        check "no nan, no inf" sh -c "! grep -Ei '(^|[ /-])(nan|inf)([ /]|\$)' '$out'"
        # shellcheck disable=SC2086
        run payoff --bandwidth 999Tb $options --format json "$tmp/absurd.json"
        exits 0
        check "rows have times" python3 -c "
import json
rows = [r for r in map(json.loads, open('$out')) if r['record'] == 'payoff']
assert rows and all(r['seconds'] > 0 and r['link_bytes'] > 0 and r['speedup_bar'] > 0 for r in rows), rows"
    done
done
finish
