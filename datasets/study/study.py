#!/usr/bin/env python3
"""Run the study of datasets/study/README.md, and make its tables and plots from the rows. `./dev study` calls this."""

import argparse
import concurrent.futures
import functools
import gzip
import json
import shutil
import subprocess
import sys
import zlib
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "recipes")]

import claims  # noqa: E402
from figures import (LATENCY, LINKS, Row, Runs, bytes_table, correlation_table, main_table, pair_table, pilot_table, seconds,  # noqa: E402
                     time_table, with_common_compute)
from methods import FULL, METHODS, NETWORKS, QUICK, Case, Plan, has_feedback, words_of  # noqa: E402

FACTORS = (0.5, 1.0, 2.0)


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
    write(path, "", rows)
    return f"{path.name}: {rows[-1]['quality']:.2f} %"


def read(path: Path, records: Sequence[str] = ("training",)) -> List[Row]:
    """The rows of these kinds in a file, compressed or not; none if it does not exist."""
    if not path.exists():
        return []
    rows, number = [], 0
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rt", errors="replace") as file:
            for number, line in enumerate(file, 1):
                rows += [row for row in [json.loads(line)] if row["record"] in records]
    except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError):
        sys.exit(f"study: {path}: line {max(number, 1)} is not a row: remove the file, and what it lacks is run again")
    return rows


def run_all(jobs: Dict[Path, Sequence[str]]) -> None:
    """Runs the jobs whose files do not exist yet, two at a time with one thread each."""
    left = {path: words for path, words in jobs.items() if not path.exists()}
    print(f"{len(jobs) - len(left)} of {len(jobs)} runs are done", file=sys.stderr)
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        for i, done in enumerate(concurrent.futures.as_completed(
                [pool.submit(run_one, path, words) for path, words in left.items()]), 1):
            print(f"{i}/{len(left)} {done.result()}", file=sys.stderr, flush=True)


