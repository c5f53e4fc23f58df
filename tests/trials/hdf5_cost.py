#!/usr/bin/env python3
"""What reading HDF5 in a child costs: hdf5_cost.py BEFORE AFTER [PAIRS]

Runs two builds of gcbench in turn on files of several layouts, and prints for each command and file the median time of
BEFORE, the median of the paired ratios AFTER / BEFORE with its 95 % bootstrap interval, and the median difference. Needs
h5py and about 300 MB in the temporary folder. docs/security.md has the figures.
"""
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

import h5py
import numpy as np


def make(path, workers, tensors, elements, **layout):
    values = np.random.default_rng(1)
    with h5py.File(path, "w") as file:
        for worker in range(workers):
            for i in range(tensors):
                x = values.standard_normal(elements).astype("f4") * 1e-3
                file.create_dataset(f"step_000000/worker_{worker}/layer{i:04d}.weight", data=x, **layout)


FILES = {
    "2000 of 1 KiB": dict(workers=1, tensors=2000, elements=256),
    "2000 of 16 KiB": dict(workers=1, tensors=2000, elements=4096),
    "2000 of 16 KiB, deflated": dict(workers=1, tensors=2000, elements=4096, chunks=(4096,), compression="gzip",
                                     compression_opts=1),
    "500 of 64 KiB, deflated": dict(workers=1, tensors=500, elements=16384, chunks=(4096,), compression="gzip",
                                    compression_opts=1),
    "3 of 32 MiB": dict(workers=1, tensors=3, elements=8 << 20),
    "8 workers, 250 of 16 KiB": dict(workers=8, tensors=250, elements=4096),
}
COMPRESS = "compress --method topk --warmup 0 --repeat 1 --no-baselines"
CASES = [("inspect --dataset layer0000*", "2000 of 1 KiB")]
CASES += [("inspect", name) for name in FILES if "workers" not in name]
CASES += [(COMPRESS, "2000 of 1 KiB"), (COMPRESS, "2000 of 16 KiB"), (COMPRESS, "3 of 32 MiB")]
CASES += [("replay --method topk", "8 workers, 250 of 16 KiB")]


def run(build, command, path):
    begin = time.perf_counter()
    subprocess.run([build, *command.split(), path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begin


def interval(ratios):
    draw = random.Random(1)
    medians = sorted(statistics.median(draw.choices(ratios, k=len(ratios))) for _ in range(1000))
    return medians[25], medians[974]


def main():
    before, after = sys.argv[1:3]
    pairs = int(sys.argv[3]) if len(sys.argv) > 3 else 20
    with tempfile.TemporaryDirectory() as folder:
        for name, how in FILES.items():
            make(os.path.join(folder, name), **how)
        print("| command | file | before | after / before | difference |\n|---|---|---|---|---|")
        for command, name in CASES:
            old, new = [], []
            for i in range(pairs):
                for build, times in ((before, old), (after, new)) if i % 2 else ((after, new), (before, old)):
                    times.append(run(build, command, os.path.join(folder, name)))
            ratios = [b / a for a, b in zip(old, new)]
            low, high = interval(ratios)
            gap = statistics.median(b - a for a, b in zip(old, new))
            print(f"| {command.split(' --warmup')[0]} | {name} | {statistics.median(old) * 1e3:.0f} ms "
                  f"| {statistics.median(ratios):.2f} [{low:.2f}, {high:.2f}] | {gap * 1e3:+.1f} ms |", flush=True)


main()
