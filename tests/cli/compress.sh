#!/bin/sh
# compress: what it refuses, what its tables and rows hold, and which options never change a byte.
. "$(dirname "$0")/lib.sh"

sample=$(dirname "$0")/../../datasets/sample.h5
[ -e "$sample" ] || skip "needs datasets/sample.h5"
mkdir "$tmp/dir"

refused 2 "no method given" compress "$sample"
has_fftw || refused 1 "needs FFTW" compress --method fft:chunk=95 "$sample"
has_fftw || refused 3 "does not have FFTW" compress --method fft --fft-engine fftw "$sample"
refused 2 "of one method" compress --method topk --method fft -o "$tmp/dir/m.h5" "$sample"
refused 2 "same file" compress --method topk -o "$tmp/dir/m.h5" --results "$tmp/dir/m.h5" "$sample"
refused 2 "m.json" compress --method topk -o "$tmp/dir/m.json" "$sample"
refused 2 "no input file" compress --method topk
only

# --- the table
run compress --method fft --method topk "$sample"
exits 0
quiet
prints "sample.h5: "
prints "scope tensor, 1 thread"
prints "fft:theta=0.85"
prints "fp16 (baseline)"
prints "fft:theta=0.85 loses most: "
run compress --repeat 1 --method topk --no-baselines "$sample"
check "no baseline" sh -c "! grep -q '^fp16' '$out'"
run compress --repeat 1 --method fp16 "$sample"
check "one fp16 line" test "$(grep -c fp16 "$out")" -eq 1
for per in message tensor step worker none; do
    run compress --repeat 1 --method fft --method topk --method qsgd --method terngrad --per $per "$sample"
    exits 0
done
run compress --method dct-range:chunk=64 --method dct-range:chunk=32 --per tensor --top 1 --step 400 --worker 0 "$sample"
exits 0
prints " dct-range:chunk=64 " # what differs stays visible
prints " dct-range:chunk=32 "
run compress --repeat 1 --method topk --per tensor --top 2 --sort wire_bytes "$sample"
prints "(2 of "
prints "dec GB/s  wire_bytes"
run compress --repeat 1 --method topk --isa c --nonfinite zero --order recorded --seed 7 "$sample"
prints "order recorded, isa c, nonfinite zero, seed 7"

# --- rows
cat >"$tmp/rows.py" <<'PY'
import json, math, sys

rows = [json.loads(line) for line in open(sys.argv[1])]
kinds = [r["record"] for r in rows]
assert kinds[0] == "environment" and kinds.count("environment") == 1, kinds[0]
results = [r for r in rows if r["record"] == "result"]
summaries = {r["method"]: r for r in rows if r["record"] == "summary"}
assert len(summaries) == 3 and list(summaries) == ["fft", "qsgd", "fp16"], list(summaries)
assert kinds[-4:] == ["summary"] * 3 + ["answer"]
for method, s in summaries.items():
    own = [r for r in results if r["method"] == method]
    assert len(own) == s["messages"] > 1
    for field in ("elements", "input_bytes", "wire_bytes", "header_bytes", "scale_bytes", "value_bytes",
                  "index_bytes", "stored", "dense"):
        assert sum(r[field] for r in own) == s[field], (method, field)
    for field in ("kept", "clamped"):
        if s[field] is not None:
            assert sum(r[field] for r in own) == s[field], (method, field)
    for field in ("encode_seconds", "decode_seconds"):
        total = sum(r[field] for r in own)
        assert math.isclose(total, s[field], rel_tol=1e-9), (method, field)
        assert s[field + "_min"] <= s[field] * (1 + 1e-12)
        for i in range(3):
            total = sum(r[field + "_samples"][i] for r in own)
            assert math.isclose(total, s[field + "_samples"][i], rel_tol=1e-9), (method, field)
        assert len(s[field + "_samples"]) == 3 and s[field + "_mad"] is not None
    assert math.isclose(s["ratio"], s["input_bytes"] / s["wire_bytes"])
    assert math.isclose(s["ratio_vs_fp32"], 4 * s["elements"] / s["wire_bytes"])
    assert math.isclose(s["encode_gbps"], s["input_bytes"] / s["encode_seconds"] / 1e9)
    assert math.isclose(s["max_abs_error"], max(r["max_abs_error"] for r in own))
    assert math.isclose(s["encode_bandwidth_share"], s["encode_gbps"] / rows[0]["read_gbps"])
    assert math.isclose(s["decode_bandwidth_share"], s["decode_gbps"] / rows[0]["fill_gbps"])
    assert s["rel_l2"] <= max(r["rel_l2"] for r in own)
    assert math.isclose(s["accuracy_gain_bits"], -math.log2(s["rel_l2"]) - s["bits_per_element"])
