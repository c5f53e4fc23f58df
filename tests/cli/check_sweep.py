#!/usr/bin/env python3
"""
Compares the rows of a sweep with `gcbench compress` at the same settings.

    check_sweep.py GCBENCH ROWS [compress options...] FILE
    check_sweep.py --stages GCBENCH ROWS [sweep options...] FILE

Sizes and errors equal those of compress. The Pareto set is that of a comparison of all pairs of rows that meet their targets.
A row that reached its target meets it. If two settings share
the messages, the second one misses the target, and what both reach together follows from the figures that compress has for
them. Otherwise the row is at the edge: either the figure is within a thousandth of the target, or the method no longer meets the
target when its parameter changes by one step, or by a thousandth, or gains nothing by that. If
the figure is not monotonic, or the error within a limit on the size, a better setting may hide between those measured.

--stages searches the compositions in ROWS again with each stage plain, from the grid on, and compares what the stages earn.
"""
import json
import subprocess
import sys

SAME = ("rel_l2", "cosine", "wire_bytes", "bits_per_element", "ratio", "density")
CHEAPER = {"theta": lambda v: 1 - (1 - v) * 0.999, "bits": lambda v: v - 1, "levels": lambda v: v - 1,
           "threshold": lambda v: v * 1.001, "rank": lambda v: v - 1, "cells": lambda v: v * 0.999}
DEARER = {"theta": lambda v: 1 - (1 - v) * 1.001, "bits": lambda v: v + 1, "levels": lambda v: v + 1,
          "threshold": lambda v: v / 1.001, "rank": lambda v: v + 1, "cells": lambda v: v * 1.001}


def summaries(command):
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    return [row for row in map(json.loads, lines) if row["record"] == "summary"]


def spec_of(row, **other):
    params = dict(row["params"], **other)
    return row["method"] + (":" if params else "") + ",".join(f"{k}={v}" for k, v in params.items())


def compress(gcbench, options, specs):
    """The summaries of all these methods."""
    words = [word for spec in specs for word in ("--method", spec)]
    return summaries([gcbench, "compress", "--no-baselines", "--repeat", "1", "--per", "none", "--format", "json"] + words +
                     options) if specs else []


def meets(row, value):
    return value <= row["match_target"] if row["match_field"] in ("rel_l2", "bits_per_element", "wire_bytes") \
        else value >= row["match_target"]


def at_target(row, field):
    """A figure of what meets the target: of the row's setting, or of the two that share the messages."""
    name = {"rel_l2": "match_error", "wire_bytes": "match_bytes", "bits_per_element": "match_bits", "ratio": "match_ratio"}[field]
    return row[field] if row.get(name) is None else row[name]


def check_mix(row, other):
    """What two settings reach together, from their own figures."""
    share, target, field = row["match_share"], row["match_target"], row["match_field"]
    mixed = lambda value: share * value(row) + (1 - share) * value(other)
    want = {"match_error": mixed(lambda r: r["rel_l2"] ** 2) ** 0.5, "match_bytes": mixed(lambda r: r["wire_bytes"]),
            "match_bits": mixed(lambda r: r["bits_per_element"]), "match_ratio": 1 / mixed(lambda r: 1 / r["ratio"])}
    assert 0 < share < 1 and field != "cosine" and not meets(row, other[field]), row["spec"]
    assert other[field] == row["match_beyond"] and meets(row, row[field]), row["spec"]
    for name, value in want.items(): # whole bytes
        assert abs(row[name] / value - 1) < 1e-9 + 1 / row["match_bytes"], (row["spec"], name, row[name], value)
    assert abs(at_target(row, field) / target - 1) < 1e-9 + 1 / row["match_bytes"], (row["spec"], at_target(row, field))


def check_share(row):
    """The fields of a row that is not mixed."""
    share = row["match_share"]
    assert row["match_with"] is None and share == (1 if row["match_reached"] else None), row["spec"]
    for field, name in (("rel_l2", "match_error"), ("wire_bytes", "match_bytes"), ("ratio", "match_ratio")):
        assert row[name] == (row[field] if row["match_reached"] else None), (row["spec"], name)


def beyond(row):
    """The next better setting, which must not meet the target; None if the figure is so near to the target that the search
    ended early. The best setting within a limit on the error has the smallest messages, within a limit on size the largest."""
    by, field = row["match_by"], row["match_field"]
    if by is None or abs(row[field] - row["match_target"]) <= 1.001e-3 * abs(row["match_target"]):
        return None
    value = (CHEAPER if field in ("rel_l2", "cosine") else DEARER)[by](row["params"][by])
    low, high = {"theta": (0, 1), "bits": (2, 16), "levels": (1, 32767), "rank": (1, 1024),
                 "cells": (1e-6, 1), "threshold": (1e-12, 1e6)}[by]
    return spec_of(row, **{by: value}) if low <= value <= high else None


