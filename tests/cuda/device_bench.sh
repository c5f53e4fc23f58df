#!/bin/sh
# bench on a device, with the stand-in as the module: rows, bytes and statuses. Its times mean
# nothing.
#   device_bench.sh GCBENCH STANDIN
. "$(dirname "$0")/../cli/lib.sh"
. "$(dirname "$0")/lib.sh"

# Without a module, the command is refused, or only the device's rows are.
fails 3 "no CUDA module" bench --device cuda --method qsgd --repeat 1 "$sample"

cp "$standin" "$module"
run bench --device cpu,cuda --method qsgd --method fp16 --method range:max=1 \
    --dataset stem.weight --dataset layers.6.sc.weight --repeat 3 --cache both --results "$tmp/r.json" "$sample"
exits 0
prints "unsupported: "

cat >"$tmp/look.py" <<'PY'
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
env = rows.pop(0)
assert env["gpu"] == "a stand-in on the CPU, for tests", env["gpu"]
assert env["gpu_driver"] == "13.0"
assert env["gpu_copy_gbps"] > 0
assert env["gpu_copy_bytes"] == 16 << 20
assert env["gpu_clock_mhz"] == 1500 and env["gpu_clock_max_mhz"] == 1980
device = ["encode_kernel_seconds", "encode_transfer_seconds", "decode_kernel_seconds", "decode_transfer_seconds",
          "encode_launches", "decode_launches", "group_messages", "device_bytes", "gpu_clock_mhz"]
intervals = [f"{way}_kernel_seconds_{end}" for way in ("encode", "decode") for end in ("low", "high")]
ours = ["device", "encode_seconds", "decode_seconds", "encode_gbps", "decode_gbps", "encode_bandwidth_share",
        "decode_bandwidth_share", "gain_throughput", "stop_reason"]
ours += [f"{way}_seconds_{end}" for way in ("encode", "decode") for end in ("min", "mad", "low", "high", "samples")]
ours += ["transform_seconds", "select_seconds", "quantise_seconds", "index_seconds"]
def key(row):
    return tuple(str(row.get(k)) for k in ("record", "step", "worker", "tensor", "spec", "cache"))
def plain(row):
    return {k: v for k, v in row.items() if k not in device + intervals + ours and not k.startswith("sum")}
cpu = {key(r): r for r in rows if r.get("device") == "cpu"}
cuda = {key(r): r for r in rows if r.get("device") == "cuda:0"}
seen = 0
for k, r in cuda.items():
    if r["status"] == "unsupported":
        assert r["method"] == "memcpy", r["spec"]
        assert r["record"] == "summary" and r["wire_bytes"] is None and r["encode_seconds"] is None
        assert r["reason"]
        continue
    assert r["status"] == "ok"
    # bytes, errors and densities are exactly the CPU's
    assert plain(r) == plain(cpu[k]), (plain(r), plain(cpu[k]))
    for name in device:
        assert r[name] is not None and r[name] >= 0, name
        assert cpu[k][name] is None, name
    for name in intervals: # three samples have no interval
        assert r[name] is None and cpu[k][name] is None
    assert r["device_bytes"] == 4 * r["elements"] + r["wire_bytes"] and r["gpu_clock_mhz"] == 1500
    assert r["encode_launches"] >= 1 and r["decode_launches"] >= 1
    if r["record"] == "summary": # by the stand-in's clock each kernel takes 10 us, and so does each copy
        for way in "encode", "decode":
            assert r[way + "_launches"] <= 1e5 * r[way + "_kernel_seconds"] * (1 + 1e-6) <= r[way + "_launches"] + 2, r["spec"]
    want = (4 * r["elements"] + r["wire_bytes"]) / r["encode_kernel_seconds"] / 1e9 / env["gpu_copy_gbps"]
    assert abs(r["encode_bandwidth_share"] / want - 1) < 1e-9
    if r["record"] == "result":
        assert len({"fp16", "identity", "qsgd", "range"} & {r["method"]}) == 1
        assert r["encode_launches"] <= 3
        seen += 1
tensors = len({r["tensor"] for r in rows if r["record"] == "result"})
assert seen == 4 * tensors * 2, (seen, tensors)
assert any(r["spec"] == "memcpy" and r["status"] == "unsupported" for r in cuda.values())
PY
check "the device's rows are the CPU's, except for times" python3 "$tmp/look.py" "$tmp/r.json"

# Consecutive small messages share a set of launches, if the method encodes groups. Bytes and errors
# are the CPU's.
run bench --device cpu,cuda --method fp16 --method qsgd --method qsgd:coding=elias --method topk --repeat 6 \
    --samples --step all --dataset 'layers.[36].b*' --dataset 'fc.*' --results "$tmp/groups.json" "$sample"