assert summaries["fft"]["params"]["theta"] == 0.8
assert abs(summaries["fft"]["density_asked"] - 0.2) < 1e-12
assert summaries["qsgd"]["kept"] is None and summaries["fft"]["kept"] > 0
PY
run compress --method topk --repeat 9 --step 100 --worker 0 "$sample"
exits 0
check "no advice that was taken" sh -c "! grep -q steadies '$out'"
# Speeds have a spread; those of a single time are left out.
check "speeds have a spread" grep -qE '^topk.* ±([0-9]+%|[?]) .* ±([0-9]+%|[?])$' "$out"
prints "±: half of the median's 95 % interval"
run compress --method topk --repeat 1 --step 100 --worker 0 --results "$tmp/single.json" "$sample"
check "no speed of a single time" sh -c "grep '^topk' '$out' | grep -q -- '- *-\$'"
prints "58 of 58 messages were timed only once"
check "nor in rows" sh -c "grep -c '\"encode_gbps\": null.*\"decode_gbps\": null' '$tmp/single.json' | grep -qx 118"
run compress --method fft --theta 0.8 --method qsgd --repeat 3 --format json --results "$tmp/dir/saved.json" "$sample"
exits 0
quiet
cp "$out" "$tmp/rows.json"
check "rows add up" python3 "$tmp/rows.py" "$tmp/rows.json"
check "--results has the rows too" python3 "$tmp/rows.py" "$tmp/dir/saved.json"
run compress --repeat 1 --method topk --format csv "$sample"
check "csv begins with the record" sh -c "head -n 1 '$out' | grep -q '^record,file,step'"
run compress --repeat 1 --method topk --format json --per none "$sample"
check "only totals and the answer" test "$(wc -l <"$out")" -eq 4
rm "$tmp/dir/saved.json"

# --- the last row answers: what is recommended, of which kind; what lasts is not recommended
# without its memory
answers() { # BEST NOISE TRAIN, each a method or -
    check "recommended: $*" python3 -c "
import json, sys
rows = [json.loads(line) for line in open('$out')]
answer = rows[-1]
assert answer['record'] == 'answer' and answer['answer'], answer
for field, name in zip(('best', 'noise', 'train'), sys.argv[1:]):
    assert answer[field] == (None if name == '-' else name), (field, answer)
    assert (answer[field + '_gain'] is None) == (name == '-'), answer
    of = [r for r in rows if r['record'] == 'summary' and answer[field] and r['method'] == answer[field].split(':')[0]]
    if of:
        fp16 = [r for r in rows if r['record'] == 'summary' and r['method'] == 'fp16']
        sent = fp16[0]['wire_bytes'] if fp16 else 2 * of[0]['elements']
        assert abs(answer[field + '_error'] / of[0]['rel_l2'] - 1) < 1e-9, answer
        assert abs(answer[field + '_gain'] * of[0]['wire_bytes'] / sent - 1) < 1e-9, answer" "$@"
}
run compress --format json --method range --method qsgd --method sbc --step 400 --worker 0 "$sample"
answers range:bits=8 qsgd:bits=4 -
run compress -q --format json --method topk:theta=0.9999 --step 400 --worker 0 "$sample"
answers - - -
run compress --method redsync --step 400 --worker 0 "$sample"
check "a note explains RedSync's ratio" sh -c "tr -s ' \n' '  ' <'$out' | grep -q 'note: redsync keeps 54.4 % of the elements instead of 0.1 %'"
run bench --format json --method range --method qsgd --time-budget 1 --no-bandwidth "$sample"
answers range:bits=8 qsgd:bits=4 -
run replay --format json --allow-gaps --loop 10 --method topk:theta=0.99 --method topk:theta=0.9,memory=ef "$sample"
answers - - topk:theta=0.9,memory=ef

# --- histogram and spectrum rows, of the input and of what was decoded
refused 2 "--results FILE" compress --method topk --histogram "$sample"
cat >"$tmp/shapes.py" <<'PY'
import collections, json, math, sys

rows = [json.loads(line) for line in open(sys.argv[1])]
summaries = {r["method"]: r for r in rows if r["record"] == "summary"}
counts, energy = collections.Counter(), collections.Counter()
for r in rows:
    if r["record"] == "histogram":
        counts[r["of"], r.get("method")] += r["count"]
    elif r["record"] == "spectrum" and r["by"] == "frequency":
        energy[r["of"], r.get("method")] += r["energy"]
