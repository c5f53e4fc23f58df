#!/usr/bin/env python3
"""The statistics of the study, on numbers whose answers are known."""

import math
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "datasets" / "study"))
import study  # noqa: E402


def run(*qualities):
    return [{"step": 10 * (i + 1), "link_bytes": 100 * (i + 1), "quality": q} for i, q in enumerate(qualities)]


class Study(unittest.TestCase):
    def test_interval(self):
        self.assertIsNone(study.interval([1, 2, 3, 4, 5]))
        self.assertEqual(study.interval([6, 5, 4, 3, 2, 1]), (1, 6))
        self.assertEqual(study.interval([9, 8, 7, 6, 5, 4, 3, 2, 1, math.inf]), (2, 9))

    def test_verdict(self):
        words = ("worse", "better")
        self.assertEqual(study.verdict([1, 2, 3, 4, 5], 0, words), "undecided")
        self.assertEqual(study.verdict([1, 2, 3, 4, 5, 6], 0, words), "better")
        self.assertEqual(study.verdict([-1, -2, -3, -4, -5, -6], 0, words), "worse")
        self.assertEqual(study.verdict([-1, 2, 3, 4, 5, 6], 0, words), "undecided")

    def test_target(self):
        step = lambda row: row["step"]
        self.assertEqual(study.at_target(run(50, 60, 70), 65, step), 25)
        self.assertEqual(study.at_target(run(50, 60, 70), 40, step), 10)
        self.assertEqual(study.at_target(run(50, 60, 70), 71, step), math.inf)
        self.assertEqual(study.quality_at(run(50, 60, 70), 250), 60)
        self.assertIsNone(study.quality_at(run(50), 99))

    def test_ratio_of_missed_targets(self):
        runs = {"fp32": {1: run(60), 2: run(60), 3: run(10), 4: run(10)},
                "a": {1: run(50, 60), 2: run(10), 3: run(60), 4: run(10)}}
        self.assertEqual(study.ratios(runs, "a", 60, lambda row: row["step"]), [0.5, 0, math.inf, 1])

    def test_spearman(self):
        self.assertAlmostEqual(study.spearman([(1, 2), (2, 1), (3, 4), (4, 3), (5, 5)]), 0.8)
        self.assertAlmostEqual(study.spearman([(1, 1), (1, 2), (2, 3)]), 0.8660254)
        self.assertIsNone(study.bootstrap([(1, 1)] * 4))
        low, high = study.bootstrap([(i, i) for i in range(6)])
        self.assertAlmostEqual(low, 1)
        self.assertAlmostEqual(high, 1)

    def test_learning_rate(self):
        rows = [{"lr_factor": f, "quality": q} for f, q in ((0.5, 80), (1, 82), (2, 82), (2, 10), (1, 70))]
        self.assertEqual(study.best_factor(rows), 0.5)


if __name__ == "__main__":
    unittest.main()
