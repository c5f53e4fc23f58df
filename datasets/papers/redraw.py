#!/usr/bin/env python3
"""Redraw the figures and tables of the FFT, RedSync and SBC papers that gcbench has numbers for.

    ./dev papers            # builds what is needed, then runs this script

Writes pictures/, tables/ and index.html to the folder, with the commands. What an earlier run of the same build has made is
not made again, so the script may be interrupted. Needs gnuplot, and no Python package.
"""

import argparse
import html
import shutil
import sys
import time
from pathlib import Path
from typing import List, Tuple

import fft
import redsync
import sbc
from work import Item, Work

STYLE = """body { font: 16px/1.45 sans-serif; max-width: 62em; margin: 2em auto; padding: 0 1em; color: #222 }
img { max-width: 100%; border: 1px solid #ddd; margin: .4em 0 } pre { background: #f5f5f5; padding: .6em; overflow-x: auto }
h2 { margin-top: 2em } h3 { margin: 1.6em 0 .2em } .missing { color: #777 } code { font-size: 90% }"""


def shown(work: Work, item: Item) -> str:
    parts = [f"<h3>{html.escape(item.number)}</h3>", f"<p><b>The paper:</b> {html.escape(item.shows)}</p>"]
    if item.missing:
        return "\n".join([*parts, f"<p class=missing><b>Not given:</b> {html.escape(item.missing)}</p>"])
    parts.append(f"<p><b>Here:</b> {html.escape(item.ours)}</p>")
    for file in item.files:
        name = html.escape(file)
        if file.endswith(".png"):
            parts.append(f"<p><a href='{name}'><img src='{name}' alt='{name}' loading=lazy></a></p>")
        else:
            parts.append(f"<pre>{html.escape((work.folder / file).read_text())}</pre>"
                         f"<p><a href='{name}'>text</a>, <a href='{name[:-3]}json'>json</a></p>")
    return "\n".join(parts)


def page(work: Work, papers: List[Tuple[str, List[Item], List[str]]], seconds: float) -> str:
    parts = ["<!doctype html><html lang=en><meta charset=utf-8><title>The papers' figures</title>", f"<style>{STYLE}</style>",
             "<h1>The papers' figures and tables, redrawn</h1>",
             f"<p>gcbench build {work.build[:12]}. Times are those of this machine. docs/claims.md explains the page."
             f" The last run took {seconds:.0f} s.</p>"]
    for title, items, commands in papers:
        parts.append(f"<h2>{html.escape(title)}</h2>")
        parts += [shown(work, item) for item in items]
        parts.append("<details><summary>Commands, in this folder</summary><pre>" +
                     html.escape("\n".join(dict.fromkeys(commands))) + "</pre></details>")
    return "\n".join(parts) + "\n"


def main() -> None:
    root = Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description="Redraw the figures and tables of three papers.")
    parser.add_argument("-o", "--output", type=Path, help="folder (default: papers/; papers-quick/ with --quick)")
    parser.add_argument("--quick", action="store_true", help="small inputs and one network, in less than a minute")
    parser.add_argument("--build", type=Path, default=root / "build", help="build folder")
    parser.add_argument("--shared", type=Path, default=root.parent / "shared", help="its data/ has larger real gradients")
    args = parser.parse_args()
    if not shutil.which("gnuplot"):
        sys.exit("papers: gnuplot was not found; install gnuplot-nox")
    start = time.monotonic()
    output = args.output or root / ("papers-quick" if args.quick else "papers")
    work = Work(output.resolve(), (args.build / "cli/gcbench").resolve(),
                (args.build / "tests/contract/bench_select").resolve(), args.shared.resolve(), args.quick)
    papers = []
    for paper in (fft, redsync, sbc):
        print(paper.TITLE, file=sys.stderr, flush=True)
        work.commands = []
        papers.append((paper.TITLE, paper.items(work), work.commands))
    index = work.folder / "index.html"
    index.write_text(page(work, papers, time.monotonic() - start))
    made = [item for _, items, _ in papers for item in items if item.files]
    missing = [item for _, items, _ in papers for item in items if item.missing]
    print(f"{len(made)} figures and tables made, {len(missing)} cannot be given: {index}")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("papers: interrupted; the next run goes on from here")