class Study:
    """A plan, and the folder of its runs. folder: for runs, dumps, tables and plots; rows_at: for the rows that are kept."""

    def __init__(self, plan: Plan, folder: Path, rows_at: Path, gcbench: str) -> None:
        self.plan, self.folder, self.rows_at, self.gcbench = plan, folder, rows_at, gcbench
        self.runs, self.table = folder / "runs", rows_at / "rows.jsonl.gz"

    def job(self, case: Case, seed: int, factor: float) -> Tuple[Path, Sequence[str]]:
        network, label = case
        words = [network, *words_of(network, label).split(), "--label", label, "--seed", str(seed), "--lr-factor",
                 str(factor), *self.plan.words]
        name = "".join(c if c.isalnum() else "-" for c in f"{network}-{label}")
        return self.runs / f"{name}-{seed}-{factor:g}.jsonl", words

    def pilots(self, case: Case) -> Dict[Path, Sequence[str]]:
        return dict(self.job(case, seed, factor) for factor in FACTORS for seed in self.plan.pilots)

    def main_runs(self, case: Case) -> Dict[Path, Sequence[str]]:
        """With the learning rate that the pilots chose; none if they are not finished."""
        if not all(path.exists() for path in self.pilots(case)):
            return {}
        factor = best_factor([read(path)[-1] for path in self.pilots(case)])
        return dict(self.job(case, seed, factor) for seed in self.plan.seeds)

    def run(self, only: Sequence[str]) -> None:
        """Runs the stages one after the other, and keeps the rows after each. only: see chosen()."""
        self.runs.mkdir(parents=True, exist_ok=True)
        for stage in self.plan.stages:
            cases = chosen(stage, only)
            run_all({path: words for case in cases for path, words in self.pilots(case).items()})
            self.keep()
            self.offline(cases)
            main = [list(self.main_runs(case).items()) for case in cases]
            run_all(dict(job for of_a_seed in zip(*main) for job in of_a_seed))  # so that all methods have the same seeds
            self.keep()

    # ---- rows that are kept ----

    def kept(self) -> Tuple[Dict[Any, Row], Dict[Any, List[Row]], Dict[Any, List[Row]]]:
        """What is kept: offline figures by network and label, pilots by factor too, other runs by seed too."""
        rows = read(self.table, ("training", "offline"))
        runs = [row for row in rows if row["record"] == "training"]
        return ({(row["network"], row["label"]): row for row in rows if row["record"] == "offline"},
                by_run([row for row in runs if row["seed"] in self.plan.pilots], "lr_factor"),
                by_run([row for row in runs if row["seed"] not in self.plan.pilots], "seed"))

    def keep(self, more: Dict[Any, Row] = {}) -> None:
        """Adds the rows of finished runs, and more offline figures, to those that are kept."""
        offline, pilots, rows = self.kept()
        offline.update(more)
        for case in self.plan.cases():
            pilots.update(by_run([read(path)[-1] for path in self.pilots(case) if path.exists()], "lr_factor"))
            rows.update(by_run([row for path in self.main_runs(case) for row in read(path)], "seed"))
        cases = self.plan.cases()
        found = [row for case, row in offline.items() if case in cases] \
            + [row for case in cases for f in FACTORS for row in pilots.get((*case, f), [])] \
            + [row for network in NETWORKS for case in self.plan.cases(network) for seed in self.plan.seeds
               for row in rows.get((*case, seed), [])]
        if found:
            write(self.table, self.environment(), found)

    def environment(self) -> str:
        return subprocess.run([self.gcbench, "info", "--format", "json"], check=True, text=True,
                              stdout=subprocess.PIPE).stdout.splitlines()[0] + "\n"

    def figures(self, network: str) -> Dict[str, Row]:
        return {label: dict(row, feedback=has_feedback(network, label))
                for (of, label), row in self.kept()[0].items() if of == network}

    # ---- offline figures ----

    def dump(self, network: str) -> List[str]:
        """The files of a dump of a training with fp32."""
        dumps = self.folder / "dumps"
        if not list(dumps.glob(f"{network}_step*.h5")):
            dumps.mkdir(exist_ok=True)
            train = recipe()
            train.run(train.parse_args([network, "identity", "--seed", "201", *self.plan.words, "--dump", self.plan.dump,
                                        "--dump-to", str(dumps / network)]))
        return sorted(map(str, dumps.glob(f"{network}_step*.h5")))

    def offline(self, cases: Sequence[Case]) -> None:
        """What gcbench says of the methods on gradients of a training with fp32; for those whose options do not change what
        is sent."""
        for network in dict.fromkeys(network for network, _ in cases):
            figures = self.figures(network)
            left = [label for of, label in cases if of == network and label not in figures
                    and " --" not in words_of(network, label) and label != "fp32"]
            if left:
                self._offline_of(network, left)

    def _offline_of(self, network: str, left: Sequence[str]) -> None:
        files, found = self.dump(network), {}
        for label in left:
            spec = words_of(network, label)
            name, _, pairs = spec.partition(":")
            bare = name + ":" + ",".join(p for p in pairs.split(",") if p and not p.startswith(("memory=", "momentum=")))
            scope = ["--scope", "tensor" if name == "powersgd" else "model"]
            replay = self._row("replay", "replay", "--method", spec, *scope, *files)
            summary = self._row("summary", "compress", "--method", bare.rstrip(":"), *scope, "--per", "none", *files)
            found[network, label] = {"record": "offline", "network": network, "label": label, "rel_l2": summary["rel_l2"],
                                     "alpha": replay["alpha"], "cumulative_error": replay["cumulative_error"]}
        self.keep(found)

    def _row(self, record: str, *words: str) -> Row:
        results = self.folder / "offline.json"
        results.unlink(missing_ok=True)
        subprocess.run([self.gcbench, *words, "--results", str(results)], check=True, stdout=subprocess.DEVNULL)
        return [row for row in map(json.loads, results.read_text().splitlines()) if row["record"] == record][0]

    # ---- tables ----

    def tables(self) -> str:
        """Tables of the rows that are kept, and plots, in the folder of runs. Writes the study's tables in docs too."""
        _, pilots, kept = self.kept()
        parts = ["What the runs of datasets/study/README.md gave, by `./dev study --tables`.\n",
                 "# Learning rates: final quality, %\n\n" + pilot_table([row for rows in pilots.values() for row in rows])]
        results: claims.Results = {}
        for network in dict.fromkeys(network for network, _ in self.plan.cases()):
            runs: Any = defaultdict(dict)
            for (of, label, seed), rows in kept.items():
                if of == network:
                    runs[label][seed] = rows
            runs = {label: {seed: rows for seed, rows in of.items() if seed in runs.get("fp32", {})} for label, of in runs.items()}
            runs = {label: of for label, of in runs.items() if of}
            parts.append(f"# {network}\n" + self._missing(network, runs))
            if runs:
                results[network] = with_common_compute(runs), self.figures(network)
                parts += self._tables_of(network, *results[network])
        docs = HERE.parents[1] / "docs"
        claims.write(docs, results, docs if self.rows_at == HERE else self.folder)
        text = "\n".join(parts)
        (self.folder / "tables.md").write_text(text)
        return text

    def _missing(self, network: str, runs: Runs) -> str:
        labels, seeds = [label for _, label in self.plan.cases(network)], len(self.plan.seeds)
        left = [label for label in labels if label not in runs]
        part = [f"{label} ({len(runs[label])} of {seeds})" for label in labels if 0 < len(runs.get(label, ())) < seeds]
        return (f"\nNot run yet: {'; '.join(left)}.\n" if left else "") \
            + (f"\nOnly some seeds have run: {'; '.join(part)}.\n" if part else "")

    def _tables_of(self, network: str, runs: Runs, figures: Dict[str, Row]) -> List[str]:
        plain, timed = self.folder / f"bytes-{network}.jsonl", self.folder / f"time-{network}.jsonl"
        all_rows = [row for of in runs.values() for rows in of.values() for row in rows]
        environment = json.dumps(read(self.table, ("environment",))[0]) + "\n"
        write(plain, environment, all_rows)
        write(timed, environment, [{**row, "bandwidth_gbit": link, "latency_seconds": LATENCY, "seconds": seconds(row, link)}
                                   for link in LINKS for row in all_rows])
        pictures = []
        for results, page, name, words in ((plain, "accuracy-bytes", "bytes", "by bytes"),
                                           (timed, f"accuracy-bytes-{LINKS.index(1) + 1}", "time",
                                            "by seconds, with links of 1 Gb/s")):
            folder = self.folder / f"plots-{network}-{name}"
            subprocess.run([self.gcbench, "plot", "-q", "--force", "--type", "svg", "--only", "accuracy-bytes", str(results), "-o",
                            str(folder)], check=True, stdout=subprocess.DEVNULL)
            shutil.copy(folder / f"{page}.svg", self.folder / f"{network}-{name}.svg")
            pictures.append(f"![quality of {network} {words}]({network}-{name}.svg)\n")
        return [main_table(runs), *pictures,
                "Other comparisons, in pairs of seeds:\n\n" + pair_table(runs),
                "Time to the target, and how much faster than fp32 [95 %]. *missed*: the method misses the target; *neither*: fp32 "
                "does too; *alone*: only the method reaches it.\n\n" + time_table(runs),
                "At equal bytes, % [95 %]. A run is cut at the bytes, where its learning rate may still be high:\n\n"
                + bytes_table(runs),
                "Errors on recorded gradients, and final quality [95 %]:\n\n" + claims.alpha_accuracy({network: (runs, figures)}),
                "Rank correlation of these errors with final quality [95 %]:\n\n" + correlation_table(runs, figures),
                "How many times as fast the FFT reaches the target [95 %]:\n\n" + claims.fft_times({network: (runs, figures)})]


