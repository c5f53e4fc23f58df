"""Figures of the study's runs: where a run reaches a target, intervals, verdicts, rank correlations, and tables of these."""

import math
import random
from statistics import median, median_high, median_low
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

LINKS = (0.1, 1.0, 10.0)  # Gb/s
LATENCY = 50e-6
BUDGETS = (10, 100)  # fp32's bytes divided by this
POINTS = 0.5  # the target is fp32's median final quality minus this
# Compared besides all with fp32.
TRANSFORMED = (("kernels x 4 bits, feedback", "top-k x 4 bits, feedback"), ("kernels x 4 bits, feedback", "found by sweep, feedback"),
               ("tiles of rank 1, feedback", "top-k x 4 bits, feedback"), ("tiles of rank 1, feedback", "powersgd, feedback"),
               ("local 30, sparseloco", "local 30, plain"), ("local 30, sparseloco, DCT", "local 30, sparseloco"))
PAIRS = (("fft, feedback", "fft"), ("top-k 1 %, feedback", "top-k 1 %"), ("found by sweep, feedback", "3 % x 2 bits, feedback"),
         ("terngrad", "fft"), ("top-k 15 %", "fft"), ("fft whole 0.9, falling", "fft whole 0.9"),
         ("fft whole 0.9, then 0", "fft whole 0.9"), ("fft, falling", "fft"), ("3 % x 2 bits, feedback", "sbc, feedback"),
         ("local 10, plain", "local 10"), ("local 10, 8 bits", "local 10"), ("local 10, 4 bits", "local 10"),
         ("local 10, 2 bits, feedback", "local 10"), ("local 10, 3 % x 2 bits", "local 10"),
         ("local 10, plain, 2 bits, feedback", "local 10, plain"), ("local 10, plain, 3 % x 2 bits", "local 10, plain"),
         ("local 10, plain, 2 bits, feedback", "local 10, 2 bits, feedback"),
         ("mxfp8 by shares", "bf16"), ("mxfp4 by shares", "qsgd by shares"), ("mxfp4 by shares, loco", "mxfp4 by shares"),
         ("int4 by shares", "qsgd by shares"), ("int4 by shares, loco", "int4 by shares"),
         *TRANSFORMED)
FIGURES = ("rel_l2", "alpha", "cumulative_error")

Row = Dict[str, Any]
Runs = Dict[str, Dict[int, List[Row]]]  # label, seed
Axis = Callable[[Row], float]


# ---- figures of a run ----

def seconds(row: Row, link: float) -> float:
    return row["compute_seconds"] + row["coding_seconds"] + row["latency_steps"] * LATENCY \
        + 8 * row["link_bytes"] / (link * 1e9)


def with_common_compute(runs: Runs) -> Runs:
    """The runs with the same time of computing in each step: its median over all runs. Methods do not change this work, but the
    load of a shared machine changes its time."""
    step = median(rows[-1]["compute_seconds"] / rows[-1]["step"] for of in runs.values() for rows in of.values())
    return {label: {seed: [dict(row, compute_seconds=step * row["step"]) for row in rows] for seed, rows in of.items()}
            for label, of in runs.items()}


def at_target(rows: Sequence[Row], target: float, axis: Axis) -> float:
    """Where a run first reaches the target, on a straight line between two tests; infinite if it does not."""
    before: Tuple[float, float] = (0.0, 0.0)
    for row in rows:
        here = axis(row), row["quality"]
        if here[1] >= target:
            if not before[0]:
                return here[0]
            return before[0] + (target - before[1]) / (here[1] - before[1]) * (here[0] - before[0])
        before = here
    return math.inf


def quality_at(rows: Sequence[Row], budget: float) -> Optional[float]:
    """The quality when a worker has sent so many bytes: that of the last test before. None: no test before."""
    found = [row["quality"] for row in rows if row["link_bytes"] <= budget]
    return found[-1] if found else None


def final(runs: Runs, label: str) -> float:
    return median(rows[-1]["quality"] for rows in runs[label].values())


