#!/bin/sh
# Compressors of a user: the examples in docs/examples are measured by every command; broken ones are rows
# that say what they did, and nothing else suffers. The second argument is a shared object that breaks a rule
# (plugin_broken.c). TRIALS sets how many random ones are tried.
GCBENCH_PLUGIN=$(realpath "$3")
. "$(dirname "$0")/lib.sh"

root=$(realpath "$(dirname "$0")/../..")
sample=$root/datasets/sample.h5
cd "$tmp" || exit 99
broken=plugin:broken=$GCBENCH_PLUGIN

# summary METHOD FIELD FILE: prints a field of the method's summary
summary() {
    python3 -c 'import json, sys
for line in open(sys.argv[3]):
    row = json.loads(line)
    if row["record"] in ("summary", "replay") and row["spec"] in (sys.argv[1], sys.argv[1] + ":rounding=nearest"): print(row[sys.argv[2]])' "$@"
}
# near A B SHARE: succeeds if A differs from B by at most this share of B
near() {
    awk -v a="$1" -v b="$2" -v share="$3" 'BEGIN { exit !(a - b <= share * b && b - a <= share * b) }'
}

# ---- the examples ----

cp "$root/docs/examples/mine.c" "$root/docs/examples/mine.py" .
check "the example in C compiles" ${CC:-cc} -O2 -Wall -Wextra -Werror -shared -fPIC -I"$root/src" -o libmine.so mine.c -lm
run compress --method plugin:./libmine.so --method plugin:./libmine.so:bits=5 --method topk --repeat 1 --results c.json -q "$sample"
exits 0
check "three bits have a large error" near "$(summary plugin/mine rel_l2 c.json)" 0.35 0.3
check "five bits have a small error" near "$(summary plugin/mine:bits=5 rel_l2 c.json)" 0.08 0.3
check "a shared object is timed inside" test "$(summary plugin/mine timed c.json)" = inside
check "a method of gcbench has no such note" test "$(summary topk:theta=0.85,values=fp32,index=u32 timed c.json)" != inside
run verify --method plugin:./libmine.so "$sample"
exits 0
run replay --allow-gaps --method plugin:./libmine.so:bits=3,memory=ef --results replay.json "$sample"
exits 0
check "a memory works" test "$(summary plugin/mine:bits=3,memory=ef,decay=1 status replay.json)" = ok
run sweep --method plugin:./libmine.so --method topk --vary theta=0.9,0.99 "$sample"
exits 0
prints plugin/mine
run compress --method plugin:./libmine.so:bits=4 --repeat 1 -o m.h5 -q "$sample"
exits 0
refused 1 "is of a plug-in" decompress m.h5 -o back.h5
refused 1 "name and parameters of the plug-in" decompress --method plugin:./libmine.so:bits=5 m.h5 -o back.h5
run decompress --method plugin:./libmine.so:bits=4 m.h5 -o back.h5
exits 0
quiet
refused 2 "o such file" compress --method plugin:./libno.so "$sample"
refused 2 "refuses these parameters" compress --method plugin:./libmine.so:bits=99 "$sample"
mkdir other && cp libmine.so other
refused 2 "two plug-ins are called plugin/mine" compress --method plugin:./libmine.so --method plugin:other/libmine.so "$sample"
cp libmine.so "$(printf 'lib\377.so')"
refused 2 "cannot be the name" compress --method "$(printf 'plugin:./lib\377.so')" "$sample"
refused 2 "invalid ELF header" compress --method plugin:./mine.c "$sample"
refused 2 "name a command" compress --method exec: "$sample"

run bench --method plugin:./libmine.so --method "exec:nothing=exit 3" --repeat 2 --no-sums --dataset 'fc.*' --results b.json "$sample"
exits 1
check "the status of a command is told" sh -c "grep -q 'exit status 3' b.json"
run bench --method "exec:$PYTHON mine.py" --repeat 2 --no-sums --dataset 'fc.*' --results e.json "$sample"
exits 0
check "a command is timed with its way" test "$(summary exec/mine timed e.json)" = round_trip
check "the program has three bits" near "$(summary exec/mine rel_l2 e.json)" 0.3 0.4
sed '/answer = /a\    print("debug")' mine.py >prints.py
sed '/buffer.flush/a\    sys.stdout.buffer.write(b"x"); sys.stdout.buffer.flush()' mine.py >more.py
sed '/answer = /a\    import os; os.close(1); os.dup2(2, 0); sys.stdin.read()' mine.py >closes.py
for program in prints more closes; do
    run bench --method "exec:$program=$PYTHON $program.py" --repeat 2 --no-sums --dataset 'fc.*' --results "$program.json" "$sample"
    exits 1
    check "$program is a row" test "$(summary exec/$program status $program.json)" = failed
done
run verify --method "exec:$PYTHON mine.py" --dataset 'fc.bias' "$sample"
exits 0
for command in "payoff --params 25M --workers 16 --bandwidth 1Gb" "plot -o pictures" "report -o page.html"; do
    # shellcheck disable=SC2086
    run $command b.json e.json
    exits 0
done
check "the page has the method" grep -q plugin/mine page.html
run regress b.json b.json
exits 0

# Files of others cannot name a command.
for key in methods method; do
    echo '{"schema": 1, "name": "evil", "'$key'": ["exec:touch run"], "inputs": [{"dist": "laplace", "elements": [100]}]}' >evil.json
    run bench --suite evil.json
    exits 2
    run replay --suite evil.json --allow-gaps "$sample"
    exits 2
