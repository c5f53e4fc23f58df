#!/usr/bin/python3
"""Tests of convert.py: each kind of file gives the same tensors, and what cannot be written is said; skipped where NumPy or
h5py is absent.

    python3 tests/datasets/test_convert.py
"""

import json
import os
import pickle
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
try:
    import hdf5plugin
except ImportError:
    hdf5plugin = None
try:
    import scipy.io
except ImportError:
    scipy = None

WEIGHT = np.arange(6, dtype=np.float32).reshape(2, 3) - 2.5
BIAS = np.array([1.5, -2.0], np.float16)


class Convert(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def convert(self, path, *options, **environment):
        out = self.folder / "out.h5"
        out.unlink(missing_ok=True)
        done = subprocess.run([sys.executable, SCRIPT, path, out, *options], capture_output=True, text=True,
                              env={**os.environ, **environment})
        self.assertEqual(list(self.folder.glob("*.tmp")), [])
        if done.returncode:
            self.assertEqual(done.returncode, 1)
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
        self.assertIn("2 tensors; left out, because not of floating point: 1 (count)", said)

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
        self.assertIn("3 tensors; left out, because not of floating point: 1 (count)", said)

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

    def test_number_formats(self):
        path = self.folder / "a.npz"
        long = WEIGHT.astype(np.longdouble)
        words = np.arange(5, dtype="u2").view("V2")
        np.savez(path, big=WEIGHT.astype(">f4"), big8=WEIGHT.astype(">f8"), long=long, words=words)
        found, said = self.convert(path)
        self.assertIn("4 tensors\n", said)
        for name, kind in (("big", "<f4"), ("big8", "<f8"), ("long", "<f8")):
            self.assertEqual(found[name][0].dtype, np.dtype(kind))
            self.assertTrue(np.array_equal(found[name][0], WEIGHT))
        self.assertEqual(found["words"][0].tobytes(), words.tobytes())  # for --as bf16
        np.save(self.folder / "b.npy", WEIGHT.astype(">f4"))
        self.assertTrue(np.array_equal(self.convert(self.folder / "b.npy")[0]["tensor"][0], WEIGHT))
        np.savez(path, huge=long / 8 * np.finfo(np.longdouble).max)
        if np.finfo(np.longdouble).max > np.finfo(float).max:
            with self.assertRaisesRegex(RuntimeError, "huge has a number that float64 cannot hold"):
                self.convert(path)

    def test_fp8(self):
        path = self.folder / "a.safetensors"
        codes = np.arange(256, dtype="u1")
        header = {name: {"dtype": name, "shape": [256], "data_offsets": [256 * i, 256 * i + 256]}
                  for i, name in enumerate(("F8_E4M3", "F8_E5M2", "F8_E8M0"))}
        text = json.dumps(header).encode()
        path.write_bytes(len(text).to_bytes(8, "little") + text + codes.tobytes() * 3)
        found, said = self.convert(path)
        self.assertIn("2 tensors; left out, because not of floating point: 1 (F8_E8M0)", said)
        values, attributes = found["F8_E5M2"]  # the upper byte of a float16
        self.assertTrue(np.array_equal(values, (codes.astype("u2") << 8).view("f2").astype("f4"), equal_nan=True))
        self.assertEqual(attributes["source_dtype"], "float8_e5m2")
        values, attributes = found["F8_E4M3"]
        self.assertEqual(attributes["source_dtype"], "float8_e4m3fn")
        self.assertEqual([values[i] for i in (0, 1, 7, 8, 0x38, 0x39, 0x7e, 0xfe)],
                         [0, 2 ** -9, 7 * 2 ** -9, 2 ** -6, 1, 1.125, 448, -448])
        self.assertEqual(np.isnan(values).nonzero()[0].tolist(), [0x7f, 0xff])

    def hdf5(self):
        path = self.folder / "in.h5"
        with h5py.File(path, "w") as file:
            file.attrs["model"] = "net"
            group = file.create_group("step_1/worker_0")
            group.attrs["loss"] = 2.5
            group.create_dataset("lzf", data=np.tile(WEIGHT, (500, 3)), compression="lzf", shuffle=True)
            group["lzf"].attrs["index"] = 3
            group.create_dataset("scale", data=np.float32([1, 2, 3]), scaleoffset=2)
            group.create_dataset("words", data=np.arange(5, dtype="u2"), compression="lzf", chunks=(5,))
            group["tied"] = group["lzf"]
            group["soft"] = h5py.SoftLink("lzf")
            group["half"], group["long"], group["scalar"] = BIAS, WEIGHT.astype(np.longdouble), np.float32(4)
            group["empty"], group["null"] = np.zeros((0, 3), "f4"), h5py.Empty("f4")
            group["text"], group["pair"] = "words", np.zeros(2, [("a", "f4"), ("b", "i4")])
            group.create_dataset("never", shape=(7,), dtype="f4", fillvalue=2.5)
            file["step_2"] = file["step_1"]
            file["step_1/up"] = file["step_1"]
        return path

    def test_hdf5(self):
        path = self.hdf5()
        found, said = self.convert(path)
        self.assertIn("left out, because not of floating point: 2 (/step_1/worker_0/pair, /step_1/worker_0/text)", said)
        with h5py.File(self.folder / "out.h5") as file, h5py.File(path) as old:
            group = file["step_2/worker_0"]
            self.assertEqual((file.attrs["model"], group.attrs["loss"]), ("net", 2.5))
            self.assertEqual(group["lzf"].attrs["index"], 3)
            self.assertEqual(group["tied"], group["lzf"])
            self.assertEqual(group.get("soft", getlink=True).path, "lzf")
            self.assertEqual(file["step_1/up"], file["step_2"])
            self.assertEqual(group["long"].dtype, np.float64)
            self.assertIsNone(group["null"].shape)
            for name in ("lzf", "scale", "words", "half", "scalar", "empty", "never"):
                self.assertTrue(np.array_equal(group[name][()], old["step_1/worker_0"][name][()]), name)
                self.assertIn(group[name].compression, ("gzip", None))
                self.assertEqual(group[name].dtype, old["step_1/worker_0"][name].dtype)

    def test_hdf5_in_parts(self):
        for driver, name, first, options in (("family", "f%05d.h5", "f00000.h5", {"memb_size": 4096}), ("split", "s.h5", "s.h5-m.h5", {})):
            with h5py.File(self.folder / name, "w", driver=driver, **options) as file:
                file["a/w"] = np.tile(WEIGHT, (300, 3))
            found, _ = self.convert(self.folder / first)
            self.assertTrue(np.array_equal(found["a/w"][0], np.tile(WEIGHT, (300, 3))))

    def test_hdf5_failures(self):
        path = self.folder / "in.h5"
        with h5py.File(path, "w") as file:
            file["good"] = WEIGHT
            file["out"] = h5py.ExternalLink("other.h5", "/x")
        with self.assertRaisesRegex(RuntimeError, r"cannot be copied: /out \(a link to another file\)"):
            self.convert(path)
        with h5py.File(path, "w") as file:
            layout = h5py.VirtualLayout(shape=(2, 3), dtype="f4")
            layout[:] = h5py.VirtualSource(__file__, "x", shape=(2, 3))
            file.create_virtual_dataset("v", layout)
            file["good"] = WEIGHT
        with self.assertRaisesRegex(RuntimeError, "its data is in other files"):
            self.convert(path)
        with h5py.File(path, "w") as file:
            file["good"] = WEIGHT
            file.create_dataset("bad", data=np.tile(WEIGHT, (500, 3)), compression="gzip")
        data = path.read_bytes()
        pipeline = b"\x01\x01\0\0\0\0\0\0\x01\0"  # version 1, one filter, deflate
        self.assertEqual(data.count(pipeline), 1)
        path.write_bytes(data.replace(pipeline, pipeline[:8] + (32760).to_bytes(2, "little")))
        (self.folder / "hdf5plugin.py").write_text("raise ImportError\n")
        with self.assertRaisesRegex(RuntimeError, "/bad .it has the filter 32760, which h5py lacks.*pip install hdf5plugin"):
            self.convert(path, PYTHONPATH=str(self.folder))

    @unittest.skipUnless(hdf5plugin, "hdf5plugin is not here")
    def test_hdf5_filters(self):
        filters = [(name, kind) for name, kind in (("blosc", hdf5plugin.Blosc), ("zstd", hdf5plugin.Zstd), ("lz4", hdf5plugin.LZ4),
                                                   ("bitshuffle", hdf5plugin.Bitshuffle)) if h5py.h5z.filter_avail(kind.filter_id)]
        self.assertTrue(filters, "hdf5plugin has no filter; Debian: hdf5-filter-plugin-blosc-serial")
        for name, kind in filters:
            options = kind()
            path = self.folder / f"{name}.h5"
            with h5py.File(path, "w") as file:
                file.create_dataset("w", data=np.tile(WEIGHT, (500, 3)), **options)
            found, _ = self.convert(path)
            self.assertTrue(np.array_equal(found["w"][0], np.tile(WEIGHT, (500, 3))), name)
            (self.folder / "hdf5plugin.py").write_text("raise ImportError\n")
            with self.assertRaisesRegex(RuntimeError, f"the filter {name}, which h5py lacks.*pip install hdf5plugin"):
                self.convert(path, PYTHONPATH=str(self.folder), HDF5_PLUGIN_PATH="/nonexistent")
            (self.folder / "hdf5plugin.py").unlink()

    @unittest.skipUnless(scipy, "SciPy is not here")
    def test_matlab(self):
        path = self.folder / "a.mat"
        scipy.io.savemat(path, {"w": WEIGHT, "count": np.arange(3)})
        found, said = self.convert(path)
        self.assertTrue(np.array_equal(found["w"][0], WEIGHT))
        self.assertIn("1 (count)", said)

    def test_pickle(self):
        path = self.folder / "a.pkl"
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            path.write_bytes(pickle.dumps({"a": {"w": WEIGHT}, "b": [BIAS], "count": 3}, protocol))
            with self.assertRaisesRegex(RuntimeError, "add --trust-pickle"):
                self.convert(path)
            found, _ = self.convert(path, "--trust-pickle")
            self.assertTrue(np.array_equal(found["a/w"][0], WEIGHT))
            self.assertTrue(np.array_equal(found["b/0"][0], BIAS))

    def test_unknown(self):
        for text in (b"step,loss\n", b"", b"CDF\1", b"<html>", bytes(600)):
            path = self.folder / "a.dat"
            path.write_bytes(text)
            with self.assertRaisesRegex(RuntimeError, "a.dat: not a file of NumPy, PyTorch, safetensors, MATLAB 5 or HDF5$"):
                self.convert(path)
        with self.assertRaisesRegex(RuntimeError, "No such file"):
            self.convert(self.folder / "missing.npy")

    def test_existing(self):
        path = self.folder / "a.npy"
        np.save(path, WEIGHT)
        self.convert(path)
        done = subprocess.run([sys.executable, SCRIPT, path, self.folder / "out.h5"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("out.h5 exists; give another name", done.stderr)

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
