#!/usr/bin/python3
"""Tests of the recipes, of make_sample.py and of the shipped sample; skipped where torch or h5py is absent.

The recipes train on a few made-up images and words here, so the data need not be installed.

    python3 tests/datasets/test_recipes.py
"""

import gzip
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "datasets" / "recipes"))
sys.path.insert(0, str(TOP / "tests" / "support"))
sys.dont_write_bytecode = True
from patience import HANG  # noqa: E402

try:
    import h5py
    import numpy as np
    import torch
    import _fashion
    from train_alexlike import AlexLike
    from train_gpt import SmallGPT
    from train_lstm import WordLSTM
    from train_resnet20 import ResNet20
except ImportError as error:
    reason = f"the recipes need what is not here: {error}"
    if __name__ == "__main__":
        print(f"skipped: {reason}", file=sys.stderr)
        sys.exit(77)  # Meson's word for a skipped test
    raise unittest.SkipTest(reason) from None


def write_idx(path, array):
    header = b"\0\0\x08" + bytes([array.ndim]) + np.array(array.shape, ">u4").tobytes()
    with gzip.open(path, "wb") as file:
        file.write(header + array.tobytes())


def make_images(folder, count=64):
    rng = np.random.default_rng(1)
    for part in ("train", "t10k"):
        write_idx(f"{folder}/{part}-images-idx3-ubyte.gz", rng.integers(0, 256, (count, 28, 28), np.uint8))
        write_idx(f"{folder}/{part}-labels-idx1-ubyte.gz", rng.integers(0, 10, count, np.uint8))


def python(script, *args):
    environment = dict(os.environ, OMP_NUM_THREADS="1", PYTHONDONTWRITEBYTECODE="1")
    return subprocess.run([sys.executable, str(TOP / "datasets" / script), *args], env=environment,
                          stderr=subprocess.PIPE, encoding="utf-8", timeout=5 * HANG)


def tensors(path):
    found = {}
    with h5py.File(path, "r") as file:
        file.visititems(lambda name, item: found.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None)
    return found


