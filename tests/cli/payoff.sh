#!/bin/sh
# payoff: figures from the papers, exchanges that NumPy computes again, tables, and damaged files.
. "$(dirname "$0")/lib.sh"

here=$(dirname "$0")
sample=$(realpath "$here/../../datasets/sample.h5")
fft="transform=71,select=30,quantise=600,index=67"

# Runs gcbench, and keeps what it says, for the check of all sentences at the end.
run() {
    last="gcbench $*"
    timeout "$hang" "$GCBENCH" "$@" >"$out" 2>"$err" </dev/null
    rc=$?
    [ "$1" = payoff ] && cat "$out" "$err" | tr -s '\n ' '  ' >>"$tmp/said" && echo >>"$tmp/said"
}

narrow() {
    check "at most 80 columns" sh -c "! grep -qE '.{81}' '$out'"
}

# The values of a field in all payoff rows, to three digits: values KEY WANT...
values() {
    key=$1
    shift
    check "$key is $*" python3 -c "
import json
rows = [r for r in map(json.loads, open('$out')) if r['record'] == 'payoff']
got = [None if r['$key'] is None else '%.3g' % r['$key'] for r in rows]
assert got == [None if w == 'null' else w for w in '$*'.split()], got"
}

# ---- called wrongly ----
run payoff
exits 2
says "no result file"
run payoff --stage-gbps transform=71
exits 2
says "needs all four"
run payoff --stage-gbps "$fft,index=3"
exits 2
run payoff --stage-gbps transfrom=71
exits 2
says "is not transform=, select=, quantise= or index="
run payoff --stage-gbps "$fft" --density 0.1
exits 2
run payoff --stage-gbps "$fft" --workers 8
exits 2
run payoff --threads 2 r.json
exits 2
says "only if payoff measures"
run payoff --model-bytes 1M --method tokp
exits 2
run payoff --model-bytes 1M --device cuda:0 --method fft
check "no device" test "$rc" -eq 3
says "r.json from \`gcbench bench --device cuda --results r.json\`"
run payoff --model-bytes 100X r.json
exits 2
says "--model-bytes takes a size such as 64K or 25M of at least 4, not '100X'"
run payoff --density 0.1 r.json
exits 2
run payoff --words 1 r.json
exits 2
says "only with --density"
run payoff --servers 3 r.json
exits 2
says "only with --collective ps"
run payoff --bandwidth 10 r.json
exits 2
says "'10' is not a bandwidth"
run payoff --latency 20 r.json
exits 2
says "--latency takes a time"
run payoff --workers 1 r.json
exits 2
run payoff --collective tree r.json
exits 2
says "one of best, ring, allgather, ps"
run payoff --nodes 16x8 r.json
exits 2
says "--nodes and --intra belong together"
run payoff --nodes 1x8 --intra 400GB/s r.json
exits 2
says "2 or more nodes"
run payoff --nodes 16x8 --intra 400 r.json
exits 2
says "--intra: '400' is not a bandwidth"
run payoff --nodes 16x8 --intra 400GB/s --workers 8 r.json
exits 2
run payoff --host-copy fast r.json
exits 2
says "--host-copy: 'fast' is not a bandwidth"
run payoff --params many r.json
exits 2
says "--params takes a number of parameters"
run payoff --params 1M --model-bytes 4M r.json
exits 2
run payoff --coding-gbps 100 --cores-per-worker 2 r.json
exits 2
run payoff --workers 8..4 r.json
exits 2
says "or a range such as 2..128"
printf '88\nx\n' >"$tmp/buckets"
run payoff --buckets "$tmp/buckets" r.json
exits 2
says "--buckets: line 2 of the file is not one of at most 256 sizes: 'x'"
run payoff --buckets "$tmp/none" r.json
exits 1
says "--buckets: cannot open"

# ---- the FFT paper's figures ----
run payoff --stage-gbps "$fft" --bandwidth 10Gb,25Gb,40Gb,56Gb --format json
exits 0
quiet
values least_ratio 1.21 1.76 3.23 29.5
values pays_below_gbit 58 58 58 58
run payoff --stage-gbps "$fft" --bandwidth 7.5GB --format json
values least_ratio null
for case in "12 67 33.6" "30 34 47.9" "12 12 21.3"; do
    set -- $case
    run payoff --stage-gbps "transform=71,select=$1,quantise=600,index=$2" --bandwidth 10Gb --format json
    values pays_below_gbit "$3"
