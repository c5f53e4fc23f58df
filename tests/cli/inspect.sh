#!/bin/sh
# inspect against NumPy: moments, zeros, infinities and NaNs, histogram and spectrum, over steps and
# workers.
. "$(dirname "$0")/lib.sh"

cat >"$tmp/make.py" <<'PY'
import h5py, numpy, sys
rng = numpy.random.default_rng(7)
with h5py.File(sys.argv[1], "w") as f:
    for step in (0, 5):
        for worker in (0, 1):
            g = f.create_group(f"step_{step:06d}/worker_{worker}")
            x = rng.standard_t(4, size=(7, 12, 100)).astype("f4")
            x[0, 0, :17] = 0.0
            g["conv.weight"] = x * numpy.float32(1e-3) + numpy.float32(2e-4)
            y = rng.normal(size=5000).astype("f4")
            if step == 5 and worker == 1:
                y[3], y[4097], y[4098] = numpy.inf, -numpy.inf, numpy.nan
            g["fc"] = y
            g["odd"] = rng.normal(size=1001).astype("f4")
            g["huge"] = (rng.normal(size=33) * 1e38).clip(-3e38, 3e38).astype("f4")
            g["tiny"] = (rng.normal(size=33) * 1e-42).astype("f4")
            g["half"] = rng.normal(size=64).astype("f2")
            g["wide"] = rng.normal(size=64)
            g["constant"] = numpy.full(9000, 0.3, "f4")
            g["scalar"] = numpy.float32(2.5)
            g["none"] = numpy.zeros((0, 4), "f4")
            g["ints"] = numpy.arange(5)
PY
cat >"$tmp/compare.py" <<'PY'
import h5py, json, numpy, sys
rows = [json.loads(line) for line in open(sys.argv[2])]
f = h5py.File(sys.argv[1], "r")
data = {}
for step in f.values():
    for worker in step.values():
        for name, d in worker.items():
            if d.dtype.kind == "f":
                data.setdefault(name, []).append(numpy.asarray(d[...], "f4").ravel())


def close(a, b, tolerance=1e-9):
    assert (a is None) == (b is None or not numpy.isfinite(b)), (a, b)
    assert a is None or abs(a - b) <= tolerance * max(abs(b), 1e-300), (a, b)


tensors = {r["tensor"]: r for r in rows if r["record"] == "tensor"}
assert set(tensors) == set(data), (set(tensors), set(data))
for name, parts in data.items():
    r, x = tensors[name], numpy.concatenate(parts).astype("f8")
    good = x[numpy.isfinite(x)]
    assert (r["elements"], r["datasets"]) == (len(x), 4)
    assert r["nonfinite"] == len(x) - len(good)
    assert r["zeros"] == numpy.count_nonzero(x == 0)
    if not len(good):
        assert r["mean"] is None and r["max_abs"] is None
        continue
    mean = good.mean()
    d = good - mean
    spread = abs(good).max() or 1.0
    assert abs(r["mean"] - mean) <= 1e-12 * spread, (name, r["mean"], mean)
    close(r["l2"], numpy.sqrt((good ** 2).sum()))
    close(r["max_abs"], abs(good).max())
    if name == "constant":
        assert r["deviation"] < 1e-12 and r["shape"] == "9000"
        continue
    close(r["deviation"], numpy.sqrt((d ** 2).mean()))
    d = d / spread
    if (d ** 2).sum() > 0:
        close(r["kurtosis"], (d ** 4).mean() / (d ** 2).mean() ** 2, 1e-8)

for name, parts in data.items():
    x = numpy.concatenate(parts)
    bins = [r for r in rows if r["record"] == "histogram" and r["tensor"] == name]
    finite = x[numpy.isfinite(x)].astype("f8")
    assert sum(b["count"] for b in bins) == len(finite), name
    for b in bins:
        if b["low"] == b["high"]:
            assert b["low"] == 0 and b["count"] == numpy.count_nonzero(finite == 0)
        elif b["low"] >= 0:
            low = finite > 0 if b["low"] == 0 else finite >= b["low"]
            assert b["count"] == numpy.count_nonzero(low & (finite < b["high"])), (name, b)
        else:
            high = finite < 0 if b["high"] == 0 else finite <= b["high"]
            assert b["count"] == numpy.count_nonzero(high & (finite > b["low"])), (name, b)

