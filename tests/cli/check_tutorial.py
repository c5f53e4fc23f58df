#!/usr/bin/env python3
"""
Runs the commands of docs/tutorial.md in order, in an empty folder, and compares what they print with what the tutorial
quotes (quoted.py): check_tutorial.py TUTORIAL DATASETS

Nothing is quoted of what a training gives, because PyTorch trains differently on each processor.
"""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import quoted

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from patience import HANG  # noqa: E402


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


def main():
    tutorial, datasets = sys.argv[1:]
    with open(tutorial, encoding="utf-8") as file:
        text = file.read()
    listing = next(block for block in blocks(text) if block.startswith("import torch"))
    with open("train.py", "w", encoding="utf-8") as file:
        file.write(listing.partition("\n$ ")[0])
    shutil.copy(os.path.join(datasets, "dump_gradients.py"), ".")
    shutil.copy(os.path.join(datasets, "sample.h5"), ".")
    ran = compared = 0
    for command, lines in (pair for block in blocks(text) for pair in commands(block)):
        assert not lines or "dumps/" not in command, f"quotes what a training gave: {command}"
        if command.startswith("gcbench plot") and not shutil.which("gnuplot"):
            continue
        command = re.sub(r"^python3", sys.executable, command)
        done = subprocess.run(["sh", "-c", command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=5 * HANG)
        assert done.returncode == 0, (command, done.stderr)
        ran += 1
        try:
            compared += quoted.compare(lines, (done.stderr * ("train.py" in command) + done.stdout).splitlines())
        except AssertionError as differs:
            sys.exit(f"{command}\n{differs}")
    assert ran >= 10 and compared >= 35, (ran, compared)
    assert os.path.exists("report.html")
    print(f"{ran} commands, {compared} lines")


main()
