#!/usr/bin/python3
"""Tests of datasets/dump_gradients.py: plain unittest, needs torch and h5py, skipped where they are absent.

    python3 tests/datasets/test_dump_gradients.py
"""

import contextlib
import io
import os
import resource
import signal
import subprocess
import sys
import tempfile
import unittest
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent / "support"))
from patience import HANG  # noqa: E402

try:
    import h5py
    import numpy as np
    import torch
    from torch import nn
    from support import Scaler, backward, batch, read, small_model
    from dump_gradients import GradientDumper, Steps, parse_size
except ImportError as error:
    reason = f"the gradient dumper needs what is not here: {error}"
    if __name__ == "__main__":
        print(f"skipped: {reason}", file=sys.stderr)
        sys.exit(77)  # Meson's word for a skipped test
    raise unittest.SkipTest(reason) from None


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.prefix = os.path.join(folder.name, "grads")
        self.said = io.StringIO()
        redirect = contextlib.redirect_stderr(self.said)
        redirect.__enter__()
        self.addCleanup(redirect.__exit__, None, None, None)

    def file(self, step, rank=0):
        return f"{self.prefix}_step{step:06d}_rank{rank}.h5"

    def files(self):
        return sorted(os.listdir(self.folder))

    def one(self, model, gradients=None, **options):
        """Record step 0 of a model whose gradients are given or come from one backward pass."""
        dumper = GradientDumper(model, self.prefix, steps=0, **options)
        if gradients is None:
            backward(model, 1)
        for parameter, gradient in zip(model.parameters(), gradients or ()):
            parameter.grad = gradient
        dumper.step()
        return read(self.file(0))


