"""Writes what the study's rows say into pages of docs, between the marks <!-- study: NAME --> and <!-- end of study -->."""

import math
import re
from pathlib import Path
from statistics import median
from typing import Callable, Dict, List, Optional, Sequence, Tuple

from figures import (FIGURES, LINKS, POINTS, TRANSFORMED, Row, Runs, against_fp32, at_target, correlation_pairs, interval, ratios,
                     seconds, show, show_correlation, show_faster, show_points, table, target_of, verdict)
from methods import words_of

Results = Dict[str, Tuple[Runs, Dict[str, Row]]]  # network: runs, offline figures

# in docs/training.md
SHOWN = ("bf16", "qsgd by shares", "terngrad", "fft", "found by sweep, feedback", "powersgd, feedback",
         "top-k 1 %, feedback", "sbc, feedback", "local 10, plain",
         "local 10, 4 bits", "mxfp8 by shares", "mxfp4 by shares", "mxfp4 by shares, loco", "int4 by shares", "int4 by shares, loco",
         "onebit")
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


TIMED = ("resnet8", "gpt")  # networks whose times training.md shows
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
    """One table, by the kind of error on the first network, in each kind the best method first."""
    first, lines = next(iter(results)), []
    for label in SHOWN:
        shown = [network for network, (runs, _) in results.items() if label in runs]
        if not shown:
            continue
        spec = words_of(shown[0], label).split(" ")[0]
        figures = results[first][1]
        error = figures[label]["alpha"] if label in figures else None
        lost = {network: against_fp32(results[network][0], label) for network in shown}
        speeds = {network: [how_fast(results[network][0], label, link) for link in LINKS] for network in shown if network in TIMED}
        lines.append((KINDS.index(kind_of(spec, error)), -median(lost[shown[0]]),
                      [kind_of(spec, error), f"`{spec}`" if label == spec else f"{label}: `{spec}`", f"{bytes_against_fp32(results[shown[0]][0], label):.2g}",
                       *(show_points(lost[network]) if network in shown else "" for network in results),
                       *(", ".join(speeds[network] if len(set(speeds[network])) > 1 else speeds[network][:1]) if network in speeds else "" for network in TIMED)]))
    return table(["error", "method", "bytes / fp32's", *(f"{network}, points [95 %]" for network in results),
                  *(f"{network}, times as fast" for network in TIMED)], [line for *_, line in sorted(lines)])


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


def quality_table(results: Results, labels: Sequence[str], more: str, what: Callable[[Runs, str], str]) -> str:
    """For each method: a figure of its bytes on the first network, and its points on every network that ran several of them."""
    networks = {network: runs for network, (runs, _) in results.items() if len(present(runs, labels)) > 1}
    lines = [[label, what(next(runs for runs in networks.values() if label in runs), label),
              *(show_points(against_fp32(runs, label)) if label in runs else "" for runs in networks.values())]
             for label in labels if any(label in runs for runs in networks.values())]
    return table(["method", more, *(f"{network}, points [95 %]" for network in networks)], lines)


def falling_theta(results: Results) -> str:
    text = quality_table(results, ("fft whole", "fft whole 0.9", "fft whole 0.9, then 0", "fft whole 0.9, falling", "fft",
                                   "fft, falling", "fft, feedback"),
                         "bytes / fp32's", lambda runs, label: f"{bytes_against_fp32(runs, label):.2g}")
    said = [f"{network}: {is_level(against_fp32(runs, 'fft whole 0.9, falling'))}" for network, (runs, _) in results.items()
            if "fft whole 0.9, falling" in runs]
    return text + "\nDoes *fft whole 0.9, falling* train like fp32? " + (f"**{'; '.join(said)}.**\n" if said else "Not run yet.\n")


def fft_times(results: Results) -> str:
    """How many times as fast as other methods the FFT reaches the target."""
    return table(["network", "method", "compared with", *(f"{link:g} Gb/s" for link in LINKS)],
                 [[network, fft, other, *map(show_faster, gains)] for network, fft, other, gains in comparisons(results)])


