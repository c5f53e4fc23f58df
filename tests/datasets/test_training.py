#!/usr/bin/env python3
"""Training with logical workers. (tests/python/test_torch.py compares them with ranks.)"""

import functools
import os
import sys
import tempfile
import unittest
from pathlib import Path

RECIPES = Path(__file__).resolve().parents[2] / "datasets" / "recipes"
sys.path.insert(0, str(RECIPES))

try:
    import h5py
    import torch
    import train_workers
    from _party import size_of
    from _side_by_side import NETWORKS
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

for network in NETWORKS.values():
    network.task.load = functools.lru_cache(None)(network.task.load)  # the same data for all runs
    if not Path(network.task.folder).is_dir():
        print(f"skipped: {network.task.folder} does not exist")
        sys.exit(77)


def arguments(*words):
    return train_workers.parse_args([*words, "--batch-size", "2", "--seed", "3"])


def trained(steps, *words, **options):
    """The weights after some steps, and the bytes that a worker has sent."""
    training = train_workers.Training(arguments(*words, "--steps", str(steps)), **options)
    for step in range(steps):
        training.step(step)
    return training.weights.detach().clone(), training.party


class Training(unittest.TestCase):
    def test_side_by_side(self):
        """Workers that are computed together have the gradients of workers that are computed in turn."""
        for network in NETWORKS:
            found = []
            for together in (4, 1):
                training = train_workers.Training(arguments(network, "identity", "--workers", "4"), together=together)
                training._backward()
                found.append(torch.cat([n.take_gradients() for n in training.networks]))
            self.assertLess(float((found[0] - found[1]).norm() / found[1].norm()), 1e-5)
            self.assertGreater(float((found[1][0] - found[1][1]).norm() / found[1][0].norm()), 0.1)

    def test_local_sgd_of_one_step(self):
        plain = ("resnet8", "identity", "--workers", "4", "--momentum", "0", "--weight-decay", "0")
        local = ("--inner-steps", "1", "--outer-lr", "1", "--outer-momentum", "0")
        before = train_workers.Training(arguments(*plain)).weights.detach()
        a, b = trained(4, *plain)[0], trained(4, *plain, *local)[0]
        self.assertLess(float((a - b).norm() / (a - before).norm()), 1e-4)

    def test_theta(self):
        """theta follows the schedule. The learning rate is 100, 85, 50 and 15 % of the largest in four steps."""
        for schedule, wanted in (("drop", [0.9, 0.9, 0, 0]), ("sqrt-lr", [0.9, 0.831, 0.636, 0.344]), ("warm-up", [0.9] * 3),
                                 ("constant", [])):
            training = train_workers.Training(arguments("resnet8", "fft:theta=0.9", "--workers", "2", "--steps", "4",
                                                        "--theta-schedule", schedule))
            seen, change = [], training.party.set
            training.party.set = lambda key, value: (seen.append(value), change(key, value))
            for step in range(4):
                training.step(step)
            if schedule == "warm-up":  # one step of a quarter
                self.assertEqual(seen.pop(0), 0.75)
            self.assertEqual(seen, wanted)
        with self.assertRaises(SystemExit):
            arguments("resnet8", "fft", "--theta-schedule", "drop")

    def test_dump(self):
        """Local SGD dumps the changes of the weights, in the steps that exchange."""
        with tempfile.TemporaryDirectory() as folder:
            training = train_workers.Training(arguments("resnet8", "identity", "--workers", "2", "--steps", "4", "--inner-steps",
                                                        "2", "--outer-lr", "1", "--outer-momentum", "0", "--dump", "0-3",
                                                        "--dump-to", f"{folder}/d"))
            before = training.weights.detach().clone()
            for step in range(2):
                training.step(step)
            moved = float((before - training.weights.detach())[-1])
            for step in range(2, 4):
                training.step(step)
            self.assertEqual(sorted(os.listdir(folder)), ["d_step000001.h5", "d_step000003.h5"])
            with h5py.File(f"{folder}/d_step000001.h5") as file:
                last = [file[f"step_000001/worker_{worker}/fc.shift"][-1] for worker in range(2)]
            self.assertAlmostEqual(sum(last) / 2, moved, places=6)
        with self.assertRaises(SystemExit):
            arguments("resnet8", "identity", "--inner-steps", "2", "--dump", "2-2")

    def test_bytes(self):
        """Workers put on their links what the formulas of docs/exchange.md say."""
        weights, party = trained(2, "resnet8", "identity", "--workers", "4")
        self.assertEqual(party.wire_bytes, 2 * 4 * weights.numel())
        self.assertEqual(party.link_bytes, 2 * 3 / 4 * party.wire_bytes)
        weights, party = trained(2, "resnet8", "topk:theta=0.99", "--workers", "4")
        self.assertEqual(party.link_bytes, 3 * party.wire_bytes)
        self.assertLess(party.wire_bytes, 2 * 0.021 * 4 * weights.numel())

    def test_tiles(self):
        """A message of tiles knows the shapes of the network's tensors."""
        for spec in ("powersgd:rank=1,tile=kernel", "dct-range:tile=kernel"):
            training = train_workers.Training(arguments("resnet8", spec, "--workers", "2"))
            (_, shapes), = training._parts()
            self.assertEqual(shapes[0], (16, 1, 3, 3))
            self.assertEqual(size_of(shapes), training.weights.numel())
            training.step(0)


if __name__ == "__main__":
    unittest.main()
