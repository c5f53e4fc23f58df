# Part of payoff.sh: measured networks and measured exchanges, logs of other tools, and damaged files of both.
net=$here/../data/net

run payoff --link "$net/link.json" --format json --results "$tmp/truth.json" "$net/exchanges.json"
exits 0
check "NumPy-free twin" python3 "$here/check_truth.py" "$net/link.json" "$net/exchanges.json" "$tmp/truth.json"
sed 's/"seconds": \([0-9.e-]*\)/"first_seconds": 0.5e-3, "first_seconds_low": 1e-5, "first_seconds_high": null, &/' "$net/link.json" >"$tmp/first.json"
run payoff --link "$tmp/first.json" --format json --force --results "$tmp/truth.json" "$net/exchanges.json"
exits 0
check "NumPy-free twin, first transfers" python3 "$here/check_truth.py" "$tmp/first.json" "$net/exchanges.json" "$tmp/truth.json"
sed '3s/"seconds": /"first_seconds": "5e-4", &/' "$net/link.json" >"$tmp/first.json"
run payoff --link "$tmp/first.json" "$net/exchanges.json"
exits 1
says "$tmp/first.json: line 3: sizes and times must be above 0"
run payoff --link "$net/link.json" "$net/exchanges.json"
exits 0
narrow
prints "4 workers, each with 1.0 MB in 1 message, Open MPI v4.1.4, network of"
prints "note: \`library\`: predicted for the fastest algorithm"
prints "decide agree"
run payoff --link "$net/link.json" --method qsgd "$net/exchanges.json"
check "only qsgd and the baselines" sh -c "grep -q qsgd '$out' && ! grep -q topk '$out'"
run payoff --link "$net/link.json" --method bf16 "$net/exchanges.json"
prints "No verdict was decided by both"
run payoff --link "$net/link.json" --method nosuch "$net/exchanges.json"
exits 2
says "--method nosuch: not in the measured exchanges"
run payoff "$net/exchanges.json"
exits 2
says "give --link FILE"
grep -v '"algorithm": "\(library\|doubling\)"' "$net/exchanges.json" >"$tmp/ring.json"
run payoff --bandwidth 100Mb --latency 100us "$tmp/ring.json"
exits 0
prints "bytes moved by: ring"
sed 's/"workers": 4/"workers": 2/' "$tmp/ring.json" >"$tmp/two.json"
run payoff --link "$net/link.json" "$tmp/two.json"
prints "note: the network was measured with 4 workers, and not all exchanges had"
sed 's/"wire_seconds": [0-9.e-]*/"wire_seconds": 1e-9/;s/"sizes_seconds": [0-9.e-]*/"sizes_seconds": 0/' "$tmp/ring.json" >"$tmp/fast.json"
run payoff --link "$net/link.json" "$tmp/fast.json"
prints "in no exchange does the wire take half of the time"


# ---- results of bench beside exchanges ----
# top-k and fp16 on one message of 1 MiB, from `bench`; a sum of n messages takes 3 us n + 6 us
python3 -c "
import json
for method, spec, times, ways, size in (
        ('topk', 'topk:theta=0.99,transform=none,select=topk,values=fp32,index=u32', (9e-5, 1e-5, 3e-6, 54e-6), ['allgather'], 21004),
        ('fp16', 'fp16', (3e-5, 2e-5, 1e-5, 16e-5), ['allgather', 'allreduce'], 524320)):
    row = dict(record='result', schema=1, method=method, spec=spec, scope='tensor', device='cpu', threads=1, isa='avx512', cache='warm',
               collectives=ways, collective=ways[-1], rounds=1, status='ok', messages=1, fixed_length=True, elements=262144, step=0,
               worker=0, wire_bytes=size, header_bytes=32, rel_l2=0.5)
    for name, t in zip(('encode', 'decode', 'sum', 'sum16'), times):
        row.update({name + '_seconds': t, name + '_seconds_low': 0.9 * t, name + '_seconds_high': 1.1 * t})
    print(json.dumps(row))" >"$tmp/bench.json"
