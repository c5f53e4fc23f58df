#!/usr/bin/env python3
"""
Checks who includes whom (docs/architecture.md).

    layers.py [--graph] [ROOT]

An include names a file by its path from ROOT. `allowed` says which folders a file may include, TOOL is the order of the
subjects in src/tool: each may include those to its left. No folder is in a circle with another, and no file: a header and the
sources of its name are one. FOREIGN names the folders that may see the headers of another library. --graph prints the folders from top to bottom, each with the folders that it includes.
"""
import re
import sys
from collections import defaultdict
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

TOOL = ("base", "plugin", "rows", "read", "write", "measure", "run", "search", "replay", "payoff", "exchange", "regress", "plot", "page")


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
    (re.compile(r"jansson"), re.compile(r"src/tool/(rows|payoff|regress|plot|page)/|src/tool/run/suite|src/tool/read/(flat|npy|safetensors)|cli/docs/")),
    (re.compile(r"cuda_runtime|cufft|cub/|cuda/"), re.compile(r"src/lib/device/module/.*\.cu$|kernels/.*\.cuh?$")),
    (re.compile(r"mpi\.h"), re.compile(r"src/tool/exchange/")),
)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+(?:"([^"]+)"|<([^>]+)>)', re.M)


def folder_of(name):
    return name.rsplit("/", 1)[0] if "/" in name else ""


def subject_of(name):
    """A header, its private part and the sources of its name are one."""
    return name.rsplit(".", 1)[0].removesuffix("_private")


def check_file(name, text, arrows, files):
    """The problems of one file; adds its arrows between folders to `arrows`, between files to `files`."""
    own = folder_of(name)
    for ours, theirs in INCLUDE.findall(text):
        if ours:
            if subject_of(name) != subject_of(ours):
                files[subject_of(name)][subject_of(ours)].add((name, ours))
            other = folder_of(ours)
            if other != own:
                arrows[own][other].add((name, ours))
            if not allowed(own, other):
                yield f"{name} includes {ours}: files of {own}/ may not include files of {other}/"
        for header, place in FOREIGN:
            if theirs and header.match(theirs) and not place.match(name):
                yield f"{name} includes <{theirs}>: only files that match {place.pattern} may"


def check_circle(arrows):
    """The problem of folders, or files, that include each other, directly or through others; one circle is told."""
    try:
        tuple(TopologicalSorter(arrows).static_order())
    except CycleError as error:
        circle = error.args[1]
        for to, source in zip(circle, circle[1:]):
            name, ours = sorted(arrows[source][to])[0]
            yield f"{source} and {to} are part of a circle: {name} includes {ours}"


def print_graph(arrows):
    order = list(TopologicalSorter(arrows).static_order())[::-1]
    for folder in order:
        below = [to for to in order if to in arrows.get(folder, ())]
        print(f"{folder}/ -> {' '.join(below)}" if below else f"{folder}/")
    print(f"{len(order)} folders, {sum(len(tos) for tos in arrows.values())} arrows")


def self_check():
    """A check that finds nothing would never fail: each kind of mistake is found here."""
    def problems(name, text):
        return list(check_file(name, text, defaultdict(lambda: defaultdict(set)), defaultdict(lambda: defaultdict(set))))
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
    assert len(list(check_circle(circle))) == 2


def main():
    arguments = [a for a in sys.argv[1:] if a != "--graph"]
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parents[2]
    self_check()
    files = sorted(p for folder in ("src", "kernels", "cli") for pattern in ("*.c", "*.h", "*.cu", "*.cuh")
                   for p in (root / folder).rglob(pattern))
    arrows, pairs = (defaultdict(lambda: defaultdict(set)) for _ in range(2))
    bad = 0
    for path in files:
        problems = list(check_file(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8"), arrows, pairs))
        bad += bool(problems)
        for line in problems:
            print("not ok:", line)
    circles = list(check_circle(arrows)) + list(check_circle(pairs))
    for line in circles:
        print("not ok:", line)
    if "--graph" in sys.argv and not circles:
        print_graph(arrows)
    bad += bool(circles)
    print(f"{len(files) + 1 - bad} passed, {bad} failed, 0 skipped")
    return bool(bad) or not files


if __name__ == "__main__":
    sys.exit(main())
