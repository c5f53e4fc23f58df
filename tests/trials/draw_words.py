#!/usr/bin/env python3
"""
Draws comments, messages and paragraphs at random, to be read by somebody who does not know the code.

    draw_words.py [--seed N] [--comments N] [--messages N] [--paragraphs N]

A reader restates each text in other words, and another person compares the restatement with the code. A text that was
misread is rewritten. Comments come from src, cli and kernels, messages (formats of printf and diagnostics, help texts) from
src and cli, paragraphs from README.md and docs.
"""
import argparse
import random
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMENT = re.compile(r"/\*.*?\*/", re.S)
STRING = re.compile(r'"((?:\\.|[^"\\\n])*)"(?:\s*(?:PRI\w+\s*)?"((?:\\.|[^"\\\n])*)")*')


def sources(*folders):
    return sorted(p for folder in folders for pattern in ("*.c", "*.h", "*.cu", "*.cuh")
                  for p in (ROOT / folder).rglob(pattern))


def comments():
    for path in sources("src", "cli", "kernels"):
        text = path.read_text(encoding="utf-8")
        for found in COMMENT.finditer(text):
            if len(found.group().split()) >= 8 and "clang-format" not in found.group():
                yield path, text.count("\n", 0, found.start()) + 1, found.group()


def messages():
    """String literals of at least five words; adjacent literals are one."""
    for path in sources("src", "cli"):
        text = COMMENT.sub(lambda m: "\n" * m.group().count("\n"), path.read_text(encoding="utf-8"))
        for found in STRING.finditer(text):
            words = " ".join(re.findall(r'"((?:\\.|[^"\\\n])*)"', found.group())).replace("  ", " ")
            if len(re.findall(r"[A-Za-z]{2,}", words)) >= 5 and not words.startswith("src/"):
                yield path, text.count("\n", 0, found.start()) + 1, words


def paragraphs():
    for path in [ROOT / "README.md"] + sorted((ROOT / "docs").rglob("*.md")):
        text = re.sub(r"^```.*?^```", lambda m: "\n" * m.group().count("\n"), path.read_text(encoding="utf-8"),
                      flags=re.S | re.M)
        line = 1
        for block in re.split(r"(\n{2,})", text):
            if len(block.split()) >= 20 and not re.match(r"[#|\s]|    ", block):
                yield path, line, block
            line += block.count("\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    for name, count in (("comments", 30), ("messages", 30), ("paragraphs", 10)):
        parser.add_argument("--" + name, type=int, default=count)
    wanted = parser.parse_args()
    for name, found in (("comments", comments), ("messages", messages), ("paragraphs", paragraphs)):
        everything = list(found())
        print(f"== {name}: {getattr(wanted, name)} of {len(everything)}, seed {wanted.seed}")
        for path, line, text in random.Random(wanted.seed).sample(everything, getattr(wanted, name)):
            print(f"\n-- {path.relative_to(ROOT)}:{line}\n{text}")
        print()


if __name__ == "__main__":
    main()
