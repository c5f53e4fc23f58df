"""The shared part of the recipes: the options, and training with several workers.

The workers are simulated one after another in one process; with --ddp they are processes under
DistributedDataParallel. In both cases the gradient of each worker is dumped before the average. Needs no network.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import Any, Callable, Iterator, List, Tuple

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
from torch import nn
from torch.nn.functional import cross_entropy

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from dump_gradients import GradientDumper, Steps  # noqa: E402

Batch = Tuple[torch.Tensor, torch.Tensor]


class Task:
    """What a network learns. A recipe's data module has one."""

    dataset = ""   # its name in the dumps
    unit = ""      # what a batch counts: "images"
    folder = ""    # where the Debian package puts it
    data_help = ""  # what --data names

    def load(self, folder: str, part: str) -> Any:
        """The part "train" or "test". Raises FileNotFoundError, ValueError."""
        raise NotImplementedError

    def pick(self, data: Any, chosen: torch.Tensor) -> Batch:
        """The inputs of these examples, and the class of each output."""
        raise NotImplementedError

    def count(self, data: Any) -> int:
        """The number of examples."""
        raise NotImplementedError

    def batches(self, data: Any, args: argparse.Namespace, worker: int) -> Iterator[Tuple[int, Batch]]:
        """Endless (epoch, batch): in each epoch, each example goes to at most one worker."""
        count, epoch = self.count(data), 0
        if count < args.workers * args.batch_size:
            raise ValueError(f"{count} {self.unit} do not fill one batch of {args.workers} x {args.batch_size}")
        while True:
            order = torch.randperm(count, generator=torch.Generator().manual_seed(args.seed * 1_000_003 + epoch))
            mine = order[worker::args.workers]
            for first in range(0, len(mine) - args.batch_size + 1, args.batch_size):
                yield epoch, self.pick(data, mine[first:first + args.batch_size])
            epoch += 1

    def score(self, model: nn.Module, data: Any) -> str:
        """A line about a trained model, on the part "test"."""
        raise NotImplementedError


def loss_of(model: nn.Module, batch: Batch) -> torch.Tensor:
    inputs, classes = batch
    return cross_entropy(model(inputs).flatten(0, -2), classes.flatten())


def parse_args(task: Task, model_name: str, workers: int, steps: str, lr: float = 0.05) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=f"Train {model_name} on {task.dataset} and dump each worker's gradients.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("-o", "--output", default=f"dumps/{model_name}", help="prefix of the files")
    parser.add_argument("--steps", default=steps, help="steps to dump: 0,100,400 or 200-215; training ends there")
    parser.add_argument("--workers", type=int, default=workers, help="number of workers in each step")
    parser.add_argument("--ddp", action="store_true", help="one process per worker under DistributedDataParallel")
    parser.add_argument("--seed", type=int, default=1, help=f"of the weights and of the order of the {task.unit}")
    parser.add_argument("--batch-size", type=int, default=32, help=f"{task.unit} per worker and step")
    parser.add_argument("--lr", type=float, default=lr, help="learning rate")
    parser.add_argument("--momentum", type=float, default=0.9)
    parser.add_argument("--optimizer", choices=["sgd", "adamw", "muon"], default="sgd", help="each needs its own --lr; muon: its "
                        "direction for matrices, SGD for other parameters")
    parser.add_argument("--what", choices=["gradient", "momentum", "update"], default="gradient",
                        help="what to dump; momenta and updates are those of the mean gradient, so only worker 0 has them")
    parser.add_argument("--weight-decay", type=float, default=0.0)
    parser.add_argument("--compression", choices=["gzip"], help="filter of the files")
    parser.add_argument("--overwrite", action="store_true", help="replace files of an earlier run")
    parser.add_argument("--data", default=task.folder, help=task.data_help)
    args = parser.parse_args()
    args.model_name, args.task = model_name, task
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
    return GradientDumper(model, args.output, steps=args.steps, optimizer=optimizer, compression=args.compression, what=args.what,
                          worker=worker, workers=args.workers, overwrite=args.overwrite,
                          attributes={"model": args.model_name, "dataset": args.task.dataset,
                                      "batch_size": args.batch_size, "seed": args.seed})


class Muon(torch.optim.SGD):
    """Orthogonalises the momentum of matrices, by five Newton-Schulz steps (Jordan et al. 2024)."""

    @torch.no_grad()
    def step(self) -> None:
        for group in self.param_groups:
            for parameter in (p for p in group["params"] if p.grad is not None and p.dim() > 1):
                momentum = self.state[parameter].setdefault("momentum_buffer", torch.zeros_like(parameter))
                momentum.mul_(group["momentum"]).add_(parameter.grad)
                x = momentum.flatten(1) / (momentum.norm() + 1e-12)
                for _ in range(5):
                    gram = x @ x.T
                    x = 3.4445 * x + (2.0315 * gram @ gram - 4.775 * gram) @ x
                parameter.sub_(x.view_as(parameter), alpha=group["lr"])
                parameter.grad = None
        super().step()


