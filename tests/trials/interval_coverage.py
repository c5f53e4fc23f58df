#!/usr/bin/env python3
"""
How often the 95 % interval of bench holds the median, with samples taken until it is narrow (docs/method.md).

    interval_coverage.py [RUNS]

Noise is drawn, not measured: independent, and with neighbours that resemble each other. The rule is bench's: ranks
by the binomial distribution, looked at from 6 samples on and after every eighth more, until half of the interval is
2 % of the median or there are 1000 samples.
"""
import bisect
import math
import random
import sys

LEAST, MOST, PRECISION, TAIL = 6, 1000, 0.02, 0.025


def rank(n):
    below = k = 0
    while True:
        term = math.comb(n, k) / 2**n
        if below + term > TAIL:
            return k
        below += term
        k += 1


RANKS = [rank(n) for n in range(MOST + 1)]


def one_run(samples, median):
    """Does the interval hold the median, and how many samples did it take?"""
    taken, look = [], LEAST
    for sample in samples:
        bisect.insort(taken, sample)
        n = len(taken)
        if n < look and n < MOST:
            continue
        low, high = taken[RANKS[n] - 1], taken[n - RANKS[n]]
        middle = (taken[(n - 1) // 2] + taken[n // 2]) / 2
        if high - low <= 2 * PRECISION * middle or n >= MOST:
            return low <= median <= high, n
        look = n + 1 + n // 8


def alike(draw, deviation, correlation):
    """Lognormal, each value correlated with the one before."""
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
             for d, c in ((0.02, 0), (0.05, 0), (0.15, 0), (0.05, 0.7), (0.05, 0.95))]
    cases.append(("1 + exponential 0.1", lambda: skewed(draw), 1 + 0.1 * math.log(2)))
    for name, samples, median in cases:
        results = [one_run(samples(), median) for _ in range(runs)]
        held = sum(held for held, _ in results) / runs
        print(f"{name}: holds {held:.3f}, {sorted(n for _, n in results)[runs // 2]} samples", flush=True)


if __name__ == "__main__":
    main()
