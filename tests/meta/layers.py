#!/usr/bin/env python3
"""
Checks who includes whom (docs/architecture.md).

    layers.py [--graph] [ROOT]

An include names a file by its path from ROOT. `allowed` says which folders a file may include, TOOL is the order of the
subjects in src/tool: each may include those to its left. No folder is in a circle with another. FOREIGN names the folders that may see the headers of another
library. --graph prints the folders from top to bottom, each with the folders that it includes.
"""
import re
import sys
from collections import defaultdict
from pathlib import Path

TOOL = ("base", "rows", "read", "write", "measure", "run", "search", "replay", "payoff", "exchange", "regress", "plot", "page")


def is_below(target, source):
    """Does `target` stand to the left of `source` in TOOL? Both are folders of src/tool."""
    subjects = [folder.split("/")[2:] for folder in (target, source)]
    if any(len(s) != 1 or s[0] not in TOOL for s in subjects):
        return False
    return TOOL.index(subjects[0][0]) < TOOL.index(subjects[1][0])


def allowed(source, target):
    """May a file in the folder `source` include one in the folder `target`?"""
    own, other = source.split("/"), target.split("/")
    if source == target:
        return True
    if source == "src/lib/base":
        return target == "src"  # the public header
    if own[0] == "kernels":
        return other[0] == "kernels" or target == "src/lib/base"
    if own[:2] == ["src", "lib"]:
        return other[0] == "kernels" or other[:2] == ["src", "lib"] or target == "src"
    if own[:2] == ["src", "tool"]:
        if other[:2] == ["src", "tool"]:
            return target == "src/tool" or is_below(target, source)  # src/tool itself: generated headers
        return other[0] == "kernels" or other[:2] == ["src", "lib"] or target == "src"
    if own[0] == "cli":
        return other[0] == "src" or (target == "cli/base" and source != "cli/base")
    return False


FOREIGN = (  # the headers of another library, and the files that may include them
    (re.compile(r"hdf5|H5\w+public"), re.compile(r"src/tool/(read/hdf5|write/)")),
    (re.compile(r"fftw"), re.compile(r"kernels/fft/")),
    (re.compile(r"cblas|openblas|lapack"), re.compile(r"src/lib/lowrank/")),
    (re.compile(r"jansson"), re.compile(r"src/tool/(rows|payoff|regress|plot|page)/|src/tool/run/suite|cli/docs/")),
    (re.compile(r"cuda_runtime|cufft|cub/|cuda/"), re.compile(r"src/lib/device/module/.*\.cu$|kernels/.*\.cuh?$")),
    (re.compile(r"mpi\.h"), re.compile(r"src/tool/exchange/")),
)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+(?:"([^"]+)"|<([^>]+)>)', re.M)


def folder_of(name):
    return name.rsplit("/", 1)[0] if "/" in name else ""


def check_file(name, text, arrows):
    """The problems of one file; adds its arrows between folders to `arrows`."""
    own = folder_of(name)
    for ours, theirs in INCLUDE.findall(text):
        if ours:
            other = folder_of(ours)
            if other != own:
                arrows[own][other].add((name, ours))
            if not allowed(own, other):
                yield f"{name} includes {ours}: files of {own}/ may not include files of {other}/"
        for header, place in FOREIGN:
            if theirs and header.match(theirs) and not place.match(name):
                yield f"{name} includes <{theirs}>: only files that match {place.pattern} may"


def top_to_bottom(arrows):
    """The folders, includers first; and the folders that are left because they are in a circle or above one."""
    folders = set(arrows) | {to for tos in arrows.values() for to in tos}
    users = {f: sum(f in arrows[g] for g in folders if g in arrows) for f in folders}
    order, ready = [], sorted(f for f in folders if users[f] == 0)
    while ready:
        folder = ready.pop(0)
        order.append(folder)
        for to in sorted(arrows.get(folder, ())):
            users[to] -= 1
            if users[to] == 0:
                ready.append(to)
    return order, sorted(folders - set(order))


def check_circles(arrows):
    """The problems of folders that include each other, directly or through others."""
    order, left = top_to_bottom(arrows)
    for folder in left:
        for to in sorted(set(arrows.get(folder, ())) & set(left)):
            name, ours = sorted(arrows[folder][to])[0]
            yield f"{folder}/ and {to}/ are part of a circle, or above one: {name} includes {ours}"


def print_graph(arrows):
    order, left = top_to_bottom(arrows)
    for folder in order:
        below = [to for to in order if to in arrows.get(folder, ())]
        print(f"{folder}/ -> {' '.join(below)}" if below else f"{folder}/")
    print(f"{len(order)} folders, {sum(len(tos) for tos in arrows.values())} arrows, "
          f"{len(left)} folders in circles")


def self_check():
    """A check that finds nothing would never fail: each kind of mistake is found here."""
    def problems(name, text):
        return list(check_file(name, text, defaultdict(lambda: defaultdict(set))))
    assert problems("src/lib/codec/a.h", '#include "src/tool/measure/b.h"\n')
    assert problems("src/tool/rows/a.h", '#include "src/tool/measure/b.h"\n')
    assert problems("kernels/select/a.h", '#include "src/lib/codec/b.h"\n')
    assert problems("cli/sweep/a.c", '#include "cli/bench/b.h"\n')
    assert problems("cli/base/a.c", '#include "cli/bench/b.h"\n')
    assert problems("cli/a.c", "#include <hdf5.h>\n")
    assert not problems("src/tool/measure/a.h", '#include "src/tool/rows/b.h"\n#include "src/lib/codec/c.h"\n')
    assert not problems("cli/sweep/a.c", '#include "cli/base/b.h"\n')
    circle = defaultdict(lambda: defaultdict(set))
    circle["a"]["b"].add(("a/x.h", "b/y.h"))
    circle["b"]["a"].add(("b/y.h", "a/z.h"))
    assert len(list(check_circles(circle))) == 2


def main():
    arguments = [a for a in sys.argv[1:] if a != "--graph"]
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parents[2]
    self_check()
    files = sorted(p for folder in ("src", "kernels", "cli") for pattern in ("*.c", "*.h", "*.cu", "*.cuh")
                   for p in (root / folder).rglob(pattern))
    arrows = defaultdict(lambda: defaultdict(set))
    bad = 0
    for path in files:
        problems = list(check_file(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8"), arrows))
        bad += bool(problems)
        for line in problems:
            print("not ok:", line)
    circles = list(check_circles(arrows))
    for line in circles:
        print("not ok:", line)
    if "--graph" in sys.argv:
        print_graph(arrows)
    bad += bool(circles)
    print(f"{len(files) + 1 - bad} passed, {bad} failed, 0 skipped")
    return bool(bad) or not files


if __name__ == "__main__":
    sys.exit(main())
