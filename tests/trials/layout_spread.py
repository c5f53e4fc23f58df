#!/usr/bin/env python3
"""
Measures how much the layout of the code changes times: links gcbench in several orders of its object files, runs the trial's
suite with each link in turn, and prints the fastest call of the fastest and of the slowest link.

    layout_spread.py BUILD_FOLDER... [--links N] [--rounds N]

Several builds of the same source, with other flags for example, are measured in turn.
"""
import argparse
import collections
import json
import random
import shlex
import subprocess
import tempfile
from pathlib import Path

SUITE = Path(__file__).resolve().parent / "suite.json"


def run(*words, cwd=None):
    return subprocess.run(words, cwd=cwd, check=True, capture_output=True, text=True).stdout


def link(build, seed, program):
    words = shlex.split(run("ninja", "-C", build, "-t", "commands", "-s", "cli/gcbench").splitlines()[-1])
    del words[words.index("-o"):words.index("-o") + 2]
    archives = [w for w in words if w.endswith(".a") and not w.startswith("/")]
    objects = [w for w in words if w.endswith(".o")]
    objects += [m for a in archives for m in run("ar", "t", a, cwd=build).split()]
    random.Random(seed).shuffle(objects)
    run(words[0], "-o", program, *objects, *(w for w in words[1:] if not w.endswith(".o")), cwd=build)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("builds", nargs="+")
    parser.add_argument("--links", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=20)
    wanted = parser.parse_args()
    best = collections.defaultdict(lambda: float("inf"))
    with tempfile.TemporaryDirectory() as folder:
        for b, build in enumerate(wanted.builds):
            for seed in range(wanted.links):
                link(build, seed, f"{folder}/{b}-{seed}")
        for _ in range(wanted.rounds):
            for seed in range(wanted.links):
                for b in range(len(wanted.builds)):
                    rows = run(f"{folder}/{b}-{seed}", "bench", "--no-bandwidth", "--repeat", "7", "--format", "json",
                               "--suite", str(SUITE))
                    for row in map(json.loads, rows.splitlines()):
                        for op in ("encode", "decode") if row["record"] == "result" else ():
                            key = row["method"], op, b, seed
                            best[key] = min(best[key], row[f"{op}_seconds_min"])
    print(f"{'method':<10} {'op':<7} {'build':<30} {'fastest':>9} {'slowest':>9}  slowest/fastest")
    for method, op in sorted({key[:2] for key in best}):
        for b, build in enumerate(wanted.builds):
            times = [best[method, op, b, seed] for seed in range(wanted.links)]
            print(f"{method:<10} {op:<7} {build[-30:]:<30} {1e6 * min(times):6.1f} us {1e6 * max(times):6.1f} us"
                  f"  {max(times) / min(times):.3f}")


if __name__ == "__main__":
    main()