class PlainLoop(Case):
    def test_stores_the_raw_gradient_of_the_chosen_steps(self):
        model = small_model()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=0.01)
        dumper = GradientDumper(model, self.prefix, steps="0,2-3", optimizer=optimizer,
                                attributes={"dataset": "noise", "batch_size": 4})
        want, losses = {}, []
        for step in range(5):
            optimizer.zero_grad()
            losses.append(backward(model, step))
            want[step] = {name: p.grad.clone().numpy() for name, p in model.named_parameters()}
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # torch 2 warns of a loss that requires a gradient
                path = dumper.step(losses[-1], epoch=7)
            self.assertEqual(path, self.file(step) if step in (0, 2, 3) else None)
            nn.utils.clip_grad_norm_(model.parameters(), 1e-3)
            optimizer.step()
        self.assertEqual(self.files(), [f"grads_step00000{n}_rank0.h5" for n in (0, 2, 3)])
        for step in (0, 2, 3):
            tensors, steps, root = read(self.file(step))
            key = f"step_{step:06d}"
            self.assertEqual({name for _, _, name in tensors}, set(want[step]))
            for index, (name, array) in enumerate(want[step].items()):
                stored, attributes = tensors[key, "worker_0", name]
                np.testing.assert_array_equal(stored, array)
                self.assertEqual(stored.dtype, np.float32)
                self.assertEqual(attributes, {"index": index})
            self.assertEqual(steps, {key: {"loss": losses[step].item(), "lr": 0.1, "epoch": 7.0, "found_inf": 0}})
            self.assertEqual(root, {"model": "Sequential", "dataset": "noise", "batch_size": 4, "workers": 1,
                                    "framework": f"torch {torch.__version__}", "optimiser": "SGD", "momentum": 0.9,
                                    "weight_decay": 0.01, "what": "gradient"})

    def test_include_and_exclude(self):
        tensors, _, _ = self.one(small_model(), include="*.weight", exclude=["0.*"])
        self.assertEqual([name for _, _, name in tensors], ["2.weight"])
        self.assertEqual(tensors["step_000000", "worker_0", "2.weight"][1]["index"], 2)
        with self.assertRaisesRegex(ValueError, "no parameter to record"):
            GradientDumper(small_model(), self.prefix, steps=0, include="nothing*")

    def test_missing_and_frozen_parameters(self):
        model = small_model()
        model.unused = nn.Linear(2, 2)
        model[0].bias.requires_grad_(False)
        dumper = GradientDumper(model, self.prefix, steps=0)
        model[2](torch.relu(model[0](batch(1)))).sum().backward()
        dumper.step()
        tensors, steps, _ = read(self.file(0))
        self.assertEqual({name for _, _, name in tensors}, {"0.weight", "2.weight", "2.bias"})
        self.assertEqual(steps["step_000000"]["missing"], "unused.weight\nunused.bias")

    def test_step_in_the_wrong_place_is_said(self):
        dumper = GradientDumper(small_model(), self.prefix, steps=0)
        self.assertIsNone(dumper.step())
        self.assertIn("no parameter has a gradient", self.said.getvalue())
        self.assertEqual(self.files(), [])

    def test_types(self):
        for dtype in (torch.float16, torch.float32, torch.float64):
            gradient = torch.linspace(-1, 1, 8).to(dtype)
            (array, attributes), = self.one(nn.ParameterList([nn.Parameter(gradient.clone())]), [gradient],
                                            overwrite=True)[0].values()
            self.assertEqual(str(array.dtype), str(dtype)[6:])
            np.testing.assert_array_equal(array, gradient.numpy())
            self.assertNotIn("source_dtype", attributes)

    def test_bfloat16_is_widened(self):
        model = small_model().bfloat16()
        backward(model, 1)
        want = model[0].weight.grad.float().numpy()
        array, attributes = self.one(model, [p.grad for p in model.parameters()])[0][
            "step_000000", "worker_0", "0.weight"]
        self.assertEqual(array.dtype, np.float32)
        self.assertEqual(attributes["source_dtype"], "bfloat16")
        np.testing.assert_array_equal(array, want)

    def test_dtype_option(self):
        array, attributes = self.one(small_model(), dtype="float16")[0]["step_000000", "worker_0", "0.bias"]
        self.assertEqual((array.dtype, attributes["narrowed_from"]), (np.float16, "float32"))
        array, attributes = self.one(small_model(), dtype="float64", overwrite=True)[0][
            "step_000000", "worker_0", "0.bias"]
        self.assertEqual((array.dtype, attributes["source_dtype"]), (np.float64, "float32"))

    def test_gzip_where_it_pays(self):
        model = nn.ParameterList([nn.Parameter(torch.zeros(200, 200)), nn.Parameter(torch.tensor(2.0)),
                                  nn.Parameter(torch.zeros(3, 0))])
        self.one(model, [torch.ones(200, 200), torch.tensor(3.0), torch.zeros(3, 0)], compression="gzip")
        with h5py.File(self.file(0), "r") as file:
            group = file["step_000000/worker_0"]
            self.assertEqual((group["0"].compression, group["0"].shuffle), ("gzip", True))
            self.assertEqual((group["1"].compression, group["1"][()], group["2"].shape), (None, 3.0, (3, 0)))

    def test_sparse_gradient_is_made_dense(self):
        model = nn.Embedding(10, 3, sparse=True)
        dumper = GradientDumper(model, self.prefix, steps=0)
        model(torch.tensor([1, 4, 4])).sum().backward()
        self.assertTrue(model.weight.grad.is_sparse)
        dumper.step()
        (array, _), = read(self.file(0))[0].values()
        want = np.zeros((10, 3), np.float32)
        want[1], want[4] = 1, 2
        np.testing.assert_array_equal(array, want)

    def test_sample(self):
        model = nn.ParameterList([nn.Parameter(torch.zeros(300, 100)), nn.Parameter(torch.zeros(40, 250)),
                                  nn.Parameter(torch.zeros(10000)), nn.Parameter(torch.zeros(10001))])
        gradients = [torch.arange(p.numel()).float().reshape(p.shape) for p in model]
        for sample, length, begins in ((10000, 4096, (5452, 20452)), (5, 5, (14997,))):
            tensors = self.one(model, gradients, sample=sample, overwrite=True, max_bytes="200K")[0]
            array, attributes = tensors["step_000000", "worker_0", "0"]
            np.testing.assert_array_equal(array, np.concatenate([np.arange(b, b + length) for b in begins]))
            self.assertEqual(attributes, {"index": 0, "part": "sample", "sampled_from": 30000, "slice": length})
            whole = {name for (_, _, name), (_, attributes) in tensors.items() if "part" not in attributes}
            self.assertEqual(whole, {"1", "2"} if sample == 10000 else set())
            self.assertEqual(tensors["step_000000", "worker_0", "1"][0].shape, (40, 250) if sample == 10000 else (5,))
        self.assertIn(f"{4 * (2 * 8192 + 20000) / 1e3:.2f} KB a step", self.said.getvalue())

    def test_momenta_and_updates(self):
        for kind, buffer in ((torch.optim.SGD, "momentum_buffer"), (torch.optim.AdamW, "exp_avg")):
            model = small_model()
            optimizer = kind(model.parameters(), 0.1, **({"momentum": 0.9} if kind is torch.optim.SGD else {}))
            dumpers = {what: GradientDumper(model, os.path.join(self.folder, kind.__name__ + what), steps="1", what=what, optimizer=optimizer)
                       for what in ("momentum", "update")}
            for step in range(2):
                optimizer.zero_grad()
                backward(model, step)
                before = {name: p.detach().clone() for name, p in model.named_parameters()}
                optimizer.step()
                files = {what: dumper.step() for what, dumper in dumpers.items()}
            for name, p in model.named_parameters():
                for what, want in (("momentum", optimizer.state[p][buffer]), ("update", before[name] - p.detach())):
                    tensors, _, root = read(files[what])
                    self.assertEqual(root["what"], what)
                    self.assertTrue((tensors["step_000001", "worker_0", name][0] == want.numpy()).all())

    def test_sample_of_a_transposed_gradient(self):
        """The slices are those of the tensor in the order of its indices, whatever its order in memory is."""
        gradient = torch.arange(30000.0).reshape(100, 300).t()
        tensors = self.one(nn.ParameterList([nn.Parameter(torch.zeros(300, 100))]), [gradient], sample=4096)[0]
        begin = (30000 - 4096) // 2
        np.testing.assert_array_equal(next(iter(tensors.values()))[0], gradient.reshape(-1)[begin:begin + 4096])

    def test_accumulated_gradient(self):
        model = small_model()
        dumper = GradientDumper(model, self.prefix, steps=[0], accumulation_steps=2)
        backward(model, 1)
        backward(model, 2)
        dumper.step()
        tensors, steps, _ = read(self.file(0))
        other = small_model()
        (other(batch(1)).square().mean() + other(batch(2)).square().mean()).backward()
        np.testing.assert_allclose(tensors["step_000000", "worker_0", "2.weight"][0], other[2].weight.grad, rtol=1e-5)
        self.assertEqual(steps["step_000000"]["accumulation_steps"], 2)

    def test_compiled_module_keeps_its_names(self):
        class Compiled(nn.Module):  # what torch.compile returns has the module under this name
            def __init__(self, module):
                super().__init__()
                self._orig_mod = module

        model = small_model()
        model[0] = Compiled(model[0])
        tensors, _, root = self.one(Compiled(model), [torch.zeros_like(p) for p in model.parameters()])
        self.assertEqual([name for _, _, name in tensors], ["0.bias", "0.weight", "2.bias", "2.weight"])
        self.assertEqual(root["model"], "Sequential")
        model = nn.ModuleDict({"my_orig_mod": Compiled(nn.Linear(2, 2)), "other": nn.Linear(2, 2)})
        model.forward = None
        tensors, _, _ = self.one(model, [torch.zeros_like(p) for p in model.parameters()], overwrite=True,
                                 include="my_orig_mod._orig_mod.*")
        self.assertEqual([name for _, _, name in tensors], ["my_orig_mod.bias", "my_orig_mod.weight"])


