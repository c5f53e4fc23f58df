#!/usr/bin/env python3
"""Train a network with several logical workers that exchange compressed gradients, and write `training` rows.

    python3 datasets/recipes/train_workers.py resnet8 topk:theta=0.99,memory=ef --seed 1 -o row.jsonl
    python3 datasets/recipes/train_workers.py gpt qsgd --inner-steps 10
    python3 datasets/recipes/train_workers.py resnet8 fft:theta=0.9 --theta-schedule sqrt-lr

Momentum, weight decay and clipping act after the exchange, on the mean gradient, as under DistributedDataParallel; a
method with `memory=dgc` has the momentum itself. With --inner-steps (local SGD) they act in each worker, and the outer
optimizer is SGD with Nesterov momentum (DiLoCo). Batch-norm statistics stay in each worker and are averaged only for
evaluation. The learning rate warms up over 5 % of the steps and then falls to 0 as a cosine. Every step is compressed.
"""

import argparse
import ctypes
import json
import math
import sys
import time
from typing import Any, Dict, List, Optional

import torch

from _party import Move, Part, Party, gcbench
from _side_by_side import NETWORKS, Network
from dump_gradients import Steps, momentum_of
from gcbench.torch import Schedule, root_of_lr, stepwise, warm_up

# For each network: learning rate, examples per worker and step, steps, and examples of the test.
DEFAULTS = {"resnet8": (0.1, 8, 600, 4000), "gpt": (6e-3, 4, 600, 400), "lstm": (2e-2, 4, 600, 400)}


class Help(argparse.ArgumentDefaultsHelpFormatter):
    """Shows defaults, except None: the text of such an option says what happens without it."""

    def _get_help_string(self, action: argparse.Action) -> Optional[str]:
        return action.help if action.default is None else super()._get_help_string(action)


def parse_args(words: Optional[List[str]] = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], formatter_class=Help)
    parser.add_argument("network", choices=NETWORKS, help="resnet8: images, with SGD; gpt and lstm: text, with AdamW")
    parser.add_argument("spec", help="method, such as qsgd:bits=4; `gcbench methods` lists them")
    parser.add_argument("-o", "--output", default="-", help="file for the rows, - for standard output; written when the run ends")
    parser.add_argument("--label", help="name in tables and plots; default: the method, with the inner steps")
    parser.add_argument("--workers", type=int, default=16, help="logical workers, all in this process")
    parser.add_argument("--seed", type=int, default=1, help="of the weights, the data's order and random methods")
    parser.add_argument("--lr-factor", type=float, default=1.0, help="factor of the network's own learning rate")
    parser.add_argument("--steps", type=int, help="optimizer steps of each worker; default: the network's")
    parser.add_argument("--batch-size", type=int, help="examples per worker and step; default: the network's")
    parser.add_argument("--evaluations", type=int, default=10, help="tests, evenly spaced; the last is at the end")
    parser.add_argument("--inner-steps", type=int, help="local SGD: exchange the changes of the weights every N steps; "
                        "default: gradients in every step")
    parser.add_argument("--outer-lr", type=float, default=0.7, help="learning rate of local SGD's outer optimizer")
    parser.add_argument("--outer-momentum", type=float, default=0.9, help="its Nesterov momentum")
    parser.add_argument("--momentum", type=float, default=0.9, help="of SGD (resnet8); memory=dgc has its own instead")
    parser.add_argument("--weight-decay", type=float, default=5e-4, help="of SGD or AdamW")
    parser.add_argument("--theta-schedule", choices=["constant", "sqrt-lr", "drop", "warm-up"], default="constant",
                        help="sqrt-lr: theta is proportional to the root of the learning rate; drop: 0 in the second half; "
                        "warm-up: DGC's, in the first tenth")
    parser.add_argument("--dump", metavar="STEPS", type=Steps, help="dump what the workers send in these steps, as 200-215: "
                        "gradients, or changes of the weights (--inner-steps)")
    parser.add_argument("--what", choices=["gradient", "momentum", "update"], default="gradient",
                        help="what to dump; momenta and updates are the optimizer's (with --inner-steps the outer one's)")
    parser.add_argument("--dump-to", default="dumps/study", help="prefix of the dump's files")
    parser.add_argument("--data", help="folder of the data; default: where the Debian package puts it")
    args = parser.parse_args(words)
    lr, batch, steps, args.tests = DEFAULTS[args.network]
    args.lr, args.batch_size, args.steps = lr * args.lr_factor, args.batch_size or batch, args.steps or steps
    args.task = NETWORKS[args.network].task
    args.data = args.data or args.task.folder
    if min(args.workers, args.steps, args.evaluations, args.inner_steps or 1) < 1:
        parser.error("--workers, --steps, --evaluations and --inner-steps must be at least 1")
    due = [step for step in range(args.steps) if exchanges(args, step)]
    if args.dump and not any(step in args.dump for step in due):
        parser.error(f"--dump: no exchange in these steps; give {', '.join(map(str, due[:3]))} or another up to {due[-1]}")
    if args.theta_schedule != "constant" and "theta" not in parameters(args.spec):
        parser.error(f"--theta-schedule needs a theta to begin with: give {method_of(args.spec)}:theta=...")
    return args


