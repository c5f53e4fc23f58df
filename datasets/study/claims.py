"""Writes what the study's rows say into pages of docs, between the marks <!-- study: NAME --> and <!-- end of study -->."""

import math
import re
from pathlib import Path
from statistics import median
from typing import Callable, Dict, List, Optional, Sequence, Tuple

from figures import (FIGURES, LINKS, POINTS, Row, Runs, against_fp32, at_target, correlation_table, final, interval, ratios,
                     seconds, show, show_faster, show_points, table, target_of, verdict)
from methods import words_of

Results = Dict[str, Tuple[Runs, Dict[str, Row]]]  # network: runs, offline figures

# in docs/training.md
SHOWN = ("bf16", "qsgd by shares", "qsgd", "terngrad", "fft", "fft, feedback", "fft whole 0.9, falling", "found by sweep, feedback",
         "powersgd, feedback", "top-k 15 %", "top-k 1 %, feedback", "3 % x 2 bits, feedback", "dgc 0.1 %, warm-up", "redsync 0.1 %",
         "sbc, feedback", "local 10", "local 10, plain", "local 10, 4 bits", "local 10, plain, 2 bits, feedback", "local 50")
OTHERS = ("qsgd", "terngrad", "top-k 15 %", "top-k 1 %, feedback")


def present(runs: Runs, labels: Sequence[str]) -> List[str]:
    return [label for label in labels if label in runs]


def bytes_against_fp32(runs: Runs, label: str) -> float:
    """On a worker's link in the whole run."""
    return median(runs[label][seed][-1]["link_bytes"] / runs["fp32"][seed][-1]["link_bytes"] for seed in runs[label])


def how_fast(runs: Runs, label: str, link: float) -> str:
    """How many times as fast as fp32 a method reaches the target; -: most runs do not."""
    target = target_of(runs)
    reached = [math.isfinite(at_target(rows, target, lambda row: row["step"])) for rows in runs[label].values()]
    gains = ratios(runs, label, target, lambda row: seconds(row, link))
    if 2 * sum(reached) <= len(reached):
        return "-"
    return "undecided" if verdict(gains, 1, ("slower", "faster")) == "undecided" else show(median(gains), 2, "alone")


KINDS = ("nearly exact", "noise", "lasting", "-")
UNBIASED = ("qsgd", "natural")


def kind_of(spec: str, error: Optional[float]) -> str:
    """The kind of a method's error (docs/payoff.md), by its error of the mean on gradients of a training with fp32."""
    if error is None:
        return KINDS[3]
    if error <= 0.05:
        return KINDS[0]
    return KINDS[1] if spec.split(":")[0] in UNBIASED and "rounding=nearest" not in spec else KINDS[2]


def trainings(results: Results) -> str:
    """A table for each network, by the kind of error, in each the best method first."""
    text = ""
    for network, (runs, figures) in results.items():
        lines = []
        for label in sorted(present(runs, SHOWN), key=lambda one: -median(against_fp32(runs, one))):
            spec = words_of(network, label).split(" ")[0]
            error = figures[label]["alpha"] if label in figures else None
            lines.append([kind_of(spec, error), label, f"`{spec}`", "-" if error is None else f"{error:.2g}",
                          show_points(against_fp32(runs, label)), f"{bytes_against_fp32(runs, label):.2g}",
                          *(how_fast(runs, label, link) for link in LINKS)])
        lines.sort(key=lambda line: KINDS.index(line[0]))
        text += f"\n`{network}`:\n\n" + table(["kind", "name", "method", "error of the mean", "points [95 %]", "bytes / fp32's",
                                               *(f"{link:g} Gb/s" for link in LINKS)], lines)
    return text.lstrip("\n")


def is_level(lost: Sequence[float]) -> str:
    """Whether a method trains like fp32: within POINTS."""
    ends = interval(lost)
    if not ends:
        return "undecided, with too few seeds"
    if ends[1] < -POINTS:
        return f"no: it loses {-median(lost):.1f} points"
    if ends[0] >= -POINTS:
        return f"yes, within {POINTS} points"
    return "undecided"


