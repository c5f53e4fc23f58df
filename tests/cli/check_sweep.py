#!/usr/bin/env python3
"""
Compares the rows of a sweep with `gcbench compress` at the same settings.

    check_sweep.py GCBENCH ROWS [compress options...] FILE

Sizes and errors equal those of compress. The Pareto set is that of a comparison of all pairs. A row that reached its target
meets it and is at the edge: either the figure is within a thousandth of the target, or the method no longer meets the target
when its parameter changes by one step, or by a thousandth.
"""
import json
import subprocess
import sys

SAME = ("rel_l2", "cosine", "wire_bytes", "bits_per_element", "ratio", "density")
CHEAPER = {"theta": lambda v: 1 - (1 - v) * 0.999, "bits": lambda v: v - 1, "levels": lambda v: v - 1,
           "rank": lambda v: v - 1, "cells": lambda v: v * 0.999}
DEARER = {"theta": lambda v: 1 - (1 - v) * 1.001, "bits": lambda v: v + 1, "levels": lambda v: v + 1,
          "rank": lambda v: v + 1, "cells": lambda v: v * 1.001}


def summaries(command):
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    return [row for row in map(json.loads, lines) if row["record"] == "summary"]


def spec_of(row, **other):
    params = dict(row["params"], **other)
    return row["method"] + (":" if params else "") + ",".join(f"{k}={v}" for k, v in params.items())


def compress(gcbench, options, specs):
    """The summaries of all these methods."""
    words = [word for spec in specs for word in ("--method", spec)]
    return summaries([gcbench, "compress", "--no-baselines", "--per", "none", "--format", "json"] + words +
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
                 "cells": (1e-6, 1)}[by]
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


def main(gcbench, path, *options):
    rows = [json.loads(line) for line in open(path)]
    assert rows[0]["record"] == "environment", rows[0]
    rows = [row for row in rows if row["record"] == "summary"]
    assert rows and all(row["status"] == "ok" for row in rows), [row["status"] for row in rows]
    for row, again in zip(rows, compress(gcbench, list(options), [spec_of(row) for row in rows])):
        for field in SAME:
            assert row[field] == again[field], (row["spec"], field, row[field], again[field])
    for row in rows:
        beaten = any(o["rel_l2"] <= row["rel_l2"] and o["bits_per_element"] <= row["bits_per_element"] and
                     (o["rel_l2"] < row["rel_l2"] or o["bits_per_element"] < row["bits_per_element"])
                     for o in rows)
        assert row["pareto"] is not beaten, row["spec"]
    edges = check_matches(gcbench, list(options), [row for row in rows if row.get("match_field")])
    print(len(rows), "rows,", edges, "edges")


if __name__ == "__main__":
    main(*sys.argv[1:])
