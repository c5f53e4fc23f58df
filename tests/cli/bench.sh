#!/bin/sh
# bench: every method and both baselines, rows that add up and can be read again, every reason to
# stop, devices that are not there, an interrupted run that keeps what it did.
. "$(dirname "$0")/lib.sh"
sample=$(dirname "$0")/../../datasets/sample.h5
json=$tmp/r.json

cat >"$tmp/look.py" <<'PY'
"""look.py CHECK FILE: reads result rows and sees to what CHECK says."""
import json, math, sys

check, path = sys.argv[1:3]
rows = [json.loads(line) for line in open(path, encoding="utf-8")]
results = [r for r in rows if r["record"] == "result"]
summaries = [r for r in rows if r["record"] == "summary"]
case = lambda r: (r["scope"], r["spec"], r["device"], r["threads"], r["cache"])


def everything():
    assert rows[0]["record"] == "environment" and rows[0]["read_gbps"] > 0
    assert [b["threads"] for b in rows[0]["bandwidths"]] == [1]
    names = [r["method"] for r in summaries]
    assert names[:2] == ["identity", "memcpy"] and len(names) == len(set(names)) > 10, names
    assert {len([r for r in results if r["method"] == n]) for n in names} == {58}
    for s in summaries:
        own = [r for r in results if r["method"] == s["method"]]
        assert s["status"] == "ok" and s["reason"] is None and s["suite"] is None
        assert s["messages"] == 58 and s["cache"] == "warm"
        for key in ("elements", "input_bytes", "wire_bytes", "stored"):
            assert s[key] == sum(r[key] for r in own), key
        for op in ("encode", "decode"):
            for key in ("_seconds", "_seconds_low", "_seconds_high"):
                if all(r[op + key] is not None for r in own):
                    assert math.isclose(s[op + key], sum(r[op + key] for r in own), rel_tol=1e-9)
    for r in results:
        assert r["stop_reason"] in ("precision", "time", "samples")
        for op in ("encode", "decode"):
            assert r[op + "_seconds_samples"] is None
            low, high = r[op + "_seconds_low"], r[op + "_seconds_high"]
            if low is not None:
                assert r[op + "_seconds_min"] <= low <= r[op + "_seconds"] <= high
                if r["stop_reason"] == "precision":
                    assert high - low <= 2 * 0.05 * r[op + "_seconds"] * (1 + 1e-9)
            else:
                assert r["stop_reason"] == "time"
    copy = summaries[1]
    assert copy["spec"] == "memcpy" and copy["params"] == {} and copy["ratio"] == 1
    assert copy["rel_l2"] == 0 and copy["cosine"] == 1 and copy["header_bytes"] == 0
    staged = [s["method"] for s in summaries if s["select_seconds"] is not None]
    assert "fft" in staged and "topk" in staged and "qsgd" not in staged, staged


def repeat():
    assert {len(r["encode_seconds_samples"]) for r in results} == {7}
    assert {r["stop_reason"] for r in results + summaries} == {"repeat"}
    for r in results:
        s = sorted(r["encode_seconds_samples"])
        assert r["encode_seconds"] == s[3] and r["encode_seconds_min"] == s[0]
        assert r["encode_seconds_low"] == s[0] and r["encode_seconds_high"] == s[6]


def cases():
    got = [case(s) for s in summaries]
    assert len(got) == len(set(got)) == 2 * 2 * 2 * 3, len(got)
    assert {s["threads"] for s in summaries} == {1, 2}
    assert [b["threads"] for b in rows[0]["bandwidths"]] == [1, 2]
    read = {b["threads"]: b["read_gbps"] for b in rows[0]["bandwidths"]}
    for s in summaries:
        assert math.isclose(s["encode_bandwidth_share"], s["encode_gbps"] / read[s["threads"]])
    assert {(s["scope"], s["messages"]) for s in summaries} == {("tensor", 2), ("model", 1)}
    answers = [r["answer"] for r in rows if r["record"] == "answer"]
    assert [a.split(",")[0] for a in answers] == ["for scope tensor", "for scope model"] and rows[-1]["record"] == "answer", answers


def missing():
    gone = [s for s in summaries if s["device"] == "cuda:0"]
    assert {s["status"] for s in gone} == {"unsupported"} and len(gone) == 3
    assert all(s["reason"] and s["encode_seconds"] is None and s["ratio"] is None for s in gone)
    assert set(gone[0]) == set(summaries[0]), set(gone[0]) ^ set(summaries[0])
    assert {s["status"] for s in summaries if s["device"] == "cpu"} == {"ok"}


def synthetic():
    assert {r["file"] for r in results} == {"synthetic"}
    assert [r["tensor"] for r in results if r["method"] == "fp16"] == ["normal/4K", "normal/1000"]
    assert {r["suite"] for r in results} == {"mine"} and rows[0]["input_xxh3"] == []