run payoff --link "$net/link.json" "$tmp/bench.json" "$net/exchanges.json"
exits 0
narrow
prints "\`bench\` encodes one tensor again and again"
run payoff --link "$net/link.json" "$tmp/bench.json"
exits 0
check "says nothing of the workers that were measured" sh -c "! grep -q 'network was measured' '$out'"
run payoff --link "$net/link.json" --workers 16 "$tmp/bench.json"
exits 0
prints "note: the network was measured with 4 workers; among 16"
run payoff --link "$net/link.json" --format json "$tmp/bench.json" "$net/exchanges.json"
cp "$out" "$tmp/both.json"
benched() { # bench rows tell the coding of top-k without a memory: encode 90 us, add 4 messages in 4 x 3 us + 6 us
    check "coding times are those of bench: $1" python3 -c "
import json, math
rows = [r for r in map(json.loads, open('$tmp/both.json')) if r.get('model') == 'measured']
assert len(rows) == 19, len(rows)
for r in rows:
    own = r['method'] in ('topk', 'fp16') and 'memory' not in r['spec'] and $2
    assert r['coding'] == ('bench' if own else 'ranks'), (r['spec'], r['coding'])
    if own and r['method'] == 'topk':
        assert math.isclose(r['encode_seconds'], 90e-6) and math.isclose(r['sum_seconds'], 18e-6), r
    whole = r['encode_seconds'] + r['sum_seconds'] + r['wire_seconds'] + r['sizes_seconds']
    assert math.isclose(r['seconds'], whole, rel_tol=1e-9), (r['spec'], whole)"
}
benched "of the same length" True
for change in 's/"threads": 1/"threads": 2/' 's/"elements": 262144/"elements": 262145/' 's/"isa": "avx512"/"isa": "avx2"/'; do
    sed "$change" "$tmp/bench.json" >"$tmp/other.json"
    run payoff --link "$net/link.json" --format json "$tmp/other.json" "$net/exchanges.json"
    exits 0
    cp "$out" "$tmp/both.json"
    benched "not with $change" False
done

# an all-reduce's logged time has its additions: no others are added to a measured exchange either
additions() { # SECONDS LOG: what fp16 takes to decode and add
    run payoff --import "$net/$2" --workers 4 --format json "$tmp/bench.json" "$net/exchanges.json"
    exits 0
    check "additions in $2" python3 -c "
import json, math
rows = [r for r in map(json.loads, open('$out')) if r.get('model') == 'measured' and r['coding'] == 'bench' and r['method'] == 'fp16']
assert len(rows) == 3, rows
for r in rows:
    assert math.isclose(r['sum_seconds'], 2e-5) == $1, r
    whole = r['encode_seconds'] + r['sum_seconds'] + r['wire_seconds'] + r['sizes_seconds']
    assert math.isclose(r['seconds'], whole, rel_tol=1e-9), r"
}
additions True all_reduce_perf.log
additions False osu_latency.log

# the intervals of a measured network widen verdicts
pays_over() { # WORDS SED: of bench's top-k over a changed network
    sed "$2" "$net/link.json" >"$tmp/changed.json"
    run payoff --link "$tmp/changed.json" "$tmp/bench.json"
    exits 0
    prints "$1"
}
pays_over "  topk:theta=0.99  pays with " ''
pays_over "  topk:theta=0.99  undecided: " 's/"seconds_high": /&1000/'
pays_over "undecided at " 's/"seconds_high": [^,]*/"seconds_high": null/'
prints "note: the network's times have no interval"
run payoff --import "$net/osu_latency.log" --workers 4 "$tmp/bench.json"
prints "  topk:theta=0.99  pays with " # a log has no intervals: its times count as exact

