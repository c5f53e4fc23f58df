"""Compares what plots draw with the result rows, worked out again in Python.

    check_plot.py FOLDER RESULTS...

FOLDER has the scripts and data that `gcbench plot RESULTS... -o FOLDER` wrote.
"""
import json
import math
import pathlib
import re
import shlex
import statistics
import sys

folder = pathlib.Path(sys.argv[1])
rows = [json.loads(line) for path in sys.argv[2:] for line in open(path)]
BASELINES = {"identity", "fp32", "fp16", "bf16"}
checks = 0


def same(a, b, what):
    global checks
    a, b = math.nan if a is None else a, math.nan if b is None else b
    checks += 1
    assert (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-300), (what, a, b)


def pages(name):
    found = sorted(folder.glob(name + ".gp")) + sorted(folder.glob(name + "-[0-9]*.gp"))
    assert found, "no page of " + name
    return found


def variables(script):
    """The values at the beginning of a script. Arrays are lists."""
    text = script.read_text().split("# Shared by all plots")[0].replace("\\\n", "")
    result = {}
    for line in text.splitlines():
        match = re.match(r"(?:array )?(\w+)(\[\d+\])? = (.*)$", line)
        if match:
            value = match[3].strip("[]") if match[2] else match[3]
            items = [
                item[1:-1].replace("''", "'") if item[0] == "'" else float(item)
                for item in re.findall(r"'(?:[^']|'')*'|[^, ]+", value)
            ]
            result[match[1]] = items if match[2] else items[0] if items else ""
    return result


def blocks(script):
    """The blocks of a page's data: lists of rows, each a dictionary."""
    result = []
    for block in script.with_suffix(".dat").read_text().split("\n\n\n"):
        names, *lines = [shlex.split(line) for line in block.strip("\n").split("\n")]
        result.append([dict(zip(names, line)) for line in lines])
    return result


def numbers(row):
    return {key: float(value) for key, value in row.items() if re.fullmatch(r"[-+.\deNan]+", value)}


def drawn(record, **wanted):
    return [r for r in rows if r["record"] == record and all(r.get(k) == v for k, v in wanted.items())]


# ---- exchanges ----

def parts(r):
    get = lambda *keys: sum(r.get(key) or 0 for key in keys)
    return {
        "seconds": r["seconds"],
        "speedup_bar": r["speedup_bar"],
        "coding": get("encode_seconds", "decode_seconds"),
        "wire": get("wire_seconds", "sizes_seconds", "inside_seconds"),
        "adding": get("add_seconds", "average_seconds"),
        "copy": get("host_copy_seconds"),
    }


def check_exchange(name, axis, fixed):
    exchanges = [r for r in drawn("payoff", model="exchange") if not r.get("doubtful")]
    # pages are in the order of the first rows of each fixed value and each run (scope, threads, cache, ...)
    key = lambda r: (r[fixed], *(r.get(k) for k in ("results", "scope", "device", "isa", "cache", "threads", "gradient_bytes")))
    groups = {}
    for r in exchanges:
        groups.setdefault(key(r), []).append(r)
    groups = [g for g in groups.values() if len({r[axis] for r in g}) > 1]
    scripts = pages(name)
    assert len(scripts) == len(groups), (name, len(scripts), len(groups))
    for script, group in zip(sorted(scripts, key=lambda p: int((re.findall(r"-(\d+)\.gp", p.name) or [1])[0])), groups):
        v, data = variables(script), blocks(script)
        best = {}
        for r in group:
            best[r[axis]] = min(best.get(r[axis], math.inf), r["seconds"])
        curves = {}
        for r in group:
            curves.setdefault((r["label"], r["spec"]), []).append(r)
        order = sorted(
            curves.values(),
            key=lambda c: (c[0]["method"] not in BASELINES, -max(best[r[axis]] / r["seconds"] for r in c)),
        )
        near = [max(best[r[axis]] / r["seconds"] for r in c) for c in order]
        assert int(v["series"]) == len(order)
        assert int(v["named"]) == min(len(order), 8 + sum(c[0]["method"] in BASELINES for c in order))
        for i, label in enumerate(v["label"]):
            curve = sorted(next(c for c in order if c[0]["label"] == label), key=lambda r: r[axis])
            # curves of equal rank may change places
            assert math.isclose(near[i], max(best[r[axis]] / r["seconds"] for r in curve)), (name, label, i)
            assert len(data[i]) == len(curve)
            for row, r in zip(map(numbers, data[i]), curve):
                same(row["place"], r[axis], "place")
                for part, value in parts(r).items():
                    same(row[part], value, (name, label, part))
                same(sum(row[p] for p in ("coding", "wire", "adding", "copy")), r["seconds"], "the parts make the whole")
            assert float(data[i][-1]["mark"]) == 1
        if name == "break-even":
            for ring in map(numbers, data[int(v["series"])]):
                below = next(r for r in group if r["label"] == v["label"][int(ring["series"]) - 1])["pays_below_gbit"]
                same(ring["place"], below if below and below > 0 else None, "ring")