def falling_theta(results: Results) -> str:
    lines, said = [], []
    for network, (runs, _) in results.items():
        for label in present(runs, ("fft whole", "fft whole 0.9", "fft whole 0.9, then 0", "fft whole 0.9, falling", "fft",
                                    "fft, falling", "fft, feedback")):
            lost = against_fp32(runs, label)
            sent = bytes_against_fp32(runs, label)
            lines.append([network, label, f"{final(runs, label):.2f}", show_points(lost), is_level(lost), f"{sent:.2g}"])
            if label == "fft whole 0.9, falling":
                said.append(f"{network}: {is_level(lost)}")
    text = table(["network", "method", "final, %", "against fp32, points [95 %]", "like fp32?", "bytes / fp32's"], lines)
    return text + "\nDoes the FFT of the whole network with a falling theta (0.9 times the root of the learning rate's share) " \
        f"train like fp32?\n{'**' + '; '.join(said) + '.**' if said else 'Not run yet.'}\n"


def wall_time(results: Results) -> str:
    lines, words = [], []
    for network, (runs, _) in results.items():
        target = target_of(runs)
        for fft in present(runs, ("fft", "fft whole")):
            for other in present(runs, OTHERS):
                gains = [ratios(runs, fft, target, lambda row, link=link: seconds(row, link), other) for link in LINKS]
                lines.append([network, fft, other, *map(show_faster, gains)])
                words += [verdict(gain, 1, ("slower", "faster")) for gain in gains]
    text = table(["network", "method", "compared with", *(f"{link:g} Gb/s" for link in LINKS)], lines)
    if not words:
        return "Not run yet.\n"
    return text + "\n**" + ", ".join(f"{word} in {words.count(word)}" for word in ("faster", "slower", "undecided")) \
        + f" of {len(words)} comparisons.**\n"


def sbc_accuracy(results: Results) -> str:
    lines = []
    for network, (runs, _) in results.items():
        for label in present(runs, ("sbc, feedback", "sbc, delay 10", "top-k 1 %, feedback", "dgc 0.1 %, warm-up", "local 10")):
            ratio = median(runs["fp32"][s][-1]["wire_bytes"] / runs[label][s][-1]["wire_bytes"] for s in runs[label])
            lost = against_fp32(runs, label)
            lines.append([network, label, show(ratio, 4), f"{final(runs, label):.2f}", show_points(lost), is_level(lost)])
    return table(["network", "method", "ratio of the whole run", "final, %", "against fp32, points [95 %]", "like fp32?"], lines)


def alpha_accuracy(results: Results) -> str:
    lines = []
    for network, (runs, figures) in results.items():
        for label in sorted(present(runs, list(figures)), key=lambda one: figures[one]["alpha"]):
            of = figures[label]
            lines.append([network, label, "yes" if of["feedback"] else "no", *(f"{of[figure]:.3g}" for figure in FIGURES),
                          show_points(against_fp32(runs, label))])
    return table(["network", "method", "feedback", *FIGURES, "against fp32, points [95 %]"], lines)


def offline(results: Results) -> str:
    return "\n".join(f"{network}:\n\n{correlation_table(runs, figures)}" for network, (runs, figures) in results.items())


PAGES: Dict[str, Dict[str, Callable[[Results], str]]] = {
    "claims.md": {"falling theta": falling_theta, "wall time": wall_time, "sbc accuracy": sbc_accuracy,
                  "alpha and accuracy": alpha_accuracy, "offline figures": offline},
    "training.md": {"trainings": trainings},
}


def write(docs: Path, results: Results, to: Path) -> None:
    """Copies the pages from one folder to another, with new text between all marks."""
    for page, blocks in PAGES.items():
        _write_page(docs / page, blocks, results, to / page)


def _write_page(page: Path, blocks: Dict[str, Callable[[Results], str]], results: Results, to: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for name, block in blocks.items():
        mark = re.compile(rf"(<!-- study: {name} -->\n).*?(<!-- end of study -->\n)", re.S)
        if not mark.search(text):
            raise ValueError(f"{page} has no mark <!-- study: {name} -->")
        new = block(results) if results else "Not run yet.\n"
        text = mark.sub(lambda found, new=new: f"{found[1]}\n{new}\n{found[2]}", text)
    to.write_text(text, encoding="utf-8")
