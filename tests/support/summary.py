#!/usr/bin/python3
"""Count the tests in Meson's log, name what was skipped and what failed, and end with one plain line.

    python3 tests/support/summary.py BUILD/meson-logs/testlog.json [" OPTIONS OF ./dev test"]

What counts as a test is what has a name and a verdict of its own: a cmocka case, a method of unittest, a named
case of a shell test that ends with "N passed, N failed, N skipped". A kernel check, a command-line test or a
replay of inputs, which reports how many comparisons it made, is one test; the comparisons stand beside it. A
program that fails without a failed case (a crash, a time limit, a leak) is one failed test more.

A test that leaves something out says "skipped: WHY" in a line of its own. One that gives no reason has failed.
"""

import json
import re
import sys

CMOCKA = re.compile(r"^\[ *(OK|FAILED|SKIPPED|ERROR) *\] (\S+)$", re.M)  # not the totals at the end
NAMED = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", re.M)
COMPARISONS = re.compile(r"^(?:\w+: )?(\d+) (?:passed|checks), (\d+) failed$", re.M)
UNITTEST = re.compile(r"^Ran (\d+) tests? in ", re.M)
UNITTEST_END = re.compile(r"^(?:OK|FAILED)(?: \((.*)\))?$", re.M)
REASON = re.compile(r"^skipped: (.*)$", re.M)
GOOD = ("OK", "EXPECTEDFAIL", "SKIP")


class Tally:
    def __init__(self):
        self.passed = self.comparisons = 0
        self.failed, self.skipped = [], []

    def add(self, passed=0, failed=(), skipped=(), comparisons=0):
        self.passed += passed
        self.failed += failed
        self.skipped += skipped
        self.comparisons += comparisons


def cmocka(cases):
    # A failed case is printed again at the end; the last word on each name counts.
    verdict = {name: result for result, name in cases}
    of = lambda *results: [name for name, result in verdict.items() if result in results]
    return dict(passed=len(of("OK")), failed=of("FAILED", "ERROR"), skipped=[(name, "") for name in of("SKIPPED")])


def cmocka_reasons(text, skipped):
    """A case says "skipped: why" between its RUN line and its verdict. Other such lines are parts of cases that passed."""
    said = dict(re.findall(r"^\[ RUN +\] (\S+)\n(?:(?!\[ ).*\n)*?skipped: (.*)$", text, re.M))
    reasons = [(name, said.get(name, "")) for name, _ in skipped]
    return reasons + [("", why) for why in REASON.findall(text) if why not in dict(reasons).values()]


def unittest(text, count):
    end = UNITTEST_END.findall(text)
    parts = dict(part.split("=") for part in end[-1].split(", ")) if end and end[-1] else {}
    failed = int(parts.get("failures", 0)) + int(parts.get("errors", 0))
    skipped = int(parts.get("skipped", 0))
    reasons = re.findall(r"^(\w+) \(.*\) \.\.\. skipped ['\"](.*)['\"]$", text, re.M)
    reasons += [("?", "")] * (skipped - len(reasons))
    failed = re.findall(r"^(?:FAIL|ERROR): (\S+)", text, re.M)[:failed] or ["?"] * failed
    return dict(passed=count - len(failed) - skipped, failed=failed, skipped=reasons)


def read(test):
    """What one program of the log reports."""
    text = test.get("stdout", "") + "\n" + test.get("stderr", "")
    reasons = REASON.findall(text)
    if test["result"] == "SKIP":
        return dict(skipped=[("", reasons[-1] if reasons else "")])
    if cases := CMOCKA.findall(text):
        found = cmocka(cases)
        return dict(found, skipped=cmocka_reasons(text, found["skipped"]))
    if count := UNITTEST.findall(text):
        return unittest(text, int(count[-1]))
    if counts := NAMED.findall(text):
        passed, failed, skipped = map(int, counts[-1])
        names = re.findall(r"^not ok: (.*)$", text, re.M)
        return dict(passed=passed, failed=(names + ["?"] * failed)[:failed],
                    skipped=[("", reason) for reason in (reasons + ["?"] * skipped)[:skipped]])
    good = test["result"] in GOOD
    skipped = [("", reason) for reason in reasons]
    comparisons = sum(int(a) for a, _ in COMPARISONS.findall(text))
    return dict(passed=int(good), failed=[] if good else [""], skipped=skipped, comparisons=comparisons)


def main(path, options=""):
    total, suites = Tally(), {}
    with open(path, encoding="utf-8", errors="replace") as log:
        tests = [json.loads(line) for line in log if line.strip()]
    for test in tests:
        # "gcbench:unit / buf"
        suite, _, program = test["name"].rpartition(" / ")
        suite = suite.rpartition(":")[2] or "other"
        found = read(test)
        if test["result"] not in GOOD and not found.get("failed"):
            found["failed"] = [f"({test['result'].lower()}, status {test.get('returncode')})"]
        silent = [f"{name} (skipped without a reason)".strip() for name, why in found.get("skipped", ()) if not why]
        found["failed"] = [f"{suite}/{program} {name}".strip() for name in [*found.get("failed", ()), *silent]]
        found["skipped"] = [(f"{suite}/{program} {name}".strip(), why) for name, why in found.get("skipped", ()) if why]
        for tally in (total, suites.setdefault(suite, Tally())):
            tally.add(**found)
        suites[suite].seconds = getattr(suites[suite], "seconds", 0) + test["duration"]

    print(f"\n{'suite':<12}{'passed':>8}{'failed':>8}{'skipped':>9}{'seconds':>9}  comparisons inside")
    for name, tally in sorted(suites.items()):
        print(f"{name:<12}{tally.passed:>8}{len(tally.failed):>8}{len(tally.skipped):>9}{tally.seconds:>9.1f}"
              f"  {tally.comparisons or ''}".rstrip())
    for name, why in total.skipped:
        print(f"skipped: {name}: {why}")
    for name in total.failed:
        print(f"failed: {name}")
    print(f"\n{total.passed} passed, {len(total.failed)} failed, {len(total.skipped)} skipped")
    if total.failed:
        programs = list(dict.fromkeys(name.split()[0].partition("/")[2] for name in total.failed))
        print(f"failed: {', '.join(programs)}. Run one alone: ./dev test{options} --test {programs[0]}. "
              f"Its output: {path.removesuffix('.json')}.txt")
    return bool(total.failed) or not total.passed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