for name in ["conv.weight", "fc", "half", *sys.argv[3:]]:
    parts = [p.astype("f8") for p in data[name] if numpy.isfinite(p).all()]
    energy = sum((p ** 2).sum() for p in parts)
    bands = [r for r in rows if r["record"] == "spectrum" and r["tensor"] == name and r["by"] == "frequency"]
    close(sum(b["energy"] for b in bands), energy, 1e-5)
    n = len(parts[0])
    assert sum(b["bins"] for b in bands) == n // 2 + 1
    weight = numpy.full(n // 2 + 1, 2.0)
    weight[0] = 1
    weight[-1] = 1 if n % 2 == 0 else 2
    power = [abs(numpy.fft.rfft(p)) ** 2 / n for p in parts]
    for b in bands:
        i, j = round(b["low"] * n), round(b["high"] * n)
        close(b["energy"], sum((weight * p)[i:j].sum() for p in power), 1e-4)
        close(b["max_magnitude"], max(numpy.sqrt(p[i:j].max()) for p in power), 1e-4)
    curve = [r for r in rows if r["record"] == "spectrum" and r["tensor"] == name and r["by"] == "magnitude"]
    every = numpy.concatenate(power)
    weights = numpy.concatenate([weight] * len(parts))
    for c in curve:
        kept = every >= c["threshold"] ** 2 * (1 - 1e-5)
        assert abs(c["density"] - kept.mean()) < 2e-3, (c, kept.mean())
        assert abs(c["energy_share"] - (every * weights)[kept].sum() / (every * weights).sum()) < 2e-3
    assert curve[-1]["density"] == 1 and abs(curve[-1]["energy_share"] - 1) < 1e-12
PY

check "input" python3 "$tmp/make.py" "$tmp/in.h5"
run inspect --histogram --spectrum --format json "$tmp/in.h5"
exits 0
cp "$out" "$tmp/rows.json"
if has_fftw; then
    says "4 datasets of other types than floats skipped"
    check "agrees with NumPy" python3 "$tmp/compare.py" "$tmp/in.h5" "$tmp/rows.json" odd
else
    leave_out "the spectrum of an odd length needs FFTW"
    check "no spectrum of odd lengths" grep -q "4 tensors: .*FFTW" "$err"
    check "agrees with NumPy" python3 "$tmp/compare.py" "$tmp/in.h5" "$tmp/rows.json"
fi
run inspect --histogram --spectrum --format json --threads 2 "$tmp/in.h5"
check "threads change no tensor row" sh -c "
    grep -vE 'spectrum|environment' '$out' >'$tmp/two'
    grep -vE 'spectrum|environment' '$tmp/rows.json' | cmp -s - '$tmp/two'"

run inspect "$tmp/in.h5"
exits 0
prints "2 steps x 2 workers x 10 tensors, mixed types"
prints "7x12x100"
prints "note: infinities and NaNs"
run inspect -q "$tmp/in.h5"
check "-q leaves notes out" sh -c "! grep -q note: '$out'"
run inspect --step 5 --worker 0 --dataset 'f*' --dataset half --exclude half "$tmp/in.h5"
prints "1 step x 1 worker x 1 tensor, fp32, 20.0 kB"

# A sparse file of more than 1 GiB is hashed only with --hash.
cp "$tmp/in.h5" "$tmp/large.h5"
truncate -s 1025M "$tmp/large.h5"
run inspect --format json --dataset half "$tmp/large.h5"
exits 0
prints '"xxh3": null'
run inspect --format json --dataset half --hash "$tmp/large.h5"
exits 0
check "--hash hashes it" grep -qE '"xxh3": "[0-9a-f]{16}"' "$out"
rm "$tmp/large.h5"

finish