check_exchange("break-even", "bandwidth_gbit", "workers")
check_exchange("scaling", "workers", "bandwidth_gbit")

# ---- measured exchanges ----

for script in pages("exchange"):
    v = variables(script)
    shown = [(numbers(row), row["spec"]) for row in blocks(script)[0]]
    fastest = min(row["seconds"] for row, _ in shown if row["baseline"])
    same(v["best"], fastest, "the best baseline")
    assert [row["seconds"] for row, _ in shown] == sorted(row["seconds"] for row, _ in shown)
    algorithm = re.search(r"each, (\w+), ", v["plot_title"])[1]
    wanted = {r["spec"]: r for r in rows if r["record"] == "exchange" and r["algorithm"] == algorithm}
    assert len(wanted) == len(shown) == len(v["label"]), (len(wanted), len(shown))
    for row, spec in shown:
        r = wanted[spec]
        same(row["encode"], r["encode_seconds"], "encode")
        same(row["wire"] - row["encode"], r["wire_seconds"] + r["sizes_seconds"], "wire")
        same(row["sum"] - row["wire"], r["sum_seconds"], "sum")
        same(row["seconds_high"], r["seconds_high"], "interval")
        same(row["speedup"], fastest / r["seconds"], "speed-up")

# ---- training ----

for name, axis in (("accuracy-steps", "step"), ("accuracy-bytes", "link_bytes"), ("accuracy-time", "seconds")):
    for script in pages(name):
        v = variables(script)
        linked = "links" in v["plot_file"]
        assert v["label"][-1] == "identity!", "baselines come last"
        for label, block in zip(v["label"], blocks(script)):
            for row, step in zip(map(numbers, block), (10, 20)):
                runs = [r for r in drawn("training", label=label, step=step) if not linked or "seconds" in r]
                runs = [r for r in runs if linked or name != "accuracy-time" and "seconds" not in r]
                same(row["place"], sum(r[axis] for r in runs) / len(runs), (name, "place"))
                for key, of in (("quality", statistics.median), ("lowest", min), ("highest", max)):
                    same(row[key], of(r["quality"] for r in runs), (name, label, key))

# ---- runs at several dates ----

(script,) = [script for script in pages("history") if "old.h5" in variables(script)["plot_file"]]
assert variables(script)["run_name"] == ["26-01-31 12:00 4012345", "26-03-01 12:00 1012345", "26-12-01 12:00 2012345"]
assert variables(script)["label"] == ["qsgd: ratio 4, 2 GB/s", "topk: ratio 3, 2 GB/s"], "fft ran once"
found = [[[row[key] for key in ("run", "ratio_change", "speed_change", "ratio", "encode_gbps")] for row in map(numbers, block)]
         for block in blocks(script)]
for got, want in zip(sum(found, []), ([1, 1, 1, 5, 3], [2, 0.8, 2 / 3, 4, 2], [1, 1, 1, 3, 4], [2, 1, 0.25, 3, 1], [3, 1, 0.5, 3, 2]), strict=True):
    for a, b in zip(got, want):
        assert abs(a - b) < 1e-3, (got, want)
        checks += 1

# ---- the papers' models ----

for script in pages("k-min"):
    for block in blocks(script):
        for row in map(numbers, block):
            found = [r for r in drawn("payoff", model="fft") if math.isclose(r["bandwidth_gbit"], row["bandwidth_gbit"])]
            assert any(r["least_ratio"] == row["least_ratio"] or (r["least_ratio"] is None and math.isnan(row["least_ratio"])) for r in found)
            checks += 1