class Recipes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        make_images(cls.folder)
        cls.common = ["--data", cls.folder, "--workers", "2", "--batch-size", "8", "--steps", "0-1"]
        cls.simulated = python("recipes/train_resnet20.py", *cls.common, "-o", f"{cls.folder}/simulated")
        cls.ddp = python("recipes/train_resnet20.py", *cls.common, "-o", f"{cls.folder}/ddp", "--ddp")

    def test_networks(self):
        for model, elements, count in ((ResNet20(), 271994, 61), (AlexLike(), 7706506, 12)):
            parameters = list(model.parameters())
            self.assertEqual((sum(p.numel() for p in parameters), len(parameters)), (elements, count))
            self.assertEqual(model(torch.zeros(2, 1, 28, 28)).shape, (2, 10))
        for model, elements, count, words in ((WordLSTM(), 3617672, 11, 5000), (SmallGPT(), 867072, 53, 256)):
            parameters = list(model.parameters())
            self.assertEqual((sum(p.numel() for p in parameters), len(parameters)), (elements, count))
            self.assertEqual(model(torch.zeros(2, 64, dtype=torch.long)).shape, (2, 64, words))

    def test_gpt_does_not_look_ahead(self):
        model, x = SmallGPT().eval(), torch.arange(64)[None] % 256
        with torch.no_grad():
            before = model(x)[0, :40].clone()
            x[0, 40:] = 7
            self.assertTrue(torch.allclose(model(x)[0, :40], before, atol=1e-5))

    def test_text_recipes_dump_each_worker(self):
        text = Path(self.folder) / "text"
        text.mkdir()
        (text / "one").write_text("the quick brown fox jumps over the lazy dog. " * 200)
        (text / "two.dat").write_bytes(b"not text")
        for name, tensor in (("lstm", "encoder.weight"), ("gpt", "wte.weight")):
            result = python(f"recipes/train_{name}.py", *self.common, "--data", str(text), "-o",
                            f"{self.folder}/{name}")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("perplexity", result.stderr)
            first, second = (tensors(f"{self.folder}/{name}_step000001_rank{rank}.h5") for rank in (0, 1))
            a, b = (found[f"step_000001/worker_{rank}/{tensor}"] for rank, found in enumerate((first, second)))
            self.assertTrue(np.isfinite(a).all() and a.any() and not np.array_equal(a, b), name)
            self.assertGreater(np.mean(~a.any(axis=1)), 0.5, f"{name}: most words do not occur")

    def test_simulated_workers_equal_real_ones(self):
        for run in (self.simulated, self.ddp):
            self.assertEqual(run.returncode, 0, run.stderr)
        for step in (0, 1):
            for rank in (0, 1):
                name = f"step{step:06d}_rank{rank}.h5"
                first, second = (tensors(f"{self.folder}/{kind}_{name}") for kind in ("simulated", "ddp"))
                self.assertEqual((len(first), set(first)), (61, set(second)))
                for key in first:
                    np.testing.assert_allclose(first[key], second[key], rtol=1e-3, atol=1e-5, err_msg=f"{name} {key}")

    def test_each_worker_has_its_own_images(self):
        first, second = (tensors(f"{self.folder}/simulated_step000000_rank{rank}.h5") for rank in (0, 1))
        name = "step_000000/worker_{}/fc.weight"
        self.assertFalse(np.allclose(first[name.format(0)], second[name.format(1)]))

    def test_errors_are_one_line(self):
        for args in (["--data", "/nowhere"], ["--batch-size", "1000"], ["--ddp", "-o", f"{self.folder}/ddp"]):
            result = python("recipes/train_resnet20.py", *self.common, "-o", f"{self.folder}/none", *args)
            self.assertEqual(result.returncode, 1)
            own = [line for line in result.stderr.splitlines() if line.startswith("train_resnet20.py: ")]
            self.assertEqual(len(own), 1, result.stderr)
            self.assertNotIn("Traceback", result.stderr)

    def test_idx_files_are_checked(self):
        path = Path(self.folder) / "bad.gz"
        for data in (b"", b"\0\0\x08\x01", b"\0\0\x09\x01\0\0\0\1x", b"\0\0\x08\x01\0\0\0\2x"):
            path.write_bytes(gzip.compress(data))
            with self.assertRaisesRegex(ValueError, "not an IDX file|cut off", msg=data):
                _fashion.read_idx(path)

    def test_make_sample_joins_and_cuts(self):
        dumps = sorted(str(path) for path in Path(self.folder).glob("simulated_*.h5"))
        self.assertEqual(len(dumps), 4, self.simulated.stderr)
        outputs = [f"{self.folder}/joined{i}.h5" for i in (0, 1)]
        for output in outputs:
            result = python("make_sample.py", *dumps, "-o", output, "--steps", "1", "--workers", "all",
                            "--exclude", "layers.*", "--set", "note=x")
            self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(Path(outputs[0]).read_bytes(), Path(outputs[1]).read_bytes())
        joined = tensors(outputs[0])
        self.assertEqual(len(joined), 2 * 5)
        for rank in (0, 1):
            whole = tensors(f"{self.folder}/simulated_step000001_rank{rank}.h5")
            for name in ("stem.weight", "fc.bias"):
                key = f"step_000001/worker_{rank}/{name}"
                np.testing.assert_array_equal(joined[key], whole[key])
        with h5py.File(outputs[0], "r") as file:
            self.assertEqual((file.attrs["note"], file.attrs["dataset"]), ("x", "fashion-mnist"))
            self.assertIn("loss", file["step_000001"].attrs)
            self.assertEqual(file["step_000001/worker_0/fc.bias"].attrs["index"], 60)
        for dumps in ([dumps[0], dumps[0]], [dumps[0], "/nowhere.h5"]):
            result = python("make_sample.py", *dumps, "-o", f"{self.folder}/no.h5", "--steps", "all")
            self.assertEqual((result.returncode, result.stderr.count("\n")), (1, 1), result.stderr)
            self.assertRegex(result.stderr, "repeats step 0|nowhere")
            self.assertFalse([name for name in os.listdir(self.folder) if name.startswith("no.h5")])


class Sample(unittest.TestCase):
    def test_the_shipped_sample_keeps_the_schema(self):
        path = TOP / "datasets" / "sample.h5"
        self.assertLessEqual(path.stat().st_size, 3_000_000)
        order = [name for name, _ in ResNet20().named_parameters()]
        shapes = {name: tuple(p.shape) for name, p in ResNet20().named_parameters()}
        with h5py.File(path, "r") as file:
            self.assertEqual(list(file), ["step_000100", "step_000400"])
            for step in file.values():
                self.assertEqual(list(step), ["worker_0", "worker_1"])
                self.assertGreater(step.attrs["loss"], 0)
                for worker in step.values():
                    self.assertEqual(len(worker), 58)
                    for name, dataset in worker.items():
                        self.assertEqual((dataset.shape, dataset.dtype), (shapes[name], np.float32))
                        self.assertEqual(order[dataset.attrs["index"]], name)
                        self.assertTrue(np.isfinite(dataset[()]).all() and dataset[()].any(), name)


if __name__ == "__main__":
    unittest.main()