done
run payoff --stage-gbps "$fft"
exits 0
prints "3.23"
prints "pays below 58 Gb/s"
narrow

# ---- RedSync's ----
run payoff --density 0.001 --workers 128 --format json
exits 0
values bandwidth_ratio 0.128
values even_workers 1e+03
values sparse_seconds null
run payoff --density 0.015625 --workers 64 --format json
values bandwidth_ratio 1
run payoff --density 0.001 --workers 128 --words 1 --format json
values bandwidth_ratio 0.064
run payoff --density 0.001 --workers 2,128 --model-bytes 100M --bandwidth 1GB --latency 10us \
    --select-time 2ms --unpack-time 100us --reduce-time 8ms --format json
values sparse_seconds 0.00242 0.0415
values dense_seconds 0.109 0.216
run payoff --density 0.001 --workers 128
exits 0
prints "12.8 %"
prints "fewer than 1000 workers"
narrow

# ---- result files ----
run compress --repeat 3 --method fft --method topk --method qsgd --method bf16 --method sbc --step 400 --results "$tmp/r.json" "$sample"
exits 0
run payoff "$tmp/r.json"
exits 0
quiet
prints "fp32"
check "undecided without intervals" sh -c "tr -s '\n ' '  ' <'$out' | grep -q 'undecided .*too wide or missing'"
prints "pays below"
prints "1 thread"
prints "  fft:theta=0.85  "
prints "rel L2"
prints "the errors of these methods differ"
narrow
check "errors are the summaries'" python3 -c "
import json, subprocess
seen = {r['spec']: r['rel_l2'] for r in map(json.loads, open('$tmp/r.json')) if r['record'] == 'summary'}
out = subprocess.run(['$GCBENCH', 'payoff', '--format', 'json', '$tmp/r.json'], capture_output=True).stdout
rows = [r for r in map(json.loads, out.splitlines()) if r['record'] == 'payoff']
half = [e for s, e in seen.items() if s.startswith('fp16')]
for r in rows:
    want = 0 if r['method'] == 'fp32' else half[0] if r['method'] == 'fp16' else seen[r['spec']]
    assert want is not None and abs(r['rel_l2'] - want) <= 1e-12 * want, (r['spec'], r['rel_l2'], want)
assert len(rows) == 28, len(rows) # 3 baselines and 4 methods, 4 links"
run payoff --method topk --method qsgd:bits=4 "$tmp/r.json"
exits 0
prints "topk:theta=0.85"
prints "qsgd"
prints "fp16"
check "the others are left out" sh -c "! grep -qE 'sbc|fft' '$out'"
run payoff --method topk "$tmp/r.json"
check "one method alone has no note on errors" sh -c "! grep -q 'errors of these methods' '$out'"
check "a line for each method" sh -c "[ \$(grep -c '^  topk:theta=0.85 ' '$out') -eq 1 ]"
run payoff -v --bandwidth 10Gb "$tmp/r.json"
exits 0
prints "topk:theta=0.85  " # in full
narrow
run payoff ""
exits 1
says "'' is not the name of a result file"
run sweep --method topk --method terngrad --match rel_l2=0.4 --step 400 --results "$tmp/match.json" "$sample"
run payoff "$tmp/match.json"
exits 0
prints "1 of these methods cannot meet the target of the search"
check "no advice to search again" sh -c "! grep -q 'errors of these methods' '$out'"
run payoff --method qsgd:bits=3 "$tmp/r.json"
exits 2
says "--method qsgd:bits=3: not in the results, which have times of qsgd:bits=4"
run payoff --method tokp "$tmp/r.json"
exits 2
says "--method tokp: not in the results, which have times of these methods: fft, topk, qsgd, sbc, bf16, fp16"
run payoff --bandwidth 10Gb --compute 80ms --workers 2,64 --model-bytes 100M "$tmp/r.json"
exits 0
prints "exposed"
prints "overlapping 80.0 ms"
prints "times are from fitted lines"
narrow
run payoff --bandwidth 1Gb..100Gb/20 --format csv "$tmp/r.json"
exits 0
check "a header, and 20 rows for each of 7" test "$(wc -l <"$out")" -eq 141
run payoff --bandwidth 1Gb --format json --results "$tmp/p.json" "$tmp/r.json"
exits 0
check "rows are saved too" cmp "$out" "$tmp/p.json"
run payoff --results "$tmp/p.json" "$tmp/r.json"
exits 2 # is there already
run payoff --force --results "$tmp/p.json" "$tmp/r.json"
exits 0
run payoff --force --results "$tmp/r.json" "$tmp/r.json"
exits 2 # never an input
run payoff --bandwidth 1Gb - --format json
exits 1
says "standard input: no results"
timeout "$hang" "$GCBENCH" payoff - <"$tmp/r.json" >"$out" 2>"$err"
rc=$?
exits 0
prints "standard input"
check "two files are two groups" sh -c "
    cp '$tmp/r.json' '$tmp/s.json'
    '$GCBENCH' payoff '$tmp/r.json' '$tmp/s.json' >'$out'
    [ \$(grep -c ^fp32 '$out') -eq 2 ]"
