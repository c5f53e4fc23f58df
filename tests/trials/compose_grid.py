#!/usr/bin/env python3
"""
Compares the composition that `gcbench sweep --match` finds with an exhaustive grid over the same stages.

    compose_grid.py GCBENCH [--match FIELD=TARGET] [--scope SCOPE] FILE...

The grid has every combination of transforms and chunks, selections, values and bits, and index coders below that gcbench
accepts, each with a search of its own (`sweep --method`). The trial fails if the composition found takes more than 3 % more
bytes than the best of the grid. A grid takes minutes: use files of a few MB.
"""
import argparse
import itertools
import json
import subprocess
import sys

TRANSFORMS = ["transform=none"] + [f"transform={t},chunk={c}" for t in ("fft", "dct", "hadamard")
                                   for c in (32, 64, 128, 256, 1024, 0)]
SELECTS = ["select=topk", "select=threshold", "select=chunk"]
VALUES = [f"values=range,bits={b}" for b in range(3, 8)] + [f"values=uniform,bits={b}" for b in range(3, 6)] + \
    ["values=fp16", "values=sign-mean", "values=means"]
INDICES = ["index=adaptive", "index=golomb", "index=bitmap"]
ONE_SIGN = [f"select=one-sided,values=mean,{index}" for index in INDICES]
AT_ONCE = 160


def summaries(gcbench, options, words):
    command = [gcbench, "sweep", "--no-baselines", "--format", "json"] + options + (["--over", "theta"] if words else []) + words
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return [row for row in map(json.loads, run.stdout.splitlines()) if row["record"] == "summary"]


def specs():
    for transform, select, values, index in itertools.product(TRANSFORMS, SELECTS, VALUES, INDICES):
        if select != "select=chunk" or transform != "transform=none":
            yield f"sparse:{transform},{select},{values},{index}"
    for transform, rest in itertools.product(TRANSFORMS, ONE_SIGN):
        if "fft" not in transform: # its bins are complex
            yield f"sparse:{transform},{rest}"


def grid(gcbench, options):
    best, tried, left = None, 0, list(specs())
    while left:
        now, left = left[:AT_ONCE], left[AT_ONCE:]
        rows = summaries(gcbench, options, [word for spec in now for word in ("--method", spec)])
        assert len(rows) == len(now), f"{len(rows)} of {len(now)} settings: {now[0]} ..."
        tried += len(rows)
        for row in rows:
            if row["match_reached"] and (best is None or row["wire_bytes"] < best["wire_bytes"]):
                best = row
        print(f"\r{tried} compositions", end="", file=sys.stderr)
    print(file=sys.stderr)
    return best, tried


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gcbench")
    parser.add_argument("--match", default="rel_l2=0.4")
    parser.add_argument("--scope", default="model")
    parser.add_argument("files", nargs="+")
    args = parser.parse_args()
    worst = 0.0
    for path in args.files:
        options = ["--match", args.match, "--scope", args.scope, path]
        found, = [row for row in summaries(args.gcbench, options, []) if row["match_composed"]]
        best, tried = grid(args.gcbench, options)
        share = found["wire_bytes"] / best["wire_bytes"] - 1
        worst = max(worst, share)
        print(f"{path}: found {found['spec']}: {found['wire_bytes']} bytes\n"
              f"  best of {tried}: {best['spec']}: {best['wire_bytes']} bytes; found takes {100 * share:+.2f} %")
    return worst > 0.03


if __name__ == "__main__":
    sys.exit(main())