damaged() { # WORDS SED: exchanges with a changed first row
    head -n 1 "$net/exchanges.json" | sed "$2" >"$tmp/damaged.json"
    run payoff --link "$net/link.json" "$tmp/damaged.json"
    exits 1
    says "$tmp/damaged.json: line 1: an exchange without $1"
}
damaged "method and spec" 's/"method": "topk"/"method": ""/'
damaged "a number of workers" 's/"workers": 4/"workers": 0/'
damaged "an algorithm" 's/"algorithm": "[a-z]*"/"algorithm": "tree"/'
damaged "a time and elements" 's/"elements": [0-9]*/"elements": 0/'
damaged "the times of its phases" 's/"encode_seconds": /"encode_seconds": -/'
damaged "intervals whose ends are in order" 's/"encode_seconds_low": [^,]*/"encode_seconds_low": 9/'
damaged "\`gather_rounds\` to \`size_rounds\`" 's/"gather_rounds"/"gather"/'
head -n 1 "$net/exchanges.json" | sed 's/"status": "ok"/"status": "failed"/' >"$tmp/damaged.json"
run payoff --link "$net/link.json" "$tmp/damaged.json"
exits 1
says "the results have no method with times"

broken() { # WORDS SED: a damaged link file
    sed "$2" "$net/link.json" >"$tmp/broken.json"
    run payoff --link "$tmp/broken.json" "$net/exchanges.json"
    exits 1
    says "$1"
}
broken "line 3: a link without the pattern" '3s/shift/shuffle/'
broken "line 2: a link needs 2 or more workers" '2s/"workers": 4/"workers": 1/'
broken "line 5: a link of 3 workers after one of 4" '5s/"workers": 4/"workers": 3/'
broken "line 2: transfers of 4 bytes twice" '2s/"bytes": 16/"bytes": 4/'
broken "line 1: sizes and times must be above 0" '1s/"seconds": /"seconds": -/'
broken "line 1: sizes and times must be above 0" '1s/"bytes": 4/"bytes": 1e300/;1s/"seconds": [^,]*/"seconds": 1e-300/;1s/"first_[a-z_]*": [^,]*,//g'
broken "line 2: the lower end of an interval is negative or above the upper end" '2s/"seconds_low": /"seconds_low": -/'
broken "line 2: the lower end of an interval is negative or above the upper end" '2s/"seconds_low": [^,]*/"seconds_low": 9/'
broken "there are no \`link\` rows in this file" 's/"record": "link"/"record": "links"/'
for i in $(seq 0 47); do
    sed -n "s/\"bytes\": \([0-9]*\)/\"bytes\": \1$i/p" "$net/link.json"
done >"$tmp/many.json"
run payoff --link "$tmp/many.json" "$net/exchanges.json"
exits 1
says "more than 256 sizes: measure fewer, such as only powers of 2"

for options in "--link x --import y" "--link x --bandwidth 1Gb" "--import x --latency 1us" \
    "--link x --nodes 2x2 --intra 1Gb" "--link x --density 0.1"; do
    # shellcheck disable=SC2086
    run payoff $options $([ "${options#*density}" != "$options" ] || echo r.json)
    exits 2
done

# ---- logs ----
fp32() { # SECONDS ALGORITHM OPTIONS...: fp32 of 4 MiB takes so long on the wire of a log
    wanted=$1 algorithm=$2
    shift 2
    run payoff --model-bytes 4M --method topk --format json "$@" "$tmp/bench.json"
    exits 0
    check "fp32 takes $wanted by $algorithm" python3 -c "
import json
row = next(r for r in map(json.loads, open('$out')) if r['record'] == 'payoff')
assert (row['method'], row['algorithm']) == ('fp32', '$algorithm'), row
assert abs(row['wire_seconds'] / ($wanted) - 1) < 1e-6, row['wire_seconds']"
}
# 14 steps of 512 KiB each, beyond the largest size of the log: 64 KiB in 12.72 us
fp32 14*8*12.72e-6 ring --import "$net/osu_latency.log"
# halving: 6 steps of 1.75 / 6 of 4 MiB, between 1 MiB at 12244.5 and 4 MiB at 12254.16 MB/s
fp32 "6*(2**20/12244.5e6+(7/6-1)/3*(2**22/12254.16e6-2**20/12244.5e6))" halving --import "$net/osu_latency.log" --import "$net/osu_bw.log"
# a collective takes what was measured: an all-reduce of 1 MiB takes 2159.77 us
fp32 4*2159.77e-6 ring --import "$net/osu_allreduce.log" --workers 8
# an all-gather of 64 KiB takes 412.33 us: 3 steps, which move 7 x 64 KiB
fp32 "1.75*64*412.33e-6/7" ring --import "$net/osu_allgather.log" --workers 8
check "the all-reduce of a log of nccl-tests" python3 -c "
import json, subprocess
def wire(size):
    out = subprocess.run(['$GCBENCH', 'payoff', '--import', '$net/all_reduce_perf.log', '--model-bytes', size, '--method',
                          'topk', '--format', 'json', '--bucket-bytes', '128M', '$tmp/bench.json'], text=True, capture_output=True, check=True).stdout
    row = next(r for r in map(json.loads, out.splitlines()) if r['record'] == 'payoff')
    assert row['workers'] == 4
    return row['wire_seconds']
