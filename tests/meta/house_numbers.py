#!/usr/bin/env python3
"""
How large things may grow here.

    house_numbers.py ROOT

A function has at most 80 lines, and a folder of src or cli at most 45 files. The sources are formatted by clang-format, so
a function's braces are the ones at the beginning of a line. Nothing counts the lines of a file: it is cut where its subject
has a joint, and two files that must be read side by side are worse than one long one.
"""
import re
import sys
from pathlib import Path

FUNCTION, FOLDER = 80, 45
FOLDERS = ("src", "cli", "kernels", "tests")
STRIP = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'", re.S)


def plain(text):
    """The text without comments and literals, line for line."""
    return STRIP.sub(lambda m: "\n" * m.group().count("\n") if m.group()[0] == "/" else '""', text)


def functions(lines):
    """(first line, last line, signature) of each, counted from 0."""
    start = None
    for i, line in enumerate(lines):
        if line.startswith("{"):
            start = i
        elif line.startswith("}") and start is not None:
            first = start
            while first and lines[first - 1].strip() and not lines[first - 1].startswith(("}", "#")) \
                    and not lines[first - 1].rstrip().endswith(";"):
                first -= 1
            signature = " ".join(lines[first:start])
            if "(" in signature and "=" not in signature:
                yield first, i, signature
            start = None


def check(path, name):
    text = path.read_text(encoding="utf-8")
    lines = plain(text).split("\n")
    for first, last, signature in functions(lines):
        where = f"{name}:{first + 1}"
        if last - first + 1 > FUNCTION:
            yield f"{where}: a function of {last - first + 1} lines, {FUNCTION} are the most"


def check_folders(root):
    for top in ("src", "cli"):
        for folder in sorted({p.parent for p in (root / top).rglob("*.[ch]")}):
            count = sum(1 for p in folder.iterdir() if p.is_file())
            if count > FOLDER:
                yield f"{folder.relative_to(root).as_posix()}:0: {count} files, {FOLDER} are the most"


def self_check():
    """The finder finds what it should: a test that sees nothing would never fail."""
    source = "int f(int a, void (*b)(int, int),\n      char c)\n{\n    if (a) { /* } */\n    }\n}\n\nstruct s {\n};\n"
    found = list(functions(plain(source).split("\n")))
    assert [(a, b) for a, b, _ in found] == [(0, 5)], found


def main():
    root = Path(sys.argv[1])
    self_check()
    files = sorted(p for folder in FOLDERS for pattern in ("*.c", "*.h", "*.cu")
                   for p in (root / folder).rglob(pattern))
    problems = [line for path in files for line in check(path, path.relative_to(root).as_posix())]
    problems += check_folders(root)
    for line in problems:
        print("not ok:", line)
    bad = len({line.split(":")[1] for line in problems})
    print(f"{len(files) - bad} passed, {bad} failed, 0 skipped")
    return bool(problems) or not files


if __name__ == "__main__":
    sys.exit(main())
