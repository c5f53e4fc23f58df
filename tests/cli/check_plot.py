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

MOST_NAMED = 8
PAGE = ("results", "coding", "link_file", "latency_seconds", "workers_per_node", "intra_gbit", "inner_steps", "sharded", "gradient_bytes")


def shown_error(error):
    return "?" if error is None else "0" if error < 0.0005 else f"{error:.3f}" if error < 0.1 else f"{error:.2f}"


def check_exchange(name, axis, fixed):
    # pages are in the order of the first rows of each fixed value and each exchange
    groups = {}
    for r in drawn("payoff", model="exchange"):
        groups.setdefault((r[fixed], *(r.get(k) for k in PAGE)), []).append(r)
    groups = [g for g in groups.values() if len({r[axis] for r in g}) > 1]
    scripts = pages(name)
    assert len(scripts) == len(groups), (name, len(scripts), len(groups))
    for script, group in zip(sorted(scripts, key=lambda p: int((re.findall(r"-(\d+)\.gp", p.name) or [1])[0])), groups):
        v, data = variables(script), blocks(script)
        ways = {}
        for r in group:
            ways.setdefault(r["label"], []).append(r)
        for way in ways.values():
            way.sort(key=lambda r: r[axis])
        named = v["label"][:int(v["named"])]
        assert int(v["series"]) == len(ways) and sorted(v["label"]) == sorted(ways)
        for i, (label, block) in enumerate(zip(v["label"], data, strict=True)):
            for row, r in zip(map(numbers, block), ways[label], strict=True):
                same(row["place"], r[axis], "place")
                for part in ("seconds", "speedup_bar", "coding_seconds", "network_seconds", "adding_seconds", "error_of_mean"):
                    same(row[part], r[part], (name, label, part))
                same(sum(row[p] for p in ("coding_seconds", "network_seconds", "adding_seconds")), r["seconds"], "the parts make the whole")
            assert float(block[-1]["mark"]) == 1
            assert (v["colour"][i] == "#dcdcdc") == (label not in named), label

        # who has a name: baselines that are the best one somewhere, then ways that are faster than these somewhere
        baselines = [label for label in named if ways[label][0]["baseline"]]
        methods = named[len(baselines):]
        assert not any(ways[label][0]["baseline"] for label in methods) and len(methods) <= MOST_NAMED
        assert set(baselines) == {l for l, way in ways.items() if way[0]["baseline"] and max(r["speedup_bar"] for r in way) >= 1}
        faster = {l for l, way in ways.items() if not way[0]["baseline"] and max(r["speedup_bar"] for r in way) > 1}
        assert set(methods) <= faster
        advised = {l for l in faster if any(r["advice"] for r in ways[l])}
        assert advised <= set(methods) or set(methods) <= advised, (advised, methods)
        if sum(not way[0]["baseline"] for way in ways.values()) <= MOST_NAMED:
            assert set(methods) == faster, (methods, faster)
        best = {place: min(r["seconds"] for r in group if r[axis] == place) for place in {r[axis] for r in group}}
        near = {l: max(best[r[axis]] / r["seconds"] for r in way) for l, way in ways.items()}
        for kind in ("exact", "noise", "lasting"):
            of_kind = [l for l in faster if ways[l][0]["kind"] == kind]
            assert not of_kind or len(methods) == MOST_NAMED or \
                any(math.isclose(near[l], max(near[k] for k in of_kind)) for l in methods), (kind, methods)

        # each named way says its error, at both ends of the axis if these differ
        for label, text in zip(named, v["error"], strict=True):
            ends = {shown_error(ways[label][i]["error_of_mean"]): 0 for i in (0, -1)}
            assert text.startswith(" to ".join(ends)), (label, text)
            checked = {"exact": "nearly exact", "loud": "noise"}.get(ways[label][-1]["kind"], ways[label][-1]["kind"])
            assert text.endswith(checked or ""), (label, text)


check_exchange("break-even", "bandwidth_gbit", "workers")
check_exchange("scaling", "workers", "bandwidth_gbit")

# ---- measured exchanges ----

def setting(r):
    """The method and its parameters, without the collective."""
    name, _, parameters = r["spec"].partition(":")
    return name, set(parameters.split(",")) - {"", "collective=" + r["collective"]}


told = 0
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
    for (_, spec), remark in zip(shown, v["remark"], strict=True):
        # the error of the same way among as many workers, if payoff told it
        way = wanted[spec]
        errors = [r["error_of_mean"] for r in drawn("payoff", model="exchange", collective=way["collective"], workers=way["workers"])
                  if setting(r) == setting(way)]
        assert ("error" in remark) == bool(errors), (spec, remark, errors)
        assert not errors or f"error {shown_error(errors[0])} " in remark + " ", (spec, remark, errors)
        told += bool(errors)
assert told > 0

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
assert variables(script)["label"] == ["qsgd:bits=4, ratio 4, 2 GB/s", "topk:theta=0.85, ratio 3, 2 GB/s"], "fft ran once"
found = [[[row[key] for key in ("run", "ratio_change", "speed_change", "ratio", "encode_gbps")] for row in map(numbers, block)]
         for block in blocks(script)]
for got, want in zip(sum(found, []), ([1, 1, 1, 5, 3], [2, 0.8, 2 / 3, 4, 2], [1, 1, 1, 3, 4], [2, 1, 0.25, 3, 1], [3, 1, 0.5, 3, 2]), strict=True):
    for a, b in zip(got, want):
        assert abs(a - b) < 1e-3, (got, want)
        checks += 1

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

# ---- looks: a method has one mark in all plots, and in one picture a colour of its own ----

GREY = ("#d4d4d4", "#dcdcdc")
OPEN = {7: 6, 5: 4, 9: 8, 13: 12, 11: 10, 15: 14}
looks = {}
for script in folder.glob("*.gp"):
    v = variables(script)
    if script.stem.split("-")[0] in ("kernels", "range"):  # their series are not methods
        continue
    colours = {}
    for label, colour, point in zip(v.get("label", []) if "colour" in v else [], v.get("colour", []), v.get("point", [])):
        method = re.match(r"\w+", label)
        if not method or colour in GREY:
            continue
        looks.setdefault(method[0], set()).add(OPEN.get(point, point))
        if method[0] not in BASELINES:
            colours.setdefault(method[0], set()).add(colour)
        checks += 1
    if len(colours) <= 9:
        assert all(len(found) == 1 for found in colours.values()), (script, colours)
        assert len(set.union(set(), *colours.values())) == len(colours), (script, colours)
assert all(len(found) == 1 for method, found in looks.items() if method not in BASELINES), looks
assert len(looks) >= 4 and looks["topk"] == {6}, looks
print(checks, "checks")
