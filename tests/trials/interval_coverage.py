#!/usr/bin/env python3
"""
How often does the 95 % interval of bench contain the median, if samples are taken until the interval is narrow
(docs/method.md)?

    interval_coverage.py [RUNS]

The noise is drawn at random, independent or with correlated neighbours. Two rules are compared. The plain rule takes ranks from
the binomial distribution. It looks at 6 samples and then after every eighth more, and stops when half of the interval is 2 % of
the median. The rule of bench (src/tool/timing/steady.h, gcb_stats_likeness) widens the interval if neighbours tend to lie on
the same side of the median, and stops at the second narrow look in a row, from 20 samples on. Both stop at 1000 samples.
"""
import bisect
import math
import random
import sys

LEAST, STEADY, MOST, PRECISION, TAIL, ALIKE = 6, 20, 1000, 0.02, 0.025, 0.95


def rank(n):
    below = k = 0
    while True:
        term = math.comb(n, k) / 2**n
        if below + term > TAIL:
            return k
        below += term
        k += 1


RANKS = [rank(n) for n in range(MOST + 1)]


def likeness(values, median):
    sides = [(v > median) - (v < median) for v in values]
    agree = sum(a * b for a, b in zip(sides, sides[1:]))
    if agree <= 0:
        return 1
    power = rho = min(math.sin(math.pi / 2 * agree / sum(map(abs, sides))), ALIKE)
    factor = 1
    while power > 1e-3:
        factor += 4 / math.pi * math.asin(power)
        power *= rho
    return factor


def interval(values, taken, plain):
    n = len(taken)
    middle = (taken[(n - 1) // 2] + taken[n // 2]) / 2
    reach = n / 2 - RANKS[n]
    if not plain:
        reach *= math.sqrt(likeness(values, middle))
    rank = max(int(n / 2 - reach), 1)
    return taken[rank - 1], middle, taken[n - rank]


def one_run(samples, median, plain):
    """Does the interval contain the median, and how many samples were taken?"""
    values, taken, look, narrow = [], [], LEAST if plain else STEADY, plain
    for sample in samples:
        values.append(sample)
        bisect.insort(taken, sample)
        n = len(taken)
        if n < look and n < MOST:
            continue
        low, middle, high = interval(values, taken, plain)
        before, narrow = narrow, high - low <= 2 * PRECISION * middle
        if (narrow and (before or plain)) or n >= MOST:
            return low <= median <= high, n
        look = n + 1 + n // 8


def alike(draw, deviation, correlation):
    """Lognormal; each value is correlated with the previous one."""
    value = draw.gauss(0, deviation)
    while True:
        yield math.exp(value)
        value = correlation * value + draw.gauss(0, deviation * math.sqrt(1 - correlation**2))


def skewed(draw):
    while True:
        yield 1 + draw.expovariate(10)


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    draw = random.Random(1)
    cases = [(f"lognormal {d}, correlation {c}", lambda d=d, c=c: alike(draw, d, c), 1)
             for d, c in ((0.02, 0), (0.05, 0), (0.15, 0), (0.05, 0.5), (0.02, 0.7), (0.05, 0.7), (0.15, 0.7), (0.05, 0.95))]
    cases.append(("1 + exponential 0.1", lambda: skewed(draw), 1 + 0.1 * math.log(2)))
    for name, samples, median in cases:
        for rule in ("plain", "bench"):
            results = [one_run(samples(), median, rule == "plain") for _ in range(runs)]
            held = sum(held for held, _ in results) / runs
            print(f"{name}, {rule}: holds {held:.3f}, {sorted(n for _, n in results)[runs // 2]} samples", flush=True)


if __name__ == "__main__":
    main()
