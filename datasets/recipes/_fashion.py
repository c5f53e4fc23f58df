"""Fashion-MNIST: images of clothes in ten classes, from the files of a Debian package."""

import gzip
from pathlib import Path

import numpy as np
import torch
from torch import nn

from _training import Batch, Task


def read_idx(path: Path) -> np.ndarray:
    """An unsigned-byte array from an IDX file, gzipped or not. Raises ValueError if it is not one."""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
        data = file.read()
    if data[:3] != b"\0\0\x08" or len(data) < 4 + 4 * data[3]:
        raise ValueError(f"{path} is not an IDX file of bytes")
    shape = np.frombuffer(data, ">u4", data[3], 4)
    if len(data) != 4 + 4 * data[3] + int(np.prod(shape, dtype=np.int64)):
        raise ValueError(f"{path} is cut off")
    return np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(shape)


def load(folder: str, part: str) -> Batch:
    """Images (standardised, N x 1 x 28 x 28) and labels of "train" or "test". Raises FileNotFoundError, ValueError."""
    arrays = []
    part = {"test": "t10k"}.get(part, part)
    for kind in ("images-idx3", "labels-idx1"):
        plain = Path(folder) / f"{part}-{kind}-ubyte"
        packed = plain.with_name(plain.name + ".gz")
        if not packed.exists() and not plain.exists():
            raise FileNotFoundError(f"{packed} does not exist: apt-get install dataset-fashion-mnist, or give --data")
        arrays.append(read_idx(packed if packed.exists() else plain))
    images = torch.from_numpy(arrays[0].astype(np.float32))[:, None]
    return (images / 255.0 - 0.2860) / 0.3530, torch.from_numpy(arrays[1].astype(np.int64))


class Fashion(Task):
    dataset, unit = "fashion-mnist", "images"
    folder = "/usr/share/datasets/fashion-mnist"  # of the package dataset-fashion-mnist
    data_help = "folder of the four idx files"

    def load(self, folder: str, part: str) -> Batch:
        return load(folder, part)

    def count(self, data: Batch) -> int:
        return len(data[1])

    def pick(self, data: Batch, chosen: torch.Tensor) -> Batch:
        images, labels = data
        return images[chosen], labels[chosen]

    def score(self, model: nn.Module, data: Batch) -> str:
        images, labels = (part[:2000] for part in data)
        right = sum(int((model(x).argmax(1) == y).sum()) for x, y in zip(images.split(200), labels.split(200)))
        return f"{100 * right / len(labels):.1f} % of {len(labels)} test images are right"


FASHION = Fashion()
