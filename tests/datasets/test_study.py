#!/usr/bin/env python3
"""The statistics of the study, on numbers whose answers are known."""

import json
import math
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "datasets" / "study"))
import claims  # noqa: E402
import figures  # noqa: E402
import methods  # noqa: E402
import study  # noqa: E402


def run(*qualities):
    return [{"step": 10 * (i + 1), "link_bytes": 100 * (i + 1), "quality": q} for i, q in enumerate(qualities)]


class Study(unittest.TestCase):
    def test_interval(self):
        self.assertIsNone(figures.interval([1, 2, 3, 4, 5]))
        self.assertEqual(figures.interval([6, 5, 4, 3, 2, 1]), (1, 6))
        self.assertEqual(figures.interval([9, 8, 7, 6, 5, 4, 3, 2, 1, math.inf]), (2, 9))

    def test_files_that_cannot_be_read_or_written(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "gpt.jsonl"
            study.write(path, "", [{"record": "training", "step": 1}])
            whole = path.read_text()
            self.assertEqual(study.read(path), [{"record": "training", "step": 1}])
            path.with_suffix(".part").mkdir()
            with self.assertRaisesRegex(SystemExit, "^study: cannot write .*gpt.part: Is a directory$"):
                study.write(path, "", [])
            self.assertEqual(path.read_text(), whole)
            packed = Path(folder) / "rows.jsonl.gz"
            study.write(packed, "", [{"record": "offline", "alpha": 0.5}, {"record": "training", "step": 1}])
            self.assertEqual(study.read(packed), [{"record": "training", "step": 1}])
            self.assertEqual(study.read(packed, ("offline",)), [{"record": "offline", "alpha": 0.5}])
            packed.write_bytes(packed.read_bytes()[:-9])
            with self.assertRaisesRegex(SystemExit, "^study: .*rows.jsonl.gz: line .* is not a row"):
                study.read(packed)
            for wrong in (whole[:-5], "[1]", "{}", "\0"):
                path.write_text(whole + wrong)
                with self.assertRaisesRegex(SystemExit, "^study: .*gpt.jsonl: line 2 is not a row"):
                    study.read(path)

    def test_verdict(self):
        words = ("worse", "better")
        self.assertEqual(figures.verdict([1, 2, 3, 4, 5], 0, words), "undecided")
        self.assertEqual(figures.verdict([1, 2, 3, 4, 5, 6], 0, words), "better")
        self.assertEqual(figures.verdict([-1, -2, -3, -4, -5, -6], 0, words), "worse")
        self.assertEqual(figures.verdict([-1, 2, 3, 4, 5, 6], 0, words), "undecided")

    def test_target(self):
        step = lambda row: row["step"]
        self.assertEqual(figures.at_target(run(50, 60, 70), 65, step), 25)
        self.assertEqual(figures.at_target(run(50, 60, 70), 40, step), 10)
        self.assertEqual(figures.at_target(run(50, 60, 70), 71, step), math.inf)
        self.assertEqual(figures.quality_at(run(50, 60, 70), 250), 60)
        self.assertIsNone(figures.quality_at(run(50), 99))

    def test_ratio_of_missed_targets(self):
        runs = {"fp32": {1: run(60), 2: run(60), 3: run(10), 4: run(10)},
                "a": {1: run(50, 60), 2: run(10), 3: run(60), 4: run(10)}, "b": {5: run(60)}}
        self.assertEqual(figures.ratios(runs, "a", 60, lambda row: row["step"]), [0.5, 0, math.inf, 1])
        self.assertEqual(figures.ratios(runs, "a", 60, lambda row: row["step"], "b"), [])
        self.assertEqual(figures.show_faster([]), "no common seed")
        self.assertEqual(figures.show_faster([1.0] * 10), "neither")
        self.assertEqual(figures.show_faster([0.0] * 10), "missed: slower")
        self.assertEqual(figures.show_faster([0.0] * 4 + [1.5, 2.0, 2.0, 2.0, 3.0, math.inf]), "1.75 x [missed, 3 x] undecided")
        self.assertEqual(figures.show_faster([0.0] * 5 + [1.5] * 5), "missed [missed, 1.5 x] undecided")
        self.assertEqual(figures.show_faster([0.0] * 2 + [1.0] * 6 + [math.inf] * 2), "neither [missed, alone] undecided")

    def test_common_compute(self):
        runs = {"a": {1: [dict(step=10, compute_seconds=1.0), dict(step=20, compute_seconds=2.0)]},
                "b": {1: [dict(step=10, compute_seconds=4.0)]}, "c": {1: [dict(step=10, compute_seconds=3.0)]}}
        took = figures.with_common_compute(runs)
        self.assertEqual([row["compute_seconds"] for row in took["a"][1]], [3.0, 6.0])
        self.assertEqual(runs["a"][1][0]["compute_seconds"], 1.0)

    def test_spearman(self):
        self.assertAlmostEqual(figures.spearman([(1, 2), (2, 1), (3, 4), (4, 3), (5, 5)]), 0.8)
        self.assertAlmostEqual(figures.spearman([(1, 1), (1, 2), (2, 3)]), 0.8660254)
        self.assertIsNone(figures.bootstrap([(1, 1)] * 4))
        low, high = figures.bootstrap([(i, i) for i in range(6)])
        self.assertAlmostEqual(low, 1)
        self.assertAlmostEqual(high, 1)

    def test_level(self):
        """A method is like fp32 if all of the interval is above -0.5 points."""
        self.assertIn("too few", claims.is_level([0.0] * 5))
        self.assertEqual(claims.is_level([-0.4] * 10), "yes, within 0.5 points")
        self.assertEqual(claims.is_level([-2.0] * 10), "no: it loses 2.0 points")
        self.assertEqual(claims.is_level([-2.0] * 5 + [0.0] * 5), "undecided")

    def test_methods(self):
        """Every case has options that train_workers takes, and files of its own. The first stage is the first protocol's."""
        cases = methods.FULL.cases()
        plan = study.Study(methods.FULL, Path("folder"), Path("rows"), "gcbench")
        paths = {path for case in cases for path, _ in plan.pilots(case).items()}
        self.assertEqual(len(paths), 3 * len(cases))
        self.assertEqual(len(methods.FULL.stages[0]), 24)
        self.assertIn("folder/runs/resnet8-top-k-1----feedback-101-0.5.jsonl", map(str, paths))
        for case in cases:
            for _, words in plan.pilots(case).items():
                plan_args = study.recipe().parse_args(list(words))
                self.assertEqual((plan_args.network, plan_args.label), case)

    def test_chosen(self):
        cases = methods.pairs(("resnet8", "gpt"), ("fp32", "fft"))
        self.assertEqual(study.chosen(cases, []), cases)
        self.assertEqual(study.chosen(cases, ["gpt"]), cases[2:])
        self.assertEqual(study.chosen(cases, ["fft"]), [("resnet8", "fft"), ("gpt", "fft")])
        self.assertEqual(study.chosen(cases, ["gpt", "fft", "fp32"]), cases[2:])

    def test_finished_runs_count(self):
        """Rows of finished runs are kept beside those of runs whose files are gone, and the tables say which are missing."""
        with tempfile.TemporaryDirectory() as folder:
            plan = methods.QUICK._replace(stages=[[("gpt", "fp32"), ("gpt", "qsgd")]])
            command = Path(folder) / "gcbench"
            command.write_text("#!/bin/sh\necho '{\"record\": \"environment\"}'\n")
            command.chmod(0o755)
            one = study.Study(plan, Path(folder), Path(folder), str(command))
            one.runs.mkdir()
            done = lambda case, seed, factor, path, q: path.write_text(json.dumps(
                {"record": "training", "network": case[0], "label": case[1], "seed": seed, "lr_factor": factor, "quality": q}) + "\n")
            for case in plan.cases():
                for factor in study.FACTORS:
                    done(case, 101, factor, one.job(case, 101, factor)[0], 10 + factor)
                done(case, 1, 2.0, one.job(case, 1, 2.0)[0], 50)
            done(plan.cases()[0], 2, 2.0, one.job(plan.cases()[0], 2, 2.0)[0], 51)
            done(("gpt", "qsgd"), 3, 2.0, Path(one.job(("gpt", "qsgd"), 3, 2.0)[0]), 51)  # the plan has no such seed
            one.keep()
            kept = [(r["label"], r["seed"]) for r in study.read(one.table) if r["seed"] != 101]
            self.assertEqual(kept, [("fp32", 1), ("fp32", 2), ("qsgd", 1)])
            self.assertEqual(len(study.read(one.table)), 9)
            for path in one.runs.iterdir():
                path.unlink()
            done(("gpt", "fp32"), 101, 2.0, one.job(("gpt", "fp32"), 101, 2.0)[0], 60)
            one.keep()
            self.assertEqual([r["quality"] for r in study.read(one.table)], [10.5, 11, 60, 10.5, 11, 12, 50, 51, 50])
            one.keep({("gpt", "fp32"): {"record": "offline", "network": "gpt", "label": "fp32", "alpha": 0.5}})
            self.assertEqual(one.figures("gpt")["fp32"]["alpha"], 0.5)
            self.assertEqual(len(study.read(one.table)), 9)
            said = one._missing("gpt", {"fp32": {1: [], 2: []}, "qsgd": {1: []}})
            self.assertEqual(said, "\nOnly some seeds have run: qsgd (1 of 2).\n")
            self.assertEqual(one._missing("gpt", {}), "\nNot run yet: fp32; qsgd.\n")

    def test_page(self):
        """Each block in docs is written, also without rows; text outside the marks stays."""
        docs = Path(__file__).resolve().parents[2] / "docs"
        with tempfile.TemporaryDirectory() as folder:
            to = Path(folder)
            claims.write(docs, {}, to)
            for page, blocks in claims.PAGES.items():
                text = (to / page).read_text()
                self.assertEqual(text.count("<!-- end of study -->"), len(blocks))
                self.assertEqual(text.split("<!-- study")[0], (docs / page).read_text().split("<!-- study")[0])
            seeds = range(1, 7)
            runs = {label: {seed: [dict(run(60 + seed)[0], wire_bytes=5.0, lr_factor=1, compute_seconds=1.0, coding_seconds=0.1,
                                        latency_steps=2)] for seed in seeds} for label in ("fp32", "fft", "qsgd", "sbc, feedback",
                                                                                      "fft whole 0.9, falling")}
            of = {"rel_l2": 0.5, "alpha": 0.25, "cumulative_error": 0.1, "feedback": False}
            for seed in seeds:
                runs["sbc, feedback"][seed][0]["quality"] = 1
            claims.write(docs, {"gpt": (runs, {"fft": of, "qsgd": of})}, to)
            text = (to / "claims.md").read_text()
            self.assertIn("| gpt | fft | both miss | - | - | - |", text)
            self.assertIn("| fft whole 0.9, falling | 1 | +0.00 [0, 0] |", text)
            self.assertIn("**gpt: yes, within 0.5 points.**", text)
            text = (to / "training.md").read_text()
            self.assertIn("| lasting | fft: `fft:chunk=4096` | 1 | +0.00 [0, 0] |  | undecided |", text)
            self.assertRegex(text, r"\| - \| sbc, feedback: `sbc:memory=ef` \| 1 \| -6.* \|  \| - \|")

    def test_pairs(self):
        runs = {label: {seed: run(better + seed) for seed in seeds} for label, better, seeds in
                (("fft", 50, range(1, 8)), ("fft, feedback", 52, range(2, 11)))}
        self.assertEqual(figures.pair_table(runs).splitlines()[2:], ["| fft, feedback | fft | +2.00 [2, 2] | better |"])

    def test_pilots_in_part(self):
        rows = [dict(network="gpt", label="a", lr_factor=1.0, quality=50), dict(network="gpt", label="b", lr_factor=2.0, quality=60)]
        self.assertIn("| gpt | b |  | 60.00 |", figures.pilot_table(rows))
        self.assertIn("largest for 1 of 2 and the smallest for 1:", figures.pilot_table(rows))

    def test_learning_rate(self):
        rows = [{"lr_factor": f, "quality": q} for f, q in ((0.5, 80), (1, 82), (2, 82), (2, 10), (1, 70))]
        self.assertEqual(study.best_factor(rows), 0.5)


if __name__ == "__main__":
    unittest.main()