def exchanges(args: argparse.Namespace, step: int) -> bool:
    """Whether the workers exchange something in this step: with --inner-steps N in each Nth and in the last."""
    return (step + 1) % (args.inner_steps or 1) == 0 or step + 1 == args.steps


def schedule(step: int, steps: int) -> float:
    """The learning rate as a share of the largest one."""
    warm = max(1, steps // 20)
    return min(1.0, (step + 1) / warm) * 0.5 * (1 + math.cos(math.pi * step / steps))


def method_of(spec: str) -> str:
    return spec.partition(":")[0]


def parameters(spec: str) -> Dict[str, str]:
    return dict(pair.split("=", 1) for pair in spec.partition(":")[2].split(",") if "=" in pair)


class Training:
    """A run. `mine` and `move`: as for Party. `together`: how many workers are computed side by side."""

    def __init__(self, args: argparse.Namespace, mine: Optional[List[int]] = None, move: Optional[Move] = None,
                 together: Optional[int] = None) -> None:
        torch.set_num_threads(1)
        self.args = args
        self.mine = list(range(args.workers)) if mine is None else mine
        network = NETWORKS[args.network]
        together = together or len(self.mine)
        self.networks: List[Network] = [network(together, args.seed) for _ in range(0, len(self.mine), together)]
        data = args.task.load(args.data, "train")
        self.streams = [args.task.batches(data, args, worker) for worker in self.mine]
        self.weights = self.networks[0].read()[0].clone().requires_grad_()
        self.party = Party(args.spec, self._parts(), args.workers, args.seed, mine, move)
        self.inner = [self._optimizer(list(n.weights.values())) for n in self.networks] if args.inner_steps else []
        self.outer = torch.optim.SGD([self.weights], args.outer_lr, args.outer_momentum,
                                     nesterov=args.outer_momentum > 0) if self.inner else self._optimizer([self.weights])
        self.theta = self._theta()
        self.compute_seconds, self.exchanges, self.epoch = 0.0, 0, 0

    def _parts(self) -> List[Part]:
        """The whole network in one message, with its shapes for tiles; for PowerSGD without tiles a message for each matrix."""
        if parameters(self.args.spec).get("tile", "none") != "none":
            return [("model", list(self.networks[0].shapes.values()))]
        if method_of(self.args.spec) == "powersgd":
            return self.networks[0].parts()
        return [("model", (self.weights.numel(),))]

    def _optimizer(self, weights: List[torch.Tensor]) -> torch.optim.Optimizer:
        args = self.args
        if NETWORKS[args.network].adam:
            return torch.optim.AdamW(weights, args.lr, (0.9, 0.95), weight_decay=args.weight_decay)
        inside = "memory=dgc" in args.spec
        return torch.optim.SGD(weights, args.lr, 0.0 if inside else args.momentum, weight_decay=args.weight_decay)

    def _theta(self) -> Optional[Schedule]:
        """theta in each step; None: it stays as it is."""
        args = self.args
        if args.theta_schedule == "constant":
            return None
        theta = float(parameters(args.spec)["theta"])
        if args.theta_schedule == "sqrt-lr":
            return root_of_lr((self.inner or [self.outer])[0], theta)
        if args.theta_schedule == "warm-up":
            return warm_up(theta, max(1, args.steps // 10))
        return stepwise({0: theta, args.steps // 2: 0.0})

    def _backward(self) -> float:
        """Computes the gradients of all workers; returns their mean loss."""
        pairs = [next(stream) for stream in self.streams]
        self.epoch = pairs[0][0]
        began, total, first = time.thread_time(), 0.0, 0
        for network in self.networks:
            mine = pairs[first:first + network.workers]
            first += network.workers
            losses = network.losses((torch.stack([x for _, (x, _) in mine]), torch.stack([y for _, (_, y) in mine])))
            losses.sum().backward()
            total += float(losses.detach().sum())
        self.compute_seconds += (time.thread_time() - began) / len(self.mine)
        return total / len(self.mine)

    def _clip_workers(self) -> None:
        for network in self.networks:
            squares = sum(weight.grad.flatten(1).square().sum(1) for weight in network.weights.values())
            factor = (squares.sqrt() + 1e-6).reciprocal().clamp(max=1.0)
            for weight in network.weights.values():
                weight.grad.mul_(factor.view(-1, *[1] * (weight.dim() - 1)))

    def step(self, step: int) -> float:
        """One optimizer step of each worker, and the exchange if it is due. Returns the loss."""
        args, clip = self.args, NETWORKS[self.args.network].clip
        rate = args.lr * schedule(step, args.steps)
        loss = self._backward()
        for optimizer in self.inner or [self.outer]:
            optimizer.param_groups[0]["lr"] = rate
        if self.inner:
            if clip:
                self._clip_workers()
            for optimizer in self.inner:
                optimizer.step()
                optimizer.zero_grad()
            if not exchanges(args, step):
                return loss
            vectors = self.weights.detach() - torch.cat([network.read() for network in self.networks])
        else:
            vectors = torch.cat([network.take_gradients() for network in self.networks])
        if args.what == "gradient":
            self._dump(step, vectors)
        if self.theta:
            self.party.set("theta", self.theta(step))
        self.weights.grad = torch.from_numpy(self.party.step(self.exchanges, vectors.numpy()))
        self.exchanges += 1
        if clip and not self.inner:
            torch.nn.utils.clip_grad_norm_([self.weights], 1.0)
        before = self.weights.detach().clone()
        self.outer.step()
        if args.what != "gradient":
            vector = momentum_of(self.outer, self.weights) if args.what == "momentum" else before - self.weights.detach()
            self._dump(step, vector[None])
        for network in self.networks:
            network.write(self.weights.detach())
        return loss

    def _dump(self, step: int, vectors: torch.Tensor) -> None:
        """Writes what the workers send in the schema of docs/dataset.md."""
        args = self.args
        if not args.dump or step not in args.dump:
            return
        import h5py
        with h5py.File(f"{args.dump_to}_step{step:06d}.h5", "w") as file:
            file.attrs.update({"model": args.network, "dataset": args.task.dataset, "batch_size": args.batch_size,
                               "what": "pseudo-gradient" if args.inner_steps and args.what == "gradient" else args.what})
            for worker, vector in enumerate(vectors):
                group = file.create_group(f"step_{step:06d}/worker_{worker}")
                sizes, shapes = self.networks[0].sizes, self.networks[0].shapes
                for index, ((name, shape), part) in enumerate(zip(shapes.items(), vector.split(sizes))):
                    group.create_dataset(name, data=part.view(shape).numpy()).attrs["index"] = index

    def row(self, step: int, loss: float, test: Any, status: str) -> Dict[str, Any]:
        args, party = self.args, self.party
        inputs, classes = test
        quality, test_loss = self.networks[0].single(self.weights.detach()).score(inputs, classes)
        local = f"local {args.inner_steps} " if args.inner_steps else ""
        return {"record": "training", "schema": 1, "network": args.network,
                "label": args.label or local + args.spec, "method": method_of(args.spec), "spec": args.spec,
                "theta_schedule": args.theta_schedule, "inner_steps": args.inner_steps or 1,
                "workers": args.workers, "seed": args.seed, "lr_factor": args.lr_factor,
                "status": status, "step": step, "epoch": self.epoch,
                "loss": rounded(loss), "test_loss": rounded(test_loss), "quality": round(quality, 3),
                "wire_bytes": round(party.wire_bytes), "link_bytes": round(party.link_bytes),
                "latency_steps": party.latency_steps, "compute_seconds": rounded(self.compute_seconds),
                "coding_seconds": rounded(party.coding_seconds)}


def rounded(value: float) -> Optional[float]:
    return float(f"{value:.4g}") if math.isfinite(value) else None


def run(args: argparse.Namespace) -> List[Dict[str, Any]]:
    training = Training(args)
    data = args.task.load(args.data, "test")
    test = args.task.pick(data, torch.arange(min(args.tests, args.task.count(data))))
    due = {round((i + 1) * args.steps / args.evaluations) for i in range(args.evaluations)}
    rows, losses = [], []
    for step in range(args.steps):
        try:
            losses.append(training.step(step))
        except gcbench.Error as error:
            if error.status != "NONFINITE":
                raise
            rows.append(training.row(step + 1, math.nan, test, "diverged"))
            break
        if step + 1 in due:
            rows.append(training.row(step + 1, sum(losses) / len(losses), test, "ok"))
            losses = []
    return rows


def keep_memory() -> None:
    """Lets malloc keep what is freed: else the system clears the same megabytes again in each step."""
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):  # glibc's M_MMAP_THRESHOLD, M_TRIM_THRESHOLD and M_TOP_PAD
        for option, size in ((-3, 1 << 25), (-1, 1 << 30), (-2, 1 << 26)):
            libc.mallopt(option, size)


def main() -> None:
    args = parse_args()
    keep_memory()
    try:
        text = "".join(json.dumps(row) + "\n" for row in run(args))
        if args.output == "-":
            sys.stdout.write(text)
        else:
            with open(args.output, "w", encoding="utf-8") as file:
                file.write(text)
    except (OSError, ValueError, gcbench.Error) as error:
        sys.exit(f"{sys.argv[0]}: {error}")


if __name__ == "__main__":
    main()
