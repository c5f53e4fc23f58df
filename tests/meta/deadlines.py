#!/usr/bin/env python3
"""
No test is limited by the speed of a machine.

    deadlines.py ROOT

Every test of Meson has `timeout: hang` (tests/meson.build). Deadlines inside of tests are multiples of the seconds after which
something hangs: $hang (tests/cli/lib.sh), HANG (tests/support/patience.py) or hang_seconds() (tests/support/patience.h). So ./dev
can raise all of them on a busy machine. Trials are run by hand and are exempt.
"""
import re
import sys
from pathlib import Path

FIXED = re.compile(r"(?<![-\w])timeout (-k \d+ )?\d|(?<!-)timeout=\d+\b(?! \* HANG)|\b(alarm|wait|join|communicate)\(\d|loadavg")
EXEMPT = ("tests/trials/", "tests/meta/deadlines.py", "tests/gpu/run.sh")


def calls(text):
    """Every call of test() in a meson.build, with its line."""
    for found in re.finditer(r"^ *test\(", text, re.M):
        end, depth = found.end(), 1
        while depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        yield text.count("\n", 0, found.start()) + 1, text[found.start():end]


def problems(name, text):
    if name.endswith("meson.build"):
        for line, call in calls(text):
            if "timeout: hang" not in call:
                yield f"{name}:{line}: a test without `timeout: hang`"
        return
    for number, line in enumerate(text.splitlines(), 1):
        if FIXED.search(line):
            yield f"{name}:{number}: a deadline that does not grow with the machine's load: {line.strip()}"


def main(root):
    files = [path for pattern in ("meson.build", "*.sh", "*.py", "*.c", "*.cpp") for path in sorted((root / "tests").rglob(pattern))]
    names = {path.relative_to(root).as_posix(): path for path in files}
    found = [problem for name, path in names.items() if not name.startswith(EXEMPT)
             for problem in problems(name, path.read_text(encoding="utf-8"))]
    assert list(problems("a.sh", "timeout 60 x")) and list(problems("meson.build", "test('a', b(c), timeout: 30)"))
    for problem in found:
        print("not ok:", problem)
    print(f"{len(names)} files: {len(found)} deadlines that are fixed")
    return bool(found) or not names


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