def chosen(cases: Sequence[Case], only: Sequence[str]) -> List[Case]:
    """Those of the networks and labels in `only`; without a network in it all networks, without a label all labels."""
    networks = set(only) & set(NETWORKS) or set(NETWORKS)
    labels = set(only) & set(METHODS) or set(METHODS)
    return [case for case in cases if case[0] in networks and case[1] in labels]


def best_factor(rows: Sequence[Row]) -> float:
    """The factor with the highest median final quality; of equals the smallest."""
    found = defaultdict(list)
    for row in rows:
        found[row["lr_factor"]].append(row["quality"])
    return max(sorted(found), key=lambda factor: median(found[factor]))


def by_run(rows: Sequence[Row], key: str) -> Dict[Any, List[Row]]:
    """The rows of each network, label, and seed or factor."""
    found: Dict[Any, List[Row]] = {}
    for row in rows:
        found.setdefault((row["network"], row["label"], row[key]), []).append(row)
    return found


def write(path: Path, environment: str, rows: Sequence[Row]) -> None:
    """Writes rows, compressed if the name says so."""
    text = (environment + "".join(json.dumps(row) + "\n" for row in rows)).encode()
    part = path.with_suffix(".part")  # so that a full disk, or an end in the middle, leaves the file as it was
    try:
        part.write_bytes(gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)
        part.rename(path)
    except OSError as error:
        sys.exit(f"study: cannot write {part}: {error.strerror}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few short runs: small versions of all tables and plots")
    parser.add_argument("--only", nargs="+", default=[], metavar="LABEL", choices=[*METHODS, *NETWORKS],
                        help="run only these methods, or networks, or these methods of these networks: " + "; ".join([*METHODS, *NETWORKS]).replace("%", "%%"))
    parser.add_argument("--tables", action="store_true",
                        help="no runs: tables and plots from the rows that are there and the runs that are finished")
    parser.add_argument("--gcbench", default="build/cli/gcbench", help="the command")
    parser.add_argument("-o", "--output", help="folder of runs and plots (default: build/study, or build/study-quick)")
    args = parser.parse_args()
    folder = Path(args.output or "build/study" + "-quick" * args.quick)
    folder.mkdir(parents=True, exist_ok=True)
    study = Study(QUICK if args.quick else FULL, folder, folder if args.quick else HERE, args.gcbench)
    if not args.tables:
        study.run(args.only)
    elif study.runs.exists():
        study.keep()
    print(study.tables())


if __name__ == "__main__":
    main()