def make_optimizer(model: nn.Module, args: argparse.Namespace) -> torch.optim.Optimizer:
    if args.optimizer == "adamw":
        return torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.95), weight_decay=args.weight_decay)
    if args.optimizer == "muon":
        return Muon(model.parameters(), lr=args.lr, momentum=args.momentum, weight_decay=args.weight_decay)
    return torch.optim.SGD(model.parameters(), lr=args.lr, momentum=args.momentum, weight_decay=args.weight_decay)


def report(step: int, loss: float, args: argparse.Namespace) -> None:
    if step % 50 == 0 or step == args.last:
        print(f"step {step:6d}  loss {loss:.4f}", file=sys.stderr, flush=True)


def report_score(model: nn.Module, args: argparse.Namespace) -> None:
    data = args.task.load(args.data, "test")
    model.eval()
    with torch.no_grad():
        score = args.task.score(model, data)
    print(f"after {args.last + 1} steps: {score}", file=sys.stderr)


def train_simulated(make_model: Callable[[], nn.Module], args: argparse.Namespace) -> None:
    """Compute the gradients of all workers in turn with the same weights, then apply their mean."""
    torch.manual_seed(args.seed)
    model, data = make_model(), args.task.load(args.data, "train")
    optimizer = make_optimizer(model, args)
    after = args.what != "gradient"
    dumpers = [make_dumper(model, optimizer, args, worker) for worker in range(1 if after else args.workers)]
    streams = [args.task.batches(data, args, worker) for worker in range(args.workers)]
    for step in range(args.last + 1):
        total: List[torch.Tensor] = [torch.zeros_like(parameter) for parameter in model.parameters()]
        losses = []
        for worker, stream in enumerate(streams):
            epoch, batch = next(stream)
            optimizer.zero_grad()
            loss = loss_of(model, batch)
            loss.backward()
            if not after:
                dumpers[worker].step(loss, epoch=epoch)
            losses.append(loss.item())
            for part, parameter in zip(total, model.parameters()):
                part += parameter.grad
        for part, parameter in zip(total, model.parameters()):
            parameter.grad.copy_(part / args.workers)
        optimizer.step()
        if after:
            dumpers[0].step(sum(losses) / len(losses), epoch=epoch)
        report(step, sum(losses) / len(losses), args)
    report_score(model, args)


def train_ddp(worker: int, make_model: Callable[[], nn.Module], args: argparse.Namespace, store: str) -> None:
    """Train as one of several processes."""
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # all processes are on this machine
    torch.set_num_threads(max(1, (os.cpu_count() or 1) // args.workers))
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=worker, world_size=args.workers)
    torch.manual_seed(args.seed)
    model = nn.parallel.DistributedDataParallel(make_model())
    optimizer = make_optimizer(model, args)
    dumper = make_dumper(model, optimizer, args, worker)
    stream = args.task.batches(args.task.load(args.data, "train"), args, worker)
    for step in range(args.last + 1):
        epoch, batch = next(stream)
        optimizer.zero_grad()
        loss = loss_of(model, batch)
        loss.backward()
        if args.what == "gradient":
            dumper.step(loss, epoch=epoch)
        optimizer.step()
        if args.what != "gradient":
            dumper.step(loss, epoch=epoch)
        if worker == 0:
            report(step, loss.item(), args)
    dist.barrier()
    if worker == 0:
        report_score(model.module, args)
    dist.destroy_process_group()


def run(make_model: Callable[[], nn.Module], args: argparse.Namespace) -> None:
    """Train and dump as the options say. An expected error ends the program with a message of one line."""
    try:
        if not args.ddp:
            train_simulated(make_model, args)
            return
        args.task.load(args.data, "test")  # so that missing files are reported once, not by each worker
        with tempfile.TemporaryDirectory() as folder:
            multiprocessing.spawn(train_ddp, (make_model, args, os.path.join(folder, "store")), args.workers)
    except (OSError, ValueError) as error:
        sys.exit(f"{Path(sys.argv[0]).name}: {error}")
    except multiprocessing.ProcessRaisedException as error:  # its text is the worker's traceback
        last = str(error).strip().splitlines()[-1]
        known = last.startswith(("FileExistsError:", "PermissionError:", "ValueError:"))
        sys.exit(f"{Path(sys.argv[0]).name}: {last if known else error}")
