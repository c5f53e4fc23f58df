"""The shared part of the recipes: Fashion-MNIST from disk, the options, and training with several workers.

The workers are simulated one after another in one process; with --ddp they are processes under
DistributedDataParallel. In both cases the gradient of each worker is dumped before the average. Needs no network.
"""

import argparse
import gzip
import os
import sys
import tempfile
from pathlib import Path
from typing import Callable, Iterator, List, Tuple

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
from torch import nn
from torch.nn.functional import cross_entropy

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from dump_gradients import GradientDumper, Steps  # noqa: E402

DEBIAN_FOLDER = "/usr/share/datasets/fashion-mnist"  # of the package dataset-fashion-mnist
Batch = Tuple[torch.Tensor, torch.Tensor]


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
    """Images (standardised, N x 1 x 28 x 28) and labels of "train" or "t10k". Raises FileNotFoundError, ValueError."""
    arrays = []
    for kind in ("images-idx3", "labels-idx1"):
        plain = Path(folder) / f"{part}-{kind}-ubyte"
        packed = plain.with_name(plain.name + ".gz")
        if not packed.exists() and not plain.exists():
            raise FileNotFoundError(f"{packed} does not exist: apt-get install dataset-fashion-mnist, or give --data")
        arrays.append(read_idx(packed if packed.exists() else plain))
    images = torch.from_numpy(arrays[0].astype(np.float32))[:, None]
    return (images / 255.0 - 0.2860) / 0.3530, torch.from_numpy(arrays[1].astype(np.int64))


def batches(data: Batch, args: argparse.Namespace, worker: int) -> Iterator[Tuple[int, Batch]]:
    """Endless (epoch, batch): in each epoch, each image goes to at most one worker."""
    images, labels = data
    if len(labels) < args.workers * args.batch_size:
        raise ValueError(f"{len(labels)} images do not fill one batch of {args.workers} x {args.batch_size}")
    epoch = 0
    while True:
        order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(args.seed * 1_000_003 + epoch))
        mine = order[worker::args.workers]
        for first in range(0, len(mine) - args.batch_size + 1, args.batch_size):
            chosen = mine[first:first + args.batch_size]
            yield epoch, (images[chosen], labels[chosen])
        epoch += 1


def parse_args(model_name: str, workers: int, steps: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=f"Train {model_name} on Fashion-MNIST and dump each worker's gradients.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("-o", "--output", default=f"dumps/{model_name}", help="prefix of the files")
    parser.add_argument("--steps", default=steps, help="steps to dump: 0,100,400 or 200-215; training ends there")
    parser.add_argument("--workers", type=int, default=workers, help="number of workers in each step")
    parser.add_argument("--ddp", action="store_true", help="one process per worker under DistributedDataParallel")
    parser.add_argument("--seed", type=int, default=1, help="of the weights and of the order of the images")
    parser.add_argument("--batch-size", type=int, default=32, help="images per worker and step")
    parser.add_argument("--lr", type=float, default=0.05, help="learning rate of SGD")
    parser.add_argument("--momentum", type=float, default=0.9)
    parser.add_argument("--weight-decay", type=float, default=0.0)
    parser.add_argument("--compression", choices=["gzip"], help="filter of the files")
    parser.add_argument("--overwrite", action="store_true", help="replace files of an earlier run")
    parser.add_argument("--data", default=DEBIAN_FOLDER, help="folder of the four idx files")
    args = parser.parse_args()
    args.model_name = model_name
    try:
        args.last = Steps(args.steps).last
        if Steps(args.steps).endless:
            parser.error("--steps needs a last step: the training ends there")
    except ValueError as error:
        parser.error(str(error))
    if args.workers < 1 or args.batch_size < 1:
        parser.error("--workers and --batch-size must be at least 1")
    return args


def make_dumper(model: nn.Module, optimizer: torch.optim.Optimizer, args: argparse.Namespace,
                worker: int) -> GradientDumper:
    return GradientDumper(model, args.output, steps=args.steps, optimizer=optimizer, compression=args.compression,
                          worker=worker, workers=args.workers, overwrite=args.overwrite,
                          attributes={"model": args.model_name, "dataset": "fashion-mnist",
                                      "batch_size": args.batch_size, "seed": args.seed})


def make_optimizer(model: nn.Module, args: argparse.Namespace) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=args.lr, momentum=args.momentum, weight_decay=args.weight_decay)