def against_fp32(runs: Runs, label: str, base: str = "fp32") -> List[float]:
    """Points of final quality more than fp32, or another method, for each seed that both have."""
    return [rows[-1]["quality"] - runs[base][seed][-1]["quality"] for seed, rows in runs[label].items() if seed in runs[base]]


def ratios(runs: Runs, label: str, target: float, axis: Axis, base: str = "fp32") -> List[float]:
    """The base's value divided by the method's, for each seed that both have; 0 if only the method misses the target, 1 if both
    do."""
    pairs = [(at_target(runs[base][s], target, axis), at_target(runs[label][s], target, axis))
             for s in runs[label] if s in runs[base]]
    return [1.0 if math.isinf(a) and math.isinf(b) else a / b for a, b in pairs]


# ---- statistics ----

def interval(values: Sequence[float]) -> Optional[Tuple[float, float]]:
    """A 95 % interval of the median: order statistics, exact for any distribution. None: too few values."""
    n, sorted_ = len(values), sorted(values)
    below, k = 0.0, 0
    while k < n and below + math.comb(n, k) / 2 ** n <= 0.025:
        below += math.comb(n, k) / 2 ** n
        k += 1
    return (sorted_[k - 1], sorted_[n - k]) if k else None


def verdict(values: Sequence[float], zero: float, words: Tuple[str, str]) -> str:
    ends = interval(values)
    if not ends or ends[0] <= zero <= ends[1]:
        return "undecided"
    return words[ends[0] > zero]


def ranks(values: Sequence[float]) -> List[float]:
    return [sum(v < x for v in values) + (sum(v == x for v in values) + 1) / 2 for x in values]


def spearman(pairs: Sequence[Tuple[float, float]]) -> float:
    a, b = (ranks(side) for side in zip(*pairs))
    mean = (len(pairs) + 1) / 2
    top = sum((x - mean) * (y - mean) for x, y in zip(a, b))
    below = math.sqrt(sum((x - mean) ** 2 for x in a) * sum((y - mean) ** 2 for y in b))
    return top / below if below else math.nan


