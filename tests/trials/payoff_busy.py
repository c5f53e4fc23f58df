#!/usr/bin/env python3
"""Does a busy machine change payoff's answer? Its advice alone, then with loops beside it.

    payoff_busy.py [--runs 10] [--loops 4] GCBENCH [PAYOFF OPTIONS]

Runs `gcbench payoff` once alone, and then so many times beside busy loops. Prints the ways that each run advises, with their factors.
An answer stays if it names the same ways. A way that enters or leaves because its factor crosses a limit (1.1, or 1.2 times
that of the nearly exact way) by less than 10 % does not count as a change. Exit status 1: fewer than nine in ten stay.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser(usage=__doc__)
parser.add_argument("--runs", type=int, default=10)
parser.add_argument("--loops", type=int, default=4)
parser.add_argument("gcbench")
o, options = parser.parse_known_args()


def run():
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        subprocess.run([o.gcbench, "payoff", *options, "-q", "--results", file.name, "--force"], check=True, stdout=subprocess.DEVNULL)
        found = [json.loads(line) for line in file]
    ways = [row for row in found if row["record"] == "payoff" and not row["baseline"]]
    return {row["label"]: row for row in ways}, {row["advice"]: row["label"] for row in ways if row["advice"]}


def same(alone, now):
    """Is the advice the same, limits crossed excepted? Two ways whose factors are within 10 % of each other are as good."""
    (rows, advice), (_, other) = alone, now
    for kind in set(advice) | set(other):
        one, two = advice.get(kind), other.get(kind)
        if one == two:
            continue
        x = [rows[label]["speedup_bar"] for label in (one, two) if label]
        if len(x) == 2 and max(x) / min(x) > 1.1:
            return False
        best = rows[advice["best"]]["speedup_bar"] if "best" in advice else 1.0
        limit = 1.1 if kind == "best" else max(1.1, 1.2 * best if kind == "noise" else best)
        if len(x) == 1 and not limit / 1.1 < x[0] < limit * 1.1:
            return False
    return True


def tell(words, of):
    rows, advice = of
    print(words, "; ".join(f"{kind}: {label} {rows[label]['speedup_bar']:.2f}" for kind, label in sorted(advice.items())) or "send fp16",
          f"(load {os.getloadavg()[0]:.1f})", flush=True)


alone = run()
tell("alone:", alone)
loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(o.loops)]
try:
    stays = 0
    for _ in range(o.runs):
        now = run()
        stays += same(alone, now)
        tell("same:   " if same(alone, now) else "changed:", now)
finally:
    for loop in loops:
        loop.kill()
print(f"the answer stays in {stays} of {o.runs} runs beside {o.loops} busy loops")
sys.exit(10 * stays < 9 * o.runs)