keys = {("input", None), ("decoded", "topk"), ("decoded", "fp16")}
assert energy.keys() == keys and counts.keys() == keys | {("error", "topk"), ("error", "fp16")}, (counts, energy)
assert all(c == summaries["topk"]["elements"] for c in counts.values()), counts
errors = [r for r in rows if r["record"] == "histogram" and r["of"] == "error" and r["method"] == "topk"]
exact = sum(r["count"] for r in errors if r["low"] == r["high"])
assert exact >= summaries["topk"]["kept"], exact  # kept values are sent unchanged
most = max(max(-r["low"], r["high"]) for r in errors)
assert 0.75 * most <= summaries["topk"]["max_abs_error"] <= most, (most, summaries["topk"]["max_abs_error"])
lost = 1 - energy["decoded", "topk"] / energy["input", None]  # topk loses exactly what it drops
assert math.isclose(lost, summaries["topk"]["rel_l2"] ** 2, rel_tol=1e-4), (lost, summaries["topk"]["rel_l2"])
PY
run compress --repeat 1 --method topk --histogram --spectrum --per none --format json "$sample"
exits 0
cp "$out" "$tmp/shapes.json"
check "histograms and spectra" python3 "$tmp/shapes.py" "$tmp/shapes.json"

# --- options that never change a byte
cat >"$tmp/same.py" <<'PY'
import h5py, sys


def messages(path):
    found = {}
    with h5py.File(path, "r") as f:
        f.visititems(lambda n, d: found.__setitem__(n, d[...].tobytes())
                     if isinstance(d, h5py.Dataset) and d.dtype == "u1" else None)
    return found


a, b = messages(sys.argv[1]), messages(sys.argv[2])
assert a and a.keys() == b.keys()
assert all(a[n] == b[n] for n in a), [n for n in a if a[n] != b[n]]
PY
for method in fft:chunk=4096 topk:index=golomb qsgd:coding=elias; do # the contract asks every method
    run compress --repeat 1 --method $method -o "$tmp/one.h5" --force "$sample"
    exits 0
    for other in "--repeat 1 --threads 2" "--repeat 1 --isa c" "--threads 3 --repeat 2 --warmup 0"; do
        run compress --method $method -o "$tmp/two.h5" --force $other "$sample"
        exits 0
        check "$method: the same bytes with $other" python3 "$tmp/same.py" "$tmp/one.h5" "$tmp/two.h5"
    done
done
run compress --repeat 1 --method qsgd --seed 2 -o "$tmp/two.h5" --force "$sample"
run compress --repeat 1 --method qsgd -o "$tmp/one.h5" --force "$sample"
check "another seed gives other bytes" sh -c "! '$PYTHON' '$tmp/same.py' '$tmp/one.h5' '$tmp/two.h5'"

# --- infinities and NaNs
cat >"$tmp/bad.py" <<'PY'
import h5py, numpy, sys

with h5py.File(sys.argv[1], "w") as f:
    for step in range(3):
        for worker in range(2):
            g = f.create_group(f"step_{step}/worker_{worker}")
            x = numpy.linspace(-1, 1, 4000, dtype="f4")
            if step == 1 and worker == 0:
                x[7], x[8] = numpy.nan, -numpy.inf
            g["weight"], g["bias\n2"] = x, x[100:110]
PY
check "input" python3 "$tmp/bad.py" "$tmp/bad.h5"
fails 1 "1 tensor holds infinities or NaNs: step 1 worker 0 weight (2 of 4000)" compress --method topk "$tmp/bad.h5"
check "no table is printed" test ! -s "$out"
run compress --method topk --results "$tmp/dir/bad.json" --format json "$tmp/bad.h5"
exits 1
check "no file of rows is left" test ! -e "$tmp/dir/bad.json"
check "no summary is printed" sh -c "! grep -q '\"record\": *\"summary\"' '$out'"
run compress --method topk --nonfinite skip "$tmp/bad.h5"
exits 0
prints "1 step with infinities or NaNs left out"
fails 1 "every step" compress --method topk --nonfinite skip --step 1 "$tmp/bad.h5"
run compress --method topk --nonfinite zero "$tmp/bad.h5"
exits 0
prints "2 infinities and NaNs were set to 0"
run compress --method topk --nonfinite raw -o "$tmp/dir/raw.h5" "$tmp/bad.h5"
exits 0
prints "messages were sent raw"
run decompress -o "$tmp/dir/back.h5" "$tmp/dir/raw.h5"
check "raw keeps every bit" python3 -c "
import h5py
a, b = (h5py.File(p)['step_1/worker_0/weight'][...] for p in ('$tmp/bad.h5', '$tmp/dir/back.h5'))
assert a.tobytes() == b.tobytes()"
rm "$tmp/dir/raw.h5" "$tmp/dir/back.h5"

# --- small and excluded tensors are sent as fp32
run compress --method topk --min-elements 100 --per none --format json --no-baselines "$tmp/bad.h5" --step 0
check "dense messages are counted" grep -q '"dense": 2' "$out"
run compress --method topk --dense 'bias*' --step 0 "$tmp/bad.h5"
prints "2 of 4 messages were sent as fp32"

# --- an interruption leaves nothing half-written
interrupted READING 1000 compress --method fft --repeat 100000 -o "$tmp/dir/m.h5" --results "$tmp/dir/r.json" "$sample"
exits 1
says "interrupted; no file of messages was written"
check "rows say so" grep -q '"status": "interrupted"' "$tmp/dir/r.json"
only r.json

finish
