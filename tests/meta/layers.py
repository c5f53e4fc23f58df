#!/usr/bin/env python3
"""
Who may include whom.

    layers.py ROOT

An include points sideways or down in LAYERS, never up; of what is beside it in SIDEWAYS, only to what stands there. The
module's folder and kernels' .cu files alone see CUDA, src/data HDF5, kernels/fft FFTW. Includes are the file's path from the
root.
"""
import re
import sys
from pathlib import Path

LAYERS = (
    ("src/base",),
    ("kernels",),
    ("src/wire", "src/tensor"),
    ("src/codec", "src/sparse", "src/cuda"),
    ("src/metric", "src/memory", "src/data"),
    ("src/bench", "src/report", "src/regress"),
    ("cli",),
)
RANK = {folder: i for i, row in enumerate(LAYERS) for folder in row}
SIDEWAYS = {  # what is measured becomes rows; pages, plots and tables are made of rows alone
    ("src/bench", "src/report"): ("results.h", "row.h", "sink.h"),
    ("src/bench", "src/regress"): (),
    ("src/regress", "src/report"): ("results.h", "row.h", "sink.h"),
    ("src/report", "src/bench"): ("bandwidth.h",),
    ("src/report", "src/regress"): (),
}
FOREIGN = (  # a header of somebody else's, and who may see it
    (re.compile(r"hdf5|H5\w+public"), re.compile(r"src/data/")),
    (re.compile(r"fftw"), re.compile(r"kernels/fft/")),
    (re.compile(r"cuda_runtime|cufft|cub/|cuda/"), re.compile(r"src/cuda/module/.*\.cu$|kernels/.*\.cuh?$")),
)
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)', re.M)


def folder_of(name):
    """The row's folder that a file is in; None: it is in none."""
    part = name.split("/")
    return next((f for f in (part[0], "/".join(part[:2])) if f in RANK), None)


def check(name, text):
    own = folder_of(name)
    for ours, theirs in INCLUDE.findall(text):
        other = folder_of(ours)
        if own and other and RANK[other] > RANK[own]:
            yield f"{name}: includes {ours}, which is above it"
        if ours.split("/")[-1] not in SIDEWAYS.get((own, other), (ours.split("/")[-1],)):
            yield f"{name}: includes {ours}, which is no concern of {own}"
        for header, place in FOREIGN:
            if theirs and header.match(theirs) and not place.match(name):
                yield f"{name}: includes <{theirs}>, which only {place.pattern} does"


def self_check():
    """The finder finds what it should: a test that sees nothing would never fail."""
    assert len(list(check("src/cuda/a.h", '#include "src/metric/b.h"\n'))) == 1
    assert len(list(check("cli/a.c", "#include <hdf5.h>\n"))) == 1
    assert len(list(check("src/regress/a.c", '#include "src/report/plot_page.h"\n'))) == 1
    assert not list(check("src/regress/a.c", '#include "src/report/row.h"\n#include "src/regress/b.h"\n'))
    assert not list(check("src/metric/a.h", '#include "src/cuda/b.h"\n#include "src/metric/c.h"\n'))


def main():
    root = Path(sys.argv[1])
    self_check()
    files = sorted(p for folder in ("src", "kernels", "cli") for pattern in ("*.c", "*.h", "*.cu", "*.cuh")
                   for p in (root / folder).rglob(pattern))
    bad = 0
    for path in files:
        problems = list(check(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")))
        bad += bool(problems)
        for line in problems:
            print("not ok:", line)
    print(f"{len(files) - bad} passed, {bad} failed, 0 skipped")
    return bool(bad) or not files


if __name__ == "__main__":
    sys.exit(main())
