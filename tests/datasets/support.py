"""What the tests of the gradient dumper share: small models, batches, a reader, a stand-in for GradScaler."""

import sys
from pathlib import Path

import h5py
import torch
from torch import nn

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "datasets"))


def small_model(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3))


def batch(seed, columns=6):
    return torch.randn(4, columns, generator=torch.Generator().manual_seed(seed))


def backward(model, seed, factor=1.0):
    loss = model(batch(seed).to(next(model.parameters()).dtype)).float().square().mean()
    (loss * factor).backward()
    return loss


def read(path):
    """{(step, worker, name): (array, attributes)}, the steps' attributes and the root's."""
    tensors, steps = {}, {}
    with h5py.File(path, "r") as file:
        for step, group in file.items():
            steps[step] = dict(group.attrs)
            for worker, inner in group.items():
                for name, dataset in inner.items():
                    tensors[step, worker, name] = (dataset[()], dict(dataset.attrs))
        return tensors, steps, dict(file.attrs)


class Scaler:
    """GradScaler's part that matters here; its private state says whether unscale_() was called."""

    def __init__(self, scale):
        self.scale = scale
        self._per_optimizer_states = {}

    def get_scale(self):
        return self.scale