run compress --method topk --step 400 --per none --results "$tmp/none.json" "$sample"
run payoff "$tmp/none.json"
exits 0
run payoff --format json "$tmp/none.json"
check "a summary of one step and four workers is four exchanges" python3 -c "
import json
elements = [r['elements'] for r in map(json.loads, open('$tmp/none.json')) if r['record'] == 'summary'][0]
rows = [r for r in map(json.loads, open('$out')) if r['record'] == 'payoff']
exchanges = [r['exchanges'] for r in map(json.loads, open('$tmp/none.json')) if r['record'] == 'summary'][0]
assert exchanges > 1 and all(r['gradient_bytes'] == 4 * elements / exchanges for r in rows)"
sed 's/"exchanges": *[0-9]*,//' "$tmp/none.json" >"$tmp/old.json"
run payoff "$tmp/old.json"
exits 2
says "has only a summary of several steps or workers, and does not say of how many: give --model-bytes"
run payoff --model-bytes 1M "$tmp/old.json"
exits 0

# ---- what result files may hold ----
printf '{"record":"plot","schema":1}\n' >"$tmp/bad.json"
run payoff "$tmp/bad.json"
exits 1
says "the results have no method with times"
printf '{"record":"result","schema":1,"status":"ok"}\n' >"$tmp/bad.json"
run payoff "$tmp/bad.json"
exits 1
says "bad.json: line 1: a result without method and spec"
row() { # METHOD SPEC REST
    printf '{"record":"result","schema":1,"method":"%s","spec":"%s","status":"ok","elements":1000,"wire_bytes":100,"collectives":["allgather"],%s}\n' "$@"
}
times='"encode_seconds":1e-3,"decode_seconds":1e-3'
row 'x' 'a\u001b[31mb\u202e' "$times" >"$tmp/odd.json"
row 'memcpy' 'memcpy' "$times" >>"$tmp/odd.json"
row 'topk' 'topk' '"encode_seconds":null,"decode_seconds":1' >>"$tmp/odd.json"
row 'topk' 'topk' '"encode_seconds":-1,"decode_seconds":1' >>"$tmp/odd.json"
row 'topk' 'topk:theta=1e999' "$times" >>"$tmp/odd.json"
run payoff "$tmp/odd.json"
exits 0
prints 'a\x1b[31mb\xe2\x80\xae'
prints "note: left out: topk:theta=0.85 (no times)"
prints "topk:theta=1e999"
prints "adding and weighting fp32 count as free"
check "no control characters" sh -c "! LC_ALL=C grep -q '[[:cntrl:]]' '$out'"
check "memcpy is not a method" sh -c "! grep -q memcpy '$out'"
run payoff --format json "$tmp/odd.json"
exits 0
check "rows are JSON" python3 -c "import json; [json.loads(line) for line in open('$out')]"

# ---- the time of adding follows from copying with the same number of threads ----
printf '{"record":"environment","schema":1,"copy_gbps":1,"bandwidths":[{"threads":1,"copy_gbps":1},{"threads":4,"copy_gbps":2}]}\n' >"$tmp/threads.json"
for threads in 1 4 9; do
    row 'qsgd' 'qsgd' "$times"',"threads":'$threads >>"$tmp/threads.json"
done
run payoff --workers 3 --bandwidth 1Gb --format json "$tmp/threads.json"
exits 0
check "adding by threads" python3 -c "
import json
rows = [r for r in map(json.loads, open('$out')) if r['record'] == 'payoff' and r['method'] == 'qsgd']
got = [round(r['add_seconds'] * 1e9) for r in rows]
assert got == [3018000, 3009000, 3018000], got # three decodings, and three additions"