exits 0
prints "at most 65536 elements are encoded in groups"
cat >"$tmp/suite.json" <<'END'
{"schema": 1, "name": "groups", "methods": ["fp16", "topk"], "devices": ["cpu", "cuda"], "repeat": 1,
 "inputs": [{"dist": "normal", "elements": [10, 5000, 70000, 65536, 33, 1, 65537, 7]}]}
END
run bench --suite "$tmp/suite.json" --samples --results "$tmp/large.json"
exits 0
cat >"$tmp/groups.py" <<'PY'
import json, sys
from collections import defaultdict
rows = [json.loads(line) for line in open(sys.argv[1])][1:]
result = [r for r in rows if r["record"] == "result"]
def key(r):
    return r["step"], r["worker"], r["tensor"], r["spec"]
cpu = {key(r): r for r in result if r["device"] == "cpu"}
groups = defaultdict(list)
for r in result:
    if r["device"] == "cpu":
        assert r["group_messages"] is None
        continue
    same = cpu[key(r)]
    for name in "wire_bytes", "value_bytes", "rel_l2", "cosine", "max_abs_error", "stored", "clamped", "mean_error":
        assert r[name] == same[name], (name, r[name], same[name])
    groups[r["spec"], r["step"], r["worker"]].append(r)
launches = defaultdict(int)
for (spec, step, worker), members in groups.items():
    grouped = "topk" not in spec and "elias" not in spec
    # in the order of the file, a large tensor ends a group
    at = 0
    while at < len(members):
        n = members[at]["group_messages"]
        group = members[at:at + n]
        assert len(group) == n and all(r["group_messages"] == n for r in group), (spec, at, n)
        assert n == 1 or (grouped and all(r["elements"] <= 65536 for r in group)), (spec, n)
        following = members[at + n] if at + n < len(members) else None
        if grouped and group[0]["elements"] <= 65536 and following:
            assert following["elements"] > 65536, (spec, at, n)
        # each time of a group is shared out by input bytes; launches are those of the group
        bytes = sum(r["input_bytes"] for r in group)
        for name in ("encode_seconds", "encode_seconds_low", "decode_seconds_min", "encode_kernel_seconds",
                     "decode_kernel_seconds_high"):
            if group[0][name] is None and len(group[0]["encode_seconds_samples"]) < 6:
                continue
            total = sum(r[name] for r in group)
            for r in group:
                assert abs(r[name] / (total * r["input_bytes"] / bytes) - 1) < 1e-9, (spec, name)
        for r in group:
            if len(r["encode_seconds_samples"]) == 1:
                assert r["encode_gbps"] is None
            else:
                assert abs(r["encode_gbps"] / group[0]["encode_gbps"] - 1) < 1e-9
            assert min(r["encode_seconds_samples"]) == r["encode_seconds_min"]
            assert r["encode_launches"] == group[0]["encode_launches"] <= (20 if not grouped else 3)
        launches[spec] += group[0]["encode_launches"]
        at += n
for r in rows:
    if r["record"] == "summary" and r["device"] != "cpu" and r["status"] == "ok":
        assert r["encode_launches"] == launches[r["spec"]], r["spec"]
        assert r["group_messages"] == max(g["group_messages"] for g in result
                                          if g["device"] != "cpu" and g["spec"] == r["spec"])
found = {len(members): sorted({r["group_messages"] for r in members}) for (spec, _, _), members in groups.items()
         if spec == "fp16:rounding=nearest"}
assert found == eval(sys.argv[2]), found
PY
check "small messages are encoded in groups" python3 "$tmp/groups.py" "$tmp/groups.json" "{10: [10]}"
check "large messages are encoded alone" python3 "$tmp/groups.py" "$tmp/large.json" "{8: [1, 2, 3]}"

# Kernel times have their own intervals. A falling clock is reported: the lowest rate for each
# message, and of all.
GCB_HOST_CLOCK=falling
export GCB_HOST_CLOCK
run bench --device cuda --method fp16 --dataset fc.weight --step all --repeat 9 --cache cold \
    --results "$tmp/clock.json" "$sample"
exits 0
check "a falling clock is reported, and kernel times have intervals" python3 - "$tmp/clock.json" <<'PY'
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
assert rows[0]["gpu_clock_mhz"] < 1500
clocks = [r["gpu_clock_mhz"] for r in rows if r["record"] == "result"]
assert len(clocks) == 4 and all(b <= a - 20 for a, b in zip(clocks, clocks[1:])), clocks
for s in rows:
    if s["record"] != "summary" or s["status"] != "ok":
        continue
    own = [r for r in rows if r["record"] == "result" and r["spec"] == s["spec"]]
    assert s["gpu_clock_mhz"] == min(r["gpu_clock_mhz"] for r in own)
    for way in "encode", "decode":
        for r in own:
            assert 0 < r[f"{way}_kernel_seconds_low"] <= r[f"{way}_kernel_seconds"] <= r[f"{way}_kernel_seconds_high"]
        total = sum(r[f"{way}_kernel_seconds_high"] for r in own)
        assert abs(s[f"{way}_kernel_seconds_high"] / total - 1) < 1e-9
