#!/usr/bin/env python3
"""
Compares what `payoff` predicts for coding and adding with the measured times of as many different messages
(docs/payoff.md):

    payoff_sums.py GCBENCH LIBGCBENCH [--method topk:theta=0.999,collective=allgather] [--workers 128] [--rounds 7] [--cache cold]

Measured: each worker's tensor of 16 MiB is encoded, and gcb_sum adds all messages and is finished. With warm caches each
tensor is encoded twice, and the second time counts; with cold caches 256 MiB of other memory are written before each encoding
and before each sum. Predicted: `bench` runs on tensors of other sizes (8 and 32 MiB) with the same caches, and payoff fits
lines. Each round does both, in turn, on this busy or idle machine; the figures are medians of rounds. The exit status is 1 if a prediction is off by more than 15 %.
"""
import argparse
import ctypes
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "api"))
from exchange import Diag, load  # noqa: E402

COUNT = 1 << 22  # 16 MiB
SIZES = [COUNT >> 1, COUNT << 1]


def predict(options, folder):
    """payoff's row for the method, and the row of fp32."""
    suite = {"schema": 1, "name": "sums", "methods": [options.method, "fp16", "bf16"], "caches": [options.cache],
             "inputs": [{"dist": "laplace", "elements": [str(n) for n in SIZES]}]}
    (folder / "suite.json").write_text(json.dumps(suite))
    results = folder / "r.json"
    subprocess.run([options.gcbench, "bench", "--suite", folder / "suite.json", "--precision", "0.01", "--time-budget", "6s",
                    "--results", results, "--force", "-q"], check=True, stdout=subprocess.DEVNULL)
    out = subprocess.run([options.gcbench, "payoff", results, "--model-bytes", "16M", "--messages", "1", "--bandwidth",
                          options.bandwidth, "--workers", str(options.workers), "--format", "json"], check=True,
                         capture_output=True, text=True).stdout
    rows = [r for r in map(json.loads, out.splitlines()) if r["record"] == "payoff"]
    return next(r for r in rows if not r["baseline"]), rows[:3]


class Workers:
    """Makes different messages, and adds them."""

    def __init__(self, options):
        self.lib, self.diag, self.n = load(options.library), Diag(), options.workers
        self.encoder, self.sum, self.update = ctypes.c_void_p(), ctypes.c_void_p(), np.zeros(COUNT, np.float32)
        spec = options.method.encode()
        self.check(self.lib.gcb_encoder_open(ctypes.byref(self.encoder), spec, COUNT, None, ctypes.byref(self.diag)))
        self.check(self.lib.gcb_sum_open(ctypes.byref(self.sum), spec, COUNT, self.update.ctypes.data, None,
                                         ctypes.byref(self.diag)))
        self.room = self.lib.gcb_encoder_bound(self.encoder)
        self.messages = []
        self.other = np.zeros(1 << 28, np.uint8) if options.cache == "cold" else None

    def empty_caches(self):
        if self.other is not None:
            self.other += 1

    def check(self, status):
        if status:
            raise SystemExit(self.diag.text.decode())

    def encode(self):
        """All workers encode, one after the other. Returns the median time of one."""
        rng, times = np.random.default_rng(1), []
        self.messages = []
        for worker in range(self.n):
            x = rng.standard_exponential(COUNT, np.float32) * rng.choice(np.float32([-1, 1]), COUNT)
            message, length = ctypes.create_string_buffer(self.room), ctypes.c_size_t()
            for _ in range(1 if self.other is not None else 2):
                self.empty_caches()
                start = time.thread_time()
                self.check(self.lib.gcb_encode(self.encoder, 0, worker, x.ctypes.data, message, self.room,
                                               ctypes.byref(length), ctypes.byref(self.diag)))
                took = time.thread_time() - start
            times.append(took)
            self.messages.append(ctypes.create_string_buffer(message.raw[:length.value], length.value))
        return statistics.median(times)

    def add(self):
        self.empty_caches()
        start = time.thread_time()
        for message in self.messages:
            self.check(self.lib.gcb_sum_add(self.sum, message, len(message), 1.0 / self.n, ctypes.byref(self.diag)))
        self.check(self.lib.gcb_sum_finish(self.sum, self.update.ctypes.data, ctypes.byref(self.diag)))
        return time.thread_time() - start


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("gcbench")
    parser.add_argument("library")
    parser.add_argument("--method", default="topk:theta=0.999,collective=allgather")
    parser.add_argument("--workers", type=int, default=128)
    parser.add_argument("--bandwidth", default="10Gb")
    parser.add_argument("--cache", default="warm")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    workers, rounds, loads = Workers(options), [], []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.rounds):
            loads.append(os.getloadavg()[0])
            row, baselines = predict(options, Path(folder))
            rounds.append({"encode": (workers.encode(), row["encode_seconds"]),
                           "add": (statistics.median(workers.add() for _ in range(5)), row["add_seconds"])})
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
