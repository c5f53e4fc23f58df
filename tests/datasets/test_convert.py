#!/usr/bin/python3
"""Tests of convert.py: each kind of file gives the same tensors; skipped where NumPy or h5py is absent.

    python3 tests/datasets/test_convert.py
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
SCRIPT = Path(__file__).resolve().parents[2] / "datasets" / "convert.py"

try:
    import h5py
    import numpy as np
except ImportError as error:
    print(f"skipped: {error}", file=sys.stderr)
    sys.exit(77)  # Meson's word for a skipped test
try:
    import torch
except ImportError:
    torch = None

WEIGHT = np.arange(6, dtype=np.float32).reshape(2, 3) - 2.5
BIAS = np.array([1.5, -2.0], np.float16)


class Convert(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def convert(self, path):
        out = self.folder / "out.h5"
        done = subprocess.run([sys.executable, SCRIPT, path, out], capture_output=True, text=True)
        if done.returncode:
            self.assertFalse(out.exists())
            raise RuntimeError(done.stderr)
        found = {}
        with h5py.File(out) as file:
            file.visititems(lambda name, item: found.update({name: (item[()], dict(item.attrs))})
                            if isinstance(item, h5py.Dataset) else None)
        return found, done.stdout

    def check(self, found):
        self.assertEqual(set(found), {"fc.weight", "step_000002/worker_1/fc.bias"})
        for name, expected in (("fc.weight", WEIGHT), ("step_000002/worker_1/fc.bias", BIAS)):
            self.assertEqual(found[name][0].dtype, expected.dtype)
            self.assertTrue(np.array_equal(found[name][0], expected))

    def test_npz(self):
        path = self.folder / "a.npz"
        np.savez(path, **{"fc.weight": WEIGHT, "step_000002/worker_1/fc.bias": BIAS, "count": np.arange(3)})
        found, said = self.convert(path)
        self.check(found)
        self.assertIn("2 tensors; 1 that", said)

    def test_npy(self):
        path = self.folder / "a.npy"
        np.save(path, WEIGHT)
        self.assertTrue(np.array_equal(self.convert(path)[0]["tensor"][0], WEIGHT))

    def test_safetensors(self):
        path = self.folder / "a.safetensors"
        half = (np.array([1.0, -3.0], "<f4").view("<u4") >> 16).astype("<u2")
        header, data = {"__metadata__": {"format": "pt"}}, b""
        for name, kind, array in (("fc.weight", "F32", WEIGHT), ("step_000002/worker_1/fc.bias", "F16", BIAS),
                                  ("half", "BF16", half), ("count", "I64", np.arange(2))):
            header[name] = {"dtype": kind, "shape": list(array.shape),
                            "data_offsets": [len(data), len(data) + array.nbytes]}
            data += array.tobytes()
        text = json.dumps(header).encode()
        path.write_bytes(len(text).to_bytes(8, "little") + text + data)
        found, said = self.convert(path)
        values, attributes = found.pop("half")
        self.assertEqual((values.tolist(), attributes["source_dtype"]), ([1.0, -3.0], "bfloat16"))
        self.check(found)
        self.assertIn("3 tensors; 1 that", said)

    @unittest.skipUnless(torch, "PyTorch is not here")
    def test_torch(self):
        for zipped in (True, False):
            path = self.folder / "a.pt"
            torch.save({"fc.weight": torch.nn.Parameter(torch.tensor(WEIGHT)),
                        "step_000002": {"worker_1": {"fc.bias": torch.tensor(BIAS)}},
                        "half": [torch.tensor([1.0, -3.0]).bfloat16()], "epoch": 3},
                       path, _use_new_zipfile_serialization=zipped)
            found, _ = self.convert(path)
            values, attributes = found.pop("half/0")
            self.assertEqual((values.tolist(), attributes["source_dtype"]), ([1.0, -3.0], "bfloat16"))
            self.check(found)
            (self.folder / "out.h5").unlink()

    def test_no_tensor(self):
        path = self.folder / "a.npz"
        np.savez(path, count=np.arange(3))
        with self.assertRaisesRegex(RuntimeError, "no tensor of floating point"):
            self.convert(path)

    def test_damaged(self):
        path = self.folder / "a.npz"
        path.write_bytes(b"PK\3\4 and no more")
        with self.assertRaisesRegex(RuntimeError, "a.npz: "):
            self.convert(path)


if __name__ == "__main__":
    unittest.main()
