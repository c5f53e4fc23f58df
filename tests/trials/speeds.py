#!/usr/bin/env python3
"""The table of docs/performance.md: what methods reach on this machine, and what is wanted.

   speeds.py GCBENCH [SECONDS]     seconds per method; default 5

A tensor of 2^24 student-t floats, one thread, cold caches. Shares are those of the memory's read
speed (to encode) and fill speed (to decode), which the same run measures. Wanted shares are those
of a CPU with AVX-512; 0.7 of them without. PyTorch's columns need the module torch.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

ELEMENTS = 1 << 24
# Method; wanted shares (None: none); passes over memory of an encode, in sizes of the input; for a
# whole FFT also those over its spectrum.
ROWS = [
    ("fft:chunk=4096", 0.22, 0.28, "1"),
    ("dct-range:chunk=4096", 0.18, 0.25, "1"),
    ("demo", 0.18, 0.25, "1"),
    ("fft", 0.09, 0.10, "1 + 6"),
    ("topk:theta=0.85", 0.38, None, "1.6"),
    ("range:bits=8", 0.36, None, "2.25"),
    ("terngrad", 0.34, None, "2.06"),
    ("fp16", None, None, "1.5"),
    ("qsgd:coding=elias", None, None, "1.08"),
]
BY_FFTW = ["fft:chunk=4096", "dct-range:chunk=4096", "demo", "fft"]


def bench(gcbench, folder, method, seconds, *more):
    """The row of a method, and the environment."""
    data, rows = os.path.join(folder, "x.h5"), os.path.join(folder, "rows.json")
    if not os.path.exists(data):
        subprocess.run([gcbench, "generate", "--dist", "student-t:df=3", "--elements", str(ELEMENTS),
                        "-o", data], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([gcbench, "bench", "--method", method, "--cache", "cold", "--time-budget",
                    f"{seconds}s", "--results", rows, "--force", "--quiet", *more, data],
                   check=True, stdout=subprocess.DEVNULL)
    found = {}
    for line in open(rows, encoding="utf-8"):
        row = json.loads(line)
        found[row["record"], row.get("method")] = row
    return found["summary", method.split(":")[0]], found["environment", None]


def torch_seconds():
    """Medians of what PyTorch needs for the selection, and for the transform and it."""
    try:
        import torch
    except ImportError:
        return {}
    torch.set_num_threads(1)
    x = torch.distributions.StudentT(3.0).sample((ELEMENTS,))

    def median(work):
        times = []
        for _ in range(5):
            start = time.perf_counter()
            work()
            times.append(time.perf_counter() - start)
        return statistics.median(times[1:])

    def chunked():
        bins = torch.fft.rfft(x.view(-1, 4096)).flatten()
        torch.topk(bins.abs(), int(0.15 * bins.numel()), sorted=False)

    def whole():
        bins = torch.fft.rfft(x)
        torch.topk(bins.abs(), int(0.15 * bins.numel()), sorted=False)

    return {
        "fft:chunk=4096": median(chunked),
        "fft": median(whole),
        "topk:theta=0.85": median(lambda: torch.topk(x.abs(), int(0.15 * ELEMENTS), sorted=False)),
    }


def share(reached, wanted):
    if wanted is None:
        return f"{reached:.2f}"
    return f"{reached:.2f} / {wanted:.2f}" + ("" if reached >= wanted else " *")


def main():
    gcbench = sys.argv[1]
    seconds = sys.argv[2] if len(sys.argv) > 2 else "5"
    torch = torch_seconds()
    with tempfile.TemporaryDirectory() as folder:
        for number, (method, encode, decode, moves) in enumerate(ROWS):
            row, machine = bench(gcbench, folder, method, seconds)
            part = 1.0 if machine["isa"] == "avx512" else 0.7
            if number == 0:
                print(f"{machine['cpu_model'].strip()}, {machine['isa']}, one thread; memory reads "
                      f"{machine['read_gbps']:.1f} GB/s, fills {machine['fill_gbps']:.1f} GB/s.\n")
                others = "by FFTW, PyTorch" if torch else "by FFTW"
                print("| method | encode GB/s | share / wanted | decode GB/s | share / wanted "
                      f"| {others} | passes |")
                print("|---|---|---|---|---|---|---|")
            cell = []
            if method in BY_FFTW:
                fftw, _ = bench(gcbench, folder, method, seconds, "--fft-engine", "fftw")
                cell.append(f"{fftw['encode_gbps']:.2f}")
            if method in torch:
                cell.append(f"{4e-9 * ELEMENTS / torch[method]:.2f}")
            print(f"| {method} | {row['encode_gbps']:.2f} "
                  f"| {share(row['encode_gbps'] / machine['read_gbps'], encode and encode * part)} "
                  f"| {row['decode_gbps']:.2f} "
                  f"| {share(row['decode_gbps'] / machine['fill_gbps'], decode and decode * part)} "
                  f"| {', '.join(cell)} | {moves} |", flush=True)
    print("\n\\*: below what is wanted.")


if __name__ == "__main__":
    main()
