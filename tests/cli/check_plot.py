"""Compares what plots draw with the result rows, worked out again in Python.

    check_plot.py FOLDER RESULTS...

FOLDER has the scripts and data that `gcbench plot RESULTS... -o FOLDER` wrote.
"""
import csv
import json
import math
import pathlib
import re
import statistics
import sys

folder = pathlib.Path(sys.argv[1])
rows = [json.loads(line) for path in sys.argv[2:] for line in open(path)]
BASELINES = {"identity", "fp32", "fp16", "bf16"}
checks = 0
GREY = "#d8d8d8"


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


def table(script):
    """The rows of a page's data, each a dictionary."""
    with open(script.with_suffix(".csv"), newline="") as file:
        return list(csv.DictReader(file))


def by_series(script):
    """The rows of each series, in the order of the legend."""
    found = [[] for _ in variables(script)["label"]]
    for row in table(script):
        found[int(row["series"]) - 1].append(row)
    return found


def numbers(row):
    return {key: float(value) for key, value in row.items() if re.fullmatch(r"[-+]?\d[-+.\de]*|NaN", value)}


def drawn(record, **wanted):
    return [r for r in rows if r["record"] == record and all(r.get(k) == v for k, v in wanted.items())]


# ---- exchanges ----

MOST_NAMED = 11
PAGE = ("results", "coding", "link_file", "latency_seconds", "workers_per_node", "intra_gbit", "inner_steps", "sharded", "gradient_bytes")


def check_exchange(name, axis, fixed):
    # pages are in the order of the first rows of each fixed value and each exchange
    groups = {}
    for r in drawn("payoff", model="exchange"):
        groups.setdefault((r[fixed], *(r.get(k) for k in PAGE)), []).append(r)
    groups = [g for g in groups.values() if len({r[axis] for r in g}) > 1]
    scripts = pages(name)
    assert len(scripts) == len(groups), (name, len(scripts), len(groups))
    for script, group in zip(sorted(scripts, key=lambda p: int((re.findall(r"-(\d+)\.gp", p.name) or [1])[0])), groups):
        v = variables(script)
        ways = {}
        for r in group:
            ways.setdefault(r["label"], []).append(r)
        for way in ways.values():
            way.sort(key=lambda r: r[axis])
        named = v["label"][:int(v["named"])]
        assert int(v["series"]) == len(ways) and sorted(v["label"]) == sorted(ways)
        assert v["error_of"] == "error of the mean"
        for i, (label, block) in enumerate(zip(v["label"], by_series(script), strict=True)):
            for row, r in zip(block, ways[label], strict=True):
                n = numbers(row)
                same(n["place"], r[axis], "place")
                for part in ("seconds", "speedup_bar", "coding_seconds", "network_seconds", "adding_seconds", "error_of_mean"):
                    same(n[part], r[part], (name, label, part))
                same(sum(n[p] for p in ("coding_seconds", "network_seconds", "adding_seconds")), r["seconds"], "the parts make the whole")
                assert row["kind"] == {"loud": "noise", None: "-", "": "-"}.get(r.get("kind"), r.get("kind")), label
            assert (v["colour"][i] == GREY) == (label not in named), label

        # who has a name: the baselines, and ways that are faster than these somewhere
        baselines = [label for label in named if ways[label][0]["baseline"]]
        methods = named[:len(named) - len(baselines)]
        assert not any(ways[label][0]["baseline"] for label in methods) and len(named) <= MOST_NAMED
        assert set(baselines) == {l for l, way in ways.items() if way[0]["baseline"]}
        faster = {l for l, way in ways.items() if not way[0]["baseline"] and max(r["speedup_bar"] for r in way) > 1}
        assert set(methods) <= faster
        advised = {l for l in faster if any(r["advice"] for r in ways[l])}
        assert advised <= set(methods) or set(methods) <= advised, (advised, methods)
        if sum(not way[0]["baseline"] for way in ways.values()) <= MOST_NAMED - 3:
            assert set(methods) == faster, (methods, faster)
        best = {place: min(r["seconds"] for r in group if r[axis] == place) for place in {r[axis] for r in group}}
        near = {l: max(best[r[axis]] / r["seconds"] for r in way) for l, way in ways.items()}
        for kind in ("exact", "noise", "lasting"):
            of_kind = [l for l in faster if ways[l][0]["kind"] == kind]
            assert not of_kind or len(named) == MOST_NAMED or \
                any(math.isclose(near[l], max(near[k] for k in of_kind)) for l in methods), (kind, methods)


check_exchange("break-even", "bandwidth_gbit", "workers")
check_exchange("scaling", "workers", "bandwidth_gbit")

# ---- training ----

