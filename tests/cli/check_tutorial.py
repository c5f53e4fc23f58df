#!/usr/bin/env python3
"""
Runs the commands of docs/tutorial.md in order, in an empty folder, and compares what they print with what the tutorial
quotes: check_tutorial.py TUTORIAL DUMPER

Compared are lines up to the first verdict, note or answer: words exactly, and numbers within a fifth, because PyTorch
trains a little differently on each processor. Speeds, times and what follows from them are left out.
"""
import os
import re
import shutil
import subprocess
import sys

SPEEDS = {"enc", "encode"}  # the head of the first column with speeds or times: from there on nothing is compared
UNITS = {"ms", "us", "s", "kB", "MB", "%", "GB"}


def blocks(text):
    """The code blocks, without their indentation."""
    return [re.sub(r"^    ", "", block, flags=re.M).strip("\n") for block in re.findall(r"(?:^    .*\n|(?<=\n)\n(?=    ))+", text, flags=re.M)]


def commands(block):
    """The commands of a block, each with the lines that it prints."""
    found = []
    for line in re.sub(r" *\\\n *", " ", block).splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif found:
            found[-1][1].append(line)
    return found


def comparable(lines):
    """The words of the lines that every machine prints, except speeds."""
    kept, columns = [], None
    for line in lines:
        words = line.split()
        if not words or words[0] in ("answer:", "note:", "...") or re.match(r"  [a-z]", line) or " loses most: " in line:
            break
        if re.match(r"(method|setting|tensor) ", line):
            at = [i for i, word in enumerate(words) if word in SPEEDS]
            columns = len(words) - words.count("rel") - (len(words) - at[0] if at else 0)
            words = words[:at[0]] if at else words
        elif columns is not None:
            words = [word for word in words if word not in ("(baseline)", *UNITS)]
            words = words[:columns - (line.startswith(" "))]
        kept.append(words)
    return kept


def same(a, b):
    try:
        x, y = float(a.strip("<")), float(b.strip("<"))
    except ValueError:
        pieces = re.compile(r"(?<==)[-\d.e]+")
        return pieces.sub("#", a) == pieces.sub("#", b)
    return abs(x - y) <= 0.2 * max(abs(x), abs(y)) + 0.02


def main():
    tutorial, dumper = sys.argv[1:]
    text = open(tutorial).read()
    listing = next(block for block in blocks(text) if block.startswith("import torch"))
    open("train.py", "w").write(listing.partition("\n$ ")[0])
    shutil.copy(dumper, "dump_gradients.py")
    ran = compared = 0
    for command, quoted in (pair for block in blocks(text) for pair in commands(block)):
        if command.startswith("gcbench plot") and not shutil.which("gnuplot"):
            continue
        command = re.sub(r"^python3", sys.executable, command)
        done = subprocess.run(["sh", "-c", command], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=200)
        assert done.returncode == 0, (command, done.stderr)
        ran += 1
        printed = comparable((done.stderr * ("train.py" in command) + done.stdout).splitlines())
        for want, line in zip(comparable(quoted), printed + [[]] * len(quoted)):
            assert len(want) == len(line) and all(map(same, want, line)), f"{command}\nquoted:  {want}\nprinted: {line}"
            compared += 1
    assert ran >= 8 and compared >= 25, (ran, compared)
    assert os.path.exists("report.html")
    print(f"{ran} commands, {compared} lines")


main()
