#!/usr/bin/env python3
"""Runs the commands of docs/tutorial.md in order, in an empty folder: check_tutorial.py TUTORIAL DATASETS"""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from patience import HANG  # noqa: E402


def blocks(text):
    """The code blocks, without their indentation."""
    return [re.sub(r"^    ", "", block, flags=re.M).strip("\n") for block in re.findall(r"(?:^    .*\n|(?<=\n)\n(?=    ))+", text, flags=re.M)]


def commands(block):
    """The commands of a block."""
    return [line[2:] for line in re.sub(r" *\\\n *", " ", block).splitlines() if line.startswith("$ ")]


def main():
    tutorial, datasets = sys.argv[1:]
    with open(tutorial, encoding="utf-8") as file:
        text = file.read()
    listing = next(block for block in blocks(text) if block.startswith("import torch"))
    with open("train.py", "w", encoding="utf-8") as file:
        file.write(listing.partition("\n$ ")[0])
    shutil.copy(os.path.join(datasets, "dump_gradients.py"), ".")
    shutil.copy(os.path.join(datasets, "sample.h5"), ".")
    ran = 0
    for command in (command for block in blocks(text) for command in commands(block)):
        if command.startswith("gcbench plot") and not shutil.which("gnuplot"):
            continue
        command = re.sub(r"^python3", sys.executable, command)
        done = subprocess.run(["sh", "-c", command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=5 * HANG)
        assert done.returncode == 0, (command, done.stderr)
        ran += 1
    assert ran >= 10, ran
    assert os.path.exists("report.html")
    print(f"{ran} commands")


main()