for script in pages("accuracy-bytes"):
    v = variables(script)
    assert v["label"][-1] == "identity!", "baselines come last"
    for label, block in zip(v["label"], by_series(script)):
        for row, step in zip(map(numbers, block), (10, 20)):
            runs = [r for r in drawn("training", label=label, step=step) if ("seconds" in r) == bool(v["by_time"])]
            same(row["place"], sum(r["seconds" if v["by_time"] else "link_bytes"] for r in runs) / len(runs), "place")
            for key, of in (("quality", statistics.median), ("lowest", min), ("highest", max)):
                same(row[key], of(r["quality"] for r in runs), (label, key))
assert {variables(script)["by_time"] for script in pages("accuracy-bytes")} == {0, 1}

# ---- steps of a replay ----

(script,) = pages("density")
assert [label.split(":")[0] for label in variables(script)["label"]] == ["sparse", "topk"], "qsgd has no density"
for method, block in zip(("sparse", "topk"), by_series(script)):
    for row, r in zip(map(numbers, block), drawn("replay_step", method=method), strict=True):
        same(row["index"], r["index"], method)
        same(row["density"], r["density"], method)

# ---- runs at several dates ----

(script,) = [script for script in pages("history") if "old.h5" in variables(script)["plot_input"]]
assert variables(script)["label"] == ["qsgd:bits=4, ratio 4, 2 GB/s", "topk:theta=0.85, ratio 3, 2 GB/s"], "fft ran once"
assert {row["run"]: row["name"] for row in table(script)} == \
    {"1": "26-01-31 12:00 4012345", "2": "26-03-01 12:00 1012345", "3": "26-12-01 12:00 2012345"}
found = [[row[key] for key in ("series", "run", "ratio_change", "speed_change", "ratio", "encode_gbps")] for row in map(numbers, table(script))]
for got, want in zip(found, ([1, 1, 1, 1, 5, 3], [1, 2, 0.8, 2 / 3, 4, 2], [2, 1, 1, 1, 3, 4], [2, 2, 1, 0.25, 3, 1], [2, 3, 1, 0.5, 3, 2]),
                     strict=True):
    for a, b in zip(got, want):
        assert abs(a - b) < 1e-3, (got, want)
        checks += 1

# ---- error and size ----

summaries = [r for r in drawn("summary", status="ok") if r["method"] != "memcpy"]


for name in ("rate-distortion", "ratio-error"):
    for script in pages(name):
        v = variables(script)
        for row in table(script):
            n = numbers(row)
            (r, *_) = [r for r in summaries if r["spec"] == row["spec"] and math.isclose(r["bits_per_element"], n["bits_per_element"])]
            for field in ("rel_l2", "ratio", "cosine"):
                same(n[field], r[field], name)
            assert bool(n["baseline"]) == (r["method"] in BASELINES)
        for block in by_series(script):
            sizes = [float(row["bits_per_element"]) for row in block]
            assert sizes == sorted(sizes), "a curve goes along its sizes"

# ---- ratio and speed at similar errors ----

LIMITS = (0, 0.03, 0.3, 0.7, math.inf)
for script in pages("pareto"):
    points = [numbers(row) for row in table(script)]
    for p in points:
        assert p["facet"] == next(i for i in range(1, 5) if p["rel_l2"] <= LIMITS[i]), p
        beaten = any(
            q["facet"] == p["facet"] and q["ratio"] >= p["ratio"] and q["encode_gbps"] >= p["encode_gbps"]
            and (q["ratio"], q["encode_gbps"]) != (p["ratio"], p["encode_gbps"]) for q in points)
        assert p["front"] == (not beaten), p
        checks += 1

# ---- times ----

for script in pages("throughput"):
    speeds = [float(row["encode_gbps"]) for row in table(script)]
    assert speeds == sorted(speeds, reverse=True), "the fastest first"

# ---- looks: a method has one mark in all plots, and in one picture a colour of its own ----

OPEN = {7: 6, 5: 4, 9: 8, 13: 12, 11: 10, 15: 14}
looks = {}
for script in folder.glob("*.gp"):
    v = variables(script)
    if script.stem.split("-")[0] in ("kernels", "compaction"):  # their series are not methods
        continue
    named = int(v["named"])
    assert named <= MOST_NAMED, script
    colours = {}
    for label, colour, point in list(zip(v["label"], v["colour"], v["point"]))[:named]:
        method = re.match(r"[\w-]+", label)
        if method:
            looks.setdefault(method[0], set()).add(OPEN.get(point, point))
            colours.setdefault(method[0], set()).add(colour)
        checks += 1
    assert all(len(found) == 1 for found in colours.values()), (script, colours)
    assert len(set.union(set(), *colours.values())) == len(colours), (script, colours)
    assert GREY not in set.union(set(), *colours.values())
assert all(len(found) == 1 for method, found in looks.items() if method not in BASELINES), looks
assert len(looks) >= 4 and looks["topk"] == {6}, looks
print(checks, "checks")
