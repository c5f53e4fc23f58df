"""Runs files of tests by pytest, and counts them as tests/support/summary.py reads it: run.py FILE... [PYTEST OPTION...]

Exits 77 without pytest, and if a file was skipped as a whole.
"""
import sys

try:
    import pytest
except ImportError:
    print("skipped: pytest is not installed (python3-pytest)")
    sys.exit(77)


class Count:
    """Prints the counts, and the reason of each skipped test."""

    def pytest_terminal_summary(self, terminalreporter):
        of = terminalreporter.stats.get
        failed = [report.nodeid for report in of("failed", []) + of("error", [])]
        skipped = [report.longrepr[2].removeprefix("Skipped: ") for report in of("skipped", [])]
        print("\n".join([""] + [f"not ok: {name}" for name in failed] + [f"skipped: {why}" for why in skipped]))
        print(f"{len(of('passed', []))} passed, {len(failed)} failed, {len(skipped)} skipped", flush=True)


status = pytest.main(["-q", "-p", "no:cacheprovider", *sys.argv[1:]], [Count()])
sys.exit(77 if status == pytest.ExitCode.NO_TESTS_COLLECTED else status)
