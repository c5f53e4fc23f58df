#!/usr/bin/env python3
"""Run the study of datasets/study/README.md, and make its tables and plots from the rows. `./dev study` calls this."""

import argparse
import concurrent.futures
import functools
import json
import math
import random
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "recipes"))

COMPOSITION = "sparse:theta=0.97,values=uniform,bits=2,index=adaptive,memory=ef"
METHODS = {  # label: method, and options of train_workers.py
    "fp32": "identity",
    "bf16": "bf16",
    "fft": "fft:chunk=4096",
    "top-k 1 %, feedback": "topk:theta=0.99,memory=ef",
    "qsgd": "qsgd",
    "qsgd by shares": "qsgd:collective=twoshot",
    "terngrad": "terngrad",
    "sbc, feedback": "sbc:memory=ef",
    "powersgd, feedback": "powersgd:rank=2,memory=ef",
    "3 % x 2 bits, feedback": COMPOSITION,
    "local 10": "identity --inner-steps 10",
    "local 10, 3 % x 2 bits": COMPOSITION + " --inner-steps 10",
}
NETWORKS = ("resnet8", "gpt")
FACTORS = (0.5, 1.0, 2.0)
LINKS = (0.1, 1.0, 10.0)  # Gb/s
LATENCY = 50e-6
BUDGETS = (10, 100)  # fp32's bytes divided by this
POINTS = 0.5  # the target is fp32's median final quality minus this


class Plan(NamedTuple):
    labels: Sequence[str]
    seeds: Sequence[int]
    pilots: Sequence[int]  # seeds of the choice of the learning rate
    words: Sequence[str]
    dump: str


FULL = Plan(tuple(METHODS), range(1, 11), (101,), (), "200-207")
QUICK = Plan(("fp32", "bf16", "qsgd", "top-k 1 %, feedback", "sbc, feedback", "local 10, 3 % x 2 bits"), (1, 2), (101,),
             ("--steps", "30", "--evaluations", "3", "--batch-size", "4"), "20-21")
Row = Dict[str, Any]
Runs = Dict[str, Dict[int, List[Row]]]  # label, seed


# ---- running ----

@functools.lru_cache(None)
def recipe() -> Any:
    """The module train_workers, whose tasks load their data only once in a process."""
    import train_workers
    train_workers.keep_memory()
    for network in train_workers.NETWORKS.values():
        network.task.load = functools.lru_cache(None)(network.task.load)
    return train_workers


def run_one(path: Path, words: Sequence[str]) -> str:
    rows = recipe().run(recipe().parse_args(words))
    part = path.with_suffix(".part")
    part.write_text("".join(json.dumps(row) + "\n" for row in rows))
    part.rename(path)
    return f"{path.name}: {rows[-1]['quality']:.2f} %"


def read(path: Path) -> List[Row]:
    return [row for row in map(json.loads, path.read_text().splitlines()) if row["record"] == "training"]


def run_all(jobs: Dict[Path, Sequence[str]]) -> None:
    """Runs the jobs whose files do not exist yet, two at a time with one thread each."""
    left = {path: words for path, words in jobs.items() if not path.exists()}
    print(f"{len(jobs) - len(left)} of {len(jobs)} runs are done", file=sys.stderr)
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        for i, done in enumerate(concurrent.futures.as_completed(
                [pool.submit(run_one, path, words) for path, words in left.items()]), 1):
            print(f"{i}/{len(left)} {done.result()}", file=sys.stderr, flush=True)


def job(folder: Path, network: str, label: str, seed: int, factor: float, plan: Plan) -> Tuple[Path, Sequence[str]]:
    words = [network, *METHODS[label].split(), "--label", label, "--seed", str(seed), "--lr-factor", str(factor),
             *plan.words]
    name = "".join(c if c.isalnum() else "-" for c in f"{network}-{label}")
    return folder / f"{name}-{seed}-{factor:g}.jsonl", words


def best_factor(rows: Sequence[Row]) -> float:
    """The factor with the highest median final quality; of equals the smallest."""
    found = defaultdict(list)
    for row in rows:
        found[row["lr_factor"]].append(row["quality"])
    return max(sorted(found), key=lambda factor: median(found[factor]))