for script in pages("t-sparse"):
    for label, block in zip(variables(script)["label"], blocks(script)):
        density, bandwidth = map(float, re.fullmatch(r"density (\S+), (\S+) Gbit/s", label).groups())
        wanted = drawn("payoff", model="redsync", density=density, bandwidth_gbit=bandwidth)
        assert len(wanted) == len(block)
        for row, r in zip(map(numbers, block), wanted):
            for key in ("workers", "sparse_seconds", "dense_seconds", "bandwidth_ratio"):
                same(row[key], r[key], key)

# ---- error and size ----

summaries = [r for r in drawn("summary", status="ok") if r["method"] != "memcpy"]


def find(row):
    found = [r for r in summaries if r["spec"] == row["spec"] and math.isclose(r["bits_per_element"], float(row["bits"]))]
    assert found, row
    return found


for name, error in (("rate-distortion", "y"), ("ratio-error", "x"), ("rate-cosine", None)):
    for script in pages(name):
        v = variables(script)
        for block in blocks(script):
            for row in block:
                r, n = find(row)[0], numbers(row)
                x, y = {"rate-distortion": ("bits_per_element", "rel_l2"), "ratio-error": ("rel_l2", "ratio"),
                        "rate-cosine": ("bits_per_element", "cosine")}[name]
                inside = not error or v["strip_low"] <= r["rel_l2"] <= v["strip_high"]
                # a line leads only to points that are at their error
                assert math.isnan(n["line_x"]) != inside, (name, row)
                if inside:
                    same(n["x"], r[x], name)
                    same(n["y"], r[y], name)
                else:
                    below = r["rel_l2"] < v["strip_low"]
                    same(n[error], v["error_below" if below else "error_above"], name)
                    assert below == (n[error] < v["strip_low"]), (name, row)
                assert r["rel_l2"] > 0 or not (error and inside), "an exact method has no place on a logarithmic axis"

# ---- ratio and speed at similar errors ----

LIMITS = (0, 0.03, 0.3, 0.7, math.inf)
for script in pages("pareto"):
    v = variables(script)
    facets = blocks(script)
    assert len(facets) == 2 * v["facets"] == 2 * len(v["facet"])
    for title, facet, front in zip(v["facet"], facets, facets[len(facets) // 2:]):
        points = [numbers(row) for row in facet]
        bounds = {next(i for i in range(1, 5) if p["rel_l2"] <= LIMITS[i]) for p in points}
        assert len(bounds) == 1 and (f"{LIMITS[min(bounds)]:g}" in title or min(bounds) == 4), title
        for p in points:
            beaten = any(
                q["ratio"] >= p["ratio"] and q["encode"] >= p["encode"] and (q["ratio"], q["encode"]) != (p["ratio"], p["encode"])
                for q in points
            )
            assert p["front"] == (not beaten), (title, p)
            checks += 1
        unbeaten = sorted({(p["ratio"], p["encode"]) for p in points if p["front"]})
        assert [(float(f["ratio"]), float(f["encode"])) for f in front] == unbeaten, title

# ---- looks: a method has one colour and one mark in all plots ----

looks = {}
for script in folder.glob("*.gp"):
    v = variables(script)
    if script.stem.split("-")[0] in ("kernels", "range", "t"):  # their series are not methods
        continue
    for label, colour, point in zip(v.get("label", []) if "colour" in v else [], v.get("colour", []), v.get("point", [])):
        method = re.match(r"\w+", label)
        if method and colour != "#d4d4d4":  # the grey of exchanges
            looks.setdefault(method[0], set()).add((colour, point))
            checks += 1
OPEN = {7: 6, 5: 4, 9: 8, 13: 12, 11: 10, 15: 14}
for method, found in looks.items():
    assert len({colour for colour, _ in found}) == 1, (method, found)
    assert len({OPEN.get(point, point) for _, point in found}) == 1, (method, found)
assert len(looks) >= 4 and looks["topk"] == {("#0072B2", 7), ("#0072B2", 6)}, looks
print(checks, "checks")
