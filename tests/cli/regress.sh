#!/bin/sh
# regress BASE NEW: verdicts and exit codes, for files whose verdicts are known.
. "$(dirname "$0")/lib.sh"

here=$(cd "$(dirname "$0")" && pwd)
cd "$tmp" || exit 99

# Makes the result file of a run with these cases: write NAME CASES [ENV]
write() {
    cp "$here/../support/fake_bench.py" "$1"
    printf '{"cases": %s, "env": %s}' "$2" "${3:-{\}}" >"$1.json"
    python3 "$1" bench >"$1.rows" || exit 99
}

# Looks for "case quantity VERDICT" among the verdicts of the last run: judged LINE
judged() {
    check "says $1" grep -qxF -- "$1" verdicts
}

# Compares two runs and keeps the verdicts: compare BASE NEW OPTIONS...
compare() {
    base=$1 next=$2
    shift 2
    run regress "$base.rows" "$next.rows" --format json "$@"
    python3 -c '
import json, sys
for line in open(sys.argv[1]):
    r = json.loads(line)
    if r["record"] == "verdict":
        print(r["label"], r["quantity"], r["verdict"])' "$out" >verdicts
}

topk='{"spec": "topk:theta=0.9"}'
write base "[$topk, {\"spec\": \"fp16\", \"method\": \"fp16\"}]"

# ---- the same ----
compare base base
exits 0
quiet
judged "topk:theta=0.9 encode SAME"
judged "topk:theta=0.9 size SAME"
judged "fp16 error SAME"
check "eight verdicts" test "$(wc -l <verdicts)" -eq 8
run regress base.rows base.rows
exits 0
quiet
fails 1 "standard input: no results" regress - base.rows

# ---- slower, faster, ambiguous ----
write slow "[$topk, {\"spec\": \"fp16\", \"method\": \"fp16\", \"decode_seconds\": 6e-4}]"
compare base slow
exits 4
judged "fp16 decode SLOW"
judged "fp16 encode SAME"
check "one that fails" test "$(grep -c '"fails": true' "$out")" -eq 1
compare slow base
exits 0
judged "fp16 decode FAST"
compare base slow --accept 'fp16 decode'
exits 0
judged "fp16 decode SLOW"
compare base slow --accept 'fp16 encode'
exits 4
compare base slow --accept 'fp16*'
exits 0
compare base slow --advisory-times
exits 0
judged "fp16 decode SLOW"
write wide "[$topk, {\"spec\": \"fp16\", \"method\": \"fp16\", \"decode_seconds\": 6e-4, \"width\": 0.1}]"
compare base wide
exits 0
judged "fp16 decode AMBIGUOUS"
compare base wide --strict
exits 6
compare base wide --strict --accept 'fp16*code'
exits 0
# the median changed, the best sample did not
write best "[$topk, {\"spec\": \"fp16\", \"decode_seconds\": 6e-4, \"decode_seconds_min\": 4.95e-4}]"
compare base best
exits 0
judged "fp16 decode AMBIGUOUS"
write alone "[$topk, {\"spec\": \"fp16\", \"decode_seconds_low\": null, \"decode_seconds_high\": null}]"
compare base alone
exits 0
judged "fp16 decode NOT-COMPARED"

# ---- sizes and errors ----
write large "[{\"spec\": \"topk:theta=0.9\", \"wire_bytes\": 1001}, {\"spec\": \"fp16\", \"rel_l2\": 0.25000000001}]"
compare base large
exits 4
judged "topk:theta=0.9 size LARGER"
judged "fp16 error WORSE"
compare large base
exits 0
judged "topk:theta=0.9 size SMALLER"
judged "fp16 error BETTER"
compare base large --accept 'topk* size' --accept 'fp16 error'
exits 0
for field in '"cosine": 0.8999' '"max_abs_error": 0.51' '"rel_l2": null'; do
    write errors "[{\"spec\": \"topk:theta=0.9\", $field}, {\"spec\": \"fp16\"}]"
    compare base errors
    exits 4
    judged "topk:theta=0.9 error WORSE"
    compare errors base
    exits 0
    judged "topk:theta=0.9 error BETTER"
