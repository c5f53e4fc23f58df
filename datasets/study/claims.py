"""Writes what the study's rows say into docs/claims.md, between the marks <!-- study: NAME --> and <!-- end of study -->."""

import re
from pathlib import Path
from statistics import median
from typing import Callable, Dict, List, Sequence, Tuple

from figures import (FIGURES, LINKS, POINTS, Row, Runs, against_fp32, correlation_table, final, interval, ratios, seconds, show,
                     show_faster, show_points, table, target_of, verdict)

Results = Dict[str, Tuple[Runs, Dict[str, Row]]]  # network: runs, offline figures

OTHERS = ("qsgd", "terngrad", "top-k 15 %", "top-k 1 %, feedback")


def present(runs: Runs, labels: Sequence[str]) -> List[str]:
    return [label for label in labels if label in runs]


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
            sent = median(runs[label][seed][-1]["link_bytes"] / runs["fp32"][seed][-1]["link_bytes"] for seed in runs[label])
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


BLOCKS: Dict[str, Callable[[Results], str]] = {
    "falling theta": falling_theta, "wall time": wall_time, "sbc accuracy": sbc_accuracy,
    "alpha and accuracy": alpha_accuracy, "offline figures": offline,
}


def write(page: Path, results: Results, to: Path) -> None:
    """Copies the page to `to`, with new text between all marks."""
    text = page.read_text(encoding="utf-8")
    for name, block in BLOCKS.items():
        mark = re.compile(rf"(<!-- study: {name} -->\n).*?(<!-- end of study -->\n)", re.S)
        if not mark.search(text):
            raise ValueError(f"{page} has no mark <!-- study: {name} -->")
        new = block(results) if results else "Not run yet.\n"
        text = mark.sub(lambda found, new=new: f"{found[1]}\n{new}\n{found[2]}", text)
    to.write_text(text, encoding="utf-8")
