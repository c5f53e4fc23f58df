#!/usr/bin/env python3
"""The table of docs/performance.md: what methods reach on this machine, and what is wanted.

   speeds.py GCBENCH [--seconds S]        seconds per method; default 5
   speeds.py GCBENCH --plots DIR [--to B] draw the cost of encoding an element, from 2^10 to 2^B
                                          elements (default 28) and from one to all threads

A tensor of 2^24 student-t floats, one thread, cold caches. Shares are those of the memory's read
speed (to encode) and fill speed (to decode), which the same run measures. Wanted shares are those
of a CPU with AVX-512; 0.7 of them without. Columns of torch, scipy (pocketfft) and mkl_fft need
these modules.
"""

import argparse
import importlib
import json
import os
import statistics
import subprocess
import tempfile
import time

ELEMENTS = 1 << 24
# Method; wanted shares (None: none; BOUND: 0.9 of the speed of a loop that reads 4 bytes and writes
# 2); passes over memory of an encode, in sizes of the input; for a whole FFT also those over its
# spectrum.
BOUND = object()
ROWS = [
    ("fft:chunk=4096", 0.22, 0.28, "1"),
    ("dct-range:chunk=4096", 0.18, 0.25, "1"),
    ("demo", 0.18, 0.25, "1"),
    ("fft", 0.09, 0.10, "1 + 6"),
    ("topk:theta=0.85", 0.38, None, "1.6"),
    ("sbc", None, None, ""),
    ("redsync", None, None, ""),
    ("range:bits=8", 0.36, None, "2.25"),
    ("terngrad", 0.34, None, "2.06"),
    ("fp16", BOUND, None, "1.5"),
    ("bf16", BOUND, None, "1.5"),
    ("qsgd:coding=elias", None, None, "1.08"),
]
BY_FFTW = ["fft:chunk=4096", "dct-range:chunk=4096", "demo", "fft"]
PLOTTED = ["fft:chunk=4096", "fft", "topk:theta=0.85", "range:bits=8", "terngrad", "fp16"]


def bench(gcbench, folder, methods, seconds, *more, elements=ELEMENTS, cache="cold"):
    """Summary rows by (spec as given, threads), and the environment of the first thread count."""
    data = os.path.join(folder, f"{elements}.h5")
    rows = os.path.join(folder, "rows.json")
    if not os.path.exists(data):
        subprocess.run([gcbench, "generate", "--dist", "student-t:df=3", "--elements", str(elements),
                        "-o", data], check=True, stdout=subprocess.DEVNULL)
    out, environment = {}, None
    for method in methods:
        subprocess.run([gcbench, "bench", "--method", method, "--cache", cache, "--time-budget",
                        f"{seconds}s", "--results", rows, "--force", "--quiet", *more, data],
                       check=True, stdout=subprocess.DEVNULL)
        for line in open(rows, encoding="utf-8"):
            row = json.loads(line)
            if row["record"] == "environment":
                environment = environment or row
            elif row["record"] == "summary" and row["method"] == method.split(":")[0]:
                out[method, row["threads"]] = row
    return out, environment


def median(work):
    """GB/s of the input at the median of five runs."""
    times = []
    for _ in range(6):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return 4e-9 * ELEMENTS / statistics.median(times[1:])


def by_torch():
    """What PyTorch reaches for the selection, and for the transform and it."""
    try:
        import torch
    except ImportError:
        return {}
    torch.set_num_threads(1)
    x = torch.distributions.StudentT(3.0).sample((ELEMENTS,))

    def largest(v):
        torch.topk(v.abs(), int(0.15 * v.numel()), sorted=False)

    return {
        "fft:chunk=4096": median(lambda: largest(torch.fft.rfft(x.view(-1, 4096)).flatten())),
        "fft": median(lambda: largest(torch.fft.rfft(x))),
        "topk:theta=0.85": median(lambda: largest(x)),
    }


def by_transform(module):
    """What a module's rfft alone reaches, on one thread."""
    try:
        rfft = importlib.import_module(module).rfft
        import numpy
    except ImportError:
        return {}
    x = numpy.random.default_rng(1).standard_t(3, ELEMENTS).astype(numpy.float32)
    return {"fft:chunk=4096": median(lambda: rfft(x.reshape(-1, 4096))),
            "fft": median(lambda: rfft(x))}


def share(reached, wanted):
    if wanted is None:
        return f"{reached:.2f}"
    return f"{reached:.2f} / {wanted:.2f}" + ("" if reached >= wanted else " *")