def bootstrap(pairs: Sequence[Tuple[float, float]], draws: int = 2000) -> Optional[Tuple[float, float]]:
    """A 95 % interval: percentiles over methods drawn with replacement. None below five methods."""
    if len(pairs) < 5:
        return None
    draw = random.Random(1)
    found = sorted(r for r in (spearman([draw.choice(pairs) for _ in pairs]) for _ in range(draws)) if r == r)
    return found[len(found) * 25 // 1000], found[len(found) * 975 // 1000 - 1]


# ---- text ----

def show(value: float, digits: int = 3, lost: str = "missed") -> str:
    if math.isinf(value):
        return lost
    return f"{value:.{digits}g}" if abs(value) < 10 ** digits else f"{value:.0f}"


def show_interval(values: Sequence[float]) -> str:
    ends = interval(values)
    return f"[{show(ends[0])}, {show(ends[1])}]" if ends else "[too few]"


def show_points(values: Sequence[float]) -> str:
    return f"{median(values):+.2f} {show_interval(values)}"


def show_gain(gain: float) -> str:
    """A ratio of ratios(), or the word for runs that miss the target."""
    return {0.0: "missed", 1.0: "neither", math.inf: "alone"}.get(gain) or f"{show(gain)} x"


def show_faster(gains: Sequence[float]) -> str:
    if not gains:
        return "no common seed"
    low = median_low(gains)  # the mean of two middle values means nothing if a target was missed
    ends, middle = interval(gains), show_gain(low if {low, median_high(gains)} & {0.0, 1.0, math.inf} else median(gains))
    known = f"[{show_gain(ends[0])}, {show_gain(ends[1])}]" if ends else "[too few]"
    said = verdict(gains, 1, ("slower", "faster"))
    return middle if known == "[neither, neither]" else f"{middle}: {said}" if known == "[missed, missed]" \
        else f"{middle} {known} {said}"


def show_correlation(pairs: Sequence[Tuple[float, float]]) -> str:
    if len(pairs) < 2:
        return "too few methods"
    ends = bootstrap(pairs)
    return f"{spearman(pairs):.2f} " + (f"[{ends[0]:.2f}, {ends[1]:.2f}]" if ends else "[too few]") \
        + f", {len(pairs)} methods"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


# ---- tables ----

def target_of(runs: Runs) -> float:
    return final(runs, "fp32") - POINTS


def main_table(runs: Runs) -> str:
    target = target_of(runs)
    lines = []
    for label, of in runs.items():
        rows, lost = list(of.values()), against_fp32(runs, label)
        steps = [at_target(r, target, lambda row: row["step"]) for r in rows]
        sent = [at_target(r, target, lambda row: row["link_bytes"]) for r in rows]
        lines.append([label, f"{rows[0][0]['lr_factor']:g}", f"{final(runs, label):.2f}",
                      *(["", ""] if label == "fp32" else [show_points(lost), verdict(lost, 0, ("worse", "better"))]),
                      f"{sum(map(math.isinf, steps))}/{len(steps)}", show(median(steps)), show(median(sent) / 1e6)])
    return (f"Target: {target:.2f} %\n\n" + table(["method", "lr", "final, %", "against fp32, points [95 %]", "",
                                                    "missed", "steps to target", "MB to target"], lines))


def pair_table(runs: Runs) -> str:
    """PAIRS, by the seeds that both methods have."""
    lines = []
    for label, base in PAIRS:
        if label in runs and base in runs:
            more = against_fp32(runs, label, base)
            lines.append([label, base, show_points(more), verdict(more, 0, ("worse", "better"))])
    return table(["method", "against", "points [95 %]", ""], lines)


def time_table(runs: Runs) -> str:
    target = target_of(runs)
    lines = []
    for label in runs:
        cells = []
        for link in LINKS:
            taken = median(at_target(rows, target, lambda row: seconds(row, link)) for rows in runs[label].values())
            gain = ratios(runs, label, target, lambda row: seconds(row, link))
            cells.append("missed" if math.isinf(taken) else f"{show(taken)} s" if label == "fp32" else
                         f"{show(taken)} s: {show_faster(gain)}")
        lines.append([label, *cells])
    return table(["method", *(f"{link:g} Gb/s" for link in LINKS)], lines)


def bytes_table(runs: Runs) -> str:
    total = median(rows[-1]["link_bytes"] for rows in runs["fp32"].values())
    lines = []
    for label, of in runs.items():
        cells = []
        for share in BUDGETS:
            found = [quality_at(rows, total / share) for rows in of.values()]
            known = [quality for quality in found if quality is not None]
            cells.append(f"{median(known):.2f} {show_interval(known)}" if len(known) == len(found) else "no test yet")
        lines.append([label, *cells])
    return table(["method", *(f"quality at {total / share / 1e6:.3g} MB (fp32's / {share})" for share in BUDGETS)], lines)


def pilot_table(rows: Sequence[Row]) -> str:
    found: Dict[Any, Dict[float, float]] = {}
    for row in rows:
        found.setdefault((row["network"], row["label"]), {})[row["lr_factor"]] = row["quality"]
    factors = sorted({row["lr_factor"] for row in rows})
    best = [max(of, key=lambda f: of[f]) for of in found.values()]
    return f"The best factor is the largest for {best.count(factors[-1])} of {len(best)} and the smallest for " \
        f"{best.count(factors[0])}: a factor outside could be better there.\n\n" + table(["network", "method", *(f"{f:g} x" for f in factors)],
                 [[*case, *(f"{of[f]:.2f}" if f in of else "" for f in factors)] for case, of in found.items()])


def correlation_pairs(runs: Runs, figures: Dict[str, Row], figure: str, feedback: bool) -> List[Tuple[float, float]]:
    """For each method with or without feedback: a figure, so that more is better, and the final quality."""
    return [(-of[figure], final(runs, label)) for label, of in figures.items()
            if of["feedback"] == feedback and label in runs]


def correlation_table(runs: Runs, figures: Dict[str, Row]) -> str:
    return table(["smaller is better", "without feedback", "with feedback"],
                 [[figure, *(show_correlation(correlation_pairs(runs, figures, figure, feedback))
                             for feedback in (False, True))] for figure in FIGURES])