done
sed 's#"plugin/mine"#"exec:touch run"#' b.json >evil.json
run payoff --params 25M --workers 16 --bandwidth 1Gb evil.json
run plot -o evil evil.json
run merge evil.json
check "no row runs a command" test ! -e run

# ---- broken plug-ins ----

# breaks RULE WORDS STATUS [SECONDS]: the row says WORDS, and another method of the run is whole
breaks() {
    run compress --method "$broken:$1" --method fp16 --plugin-timeout "${4:-600}" --repeat 1 --dataset 'fc.*' --results x.json --force "$sample"
    exits "$3"
    check "$1 is a row" test "$(summary "plugin/broken:$1" status x.json)" = failed
    check "$1 is told" sh -c "summary() { :; }; grep -q 'plugin/broken:$1, step.*$2' x.json"
    check "$1: fp16 is whole" test "$(summary fp16 messages x.json)" = 8
}
breaks crash "signal 11" 1
breaks hang "no answer within 0.5 s" 1 0.5
breaks overrun "beyond the .* bytes" 1
breaks far "beyond the .* bytes" 1
breaks before "beyond the .* bytes" 1
breaks long "as the length" 1
breaks status "returned 7" 1
breaks exit "exit status 3" 1
# An answer that comes byte by byte is late too.
printf '#!/bin/sh\nhead -c 1 >/dev/null\nwhile printf x; do sleep 0.02; done\n' >slow.sh
chmod +x slow.sh
run compress --method exec:./slow.sh --plugin-timeout 0.2 --repeat 1 --dataset 'fc.*' --results x.json --force "$sample"
check "a slow answer is late" grep -q 'no answer within 0.2 s' x.json
breaks peeks "depends on more than the message" 5

# promises RULE NAME: verify says that the promise is broken, and goes on
promises() {
    run verify --method "$broken:$1" --method fp16 --dataset 'fc.bias' "$sample"
    exits 5
    prints "BROKEN  plugin/broken:$1: $2"
    check "$1: fp16 is checked" grep -qE '^fp16 +[1-9][0-9]* +0 ' "$out"
}
promises crash round-trip
promises peeks round-trip
promises lazy round-trip
promises random same-bytes
promises fragile damage

run replay --allow-gaps --method "$broken:crash" --method fp16 --results p.json --force "$sample"
exits 1
check "a plug-in fails in replay" test "$(summary plugin/broken:crash status p.json)" = failed
check "others are replayed" test "$(summary fp16 status p.json)" = ok

echo "printf 'a\\033b' >&2; exit 1" >odd.sh
run compress --method 'exec:odd=sh odd.sh' --repeat 1 --dataset 'fc.*' --results x.json --force "$sample"
exits 1
check "a control character is escaped once" grep -qF 'a\\x1bb' x.json

# ---- the first signal ----

# interrupts COMMAND ARGS...: gcbench gets SIGINT while a plug-in runs
interrupts() {
    last="gcbench $* (interrupted)"
    rm -f started
    timeout "$hang" "$PYTHON" - "$GCBENCH" "$@" --method 'exec:slow=touch started; sleep 1000' "$sample" >"$out" 2>"$err" <<'PY'
import os, signal, subprocess, sys, time

signal.signal(signal.SIGINT, signal.SIG_DFL)
p = subprocess.Popen(sys.argv[1:])
while not os.path.exists("started") and p.poll() is None:
    time.sleep(0.01)
p.send_signal(signal.SIGINT)
sys.exit(p.wait())
PY
    rc=$?
    exits 1
    check "it is interrupted" grep -q '^gcbench: interrupted' "$err"
    check "it is not broken" sh -c "! grep -qE 'failed|BROKEN' '$out' '$err'"
}
interrupts compress --results i.json
check "the row is interrupted" test "$(summary exec/slow status i.json)" = interrupted
interrupts replay --allow-gaps --results r.json
check "the row of replay is interrupted" test "$(summary exec/slow status r.json)" = interrupted
interrupts verify
interrupts bench
interrupts sweep --vary theta=0.9 --method topk

# ---- random ones ----

i=0
while [ $i -lt "${TRIALS:-30}" ]; do
    i=$((i + 1))
    timeout "$hang" "$GCBENCH" compress --method "$broken:seed=$i" --method fp16 --scope model --plugin-timeout 0.3 \
        --repeat 1 --step 100 --results x.json --force "$sample" >"$out" 2>"$err"
    echo "{\"record\": \"end\", \"seed\": $i, \"status\": $?}" >>x.json
    cat x.json >>random.json
done
check "random plug-ins break nothing else" python3 - random.json <<'PY'
import json, sys
rows, failed = {}, 0
for line in open(sys.argv[1]):
    row = json.loads(line)
    if row["record"] == "summary":
        rows[row["method"]] = row
    if row["record"] == "end":
        own = rows["plugin/broken"]
        assert rows["fp16"]["status"] == "ok" and rows["fp16"]["messages"] == 2, row
        assert (own["status"], row["status"]) in (("ok", 0), ("failed", 1), ("failed", 5)), (row, own["status"])
        assert (own["reason"] is None) == (own["status"] == "ok"), row
        failed += own["status"] == "failed"
        rows = {}
print(failed, "failed")
assert failed > 0
PY
finish