def report(step: int, loss: float, args: argparse.Namespace) -> None:
    if step % 50 == 0 or step == args.last:
        print(f"step {step:6d}  loss {loss:.4f}", file=sys.stderr, flush=True)


def report_accuracy(model: nn.Module, args: argparse.Namespace) -> None:
    images, labels = (part[:2000] for part in load(args.data, "t10k"))
    model.eval()
    with torch.no_grad():
        right = sum(int((model(x).argmax(1) == y).sum()) for x, y in zip(images.split(200), labels.split(200)))
    print(f"accuracy on {len(labels)} test images after {args.last + 1} steps: {100 * right / len(labels):.1f} %",
          file=sys.stderr)


def train_simulated(make_model: Callable[[], nn.Module], args: argparse.Namespace) -> None:
    """Compute the gradients of all workers in turn with the same weights, then apply their mean."""
    torch.manual_seed(args.seed)
    model, data = make_model(), load(args.data, "train")
    optimizer = make_optimizer(model, args)
    dumpers = [make_dumper(model, optimizer, args, worker) for worker in range(args.workers)]
    streams = [batches(data, args, worker) for worker in range(args.workers)]
    for step in range(args.last + 1):
        total: List[torch.Tensor] = [torch.zeros_like(parameter) for parameter in model.parameters()]
        losses = []
        for dumper, stream in zip(dumpers, streams):
            epoch, (images, labels) = next(stream)
            optimizer.zero_grad()
            loss = cross_entropy(model(images), labels)
            loss.backward()
            dumper.step(loss, epoch=epoch)
            losses.append(loss.item())
            for part, parameter in zip(total, model.parameters()):
                part += parameter.grad
        for part, parameter in zip(total, model.parameters()):
            parameter.grad.copy_(part / args.workers)
        optimizer.step()
        report(step, sum(losses) / len(losses), args)
    report_accuracy(model, args)


def train_ddp(worker: int, make_model: Callable[[], nn.Module], args: argparse.Namespace, store: str) -> None:
    """Train as one of several processes."""
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # all processes are on this machine
    torch.set_num_threads(max(1, (os.cpu_count() or 1) // args.workers))
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=worker, world_size=args.workers)
    torch.manual_seed(args.seed)
    model = nn.parallel.DistributedDataParallel(make_model())
    optimizer = make_optimizer(model, args)
    dumper = make_dumper(model, optimizer, args, worker)
    stream = batches(load(args.data, "train"), args, worker)
    for step in range(args.last + 1):
        epoch, (images, labels) = next(stream)
        optimizer.zero_grad()
        loss = cross_entropy(model(images), labels)
        loss.backward()
        dumper.step(loss, epoch=epoch)
        optimizer.step()
        if worker == 0:
            report(step, loss.item(), args)
    dist.barrier()
    if worker == 0:
        report_accuracy(model.module, args)
    dist.destroy_process_group()


def run(make_model: Callable[[], nn.Module], args: argparse.Namespace) -> None:
    """Train and dump as the options say. An expected error ends the program with a message of one line."""
    try:
        if not args.ddp:
            train_simulated(make_model, args)
            return
        load(args.data, "t10k")  # so that missing files are reported once, not by each worker
        with tempfile.TemporaryDirectory() as folder:
            multiprocessing.spawn(train_ddp, (make_model, args, os.path.join(folder, "store")), args.workers)
    except (OSError, ValueError) as error:
        sys.exit(f"{Path(sys.argv[0]).name}: {error}")
    except multiprocessing.ProcessRaisedException as error:  # its text is the worker's traceback
        last = str(error).strip().splitlines()[-1]
        known = last.startswith(("FileExistsError:", "PermissionError:", "ValueError:"))
        sys.exit(f"{Path(sys.argv[0]).name}: {last if known else error}")