assert abs(wire('512') / 18.95e-6 - 1) < 1e-6 and abs(wire('128M') / 1284.1e-6 - 1) < 1e-6, wire('128M')"
fp32 "2*121.30e-6" ring --collective ring --import "$net/all_gather_perf.log"
run payoff --import "$net/osu_allgather.log" "$net/exchanges.json"
exits 2
says "the table does not say how many processes took part: give this number as --workers"
run payoff --import "$tmp/nosuch.log" --workers 2 "$net/exchanges.json"
exits 1
says "--import: cannot open"
run payoff --import "$tmp" --workers 2 "$net/exchanges.json"
exits 1
says "--import: cannot read '$tmp': Is a directory"

spoiled() { # FILE WORDS SED: a damaged log
    sed "$3" "$net/$1" >"$tmp/spoiled.log"
    run payoff --workers 4 --import "$tmp/spoiled.log" "$net/exchanges.json"
    exits 1
    says "$tmp/spoiled.log: line $2"
}
spoiled osu_latency.log "3: a table of OSU MPI Multi Latency Test v: payoff reads" 's/MPI Latency/MPI Multi Latency/'
spoiled osu_latency.log "8: expected a size and a positive number" '8s/[0-9.]*$/fast/'
spoiled osu_latency.log "23: the table has no row" '$a # OSU MPI Latency Test v7.4'
spoiled all_reduce_perf.log "21: the log is cut: nccl-tests end with" '/Avg bus/d;/Out of/d'
spoiled all_reduce_perf.log "16: not a row of the table" '16s/18.95/-/'
spoiled all_reduce_perf.log "13: not the columns of nccl-tests" '13s/time/duration/g'
spoiled all_reduce_perf.log "8: ranks must be numbered" '8s/Rank  1/Rank  0/'
spoiled all_reduce_perf.log "13: busbw / algbw is 1, but that of all_reduce_perf with 4 ranks is 1.5" '19s/156.78/104.52/'
spoiled all_reduce_perf.log "13: a table of alltoall_perf: payoff reads all_reduce_perf," 's/starting: all_reduce/starting: alltoall/;s/ 0$/N\/A/'
# the bandwidths of reduce_perf with two ranks, and those of alltoall_perf, whose logs do not name them
spoiled all_reduce_perf.log "10: a table of a test with a root, such as broadcast_perf" '/starting/d;/Rank  [23]/d;s/ -1 /  0 /;s/156.78/104.52/'
spoiled all_gather_perf.log "8: a table of alltoall_perf or sendrecv_perf" 's/  error$/ #wrong/;s/error/#wrong/;s,0e+00$,N/A,;s/0e+00/0/'
spoiled all_gather_perf.log "8: this may be all_gather_perf or alltoall_perf" 's/  error$/ #wrong/;s/error/#wrong/;s,0e+00,N/A,g'
spoiled all_reduce_perf.log "17: the test failed: 3 values were wrong" '17s/ 0  /  3 /'
spoiled all_reduce_perf.log "20: the test failed: results were wrong" 's/values : 0 OK/values : 216 FAILED/'
spoiled all_reduce_perf.log "19: not a row of the table: no bandwidths" '19s/104.52/N\/A/'
spoiled all_reduce_perf.log "11: the table does not name its test" '/starting/d;/ \(512\|32768\|2097152\|134217728\) /d'
spoiled all_reduce_perf.log "12: busbw / algbw is 1, which is that of neither all_reduce_perf nor" '/starting/d;s/156.78/104.52/'
spoiled all_reduce_perf.log "10: the table is of 1 ranks, and needs 2" '/Rank  [123]/d'
spoiled all_reduce_perf.log "16: not a row of the table: the time is not a positive number, but 0.00" '16s/18.95/0.00/'
spoiled all_reduce_perf.log "18: rows of half after rows of float: run the test with one type" '18s/float/ half/'
spoiled all_reduce_perf.log "14: a second table begins before the first one ends" '13{p}'
spoiled all_reduce_perf.log "1: the file ends without a table" '2,$d;s/.*/no table/'
cat "$net/all_reduce_perf.log" "$net/all_reduce_perf.log" >"$tmp/spoiled.log"
run payoff --import "$tmp/spoiled.log" "$net/exchanges.json"
exits 1
says "$tmp/spoiled.log: line 36: a second table of this test, after that of line 13"
{ sed '/^ /d;/^# Out/,$d' "$net/all_reduce_perf.log"; seq -f '%.0f 2 float sum -1 18.66 1.00 1.50 0 17.95 1.00 1.50 0' 65537; } >"$tmp/spoiled.log"
run payoff --import "$tmp/spoiled.log" "$net/exchanges.json"
exits 1
says "more than 65536 rows: run the test with larger steps, such as \`-f 2\`"
echo '[{"name": "AllReduce", "gpus": 4, "size": "x", "time": 18.66, "algBw": 1.0, "busBw": 1.5, "wrong": "0"}]' >"$tmp/spoiled.log"
run payoff --import "$tmp/spoiled.log" "$net/exchanges.json"
exits 1
says "result 1: not a row of the table: no size"
sed -i 's/"x"/8/;s/"0"/"x"/' "$tmp/spoiled.log"
run payoff --import "$tmp/spoiled.log" "$net/exchanges.json"
exits 1
says "result 1: not a row of the table: #wrong is 'x'"
head -c 9000000 /dev/zero | tr '\0' ' ' >>"$tmp/spoiled.log"
run payoff --import "$tmp/spoiled.log" "$net/exchanges.json"
exits 1
says "$tmp/spoiled.log: over 8 MiB: run the test without \`-I 1\` and with larger steps"
printf '%s\n' collective,gpus,size,time,algbw,busbw AllReduce,4,8,18.66 >"$tmp/spoiled.log"
run payoff --import "$tmp/spoiled.log" "$net/exchanges.json"
exits 1
says "line 2: not a row of the table: it has not as many cells as the title"
head -c 400 "$net/osu_latency.log" >"$tmp/spoiled.log"
run payoff --import "$tmp/spoiled.log" "$net/exchanges.json"
exits 1
says "the log is cut: the last line has no newline"
{ head -n 5 "$net/osu_latency.log"; head -c 5000 /dev/zero; } >"$tmp/spoiled.log"
run payoff --import "$tmp/spoiled.log" "$net/exchanges.json"
exits 1
says "$tmp/spoiled.log: line 6: a zero byte"
run payoff --import "$net/osu_latency.log" --import "$net/osu_latency.log" "$net/exchanges.json"
exits 1
says "$net/osu_latency.log: line 3: transfers of 1 bytes twice"
run payoff --import "$net/all_reduce_perf.log" --import "$net/all_gather_perf.log" "$net/exchanges.json"
exits 1
says "$net/all_gather_perf.log: line 8: a table of 2 ranks after one of 4"

