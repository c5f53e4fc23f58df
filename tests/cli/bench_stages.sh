#!/bin/sh
# The stages of encoding and decoding: in bench's rows for methods that have them, and nowhere else.
. "$(dirname "$0")/lib.sh"

data=$(dirname "$0")/../../datasets/sample.h5
run bench --repeat 3 --method fft --method topk:index=golomb --method qsgd --format json "$data"
exits 0
cp "$out" "$tmp/bench.json"
run compress --method fft --format json "$data"
exits 0
cp "$out" "$tmp/compress.json"
check "sums and nulls" python3 - "$tmp/bench.json" "$tmp/compress.json" <<'PY'
import json, math, sys
encode = ["transform_seconds", "select_seconds", "quantise_seconds", "index_seconds"]
decode = ["decode_" + f for f in encode]
fields = encode + decode
rows = [json.loads(line) for line in open(sys.argv[1])]
sums = {}
for r in rows:
    if r["record"] == "result":
        if r["method"] not in ("fft", "topk"):
            assert all(r[f] is None for f in fields), r
            continue
        assert all(r[f] >= 0 for f in encode), r
        assert all(r[f] is None if r["stored"] else r[f] >= 0 for f in decode), r
        have = sums.setdefault(r["method"], dict.fromkeys(fields, 0.0))
        for f in fields:
            have[f] += r[f] or 0.0
assert set(sums) == {"fft", "topk"}
for r in rows:
    if r["record"] == "summary" and r["method"] in sums:
        for f in fields:
            assert math.isclose(r[f], sums[r["method"]][f], rel_tol=1e-9), (r["method"], f)
compress = [json.loads(line) for line in open(sys.argv[2])]
assert compress[-1]["record"] == "answer"
for r in compress[1:-1]:
    assert all(r[f] is None for f in fields), r
PY
finish
