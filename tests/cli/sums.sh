#!/bin/sh
# Sums of messages: bench times them, compress and verify check them, and a copy of the command with
# wrong sums fails.
. "$(dirname "$0")/lib.sh"
sample=$(realpath "$(dirname "$0")/../../datasets/sample.h5")
json=$tmp/r.json
wrong=$(realpath "$2")

cat >"$tmp/look.py" <<'PY'
"""look.py CHECK FILE: reads result rows and sees to what CHECK says."""
import json, math, sys

check, path = sys.argv[1:3]
rows = [json.loads(line) for line in open(path, encoding="utf-8")]
results = [r for r in rows if r["record"] == "result"]
summaries = [r for r in rows if r["record"] == "summary"]
FIELDS = ("_seconds", "_seconds_min", "_seconds_mad", "_seconds_low", "_seconds_high", "_seconds_samples", "_gbps")
null = lambda r: all(r[op + f] is None for op in ("sum", "sum16") for f in FIELDS) and r["sum_stop_reason"] is None


def timed():
    assert {r["method"] for r in summaries} == {"topk", "fft", "qsgd", "identity", "memcpy"}
    for s in summaries:
        own = [r for r in results if r["method"] == s["method"]]
        if s["method"] == "memcpy":
            assert null(s) and all(null(r) for r in own)
            continue
        assert s["sum_stop_reason"] in ("precision", "samples", "time"), s["sum_stop_reason"]
        for op, messages in (("sum", 1), ("sum16", 16)):
            assert math.isclose(s[op + "_seconds"], sum(r[op + "_seconds"] for r in own))
            assert math.isclose(s[op + "_gbps"], messages * s["input_bytes"] / s[op + "_seconds"] / 1e9)
            for r in own:
                assert r[op + "_seconds_min"] <= r[op + "_seconds_low"] <= r[op + "_seconds"] <= r[op + "_seconds_high"]
                assert r[op + "_seconds_samples"] is None and r[op + "_seconds_mad"] >= 0


def repeated():
    for r in results + summaries:
        if r["method"] != "memcpy":
            assert (len(r["sum_seconds_samples"]), len(r["sum16_seconds_samples"])) == (20, 2)
            assert r["sum_stop_reason"] == r["stop_reason"] == "repeat"
            assert r["sum16_seconds_low"] is None and r["sum_seconds_low"] > 0


def none():
    assert results and all(null(r) for r in results + summaries)
    assert all(r["encode_seconds"] for r in results)


def both():
    got = [s for s in summaries if s["method"] == "topk"]
    assert [s["cache"] for s in got] == ["warm", "cold"]
    assert all(s["sum_seconds"] > 0 and s["sum16_seconds"] > 0 for s in got)


globals()[check]()
PY
look() { check "rows: $1" python3 "$tmp/look.py" "$1" "$json"; }

# ---- bench ----
run bench --method topk --method fft:chunk=4096 --method qsgd --dataset 'fc.*' --time-budget 4 --results "$json" "$sample"
exits 0
prints "sum GB/s"
prints "sum: adding a message to a sum"
look timed
run bench --method topk --dataset 'fc.*' --repeat 20 --samples --force --results "$json" "$sample"
exits 0
look repeated
run bench --method topk --no-sums --dataset 'fc.*' --repeat 2 --force --results "$json" "$sample"
exits 0
look none
run bench --method topk --dataset 'layers.0*' --cache both --repeat 9 --force --results "$json" "$sample"
exits 0
look both

# ---- compress checks the sum, but times none ----
run compress --method topk --method fft --method fft:chunk=4096 --method sbc --method qsgd --threads 2 \
    --format json "$sample"
exits 0
cp "$out" "$json"
look none

# ---- wrong sums ----
GCBENCH=$wrong
for method in topk fft:chunk=4096 fft qsgd; do
    fails 5 "the sum of the message differs from its decoding in " compress --repeat 1 --method $method --dataset 'fc.*' "$sample"
    run compress --repeat 1 --method $method --dataset 'fc.*' --threads 2 "$sample"
    exits 5
    run verify --method $method --dataset 'fc.*' "$sample"
    exits 5
    prints ": sum on step 100 worker 0 "
    check "no other promise is broken" sh -c "! grep BROKEN '$out' | grep -v ': sum on'"
done
run bench --method topk --dataset 'fc.*' --repeat 2 "$sample"
exits 5
prints "failed: "
finish