done
# 4 wins over 6
write both "[{\"spec\": \"topk:theta=0.9\", \"wire_bytes\": 1001}, {\"spec\": \"fp16\", \"decode_seconds\": 6e-4, \"width\": 0.1}]"
compare base both --strict
exits 4

# Methods that call FFTW, and GPUs, have a tolerance
write fft "[{\"spec\": \"fft:pad=none\", \"method\": \"fft\", \"wire_bytes\": 100000}, {\"spec\": \"topk\", \"device\": \"cuda:0\"}]"
write near "[{\"spec\": \"fft:pad=none\", \"method\": \"fft\", \"wire_bytes\": 100009, \"rel_l2\": 0.25009}, {\"spec\": \"topk\", \"device\": \"cuda:0\", \"rel_l2\": 0.25009}]"
write far "[{\"spec\": \"fft:pad=none\", \"method\": \"fft\", \"wire_bytes\": 100011, \"rel_l2\": 0.25011}, {\"spec\": \"topk\", \"device\": \"cuda:0\", \"rel_l2\": 0.25011}]"
write head "[{\"spec\": \"fft:pad=none\", \"method\": \"fft\", \"wire_bytes\": 100001, \"header_bytes\": 25}, {\"spec\": \"topk\", \"device\": \"cuda:0\"}]"
compare fft near
exits 0
judged "fft:theta=0.85,pad=none,bits=10 cpu size SAME"
judged "topk:theta=0.85 cuda:0 error SAME"
compare fft far
exits 4
judged "fft:theta=0.85,pad=none,bits=10 cpu size LARGER"
judged "fft:theta=0.85,pad=none,bits=10 cpu error WORSE"
judged "topk:theta=0.85 cuda:0 error WORSE"
compare fft head
judged "fft:theta=0.85,pad=none,bits=10 cpu size LARGER"

# ---- missing and failed cases ----
write one "[$topk]"
compare base one
exits 4
judged "fp16 case GONE"
compare base one --accept fp16
exits 0
compare one base --strict
exits 0
judged "fp16 case NEW"
for status in failed interrupted unsupported; do
    write "$status" "[$topk, {\"spec\": \"fp16\", \"status\": \"$status\", \"reason\": \"a reason\"}]"
done
compare base failed
exits 4
judged "fp16 case GONE"
compare failed base
exits 0
judged "fp16 case NEW"
compare failed failed
exits 0
judged "fp16 case NOT-COMPARED"
compare base interrupted --strict
exits 6
judged "fp16 case NOT-COMPARED"
compare base unsupported
exits 0
judged "fp16 case NOT-COMPARED"
write twice "[$topk, $topk]"
fails 1 "twice.rows: lines 2 and 3 are the same case" regress base.rows twice.rows
cat base.rows base.rows >two.rows
fails 1 "line 4: a second environment row" regress base.rows two.rows

# ---- names of files, instruction sets ----
write moved "[{\"spec\": \"topk:theta=0.9\", \"file\": \"/else/where/g.h5\"}, {\"spec\": \"fp16\", \"file\": \"/else/where/g.h5\"}]"
compare base moved --strict
exits 0
judged "topk:theta=0.9 encode SAME"
write more "[{\"spec\": \"topk:theta=0.9\", \"elements\": 2000}, {\"spec\": \"fp16\"}]"
compare base more
exits 0
judged "topk:theta=0.9 case NOT-COMPARED"
write other "[$topk, {\"spec\": \"fp16\"}]" '{"input_xxh3": [{"file": "dir/g.h5", "xxh3": "01"}]}'
compare base other --strict
exits 6

# ---- nothing in common: both names say what differs ----
while read -r field name; do
    write apart "[{\"spec\": \"topk:theta=0.9\", $field}, {\"spec\": \"fp16\", \"method\": \"fp16\", $field}]"
    fails 2 "base.rows and apart.rows have no case in common: the first are \"g.h5 tensor topk:" regress base.rows apart.rows
    check "names $name" grep -qE " and \"$name.*\"; run" "$err"
