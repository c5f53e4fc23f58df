"""Computes payoff again from the result rows, with NumPy and the formulas of docs/payoff.md: all figures of its rows, and
everything that it prints.

    check_payoff.py RESULTS ROWS TEXT FULL [bytes=N] [messages=N] [bucket=N] [compute=S] [inner=H] [cores=N]
                    [coding=BYTES/S] [copy=BYTES/S] [per_node=P] [intra=BYTES/S] [topology=NAME]

ROWS, TEXT and FULL are the outputs of `payoff --format json`, `payoff` and `payoff -v` for RESULTS with the same options. A
line that payoff_words.py does not know is an error: each new sentence needs its words there.
"""
import json
import math
import re
import sys

from payoff_model import (BASELINES, HIGH, LOW, MEDIAN, Loads, Size, asked, compute, p, read, times)
from payoff_words import Verdict, output

RESULTS, ROWS, TEXT, FULL = sys.argv[1:5]


def close(a, b, what):
    if math.isinf(b):
        assert a is None, (what, a, b)
    else:
        exact = 1e-6 if "bytes" in asked or "messages" in asked else 1e-9  # lines are fitted in other ways
        assert a is not None and abs(a - b) <= exact * abs(b) + 1e-15, (what, a, b)


def check_workers(row, loads):
    """Checks the first range of workers for which it certainly pays. There may be more: trees get a step more at powers of
    two."""
    bandwidth, least, most = row["bandwidth_gbit"] * 1e9 / 8, row["workers_least"], row["workers_most"]
    saves = lambda n: loads.saves(row, LOW, n, bandwidth)
    step = int(p)
    for n in range(2 * step, min(least or 64 * step, 64 * step), step):
        assert not saves(n), (n, row)
    if least:
        for n in {least, min(least + step, most), (least + most) // 2 // step * step, most}:
            if n <= 256 * step:
                assert saves(max(n, least)), (n, row)
    if 0 < most < 65536:
        assert not saves(most + step), row


def check_row(row, cases):
    c = None if row["baseline"] else cases[row["spec"]]
    loads = Loads(cases, c, row["method"])
    bandwidth = row["bandwidth_gbit"] * 1e9 / 8
    t = [times(load, row, row["workers"], bandwidth) for load in loads.method]
    bars = [times(load, row, row["workers"], bandwidth)["cost"] for load in loads.baselines[MEDIAN]]
    for key, name in (("encode_seconds", "encode"), ("wire_seconds", "wire"), ("sizes_seconds", "sizes"),
                      ("inside_seconds", "inside"), ("decode_seconds", "decode"), ("add_seconds", "add"),
                      ("average_seconds", "average"), ("host_copy_seconds", "copy"), ("seconds", "seconds"),
                      ("link_bytes", "link_bytes"), ("latency_steps", "steps"), ("adds", "adds")):
        close(row[key], t[MEDIAN][name], key)
    close(row["seconds_low"], t[LOW]["seconds"], "seconds_low")
    close(row["seconds_high"], t[HIGH]["seconds"], "seconds_high")
    assert (row["collective"], row["algorithm"]) == (t[MEDIAN]["collective"], t[MEDIAN]["algorithm"]), row
    for name, bar in zip(BASELINES, bars):
        close(row["speedup_" + name], bar / t[MEDIAN]["cost"], name)
    close(row["speedup_bar"], min(bars) / t[MEDIAN]["cost"], "speedup_bar")
    if compute is not None:
        close(row["exposed_seconds"], t[MEDIAN]["cost"], "exposed")
    if row["baseline"]:
        assert row["pays"] is None and row["verdict"] is None, row
        return
    size = Size(c)
    close(row["wire_bytes"], loads.method[MEDIAN]["bytes"], "wire_bytes")
    close(row["gradient_bytes"], size.bytes, "gradient_bytes")
    assert row["doubtful"] == size.doubt and row["adding_measured"] == c["summed"], row
    v = Verdict(row, cases, c)
    close(row["speedup_bar_low"], v.low, "speedup_bar_low")
    close(row["speedup_bar_high"], v.high, "speedup_bar_high")
    assert row["bar"] == v.bar_name, row
    assert row["lossy_collective"] == (v.lossy and v.lossy["collective"]), row
    if v.lossy:
        close(row["lossy_seconds"], v.lossy["seconds"], "lossy_seconds")
        close(row["lossy_speedup_bar"], v.bar["cost"] / v.lossy["cost"], "lossy_speedup_bar")
    undecided = v.low <= 1 < v.high
    assert row["undecided"] == (None if size.doubt else undecided), row
    assert row["pays"] == (None if size.doubt or undecided else v.low > 1), row
    for bound, key in enumerate(("pays_below_low_gbit", "pays_below_gbit", "pays_below_high_gbit")):
        first = loads.ranges(row, bound)[:1]
        below = first[0][1] if first and first[0][0] == 0 else 0.0
        close(row[key], 8e-9 * below, key)
    check_workers(row, loads)
    assert row["verdict"] == v.words(), (row["verdict"], v.words())


def check_labels(rows, cases):
    """A label is part of the spec. It has the parameters that differ between the settings of the method, and the collective;
    and at most one more, if it has at most 24 characters then."""
    labels = {r["spec"]: r["label"] for r in rows if not r["baseline"]}
    assert len(set(labels.values())) == len(labels), labels
    for spec, label in labels.items():
        name, _, pieces = spec.partition(":")
        others = [set(o.partition(":")[2].split(",")) for o in cases if o.partition(":")[0] == name]
        must = [piece for piece in pieces.split(",")
                if piece.startswith("collective=") or any(piece not in other for other in others)] if pieces else []
        shown = label.partition(":")[2].split(",") if ":" in label else []
        assert shown[:len(must)] == must and label.partition(":")[0] == name, (label, must)
        assert len(shown) == len(must) or len(shown) == len(must) + 1 and len(label) <= 24, label
        assert set(shown) <= set(pieces.split(",")), (label, spec)


def check_text(rows, cases, refused):
    """Lines are wrapped, so compare without white space."""
    for path, full in ((TEXT, False), (FULL, True)):
        got = re.sub(r"\s+", " ", open(path).read()).strip()
        want = output(rows, cases, refused, RESULTS, full, got)
        same = next((i for i, (a, b) in enumerate(zip(got, want)) if a != b), min(len(got), len(want)))
        assert got == want, f"{path}: printed '...{got[max(0, same - 80):same + 120]}', not '...{want[max(0, same - 80):same + 120]}'"


def main():
    cases, refused = read()
    rows = [r for r in map(json.loads, open(ROWS)) if r["record"] == "payoff" and r["model"] == "exchange"]
    for row in rows:
        check_row(row, cases)
    assert len(rows) >= 4, len(rows)
    check_labels(rows, cases)
    check_text(rows, cases, refused)


main()
