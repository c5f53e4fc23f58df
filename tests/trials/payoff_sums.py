#!/usr/bin/env python3
"""
Compares what `payoff` predicts for coding and adding with the measured times of as many different messages
(docs/payoff.md):

    payoff_sums.py GCBENCH SUM_MESSAGES [--method topk:theta=0.999,collective=allgather] [--workers 128] [--rounds 7]
        [--cache cold|warm|changed] [--sizes 12,24]

Measured: sum_messages.c encodes a tensor of 16 MiB for each worker, and adds all messages. Predicted: `bench` runs on tensors
of other sizes (in MiB) with cold or warm caches, and payoff fits lines. With "changed" it predicts for cold caches, but the
measured work finds other changed memory in the caches instead of empty ones. Each round does both, in turn. The figures are
medians of rounds. The exit status is 1 if a prediction is off by more than 15 %.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

COUNT = 1 << 22  # 16 MiB


def predict(options, folder):
    """payoff's row for the method, and the row of fp32."""
    suite = {"schema": 1, "name": "sums", "methods": [options.method, "fp16", "bf16"], "caches": ["warm" if options.cache == "warm" else "cold"],
             "inputs": [{"dist": "laplace", "elements": [str(int(n) << 18) for n in options.sizes.split(",")]}]}
    (folder / "suite.json").write_text(json.dumps(suite))
    results = folder / "r.json"
    subprocess.run([options.gcbench, "bench", "--suite", folder / "suite.json", "--precision", "0.01", "--time-budget", "12s",
                    "--results", results, "--force", "-q"], check=True, stdout=subprocess.DEVNULL)
    out = subprocess.run([options.gcbench, "payoff", results, "--model-bytes", "16M", "--messages", "1", "--bandwidth",
                          options.bandwidth, "--workers", str(options.workers), "--format", "json"], check=True,
                         capture_output=True, text=True).stdout
    rows = [r for r in map(json.loads, out.splitlines()) if r["record"] == "payoff"]
    return next(r for r in rows if not r["baseline"]), rows[:3]


def measure(options):
    """Medians in seconds: one encoding, and one sum of all messages."""
    out = subprocess.run([options.sum_messages, options.method, str(COUNT), str(options.workers), options.cache], check=True,
                         capture_output=True, text=True).stdout
    return map(float, out.split())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("gcbench")
    parser.add_argument("sum_messages")
    parser.add_argument("--method", default="topk:theta=0.999,collective=allgather")
    parser.add_argument("--workers", type=int, default=128)
    parser.add_argument("--bandwidth", default="10Gb")
    parser.add_argument("--cache", default="cold", choices=["cold", "warm", "changed"])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--sizes", default="12,24")
    options = parser.parse_args()
    rounds, loads = [], []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.rounds):
            loads.append(os.getloadavg()[0])
            row, baselines = predict(options, Path(folder))
            encode, add = measure(options)
            rounds.append({"encode": (encode, row["encode_seconds"]), "add": (add, row["add_seconds"])})
    off = 0.0
    print("| | measured | predicted | predicted / measured |\n|---|---|---|---|")
    for key in ("encode", "add"):
        got, want = (statistics.median(r[key][i] for r in rounds) for i in range(2))
        ratios = [r[key][1] / r[key][0] for r in rounds]
        off = max(off, abs(want / got - 1))
        print(f"| {key} | {1e3 * got:.3g} ms | {1e3 * want:.3g} ms | {want / got:.3f} [{min(ratios):.3f}, {max(ratios):.3f}] |")
    print(f"\n{options.rounds} rounds, load {min(loads):.1f} to {max(loads):.1f}; {options.method}, {options.workers} workers, "
          f"{options.bandwidth}, {options.cache} caches")
    for r in (*baselines, row):
        print(f"{r['label']}: {1e3 * r['seconds']:.3g} ms ({1e3 * r['encode_seconds']:.3g} encode, "
              f"{1e3 * r['wire_seconds']:.3g} wire, {1e3 * r['add_seconds']:.3g} add) by {r['collective']} ({r['algorithm']})")
    print(row["verdict"])
    return off > 0.15


if __name__ == "__main__":
    sys.exit(main())