done <<'END'
"device":"cuda:0" g.h5 tensor topk:.* cuda:0
END
write apart '[{"spec": "topk:theta=0.8"}]'
fails 2 "topk:theta=0.8" regress one.rows apart.rows --format json

# A file of an older build lacks a parameter that the method has got since.
write older '[{"spec": "qsgd:bits=4,levels=0,bucket=512,norm=max,coding=fixed", "method": "qsgd"}]'
write newer '[{"spec": "qsgd:bits=4,levels=0,bucket=512,norm=max,coding=fixed,rounding=stochastic", "method": "qsgd"}]'
compare older newer
exits 0
judged "qsgd:bits=4,bucket=512 size SAME"

# ---- environments ----
for field in '"cpu_model": "Other"' '"kernel": null' '"libraries": {}' '"compile_flags": "-O2"'; do
    write place "[$topk, {\"spec\": \"fp16\", \"decode_seconds\": 9e-4}]" "{$field}"
    compare base place
    exits 0
    judged "fp16 decode NOT-COMPARED"
    judged "fp16 size SAME"
    compare base place --strict
    exits 6
done
write place "[$topk, {\"spec\": \"fp16\"}]" '{"load1": 9, "build_id": "bb", "git_revision": "9", "memory_bytes": 1}'
compare base place --strict
exits 0
grep -v '"record": "environment"' base.rows >bare.rows
compare bare bare --strict
exits 6
judged "fp16 decode NOT-COMPARED"
judged "fp16 size SAME"

# ---- kernels ----
write kernels '[{"family": "select", "kernel": "topk"}, {"family": "select", "kernel": "topk", "elements": 64}]'
write slower '[{"family": "select", "kernel": "topk"}, {"family": "select", "kernel": "topk", "elements": 64, "seconds": 2e-4}]'
compare kernels slower
exits 4
judged "select/topk n=64 kernel SLOW"
judged "select/topk n=4096 kernel SAME"

fails 2 "select/topk" regress base.rows kernels.rows

# ---- outputs ----
write odd "[{\"spec\": \"x|y\\\\u001b[31m<b>*\"}, $topk]"
run regress odd.rows odd.rows --results saved.json
exits 0
check "no escape on the terminal" sh -c "! grep -q '$(printf '\033')' '$out'"
check "rows saved" test "$(grep -c '"record": "verdict"' saved.json)" -eq 8
run regress base.rows slow.rows --format csv
exits 4
check "a line each" test "$(wc -l <"$out")" -eq 9

# ---- called wrongly ----
fails 2 "BASE.json NEW.json" regress
fails 2 "--method has a meaning only with --against" regress base.rows base.rows --method topk
head -c 300 base.rows >cut.rows
fails 1 "incomplete" regress base.rows cut.rows

# ---- measured exchanges: sizes are exact, and times are compared if the machine is the same ----
net=$(realpath "$(dirname "$0")/../data/net/exchanges.json")
{ head -n 1 base.rows; cat "$net"; } >exchanges.rows
run regress exchanges.rows exchanges.rows
exits 0
prints "0 regressions"
sed '/"spec": "fft/s/"wire_bytes": \([0-9]*\)/"wire_bytes": \10/' exchanges.rows >larger.rows
run regress exchanges.rows larger.rows
exits 4
prints "2 LARGER"
python3 - exchanges.rows slower.rows <<'END'
import json, sys
with open(sys.argv[2], "w") as out:
    for row in map(json.loads, open(sys.argv[1])):
        if row.get("method") == "fft" and row["algorithm"] == "ring":
            row.update({key: 3 * row[key] for key in row if key.startswith("seconds")})
        out.write(json.dumps(row) + "\n")
END
run regress exchanges.rows slower.rows
exits 4
prints "1 SLOW"
fails 2 "no case in common" regress base.rows exchanges.rows

finish