class MixedPrecision(Case):
    def test_the_scale_is_divided_out(self):
        model = small_model()
        dumper = GradientDumper(model, self.prefix, steps=0, scaler=Scaler(1024.0))
        backward(model, 1, 1024.0)
        dumper.step()
        tensors, steps, _ = read(self.file(0))
        other = small_model()
        backward(other, 1)
        np.testing.assert_array_equal(tensors["step_000000", "worker_0", "0.weight"][0], other[0].weight.grad)
        self.assertEqual((steps["step_000000"]["loss_scale"], steps["step_000000"]["found_inf"]), (1024.0, 0))

    def test_float16_is_not_flushed_by_the_division(self):
        gradient = torch.tensor([2.0 ** -14], dtype=torch.float16)
        model = nn.ParameterList([nn.Parameter(gradient.clone())])
        (array, attributes), = self.one(model, [gradient], scaler=Scaler(65536.0))[0].values()
        self.assertEqual((array[0], attributes["source_dtype"]), (2.0 ** -30, "float16"))

    def test_what_is_marked_bfloat16_fits_into_it(self):
        gradient = torch.linspace(-1, 1, 50).bfloat16()
        model = nn.ParameterList([nn.Parameter(gradient.clone())])
        (array, attributes), = self.one(model, [gradient], scaler=Scaler(3.0))[0].values()
        self.assertEqual((array.dtype, attributes["source_dtype"]), (np.float32, "bfloat16"))
        np.testing.assert_array_equal(array, torch.from_numpy(array).bfloat16().float())
        np.testing.assert_allclose(array, gradient.float() / 3, rtol=0.01)

    def test_overflow_is_recorded_and_marked(self):
        gradient = torch.tensor([1.0, float("inf")])
        model = nn.ParameterList([nn.Parameter(gradient.clone())])
        tensors, steps, _ = self.one(model, [gradient], scaler=Scaler(2.0))
        self.assertEqual(steps["step_000000"]["found_inf"], 1)
        np.testing.assert_array_equal(next(iter(tensors.values()))[0], [0.5, np.inf])

    def test_gradients_already_unscaled_stay(self):
        if hasattr(torch, "amp") and hasattr(torch.amp, "GradScaler"):
            scaler, model = torch.amp.GradScaler("cpu", init_scale=256.0), small_model()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            dumper = GradientDumper(model, self.prefix, steps="0-1", scaler=scaler)
            scaler.scale(model(batch(1)).square().mean()).backward()
            dumper.step()
            scaler.unscale_(optimizer)
            dumper.step()
        else:
            scaler, model = Scaler(256.0), small_model()
            dumper = GradientDumper(model, self.prefix, steps="0-1", scaler=scaler)
            backward(model, 1, 256.0)
            dumper.step()
            for parameter in model.parameters():
                parameter.grad /= 256.0
            scaler._per_optimizer_states[0] = {"stage": type("Stage", (), {"value": 1})}
            dumper.step()
        first = read(self.file(0))[0]["step_000000", "worker_0", "0.weight"][0]
        second = read(self.file(1))[0]["step_000001", "worker_0", "0.weight"][0]
        self.assertGreater(np.abs(first).max(), 0)
        np.testing.assert_array_equal(first, second)