def run_plan(folder: Path, rows_to: Path, plan: Plan, gcbench: str) -> None:
    runs = folder / "runs"
    runs.mkdir(parents=True, exist_ok=True)
    cases = [(network, label) for network in NETWORKS for label in plan.labels]
    pilots = {case: [job(runs, *case, seed, f, plan) for f in FACTORS for seed in plan.pilots] for case in cases}
    run_all(dict(one for of in pilots.values() for one in of))
    last = {case: [read(path)[-1] for path, _ in of] for case, of in pilots.items()}
    chosen = {case: best_factor(rows) for case, rows in last.items()}
    main = {case: [job(runs, *case, seed, chosen[case], plan) for seed in plan.seeds] for case in cases}
    run_all(dict(one for of in main.values() for one in of))
    environment = subprocess.run([gcbench, "info", "--format", "json"], check=True, text=True,
                                 stdout=subprocess.PIPE).stdout.splitlines()[0] + "\n"
    write(rows_to / "pilots.jsonl", environment, [row for rows in last.values() for row in rows])
    for network in NETWORKS:
        write(rows_to / f"{network}.jsonl", environment,
              [row for case in cases if case[0] == network for path, _ in main[case] for row in read(path)])
        if not (rows_to / f"offline-{network}.json").exists():
            figures = offline(folder, network, plan, gcbench)
            (rows_to / f"offline-{network}.json").write_text(json.dumps(figures, indent=1) + "\n")


def write(path: Path, environment: str, rows: Sequence[Row]) -> None:
    path.write_text(environment + "".join(json.dumps(row) + "\n" for row in rows))


def offline(folder: Path, network: str, plan: Plan, gcbench: str) -> Dict[str, Row]:
    """What gcbench says of the methods on gradients of a training with fp32."""
    dumps = folder / "dumps"
    dumps.mkdir(exist_ok=True)
    train = recipe()
    train.run(train.parse_args([network, "identity", "--seed", "201", *plan.words, "--dump", plan.dump,
                                "--dump-to", str(dumps / network)]))
    files = sorted(map(str, dumps.glob(f"{network}_step*.h5")))
    figures = {}
    for label in plan.labels:
        if "--inner-steps" in METHODS[label] or label == "fp32":
            continue
        spec, results = METHODS[label], folder / "offline.json"
        scope = ["--scope", "tensor" if spec.startswith("powersgd") else "model"]
        subprocess.run([gcbench, "replay", "--method", spec, *scope, "--results", str(results), *files], check=True,
                       stdout=subprocess.DEVNULL)
        replay = [row for row in map(json.loads, results.read_text().splitlines()) if row["record"] == "replay"][0]
        results.unlink()
        bare = spec.replace(",memory=ef", "").replace(":memory=ef", "")
        subprocess.run([gcbench, "compress", "--method", bare, *scope, "--per", "none", "--results", str(results),
                        *files], check=True, stdout=subprocess.DEVNULL)
        summary = [row for row in map(json.loads, results.read_text().splitlines()) if row["record"] == "summary"][0]
        results.unlink()
        figures[label] = {"rel_l2": summary["rel_l2"], "alpha": replay["alpha"],
                          "cumulative_error": replay["cumulative_error"]}
    return figures


# ---- figures of a run ----

def seconds(row: Row, link: float) -> float:
    return row["compute_seconds"] + row["coding_seconds"] + row["latency_steps"] * LATENCY \
        + 8 * row["link_bytes"] / (link * 1e9)


def at_target(rows: Sequence[Row], target: float, axis: Callable[[Row], float]) -> float:
    """Where a run first reaches the target, on a straight line between two tests; infinite if it does not."""
    before: Tuple[float, float] = (0.0, 0.0)
    for row in rows:
        here = axis(row), row["quality"]
        if here[1] >= target:
            if here[1] == before[1]:
                return here[0]
            share = (target - before[1]) / (here[1] - before[1])
            return before[0] + share * (here[0] - before[0]) if before[0] else here[0]
        before = here
    return math.inf


def quality_at(rows: Sequence[Row], budget: float) -> Optional[float]:
    """The quality when a worker has sent so many bytes: that of the last test before. None: no test before."""
    found = [row["quality"] for row in rows if row["link_bytes"] <= budget]
    return found[-1] if found else None


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


def show(value: float, digits: int = 3, lost: str = "missed") -> str:
    if math.isinf(value):
        return lost
    return f"{value:.{digits}g}" if abs(value) < 10 ** digits else f"{value:.0f}"


def show_interval(values: Sequence[float]) -> str:
    ends = interval(values)
    return f"[{show(ends[0])}, {show(ends[1])}]" if ends else "[too few]"


# ---- tables ----

def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def ratios(runs: Runs, label: str, target: float, axis: Callable[[Row], float]) -> List[float]:
    """fp32's value divided by the method's, for each seed; 0 if only the method misses the target, 1 if both do."""
    pairs = [(at_target(runs["fp32"][s], target, axis), at_target(runs[label][s], target, axis)) for s in runs[label]]
    return [1.0 if math.isinf(a) and math.isinf(b) else a / b for a, b in pairs]


