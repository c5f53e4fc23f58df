"""Runs files of tests by pytest, and counts them as tests/support/summary.py reads it:

    run.py [--python FOLDER] FILE... [PYTEST OPTION...]

Exits 77 without pytest, and if a file was skipped as a whole. FOLDER is a virtual environment whose Python runs
the tests, again: what depends on the method and not on a library's version is tried with few methods. If there is no
FOLDER, FOLDER.log says why.
"""
import os
import sys
from pathlib import Path

if sys.argv[1] == "--python":
    folder = Path(sys.argv[2])
    python, log = folder / "bin" / "python", folder.with_suffix(".log")
    if not python.exists():
        how = f"./dev test {'--current-torch ' if folder.name == 'torch' else ''}makes it"
        why = log.read_text(errors="replace").strip().rpartition("\n")[2] if log.exists() else how
        print(f"skipped: there is no {folder}: {why}")
        sys.exit(77)
    os.environ["GCBENCH_TEST_AGAIN"] = "1"
    os.execv(python, [python, __file__, *sys.argv[3:]])

try:
    import pytest
except ImportError:
    print("skipped: pytest is not installed (python3-pytest)")
    sys.exit(77)


class Count:
    """Prints the counts, and the reason of each skipped test."""

    def pytest_configure(self, config):
        config.addinivalue_line("markers", "torch: needs torch")

    def pytest_terminal_summary(self, terminalreporter):
        of = terminalreporter.stats.get
        failed = [report.nodeid for report in of("failed", []) + of("error", [])]
        skipped = [report.longrepr[2].removeprefix("Skipped: ") for report in of("skipped", [])]
        print("\n".join([""] + [f"not ok: {name}" for name in failed] + [f"skipped: {why}" for why in skipped]))
        print(f"{len(of('passed', []))} passed, {len(failed)} failed, {len(skipped)} skipped", flush=True)


# --capture=sys: a crash must not lose what the C code wrote, such as a sanitizer's report
status = pytest.main(["-q", "-p", "no:cacheprovider", "--capture=sys", *sys.argv[1:]], [Count()])
sys.exit(77 if status == pytest.ExitCode.NO_TESTS_COLLECTED else status)