class Limits(Case):
    def test_max_bytes_stops_and_training_goes_on(self):
        model = small_model()
        backward(model, 1)
        for compression in (None, "gzip"):
            with self.subTest(compression=compression):
                GradientDumper(model, self.prefix, steps=0, overwrite=True).step()
                limit = 2 * os.path.getsize(self.file(0)) + 100
                dumper = GradientDumper(model, self.prefix, steps="all", max_bytes=limit, compression=compression,
                                        overwrite=True)
                said = self.said.tell()
                self.assertEqual([bool(dumper.step()) for _ in range(5)], [True, True, False, False, False])
                self.assertEqual(self.files(), ["grads_step000000_rank0.h5", "grads_step000001_rank0.h5"])
                self.assertEqual(self.said.getvalue()[said:].count("\n"), 1)
                self.assertIn(f"max_bytes={limit} reached", self.said.getvalue()[said:])

    @unittest.skipUnless(hasattr(os, "posix_fallocate"), "no way to take disk space ahead here")
    def test_full_disk_stops_and_training_goes_on(self):
        model = nn.Linear(300, 300)
        dumper = GradientDumper(model, self.prefix, steps="all")
        model(torch.ones(1, 300)).sum().backward()
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_FSIZE, limits)
        self.assertEqual(dumper.step(), self.file(0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, limits[1]))
        self.assertEqual([dumper.step(), dumper.step()], [None, None])
        self.assertEqual(self.files(), ["grads_step000000_rank0.h5"])
        self.assertIn("stops recording after 36", self.said.getvalue())

    def test_no_space_is_left_reserved(self):
        self.one(small_model())
        with h5py.File(self.file(0), "r") as file:
            self.assertLess(os.path.getsize(self.file(0)), 16384)
            self.assertEqual(file.id.get_filesize(), os.path.getsize(self.file(0)))

    def test_a_failed_rename_stops_and_training_goes_on(self):
        model = small_model()
        backward(model, 1)
        dumper = GradientDumper(model, self.prefix, steps="0-2")
        os.mkdir(self.file(0))  # the rename onto it fails
        self.assertIsNone(dumper.step())
        self.assertIsNone(dumper.step())
        self.assertEqual(self.files(), ["grads_step000000_rank0.h5"])
        self.assertIn("stops recording", self.said.getvalue())

    def test_a_killed_run_leaves_whole_files_only(self):
        result = subprocess.run([sys.executable, str(HERE / "killed_run.py"), self.prefix], stderr=subprocess.PIPE)
        self.assertEqual(result.returncode, -signal.SIGKILL, result.stderr.decode())
        whole = [name for name in self.files() if name.endswith(".h5")]
        self.assertEqual(whole, ["grads_step000000_rank0.h5", "grads_step000001_rank0.h5"])
        self.assertEqual(len(self.files()), 3, "the run should have died within a file")
        for name in whole:
            self.assertEqual(len(read(os.path.join(self.folder, name))[0]), 4)

    def test_earlier_files_are_not_overwritten(self):
        self.one(small_model())
        with self.assertRaisesRegex(FileExistsError, "overwrite=True"):
            GradientDumper(small_model(), self.prefix, steps="0-5")
        GradientDumper(small_model(), self.prefix, steps="0-5", start_step=1)
        GradientDumper(small_model(), self.prefix, steps="0-5", overwrite=True)

    def test_a_restarted_run_goes_on_counting(self):
        model = small_model()
        dumper = GradientDumper(model, self.prefix, steps="1,7", start_step=6)
        backward(model, 1)
        self.assertEqual([dumper.step(), dumper.step()], [None, self.file(7)])

    def test_steps(self):
        for spec, inside, last in (("0,100,400", [0, 100, 400], 400), ("200-203", [200, 201, 202, 203], 203),
                                   ("0-10/5", [0, 5, 10], 10), (range(4, 0, -2), [2, 4], 4), ([3, 1], [1, 3], 3),
                                   (np.int64(5), [5], 5), ("0,2-3", [0, 2, 3], 3)):
            steps = Steps(spec)
            self.assertEqual([n for n in range(500) if n in steps], inside)
            self.assertEqual((steps.last, steps.count, steps.endless), (last, len(inside), False))
        self.assertTrue(10 ** 9 in Steps("all") and Steps("all").endless)
        for wrong in ("", "x", "5-3", "1-2/0", "-1", [-1]):
            with self.assertRaises(ValueError, msg=wrong):
                Steps(wrong)
        with self.assertRaises(TypeError):
            Steps([1.5])

    def test_sizes(self):
        self.assertEqual([parse_size(text) for text in (7, "7", "2K", "1.5M", "3GB", None)],
                         [7, 7, 2048, 1572864, 3 << 30, None])
        with self.assertRaises(ValueError):
            parse_size("much")