def check_matches(gcbench, options, rows):
    edges, mixes = [], [row for row in rows if row["match_with"]]
    for row, other in zip(mixes, compress(gcbench, options, [row["match_with"] for row in mixes])):
        check_mix(row, other)
    for row in rows:
        value = row[row["match_field"]]
        assert row["match_reached"] is meets(row, value), row["spec"]
        assert row["match_reached"] or row["match_note"], row["spec"]
        assert row["match_beyond"] is None or not meets(row, row["match_beyond"]), row["spec"]
        if row["match_with"]:
            continue
        check_share(row)
        limits_size = row["match_field"] not in ("rel_l2", "cosine") # then less may be better within the limit
        hides = limits_size or not row["match_steady"]
        if row["match_reached"] and beyond(row) and (row["match_beyond"] is not None or not hides):
            edges.append(row)
    for row, other in zip(edges, compress(gcbench, options, [beyond(row) for row in edges])):
        cost = "wire_bytes" if row["match_field"] in ("rel_l2", "cosine") else "rel_l2"
        assert not meets(row, other[row["match_field"]]) or other[cost] >= row[cost], (row["spec"], other["spec"])
    return f"{len(edges)} edges, {len(mixes)} mixes"


PLAIN = {"transform": "none", "select": "topk", "values": "fp32", "index": "u32"}


def without(row, stage):
    """The composition with the plain stage, without the parameter that is searched; None if the stage is plain."""
    params = {key: row["params"][key] for key in ("transform", "chunk", "tile", "select", "values", "bits", "index") if key in row["params"]}
    if params[stage] == PLAIN[stage]:
        return None
    params[stage] = PLAIN[stage]
    if params["transform"] == "none":
        params.pop("tile", None)
        if params["select"] != "chunk":
            params.pop("chunk", None)
    if params["values"] not in ("range", "uniform"):
        params.pop("bits", None)
    return "sparse:" + ",".join(f"{key}={value}" for key, value in params.items())


def check_stages(gcbench, path, *options):
    rows = [row for row in map(json.loads, open(path)) if row["record"] == "summary"]
    composed = [row for row in rows if row.get("match_composed")]
    goals = {(row["match_field"], row["match_target"]) for row in rows if row["match_field"]}
    assert len(composed) == len(goals), (composed, goals)
    for row in composed:
        limits_error = row["match_field"] in ("rel_l2", "cosine")
        cost = "wire_bytes" if limits_error else "rel_l2"
        rivals = [at_target(r, cost) for r in rows if r["match_reached"] and "select" in r["params"] and
                  (r["match_field"], r["match_target"]) == (row["match_field"], row["match_target"])]
        assert min(rivals) == at_target(row, cost), row["spec"] # of all settings of the sparse codec
        for stage in PLAIN:
            spec, earns = without(row, stage), row["without_" + stage]
            if not spec:
                assert earns is None, (row["spec"], stage)
                continue
            again, = summaries([gcbench, "sweep", "--no-baselines", "--format", "json", "--match",
                                f"{row['match_field']}={row['match_target']}", "--over", row["match_by"] if stage != "select" else "theta", "--method", spec] + list(options))
            want = at_target(again, cost) / at_target(row, cost)
            assert (earns is None) if not again["match_reached"] else abs(earns / want - 1) < 0.01, (spec, earns, want)
    print(len(composed), "compositions")


def main(gcbench, path, *options):
    rows = [json.loads(line) for line in open(path)]
    assert rows[0]["record"] == "environment", rows[0]
    rows = [row for row in rows if row["record"] == "summary"]
    assert rows and all(row["status"] == "ok" for row in rows), [row["status"] for row in rows]
    for row, again in zip(rows, compress(gcbench, list(options), [spec_of(row) for row in rows])):
        for field in SAME:
            assert row[field] == again[field], (row["spec"], field, row[field], again[field])
    for row in rows:
        beaten = row.get("match_reached") is False or any(
                     all(at_target(o, field) <= at_target(row, field) for field in ("rel_l2", "bits_per_element")) and
                     any(at_target(o, field) < at_target(row, field) for field in ("rel_l2", "bits_per_element"))
                     for o in rows if o.get("match_reached") is not False)
        assert row["pareto"] is not beaten, row["spec"]
    edges = check_matches(gcbench, list(options), [row for row in rows if row.get("match_field")])
    print(len(rows), "rows,", edges)


if __name__ == "__main__":
    check_stages(*sys.argv[2:]) if sys.argv[1] == "--stages" else main(*sys.argv[1:])