def inputs():
    assert [(s["file"], s["elements"]) for s in summaries if s["method"] == "fp16"] == \
        [("synthetic", 5096), ("correlated", 1024), ("real.h5", 161402)]
    assert {r["file"] for r in results} == {"synthetic", "correlated", "real.h5"}
    assert {r["step"] for r in results if r["file"] == "real.h5"} == {400}
    assert [row["file"].split("/")[-1] for row in rows[0]["input_xxh3"]] == ["real.h5"]


def interrupted():
    assert rows[0]["record"] == "environment" and results and summaries
    assert {s["status"] for s in summaries} == {"interrupted"}
    assert results[-1]["stop_reason"] == results[-1]["status"] == "interrupted"
    assert all(r["status"] == "ok" for r in results[:-2])


def dense():
    own = [r for r in results if r["method"] == "topk"]
    handled = [r for r in own if not r["dense"]]
    total = next(s for s in summaries if s["method"] == "topk")
    assert 0 < len(handled) < len(own) and all(r["kept"] is None for r in own if r["dense"])
    assert total["density_asked"] == 0.15 and total["dense"] == len(own) - len(handled)
    assert total["kept"] == sum(r["kept"] for r in handled)
    assert total["density"] == total["kept"] / sum(r["elements"] for r in handled)


globals()[check]()
PY
look() { check "rows: $1" python3 "$tmp/look.py" "$1" "$json"; }

# every method, with a budget that some do not keep to; a table beside the rows
run bench --precision 0.05 --time-budget 4 --results "$json" "$sample"
exits 0
quiet
prints "58 tensors"
prints "identity *"
prints "memcpy *"
check "memory, and how much of it" grep -qE "^memory: reads [0-9.]+, fills [0-9.]+, copies [0-9.]+ GB/s over [0-9.]+ MB" "$out"
look everything
fails 2 "--force replaces it" bench --method fp16 --repeat 1 --results "$json" "$sample"
run bench --method fp16 --repeat 7 --samples --force --results "$json" "$sample"
exits 0
look repeat

# scopes, threads and caches are multiplied; the time budget counts emptying the caches
run bench --method fp16 --scope tensor,model --threads 1,2 --cache both --dataset 'fc.*' --repeat 2 \
    --force --results "$json" "$sample"
exits 0
prints "scope model, 2 threads, cold cache, cpu"
if [ -e /sys/devices/system/cpu/cpu0/cache ]; then
    check "no share of memory where all messages fit in the cache" grep -qE ' cache( |$)' "$out" # warm
else
    leave_out "what fits in the cache (/sys does not say how large it is)"
fi
check "shares of memory where caches are cold, as in the rows" python3 - "$json" "$out" <<'END'
import json, re, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
shares = [[row[f"{way}_bandwidth_share"] for way in ("encode", "decode")]
          for row in rows if row["record"] == "summary" and row["cache"] == "cold"]
wanted = ["/".join("?" if x >= 9.995 else f"{100 * x:.0f}" for x in pair) for pair in shares]
lines = [line for line in open(sys.argv[2]) if re.match(r"\w+ \*", line)]
assert wanted and [word for line in lines for word in line.split() if re.fullmatch(r"[\d?]+/[\d?]+", word)] == wanted
END
look cases
fails 2 "--repeat fixes the number of runs" bench --method fp16 --scope tensor --scope model --threads 1,2 --repeat 2 --time-budget 1 "$sample"
fails 2 "both already means warm and cold" bench --method fp16 --scope tensor,model --threads 1,2 --device cpu --cache warm,both "$sample"

# histograms and spectra: those of compress, once for each scope
run bench --method topk --scope tensor,model --threads 1,2 --repeat 1 --dataset 'fc.*' --histogram --spectrum \
    --format json "$sample"
exits 0
cp "$out" "$tmp/shapes.json"
run compress --method topk --no-baselines --step last --worker 0 --dataset 'fc.*' --histogram --spectrum \
    --format json "$sample"
exits 0
check "shapes are those of compress, once" python3 - "$tmp/shapes.json" "$out" <<'END'
import json, sys

def shapes(path, tensors):
    rows = [json.loads(line) for line in open(path, encoding="utf-8")]
    rows = [r for r in rows if r["record"] in ("histogram", "spectrum") and r["tensor"] in tensors]
    return [json.dumps(r, sort_keys=True) for r in rows if r.get("method") in (None, "topk")]

names = {"fc.weight", "fc.bias"}
ours, theirs = shapes(sys.argv[1], names), shapes(sys.argv[2], names)
assert len(ours) > 50 and sorted(ours) == sorted(theirs), (len(ours), len(theirs))
assert len(set(ours)) == len(ours)
assert shapes(sys.argv[1], {"messages/0000"})
END
fails 2 "--histogram and --spectrum write rows" bench --method topk --histogram "$sample"