# ---- tables keep their columns with any numbers ----
for value in 1e300 1e-300 123456789.123; do
    row 'qsgd' 'qsgd:bits=123456789,bucket=987654321,rounding=whatever' '"encode_seconds":'$value',"decode_seconds":'$value',"rel_l2":'$value >"$tmp/absurd.json"
    row 'topk' 'topk' '"encode_seconds":1e-9,"decode_seconds":1e-9,"rel_l2":0.1' >>"$tmp/absurd.json"
    for link in 1Gb 1Gb..999Tb/20; do
        run payoff --bandwidth $link --latency 999999999s --workers 2,65536 "$tmp/absurd.json"
        exits 0
        narrow
        run payoff --bandwidth $link --workers 65536 --compute 999999999s --model-bytes 1048576G "$tmp/absurd.json"
        exits 0
        narrow
    done
done

# ---- lines that miss the measured values ----
# two kinds of messages: sent raw, or at a hundredth of that
mixed() { # WHOLE: how many of ten
    for i in 1 2 3 4 5 6 7 8 9 10; do
        elements=$((1000 * i))
        wire=$((40 * i))
        [ "$i" -le $((10 - $1)) ] || wire=$((4000 * i))
        printf '{"record":"result","schema":1,"method":"topk","spec":"topk","status":"ok","elements":%d,"wire_bytes":%d,"encode_seconds":%de-6,"decode_seconds":%de-6,"rel_l2":0.2,"collectives":["allgather"]}\n' \
            $elements $wire $i $i
    done >"$tmp/mixed.json"
}
in_doubt() { # WANT: None or what it is
    run payoff --model-bytes 100M --bandwidth 1Gb --format json "$tmp/mixed.json"
    exits 0
    check "in doubt: $1" python3 -c "
import json
r = [r for r in map(json.loads, open('$out')) if r['record'] == 'payoff' and r['method'] == 'topk'][0]
assert str(r['doubtful']) == '$1', r['doubtful']
assert r['doubtful'] is None or r['pays'] is None and r['undecided'] is None
assert (r['lines_off'] > 0.5) == (r['doubtful'] is not None)"
}
mixed 0
in_doubt None
run payoff --model-bytes 100M --bandwidth 1Gb "$tmp/mixed.json"
prints "rel L2 is that of the measured tensors"
check "no doubt" sh -c "! grep -q 'doubtful' '$out'"
mixed 1 # the fit misses by 0.3 only, the sum by 85 %
in_doubt bytes
mixed 5
in_doubt bytes
run payoff --model-bytes 100M --bandwidth 1Gb "$tmp/mixed.json"
prints "doubtful: fitted and measured bytes differ by "
prints "* and doubtful: the fitted lines miss the measured values"
check "marked" grep -q '[0-9]\*$' "$out"
narrow
run payoff --model-bytes 100M "$tmp/mixed.json"
check "marked at every link" grep -q ' [mu]*s\* .* [mu]*s\*$' "$out"
narrow
run payoff -v --model-bytes 100M "$tmp/mixed.json"
prints "topk:theta=0.85  doubtful: fitted and measured bytes"
run payoff --bandwidth 1Gb "$tmp/mixed.json"
check "no line, no doubt" sh -c "! grep -q 'doubtful' '$out'"
sed -i 's/"wire_bytes":[0-9]*/"wire_bytes":40/;8,10s/e-6/e-4/g' "$tmp/mixed.json"
in_doubt "encoding times"
run payoff --model-bytes 100M --bandwidth 1Gb..10Gb/3 --results "$tmp/doubt.json" "$tmp/mixed.json"
run report --no-plots -o "$tmp/doubt.html" "$tmp/doubt.json"
exits 0
check "doubtful in the report" grep -q 'doubtful: fitted and measured encoding times' "$tmp/doubt.html"
check "and not among those that pay" sh -c "! grep -q 'id=.links' '$tmp/doubt.html'"
command -v gnuplot >/dev/null && {
    run plot --only break-even --type svg -o "$tmp/plots" "$tmp/doubt.json"
    exits 0
    check "left out of the plot" sh -c "! grep -q topk '$tmp'/plots/*.svg"
    check "and counted there" grep -q 'left out as doubtful: 1' "$tmp"/plots/*.svg
    check "how large the gradient is" grep -q 'gradient of 104.9 MB' "$tmp"/plots/*.svg
}

# ---- notes on how times were measured ----
printf '{"record":"environment","schema":1,"cpus":4,"load1":2.5,"copy_gbps":0.001}\n' >"$tmp/load.json"
row 'qsgd' 'qsgd' "$times" >>"$tmp/load.json"
run payoff --bandwidth 10Gb "$tmp/load.json"
prints "measured at load 2.5 on 4 cpus"
narrow
sed -i 's/2.5/2/;s/0.001/1000/' "$tmp/load.json"
run payoff --bandwidth 10Gb "$tmp/load.json"
check "no notes of load and copying" sh -c "! grep -qE 'at load' '$out'"

row 'qsgd' 'qsgd' "$times" >"$tmp/once.json"
run payoff "$tmp/once.json"
prints "times of 1 of 1 methods have no interval"
prints "undecided; by the medians"
narrow
interval='"encode_seconds_low":9e-4,"encode_seconds_high":2e-3,"decode_seconds_low":9e-4,"decode_seconds_high":2e-3'
row 'topk' 'topk' "$times,$interval" >>"$tmp/once.json"
run payoff "$tmp/once.json"
prints "times of 1 of 2 methods have no interval"
run payoff --method topk "$tmp/once.json"
check "intervals need no note" sh -c "! grep -q 'no interval' '$out'"
run sweep --method topk --vary theta=0.9 --repeat 3 --step 400 --results "$tmp/one.json" "$sample"
run payoff "$tmp/one.json"
prints "times of 1 of 1 methods have no interval"
run sweep --method topk --vary theta=0.9 --repeat 9 --step 400 --results "$tmp/nine.json" "$sample"
run payoff "$tmp/nine.json"
check "no note of nine runs" sh -c "! grep -q 'no interval' '$out'"
command -v gnuplot >/dev/null && {
    run plot --only throughput --type svg -o "$tmp/speeds" "$tmp/one.json"
    check "three runs" grep -q 'medians of 2 to 5 runs' "$tmp"/speeds/throughput*.svg
    run plot --force --only throughput --type svg -o "$tmp/speeds" "$tmp/nine.json"
    check "intervals" grep -q 'medians and 95 % intervals' "$tmp"/speeds/throughput*.svg
}

# ---- stages that were timed ----
row 'fft' 'fft' "$times"',"transform_seconds":1e-6,"select_seconds":2e-6,"quantise_seconds":4e-6,"index_seconds":3e-6' >"$tmp/stages.json"
run payoff --bandwidth 10Gb,40Gb --format json "$tmp/stages.json"
exits 0
check "k_min of measured stages" python3 -c "
import json
rows = [r for r in map(json.loads, open('$out')) if r['record'] == 'payoff' and r['model'] == 'fft']
assert len(rows) == 2, rows
for r, gbit in zip(rows, (10, 40)):
    share = 2 * 10e-6 / 4000 * gbit * 1e9 / 8
    want = 1 / (1 - share) if share < 1 else None
    assert (want is None) == (r['least_ratio'] is None) and (want is None or abs(r['least_ratio'] - want) < 1e-9), r
    assert r['transform_gbps'] == 4 and r['quantise_gbps'] == 4 and r['ratio_vs_fp32'] == 40, r
    assert r['pays'] == (want is not None and 40 > want), r"
run payoff --bandwidth 10Gb "$tmp/stages.json"
check "papers only when asked" sh -c "! grep -q Tf '$out'"
run payoff -v --bandwidth 10Gb "$tmp/stages.json"
prints "Tf transform, Ts selection"
prints "the FFT paper's condition"
narrow
sed 's/"fft"/"sbc"/g' "$tmp/stages.json" >>"$tmp/stages.json.2"
cat "$tmp/stages.json" >>"$tmp/stages.json.2"
run payoff -v "$tmp/stages.json.2"
check "symbols are explained once" sh -c "[ \$(grep -c '^Tf transform' '$out') -eq 1 ]"
check "for two methods" sh -c "[ \$(grep -c \"the FFT paper's condition\" '$out') -eq 2 ]"
check "continued lines are indented further" sh -c "
    ! sed -n '/any bandwidth/,/^Tf/p' '$out' | grep -vE '^(    +[^ ]|  (sbc|fft)[:,]|Tf )'"

# ---- times that payoff measures ----
run payoff --model-bytes 100M --method qsgd --method topk:theta=0.9 --bandwidth 10Gb --workers 4
exits 0
quiet
prints "gradient of 105 MB (100 MiB), 7 messages in 4"
prints "times of synthetic"
prints "  topk:theta=0.9 "
narrow
run payoff --model-bytes 100M --method qsgd --bandwidth 10Gb --format json
exits 0
check "fitted from messages of many sizes" python3 -c "
import json
rows = [json.loads(line) for line in open('$out')]
assert rows[0]['copy_gbps'] > 0
rows = [r for r in rows if r['record'] == 'payoff' and r['method'] == 'qsgd']
assert len(rows) == 1 and rows[0]['fitted'] and not rows[0]['extrapolated'], rows
r = rows[0]
assert r['encode_seconds_per_byte'] > 0 and r['add_seconds'] > 0
assert 7.5 < r['ratio_vs_fp32'] < 8 and abs(r['wire_bytes_per_byte'] * r['ratio_vs_fp32'] - 1) < 0.05"

# ---- incomplete results are refused by name ----
sed 's/"status": *"ok"/"status":"interrupted"/' "$tmp/r.json" >"$tmp/cut.json"
run payoff "$tmp/cut.json"
exits 1
says "no method can be judged: all 6 methods of $tmp/cut.json (interrupted)"
python3 - "$tmp/r.json" >"$tmp/short.json" <<'END'
import json, sys
dropped = False
for line in open(sys.argv[1]):
    row = json.loads(line)
    if row["record"] == "result" and row["method"] == "topk" and not dropped:
        dropped = True
        continue
    print(line, end="")
END
run payoff "$tmp/short.json"
exits 0
prints "note: left out: topk:theta=0.85 (incomplete)"
check "and has no verdict" sh -c "! grep -q '^  topk' '$out'"

# a bench that Ctrl-C ends in the middle: its table says so, and its results have no verdict
run generate --elements 2M -o "$tmp/large.h5"
large="bench --cache warm --no-bandwidth --method topk --method bf16 $tmp/large.h5"
run $large --repeat 2 --results "$tmp/whole-run.json"
exits 0
interrupted READING 1000 $large --repeat 20000 --results "$tmp/cut-run.json"
exits 1
prints "interrupted: the last table covers only the messages measured by then"
check "the rows say so" sh -c "grep '\"summary\"' '$tmp/cut-run.json' | grep -v '\"status\": *\"interrupted\"' | wc -l | grep -qx 0"
run payoff "$tmp/cut-run.json"
exits 1
says "no method can be judged: "
says "(interrupted)"
run payoff "$tmp/cut-run.json" "$tmp/whole-run.json"
exits 0
prints "times of $tmp/whole-run.json"
prints "note: left out: "
check "and no verdict from the other file" sh -c "! grep -q 'times of $tmp/cut-run.json' '$out'"
: >"$tmp/empty.json"
run payoff "$tmp/empty.json"
exits 1
says "empty.json: no results in the file"

# ---- results of another build are not guessed ----
sed 's/"collectives": *\[[^]]*\],//' "$tmp/r.json" >"$tmp/elder.json"
run payoff "$tmp/elder.json"
exits 1
says "(its build does not say how messages travel)"
sed 's/"collectives": *\[[^]]*\],/"collectives":["gossip"],/' "$tmp/r.json" >"$tmp/newer.json"
run payoff "$tmp/newer.json"
exits 1
says "(another build's collective)"
run bench --method qsgd:collective=allreduce --method topk:theta=0.99,collective=spardl --method topk:theta=0.99 \
    --repeat 2 --cache warm --no-bandwidth --step 400 --worker 0 --results "$tmp/named.json" "$sample"
run payoff --bandwidth 10Mb "$tmp/named.json"
exits 0
prints "(its all-reduce"
prints "topk:theta=0.99,collective=spardl"
prints "topk:theta=0.99  "
narrow

# ---- cold caches are preferred ----
for cache in warm cold; do
    row 'qsgd' 'qsgd' "$times"',"cache":"'$cache'"'
done >"$tmp/caches.json"
row 'topk' 'topk' "$times"',"cache":"warm"' >>"$tmp/caches.json"
run payoff --format json "$tmp/caches.json"
check "only topk is warm" python3 -c "
import json
rows = [r for r in map(json.loads, open('$out')) if r['record'] == 'payoff' and not r['baseline']]
assert {(r['method'], r['cache']) for r in rows} == {('qsgd', 'cold'), ('topk', 'warm')}, rows"

# ---- the size of the gradient, and its buckets ----
run payoff --params 1.5M --bandwidth 10Gb --format json "$tmp/r.json"
check "parameters take four bytes" python3 -c "
import json
assert {r['gradient_bytes'] for r in map(json.loads, open('$out')) if r['record'] == 'payoff'} == {6e6}"
printf '88\n12\n' >"$tmp/buckets"
run payoff --buckets "$tmp/buckets" --compute 1ms --bandwidth 10Gb --collective ring --workers 2..4 --format json "$tmp/r.json"
check "unequal buckets" python3 -c "
import json
rows = [r for r in map(json.loads, open('$out')) if r['record'] == 'payoff' and r['method'] == 'fp32']
assert [r['workers'] for r in rows] == [2, 4] and all(r['transfers'] == 2 for r in rows), rows
for r in rows:
    work = r['compute_seconds'] + r['add_seconds'] + r['average_seconds']
    delay = r['latency_steps'] * r['latency_seconds']
    sent = r['wire_seconds'] - delay
    want = max(0.88 * work + delay + sent, work + delay / 2 + 0.12 * sent)
    assert abs(r['step_seconds'] - want) < 1e-12, (r, want)"

# ---- NumPy finds the same figures and the same sentences ----
recompute() { # RESULTS ARGS of check_payoff -- ARGS of payoff
    results=$1
    shift
    given=
    while [ "$1" != -- ]; do
        given="$given $1"
        shift
    done
    shift
    "$GCBENCH" payoff "$@" "$results" >"$tmp/text"
    "$GCBENCH" payoff -v "$@" "$results" >"$tmp/full"
    tr -s '\n ' '  ' <"$tmp/text" >>"$tmp/said" && tr -s '\n ' '  ' <"$tmp/full" >>"$tmp/said"
    run payoff --format json "$@" "$results"
    exits 0
    check "NumPy finds the same" python3 "$here/check_payoff.py" "$results" "$out" "$tmp/text" "$tmp/full" $given
}
run bench --method topk --method sbc --method fft --method qsgd --method fp16 --method bf16 \
    --time-budget 3s --results "$tmp/b.json" "$sample"
recompute "$tmp/r.json" --
recompute "$tmp/b.json" --
recompute "$tmp/b.json" -- --workers 2,5,64 --bandwidth 10Gb
recompute "$tmp/r.json" topology=allgather -- --collective allgather --workers 9 --latency 1ms
recompute "$tmp/b.json" topology=ring -- --collective ring --workers 12
recompute "$tmp/b.json" topology=ps -- --collective ps --workers 4
recompute "$tmp/r.json" bytes=1e9 messages=300 bucket=1e7 -- --model-bytes 1GB --messages 300 --bucket-bytes 10MB
recompute "$tmp/b.json" compute=0.08 bytes=1e8 -- --compute 80ms --params 25M --bandwidth 1Gb..400Gb/7
recompute "$tmp/b.json" compute=0.0001 bucket=65536 -- --compute 100us --bucket-bytes 64K --bandwidth 1Gb..400Gb/7
recompute "$tmp/b.json" per_node=8 intra=4e11 -- --nodes 16x8 --intra 400GB/s --inter 100Gb
recompute "$tmp/b.json" inner=8 cores=0.25 copy=25e9 -- --inner-steps 8 --cores-per-worker 0.25 --host-copy 25GB/s
recompute "$tmp/b.json" coding=4.4e12 bytes=1.4e9 -- --coding-gbps 4400 --params 350M --bandwidth 100Gb
# ---- what the inputs above do not provoke ----
run payoff --bandwidth 1Gb..2Gb/300 r.json
exits 2
says "more than 256 values"
: >"$tmp/none"
run payoff --buckets "$tmp/none" r.json
exits 2
says "the file is empty"
run payoff --buckets "$tmp/none" --bucket-bytes 1M r.json
exits 2
run payoff --density 0.1 --compute 1s
exits 2
run payoff --nodes 2x2 --intra 1GB/s --collective ps r.json
exits 2
run payoff --density 0.1 --collective ps
exits 2
run payoff --density 0.1 --method topk
exits 2
timed='"encode_seconds":1e-9,"decode_seconds":1e-9,"encode_seconds_low":1e-9,"encode_seconds_high":1e-9,"decode_seconds_low":1e-9,"decode_seconds_high":1e-9'
summed='"sum_seconds":SUM,"sum_seconds_low":SUM,"sum_seconds_high":SUM'
row 'topk' 'topk' "$timed,$summed" | sed 's/SUM/1/g' >"$tmp/slow.json"
run payoff --bandwidth 10Gb "$tmp/slow.json"
prints "no: adding 8 messages takes longer than sending fp16"
row 'topk' 'topk' "$timed,$summed" | sed 's/SUM/2e-5/g;s/"wire_bytes":100/"wire_bytes":2000/' >"$tmp/alike.json"
run payoff --bandwidth 10Gb --workers 2 "$tmp/alike.json"
prints "no: sends as many bytes as fp16"
prints "answer: nothing beats fp16 at 10 Gb/s with 2 workers"
row 'topk' 'topk' "$timed,$summed" | sed 's/SUM/1e-9/g' >"$tmp/quick.json"
run payoff --bandwidth 10Mb --host-copy 10kB "$tmp/quick.json"
prints "no: copying to the host and back takes too long"
row 'identity' 'identity' "$times"',"sum_seconds":1' >>"$tmp/quick.json"
row 'fp16' 'fp16' "$times"',"sum_seconds":1' >>"$tmp/quick.json"
run payoff --bandwidth 1Mb --workers 2,3,4,5,6,7 "$tmp/quick.json"
prints "answer: at 1 Mb/s compression pays with 6 numbers of workers from 2 to 7;"
run payoff --bandwidth 1Mb --workers 3 "$tmp/quick.json"
prints "(at least "
sed -i 's/"collectives":."allgather".,/"collectives":["allreduce"],"collective":"allreduce",/' "$tmp/quick.json"
run payoff --bandwidth 1Mb "$tmp/quick.json"
prints "pays with any number of workers"
mixed 0
sed -i 's/"encode_seconds":[0-9]*e-6/"encode_seconds":1e-5/;8,10s/\("decode_seconds":[0-9]*\)e-6/\1e-4/' "$tmp/mixed.json"
in_doubt "decoding times"
run payoff --model-bytes 100M --bandwidth 1Gb "$tmp/mixed.json"
prints "doubtful: fitted and measured decoding times differ by"
mixed 0
sed -i 's/"decode_seconds":\([0-9]*\)e-6/&,"sum_seconds":\1e-6/;8,10s/"sum_seconds":\([0-9]*\)e-6/"sum_seconds":\1e-4/' "$tmp/mixed.json"
in_doubt "adding times"
run payoff --model-bytes 100M --bandwidth 1Gb "$tmp/mixed.json"
prints "doubtful: fitted and measured adding times differ by"
coded() { # SPEC SECONDS WIRE COLLECTIVE: 4000 bytes, coded in so many seconds for certain
    printf '{"record":"result","schema":1,"method":"%s","spec":"%s","status":"ok","elements":1000,"rel_l2":%s,"wire_bytes":%s,"collectives":["%s"],"collective":"%s","encode_seconds":%s,"encode_seconds_low":%s,"encode_seconds_high":%s,"decode_seconds":0,"decode_seconds_low":0,"decode_seconds_high":0}\n' \
        "$1" "$1" "$5" "$3" "$4" "$4" "$2" "$2" "$2"
}
{ # sending fp16 takes 16 us with 2 workers, 28 with 8, at most 32
    coded slow 1e-3 100 allreduce 0.1
    coded slowish 4e-5 100 allreduce 0.1
    coded medium 26e-6 100 allreduce 0.3
    coded ready 0 100 allreduce 0.1
    coded chatty 1e-7 700 allgather 0.1
} >"$tmp/coded.json"
run payoff --latency 1us --bandwidth 1Gb "$tmp/coded.json"
prints "no: encoding takes longer than sending fp16"
prints " workers or more"
prints "pays with any number of workers"
prints "most accurate of "
run payoff --latency 1us "$tmp/coded.json"
prints "pays at any bandwidth"
prints "pays between "
run payoff --latency 1ns --bandwidth 1Gb --workers 2 "$tmp/coded.json"
prints "no, only with "
sed -i '/slowish/s/4e-5/2e-5/g;/slowish/s/"decode_\([a-z_]*\)":0/"decode_\1":2e-5/g' "$tmp/coded.json"
run payoff --latency 1ns --bandwidth 1Gb "$tmp/coded.json"
prints "no: coding takes longer than it saves"
interrupted READING 1000 payoff --model-bytes 100M
exits 1
says "gcbench: interrupted"
tr -s '\n ' '  ' <"$err" >>"$tmp/said"

. "$here/payoff_link.sh"

# ---- every sentence was printed at least once above ----
check "every sentence" python3 "$here/check_sentences.py" "$tmp/said" "$here"/../../src/tool/payoff/*.c \
    "$here"/../../cli/payoff/*.c
finish