class Refused(Case):
    def refuse(self, model, pattern):
        with self.assertRaisesRegex(ValueError, pattern) as caught:
            GradientDumper(model, self.prefix, steps=0)
        self.assertNotIn("\n", str(caught.exception))

    def test_sharded_wrappers(self):
        # An FSDPModule of a torch that cannot replace its reduce-scatter; tests/python/test_fsdp.py
        # records those that can.
        for name in ("FullyShardedDataParallel", "FSDPModule", "ShardedDataParallel", "DeepSpeedEngine"):
            wrapper = type(name, (nn.Sequential,), {})
            instead = "use torch" if name == "FSDPModule" else r"record a run .* with fully_shard \(FSDP2\), or .*DistributedDataParallel"
            self.refuse(wrapper(nn.Linear(2, 2)), f"{name}.*; {instead}")
            self.refuse(nn.Sequential(type("Other", (wrapper,), {})(nn.Linear(2, 2))), f"{name}.*; {instead}")

    def test_sharded_parameters(self):
        model = small_model()
        model[0].weight.ds_id = 0
        self.refuse(model, "0.weight: DeepSpeed's ZeRO shards parameters.*; record a run .* with fully_shard")
        model = small_model()
        model[0].weight = type("DTensor", (nn.Parameter,), {})(torch.zeros(5, 6))
        self.refuse(model, "DTensor.*; record a run")

    def test_options(self):
        for wrong, kind in ((dict(compression="lzf"), ValueError), (dict(dtype="int8"), ValueError),
                            (dict(comm_hook=print), ValueError),
                            (dict(sample=0), ValueError), (dict(sample=1.5), TypeError), (dict(fsdp="output"), ValueError), (dict(attributes={"a": [1]}), TypeError)):
            with self.assertRaises(kind, msg=wrong):
                GradientDumper(small_model(), self.prefix, steps=0, **wrong)
        complex_model = nn.ParameterList([nn.Parameter(torch.zeros(2, dtype=torch.complex64))])
        self.refuse(complex_model, "complex64")


@unittest.skipUnless(torch.distributed.is_available() and hasattr(torch.distributed, "ProcessGroupGloo"),
                     "this torch has no gloo")