# a device that is not there: rows that say so, unless there is no other
run bench --method fp16 --device cpu,cuda --repeat 1 --force --results "$json" "$sample"
if grep -q '"status": *"unsupported"' "$json"; then
    exits 0
    look missing
    fails 3 "cuda" bench --method fp16 --device cuda "$sample"
fi

# csv has every column of the rows but `params`
run bench --method topk --repeat 1 --format csv "$sample"
exits 0
check "csv" python3 -c 'import csv, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="")))
assert len(rows) == 3 * 59 and all(r["stop_reason"] == "repeat" and r["cache"] == "warm" for r in rows)
assert all(r["messages"] and r["dense"] == "0" for r in rows)' "$out"

run bench --method topk --repeat 1 --dense '*bias' --format json --results "$tmp/d.json" "$sample"
exits 0
json=$tmp/d.json look dense

# without a file: what the suite describes
echo '{"schema": 1, "name": "mine", "methods": ["fp16"], "repeat": 2,
  "inputs": [{"dist": "normal", "elements": ["4K", 1000]}]}' >"$tmp/mine.json"
run bench --suite "$tmp/mine.json" --force --results "$json"
exits 0
prints "suite mine"
look synthetic
fails 2 "chooses from a file" bench --suite "$tmp/mine.json" --step 1
mkdir "$tmp/suites"
ln -s "$(realpath "$sample")" "$tmp/real.h5"
echo '{"schema": 1, "name": "mine", "methods": ["fp16"], "repeat": 1, "inputs": [
  {"dist": "normal", "elements": ["4K", 1000]},
  {"name": "correlated", "dist": "ar:rho=0.9", "elements": ["1K"]},
  {"file": "../real.h5"}]}' >"$tmp/suites/inputs.json"
fails 2 "--histogram and --spectrum would mix the inputs of suite mine: name a file" bench --suite "$tmp/suites/inputs.json" --histogram --results "$tmp/h.json"
run bench --suite "$tmp/suites/inputs.json" --force --results "$json"
exits 0
prints "suite mine, step 400, worker 0"
check "a heading for each input" sh -c "grep -c 'suite mine' '$out' | grep -qx 3"
look inputs
sed 's/real.h5/absent.h5/' "$tmp/suites/inputs.json" >"$tmp/suites/absent.json"
fails 1 "suite mine: its input ../absent.h5 is neither beside it nor in gcbench's datasets" bench --suite "$tmp/suites/absent.json"
sed 's|../real.h5|sample.h5|' "$tmp/suites/inputs.json" >"$tmp/suites/shipped.json"
run bench --suite "$tmp/suites/shipped.json" --no-bandwidth
exits 0
prints "sample.h5: 1 step x 1 worker"
for suite in quick ci; do
    run bench --suite "$suite" --method fp16 --time-budget 1 --max-time 0.01
    exits 0
    prints "suite $suite"
done
# Methods of a suite that differ only in memory are measured once. In replay each counts.
run bench --suite paper-sbc --repeat 1 --no-bandwidth --format json "$sample"
exits 0
check "each method once" sh -c "[ \$(grep -c '\"record\": \"summary\".*\"method\": \"sbc\"' '$out') = 2 ]"
fails 2 "did you mean 'quick'?" bench --suite qiuck
echo '{"schema": 1, "name": "mine"}' >"$tmp/bare.json"
fails 2 "has no inputs" bench --suite "$tmp/bare.json"
run bench --method topk "$tmp/absent.h5"
exits 1

# Ctrl-C: what was measured is there, and says so
last="gcbench bench (interrupted)"
json=$tmp/cut.json
timeout "$hang" "$PYTHON" - "$GCBENCH" "$sample" "$json" >"$out" 2>"$err" <<'END'
import glob, os, signal, subprocess, sys, time

signal.signal(signal.SIGINT, signal.SIG_DFL)
program, sample, path = sys.argv[1:]
p = subprocess.Popen([program, "bench", "--method", "topk", "--precision", "1e-6", "--max-samples", "1000000",
                      "--time-budget", "600", "--results", path, sample], stdout=subprocess.DEVNULL)


def started():  # a row of the first message is there
    found = glob.glob(os.path.join(os.path.dirname(path), ".gcbench-*"))
    return found and b'"result"' in open(found[0], "rb").read()


while not started() and p.poll() is None:
    time.sleep(0.01)
p.send_signal(signal.SIGINT)
sys.exit(p.wait())
END
rc=$?
exits 1
says "interrupted; the results so far are kept"
look interrupted

finish
