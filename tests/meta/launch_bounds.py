#!/usr/bin/env python3
"""
Every kernel that is launched with more than 512 threads has __launch_bounds__, or the compiler may give it more registers
than a block of that many has.

    launch_bounds.py ROOT

Launches are read from kernels/: a number of threads is a constant, known by its name, or it is taken to be many.
"""
import re
import sys
from pathlib import Path

FEW = 512

root = Path(sys.argv[1])
sources = {f: f.read_text().replace("->", ".") for f in sorted((root / "kernels").rglob("*.cu*"))}
failed = []

# Threads by the name of their constant; of one that several files have, the largest.
threads = {}
constants = [c for text in sources.values() for c in re.findall(r"constexpr \w+ (\w+) =\s*([\w:.]+);", text)]
for _ in range(3):  # constants of constants
    for name, value in constants:
        n = int(value) if value.isdigit() else threads.get(value.split("::")[-1], 0)
        threads[name] = max(n, threads.get(name, 0))


def arguments(text, at):
    """Of the call whose parenthesis opens at `at`."""
    found, depth, start = [], 0, at + 1
    for i in range(at, len(text)):
        if text[i] in "([{":
            depth += 1
        elif text[i] in ")]}":
            depth -= 1
        if depth == 0 or (depth == 1 and text[i] == "," and text[start:i].count("<") <= text[start:i].count(">")):
            found.append(" ".join(text[start:i].split()))
            start = i + 1
        if depth == 0:
            return found


BOUNDS = re.compile(r"__launch_bounds__\([^)]*\)")
kernels = {}  # name -> {file: has it bounds?}
for f, text in sources.items():
    for head in re.findall(r"__global__([^;{]*)\{", text):
        name = re.search(r"(\w+)\s*\(", BOUNDS.sub("", head)).group(1)
        kernels.setdefault(name, {})[f] = bool(BOUNDS.search(head))


def bounded(kernel, f):
    """As `f` knows it: its own, or that of a header."""
    places = kernels[kernel]
    return places[f] if f in places else all(has for g, has in places.items() if g.suffix == ".cuh")


launches = 0
for f, text in sources.items():
    if f.name == "launch.cuh":
        continue
    for m in re.finditer(r"\blaunch\(", text):
        what = arguments(text, m.end() - 1)
        last = what[2].split("::")[-1] if re.fullmatch(r"[\w:.]+", what[2]) else ""
        many = int(last) if last.isdigit() else threads.get(last, FEW + 1)
        named = [k for k in re.findall(r"\w+", what[0]) if k in kernels]
        launches += 1
        for kernel in named:
            if many > FEW and not bounded(kernel, f):
                failed.append("%s: %s is launched with %s threads and has no __launch_bounds__" %
                              (f.relative_to(root), kernel, what[2]))
        if not named and many > FEW:
            failed.append("%s: nobody knows what is launched with %s threads: %s" % (f.relative_to(root), what[2], what[0]))

if launches < 50 or len(kernels) < 50:
    failed.append("%d launches of %d kernels were found: too few to be all" % (launches, len(kernels)))
print("\n".join(failed), file=sys.stderr, end="\n" if failed else "")
print("%d launches of %d kernels" % (launches, len(kernels)))
sys.exit(bool(failed))
