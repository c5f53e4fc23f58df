"""Recomputes, with NumPy alone, what `gcbench compress` reports: bytes of the messages that -o wrote, and every
figure of error from the file that `gcbench decompress` restores.

check_numpy.py GCBENCH INPUT.h5 FOLDER SCOPE [METHOD...]     (no method: all of them)
"""
import json
import os
import subprocess
import sys

import h5py
import numpy

TOLERANCE = 1e-6  # relative
# Half a unit in the last place of the types that decompress rounds to, relative to a value.
ROUNDING = {"fp16": 2.0**-11, "bf16": 2.0**-8}
checks = 0


def call(*args):
    done = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, (args, done.returncode, done.stderr.decode())
    assert not done.stderr, (args, done.stderr.decode())
    return [json.loads(line) for line in done.stdout.decode().splitlines()]


def datasets(path, wanted):
    found = {}
    with h5py.File(path, "r") as f:
        def visit(name, d):
            if isinstance(d, h5py.Dataset) and wanted(d.dtype):
                found[name] = d[...].ravel()
        f.visititems(visit)
    return found


def messages(path):
    return {name: d.size for name, d in datasets(path, lambda t: t == numpy.uint8).items()}


def tensors(path):
    # codecs see float32, so a float64 is measured after rounding to float32
    return {name: d.astype("f4").astype("f8") for name, d in datasets(path, lambda t: t.kind == "f").items()}


def figures(x, y):
    d = x - y
    xx, yy, dd = x @ x, y @ y, d @ d
    zeros = x == 0
    return {
        "rel_l2": 0.0 if dd == 0 else numpy.sqrt(dd / xx) if xx else None,
        "cosine": (x @ y) / numpy.sqrt(xx * yy) if xx and yy else float(xx == yy),
        "max_abs_error": abs(d).max(initial=0.0),
        "mean_error": -d.mean() if d.size else None,
        "sign_agreement": (numpy.sign(x) == numpy.sign(y)).mean() if d.size else None,
        "zeros_preserved": (y[zeros] == 0).mean() if zeros.any() else None,
        "snr_db": 10 * numpy.log10(xx / dd) if xx and dd else None,
    }


def causes(x, y, row):
    """Shares of mxfp4's squared error: elements above 6 scales of their block, those that became 0, all others."""
    blocks = numpy.pad(x, (0, -x.size % 32)).reshape(-1, 32)
    most = numpy.maximum(abs(blocks).max(1, keepdims=True, initial=0.0), 1e-30)
    scale = 2.0 ** (numpy.floor(numpy.log2(most)) - 2 if row["params"]["scale-rule"] == "floor" else
                    numpy.ceil(numpy.log2(most / 6)))
    above = (abs(blocks) > 6 * scale).ravel()[:x.size]
    d, total = (x - y) ** 2, row["sums"]["error_squares"]
    return {name: (d * part).sum() / total if total else None for name, part in
            (("error_scale", above), ("error_dead_zone", y == 0), ("error_grid", (y != 0) & ~above))}


def near(name, got, want, x, slack, where):
    global checks
    checks += 1
    if want is None or got is None:
        assert got is None and want is None, (where, name, got, want)
        return
    scale = {"mean_error": abs(x).max(initial=0.0), "snr_db": 20.0, "max_abs_error": abs(x).max(initial=0.0)}
    room = (TOLERANCE + slack) * max(abs(want), scale.get(name, 0.0))
    if name == "rel_l2":
        room = TOLERANCE * abs(want) + slack
    assert abs(got - want) <= room, (where, name, got, want)


def compare(row, x, y, slack, where):
    for name, want in figures(x, y).items():
        if slack and name in ("zeros_preserved", "sign_agreement", "snr_db"):
            continue  # rounding to a smaller type may turn a small value into zero
        near(name, row[name], want, x, slack, where)
    if row["method"] == "mxfp4" and row["record"] == "result":
        for name, want in causes(x, y, row).items():
            near(name, row[name], want, x, slack, where)


def check_sizes(row, where):
    parts = sum(row[p + "_bytes"] for p in ("header", "scale", "value", "index"))
    assert parts == row["wire_bytes"], (where, "parts", parts, row["wire_bytes"])
    squares = [row["sums"][part + "_squares"] for part in ("scale", "dead_zone", "grid", "error")]
    if any(squares[:3]):
        assert abs(sum(squares[:3]) - squares[3]) <= 1e-12 * squares[3], (where, squares)
    if row["elements"]:
        ratio = row["input_bytes"] / row["wire_bytes"]
        assert abs(row["ratio"] - ratio) <= 1e-12 * ratio, (where, row["ratio"], ratio)


def check_method(gcbench, path, folder, scope, method):
    packed, restored = os.path.join(folder, "messages.h5"), os.path.join(folder, "restored.h5")
    rows = call(gcbench, "compress", "--method", method, "--scope", scope, "--no-baselines", "--repeat", "1", "--force",
                "-o", packed, "--format", "json", path)
    call(gcbench, "decompress", "--force", "-o", restored, packed)
    results = [r for r in rows if r["record"] == "result"]
    summary, = [r for r in rows if r["record"] == "summary"]
    sizes, x, y = messages(packed), tensors(path), tensors(restored)
    assert x.keys() == y.keys(), sorted(x.keys() ^ y.keys())
    assert sum(sizes.values()) == summary["wire_bytes"], (method, sum(sizes.values()), summary["wire_bytes"])
    assert len(sizes) == len(results), (method, len(sizes), len(results))
    slack = {t: ROUNDING.get(t, 0.0) for t in list(ROUNDING) + ["fp32", "fp64", "mixed"]}
    slack["mixed"] = max(ROUNDING.values())
    for r in results:
        where = f"{method} step {r['step']} worker {r['worker']} {r['tensor']}"
        name = "/".join(n for n in sizes if n.endswith("/" + r["tensor"]) and
                        int(n.split("/")[0][5:]) == r["step"] and int(n.split("/")[1][7:]) == r["worker"])
        assert sizes[name] == r["wire_bytes"], (where, sizes[name], r["wire_bytes"])
        check_sizes(r, where)
        if name in x:
            compare(r, x[name], y[name], slack[r["input_dtype"]], where)
    check_sizes(summary, method)
    names = sorted(x)
    whole = [numpy.concatenate([t[n] for n in names]) for t in (x, y)]
    compare(summary, *whole, slack[summary["input_dtype"]], method + " summary")


def main():
    gcbench, path, folder, scope, *methods = sys.argv[1:]
    for method in methods or [r["method"] for r in call(gcbench, "methods", "--format", "json")]:
        check_method(gcbench, path, folder, scope, method)
    print(f"{checks} figures of {path}, scope {scope}")
    assert checks


main()