# what a message says to do is done
unpacked() { # FILE WORDS: is refused with them; the command after the colon then writes a log that is read
    run payoff --import "$1" "$net/exchanges.json"
    exits 1
    says "$1: $2, not a log; unpack it: "
    advice=$(sed 's/.*unpack it: //' "$err")
    rm -rf "$tmp/unpacked"
    mkdir "$tmp/unpacked"
    check "runs: $advice" sh -c "cd '$tmp/unpacked' && $advice"
    fp32 2*53.24e-6 doubling --import "$tmp/unpacked/"* --bucket-bytes 2M
}
for tool in gzip xz bzip2 zstd; do
    if ! command -v $tool >/dev/null; then
        echo "skipped: needs $tool, for a compressed log"
        continue
    fi
    $tool -c "$net/all_reduce_perf.log" >"$tmp/packed.log.$tool"
    unpacked "$tmp/packed.log.$tool" "a file that $tool compressed"
done
iconv -f UTF-8 -t UTF-16 "$net/all_reduce_perf.log" >"$tmp/wide.log"
unpacked "$tmp/wide.log" "a text in UTF-16"
printf '\n<!DOCTYPE html>\n<html>not found</html>\n' >"$tmp/page.log"
run payoff --import "$tmp/page.log" "$net/exchanges.json"
exits 1
says "$tmp/page.log: a web page (HTML) or XML, not a log; the server sent a page"