class Ddp(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        started = [subprocess.Popen([sys.executable, str(HERE / "ddp_worker.py"), str(rank), cls.folder],
                                    stderr=subprocess.PIPE) for rank in range(2)]
        try:
            cls.said = [process.communicate(timeout=5 * HANG)[1].decode() for process in started]
        finally:
            for process in started:
                process.kill()
        for process, said in zip(started, cls.said):
            if process.returncode != 0:
                raise AssertionError(f"a worker ended with {process.returncode}:\n{said}")

    def load(self, scenario, step=0):
        """Per worker: what was dumped, its own gradients as worked out without DDP, and what DDP left in p.grad."""
        workers = []
        for rank in range(2):
            tensors, steps, root = read(os.path.join(self.folder, f"{scenario}_step{step:06d}_rank{rank}.h5"))
            saved = np.load(os.path.join(self.folder, f"{scenario}_rank{rank}.npz"))
            dumped = {name: array for (_, worker, name), (array, _) in tensors.items() if worker == f"worker_{rank}"}
            self.assertEqual(len(dumped), len(tensors))
            own, reduced = ({key.split("/")[2]: saved[key] for key in saved.files if key.startswith(f"{what}/{step}/")}
                            for what in ("own", "reduced"))
            workers.append((dumped, own, reduced, steps[f"step_{step:06d}"], root))
        return workers

    def check(self, scenario, step=0, gain=1.0):
        """Dumped is each worker's own, the workers differ, and their mean (times gain) is p.grad."""
        (first, own0, reduced, _, root), (second, own1, _, _, _) = self.load(scenario, step)
        self.assertEqual(set(first), set(reduced))
        self.assertEqual(root["workers"], 2)
        for name in first:
            np.testing.assert_allclose(first[name], own0.get(name, 0 * first[name]), rtol=1e-5, atol=1e-7)
            np.testing.assert_allclose(second[name], own1.get(name, 0 * first[name]), rtol=1e-5, atol=1e-7)
            np.testing.assert_allclose((first[name] + second[name]) / 2 * gain, reduced[name], rtol=1e-5, atol=1e-7)
        for name in first:
            self.assertFalse(np.array_equal(first[name], second[name]), name)

    def test_each_worker_before_the_reduction(self):
        for step in range(3):  # DDP lays its buckets out anew after the first step
            self.check("buckets", step)

    def test_training_is_unchanged(self):
        reduced = self.load("buckets")[0][2]
        alone = np.load(os.path.join(self.folder, "alone_rank0.npz"))
        for name in alone.files:
            np.testing.assert_array_equal(reduced[name], alone[name])

    def test_accumulation_under_no_sync_and_bucket_views(self):
        for step in range(2):
            self.check("view", step)
        self.assertEqual(self.load("view")[0][3]["accumulation_steps"], 3)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "view_step000002_rank0.h5")))

    def test_own_hook_is_wrapped(self):
        for step in range(2):
            self.check("own_hook", step, gain=2.0)

    def test_unused_parameters(self):
        (first, own0, _, steps, _), (second, own1, _, _, _) = self.load("unused")
        self.assertEqual(set(first), {"shared.weight", "shared.bias", "first.weight", "first.bias"})
        self.assertEqual(steps["missing"], "nobody.weight\nnobody.bias")
        np.testing.assert_allclose(first["first.weight"], own0["first.weight"], rtol=1e-5)
        self.assertNotIn("first.weight", own1)
        self.assertFalse(second["first.weight"].any(), "what worker 1 sends for a parameter it did not use is zero")

    def test_channels_last(self):
        self.check("channels_last")

    def test_sparse(self):
        self.check("sparse")

    def test_sample(self):
        for dumped, own, _, _, _ in self.load("sampled"):
            for name, array in own.items():
                begin = (array.size - 50) // 2
                part = array.reshape(-1)[begin:begin + 50] if array.size > 50 else array
                np.testing.assert_allclose(dumped[name], part, rtol=1e-5, atol=1e-7)

    def test_loss_scale(self):
        (first, own, _, steps, _), _ = self.load("scaled")
        for name in own:
            np.testing.assert_allclose(first[name], own[name], rtol=1e-5, atol=1e-7)
        self.assertEqual(steps["loss_scale"], 512.0)

    def test_what_is_said(self):
        self.assertIn("DDP reduced 2 times before step()", self.said[0])
        self.assertIn("2 processes but no DistributedDataParallel module", self.said[0])
        self.assertIn("before the reduction", self.said[0])
        self.assertNotIn("before the reduction", self.said[1])


if __name__ == "__main__":
    unittest.main()