def comparisons(results: Results) -> List[Tuple[str, str, str, List[List[float]]]]:
    """Network, FFT, another method, and for each link the ratios of their times to the target."""
    return [(network, fft, other, [ratios(runs, fft, target_of(runs), lambda row, link=link: seconds(row, link), other)
                                   for link in LINKS])
            for network, (runs, _) in results.items()
            for fft in present(runs, ("fft", "fft whole")) for other in present(runs, OTHERS)]


def wall_time(results: Results) -> str:
    """Verdicts of the FFT against other methods, on all links."""
    cells: Dict[Tuple[str, str], Dict[str, List[str]]] = {}
    for network, fft, other, gains in comparisons(results):
        cells.setdefault((network, fft), {})[other] = [
            "both miss" if show_faster(gain) == "neither" else verdict(gain, 1, ("slower", "faster")) for gain in gains]
    if not cells:
        return "Not run yet.\n"
    words = [word.replace("both miss", "undecided") for of in cells.values() for found in of.values() for word in found]
    return table(["network", "FFT", *OTHERS],
                 [[*case, *(", ".join(dict.fromkeys(of.get(other, ["-"]))) for other in OTHERS)] for case, of in cells.items()]) \
        + "\n**" + ", ".join(f"{word} in {words.count(word)}" for word in ("faster", "slower", "undecided")) \
        + f" of {len(words)} comparisons.**\n"


def ratio_of_run(runs: Runs, label: str) -> str:
    """fp32's bytes divided by those of the method's messages, in the whole run."""
    return show(median(runs["fp32"][seed][-1]["wire_bytes"] / runs[label][seed][-1]["wire_bytes"] for seed in runs[label]), 4)


def sbc_accuracy(results: Results) -> str:
    return quality_table(results, ("sbc, feedback", "sbc, delay 10", "top-k 1 %, feedback", "dgc 0.1 %, warm-up", "local 10",
                                   "local 10, plain"), "ratio", ratio_of_run)


def alpha_accuracy(results: Results) -> str:
    lines = []
    for network, (runs, figures) in results.items():
        for label in sorted(present(runs, list(figures)), key=lambda one: figures[one]["alpha"]):
            of = figures[label]
            lines.append([network, label, "yes" if of["feedback"] else "no", *(f"{of[figure]:.3g}" for figure in FIGURES),
                          show_points(against_fp32(runs, label))])
    return table(["network", "method", "feedback", *FIGURES, "against fp32, points [95 %]"], lines)


def offline(results: Results) -> str:
    """Rank correlations with final quality, where a network has enough methods for an interval."""
    lines = []
    for network, (runs, figures) in results.items():
        for figure in FIGURES:
            cells = [show_correlation(correlation_pairs(runs, figures, figure, feedback)) for feedback in (False, True)]
            if not any(cell.startswith("too few") for cell in cells):
                lines.append([network, figure, *cells])
    return table(["network", "smaller is better", "without feedback", "with feedback"], lines)


def transforms(results: Results) -> str:
    """The final quality of methods with a transform or tiles, minus that of others."""
    lines = []
    for network, (runs, _) in results.items():
        for label, base in TRANSFORMED:
            both = runs.get(label, {}).keys() & runs.get(base, {}).keys()
            if both:
                share = median(runs[label][seed][-1]["link_bytes"] / runs[base][seed][-1]["link_bytes"] for seed in both)
                more = against_fp32(runs, label, base)
                lines.append([network, label, base, f"{share:.2g}", show_points(more), verdict(more, 0, ("worse", "better"))])
    return table(["network", "method", "against", "share of its bytes", "points [95 %]", "verdict"], lines) if lines else "Not run yet.\n"


PAGES: Dict[str, Dict[str, Callable[[Results], str]]] = {
    "claims.md": {"falling theta": falling_theta, "wall time": wall_time, "sbc accuracy": sbc_accuracy, "offline figures": offline,
                  "transforms": transforms},
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