def main_table(runs: Runs) -> str:
    final = {label: {seed: rows[-1]["quality"] for seed, rows in of.items()} for label, of in runs.items()}
    target = median(final["fp32"].values()) - POINTS
    lines = []
    for label, of in runs.items():
        rows = list(of.values())
        lost = [final[label][seed] - final["fp32"][seed] for seed in of]
        steps = [at_target(r, target, lambda row: row["step"]) for r in rows]
        sent = [at_target(r, target, lambda row: row["link_bytes"]) for r in rows]
        lines.append([label, f"{rows[0][0]['lr_factor']:g}", f"{median(final[label].values()):.2f}",
                      *(["", ""] if label == "fp32" else
                        [f"{median(lost):+.2f} {show_interval(lost)}", verdict(lost, 0, ("worse", "better"))]),
                      f"{sum(map(math.isinf, steps))}/{len(steps)}", show(median(steps)), show(median(sent) / 1e6)])
    return (f"Target: {target:.2f} %\n\n" + table(["method", "lr", "final, %", "against fp32, points [95 %]", "",
                                                    "missed", "steps to target", "MB to target"], lines))


def time_table(runs: Runs) -> str:
    target = median(rows[-1]["quality"] for rows in runs["fp32"].values()) - POINTS
    lines = []
    for label in runs:
        cells = []
        for link in LINKS:
            taken = median(at_target(rows, target, lambda row: seconds(row, link)) for rows in runs[label].values())
            gain = ratios(runs, label, target, lambda row: seconds(row, link))
            cells.append("missed" if math.isinf(taken) else f"{show(taken)} s" if label == "fp32" else
                         f"{show(taken)} s: {show(median(gain), lost='any')} x {show_interval(gain)} "
                         + verdict(gain, 1, ("slower", "faster")))
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
    found: Dict[Any, Any] = defaultdict(dict)
    for row in rows:
        found[row["network"], row["label"]][row["lr_factor"]] = row["quality"]
    return table(["network", "method", *(f"{f:g} x" for f in FACTORS)],
                 [[*case, *(f"{of[f]:.2f}" for f in FACTORS)] for case, of in found.items()])


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


def correlation_table(runs: Runs, figures: Dict[str, Row]) -> str:
    lines = []
    for figure in ("rel_l2", "alpha", "cumulative_error"):
        cells = []
        for feedback in (False, True):
            pairs = [(-figures[label][figure], median(rows[-1]["quality"] for rows in runs[label].values()))
                     for label in figures if ("memory=" in METHODS[label]) == feedback and label in runs]
            ends = bootstrap(pairs)
            cells.append(f"{spearman(pairs):.2f} " + (f"[{ends[0]:.2f}, {ends[1]:.2f}]" if ends else "[too few]")
                         + f", {len(pairs)} methods" if len(pairs) > 1 else "too few methods")
        lines.append([figure, *cells])
    return table(["smaller is better", "without feedback", "with feedback"], lines)


def make_tables(folder: Path, rows_from: Path, gcbench: str) -> str:
    parts = ["# Learning rates: final quality, %\n\n" + pilot_table(read(rows_from / "pilots.jsonl"))]
    for network in NETWORKS:
        path, runs = rows_from / f"{network}.jsonl", defaultdict(dict)  # type: Any
        for row in read(path):
            runs[row["label"]].setdefault(row["seed"], []).append(row)
        figures = json.loads((rows_from / f"offline-{network}.json").read_text())
        parts += [f"# {network}\n\n" + main_table(runs), "Time to the target, and how much faster than fp32 [95 %]:\n\n"
                  + time_table(runs), "At equal bytes, % [95 %]:\n\n" + bytes_table(runs),
                  "Rank correlation of offline figures with final quality [95 %]:\n\n"
                  + correlation_table(runs, figures)]
        timed = folder / f"time-{network}.jsonl"
        write(timed, path.read_text().splitlines()[0] + "\n",
              [{**row, "bandwidth_gbit": link, "latency_seconds": LATENCY, "seconds": seconds(row, link)}
               for link in LINKS for row in read(path)])
        for only, results in (("accuracy-steps,accuracy-bytes", path), ("accuracy-time", timed)):
            subprocess.run([gcbench, "plot", "-q", "--force", "--type", "svg", "--only", only, str(results), "-o",
                            str(folder / f"plots-{network}")], check=True, stdout=subprocess.DEVNULL)
    return "\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few short runs: small versions of all tables and plots")
    parser.add_argument("--tables", action="store_true", help="no runs: tables and plots from the rows that are there")
    parser.add_argument("--gcbench", default="build/cli/gcbench", help="the command")
    parser.add_argument("-o", "--output", help="folder (default: build/study, or build/study-quick)")
    args = parser.parse_args()
    folder = Path(args.output or "build/study" + "-quick" * args.quick)
    folder.mkdir(parents=True, exist_ok=True)
    rows = folder if args.quick else HERE
    if not args.tables:
        run_plan(folder, rows, QUICK if args.quick else FULL, args.gcbench)
    text = make_tables(folder, rows, args.gcbench)
    (folder / "tables.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
