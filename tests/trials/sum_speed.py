#!/usr/bin/env python3
"""
Compares sums of messages with their limits (docs/performance.md), from the rows of `gcbench bench` for each size:

    taskset -c 1 sum_speed.py GCBENCH [--rounds 5] [--time-budget 20s]

Prints a table in Markdown: the time of adding, what it is compared with, the ratio, and its limit. Each round runs `bench`
anew, because memory may be faster or slower for some seconds. A ratio is the median over rounds, with the smallest and the
largest; times are medians over rounds too. The exit status is 1 if a ratio is above its limit.

- sparse, 2^24 elements: sum_seconds over decoding and then adding a whole tensor. Adding a tensor is sum_seconds of
  `identity`, whose message is the tensor.
- sparse, 2^18 elements: sum_seconds over (index decoding + value decoding + 2 ns for each kept value). The first two are
  decode_seconds minus that of top-k with `u32`, whose own index and value decoding counts as 0.
- fft: sum16_seconds over 16 decode_seconds.
- quantisers: sum_seconds over decode_seconds.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

SPARSE = {  # index coder: limit at 2^24 elements
    "u32": 0.08,
    "golomb": 0.15,
    "adaptive": 0.15,
    "bitmap": 0.20,
}
FFT = {"0.85": 0.30, "0.99": 0.15}
QUANTISERS = ("qsgd", "terngrad", "range", "natural")
LARGE, SMALL = 1 << 24, 1 << 18
KEPT = 0.01


GROUPS = (  # the methods of each `bench`; apart, because the slow ones would use up the time budget
    [f"topk:theta=0.99,index={index}" for index in SPARSE] + list(QUANTISERS),
    [f"fft:chunk=4096,theta={theta}" for theta in FFT],
)


def measure(gcbench, methods, elements, budget):
    """The summary rows of one `bench`, by method."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as suite:
        json.dump({"schema": 1, "name": "sums", "inputs": [{"dist": "normal", "elements": [str(elements)]}]}, suite)
        suite.flush()
        words = [w for m in methods for w in ("--method", m)]
        out = subprocess.run([gcbench, "bench", "--suite", suite.name, "--time-budget", budget, "--precision", "0.01",
                              "--format", "json", "--no-bandwidth", *words], check=True, capture_output=True, text=True)
    rows = [json.loads(line) for line in out.stdout.splitlines()]
    rows = [r for r in rows if r["record"] == "summary" and r["method"] != "memcpy"]
    return {**dict(zip(methods, rows)), "identity": rows[-1]}


def compare(rows, elements):
    """Yields method, what is measured, seconds, compared with, seconds, limit."""
    large = elements == LARGE
    for theta, limit in FFT.items():
        name = f"fft:chunk=4096,theta={theta}"
        if name in rows and rows[name]["sum16_seconds"] is not None:  # there was time for it
            yield name, "sum of 16", rows[name]["sum16_seconds"], "16 decodes", 16 * rows[name]["decode_seconds"], limit
    if "qsgd" not in rows:
        return
    plain = rows["topk:theta=0.99,index=u32"]["decode_seconds"]
    for index, limit in SPARSE.items():
        name = f"topk:theta=0.99,index={index}"
        row = rows[name]
        if large:
            yield (name, "add", row["sum_seconds"], "decode, then add",
                   row["decode_seconds"] + rows["identity"]["sum_seconds"], limit)
        else:
            allowed = max(0.0, row["decode_seconds"] - plain) + 2e-9 * round(KEPT * elements)
            yield name, "add", row["sum_seconds"], "index, values, 2 ns each", allowed, 1.0
    for name in QUANTISERS:
        yield name, "add", rows[name]["sum_seconds"], "decode", rows[name]["decode_seconds"], 1.0 if large else 1.25


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("gcbench")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--group", type=int, choices=(0, 1), help="only this group of methods")
    parser.add_argument("--time-budget", default="20s", help="of each `bench`")
    options = parser.parse_args()
    pairs = {}  # the row of the table without numbers: (seconds, base) of each round
    loads = []
    groups = GROUPS if options.group is None else [GROUPS[options.group]]
    cases = [(e, name, g) for e, name in ((LARGE, "2^24"), (SMALL, "2^18")) for g in groups]
    for _ in range(options.rounds):
        for elements, name, group in cases:
            loads.append(os.getloadavg()[0])
            rows = measure(options.gcbench, group, elements, options.time_budget)
            for method, what, seconds, other, base, limit in compare(rows, elements):
                pairs.setdefault((name, method, what, other, limit), []).append((seconds, base))
    above = 0
    print("| elements | method | | time | against | time | ratio | limit | |")
    print("|---|---|---|---|---|---|---|---|---|")
    for (name, method, what, other, limit), got in sorted(pairs.items(), key=lambda p: p[0][0], reverse=True):
        ratios = [seconds / base for seconds, base in got]
        ratio, times = statistics.median(ratios), [1e3 * statistics.median(t) for t in zip(*got)]
        above += ratio > limit
        print(f"| {name} | `{method}` | {what} | {times[0]:.3g} ms | {other} | {times[1]:.3g} ms | "
              f"{ratio:.3f} [{min(ratios):.3f}, {max(ratios):.3f}] | {limit:.2f} | {'above' if ratio > limit else ''} |")
    print(f"\n{options.rounds} rounds, load {min(loads):.1f} to {max(loads):.1f}")
    return above > 0


if __name__ == "__main__":
    sys.exit(main())
