#!/usr/bin/env python3
"""
Compares the output of a command with what a page quotes.

    quoted.py PAGE FIRST_LINE PRINTED    the block of PAGE from FIRST_LINE on, and the file PRINTED

Compared are the lines up to the answer, without speeds, notes and the instruction set, and the answer without speeds. Words and
numbers must be the same.
For methods whose transform is FFTW's, the last digit may differ, because FFTW has other code for other processors.
"""
import re
import sys
from decimal import Decimal, InvalidOperation

SPEEDS = {"enc", "encode"}  # the head of the first column with speeds or times: from there on nothing is compared
UNITS = {"ms", "us", "s", "kB", "MB", "%", "GB"}
ISAS = {"c", "avx2", "avx512", "neon"}
OTHER_ROUNDING = ("fft", "dct", "demo")


def comparable(lines):
    """The words of the lines that every machine prints, without speeds, and whether their last digits may differ."""
    kept, columns, near = [], None, False
    for line in lines:
        words = line.split()
        if not words or words[0] in ("answer:", "...") or re.match(r"  [a-z]", line):
            break
        if words[0] in ("note:", "±:"):
            continue
        if not line.startswith(" "):
            near = words[0].startswith(OTHER_ROUNDING)
        if re.match(r"(method|setting|tensor) ", line):
            at = [i for i, word in enumerate(words) if word in SPEEDS]
            columns = len(words) - words.count("rel") - (len(words) - at[0] if at else 0)
            words = words[:at[0]] if at else words
        elif columns is not None and " loses most: " not in line:
            words = [word for word in words if word not in ("(baseline)", "(mixed)", *UNITS)]
            words = words[:columns - (line.startswith(" "))]
        kept.append(([word for word in words if word not in ISAS], near))
    return kept


def same(a, b, near):
    if a == b or not near:
        return a == b
    try:
        digit = max(10.0 ** Decimal(x.strip("<")).as_tuple().exponent for x in (a, b))
        return abs(float(a.strip("<")) - float(b.strip("<"))) < 1.5 * digit
    except InvalidOperation:
        found = re.compile(r"(?<==)[-\d.e]+")  # a setting that was searched for
        return found.sub("#", a) == found.sub("#", b)


def answer(lines):
    """The answer, which ends the output, without speeds. Numbers of methods whose last digits may differ are left out."""
    at = [i for i, line in enumerate(lines) if line.startswith("answer:")]
    text = " ".join(" ".join(lines[at[0]:]).split()) if at else ""
    text = re.sub(r", encodes [\d.]+ GB/s", "", text)
    return re.sub(r"\d[\d.]*", "#", text) if any(name in text for name in OTHER_ROUNDING) else text


def compare(quoted, printed):
    """Returns how many lines were compared; the first that differs raises."""
    assert answer(quoted) in ("", answer(printed)), f"quoted:  {answer(quoted)}\nprinted: {answer(printed)}"
    quoted, printed = comparable(quoted), comparable(printed)
    for (want, near), (line, _) in zip(quoted, printed + [([], False)] * len(quoted)):
        assert len(want) == len(line) and all(same(a, b, near) for a, b in zip(want, line)), \
            f"quoted:  {' '.join(want)}\nprinted: {' '.join(line)}"
    return len(quoted)


def main():
    page, first, printed = sys.argv[1:]
    with open(page, encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line in file]
    begin = lines.index("    " + first)
    block = [line[4:] for line in lines[begin:lines.index("", begin)]]
    with open(printed, encoding="utf-8") as file:
        print(f"{compare(block, file.read().splitlines())} lines are as quoted")


if __name__ == "__main__":
    main()
