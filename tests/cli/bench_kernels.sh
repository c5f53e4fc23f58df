#!/bin/sh
# bench --kernels: what is timed, that fixed work is fixed, and that results say what they are.
. "$(dirname "$0")/lib.sh"

run bench --kernels --size l1 --repeat 6 --format json --samples
exits 0
quiet
cp "$out" "$tmp/all.json"
check "every row is whole" python3 - "$tmp/all.json" <<'PY'
import json, math, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
assert rows[0]["record"] == "environment" and rows[0]["read_gbps"] is None
kernels = rows[1:]
families = {r["family"] for r in kernels}
assert families == set("philox reduce compare select bitpack convert range dither fft hadamard accumulate block".split()), families
slowest = {}
for r in kernels:
    name = (r["family"], r["kernel"])
    assert r["record"] == "kernel" and r["schema"] == 1 and r["status"] == "ok", r
    assert r["cache"] == "l1" and r["threads"] == 1 and r["calls"] == 64 and r["stop_reason"] == "repeat", r
    assert len(r["seconds_samples"]) == 6
    s = sorted(r["seconds_samples"])
    assert r["seconds_min"] == s[0] and math.isclose(r["seconds"], (s[2] + s[3]) / 2)
    assert r["seconds_low"] == s[0] and r["seconds_high"] == s[5]
    assert math.isclose(r["gbps"], 4e-9 * r["elements"] / r["seconds"])
    assert r["bytes"] > 0 and r["bandwidth_share"] is None
    if r["isa"] == "fftw":
        assert r["speedup"] is None, name
    elif r["isa"] == "c":
        assert name not in slowest and r["speedup"] is None, name
        slowest[name] = r["seconds"]
    else:
        assert math.isclose(r["speedup"], slowest[name] / r["seconds"])
assert len({(r["family"], r["kernel"], r["isa"]) for r in kernels}) == len(kernels)
PY
check "every family of kernels/" \
    test "$(ls "$(dirname "$0")"/../../kernels/*/*_c.c | xargs -n 1 dirname | sort -u | wc -l)" -eq 12

run bench --kernels --size l1 --repeat 1 --isa c --format csv 'reduce/sum*' bitpack/pack:8
exits 0
check "four rows of C" test "$(grep -c '^kernel,[a-z]*,[a-z_:8]*,c,1,l1,ok,4096,' "$out")" -eq 4
check "and a header" test "$(wc -l <"$out")" -eq 5

# Bandwidth is measured where a share of it is shown, and not as a part of fixed work.
run bench --kernels --size memory --isa c --max-time 0.05 --results "$tmp/m.json" max_bits
exits 0
prints "memory: read"
prints " MiB, caches " # arrays are larger, or it can be seen that they are not
prints " %"
check "share of what was measured" python3 - "$tmp/m.json" <<'PY'
import json, math, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
for r in rows[1:]:
    assert r["elements"] in (1 << n for n in range(24, 40)) and r["bytes"] == 4 * r["elements"] and r["calls"] == 1
    assert math.isclose(r["bandwidth_share"], r["bytes"] / rows[0]["read_gbps"] / 1e9 / r["seconds"])
PY
fails 2 "exists" bench --kernels --results "$tmp/m.json" max_bits

fails 2 "no kernel is called 'max_bist'; did you mean 'max_bits'?" bench --kernels --size l1 --repeat 1 max_bist
fails 2 "--size is one of l1, l2, memory" bench --kernels --size l3
for given in "--threads 2" "--method fft" "--scope model" "--cache cold" "--suite quick" "--step 1" \
    "--exclude x" "--dense x" "--min-elements 9" "--nonfinite zero" "--order recorded"; do
    # shellcheck disable=SC2086 # an option and its value
    fails 2 "${given% *} has no meaning with --kernels" bench --kernels $given
done
[ "$(uname -m)" = aarch64 ] && other=avx2 || other=neon
run bench --kernels --isa $other
exits 3

# The same instructions in every run, but for a few in starting and in printing times.
if counts_instructions; then
    isa=$(widest_counted)
    for i in 1 2; do
        valgrind --tool=callgrind --callgrind-out-file=/dev/null "$GCBENCH" \
            bench --kernels --isa "$isa" --size l1 --repeat 2 reduce/sum >"$out" 2>"$tmp/v$i"
        check "runs under valgrind" grep -q '^reduce/sum ' "$out"
    done
    check "instructions repeat" awk '/Collected/ { n[++i] = $NF }
        END { exit !(i == 2 && n[1] > 1e6 && (n[1] - n[2]) ^ 2 < (1e-3 * n[1]) ^ 2) }' "$tmp/v1" "$tmp/v2"
fi

finish
