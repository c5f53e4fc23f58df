#!/usr/bin/env python3
"""Seconds of whole trainings of two ranks on a slow link, beside the prediction of `payoff --link` (docs/training.md).

    PYTHONPATH=python training_truth.py GCBENCH [--network gpt] [--steps 30] [--rounds 5] [--rate 100mbit] [--method SPEC]...

Two ranks, each in a network namespace of its own (tests/net/shaped.sh), train a network of the study under
DistributedDataParallel, each with one thread. fp32 is DDP's own all-reduce, the others are the hook. A round trains with each method
in turn, and once without any exchange, and measures the link; the order turns by one in each round. Figures are medians of rounds.

Predicted: steps x (seconds of a step without an exchange + payoff's seconds of an exchange). payoff gets the link as an
all-gather of torch's gloo fills it (transfers of gloo or MPI from point to point, in both directions at once, take longer), and
`bench --cache cold` on the training's own gradients, before and after. The first two steps of a method are not compressed and count as fp32's. Exits with 1 if a prediction is off by
more than 25 %, with 77 without namespaces. Takes under ten minutes.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "datasets" / "recipes"))
METHODS = ["fp32", "bf16", "topk:theta=0.99,memory=ef", "qsgd",
           "sparse:theta=0.97,values=uniform,bits=2,index=adaptive,memory=ef"]
SIZES = [4 ** i for i in range(1, 11)]  # bytes of the transfers that measure the link
START = 2  # steps that the hook does not compress
BATCH = 16


def module(name):
    """A network of the study with one worker, as a module."""
    import torch
    from _side_by_side import NETWORKS

    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.network = NETWORKS[name](1)
            names = list(self.network.weights)
            self.parts = torch.nn.ParameterList([torch.nn.Parameter(self.network.weights[n].detach()) for n in names])
            self.network.weights = dict(zip(names, self.parts))

        def forward(self, inputs, classes):
            return self.network.losses((inputs[None], classes[None])).sum()

    return Module()


def train(options, rank, method, dump=None):
    """Seconds of a training; method None: without an exchange."""
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    import gcbench.torch

    ddp = DistributedDataParallel(module(options.network))
    if method not in (None, "fp32"):
        ddp.register_comm_hook(gcbench.torch.Compression(method, model=ddp, start=START, overlap=False), gcbench.torch.hook)
    optimizer = torch.optim.SGD(ddp.parameters(), 0.01)
    pick = torch.Generator().manual_seed(rank)
    data, task = options.data, ddp.module.network.task
    dist.barrier()
    begin = time.monotonic()
    for step in range(options.steps):
        batch = task.pick(data, torch.randint(task.count(data), (BATCH,), generator=pick))
        optimizer.zero_grad()
        if method is None or (dump and step == options.steps - 1):
            with ddp.no_sync():
                ddp(*batch).backward()
        else:
            ddp(*batch).backward()
        if dump and step == options.steps - 1:
            save(dump, rank, torch.cat([p.grad.flatten() for p in ddp.parameters()]).numpy())
        optimizer.step()
    dist.barrier()
    return time.monotonic() - begin


def save(path, rank, gradient):
    import h5py
    with h5py.File(f"{path}{rank}.h5", "w") as file:
        file[f"step_0/worker_{rank}/model"] = gradient


def transfers(repeats=9):
    """Seconds of an all-gather of so many bytes from each rank, for each of SIZES: medians."""
    import torch
    import torch.distributed as dist

    found = []
    for size in SIZES:
        mine, all_, seconds = torch.zeros(size, dtype=torch.uint8), torch.zeros((2, size), dtype=torch.uint8), []
        for _ in range(repeats):
            begin = time.monotonic()
            dist.all_gather(list(all_), mine)
            seconds.append(time.monotonic() - begin)
        found.append(statistics.median(seconds))
    return found


def be_rank(options):
    import torch.distributed as dist
    from _side_by_side import NETWORKS

    task = NETWORKS[options.network].task
    options.data = task.load(task.folder, "train")
    rank = join()
    train(options, rank, "fp32", f"{options.rank}/gradient")  # also warms up
    runs = [None, "link", *options.method]
    for number in range(options.rounds):
        for run in runs[number % len(runs):] + runs[:number % len(runs)]:
            taken = transfers() if run == "link" else train(options, rank, run)
            if rank == 0:
                with open(f"{options.rank}/taken", "a", encoding="utf-8") as file:
                    file.write(json.dumps([run, taken]) + "\n")
    dist.barrier()
    os._exit(0)  # MPI does not end a process whose threads wait


def code(options, results, gradient):
    """Times of encoding and adding."""
    specs = [re.sub(",?memory=ef", "", method) for method in options.method if method != "fp32"]
    subprocess.run([options.gcbench, "bench", "--scope", "model", "--cache", "cold", *(w for spec in specs for w in ("--method", spec)),
                    "--time-budget", "25s", "--results", results, "-q", gradient], check=True, stdout=subprocess.DEVNULL)


def predict(options, results, taken, folder):
    """payoff's seconds of an exchange, by the method's name."""
    info = subprocess.run([options.gcbench, "info", "--format", "json"], check=True, stdout=subprocess.PIPE, text=True).stdout
    rows = [json.loads(info.splitlines()[0])]
    for size, seconds in zip(SIZES, zip(*taken["link"])):
        middle = statistics.median(seconds)
        rows += [{"record": "link", "schema": 1, "pattern": pattern, "workers": 2, "bytes": size, "seconds": middle,
                  "seconds_min": min(seconds), "seconds_max": max(seconds), "seconds_low": min(seconds), "seconds_high": max(seconds),
                  "bandwidth_gbit": 8 * size / middle / 1e9} for pattern in ("shift", "pair")]
    link = folder / "link.json"
    link.write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = subprocess.run([options.gcbench, "payoff", "--link", link, results, "--format", "json", "-q"], check=True,
                         stdout=subprocess.PIPE, text=True).stdout
    rows = [row for row in map(json.loads, out.splitlines()) if row.get("model") == "exchange"]
    found = {row["method"]: row["seconds"] for row in rows if row["baseline"] or row["collective"] == "allgather"}
    return {method: found[name_of(method)] for method in options.method}


def name_of(method):
    return {"fp32": "identity"}.get(method, method.partition(":")[0])


def join():
    """Joins the two ranks over the shaped link, and returns the number of this one."""
    import torch
    import torch.distributed as dist

    rank = int(os.environ["OMPI_COMM_WORLD_RANK"])
    os.environ["GLOO_SOCKET_IFNAME"] = "eth0"
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="tcp://10.77.0.10:29400", rank=rank, world_size=2)
    return rank


def shaped(options, folder, *words):
    """Runs this program as two ranks, with the words that it was given, and these."""
    done = subprocess.run([HERE.parent / "net" / "shaped.sh", "--rate", options.rate, "--seconds", "420", "2", sys.executable,
                           *sys.argv, "--rank", folder, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode == 77:
        print(done.stderr.strip())
        sys.exit(77)
    if done.returncode:
        sys.exit(done.stderr[-3000:])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("gcbench", nargs="?")
    parser.add_argument("--network", default="gpt")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rate", default="100mbit")
    parser.add_argument("--method", action="append")
    parser.add_argument("--rank", help=argparse.SUPPRESS)  # the folder
    options = parser.parse_args()
    options.method = options.method or METHODS
    if len({name_of(method) for method in options.method}) < len(options.method):
        parser.error("give methods of different names")
    if options.rank:
        be_rank(options)
    with tempfile.TemporaryDirectory() as name:
        folder, taken = Path(name), {}

        shaped(options, name, "--rounds", "0")  # only the gradients
        code(options, folder / "0.json", folder / "gradient0.h5")
        shaped(options, name)
        code(options, folder / "1.json", folder / "gradient1.h5")
        for line in (folder / "taken").read_text().splitlines():
            method, seconds = json.loads(line)
            taken.setdefault(method, []).append(seconds)
        exchange = [predict(options, folder / f"{i}.json", taken, folder) for i in range(2)]
    sys.exit(report(options, taken, {method: (exchange[0][method] + exchange[1][method]) / 2 for method in options.method}))


def report(options, taken, exchange):
    compute, steps = statistics.median(taken[None]) / options.steps, options.steps
    print(f"{options.network}, {steps} steps, two ranks, {options.rate}, {options.rounds} rounds, load {os.getloadavg()[0]:.1f}; a step "
          f"without an exchange takes {1e3 * compute:.1f} ms\n\n| method | exchange, predicted | measured, whole run | predicted | "
          "predicted / measured |\n|---|---|---|---|---|")
    off = False
    for method in options.method:
        plain = 0 if method == "fp32" else START
        want = steps * compute + plain * exchange.get("fp32", 0.0) + (steps - plain) * exchange[method]
        got = statistics.median(taken[method])
        off |= abs(want / got - 1) > 0.25
        print(f"| `{method}` | {1e3 * exchange[method]:.2f} ms | {got:.2f} s ({min(taken[method]):.2f} to {max(taken[method]):.2f}) | "
              f"{want:.2f} s | {want / got:.2f} |")
    return off


if __name__ == "__main__":
    main()