def print_head(machine, bound, titles):
    print(f"{machine['cpu_model'].strip()}, {machine['isa']}, one thread; memory reads "
          f"{machine['read_gbps']:.1f} GB/s, fills {machine['fill_gbps']:.1f} GB/s; reading 4 bytes "
          f"and writing 2: {bound:.1f} GB/s.\n")
    print("| method | encode GB/s | share / wanted | 2 threads | decode GB/s | share / wanted | "
          + "".join(f"{title} | " for title in titles) + "passes |")
    print("|" + "---|" * (7 + len(titles)))


def print_table(gcbench, folder, seconds):
    """Prints each row as soon as it is measured."""
    others = {
        "PyTorch": by_torch(),
        "pocketfft, transform alone": by_transform("scipy.fft"),
        "MKL, transform alone": by_transform("mkl_fft.interfaces.numpy_fft"),
    }
    others = {title: column for title, column in others.items() if column}
    for method, encode, decode, moves in ROWS:
        rows, machine = bench(gcbench, folder, [method], seconds, "--threads", "1,2")
        row, two = rows[method, 1], rows[method, 2]
        part = 1.0 if machine["isa"] == "avx512" else 0.7
        read, fill = machine["read_gbps"], machine["fill_gbps"]
        bound = 2 / (1 / read + 1 / machine["copy_gbps"])
        if method == ROWS[0][0]:
            print_head(machine, bound, ["by FFTW", *others])
        cells = [""]
        if method in BY_FFTW:
            fftw, _ = bench(gcbench, folder, [method], seconds, "--fft-engine", "fftw")
            cells = [f"{fftw[method, 1]['encode_gbps']:.2f}"]
        cells += [f"{column[method]:.2f}" if method in column else "" for column in others.values()]
        encode = 0.9 * bound / read if encode is BOUND else encode
        print(f"| {method} | {row['encode_gbps']:.2f} "
              f"| {share(row['encode_gbps'] / read, encode and encode * part)} "
              f"| {two['encode_gbps'] / row['encode_gbps']:.2f} "
              f"| {row['decode_gbps']:.2f} "
              f"| {share(row['decode_gbps'] / fill, decode and decode * part)} "
              f"| {' | '.join(cells + [moves])} |", flush=True)
    print("\n\\*: below what is wanted.")


def draw(plots, axis, rows):
    """Draws `axis`.svg from a table with a row (x, cost of each method) for each x."""
    table, picture = (os.path.join(plots, f"{axis}.{end}") for end in ("csv", "svg"))
    with open(table, "w", encoding="utf-8") as out:
        for x, costs in rows:
            print(x, *costs, sep=",", file=out)
    subprocess.run(["gnuplot", "-e", f"table='{table}'; picture='{picture}'; axis='{axis}'; "
                    f"names='{' '.join(PLOTTED)}'",
                    os.path.join(os.path.dirname(__file__), "speeds.gp")], check=True)
    print(picture)


def draw_plots(gcbench, folder, seconds, plots, most):
    """Draws the nanoseconds per element by elements and by threads, with warm caches."""
    def costs(rows, threads):
        return [4 / rows[method, threads]["encode_gbps"] for method in PLOTTED]

    os.makedirs(plots, exist_ok=True)
    by_size = []
    for elements in (1 << k for k in range(10, most + 1, 2)):
        with tempfile.TemporaryDirectory() as own:  # large files are not kept
            rows, _ = bench(gcbench, own, PLOTTED, seconds, elements=elements, cache="warm")
        by_size.append((elements, costs(rows, 1)))
    draw(plots, "elements", by_size)
    cpus = len(os.sched_getaffinity(0))
    threads = sorted({cpus} | {1 << k for k in range(cpus.bit_length())})
    rows, _ = bench(gcbench, folder, PLOTTED, seconds, "--threads", ",".join(map(str, threads)),
                    cache="warm")
    draw(plots, "threads", [(count, costs(rows, count)) for count in threads])


def main():
    options = argparse.ArgumentParser()
    options.add_argument("gcbench")
    options.add_argument("--seconds", type=float, default=5)
    options.add_argument("--plots")
    options.add_argument("--to", type=int, default=28)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if chosen.plots:
            draw_plots(chosen.gcbench, folder, chosen.seconds, chosen.plots, chosen.to)
        else:
            print_table(chosen.gcbench, folder, chosen.seconds)


if __name__ == "__main__":
    main()