PY
GCB_HOST_CLOCK=missing
run bench --device cuda --method fp16 --dataset 'stem.*' --repeat 1 --format json "$sample"
exits 0
prints '"gpu_clock_mhz": null, "gpu_clock_max_mhz": 1980, '
check "no result has a clock" sh -c "! grep -E '\"gpu_clock_mhz\": [0-9]' '$out'"
unset GCB_HOST_CLOCK

# The stand-in for cuFFT within its tolerance, outside it, and missing.
transforms() { # MODE
    GCB_HOST_FFT=$1
    export GCB_HOST_FFT
    run bench --device cuda --method fft:chunk=63 --method demo --method sparse:transform=hadamard --dataset stem.weight \
        --repeat 1 --format json "$sample"
    unset GCB_HOST_FFT
}
transforms near
exits 0
quiet
check "all three run" sh -c "! grep -E '\"(fft|demo|sparse)\".*\"(failed|unsupported)\"' '$out'"
transforms far
exits 5
says "1 of 5 methods failed: fft, step 400 worker 0 stem.weight: the device and the CPU decode the message to different values"
prints '"failed", "reason": "fft, step 400 worker 0 stem.weight: the device and the CPU decode the message to different values'
# exit status 5 takes precedence over 3
GCB_HOST_COPY=damaged
export GCB_HOST_COPY
transforms missing
unset GCB_HOST_COPY
exits 5
says "3 of 5 methods failed; the first: demo, step 400 worker 0 stem.weight: the device and the CPU decode the message"
prints '"failed", "reason": "identity, step 400 worker 0 stem.weight: the device'"'s message differs from the CPU's ("
prints '"unsupported", "reason": "fft'
transforms fails
exits 1
says "cufftExecR2C"
prints '"failed", "reason": "fft, step 400'
transforms missing
exits 3
prints '"unsupported", "reason": "fft, step 400 worker 0 stem.weight: device cuda: transform=fft of this length needs cuFFT'
says "transform=fft of this length needs cuFFT, and neither libcufft.so.12 nor libcufft.so.11 was found"
prints '"spec": "demo:'
transforms no-plan
exits 0
prints '"unsupported", "reason": "fft, step 400 worker 0 stem.weight: device cuda: cuFFT has no plan'
last="info"
GCB_HOST_FFT=missing "$GCBENCH" info >"$out" 2>"$err"
prints "no cuFFT"

# A device that fails in the middle: earlier rows are kept, and all later rows of the device are
# failed.
GCB_HOST_BREAK=60
export GCB_HOST_BREAK
run bench --device cuda,cpu --method qsgd --method fp16 --dataset stem.weight --repeat 3 --cache both \
    --results "$tmp/broken.json" "$sample"
unset GCB_HOST_BREAK
exits 1
says "methods failed; the first: "
says ", step 400 worker 0 stem.weight: device cuda: unspecified launch failure"
check "rows before the failure are kept, and later rows are failed" python3 - "$tmp/broken.json" <<'PY'
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
by = {(r["device"], r["cache"], r["method"]): r for r in rows if r["record"] == "summary"}
assert by["cuda:0", "warm", "qsgd"]["status"] == "ok" and by["cuda:0", "warm", "identity"]["status"] == "failed"
for method in "qsgd", "fp16", "identity":
    row = by["cuda:0", "cold", method]
    assert row["status"] == "failed" and "launch failure" in row["reason"], row
assert all(r["status"] == "ok" for (device, _, _), r in by.items() if device == "cpu")
PY

for n in 3 7 21 42; do # the failing kernel: of an encode or of a decode
    GCB_HOST_BREAK=$n
    export GCB_HOST_BREAK
    run compress --device cuda --method topk --method qsgd --dataset stem.weight "$sample"
    unset GCB_HOST_BREAK
    exits 1
    says "device cuda: unspecified launch failure"
done

fails 3 "this machine has 1" bench --device cuda:1 --method qsgd --repeat 1 "$sample"
run bench --device cuda:1,cuda:0 --method qsgd --repeat 1 --dataset stem.weight --format json "$sample"
exits 0
prints '"status": "unsupported", "reason": "device cuda:1 does not exist; this machine has 1'
prints '"device": "cuda:0"'
finish