# sizes: those of one log always fit, and too many of several logs are refused with the way on
many() { # FIRST TITLE: a table of 64 sizes, which are all taken
    printf '# OSU MPI %s Test v7.4\n' "$2"
    awk -v x="$1" 'BEGIN { for (i = 0; i < 64; i++) printf "%.0f 100\n", x * 1.2 ^ i }'
}
{ many 1000 Latency; many 1000000000 Bandwidth; many 1500 "Allgather Latency"; } >"$tmp/log"
run payoff --import "$tmp/log" --workers 4 "$net/exchanges.json"
exits 0
set --
for i in 1 2 3 4 5; do
    many ${i}0001 Latency >"$tmp/$i.log"
    set -- "$@" --import "$tmp/$i.log"
done
run payoff "$@" --workers 4 "$net/exchanges.json"
exits 1
says "$tmp/5.log: line 1: more than 256 sizes: measure fewer, such as only powers of 2"
truncate -s 257M "$tmp/log"
run payoff --import "$tmp/log" "$net/exchanges.json"
exits 1
says "$tmp/log: over 256 MiB: give only the tables, or run the test without NCCL_DEBUG"
mkfifo "$tmp/pipe"
head -c 257M /dev/zero >"$tmp/pipe" 2>/dev/null &
run payoff --import "$tmp/pipe" "$tmp/bench.json"
exits 1
says "$tmp/pipe: over 256 MiB: give only the tables, or run the test without NCCL_DEBUG"
run payoff --import "$net/link.json" "$tmp/bench.json"
exits 1
says "give them as RESULTS, or those of \`gcbench-mpi --calibrate\` as --link"
run payoff --link "$net/link.json" "$tmp/bench.json"
exits 0
sed '/Rank/d' "$net/all_reduce_perf.log" >"$tmp/log"
run payoff --import "$tmp/log" "$tmp/bench.json"
exits 2
says "the table does not say how many processes took part: give this number as --workers"
fp32 2*53.24e-6 doubling --import "$tmp/log" --workers 4 --bucket-bytes 2M

# several tables, and sizes below the smallest
{ cat "$net/all_reduce_perf.log"; sed 's/all_reduce/alltoall/' "$net/all_reduce_perf.log"; } >"$tmp/log"
run payoff --import "$tmp/log" "$tmp/bench.json"
exits 0
narrow
prints "note: tables in the logs that were not used: alltoall_perf"
sed '/^ *\(8\|512\|32768\) /d' "$net/all_reduce_perf.log" >"$tmp/log"
run payoff --import "$tmp/log" "$tmp/bench.json"
exits 0
narrow
prints "note: the log begins with 2.1 MB, and some transfers are smaller"
mkdir "$tmp/logs"
check "logs of a network whose times are known" python3 "$here/check_import.py" "$GCBENCH" "$tmp/bench.json" "$tmp/logs" "$tmp/said"
