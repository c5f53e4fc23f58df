#!/usr/bin/env python3
"""
Compares the rows of a sweep with `gcbench compress` at the same settings.

    check_sweep.py GCBENCH ROWS [compress options...] FILE
    check_sweep.py --answer ROWS TEXT
    check_sweep.py --stages GCBENCH ROWS [sweep options...] FILE

Sizes and errors equal those of compress. The Pareto set is that of a comparison of all pairs of rows that meet their targets.
--answer checks the last line of TEXT, the table of the same run. A row that reached its target
meets it and is at the edge: either the figure is within a thousandth of the target, or the method no longer meets the target
when its parameter changes by one step, or by a thousandth.

--stages searches the compositions in ROWS again with each stage plain, from the grid on, and compares what the stages earn.
"""
import json
import re
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
    edges = []
    for row in rows:
        value = row[row["match_field"]]
        assert row["match_reached"] is meets(row, value), row["spec"]
        assert row["match_reached"] or row["match_note"], row["spec"]
        assert row["match_beyond"] is None or not meets(row, row["match_beyond"]), row["spec"]
        if row["match_reached"] and beyond(row):
            assert row["match_beyond"] is not None, row["spec"]
            edges.append(row)
    for row, other in zip(edges, compress(gcbench, options, [beyond(row) for row in edges])):
        assert not meets(row, other[row["match_field"]]), (row["spec"], other["spec"], other[row["match_field"]])
    return len(edges)


def label_in(text, row):
    """The row's first cell in the table: some parameters of its spec."""
    pieces = set(row["spec"].partition(":")[2].split(","))
    for name in re.findall(r"^\S+", text, flags=re.M):
        method, _, given = name.partition(":")
        if method == row["method"] and set(given.split(",")) - {""} <= pieces:
            return name
    raise AssertionError(row["spec"])


def against(best, other, text):
    times, name = best["ratio"] / other["ratio"], label_in(text, other)
    return (f", {times:.3g} times fewer than {name}" if times >= 1.005 else f", as many as {name}" if times > 0.995
            else f", but {1 / times:.3g} times more than {name}")


def error_text(value):
    return f"{value:.4f}" if value < 1 and value >= 1e-3 else f"{value:.4g}"


def answer_to(goal, rows, text):
    field, target = goal
    wants_error = field in ("rel_l2", "cosine", "snr_db")
    able = [row for row in rows if (row.get("match_field"), row.get("match_target")) == goal and row["match_reached"]
            and row["status"] == "ok"]
    able.sort(key=lambda row: -row["ratio"] if wants_error else row["rel_l2"])
    if not able:
        return f"no method reaches {field} {target:g}"
    said = f"at {field} {target:g}, {label_in(text, able[0])}"
    if not wants_error:
        said += f" has the smallest error: {error_text(able[0]['rel_l2'])}"
        return said + (f", against {error_text(able[1]['rel_l2'])} of {label_in(text, able[1])}" if able[1:] else "")
    baselines = [row for row in rows if not row.get("match_field")]
    published = ", the best published method" if able[0]["match_composed"] else ""
    return (said + " sends the fewest bytes" + "".join(against(able[0], other, text) + published for other in able[1:2]) +
            "".join(against(able[0], other, text) for other in baselines))


def check_answer(path, printed):
    rows = [row for row in map(json.loads, open(path)) if row["record"] == "summary"]
    text = open(printed).read()
    goals = list(dict.fromkeys((row["match_field"], row["match_target"]) for row in rows if row.get("match_field")))
    want = "; ".join([answer_to(goal, rows, text) for goal in goals] + ["training was not tested"]) if goals else (
        f"{sum(bool(row['pareto']) for row in rows)} of {sum(row['status'] == 'ok' for row in rows)} settings (*) are beaten by "
        "no other in rel_l2 and bits_per_element")
    got = re.sub(r"\s+", " ", text[text.index("answer: "):]).strip()
    assert got == "answer: " + want, (got, want)
    stars = len(re.findall(r" \*$", text, flags=re.M))
    assert stars == sum(bool(row["pareto"]) for row in rows), stars


PLAIN = {"transform": "none", "select": "topk", "values": "fp32", "index": "u32"}


def without(row, stage):
    """The composition with the plain stage, without the parameter that is searched; None if the stage is plain."""
    params = {key: row["params"][key] for key in ("transform", "chunk", "select", "values", "bits", "index") if key in row["params"]}
    if params[stage] == PLAIN[stage]:
        return None
    params[stage] = PLAIN[stage]
    if params["transform"] == "none" and params["select"] != "chunk":
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
        best = max if limits_error else min
        rivals = [r["ratio"] if limits_error else r["rel_l2"] for r in rows if r["match_reached"] and
                  (r["match_field"], r["match_target"]) == (row["match_field"], row["match_target"])]
        assert best(rivals) == row["ratio" if limits_error else "rel_l2"], row["spec"]
        for stage in PLAIN:
            spec, earns = without(row, stage), row["without_" + stage]
            if not spec:
                assert earns is None, (row["spec"], stage)
                continue
            again, = summaries([gcbench, "sweep", "--no-baselines", "--format", "json", "--match",
                                f"{row['match_field']}={row['match_target']}", "--method", spec] + list(options))
            want = again["wire_bytes"] / row["wire_bytes"] if limits_error else again["rel_l2"] / row["rel_l2"]
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
                     o["rel_l2"] <= row["rel_l2"] and o["bits_per_element"] <= row["bits_per_element"] and
                     (o["rel_l2"] < row["rel_l2"] or o["bits_per_element"] < row["bits_per_element"])
                     for o in rows if o.get("match_reached") is not False)
        assert row["pareto"] is not beaten, row["spec"]
    edges = check_matches(gcbench, list(options), [row for row in rows if row.get("match_field")])
    print(len(rows), "rows,", edges, "edges")


if __name__ == "__main__":
    what = {"--answer": check_answer, "--stages": check_stages}.get(sys.argv[1])
    what(*sys.argv[2:]) if what else main(*sys.argv[1:])
